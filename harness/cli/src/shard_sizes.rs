//! How many shards a plan needs, and how large they are: from a run of the same kind, or from a few thousand episodes that are run
//! on this machine.

use std::path::Path;
use std::sync::atomic::AtomicBool;
use std::time::{Duration, Instant};

use healbench_core::{Episodes, Plan, Shards};
use healbench_frames::FrameWriter;
use healbench_render::duration;
use healbench_runner::{Job, RunEvent, WorkerPool, execute};
use healbench_store::{RunDir, RunManifest};
use healbench_text::count;

use crate::args::{ShardCount, TimeLimit};
use crate::commands::run::new_manifest;
use crate::error::CliError;
use crate::load::ModelSource;
use crate::run_spec::RunSpec;

/// The speed of a plan and the size of its files, as measured.
pub(crate) struct Pilot {
    /// The number of measured episodes.
    episodes: u64,
    /// Seconds per episode, of one core if episodes need nothing but cores.
    seconds: f64,
    needs_cores_only: bool,
    /// Bytes of the frames per episode. Those of a large run are smaller, since files have a constant part.
    bytes: f64,
    /// Seconds to merge an episode.
    merge_seconds: f64,
}

/// The shards of a plan.
pub(crate) struct ShardSizes {
    pub(crate) count: u32,
    /// The number of episodes of the largest shard.
    largest: u64,
    seconds: f64,
    planned: u64,
    cores: u16,
    pilot: Pilot,
}

/// The number of episodes that are run to measure the speed.
const MEASURED: u64 = 8192;
/// The share of the time limit that a shard may be planned to take.
const SHARE_OF_TIME: f64 = 0.8;

/// Returns the number and the size of shards for machines with so many cores.
pub(crate) fn shard_sizes(
    run_spec: &RunSpec,
    requested: ShardCount,
    time: Option<TimeLimit>,
    pilot: Option<&Path>,
    cores: u16,
) -> Result<ShardSizes, CliError> {
    let pilot = match pilot {
        Some(path) => measure_run(path)?,
        None => run_pilot(run_spec)?,
    };
    let plan = &run_spec.plan;
    let parallel = if pilot.needs_cores_only { f64::from(cores) } else { 1.0 };
    let seconds_of = |episodes: u64| episodes as f64 * pilot.seconds / parallel;
    let count = match (requested, time) {
        (ShardCount::Of(count), _) => count,
        (ShardCount::Auto, None) => {
            return Err(CliError::new("`--shards auto` needs the time of a shard").help("add `--time HH:MM`"));
        }
        (ShardCount::Auto, Some(time)) => count_for(plan, time.0, &seconds_of)?,
    };
    let largest = largest_shard(plan, count);
    let seconds = seconds_of(largest);
    if let Some(limit) = time.filter(|limit| seconds > limit.0.as_secs_f64()) {
        let (takes, limit) = (duration(seconds), duration(limit.0.as_secs_f64()));
        return Err(CliError::new(format_args!("a shard of {count} takes {takes}, more than {limit}"))
            .help("allow more `--time`, or more shards"));
    }
    Ok(ShardSizes { count, largest, seconds, planned: plan.len(), cores, pilot })
}

/// Returns the number of episodes of the largest of so many shards.
fn largest_shard(plan: &Plan, count: u32) -> u64 {
    // The first shard has as many trials as any other.
    let first = Shards::new(vec![1], count);
    Episodes::of(plan, first.as_ref()).len()
}

/// Returns the smallest number of shards that end within the time.
fn count_for(plan: &Plan, limit: Duration, seconds_of: &dyn Fn(u64) -> f64) -> Result<u32, CliError> {
    let fits = |count: u32| seconds_of(largest_shard(plan, count)) <= limit.as_secs_f64() * SHARE_OF_TIME;
    // Whole trials of a scenario are not divided.
    let most = plan.scenarios.len() as u64 * u64::from(plan.trials);
    let most = u32::try_from(most).unwrap_or(u32::MAX).clamp(1, healbench_core::MAX_SHARDS);
    if !fits(most) {
        let smallest = duration(seconds_of(largest_shard(plan, most)));
        return Err(CliError::new(format_args!("the smallest shards, {most} of them, take {smallest} each"))
            .help(format!("{SHARE_OF_TIME} of `--time` has to be enough for that")));
    }
    let (mut low, mut high) = (1, most);
    while low < high {
        let middle = low.midpoint(high);
        if fits(middle) { high = middle } else { low = middle + 1 }
    }
    Ok(low)
}

fn file_bytes(run: &RunDir) -> u64 {
    [run.episodes_path(), run.calls_path(), run.responses_path(), run.transcripts_path()]
        .iter()
        .filter_map(|path| std::fs::metadata(path).ok())
        .map(|metadata| metadata.len())
        .sum()
}

