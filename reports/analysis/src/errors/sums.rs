//! Sums over failed calls and chains by scenario, and the rates of them.

use std::collections::{BTreeMap, BTreeSet};

use healbench_core::{CallRecord, ErrorKind, ErrorSource, Move, Plan};

use super::chains::Chain;
use super::{ErrorCounts, ErrorExample, ErrorField, ErrorText, TaskRate};
use crate::rate::{CONFIDENCE, Rate};
use crate::statistics::{ClusterSums, clustered_mean, wilson};

/// The number of clusters below which a rate has no interval.
const MIN_CLUSTERS: usize = 10;

/// The number of fields of a text.
const MAX_FIELDS: usize = 3;

/// A count and what it is a share of.
type Share = [u64; 2];

/// Sums by scenario.
#[derive(Debug, Default)]
pub(super) struct Sums(BTreeMap<usize, ScenarioSums>);

#[derive(Debug, Clone, Copy, Default)]
struct ScenarioSums {
    calls: u64,
    chains: u64,
    wasted_tokens: u64,
    unrepaired: u64,
    repaired_next: Share,
    same_errand: Share,
    within_3: Share,
    /// Chains with a move.
    moves: u64,
    changed: u64,
    repeated: u64,
    other_tool: u64,
    stopped: u64,
}

impl Sums {
    /// Adds a failed call, and the chain that it opened.
    pub(super) fn add(&mut self, scenario: usize, call: &CallRecord, chain: Option<&Chain>) {
        let sums = self.0.entry(scenario).or_default();
        sums.calls += 1;
        sums.wasted_tokens += u64::from(call.request_tokens) + u64::from(call.response_tokens);
        if let Some(chain) = chain {
            sums.add_chain(chain);
        }
    }

    pub(super) fn merge(&mut self, other: &Sums) {
        for (scenario, sums) in &other.0 {
            self.0.entry(*scenario).or_default().merge(sums);
        }
    }

    pub(super) fn finish(&self, plan: &Plan) -> ErrorCounts {
        let mut all = ScenarioSums::default();
        let mut clusters: BTreeMap<&str, ScenarioSums> = BTreeMap::new();
        for (scenario, sums) in &self.0 {
            all.merge(sums);
            clusters.entry(&plan.scenarios[*scenario].cluster).or_default().merge(sums);
        }
        let rate = |share: fn(&ScenarioSums) -> Share| task_rate(share(&all), clusters.values().map(share));
        ErrorCounts {
            calls: all.calls,
            chains: all.chains,
            tasks: self.0.len() as u64,
            wasted_tokens: all.wasted_tokens,
            unrepaired: all.unrepaired,
            repaired_next: rate(|sums| sums.repaired_next),
            repaired_next_same_errand: rate(|sums| sums.same_errand),
            repaired_within_3: rate(|sums| sums.within_3),
            changed: rate(|sums| [sums.changed, sums.moves]),
            repeated: rate(|sums| [sums.repeated, sums.moves]),
            other_tool: rate(|sums| [sums.other_tool, sums.moves]),
            stopped: rate(|sums| [sums.stopped, sums.moves]),
        }
    }
}

impl ScenarioSums {
    fn add_chain(&mut self, chain: &Chain) {
        self.chains += 1;
        self.unrepaired += u64::from(chain.is_repaired == Some(false));
        add(&mut self.repaired_next, chain.is_repaired_next);
        add(&mut self.same_errand, chain.is_repaired_next.filter(|_| !chain.is_elsewhere));
        add(&mut self.within_3, chain.is_repaired_within_3);
        self.moves += u64::from(chain.next_move.is_some());
        match chain.next_move {
            Some(Move::Changed) => self.changed += 1,
            Some(Move::Repeated) => self.repeated += 1,
            Some(Move::OtherTool) => self.other_tool += 1,
            Some(Move::Stopped) => self.stopped += 1,
            Some(Move::CutOff) | None => {}
        }
    }

    fn merge(&mut self, other: &ScenarioSums) {
        self.calls += other.calls;
        self.chains += other.chains;
        self.wasted_tokens += other.wasted_tokens;
        self.unrepaired += other.unrepaired;
        let shares = [
            (&mut self.repaired_next, other.repaired_next),
            (&mut self.same_errand, other.same_errand),
            (&mut self.within_3, other.within_3),
        ];
        for (share, added) in shares {
            *share = [share[0] + added[0], share[1] + added[1]];
        }
        self.moves += other.moves;
        self.changed += other.changed;
        self.repeated += other.repeated;
        self.other_tool += other.other_tool;
        self.stopped += other.stopped;
    }
}

