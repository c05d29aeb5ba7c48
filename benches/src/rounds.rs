//! Paired rounds: two pieces of work in turns, A B B A, in one process. Whatever the machine does to one of them it does to the
//! other, so that their ratio is worth something where their times are not.

use std::hint::black_box;
use std::time::{Duration, Instant};

use healbench_record::{PairRole, PairRounds, PairedRun, ROUNDS_VERSION};

/// Does its work so many times.
pub type Workload = Box<dyn FnMut(u32)>;

/// How long an epoch is meant to take: short beside what disturbs a machine, long beside a look at the clock.
pub const EPOCH: Duration = Duration::from_micros(50);

/// Rounds of a pair, unless one asks for others.
pub const ROUNDS: usize = 2001;

/// After so many rounds both arms are made anew, elsewhere on the heap: where something lies makes it faster or slower, and that
/// is luck.
const ROUNDS_PER_BUILD: usize = 25;

/// So many iterations an epoch at least where a fifth of them counts: of fewer, a fifth is a third or a half.
const MIN_SLOWED_ITERATIONS: u32 = 20;

/// One side of a pair.
pub struct Variant {
    /// What it does.
    pub name: String,
    /// Makes an arm with everything that it works on.
    pub make: Box<dyn Fn() -> Workload>,
    /// How often it does its work in an epoch at least, however long that takes.
    pub min_iterations: u32,
}

/// Two sides that are measured in turns.
pub struct Pair {
    /// The name, unique among the pairs that are measured together.
    pub name: String,
    /// What it is there for.
    pub role: PairRole,
    /// A.
    pub reference: Variant,
    /// B.
    pub candidate: Variant,
}

impl Variant {
    /// A side.
    pub fn new(name: &str, make: impl Fn() -> Workload + 'static) -> Variant {
        Variant { name: name.to_owned(), make: Box::new(make), min_iterations: 1 }
    }

    /// The same side, and a fifth more of its work that nobody is told of: what a measurement has to find.
    pub fn slowed(self) -> Variant {
        let make = move || -> Workload {
            let mut workload = (self.make)();
            Box::new(move |iterations| workload(iterations + iterations.div_ceil(5)))
        };
        Variant { name: self.name, make: Box::new(make), min_iterations: MIN_SLOWED_ITERATIONS }
    }
}

/// Measures all pairs, some rounds of each in turn, so that a bad minute hits the control as well.
pub fn measure(pairs: &[Pair], rounds: usize) -> Vec<PairRounds> {
    let mut measured: Vec<PairRounds> = pairs.iter().map(|pair| calibrate_pair(pair, rounds)).collect();
    let builds = rounds.div_ceil(ROUNDS_PER_BUILD);
    for build in 0..builds {
        let rounds = ROUNDS_PER_BUILD.min(rounds - build * ROUNDS_PER_BUILD);
        for (pair, measured) in pairs.iter().zip(&mut measured) {
            let mut workloads = build_workloads(pair, build);
            let iterations = measured.iterations;
            // The first times are those of cold caches.
            round(&mut workloads, iterations);
            measured.rounds.extend((0..rounds).map(|_| round(&mut workloads, iterations)));
        }
    }
    measured
}

/// What is measured, with where and of what: the file's content.
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

/// The processor's model, where Linux tells it.
fn cpu() -> Option<String> {
    let text = std::fs::read_to_string("/proc/cpuinfo").ok()?;
    let (_, model) =
        text.lines().filter_map(|line| line.split_once(':')).find(|(key, _)| key.trim() == "model name")?;
    Some(model.trim().to_owned())
}

/// A pair without rounds, with its number of iterations.
fn calibrate_pair(pair: &Pair, rounds: usize) -> PairRounds {
    let [mut a, mut b] = build_workloads(pair, 0);
    let least = pair.candidate.min_iterations;
    let a = calibrate(&mut a).max(least);
    // What is claimed to take the same time does the same number of times.
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

/// Makes both arms: the reference first, then the candidate, then the other way round, and at ever other places.
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

/// How many iterations fill an epoch; at least one.
fn calibrate(workload: &mut Workload) -> u32 {
    let mut iterations = 1;
    // The least of some tries: the others were disturbed.
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

    /// A pair whose sides write their names when they are made.
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
        // To find the number of iterations, and then three times.
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
