//! (d) Instructions per call, counted by callgrind: exact, and the same on every run.
//!
//! The proof starts its own executable under valgrind, with a cleared environment. What is counted is the difference between `2 N`
//! calls and `N`, of one function and all that it calls. Keys of hash maps are random in every other program; here they are fixed
//! (`getrandom`), and memory is compared in a way that takes the same instructions wherever it lies.

use std::collections::BTreeMap;
use std::hint::black_box;
use std::process::{Command, ExitCode};
use std::sync::Mutex;

use crate::variants::{Parts, Variant, Work};
use crate::{NotProven, Proof, optimised, program, refuted, unproven};

/// The most that the identity which is chosen at run time may cost a failed call: a branch, and a text's three words moved.
pub(crate) const MOST_INSTRUCTIONS_PER_FAILED_CALL: i64 = 12;

/// The argument that makes this program do some work and nothing else.
pub(crate) const CHILD: &str = "--instructions";

/// glibc compares memory in one of several ways. The fastest takes more instructions near the end of a page, so that a count would
/// depend on where an engine happens to lie; this leaves it the one that does not look.
const PLAIN_COMPARISONS: &str = "glibc.cpu.hwcaps=-AVX2,-MOVBE";

/// N.
const CALLS: u32 = 1000;

/// The variant takes at most so many instructions a call more than the direct path.
pub(crate) fn proof(variant: Variant, work: Work, most: i64) -> Proof {
    optimised()?;
    let more = of_calls(variant, work)? - of_calls(Variant::Direct, work)?;
    if more <= most * i64::from(CALLS) {
        return Ok(());
    }
    refuted(format!("{:+.3} instructions a call; at most {most} are allowed", more as f64 / f64::from(CALLS)))
}

/// Two counts of one thing are one count.
pub(crate) fn repeats() -> Proof {
    optimised()?;
    for work in Work::ALL {
        let (first, second) = (counted(Variant::Direct, work, CALLS)?, count(Variant::Direct, work, CALLS)?);
        if first != second {
            return refuted(format!("{}: {first} instructions, and then {second}", work.name()));
        }
    }
    Ok(())
}

/// Prints the instructions per call of every variant.
#[allow(clippy::print_stdout, reason = "asked for with --table")]
pub(crate) fn print_table() -> ExitCode {
    if let Err(NotProven::Unproven(reason) | NotProven::Refuted(reason)) = optimised() {
        println!("UNPROVEN: {reason}");
        return ExitCode::FAILURE;
    }
    for work in Work::ALL {
        for variant in Variant::ALL {
            let said = match of_calls(variant, work) {
                Ok(instructions) => format!("{:.3}", instructions as f64 / f64::from(CALLS)),
                Err(NotProven::Unproven(reason) | NotProven::Refuted(reason)) => format!("UNPROVEN: {reason}"),
            };
            println!("{:<12} {:<18} {said:>10}", work.name(), variant.name());
        }
    }
    ExitCode::SUCCESS
}

/// What the child does: nothing but the work, after all that any variant needs is made.
pub(crate) fn work_as_child(words: &[String]) -> ExitCode {
    let number = |index: usize| words.get(index).and_then(|word| word.parse::<usize>().ok());
    let (Some(work), Some(variant), Some(times)) = (number(0), number(1), number(2)) else { return ExitCode::FAILURE };
    let parts = Parts::new();
    counted_calls(Variant::ALL[variant], Work::ALL[work], &parts, times as u32);
    ExitCode::SUCCESS
}

/// callgrind counts while this runs: by its name.
#[inline(never)]
fn counted_calls(variant: Variant, work: Work, parts: &Parts, times: u32) {
    variant.work(work, black_box(parts), times);
}

/// The instructions of so many calls.
fn of_calls(variant: Variant, work: Work) -> Result<i64, NotProven> {
    Ok(counted(variant, work, 2 * CALLS)? - counted(variant, work, CALLS)?)
}

/// A count, which is made once.
fn counted(variant: Variant, work: Work, times: u32) -> Result<i64, NotProven> {
    type Counts = BTreeMap<(&'static str, &'static str, u32), Result<i64, NotProven>>;
    static COUNTS: Mutex<Counts> = Mutex::new(BTreeMap::new());
    let mut counts = COUNTS.lock().expect("no count panics");
    counts.entry((variant.name(), work.name(), times)).or_insert_with(|| count(variant, work, times)).clone()
}

fn count(variant: Variant, work: Work, times: u32) -> Result<i64, NotProven> {
    let failed = |what: String| unproven(format!("valgrind: {what}"));
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
        .arg(index(Variant::ALL.iter().position(|other| *other == variant)))
        .arg(format!("{times:06}"))
        .output()
        .map_err(|error| failed(error.to_string()))?;
    let told = String::from_utf8_lossy(&output.stderr);
    if !output.status.success() {
        return Err(failed(told.lines().last().unwrap_or("it failed without a word").to_owned()));
    }
    // Where the name is not found, nothing is counted.
    collected(&told).filter(|count| *count > 0).ok_or_else(|| failed("it counts nothing".to_owned()))
}

/// The number in `==1== Collected : 123456`.
fn collected(told: &str) -> Option<i64> {
    let line = told.lines().find(|line| line.contains("Collected"))?;
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
