//! Proof (c): the identity selected at compile time has the same machine code as no enhancer.

use std::collections::{BTreeMap, BTreeSet};
use std::hint::black_box;
use std::process::Command;
use std::sync::OnceLock;

use libtest_mimic::{Failed, Trial};

use crate::variants::EnhancerVariant;
use crate::{NotProven, Proof, broken, optimized, program, refuted};

/// A function of `variants.rs`: its name and address.
#[derive(Clone, Copy)]
struct Function {
    name: &'static str,
    address: usize,
}

/// Proves that the variant's path is the direct one, or has the same instructions.
pub(crate) fn proof(variant: EnhancerVariant) -> Proof {
    let of = |variant: EnhancerVariant| Function { name: variant.name(), address: variant.path() as usize };
    let all: Vec<Function> = EnhancerVariant::ALL.into_iter().map(of).collect();
    same_code(of(EnhancerVariant::Direct), of(variant), &all)
}

/// Proves that the variant's whole call is the one without an enhancer, or has the same instructions, including
/// functions that only it calls.
pub(crate) fn proof_of_call(variant: EnhancerVariant) -> Proof {
    let of = |(name, address)| Function { name, address };
    let all: Vec<Function> = EnhancerVariant::ALL.into_iter().filter_map(EnhancerVariant::whole_call).map(of).collect();
    let find = |variant: EnhancerVariant| {
        variant.whole_call().map(of).ok_or_else(|| broken(format!("`{}` has no whole call", variant.name())))
    };
    same_code(find(EnhancerVariant::Direct)?, find(variant)?, &all)
}

fn same_code(direct: Function, this: Function, all: &[Function]) -> Proof {
    optimized()?;
    if is_same_function(direct, this) {
        return Ok(());
    }
    let listing = disassembly()?;
    let (of_direct, of_this) = (symbol_of(direct, all, listing)?, symbol_of(this, all, listing)?);
    difference(listing, of_direct, of_this, &mut BTreeSet::new()).map_or(Ok(()), refuted)
}

fn is_same_function(one: Function, other: Function) -> bool {
    // Hide the addresses from the optimizer, since the compiler may merge functions later.
    black_box(one.address) == black_box(other.address)
}

/// Returns a function's symbol. Merged functions share the symbol of one of them.
fn symbol_of<'a>(function: Function, all: &[Function], listing: &'a str) -> Result<&'a str, NotProven> {
    let mut names = all.iter().filter(|other| is_same_function(**other, function)).map(|other| other.name);
    let found = names.find_map(|name| symbol(listing, name));
    found.ok_or_else(|| broken(format!("objdump shows no function `{}`", function.name)))
}

/// Returns the code of two symbols if it differs, else `None`. They may call different functions of one path, such as a
/// generic function for two types, if these have the same code, too.
fn difference<'a>(
    listing: &'a str,
    one: &'a str,
    other: &'a str,
    compared: &mut BTreeSet<(&'a str, &'a str)>,
) -> Option<String> {
    if one == other || !compared.insert((one, other)) {
        return None;
    }
    let (of_one, of_other) = (instructions(listing, one), instructions(listing, other));
    let differs = || Some(format!("{one}:\n{}\n{other}:\n{}", of_one.join("\n"), of_other.join("\n")));
    if of_one.is_empty() || of_one.len() != of_other.len() {
        return differs();
    }
    for (one, other) in of_one.iter().zip(&of_other).filter(|(one, other)| one != other) {
        let (Some((one, of_one)), Some((other, of_other))) = (target(one), target(other)) else { return differs() };
        if one != other || generic_path(of_one) != generic_path(of_other) {
            return differs();
        }
        let (Some(of_one), Some(of_other)) = (find_symbol(listing, of_one), find_symbol(listing, of_other)) else {
            return differs();
        };
        if let Some(difference) = difference(listing, of_one, of_other, compared) {
            return Some(difference);
        }
    }
    None
}

/// Returns the operation and the symbol of a call or a jump to the beginning of a function.
fn target(instruction: &str) -> Option<(&str, &str)> {
    let (what, symbol) = instruction.strip_suffix('>')?.split_once(" at <")?;
    matches!(what, "call" | "jmp" | "call *table" | "jmp *table").then_some((what, symbol))
}

