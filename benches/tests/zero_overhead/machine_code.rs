//! (c) The identity that is chosen when the program is built is the same machine code as no identity at all.

use std::hint::black_box;
use std::process::Command;

use libtest_mimic::{Failed, Trial};

use crate::variants::Variant;
use crate::{NotProven, Proof, broken, optimised, program, refuted};

/// The variant's path is the direct one, or has the same instructions.
pub(crate) fn proof(variant: Variant) -> Proof {
    optimised()?;
    if is_same_function(variant, Variant::Direct) {
        return Ok(());
    }
    let listing = disassembly()?;
    let (direct, this) = (code_of(Variant::Direct, &listing)?, code_of(variant, &listing)?);
    if this == direct {
        return Ok(());
    }
    refuted(format!("direct:\n{}\n{}:\n{}", direct.join("\n"), variant.name(), this.join("\n")))
}

fn is_same_function(one: Variant, other: Variant) -> bool {
    // Kept from the compiler, which may say what it likes of functions that it merges later.
    std::ptr::fn_addr_eq(black_box(one.path()), black_box(other.path()))
}

/// A variant's instructions. A function that was merged with others goes by the name of one of them.
fn code_of(variant: Variant, listing: &str) -> Result<Vec<String>, NotProven> {
    let names = Variant::ALL.into_iter().filter(|other| is_same_function(*other, variant));
    let found = names.into_iter().find_map(|name| function(listing, name.name()));
    found.ok_or_else(|| broken(format!("objdump shows no function `{}`", variant.name())))
}

fn disassembly() -> Result<String, NotProven> {
    let failed = |what: String| broken(format!("objdump: {what}"));
    let executable = std::env::current_exe().map_err(|error| failed(error.to_string()))?;
    let mut objdump = Command::new(program("objdump")?);
    let output = objdump.args(["-d", "--no-show-raw-insn"]).arg(executable).output();
    let output = output.map_err(|error| failed(error.to_string()))?;
    if !output.status.success() {
        return Err(failed(String::from_utf8_lossy(&output.stderr).trim().to_owned()));
    }
    Ok(String::from_utf8_lossy(&output.stdout).into_owned())
}

/// The instructions of a function of `variants.rs`, without what depends on where it lies; none when there is no such function,
/// or nothing in it.
fn function(listing: &str, name: &str) -> Option<Vec<String>> {
    let mut lines = listing.lines();
    let symbol = lines.find_map(|line| {
        let symbol = line.strip_suffix(">:")?.split_once('<')?.1;
        is_variant(symbol, name).then_some(symbol)
    })?;
    let instructions = lines.take_while(|line| !line.is_empty()).filter_map(|line| line.split_once('\t'));
    let mut code: Vec<String> = instructions.map(|(_, instruction)| normalised(instruction, symbol)).collect();
    while code.last().is_some_and(|last| is_padding(last)) {
        code.pop();
    }
    (!code.is_empty()).then_some(code)
}

/// Whether a mangled symbol, of either scheme, is that of a function of `variants.rs`.
fn is_variant(symbol: &str, name: &str) -> bool {
    let path = format!("8variants{}{name}", name.len());
    // The older scheme ends in a hash.
    symbol.split_once(&path).is_some_and(|(_, rest)| rest.is_empty() || rest.starts_with("17h"))
}

/// An instruction without addresses: a target is a symbol, and the function itself is `self`.
fn normalised(instruction: &str, own: &str) -> String {
    let own = format!("<{own}");
    let word = |word: &str| {
        let is_address = word.len() > 1 && word.bytes().all(|byte| byte.is_ascii_hexdigit());
        match word.split_once("(%rip)") {
            Some((_, rest)) => format!("(%rip){rest}"),
            None if is_address => "at".to_owned(),
            None => word.replace(&own, "<self"),
        }
    };
    // The first word is the name; `add` is one, and no address.
    let mut words = instruction.split_whitespace();
    let name = words.next().unwrap_or_default().to_owned();
    words.fold(name, |line, next| format!("{line} {}", word(next)))
}

fn is_padding(instruction: &str) -> bool {
    instruction.contains("nop") || instruction == "int3" || instruction == "xchg %ax,%ax"
}

/// That two functions count as equal only when they are.
pub(crate) fn own_tests() -> Vec<Trial> {
    const LISTING: &str = "
0000000000001000 <_ZN4some8variants6direct17h0123456789abcdefE>:
    1000:\tmov    %rdi,%rax
    1003:\tje     1010 <_ZN4some8variants6direct17h0123456789abcdefE+0x10>
    1005:\tlea    0x1234(%rip),%rcx        # 8000 <table>
    100c:\tcall   2000 <malloc>
    1010:\tret
    1011:\tnopw   0x0(%rax,%rax,1)

0000000000003000 <_RNvNtCs1_4some8variants4same>:
    3000:\tmov    %rdi,%rax
    3003:\tje     3010 <_RNvNtCs1_4some8variants4same+0x10>
    3005:\tlea    0x4321(%rip),%rcx        # 8000 <table>
    300c:\tcall   2000 <malloc>
    3010:\tret

0000000000004000 <_ZN4some8variants5other17h0123456789abcdefE>:
    4000:\tmov    %rdi,%rax
    4003:\tje     4010 <_ZN4some8variants5other17h0123456789abcdefE+0x10>
    4005:\tlea    0x4321(%rip),%rcx        # 8000 <table>
    400c:\tcall   2800 <free>
    4010:\tret

0000000000005000 <_ZN4some8variants5empty17h0123456789abcdefE>:
";
    let test = |name: &str, holds: bool| {
        Trial::test(format!("c_machine_code::own_tests::{name}"), move || {
            if holds { Ok(()) } else { Err(Failed::from("it does not hold")) }
        })
    };
    let code = |name: &str| function(LISTING, name);
    vec![
        test("where_code_lies_does_not_matter", code("same").is_some() && code("same") == code("direct")),
        test("what_it_calls_does", code("other").is_some() && code("other") != code("direct")),
        test("no_function_equals_none", code("none").is_none() && code("empty").is_none()),
        test("no_name_is_taken_for_a_longer_one", code("dire").is_none() && code("ariants").is_none()),
    ]
}
