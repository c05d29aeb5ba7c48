//! Paired rounds: two workloads are measured alternately in the order A B B A, in one process. Disturbances of the
//! machine affect both, so their ratio is reliable even if their times are not.

use std::hint::black_box;
use std::time::{Duration, Instant};

use healbench_store::{PairRole, PairRounds, PairedRun, ROUNDS_VERSION};

/// A workload, which runs the given number of times.
pub type Workload = Box<dyn FnMut(u32)>;

/// The target duration of an epoch, which is the time between two readings of the clock: short compared with
/// disturbances of the machine, long compared with reading the clock.
pub const EPOCH: Duration = Duration::from_micros(50);

/// The default number of rounds per pair.
pub const ROUNDS: usize = 2001;

/// The number of rounds after which both workloads are created again at other heap addresses, because addresses affect
/// speed at random.
const ROUNDS_PER_BUILD: usize = 25;

/// The minimum number of iterations per epoch of a slowed workload. With fewer, rounding up would make the additional
/// fifth much larger.
const MIN_SLOWED_ITERATIONS: u32 = 20;

/// One of the two workloads of a pair.
pub struct Variant {
    /// The name of the work.
    pub name: String,
    /// Creates the workload with its data.
    pub make: Box<dyn Fn() -> Workload>,
    /// The minimum number of iterations per epoch, even if they take longer.
    pub min_iterations: u32,
}

/// Two workloads that are measured alternately.
pub struct Pair {
    /// The name, unique among pairs measured together.
    pub name: String,
    /// The purpose of the pair.
    pub role: PairRole,
    /// The workload A.
    pub reference: Variant,
    /// The workload B.
    pub candidate: Variant,
}

impl Variant {
    /// Creates a workload.
    pub fn new(name: &str, make: impl Fn() -> Workload + 'static) -> Variant {
        Variant { name: name.to_owned(), make: Box::new(make), min_iterations: 1 }
    }

    /// Returns the same workload with a fifth more iterations than counted, which a measurement must detect.
    pub fn slowed(self) -> Variant {
        let make = move || -> Workload {
            let mut workload = (self.make)();
            Box::new(move |iterations| workload(iterations + iterations.div_ceil(5)))
        };
        Variant { name: self.name, make: Box::new(make), min_iterations: MIN_SLOWED_ITERATIONS }
    }
}

/// Measures all pairs, some rounds of each in turn, so that a disturbance affects the control too.
pub fn measure(pairs: &[Pair], rounds: usize) -> Vec<PairRounds> {
    let mut measured: Vec<PairRounds> = pairs.iter().map(|pair| calibrate_pair(pair, rounds)).collect();
    let builds = rounds.div_ceil(ROUNDS_PER_BUILD);
    for build in 0..builds {
        let rounds = ROUNDS_PER_BUILD.min(rounds - build * ROUNDS_PER_BUILD);
        for (pair, measured) in pairs.iter().zip(&mut measured) {
            let mut workloads = build_workloads(pair, build);
            let iterations = measured.iterations;
            // Discard the first round, which has cold caches.
            round(&mut workloads, iterations);
            measured.rounds.extend((0..rounds).map(|_| round(&mut workloads, iterations)));
        }
    }
    measured
}

/// Returns the content of the file: the measurements, the version and the machine.
pub fn paired_run(pairs: Vec<PairRounds>) -> PairedRun {
    PairedRun {
        format_version: ROUNDS_VERSION,
        healbench: env!("CARGO_PKG_VERSION").to_owned(),
        revision: option_env!("HEALBENCH_REVISION").map(str::to_owned),
        cpu: cpu(),
        optimized: !cfg!(debug_assertions),
        epoch_ns: u64::try_from(EPOCH.as_nanos()).unwrap_or(u64::MAX),
        pairs,
    }
}

/// Returns the processor's model, if Linux provides it.
fn cpu() -> Option<String> {
    let text = std::fs::read_to_string("/proc/cpuinfo").ok()?;
    let (_, model) =
        text.lines().filter_map(|line| line.split_once(':')).find(|(key, _)| key.trim() == "model name")?;
    Some(model.trim().to_owned())
}

/// Determines the numbers of iterations of a pair. The result has no rounds yet.
fn calibrate_pair(pair: &Pair, rounds: usize) -> PairRounds {
    let [mut a, mut b] = build_workloads(pair, 0);
    let least = pair.candidate.min_iterations;
    let a = calibrate(&mut a).max(least);
    // Workloads that should take the same time get the same number of iterations.
    let b = if pair.role == PairRole::ReferenceWorkload { calibrate(&mut b).max(least) } else { a };
    PairRounds {
        name: pair.name.clone(),
        role: pair.role,
        reference: pair.reference.name.clone(),
        candidate: pair.candidate.name.clone(),
        iterations: [a, b],
        rounds: Vec::with_capacity(rounds),
    }
}