/// Removes the hash that distinguishes the instances of a generic function from a symbol.
fn generic_path(symbol: &str) -> &str {
    symbol.rsplit_once("17h").map_or(symbol, |(path, _)| path)
}

/// Returns the symbol as stored in the listing, if the listing contains the function.
fn find_symbol<'a>(listing: &'a str, symbol: &str) -> Option<&'a str> {
    symbols(listing).find(|other| *other == symbol)
}

fn symbols(listing: &str) -> impl Iterator<Item = &str> {
    listing.lines().filter_map(|line| Some(line.strip_suffix(">:")?.split_once('<')?.1))
}

/// Returns the disassembly of this program, which is created once.
fn disassembly() -> Result<&'static str, NotProven> {
    static LISTING: OnceLock<Result<String, NotProven>> = OnceLock::new();
    let make = || Ok(resolved(&objdump(&["-d", "--no-show-raw-insn"])?, &objdump(&["-R"])?));
    LISTING.get_or_init(make).as_deref().map_err(NotProven::clone)
}

fn objdump(what: &[&str]) -> Result<String, NotProven> {
    let failed = |what: String| broken(format!("objdump: {what}"));
    let executable = std::env::current_exe().map_err(|error| failed(error.to_string()))?;
    let output = Command::new(program("objdump")?).args(what).arg(executable).output();
    let output = output.map_err(|error| failed(error.to_string()))?;
    if !output.status.success() {
        return Err(failed(String::from_utf8_lossy(&output.stderr).trim().to_owned()));
    }
    Ok(String::from_utf8_lossy(&output.stdout).into_owned())
}

/// Returns the listing with indirect calls through the table of addresses replaced by the names of the functions,
/// according to the relocations. The position in that table is irrelevant.
fn resolved(listing: &str, relocations: &str) -> String {
    let number = |text: &str| u64::from_str_radix(text, 16).ok();
    let functions: BTreeMap<u64, &str> = listing
        .lines()
        .filter_map(|line| line.strip_suffix(">:")?.split_once(" <"))
        .filter_map(|(address, symbol)| Some((number(address)?, symbol)))
        .collect();
    let slot = |line: &str| {
        let (slot, function) = line.split_once(" R_X86_64_RELATIVE")?;
        let function = number(function.trim().strip_prefix("*ABS*+0x")?)?;
        Some((number(slot)?, *functions.get(&function)?))
    };
    let slots: BTreeMap<u64, &str> = relocations.lines().filter_map(slot).collect();
    let by_table = |line: &str| {
        let (code, slot) = line.split_once("(%rip)")?;
        let (at, name) = code.split_once('\t').filter(|(_, code)| code.contains('*'))?;
        let slot = number(slot.trim().strip_prefix('#')?.split_whitespace().next()?)?;
        Some(format!("{at}\t{} *table 0000 <{}>", name.split_whitespace().next()?, slots.get(&slot)?))
    };
    let lines: Vec<String> = listing.lines().map(|line| by_table(line).unwrap_or_else(|| line.to_owned())).collect();
    lines.join("\n")
}

/// Returns the symbol of a function of `variants.rs`.
fn symbol<'a>(listing: &'a str, name: &str) -> Option<&'a str> {
    symbols(listing).find(|symbol| is_variant(symbol, name))
}

/// Returns a function's instructions without addresses; empty if the function does not exist or is empty.
fn instructions(listing: &str, symbol: &str) -> Vec<String> {
    let head = format!("<{symbol}>:");
    let lines = listing.lines().skip_while(|line| !line.ends_with(&head)).skip(1);
    let instructions = lines.take_while(|line| !line.is_empty()).filter_map(|line| line.split_once('\t'));
    let mut code: Vec<String> = instructions.map(|(_, instruction)| normalized(instruction, symbol)).collect();
    while code.last().is_some_and(|last| is_padding(last)) {
        code.pop();
    }
    code
}

/// Returns true if a mangled symbol, of either mangling scheme, belongs to a function of `variants.rs`.
fn is_variant(symbol: &str, name: &str) -> bool {
    let path = format!("8variants{}{name}", name.len());
    // Symbols of the older scheme end in a hash.
    symbol.split_once(&path).is_some_and(|(_, rest)| rest.is_empty() || rest.starts_with("17h"))
}