/// Measures the seconds in which the frames of a run are copied, which is what a merge does.
fn measure_merge(run: &RunDir, plan: &Plan, episodes: Episodes) -> Result<f64, CliError> {
    let folder = tempfile::tempdir().map_err(|source| CliError::write(Path::new("TMPDIR"), &source))?;
    let mut manifest = RunDir::open_any(run.path())?.1;
    let copy = RunDir::create(&folder.path().join("copy"), &mut manifest, &[], None)?;
    let started = Instant::now();
    let mut writer = FrameWriter::create(copy.run(), plan)?;
    writer.copy(&[(run, episodes)])?;
    writer.finish()?;
    Ok(started.elapsed().as_secs_f64())
}

/// Takes the speed from a run.
fn measure_run(path: &Path) -> Result<Pilot, CliError> {
    let (run, manifest) = RunDir::open(path)?;
    let unknown = || {
        CliError::new(format_args!("`{}` does not record how long it took", path.display()))
            .help("use a run of some minutes that was not resumed")
    };
    let times = manifest.times().ok_or_else(unknown)?;
    let parse = |text: &str| text.parse::<jiff::Timestamp>().map_err(|_| unknown());
    let elapsed = parse(&times.started)?.duration_until(parse(&times.finished)?).as_secs_f64();
    let episodes = manifest.episodes_done;
    if elapsed < 1.0 || episodes == 0 {
        return Err(unknown());
    }
    let merged = measure_merge(&run, &manifest.plan, manifest.completed_episodes())?;
    let (bytes, cores) = (file_bytes(&run), std::thread::available_parallelism().map_or(1, usize::from));
    let needs_cores_only = !manifest.has_journal();
    Ok(Pilot {
        episodes,
        seconds: elapsed * if needs_cores_only { cores as f64 } else { 1.0 } / episodes as f64,
        needs_cores_only,
        bytes: bytes as f64 / episodes as f64,
        merge_seconds: merged / episodes as f64,
    })
}

/// Runs some episodes of the plan, spread over all of its scenarios and conditions.
fn run_pilot(run_spec: &RunSpec) -> Result<Pilot, CliError> {
    let plan = &run_spec.plan;
    let manifest = new_manifest(run_spec);
    if manifest.has_journal() {
        return Err(CliError::new("the speed of models and servers is not known before they run")
            .help("run some episodes, as with `--shard 1/100`, and name that run with `--pilot`"));
    }
    let parts = plan.len().div_ceil(MEASURED).clamp(1, healbench_core::MAX_SHARDS.into()) as u32;
    let mut manifest = RunManifest { shards: Shards::new(vec![1], parts), ..manifest };
    let folder = tempfile::tempdir().map_err(|source| CliError::write(Path::new("TMPDIR"), &source))?;
    let new = RunDir::create(&folder.path().join("pilot"), &mut manifest, &[], None)?;
    let run = new.run();
    let threads = std::thread::available_parallelism().map_or(1, usize::from);
    let episodes = manifest.episodes();
    let job = Job {
        plan,
        scenarios: &run_spec.scenarios,
        episodes: episodes.clone(),
        pools: &[WorkerPool::of_all_agents(plan, threads)],
        make_agent: &run_spec.make_agent(ModelSource::Absent),
        make_environment: None,
    };
    let started = Instant::now();
    let mut writer = FrameWriter::create(run, plan)?;
    execute(&job, None, &AtomicBool::new(false), &mut |event| match event {
        RunEvent::Rows(results) => results.iter().try_for_each(|result| writer.write_result(result)),
        RunEvent::Finished(_) => Ok(()),
    })?;
    writer.finish()?;
    let elapsed = started.elapsed().as_secs_f64();
    let measured = episodes.len().max(1) as f64;
    Ok(Pilot {
        episodes: episodes.len(),
        seconds: elapsed * threads as f64 / measured,
        needs_cores_only: true,
        bytes: file_bytes(run) as f64 / measured,
        merge_seconds: measure_merge(run, plan, episodes)? / measured,
    })
}

impl ShardSizes {
    /// Formats the sizes as lines of the plan.
    pub(crate) fn lines(&self) -> String {
        let ShardSizes { count: shards, largest, seconds, planned, cores, pilot } = self;
        let on = if pilot.needs_cores_only { format!(" on {cores} cores") } else { String::new() };
        let size = |episodes: u64| bytes(episodes as f64 * pilot.bytes);
        format!(
            "shards     {} of at most {} episodes, {} each{on}\n\
             size       {} a shard, {} merged\n\
             merge      {}\n\
             measured   {} episodes here\n",
            count(u64::from(*shards)),
            count(*largest),
            duration(*seconds),
            size(*largest),
            size(*planned),
            duration(*planned as f64 * pilot.merge_seconds),
            count(pilot.episodes),
        )
    }
}

fn bytes(bytes: f64) -> String {
    match bytes {
        ..1e6 => format!("{:.0} kB", (bytes / 1e3).ceil()),
        ..1e9 => format!("{:.0} MB", bytes / 1e6),
        _ => format!("{:.1} GB", bytes / 1e9),
    }
}
