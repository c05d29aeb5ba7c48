//! Tests of runs with checkpoints and several pools.

use std::sync::Arc;
use std::sync::atomic::AtomicUsize;

use healbench_core::Opening;
use healbench_runner::{Checkpoints, Limits, RunEnd};
use healbench_store::{EpisodeResult, FORMAT_VERSION, RunDir, RunManifest, RunStatus};

use super::*;

/// A plan with a model and a scripted agent, a pool for each, and the directory of its run.
pub(super) struct MixedRun {
    _folder: tempfile::TempDir,
    run: RunDir,
    plan: Plan,
    scenarios: Vec<Scenario>,
    pools: Vec<WorkerPool>,
}

const MODEL_THREADS: usize = 3;

fn mixed_run(trials: u32) -> MixedRun {
    let (mut plan, scenarios) = quickstart(trials);
    plan.agents.push(plan.agents[0].clone());
    plan.agents[0].kind = AgentKind::Llm;
    plan.agents[0].opening = Some(Opening::Natural);
    let pools = vec![
        WorkerPool { agents: vec![0], threads: MODEL_THREADS, costly: true },
        WorkerPool { agents: vec![1], threads: 2, costly: false },
    ];
    MixedRun::new(plan, scenarios, pools)
}

impl MixedRun {
    /// Creates the directory of a run.
    pub(super) fn new(plan: Plan, scenarios: Vec<Scenario>, pools: Vec<WorkerPool>) -> MixedRun {
        let mut manifest = RunManifest {
            format_version: FORMAT_VERSION,
            healbench: String::new(),
            revision: None,
            command: String::new(),
            started: String::new(),
            finished: None,
            tokenizer: String::new(),
            reader: None,
            imported: Vec::new(),
            shell_tools: Vec::new(),
            status: RunStatus::Running,
            episodes_done: 0,
            shards: None,
            cassettes: None,
            prices: None,
            changes: Vec::new(),
            files: Default::default(),
            replacing: Default::default(),
            plan: plan.clone(),
        };
        let folder = tempfile::tempdir().unwrap();
        let run = RunDir::create(&folder.path().join("run"), &mut manifest, &[], None).unwrap().publish().unwrap().0;
        MixedRun { _folder: folder, run, plan, scenarios, pools }
    }

    /// Runs what is missing. Returns the rows, and the number of episodes finished by this call.
    pub(super) fn run(
        &self,
        stop: &AtomicBool,
        make_agent: &AgentFactory<'_>,
    ) -> (RunEnd<Infallible>, Vec<EpisodeResult>, usize) {
        let limits = Limits { budget: None, price: Arc::new(|_, _| None) };
        let mut checkpoints = Checkpoints::open(&self.run, &self.plan, limits, &|_| false, &mut |_| ()).unwrap();
        let MixedRun { plan, scenarios, pools, .. } = self;
        let job = Job { plan, scenarios, episodes: (0..plan.len()).into(), pools, make_agent, make_environment: None };
        let (mut rows, mut finished) = (Vec::new(), 0);
        let end = execute(&job, Some(&mut checkpoints), stop, &mut |event| {
            match event {
                RunEvent::Finished(results) => finished += results.len(),
                RunEvent::Rows(results) => {
                    assert!(results.len() <= 256, "memory grows with the run");
                    rows.extend(results);
                }
            }
            Ok(())
        });
        (end.unwrap(), rows, finished)
    }

    fn journal_lines(&self) -> usize {
        std::fs::read_to_string(self.run.journal_path()).unwrap_or_default().lines().count()
    }
}

#[test]
fn rows_come_in_the_order_of_the_plan_from_several_pools() {
    let mixed = mixed_run(12);
    let (end, rows, finished) = mixed.run(&AtomicBool::new(false), &script_agent);
    assert!(end.stopped.is_none() && end.lost.is_empty());
    assert!(rows.iter().map(|result| result.episode.episode).eq(0..mixed.plan.len()));
    assert_eq!(finished, rows.len());
    for result in &rows {
        let has_model = mixed.plan.cell(result.episode.episode).unwrap().agent == 0;
        assert_eq!(result.recorded_turns.is_some(), has_model);
    }
    // All results are in the journal, so nothing is run again.
    let (end, again, finished) = mixed.run(&AtomicBool::new(false), &unreachable);
    assert!(end.stopped.is_none());
    assert_eq!((again, finished), (rows, 0));
}

