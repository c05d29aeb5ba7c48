use std::collections::BTreeMap;
use std::time::Instant;

use healbench_protocol::AgentKind;
use healbench_record::{EpisodeRecord, ModelUsage, Outcome, Plan, Progress, RunManifest};
use healbench_reports::LiveCells;
use healbench_reports::render::LiveTable;

/// What is known of a run under way. Has no clock.
pub(crate) struct Score {
    plan: Plan,
    total: u64,
    done: u64,
    /// Episodes since this process plays, and when it began: a rate is of these.
    played: u64,
    pub(crate) began: Instant,
    failures: BTreeMap<Outcome, u64>,
    spent: Spent,
    live: Option<(LiveTable, LiveCells)>,
}

/// What was paid for models.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub(crate) struct Spent {
    usd: f64,
    /// Episodes that were paid for, as far as it is known; and those of which it is not.
    known: u64,
    unknown: u64,
}

impl Spent {
    /// Adds an episode of a model. A recording is paid for no second time.
    pub(crate) fn add(&mut self, kind: AgentKind, model: Option<&ModelUsage>) {
        let Some(model) = model.filter(|_| kind == AgentKind::Llm) else { return };
        match model.usd {
            Some(usd) => {
                self.usd += usd;
                self.known += 1;
            }
            // Nothing was asked: that is known to cost nothing.
            None if model.turns == 0 => self.known += 1,
            None => self.unknown += 1,
        }
    }

    fn exactly(&self) -> Option<f64> {
        (self.known > 0 && self.unknown == 0).then_some(self.usd)
    }

    fn at_least(&self) -> Option<f64> {
        (self.unknown > 0).then_some(self.usd)
    }
}

impl Score {
    /// Of a run that begins, or is gone on with, `now`. With `live`, it says of each cell what it adds up to.
    pub(crate) fn new(manifest: &RunManifest, live: bool, now: Instant) -> Score {
        let (plan, episodes) = (manifest.plan.clone(), manifest.episodes());
        let total = episodes.end - episodes.start;
        let live = live.then(|| (LiveTable::new(&plan), LiveCells::new(&plan, episodes)));
        Score { plan, total, done: 0, played: 0, began: now, failures: BTreeMap::new(), spent: Spent::default(), live }
    }

    /// What was spent before, on this run and on episodes of it that were lost.
    pub(crate) fn spent_before(&mut self, spent: Spent) {
        self.spent = spent;
    }

    /// An episode that an earlier process played, and that need not be played again.
    pub(crate) fn before(&mut self, row: &EpisodeRecord) {
        // Of a cell that was whole, the line was printed then.
        self.count(row);
    }

    /// An episode that was played just now. Gives the line of its cell, if that is wanted and was the last one of it.
    pub(crate) fn played(&mut self, row: &EpisodeRecord) -> Option<String> {
        self.played += 1;
        if let Some(cell) = self.plan.cell(row.episode) {
            self.spent.add(self.plan.agents[cell.agent].kind, row.model.as_deref());
        }
        self.count(row)
    }

    fn count(&mut self, row: &EpisodeRecord) -> Option<String> {
        self.done += 1;
        if row.outcome != Outcome::Success {
            *self.failures.entry(row.outcome).or_default() += 1;
        }
        let (table, cells) = self.live.as_mut()?;
        cells.add(&self.plan, row).map(|cell| table.cell(&cell))
    }

    /// The line over the table of cells, if it is wanted.
    pub(crate) fn head(&self) -> Option<String> {
        self.live.as_ref().map(|(table, _)| table.header())
    }

    pub(crate) fn total(&self) -> u64 {
        self.total
    }

    pub(crate) fn done(&self) -> u64 {
        self.done
    }