/// Returns an instruction without addresses: targets are symbols, and the function itself is `self`.
fn normalized(instruction: &str, own: &str) -> String {
    let own = format!("<{own}");
    let word = |word: &str| {
        let is_address = word.len() > 1 && word.bytes().all(|byte| byte.is_ascii_hexdigit());
        match word.split_once("(%rip)") {
            Some((_, rest)) => format!("(%rip){rest}"),
            None if is_address => "at".to_owned(),
            None => word.replace(&own, "<self"),
        }
    };
    // Skip the first word, which is the name of the instruction: `add` is not an address.
    let mut words = instruction.split_whitespace();
    let name = words.next().unwrap_or_default().to_owned();
    words.fold(name, |line, next| format!("{line} {}", word(next)))
}

fn is_padding(instruction: &str) -> bool {
    instruction.contains("nop") || instruction == "int3" || instruction == "xchg %ax,%ax"
}

/// Tests that only equal functions are considered equal.
pub(crate) fn self_tests() -> Vec<Trial> {
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

0000000000006000 <_ZN4some8variants3one17h0123456789abcdefE>:
    6000:\tcall   6100 <_ZN4some4fail17h0000000000000001E>
    6005:\tjmp    6200 <_ZN4some4done17h0000000000000003E>

0000000000006010 <_ZN4some8variants3two17h0123456789abcdefE>:
    6010:\tcall   6110 <_ZN4some4fail17h0000000000000002E>
    6015:\tjmp    6200 <_ZN4some4done17h0000000000000003E>

0000000000006020 <_ZN4some8variants5three17h0123456789abcdefE>:
    6020:\tcall   6120 <_ZN4some4fail17h0000000000000004E>
    6025:\tjmp    6200 <_ZN4some4done17h0000000000000003E>

0000000000006030 <_ZN4some8variants4four17h0123456789abcdefE>:
    6030:\tcall   6130 <_ZN4some4pass17h0000000000000005E>
    6035:\tjmp    6200 <_ZN4some4done17h0000000000000003E>

0000000000006100 <_ZN4some4fail17h0000000000000001E>:
    6100:\tcall   6100 <_ZN4some4fail17h0000000000000001E>

0000000000006110 <_ZN4some4fail17h0000000000000002E>:
    6110:\tcall   6110 <_ZN4some4fail17h0000000000000002E>

0000000000006120 <_ZN4some4fail17h0000000000000004E>:
    6120:\tret

0000000000006130 <_ZN4some4pass17h0000000000000005E>:
    6130:\tcall   6130 <_ZN4some4pass17h0000000000000005E>
";
    let test = |name: &str, holds: bool| {
        Trial::test(format!("c_machine_code::own_tests::{name}"), move || {
            if holds { Ok(()) } else { Err(Failed::from("it does not hold")) }
        })
    };
    let code = |name: &str| symbol(LISTING, name).map(|symbol| instructions(LISTING, symbol));
    let differ = |one: &str, other: &str| {
        let (one, other) = (symbol(LISTING, one).unwrap_or(one), symbol(LISTING, other).unwrap_or(other));
        difference(LISTING, one, other, &mut BTreeSet::new()).is_some()
    };
    vec![
        test("where_code_lies_does_not_matter", code("same").is_some() && code("same") == code("direct")),
        test("what_it_calls_does", code("other").is_some() && code("other") != code("direct")),
        test("no_function_equals_none", code("none").is_none() && differ("empty", "direct") && differ("none", "null")),
        test("equal_callees_of_one_path_are_equal", !differ("one", "two")),
        test("others_are_not", differ("one", "three") && differ("one", "four")),
        test("a_table_of_addresses_is_read", {
            let line = "10:\tcall   *0x20(%rip)        # 36 <_DYNAMIC+0x6>";
            let listing =
                format!("0000000000000010 <caller>:\n    {line}\n\n0000000000000020 <callee>:\n    20:\tret\n");
            let of_slot = |slot: &str| {
                resolved(&listing, &format!("\n00000000000000{slot} R_X86_64_RELATIVE  *ABS*+0x0000000000000020\n"))
            };
            let [known, unknown] = ["36", "37"].map(|slot| instructions(&of_slot(slot), "caller").concat());
            target(&known) == Some(("call *table", "callee")) && target(&unknown).is_none()
        }),
        test("no_name_is_taken_for_a_longer_one", code("dire").is_none() && code("ariants").is_none()),
    ]
}
