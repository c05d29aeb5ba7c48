//! The time of the contract enhancer, which adds changes of the contract to an error: without an enhancer, with the
//! identity selected at compile time, with the identity selected at run time, and with changes to show.
//!
//! All of them run the same closure on a buffer of their own. Buffers are created and results dropped outside the
//! measured time. After the benchmarks, the estimates of criterion are compared in words.

use std::hint::black_box;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use criterion::measurement::WallTime;
use criterion::{BatchSize, BenchmarkGroup, Criterion};
use healbench_benches::{Direct, ERROR, identity, with_deltas};
use healbench_engine::contract::{Enhance, Identity};
use serde_json::Value;

const GROUP: &str = "enhancer";
const DIRECT: &str = "direct";
const STATIC: &str = "static_identity";
const RUN_TIME: &str = "run_time_identity";
/// The first benchmark again: the difference between the two is the noise of this machine.
const DIRECT_AGAIN: &str = "direct_again";

/// The limit for the identity selected at run time, in nanoseconds over the direct path.
const RUN_TIME_LIMIT: f64 = 1.0;

fn main() {
    let start = SystemTime::now();
    let folder = output_folder();
    let mut criterion = Criterion::default().output_directory(&folder).configure_from_args();
    let mut group = criterion.benchmark_group(GROUP);
    measure(&mut group, DIRECT, Direct);
    measure(&mut group, STATIC, Identity);
    measure(&mut group, RUN_TIME, identity());
    measure(&mut group, DIRECT_AGAIN, Direct);
    measure(&mut group, "with_deltas", with_deltas());
    group.finish();
    criterion.final_summary();
    let estimates = [DIRECT, DIRECT_AGAIN, STATIC, RUN_TIME].map(|id| Estimate::read(&folder, id, start));
    if let [Some(direct), Some(again), Some(fixed), Some(run_time)] = estimates {
        conclude(&direct, &again, &fixed, &run_time);
    }
}

fn measure<E: Enhance>(group: &mut BenchmarkGroup<'_, WallTime>, id: &str, enhancer: E) {
    let enhancer = black_box(enhancer);
    group.bench_function(id, |bencher| {
        bencher.iter_batched(
            || ERROR.to_owned(),
            |error| black_box(enhancer.enhance(error, "create")),
            BatchSize::SmallInput,
        );
    });
}

/// The folder in which criterion keeps its estimates: beside the folder of the profile that this program was built with.
fn output_folder() -> PathBuf {
    let program = std::env::current_exe().expect("the path of this program is known");
    let target = program.ancestors().nth(3).expect("cargo puts programs into target/release/deps");
    std::env::var_os("CRITERION_HOME").map_or_else(|| target.join("criterion"), PathBuf::from)
}

/// The median time of a benchmark with its 95% confidence interval, in nanoseconds.
struct Estimate {
    median: f64,
    lower: f64,
    upper: f64,
}

impl Estimate {
    /// Reads what criterion wrote for a benchmark. Returns `None` if the benchmark did not run since `start`.
    fn read(folder: &Path, id: &str, start: SystemTime) -> Option<Estimate> {
        let path = folder.join(GROUP).join(id).join("new/estimates.json");
        let written = path.metadata().ok()?.modified().ok()?;
        let estimates: Value = serde_json::from_str(&std::fs::read_to_string(path).ok()?).ok()?;
        let number = |pointer: &str| estimates.pointer(&format!("/median/{pointer}"))?.as_f64();
        let estimate = Estimate {
            median: number("point_estimate")?,
            lower: number("confidence_interval/lower_bound")?,
            upper: number("confidence_interval/upper_bound")?,
        };
        (written >= start).then_some(estimate)
    }

    fn text(&self) -> String {
        format!("{:.2} ns [{:.2}, {:.2}]", self.median, self.lower, self.upper)
    }
}

#[expect(clippy::print_stdout, reason = "the conclusion is the result of this program")]
fn conclude(direct: &Estimate, again: &Estimate, fixed: &Estimate, run_time: &Estimate) {
    // Two measurements of the same code differ by this much, and no interval is narrower than the error of its own median.
    let width = |estimate: &Estimate| estimate.upper - estimate.lower;
    let noise = [direct, again, fixed].map(width).into_iter().fold((direct.median - again.median).abs(), f64::max);
    let base = f64::midpoint(direct.median, again.median);
    let difference = fixed.median - base;
    println!("direct: {}, measured again: {}; noise: {noise:.2} ns", direct.text(), again.text());
    let verdict = if difference <= noise {
        "no slower than the direct path within the noise"
    } else {
        "SLOWER than the direct path"
    };
    println!("static identity: {}, {difference:+.2} ns: {verdict}", fixed.text());
    let difference = run_time.median - base;
    let verdict = if difference <= RUN_TIME_LIMIT { "within" } else { "NOT within" };
    println!("run-time identity: {}, {difference:+.2} ns: {verdict} the limit of {RUN_TIME_LIMIT} ns", run_time.text());
}