/// Creates both workloads. Their order alternates between builds, and `pad` changes their heap addresses.
fn build_workloads(pair: &Pair, build: usize) -> [Workload; 2] {
    let pad = black_box(vec![0_u8; (build * 1_040) % 16_384 + 1_040]);
    let workloads = if build.is_multiple_of(2) {
        let a = (pair.reference.make)();
        let b = (pair.candidate.make)();
        [a, b]
    } else {
        let b = (pair.candidate.make)();
        let a = (pair.reference.make)();
        [a, b]
    };
    drop(pad);
    workloads
}

/// Returns the number of iterations that fill an epoch; at least one.
fn calibrate(workload: &mut Workload) -> u32 {
    let mut iterations = 1;
    // Take the minimum of several attempts, since the others were disturbed.
    let mut least = |iterations| (0..8).map(|_| timed(workload, iterations)).min().unwrap_or(1).max(1);
    let target = EPOCH.as_nanos() as u64;
    while least(iterations) < target / 4 && iterations < u32::MAX / 2 {
        iterations *= 2;
    }
    let fitting = u64::from(iterations) * target / least(iterations);
    u32::try_from(fitting).unwrap_or(u32::MAX).max(1)
}

fn round([a, b]: &mut [Workload; 2], [a_iterations, b_iterations]: [u32; 2]) -> [u64; 4] {
    [timed(a, a_iterations), timed(b, b_iterations), timed(b, b_iterations), timed(a, a_iterations)]
}

fn timed(workload: &mut Workload, iterations: u32) -> u64 {
    let started = Instant::now();
    workload(iterations);
    u64::try_from(started.elapsed().as_nanos()).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    use std::cell::RefCell;
    use std::rc::Rc;

    use super::*;
    use crate::pairs::{CONTROL, pairs};

    /// Returns a pair whose workloads record their names when they are created.
    fn pair(role: PairRole, made: &Rc<RefCell<String>>) -> Pair {
        let variant = |name: &'static str| {
            let made = Rc::clone(made);
            Variant::new(name, move || {
                made.borrow_mut().push_str(name);
                Box::new(|iterations| {
                    for turn in 0..iterations * 100 {
                        black_box(turn);
                    }
                })
            })
        };
        Pair { name: format!("{role:?}"), role, reference: variant("a"), candidate: variant("b") }
    }

    #[test]
    fn arms_are_made_anew_in_both_orders() {
        let made = Rc::default();
        let measured = measure(&[pair(PairRole::Equal, &made)], 2 * ROUNDS_PER_BUILD + 1);
        assert_eq!(measured[0].rounds.len(), 2 * ROUNDS_PER_BUILD + 1);
        let [a_iterations, b_iterations] = measured[0].iterations;
        assert_eq!(a_iterations, b_iterations);
        // Once for the number of iterations, and then three times.
        assert_eq!(*made.borrow(), "ababbaab");
    }

    #[test]
    fn what_is_measured_can_be_read_again() {
        let run = paired_run(measure(&pairs(), 2));
        assert_eq!(run.pairs.iter().filter(|pair| pair.role == PairRole::Control).count(), 1);
        assert_eq!(run.pairs[0].name, CONTROL);
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("rounds.json");
        run.write(&file).unwrap();
        assert_eq!(PairedRun::read(&file).unwrap(), run);
    }

    #[test]
    fn a_slowed_side_does_a_fifth_more() {
        let done = Rc::new(RefCell::new(0));
        let count = Rc::clone(&done);
        let variant = Variant::new("counting", move || {
            let count = Rc::clone(&count);
            Box::new(move |iterations| *count.borrow_mut() += iterations)
        });
        let variant = variant.slowed();
        (variant.make)()(100);
        assert_eq!(*done.borrow(), 120);
        (variant.make)()(1);
        assert_eq!(*done.borrow(), 122);
    }

    #[test]
    fn a_fifth_of_long_work_is_no_half() {
        let slow = || Variant::new("slow", || Box::new(|iterations| std::thread::sleep(iterations * 4 * EPOCH)));
        let of = |role, candidate| {
            calibrate_pair(&Pair { name: String::new(), role, reference: slow(), candidate }, 0).iterations
        };
        assert_eq!(of(PairRole::Equal, slow()), [1, 1]);
        assert_eq!(of(PairRole::Equal, slow().slowed()), [20, 20]);
        assert_eq!(of(PairRole::ReferenceWorkload, slow().slowed()), [20, 20]);
    }
}