    /// All that is known at a moment.
    pub(crate) fn state(&self, now: Instant, unix_seconds: u64) -> Progress {
        let elapsed = now.saturating_duration_since(self.began).as_secs_f64();
        let per_second = (self.played > 0 && elapsed > 0.0).then(|| self.played as f64 / elapsed);
        let left = self.total.saturating_sub(self.done) as f64;
        Progress {
            done: self.done,
            total: self.total,
            per_second,
            eta_s: per_second.map(|rate| left / rate),
            usd: self.spent.exactly(),
            usd_at_least: self.spent.at_least(),
            failures: self.failures.clone(),
            updated_unix_s: unix_seconds,
        }
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use healbench_protocol::{AgentSpec, ErrorFormat, Guardrails, Opening, Seed};
    use healbench_record::{Condition, FORMAT_VERSION, PlannedScenario, RunStatus};
    use healbench_reports::render::progress as in_words;

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
            path: String::new(),
            sha256: String::new(),
            claims: Vec::new(),
        };
        RunManifest {
            format_version: FORMAT_VERSION,
            healbench: String::new(),
            revision: None,
            command: String::new(),
            started: String::new(),
            tokenizer: String::new(),
            status: RunStatus::Running,
            episodes_done: 0,
            shard: None,
            cassettes: None,
            prices: None,
            plan: Plan {
                seed: Seed(1),
                trials: 3,
                agents: vec![agent("a"), agent("b")],
                conditions: vec![Condition { guardrails: Guardrails::NONE, format: ErrorFormat::Bare }],
                scenarios: vec![scenario],
            },
        }
    }

    fn row(episode: u64, outcome: Outcome, usd: Option<f64>) -> EpisodeRecord {
        EpisodeRecord {
            episode,
            outcome,
            claimed_done: false,
            scheduled: false,
            schedule_hash: String::new(),
            turns: 1,
            calls: 4,
            perfect_calls: 1,
            prompt_tokens: 10,
            prose_tokens: 20,
            counts: healbench_record::EpisodeCounts { call_tokens: 1_000, ..Default::default() },
            model: Some(Box::new(ModelUsage { turns: 1, usd, ..ModelUsage::default() })),
        }
    }

    /// What is said after each of some episodes, one every ten seconds.
    fn said(kind: AgentKind, rows: &[EpisodeRecord]) -> Vec<String> {
        let begun = Instant::now();
        let mut score = Score::new(&manifest(kind), false, begun);
        let mut said = vec![in_words(&score.state(begun, 0))];
        for (index, row) in rows.iter().enumerate() {
            score.played(row);
            said.push(in_words(&score.state(begun + Duration::from_secs(10 * (index as u64 + 1)), 0)));
        }
        said
    }

    #[test]
    fn failures_are_counted_by_kind_and_what_was_spent_as_far_as_it_is_known() {
        let rows = [
            row(0, Outcome::Success, Some(0.02)),
            row(4, Outcome::Infra, Some(0.0)),
            row(1, Outcome::TaskFail, None),
            row(5, Outcome::TaskFail, Some(0.5)),
        ];
        let expected = [
            "0 of 6 episodes",
            "1 of 6 episodes · 6.0/min · 50 s left · $0.020",
            "2 of 6 episodes · 6.0/min · 40 s left · $0.020 · 1 infra",
            "3 of 6 episodes · 6.0/min · 30 s left · ≥ $0.020 · 1 task_fail · 1 infra",
            "4 of 6 episodes · 6.0/min · 20 s left · ≥ $0.520 · 2 task_fail · 1 infra",
        ];
        assert_eq!(said(AgentKind::Llm, &rows), expected);
        let unknown = said(AgentKind::Llm, &[row(0, Outcome::Success, None)]);
        assert_eq!(unknown[1], "1 of 6 episodes · 6.0/min · 50 s left · cost unknown");
        // A replay pays nobody.
        let replayed = said(AgentKind::Replay, &rows[..1]);
        assert_eq!(replayed[1], "1 of 6 episodes · 6.0/min · 50 s left");
    }

    #[test]
    fn a_rate_is_of_what_is_played_now() {
        let begun = Instant::now();
        let mut score = Score::new(&manifest(AgentKind::Scripted), false, begun);
        (0..4).for_each(|episode| score.before(&row(episode, Outcome::Limit, None)));
        let later = begun + Duration::from_secs(2);
        assert_eq!(in_words(&score.state(later, 0)), "4 of 6 episodes · 4 limit");
        score.played(&row(4, Outcome::Success, None));
        assert_eq!(in_words(&score.state(later, 0)), "5 of 6 episodes · 30/min · 2 s left · 4 limit");
    }

    #[test]
    fn a_cell_is_told_of_with_its_last_trial_wherever_that_comes() {
        let mut score = Score::new(&manifest(AgentKind::Llm), true, Instant::now());
        score.before(&row(5, Outcome::Success, Some(0.25)));
        let rows = [
            row(0, Outcome::Success, Some(0.02)),
            row(4, Outcome::Infra, None),
            row(1, Outcome::Success, None),
            row(3, Outcome::GaveUp, Some(0.75)),
            row(2, Outcome::TaskFail, Some(0.02)),
        ];
        let lines: Vec<Option<String>> = rows.iter().map(|row| score.played(row)).collect();
        assert!(lines[..3].iter().all(Option::is_none));
        let (head, b, a) = (score.head().unwrap(), lines[3].as_deref().unwrap(), lines[4].as_deref().unwrap());
        let table = [head.as_str(), b, a].join("\n");
        assert_eq!(
            table,
            "scenario             agent       setting  success   calls/ep.  tokens/ep.    US $/ep.\n\
             shop/\\u{1b}[2Jorder  b · seeded  none         1/2         4.0       1,020       0.500\n\
             shop/\\u{1b}[2Jorder  a · seeded  none         2/3         4.0       1,020           —"
        );
        assert_eq!(score.live.unwrap().1.open(), 0);
    }

    #[test]
    fn a_shard_has_parts_of_cells() {
        let mut cut = manifest(AgentKind::Scripted);
        cut.shard = healbench_record::Shard::new(2, 4);
        assert_eq!(cut.episodes(), 1..3);
        let mut score = Score::new(&cut, true, Instant::now());
        assert_eq!(score.total(), 2);
        assert_eq!(score.played(&row(1, Outcome::Success, None)), None);
        assert!(score.played(&row(2, Outcome::Limit, None)).unwrap().contains("1/2"));
    }
}
