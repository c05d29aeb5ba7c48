//! Sums over failed calls and chains by scenario, and the rates of them.

use std::collections::{BTreeMap, BTreeSet};

use healbench_core::{CallRecord, ErrorKind, ErrorSource, Move, Plan};

use super::chains::{AfterError, Chain};
use super::{AfterSecond, ErrorCounts, ErrorExample, ErrorField, ErrorText, TaskRate};
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
    same_errand: Share,
    within_3: Share,
    after_first: AfterSums,
    after_second: AfterSums,
}

/// Sums of what followed an error.
#[derive(Debug, Clone, Copy, Default)]
struct AfterSums {
    errors: u64,
    repaired_next: Share,
    /// Errors by move, as [`MOVES`] lists them.
    made: [u64; MOVES.len()],
}

/// The moves that are scored.
const MOVES: [Move; 4] = [Move::Changed, Move::Repeated, Move::OtherTool, Move::Stopped];

impl AfterSums {
    fn add(&mut self, after: AfterError) {
        self.errors += 1;
        add(&mut self.repaired_next, after.is_repaired_next);
        if let Some(made) = MOVES.iter().position(|made| Some(*made) == after.next_move) {
            self.made[made] += 1;
        }
    }

    fn merge(&mut self, other: &AfterSums) {
        self.errors += other.errors;
        merge(&mut self.repaired_next, other.repaired_next);
        self.made.iter_mut().zip(other.made).for_each(|(made, added)| *made += added);
    }

    fn share(&self, made: usize) -> Share {
        [self.made[made], self.made.iter().sum()]
    }
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
        let rate = |share: &dyn Fn(&ScenarioSums) -> Share| task_rate(share(&all), clusters.values().map(share));
        let moves = |of: fn(&ScenarioSums) -> &AfterSums| {
            std::array::from_fn(|made| rate(&|sums: &ScenarioSums| of(sums).share(made)))
        };
        let [changed, repeated, other_tool, stopped] = moves(|sums| &sums.after_first);
        let [second_changed, second_repeated, second_other_tool, second_stopped] = moves(|sums| &sums.after_second);
        ErrorCounts {
            calls: all.calls,
            chains: all.chains,
            tasks: self.0.len() as u64,
            wasted_tokens: all.wasted_tokens,
            unrepaired: all.unrepaired,
            repaired_next: rate(&|sums| sums.after_first.repaired_next),
            repaired_next_same_errand: rate(&|sums| sums.same_errand),
            repaired_within_3: rate(&|sums| sums.within_3),
            changed,
            repeated,
            other_tool,
            stopped,
            after_second: AfterSecond {
                chains: all.after_second.errors,
                repaired_next: rate(&|sums| sums.after_second.repaired_next),
                changed: second_changed,
                repeated: second_repeated,
                other_tool: second_other_tool,
                stopped: second_stopped,
            },
        }
    }
}

impl ScenarioSums {
    fn add_chain(&mut self, chain: &Chain) {
        self.chains += 1;
        self.unrepaired += u64::from(chain.is_repaired == Some(false));
        add(&mut self.same_errand, chain.after_first.is_repaired_next.filter(|_| !chain.is_elsewhere));
        add(&mut self.within_3, chain.is_repaired_within_3);
        self.after_first.add(chain.after_first);
        chain.after_second.into_iter().for_each(|after| self.after_second.add(after));
    }

    fn merge(&mut self, other: &ScenarioSums) {
        self.calls += other.calls;
        self.chains += other.chains;
        self.wasted_tokens += other.wasted_tokens;
        self.unrepaired += other.unrepaired;
        merge(&mut self.same_errand, other.same_errand);
        merge(&mut self.within_3, other.within_3);
        self.after_first.merge(&other.after_first);
        self.after_second.merge(&other.after_second);
    }
}

fn add(share: &mut Share, is_counted: Option<bool>) {
    share[0] += u64::from(is_counted == Some(true));
    share[1] += u64::from(is_counted.is_some());
}

fn merge(share: &mut Share, added: Share) {
    *share = [share[0] + added[0], share[1] + added[1]];
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
    /// The indices of the conditions.
    conditions: BTreeSet<usize>,
    example: Option<ErrorExample>,
}

impl TextSums {
    /// Adds the condition of a failed call, what the reader found in its text, and the fields that it is about.
    pub(super) fn add_reading(&mut self, condition: usize, call: &CallRecord, fields: BTreeSet<String>) {
        self.conditions.insert(condition);
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
        merge(&mut self.names_field, other.names_field);
        merge(&mut self.states_remedy, other.states_remedy);
        merge(&mut self.names_tool, other.names_tool);
        for (field, calls) in other.fields {
            *self.fields.entry(field).or_default() += calls;
        }
        self.conditions.extend(other.conditions);
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
            conditions: match &*plan.conditions {
                [_] => Vec::new(),
                all => self.conditions.into_iter().map(|condition| all[condition].label()).collect(),
            },
            // Every text is that of a call.
            example: self.example.unwrap_or(ErrorExample { episode: 0, call: 0 }),
        }
    }
}