#[test]
fn the_conditions_of_a_model_alternate_trial_by_trial() {
    let mixed = mixed_run(3);
    let MixedRun { run, plan, scenarios, .. } = &mixed;
    let pools = &[WorkerPool { agents: vec![0], threads: 1, costly: true }];
    let limits = Limits { budget: None, price: Arc::new(|_, _| None) };
    let mut checkpoints = Checkpoints::open(run, plan, limits, &|_| false, &mut |_| ()).unwrap();
    // A shard that begins and ends within a scenario.
    let episodes = 2..plan.len() - 1;
    let job = Job {
        plan,
        scenarios,
        episodes: episodes.clone().into(),
        pools,
        make_agent: &script_agent,
        make_environment: None,
    };
    let mut order = Vec::new();
    execute(&job, Some(&mut checkpoints), &AtomicBool::new(false), &mut |event| {
        if let RunEvent::Finished(results) = event {
            order.extend(results.iter().map(|result| result.episode.episode));
        }
        Ok::<(), Infallible>(())
    })
    .unwrap();
    let cells: Vec<_> = order.iter().map(|episode| plan.cell(*episode).unwrap()).collect();
    assert!(cells.iter().all(|cell| cell.agent == 0) && plan.conditions.len() > 1);
    assert!(cells.is_sorted_by_key(|cell| (cell.scenario, cell.trial, cell.condition)), "{order:?}");
    order.sort_unstable();
    assert!(episodes.filter(|episode| plan.cell(*episode).unwrap().agent == 0).eq(order));
}

#[test]
fn a_costly_result_is_in_the_journal_before_its_thread_starts_another_episode() {
    let mixed = mixed_run(6);
    let started = AtomicUsize::new(0);
    let make_agent = for_any_episode(|index, start, script| {
        if index == 0 {
            let started = started.fetch_add(1, Ordering::SeqCst);
            assert!(started < mixed.journal_lines() + MODEL_THREADS, "{started}");
        }
        script_agent(index, start, script)
    });
    let (end, ..) = mixed.run(&AtomicBool::new(false), &make_agent);
    assert!(end.stopped.is_none(), "{end:?}");
}

#[test]
fn an_interrupted_or_failed_run_passes_on_what_has_finished_and_can_be_resumed() {
    let mixed = mixed_run(40);
    let (stop, started) = (AtomicBool::new(false), AtomicUsize::new(0));
    let make_agent = for_any_episode(|index, start, script| {
        if index == 0 {
            stop.store(started.fetch_add(1, Ordering::SeqCst) > 40, Ordering::SeqCst);
        }
        script_agent(index, start, script)
    });
    let (end, rows, finished) = mixed.run(&stop, &make_agent);
    assert!(matches!(end.stopped, Some(StopReason::Interrupt)), "{end:?}");
    assert!(finished >= 40 && finished == rows.len() && rows.len() < mixed.plan.len() as usize, "{finished}");

    let (end, more, _) = mixed.run(&AtomicBool::new(false), &panics_in_one_scenario);
    assert!(matches!(end.stopped, Some(StopReason::Failed(RunError::Panicked { .. }))), "{end:?}");
    assert!(more.len() >= rows.len() && more.len() < mixed.plan.len() as usize);

    let (end, all, finished) = mixed.run(&AtomicBool::new(false), &script_agent);
    assert!(end.stopped.is_none(), "{end:?}");
    assert_eq!(finished, all.len() - more.len());
    let straight = mixed_run(40).run(&AtomicBool::new(false), &script_agent).1;
    assert!(without_repeated_responses(all) == without_repeated_responses(straight));
}

/// Removes the responses that an earlier result has: which results have them too depends on the threads.
fn without_repeated_responses(mut results: Vec<EpisodeResult>) -> Vec<EpisodeResult> {
    let mut known = BTreeSet::new();
    for result in &mut results {
        result.responses.retain(|response| known.insert(response.response_hash));
    }
    assert!(!known.is_empty());
    results
}

#[test]
fn lost_episodes_stop_a_run_and_are_run_again() {
    for costly in [true, false] {
        let mut mixed = mixed_run(40);
        mixed.pools[0].costly = costly;
        let half = for_any_episode(|index, start, script| match index {
            0 => misconfigured(index, start, script),
            _ => script_agent(index, start, script),
        });
        let (end, rows, finished) = mixed.run(&AtomicBool::new(false), &half);
        assert!(matches!(end.stopped, Some(StopReason::Rule(_))), "{end:?}");
        assert_eq!((finished, mixed.journal_lines()), (rows.len(), rows.len()));
        let lost: u64 = end.lost.values().sum();
        assert!(lost >= 3, "{lost}");
        assert!(!costly || lost < 3 + MODEL_THREADS as u64, "{lost}");
        let (end, all, finished) = mixed.run(&AtomicBool::new(false), &script_agent);
        assert!(end.stopped.is_none() && end.lost.is_empty());
        assert_eq!(finished as u64, mixed.plan.len() - rows.len() as u64 + lost);
        assert_eq!(all.len() as u64, mixed.plan.len());
    }
}

fn for_any_episode<F>(make_agent: F) -> F
where
    F: for<'s> Fn(usize, EpisodeStart<'s>, Option<&'s Script>) -> Box<dyn Agent + 's>,
{
    make_agent
}
