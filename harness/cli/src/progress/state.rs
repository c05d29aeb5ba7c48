use std::collections::BTreeMap;
use std::time::Instant;

use healbench_core::{AgentKind, EpisodeRecord, ModelUsage, Outcome, Plan};
use healbench_store::{Progress, RunManifest};

/// The progress of an active run. The caller passes the time.
pub(crate) struct ProgressState {
    plan: Plan,
    total: u64,
    done: u64,
    /// The number of episodes finished by this process, and its start time; the rate is computed from both.
    finished_now: u64,
    pub(crate) started: Instant,
    failures: BTreeMap<Outcome, u64>,
    cost: ModelCost,
}

#[derive(Default)]
struct ModelCost {
    usd: f64,
    /// The number of episodes with known cost; the next field counts those with unknown cost.
    known_episodes: u64,
    unknown_episodes: u64,
}

impl ModelCost {
    /// Adds an episode of a model. Replayed responses cost nothing.
    fn add(&mut self, kind: AgentKind, model: Option<&ModelUsage>) {
        let Some(model) = model.filter(|_| matches!(kind, AgentKind::Llm | AgentKind::Program)) else { return };
        match model.usd {
            Some(usd) => {
                self.usd += usd;
                self.known_episodes += 1;
            }
            // Without a request the cost is known to be 0.
            None if model.turns == Some(0) => self.known_episodes += 1,
            None => self.unknown_episodes += 1,
        }
    }

    fn exact_usd(&self) -> Option<f64> {
        (self.known_episodes > 0 && self.unknown_episodes == 0).then_some(self.usd)
    }

    fn min_usd(&self) -> Option<f64> {
        (self.unknown_episodes > 0).then_some(self.usd)
    }
}

impl ProgressState {
    /// Creates the state of a run that starts or is resumed at `now`.
    pub(crate) fn new(manifest: &RunManifest, now: Instant) -> ProgressState {
        ProgressState {
            plan: manifest.plan.clone(),
            total: manifest.episodes().len(),
            done: 0,
            finished_now: 0,
            started: now,
            failures: BTreeMap::new(),
            cost: ModelCost::default(),
        }
    }

    /// Adds an episode that an earlier process finished. A lost one goes on with the answers it has, so what they cost is
    /// in its next row.
    pub(crate) fn add_earlier(&mut self, row: &EpisodeRecord) {
        if row.outcome.is_scored() {
            self.add_cost(row);
            self.count(row);
        }
    }

    /// Adds an episode finished by this process.
    pub(crate) fn add_finished(&mut self, row: &EpisodeRecord) {
        self.finished_now += 1;
        self.add_cost(row);
        self.count(row);
    }

    fn add_cost(&mut self, row: &EpisodeRecord) {
        if let Some(cell) = self.plan.cell(row.episode) {
            self.cost.add(self.plan.agents[cell.agent].kind, row.model.as_deref());
        }
    }

    fn count(&mut self, row: &EpisodeRecord) {
        self.done += 1;
        if row.outcome != Outcome::Success {
            *self.failures.entry(row.outcome).or_default() += 1;
        }
    }

    pub(crate) fn total(&self) -> u64 {
        self.total
    }

    pub(crate) fn done(&self) -> u64 {
        self.done
    }

