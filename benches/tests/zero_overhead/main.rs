//! The proof that the contract guardrail costs nothing if a contract has not changed. Its enhancer, the function that
//! adds changes to errors, is then the identity.
//!
//! `cargo test --release -p healbench -p healbench-benches --test zero_overhead` proves all, with the dependencies of the
//! program; `-- --table` prints the instructions of every variant instead. What cannot be checked (no valgrind, no
//! objdump, code without optimization, a noisy machine) is reported as UNPROVEN with the reason, and has not passed.
//!
//! Each proof examines variants of the enhancer (`variants.rs`). Three of them are plausible regressions, to check that
//! the proofs detect them:
//!
//! | variant | (a) same buffer | (b) allocations | (c) machine code | (d) instructions | (e) wall clock |
//! |---|---|---|---|---|---|
//! | static identity | passes | passes | passes | +0 | within 1% |
//! | run-time identity | passes | passes | differs | within the constant | within 1% |
//! | clone | caught | caught | caught | caught | |
//! | look-up | | | caught | caught | |
//! | cosmetic | caught | caught | caught | caught | |
//! | a fifth more work | | | | | caught |
//!
//! All proofs except (a) also examine whole calls of engines with the variant as their enhancer. The reference is an
//! engine without an enhancer, decided at compile time. With the run-time identity, a valid call takes no more
//! instructions, and a failed one at most a constant number. Valid calls do not reach the enhancer, so no regression
//! affects them.
//!
//! An empty field means that the proof cannot detect the regression: a look-up moves and allocates nothing. (c)
//! compares the enhancer's function, and whole calls except those of the cosmetic variant, whose engine runs the code
//! of the run-time identity; that identity is a branch, so its code differs. (e) detects more than 1% of a call's time,
//! and is the only proof that detects costs other than instructions. Costs that a call has with and without the
//! guardrail are not its overhead: the allocations of a failed call are compared with a constant, and its time with the
//! reference workload (`cargo bench --bench paired`).
//!
//! A proof that does not work (valgrind's child fails, objdump does not show the function) fails, and does not count as
//! detecting a regression.

mod allocations;
mod instructions;
mod machine_code;
mod same_buffer;
mod variants;
mod wall_clock;

use std::fmt;
use std::path::PathBuf;
use std::process::ExitCode;

use libtest_mimic::{Arguments, Completion, Failed, Trial};
use variants::{EnhancerVariant, Work};

/// The result of a proof.
type Proof = Result<(), NotProven>;

/// The reason why a proof did not succeed.
#[derive(Debug, Clone)]
enum NotProven {
    /// The statement is false.
    Refuted(String),
    /// The statement cannot be checked on this machine.
    Unproven(String),
    /// The proof itself fails. This does not refute the statement, and does not count as detecting a regression.
    Broken(String),
}

impl fmt::Display for NotProven {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            NotProven::Refuted(reason) => out.write_str(reason),
            NotProven::Unproven(reason) => write!(out, "UNPROVEN: {reason}"),
            NotProven::Broken(reason) => write!(out, "the proof is broken: {reason}"),
        }
    }
}

fn main() -> ExitCode {
    let words: Vec<String> = std::env::args().skip(1).collect();
    match words.first().map(String::as_str) {
        Some(instructions::CHILD) => return instructions::run_child(&words[1..]),
        Some("--table") => return instructions::print_table(),
        _ => {}
    }
    let mut arguments = Arguments::from_args();
    // Run one proof at a time, because some of them measure time.
    arguments.test_threads = Some(1);
    libtest_mimic::run(&arguments, trials()).exit_code()
}

