//! (d) Instructions per call, counted by callgrind: exact, and the same on every run.
//!
//! The proof starts its own executable under valgrind, with a cleared environment. What is counted is the difference between `2 N`
//! calls and `N`, of one function and all that it calls. Keys of hash maps are random in every other program; here they are fixed
//! (`getrandom`), and memory is compared in a way that takes the same instructions wherever it lies.

use std::collections::BTreeMap;
use std::hint::black_box;
use std::process::{Command, ExitCode};
use std::sync::Mutex;

use libtest_mimic::{Failed, Trial};

use crate::variants::{EnhancerVariant, Parts, Work};
use crate::{NotProven, Proof, broken, optimized, program, refuted, unproven};

/// The most that the identity which is chosen at run time may cost a failed call: a branch, and a text's three words moved.
pub(crate) const MAX_INSTRUCTIONS_PER_FAILED_CALL: i64 = 12;

/// The argument that makes this program do some work and nothing else.
pub(crate) const CHILD: &str = "--instructions";

/// glibc compares memory in one of several ways. The fastest takes more instructions near the end of a page, so that a count would
/// depend on where an engine happens to lie; this leaves it the one that does not look.
const PLAIN_COMPARISONS: &str = "glibc.cpu.hwcaps=-AVX2,-MOVBE";

/// N.
const CALLS: u32 = 1000;

/// The variant takes at most so many instructions a call more than no enhancer; where that is none, exactly as many.
pub(crate) fn proof(variant: EnhancerVariant, work: Work, most: i64) -> Proof {
    optimized()?;
    let more = instructions_of_calls(variant, work)? - instructions_of_calls(EnhancerVariant::Direct, work)?;
    let holds = if most == 0 { more == 0 } else { more <= most * i64::from(CALLS) };
    if holds {
        return Ok(());
    }
    refuted(format!("{:+.3} instructions a call; {most} are allowed", more as f64 / f64::from(CALLS)))
}

/// Two counts of one thing are one count.
pub(crate) fn repeats() -> Proof {
    optimized()?;
    for work in Work::ALL {
        let (first, second) =
            (cached_count(EnhancerVariant::Direct, work, CALLS)?, count(EnhancerVariant::Direct, work, CALLS)?);
        if first != second {
            return refuted(format!("{}: {first} instructions, and then {second}", work.name()));
        }
    }
    Ok(())
}