fn add(share: &mut Share, is_counted: Option<bool>) {
    share[0] += u64::from(is_counted == Some(true));
    share[1] += u64::from(is_counted.is_some());
}

fn task_rate([numerator, denominator]: Share, clusters: impl Iterator<Item = Share>) -> TaskRate {
    let rate = Rate::of(numerator, denominator);
    let clusters: Vec<ClusterSums> = clusters
        .filter(|[_, all]| *all > 0)
        .map(|[part, all]| ClusterSums { numerator: part as f64, denominator: all as f64, stratum: 0 })
        .collect();
    if clusters.len() < MIN_CLUSTERS {
        return TaskRate { rate, interval: None };
    }
    let interval = match clustered_mean(&clusters, CONFIDENCE) {
        Some(mean) => {
            let (lower, upper) = (mean.interval.lower.max(0.0), mean.interval.upper.min(1.0));
            Some(crate::statistics::Interval { lower, upper })
        }
        None => {
            let count = clusters.len() as u64;
            let alike = if numerator == 0 { Some(0) } else { (numerator == denominator).then_some(count) };
            alike.and_then(|successes| wilson(successes, count, CONFIDENCE))
        }
    };
    TaskRate { rate, interval }
}

/// Sums of the texts with one template.
#[derive(Debug, Default)]
pub(super) struct TextSums {
    pub(super) sums: Sums,
    soft_calls: u64,
    /// Calls by what the reader found.
    kinds: BTreeMap<ErrorKind, u64>,
    names_field: Share,
    states_remedy: Share,
    names_tool: Share,
    fields: BTreeMap<String, u64>,
    example: Option<ErrorExample>,
}

impl TextSums {
    /// Adds what the reader found in the text of a failed call, and the fields that it is about.
    pub(super) fn add_reading(&mut self, call: &CallRecord, fields: BTreeSet<String>) {
        self.soft_calls += u64::from(call.error_source == Some(ErrorSource::Text));
        let reading = call.reading;
        if let Some(reading) = reading {
            *self.kinds.entry(reading.kind).or_default() += 1;
        }
        add(&mut self.names_field, reading.map(|reading| reading.names_field));
        add(&mut self.states_remedy, reading.map(|reading| reading.states_remedy));
        add(&mut self.names_tool, reading.map(|reading| reading.names_tool));
        for field in fields {
            *self.fields.entry(field).or_default() += 1;
        }
        self.add_example(ErrorExample { episode: call.episode, call: call.call });
    }

    fn add_example(&mut self, example: ErrorExample) {
        self.example = Some(self.example.map_or(example, |known| known.min(example)));
    }

    pub(super) fn merge(&mut self, other: TextSums) {
        self.sums.merge(&other.sums);
        self.soft_calls += other.soft_calls;
        for (kind, calls) in other.kinds {
            *self.kinds.entry(kind).or_default() += calls;
        }
        let shares = [
            (&mut self.names_field, other.names_field),
            (&mut self.states_remedy, other.states_remedy),
            (&mut self.names_tool, other.names_tool),
        ];
        for (share, added) in shares {
            *share = [share[0] + added[0], share[1] + added[1]];
        }
        for (field, calls) in other.fields {
            *self.fields.entry(field).or_default() += calls;
        }
        other.example.into_iter().for_each(|example| self.add_example(example));
    }

    pub(super) fn finish(self, plan: &Plan, tool: String, template: Option<String>) -> ErrorText {
        let rate = |[part, all]: Share| Rate::of(part, all);
        let mut kinds: Vec<(ErrorKind, u64)> = self.kinds.into_iter().collect();
        kinds.sort_by_key(|(_, calls)| std::cmp::Reverse(*calls));
        let mut fields: Vec<ErrorField> =
            self.fields.into_iter().map(|(name, calls)| ErrorField { name, calls }).collect();
        fields.sort_by_key(|field| std::cmp::Reverse(field.calls));
        fields.truncate(MAX_FIELDS);
        ErrorText {
            tool,
            template,
            counts: self.sums.finish(plan),
            soft_calls: self.soft_calls,
            kind: kinds.first().map(|(kind, _)| *kind),
            names_field: rate(self.names_field),
            states_remedy: rate(self.states_remedy),
            names_tool: rate(self.names_tool),
            fields,
            // Every text is that of a call.
            example: self.example.unwrap_or(ErrorExample { episode: 0, call: 0 }),
        }
    }
}