    /// Returns the progress at a point in time.
    pub(crate) fn snapshot(&self, now: Instant, unix_seconds: u64) -> Progress {
        let elapsed = now.saturating_duration_since(self.started).as_secs_f64();
        let per_second = (self.finished_now > 0 && elapsed > 0.0).then(|| self.finished_now as f64 / elapsed);
        let left = self.total.saturating_sub(self.done) as f64;
        Progress {
            done: self.done,
            total: self.total,
            per_second,
            eta_s: per_second.map(|rate| left / rate),
            usd: self.cost.exact_usd(),
            usd_at_least: self.cost.min_usd(),
            failures: self.failures.clone(),
            waits: Vec::new(),
            updated_unix_s: unix_seconds,
        }
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use healbench_core::{
        AgentSpec, Condition, EndedBy, ErrorFormat, Guardrails, Opening, PlannedEnvironment, PlannedScenario, Seed,
    };
    use healbench_render::progress as format_progress;
    use healbench_store::{FORMAT_VERSION, RunStatus};

    use super::*;

    fn manifest(kind: AgentKind) -> RunManifest {
        let agent = |name: &str| AgentSpec {
            kind,
            name: name.to_owned(),
            opening: (kind != AgentKind::Scripted).then_some(Opening::Seeded),
            tools: None,
            settings: serde_json::Value::Null,
        };
        let scenario = PlannedScenario {
            id: "shop/\u{1b}[2Jorder".to_owned(),
            cluster: "shop".to_owned(),
            path: String::new(),
            sha256: String::new(),
            claims: Vec::new(),
            waits_on_retry: false,
            worlds: 1,
            renamed_from: None,
        };
        RunManifest {
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
            plan: Plan {
                order: healbench_core::PlanOrder::Product,
                seed: Seed(1),
                trials: 3,
                environment: PlannedEnvironment::default(),
                agents: vec![agent("a"), agent("b")],
                conditions: vec![Condition::new(Guardrails::NONE, ErrorFormat::Bare)],
                scenarios: vec![scenario],
            },
        }
    }

    fn row(episode: u64, outcome: Outcome, usd: Option<f64>) -> EpisodeRecord {
        EpisodeRecord {
            episode,
            outcome,
            ended_by: EndedBy::Done,
            claimed_done: false,
            scheduled: false,
            schedule_hash: String::new(),
            turns: Some(1),
            calls: 4,
            perfect_calls: 1,
            tags: Vec::new(),
            prompt_tokens: 10,
            prose_tokens: Some(20),
            counts: healbench_core::EpisodeCounts { call_tokens: 1_000, ..Default::default() },
            billed: Some(healbench_core::BilledTokens::default()),
            model: Some(Box::new(ModelUsage { turns: Some(1), usd, ..ModelUsage::default() })),
        }
    }

    /// Returns the progress text after each of some episodes, one every ten seconds.
    fn progress_lines(kind: AgentKind, rows: &[EpisodeRecord]) -> Vec<String> {
        let started = Instant::now();
        let mut state = ProgressState::new(&manifest(kind), started);
        let mut progress_lines = vec![format_progress(&state.snapshot(started, 0))];
        for (index, row) in rows.iter().enumerate() {
            state.add_finished(row);
            progress_lines
                .push(format_progress(&state.snapshot(started + Duration::from_secs(10 * (index as u64 + 1)), 0)));
        }
        progress_lines
    }

    #[test]
    fn losses_are_counted_and_costs_as_far_as_known() {
        let rows = [
            row(0, Outcome::Success, Some(0.02)),
            row(4, Outcome::Infra, Some(0.0)),
            row(1, Outcome::TaskFail, None),
            row(5, Outcome::TaskFail, Some(0.5)),
        ];
        let expected = [
            "0% · 0 of 6 episodes",
            "16% · 1 of 6 episodes · 6.0/min · 50 s left · 100% success · $0.020",
            "33% · 2 of 6 episodes · 6.0/min · 40 s left · 100% success · $0.020 · 1 lost",
            "50% · 3 of 6 episodes · 6.0/min · 30 s left · 50% success · ≥ $0.020 · 1 lost",
            "66% · 4 of 6 episodes · 6.0/min · 20 s left · 33% success · ≥ $0.520 · 1 lost",
        ];
        assert_eq!(progress_lines(AgentKind::Llm, &rows), expected);
        let unknown = progress_lines(AgentKind::Llm, &[row(0, Outcome::Success, None)]);
        assert_eq!(unknown[1], "16% · 1 of 6 episodes · 6.0/min · 50 s left · 100% success · cost unknown");
        // A replay costs nothing.
        let replayed = progress_lines(AgentKind::Replay, &rows[..1]);
        assert_eq!(replayed[1], "16% · 1 of 6 episodes · 6.0/min · 50 s left · 100% success");
    }

    #[test]
    fn the_rate_excludes_earlier_episodes() {
        let started = Instant::now();
        let mut state = ProgressState::new(&manifest(AgentKind::Scripted), started);
        (0..4).for_each(|episode| state.add_earlier(&row(episode, Outcome::Limit, None)));
        let later = started + Duration::from_secs(2);
        assert_eq!(format_progress(&state.snapshot(later, 0)), "66% · 4 of 6 episodes · 0% success");
        state.add_finished(&row(4, Outcome::Success, None));
        assert_eq!(
            format_progress(&state.snapshot(later, 0)),
            "83% · 5 of 6 episodes · 30/min · 2 s left · 20% success"
        );
    }

    #[test]
    fn a_shard_counts_its_own_episodes() {
        let mut sharded = manifest(AgentKind::Scripted);
        sharded.shards = healbench_core::Shards::new(vec![1], 2);
        assert_eq!(sharded.episodes().iter().collect::<Vec<_>>(), [0, 2, 3, 5]);
        let mut state = ProgressState::new(&sharded, Instant::now());
        assert_eq!(state.total(), 4);
        state.add_finished(&row(0, Outcome::Success, None));
        assert_eq!(state.done(), 1);
    }
}
