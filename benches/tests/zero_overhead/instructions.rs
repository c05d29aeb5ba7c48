//! Proof (d): the number of instructions per call, counted by callgrind, which is exact and equal in every run.
//!
//! The proof starts its own executable under valgrind, without environment variables. It counts the instructions of a
//! function, including those it calls, for `2 N` calls and for `N`, and takes the difference. To make counts
//! repeatable, the keys of hash maps are fixed (`getrandom`, and `clock_gettime` for those that mix the date into them),
//! and memory is compared by a function whose instructions do not depend on addresses.

use std::collections::BTreeMap;
use std::hint::black_box;
use std::process::{Command, ExitCode};
use std::sync::Mutex;

use libtest_mimic::{Failed, Trial};
#[cfg(target_os = "linux")]
use nix::libc;

use crate::variants::{EnhancerVariant, Parts, Work};
use crate::{NotProven, Proof, broken, optimized, program, refuted, unproven};

/// The maximum cost of the identity selected at run time for a failed call: a branch, and moving the three words of a
/// `String`.
pub(crate) const MAX_INSTRUCTIONS_PER_FAILED_CALL: i64 = 12;

/// The argument with which this program is started as the child: it only runs the work to count.
pub(crate) const CHILD: &str = "--instructions";

/// glibc has several implementations of memory comparison. The fastest needs more instructions near the end of a page,
/// so counts would depend on addresses. This setting selects one that does not.
const PLAIN_COMPARISONS: &str = "glibc.cpu.hwcaps=-AVX2,-MOVBE";

/// The number `N` of calls.
const CALLS: u32 = 1000;

/// Proves that the variant takes at most this many more instructions per call than no enhancer; if the limit is 0,
/// exactly as many.
pub(crate) fn proof(variant: EnhancerVariant, work: Work, most: i64) -> Proof {
    optimized()?;
    let more = instructions_of_calls(variant, work)? - instructions_of_calls(EnhancerVariant::Direct, work)?;
    let holds = if most == 0 { more == 0 } else { more <= most * i64::from(CALLS) };
    if holds {
        return Ok(());
    }
    refuted(format!("{:+.3} instructions a call; {most} are allowed", more as f64 / f64::from(CALLS)))
}

/// Proves that counting is repeatable.
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

/// Prints the instructions per call of every variant. Fails if one of them cannot be counted.
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

/// Runs the work in the child process, after creating what all variants need.
pub(crate) fn run_child(words: &[String]) -> ExitCode {
    let Some((work, variant, times)) = parse_child_args(words) else { return ExitCode::FAILURE };
    let parts = Parts::new();
    counted_calls(variant, work, &parts, times);
    ExitCode::SUCCESS
}

/// Returns the child's arguments: the indices of the work and of the variant, and the number of calls.
fn parse_child_args(words: &[String]) -> Option<(Work, EnhancerVariant, u32)> {
    let [work, variant, times] = words else { return None };
    let index = |word: &String| word.parse::<usize>().ok();
    let (work, variant) = (Work::ALL.get(index(work)?)?, EnhancerVariant::ALL.get(index(variant)?)?);
    Some((*work, *variant, times.parse().ok()?))
}

/// The function that callgrind counts, found by its name.
#[inline(never)]
fn counted_calls(variant: EnhancerVariant, work: Work, parts: &Parts, times: u32) {
    variant.work(work, black_box(parts), times);
}

/// Returns the number of instructions of `calls` calls.
fn instructions_of_calls(variant: EnhancerVariant, work: Work) -> Result<i64, NotProven> {
    Ok(cached_count(variant, work, 2 * CALLS)? - cached_count(variant, work, CALLS)?)
}

/// Counts instructions and caches the result.
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
        // Pad the arguments to a fixed length, since the stack begins after them.
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
    // If callgrind does not find the name, it counts nothing.
    if count < i64::from(times) { Err(failed(format!("{count} instructions of {times} calls"))) } else { Ok(count) }
}

/// Parses the number in `==1== Collected : 123456`.
fn collected(stderr: &str) -> Option<i64> {
    let line = stderr.lines().find(|line| line.contains("Collected"))?;
    line.rsplit(' ').next()?.parse().ok()
}

/// Replaces the C library's function, so that hash maps get the same keys and need the same instructions in every run.
#[cfg(target_os = "linux")]
#[allow(unsafe_code, reason = "a symbol that the linker takes instead of the C library's")]
#[unsafe(no_mangle)]
unsafe extern "C" fn getrandom(buffer: *mut u8, length: usize, _flags: u32) -> isize {
    // SAFETY: as for the C library's function, the caller passes a buffer of that length.
    unsafe { buffer.write_bytes(0x5a, length) };
    length.cast_signed()
}

/// Replaces the C library's function, so that every process begins at the epoch. All other clocks run.
#[cfg(target_os = "linux")]
#[allow(unsafe_code, reason = "a symbol that the linker takes instead of the C library's")]
#[unsafe(no_mangle)]
unsafe extern "C" fn clock_gettime(clock: libc::clockid_t, time: *mut libc::timespec) -> libc::c_int {
    // SAFETY: as for the C library's function, the caller passes a place for the time.
    unsafe {
        if clock != libc::CLOCK_REALTIME {
            return libc::syscall(libc::SYS_clock_gettime, clock, time) as libc::c_int;
        }
        time.write(libc::timespec { tv_sec: 0, tv_nsec: 0 });
    }
    0
}

/// Tests that invalid arguments of the child and invalid counts are errors.
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