/// Prints the instructions per call of every variant; fails when one of them cannot be counted.
#[allow(clippy::print_stdout, reason = "asked for with --table")]
pub(crate) fn print_table() -> ExitCode {
    if let Err(not_proven) = optimized() {
        println!("{not_proven}");
        return ExitCode::FAILURE;
    }
    let mut all_counted = true;
    for work in Work::ALL {
        for variant in EnhancerVariant::ALL {
            let instructions = instructions_of_calls(variant, work);
            all_counted &= instructions.is_ok();
            let cell = instructions.map_or_else(
                |not_proven| not_proven.to_string(),
                |instructions| format!("{:.3}", instructions as f64 / f64::from(CALLS)),
            );
            println!("{:<12} {:<18} {cell:>10}", work.name(), variant.name());
        }
    }
    if all_counted { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

/// What the child does: nothing but the work, after all that any variant needs is made.
pub(crate) fn run_child(words: &[String]) -> ExitCode {
    let Some((work, variant, times)) = parse_child_args(words) else { return ExitCode::FAILURE };
    let parts = Parts::new();
    counted_calls(variant, work, &parts, times);
    ExitCode::SUCCESS
}

/// The places of a work and of a variant in their lists, and how often: the child's arguments.
fn parse_child_args(words: &[String]) -> Option<(Work, EnhancerVariant, u32)> {
    let [work, variant, times] = words else { return None };
    let index = |word: &String| word.parse::<usize>().ok();
    let (work, variant) = (Work::ALL.get(index(work)?)?, EnhancerVariant::ALL.get(index(variant)?)?);
    Some((*work, *variant, times.parse().ok()?))
}

/// callgrind counts while this runs: by its name.
#[inline(never)]
fn counted_calls(variant: EnhancerVariant, work: Work, parts: &Parts, times: u32) {
    variant.work(work, black_box(parts), times);
}

/// The instructions of so many calls.
fn instructions_of_calls(variant: EnhancerVariant, work: Work) -> Result<i64, NotProven> {
    Ok(cached_count(variant, work, 2 * CALLS)? - cached_count(variant, work, CALLS)?)
}

/// A count, which is made once.
fn cached_count(variant: EnhancerVariant, work: Work, times: u32) -> Result<i64, NotProven> {
    type Counts = BTreeMap<(&'static str, &'static str, u32), Result<i64, NotProven>>;
    static COUNTS: Mutex<Counts> = Mutex::new(BTreeMap::new());
    let mut counts = COUNTS.lock().expect("no count panics");
    counts.entry((variant.name(), work.name(), times)).or_insert_with(|| count(variant, work, times)).clone()
}

fn count(variant: EnhancerVariant, work: Work, times: u32) -> Result<i64, NotProven> {
    if !cfg!(target_os = "linux") {
        return Err(unproven("the keys of hash maps are fixed on Linux only"));
    }
    let failed = |what: String| broken(format!("valgrind: {what}"));
    let executable = std::env::current_exe().map_err(|error| failed(error.to_string()))?;
    let index = |found: Option<usize>| found.map_or_else(String::new, |index| index.to_string());
    let output = Command::new(program("valgrind")?)
        .env_clear()
        .env("GLIBC_TUNABLES", PLAIN_COMPARISONS)
        .args(["--tool=callgrind", "--callgrind-out-file=/dev/null", "--vgdb=no", "--toggle-collect=*counted_calls*"])
        .arg(executable)
        // Arguments of one length: the stack begins where they end.
        .arg(CHILD)
        .arg(index(Work::ALL.iter().position(|other| *other == work)))
        .arg(index(EnhancerVariant::ALL.iter().position(|other| *other == variant)))
        .arg(format!("{times:06}"))
        .output()
        .map_err(|error| failed(error.to_string()))?;
    let stderr = String::from_utf8_lossy(&output.stderr);
    if !output.status.success() {
        return Err(failed(stderr.lines().last().unwrap_or("it failed without a word").to_owned()));
    }
    let count = collected(&stderr).ok_or_else(|| failed("it tells no count".to_owned()))?;
    // Where the name is not found, nothing is counted.
    if count < i64::from(times) { Err(failed(format!("{count} instructions of {times} calls"))) } else { Ok(count) }
}

/// The number in `==1== Collected : 123456`.
fn collected(stderr: &str) -> Option<i64> {
    let line = stderr.lines().find(|line| line.contains("Collected"))?;
    line.rsplit(' ').next()?.parse().ok()
}

/// Takes the place of the C library's: hash maps get the same keys in every run, and take the same instructions.
#[cfg(target_os = "linux")]
#[allow(unsafe_code, reason = "a symbol that the linker takes instead of the C library's")]
#[unsafe(no_mangle)]
unsafe extern "C" fn getrandom(buffer: *mut u8, length: usize, _flags: u32) -> isize {
    // SAFETY: as of the C library's, the caller gives a buffer of that length.
    unsafe { buffer.write_bytes(0x5a, length) };
    length.cast_signed()
}

/// That a child which was asked for nothing it has does not pass for one that has worked, and that only a number is one.
pub(crate) fn self_tests() -> Vec<Trial> {
    let test = |name: &str, holds: bool| {
        Trial::test(format!("d_instructions::own_tests::{name}"), move || {
            if holds { Ok(()) } else { Err(Failed::from("it does not hold")) }
        })
    };
    let reads = |line: &str| parse_child_args(&line.split(' ').map(str::to_owned).collect::<Vec<_>>()).is_some();
    vec![
        test("a_child_is_told_what_to_do", reads("2 5 001000")),
        test("and_only_what_there_is", !["", "2 5", "3 0 1", "0 6 1", "0 0 many", "0 0 1 1"].into_iter().any(reads)),
        test("a_count_is_a_number", collected("==1== \n==1== Collected : 123456") == Some(123_456)),
        test("nothing_else_is", collected("==1== Collected : many").or(collected("123")).is_none()),
    ]
}