fn trials() -> Vec<Trial> {
    let mut trials = Vec::new();
    for identity in [EnhancerVariant::StaticIdentity, EnhancerVariant::RunTimeIdentity] {
        let name = identity.name();
        trials.push(holds(format!("a_same_buffer::{name}"), move || same_buffer::proof(identity)));
        trials
            .push(holds(format!("b_allocations::{name}::enhancer"), move || allocations::proof_of_enhancer(identity)));
        for work in [Work::ValidCall, Work::FailedCall] {
            let name = format!("b_allocations::{name}::{}", work.name());
            trials.push(holds(name, move || allocations::proof_of_call(identity, work)));
        }
        let most = max_instructions(identity);
        for work in Work::ALL {
            let most = if work == Work::ValidCall { 0 } else { most };
            let name = format!("d_instructions::{name}::{}::at_most_{most}", work.name());
            trials.push(holds(name, move || instructions::proof(identity, work, most)));
        }
    }
    trials.push(holds("a_same_buffer::enhancers_without_a_delta_to_show", same_buffer::proof_of_built_enhancers));
    trials
        .push(holds("b_allocations::a_valid_call_allocates_its_result", allocations::valid_call_allocates_its_result));
    let failed_call = allocations::failed_call_allocates_no_more_than_it_did;
    trials.push(holds("b_allocations::a_failed_call_allocates_no_more_than_it_did", failed_call));
    let static_identity = EnhancerVariant::StaticIdentity;
    trials.push(holds("c_machine_code::static_identity::enhancer", move || machine_code::proof(static_identity)));
    trials.push(holds("c_machine_code::static_identity::call", move || machine_code::proof_of_call(static_identity)));
    trials.push(holds("d_instructions::a_count_repeats", instructions::repeats));
    trials.push(holds("e_wall_clock::valid_call", || wall_clock::proof(healbench_benches::pairs::valid())));
    trials.push(holds("e_wall_clock::failed_call", || wall_clock::proof(healbench_benches::pairs::invalid())));
    let failed_static = || wall_clock::proof(healbench_benches::pairs::invalid_static());
    trials.push(holds("e_wall_clock::failed_call_with_static_identity", failed_static));

    for (variant, work) in [
        (EnhancerVariant::Clone, Work::FailedCall),
        (EnhancerVariant::LookUp, Work::FailedCall),
        (EnhancerVariant::Cosmetic, Work::FailedCall),
        (EnhancerVariant::Clone, Work::Enhance),
        (EnhancerVariant::LookUp, Work::Enhance),
        (EnhancerVariant::Cosmetic, Work::Enhance),
    ] {
        let most = max_instructions(EnhancerVariant::RunTimeIdentity);
        let name = format!("d_instructions::catches::{}::{}", variant.name(), work.name());
        trials.push(is_caught(name, move || instructions::proof(variant, work, most)));
    }
    for variant in [EnhancerVariant::Clone, EnhancerVariant::Cosmetic] {
        let name = variant.name();
        trials.push(is_caught(format!("a_same_buffer::catches::{name}"), move || same_buffer::proof(variant)));
        let enhancer = move || allocations::proof_of_enhancer(variant);
        trials.push(is_caught(format!("b_allocations::catches::{name}::enhancer"), enhancer));
        let call = move || allocations::proof_of_call(variant, Work::FailedCall);
        trials.push(is_caught(format!("b_allocations::catches::{name}::failed_call"), call));
    }
    for variant in
        [EnhancerVariant::RunTimeIdentity, EnhancerVariant::Clone, EnhancerVariant::LookUp, EnhancerVariant::Cosmetic]
    {
        let name = format!("c_machine_code::catches::{}", variant.name());
        trials.push(is_caught(format!("{name}::enhancer"), move || machine_code::proof(variant)));
        if variant != EnhancerVariant::Cosmetic {
            trials.push(is_caught(format!("{name}::call"), move || machine_code::proof_of_call(variant)));
        }
    }
    trials.push(holds("e_wall_clock::catches::a_fifth_more_work", wall_clock::finds_a_fifth_more_work));

    trials.extend(instructions::self_tests());
    trials.extend(machine_code::self_tests());
    trials.extend(wall_clock::self_tests());
    trials
}

/// Returns the maximum cost of a variant for a failed call.
fn max_instructions(variant: EnhancerVariant) -> i64 {
    if variant == EnhancerVariant::StaticIdentity { 0 } else { instructions::MAX_INSTRUCTIONS_PER_FAILED_CALL }
}

fn holds(name: impl Into<String>, proof: impl FnOnce() -> Proof + Send + 'static) -> Trial {
    Trial::ignorable_test(name, || match proof() {
        Ok(()) => Ok(Completion::Completed),
        Err(unproven @ NotProven::Unproven(_)) => Ok(Completion::ignored_with(unproven.to_string())),
        Err(other) => Err(Failed::from(other)),
    })
}

/// A trial of a regression, whose proof must fail.
fn is_caught(name: impl Into<String>, proof: impl FnOnce() -> Proof + Send + 'static) -> Trial {
    holds(name, || match proof() {
        Ok(()) => Err(NotProven::Refuted("the regression went through".to_owned())),
        Err(NotProven::Refuted(_)) => Ok(()),
        Err(other) => Err(other),
    })
}

fn refuted(reason: impl Into<String>) -> Proof {
    Err(NotProven::Refuted(reason.into()))
}

fn unproven(reason: impl Into<String>) -> NotProven {
    NotProven::Unproven(reason.into())
}

fn broken(reason: impl Into<String>) -> NotProven {
    NotProven::Broken(reason.into())
}

/// Machine code, instructions and times are meaningful only with optimization.
fn optimized() -> Proof {
    if cfg!(debug_assertions) { Err(unproven("the code is not optimized; build with --release")) } else { Ok(()) }
}

/// Returns the path of a program on the search path.
fn program(name: &str) -> Result<PathBuf, NotProven> {
    let folders = std::env::var_os("PATH").unwrap_or_default();
    let found = std::env::split_paths(&folders).map(|folder| folder.join(name)).find(|path| path.is_file());
    found.ok_or_else(|| unproven(format!("{name} is not installed")))
}
