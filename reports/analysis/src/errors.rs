//! The error texts of a run, by what they cost: which texts agents met, and what they did next.
//!
//! A failed call that answers no other failed call opens a **chain**, which goes on along the attempts to make it succeed, and belongs to the
//! tool and the text of its first error. Rates are over chains: of what followed the first error of each. Failed calls and their tokens
//! count for the text that they were answered with. Episodes of every outcome count; what their end cuts off is not scored.

pub(crate) mod chains;
mod changes;
mod sums;
mod texts;

#[cfg(test)]
pub(crate) mod tests;

use std::collections::{BTreeMap, BTreeSet, HashMap};

use healbench_core::{CallRecord, CellRef, Condition, EpisodeRecord, ErrorKind, Plan};
use healbench_store::RunManifest;
use schemars::JsonSchema;
use serde::Serialize;

use self::chains::{Chain, chains, fields_of};
pub use self::changes::{ErrorChange, ErrorChanges, ShareDifference, TextChange, error_changes};
use self::sums::{Sums, TextSums};
use self::texts::Texts;
use crate::rate::{CONFIDENCE, Rate};
use crate::report_error::ReportError;
use crate::run_rows::RunRows;
use crate::statistics::Interval;

/// The errors to count, and how to show them.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct ErrorQuery {
    /// The order of the texts.
    pub order: ErrorOrder,
    /// The axis of the groups; none without.
    pub by: Option<ErrorAxis>,
    /// True to take errors that are known by their text alone for successes.
    pub flagged_only: bool,
}

/// The order of error texts, the largest first. Of equal ones, those with more wasted tokens come first, then those with more chains
/// without repair.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum ErrorOrder {
    /// By wasted tokens.
    #[default]
    Tokens,
    /// By error chains.
    Chains,
    /// By chains without repair.
    Unrepaired,
    /// By chains whose first failed call was repeated.
    Repeated,
}

/// An axis to group error chains by.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum ErrorAxis {
    /// By agent.
    Agent,
    /// By condition.
    Condition,
    /// By agent and condition.
    Cell,
    /// By tool.
    Tool,
    /// By the kind that the reader finds.
    Kind,
}

impl ErrorAxis {
    /// Returns the name in options and documents.
    pub fn name(self) -> &'static str {
        match self {
            ErrorAxis::Agent => "agent",
            ErrorAxis::Condition => "condition",
            ErrorAxis::Cell => "agent and condition",
            ErrorAxis::Tool => "tool",
            ErrorAxis::Kind => "kind",
        }
    }
}

/// The error texts of a run.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct ErrorTexts {
    /// The confidence of every interval: 0.95.
    pub confidence: f64,
    /// True if errors that are known by their text alone were taken for successes.
    pub flagged_only: bool,
    /// True for a trace, in which nobody assigned texts to agents at random.
    pub observational: bool,
    /// Failed calls of shells, which are in none of the counts.
    pub shell_errors: u64,
    /// Episodes with failed calls that are in none of the counts, since an attack was injected.
    pub attacked_episodes: u64,
    /// The counts of all texts.
    pub totals: ErrorCounts,
    /// The axis of the groups; null without groups.
    pub by: Option<ErrorAxis>,
    /// The counts by agent, condition, both, tool or kind, in the order of the plan or of the names.
    pub groups: Vec<ErrorGroup>,
    /// The counts by condition and by the kind that the reader finds, in the order of the plan and of the names.
    pub kinds: Vec<ConditionKinds>,
    /// The texts, in the order that was asked for.
    pub texts: Vec<ErrorText>,
}

/// The errors under one condition by kind.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct ConditionKinds {
    /// The label of the condition.
    pub condition: String,
    /// The errors of each kind.
    pub kinds: Vec<ErrorGroup>,
}

/// The errors of one agent, condition, both, tool or kind.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct ErrorGroup {
    /// The name of the agent, condition, tool or kind; of an agent and a condition, both with ` · ` between them.
    pub name: String,
    /// The counts.
    #[serde(flatten)]
    pub counts: ErrorCounts,
}

/// Failed calls, their chains, and what followed.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct ErrorCounts {
    /// Failed calls.
    pub calls: u64,
    /// Error chains.
    pub chains: u64,
    /// Scenarios with a failed call.
    pub tasks: u64,
    /// Tokens of the failed calls and of their responses.
    pub wasted_tokens: u64,
    /// Chains that were not repaired by any attempt, without those that the end of a record cuts off.
    pub unrepaired: u64,
    /// Chains whose first attempt succeeded, and stands in one of the next three turns, among those with a move.
    pub repaired_next: TaskRate,
    /// The same without chains whose first attempt is probably another errand, for it shares few words with the failed call.
    pub repaired_next_same_errand: TaskRate,
    /// Chains of which one of the first three attempts succeeded, among those that were not cut off before.
    pub repaired_within_3: TaskRate,
    /// Chains whose failed call was made with other arguments in the next turn, among those with a move.
    pub changed: TaskRate,
    /// Chains whose failed call was made again with equal arguments in the next turn.
    pub repeated: TaskRate,
    /// Chains after whose first error the next turn only has calls of other tools or actions.
    pub other_tool: TaskRate,
    /// Chains after whose first error no call followed.
    pub stopped: TaskRate,
    /// The same after the error of a first attempt.
    pub after_second: AfterSecond,
}

/// The moves and repairs after the second error of chains whose first attempt failed as well.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, JsonSchema)]
pub struct AfterSecond {
    /// Such chains.
    pub chains: u64,
    /// Chains whose second attempt succeeded, and stands in one of the next three turns, among those with a move.
    pub repaired_next: TaskRate,
    /// Chains whose second failed call was made with other arguments in the next turn, among those with a move.
    pub changed: TaskRate,
    /// Chains whose second failed call was made again with equal arguments in the next turn.
    pub repeated: TaskRate,
    /// Chains after whose second error the next turn only has calls of other tools or actions.
    pub other_tool: TaskRate,
    /// Chains after whose second error no call followed.
    pub stopped: TaskRate,
}

/// A share of chains.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, JsonSchema)]
pub struct TaskRate {
    /// The share.
    #[serde(flatten)]
    pub rate: Rate,
    /// The shares to expect of a new sample of as many tasks: Student's t over clusters of scenarios. Where no cluster differs from another, each
    /// counts once in Wilson's interval. Null below 10 clusters.
    pub interval: Option<Interval>,
}

/// The errors of one tool with texts of one kind. Where the template is only a part of what was sent, such as the message of JSON or the
/// beginning of a long text, each error format and level of content has its own.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct ErrorText {
    /// The tool as the agent named it.
    pub tool: String,
    /// The text without what differs from call to call, which is `…`; at most 200 characters. Null for texts that the run does not store.
    pub template: Option<String>,
    /// The counts.
    #[serde(flatten)]
    pub counts: ErrorCounts,
    /// Failed calls that are known as such by their text alone.
    pub soft_calls: u64,
    /// The kind that the reader finds in most of the texts; null if they were not read.
    #[schemars(with = "Option<crate::schema::ErrorKindSchema>")]
    pub kind: Option<ErrorKind>,
    /// Failed calls whose text names a field, as far as the reader finds, among those that were read.
    pub names_field: Rate,
    /// Failed calls whose text states a remedy, as far as the reader finds.
    pub states_remedy: Rate,
    /// Failed calls whose text names a tool, as far as the reader finds.
    pub names_tool: Rate,
    /// The three most frequent fields: those that a text names or, where the row has none, the arguments that the next attempt changed.
    pub fields: Vec<ErrorField>,
    /// The conditions under which it was met, in the order of the plan; empty where the run has only one.
    pub conditions: Vec<String>,
    /// The first call with such a text.
    pub example: ErrorExample,
}

impl ErrorText {
    /// Returns true if most of its calls are known as failed by their text alone.
    pub fn is_soft(&self) -> bool {
        self.soft_calls * 2 > self.counts.calls
    }
}

/// A field of failed calls.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct ErrorField {
    /// The name of the argument.
    pub name: String,
    /// Failed calls that it concerns.
    pub calls: u64,
}

/// A failed call.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, JsonSchema)]
pub struct ErrorExample {
    /// The index of the episode.
    pub episode: u64,
    /// The number of the call in it, from 1.
    pub call: u32,
}

/// Computes the error texts of a run over the episodes that `accepts` does. Holds the calls of one episode at a time, and the beginning
/// of each distinct text.
///
/// # Errors
/// [`ReportError::Rows`] and [`ReportError::ForeignEpisode`] if the rows cannot be read; [`ReportError::NoAftermath`] if an older version
/// wrote them.
pub fn error_texts(
    run: &dyn RunRows,
    manifest: &RunManifest,
    query: ErrorQuery,
    accepts: &dyn Fn(&EpisodeRecord) -> bool,
) -> Result<ErrorTexts, ReportError> {
    let plan = &manifest.plan;
    let mut cells: HashMap<u64, CellRef> = HashMap::new();
    let (mut attacked_episodes, mut shell_errors) = (0, 0);
    run.for_each_episode(plan, &mut |cell, row| {
        if row.counts.errors > 0 {
            match accepts(row) {
                true => _ = cells.insert(row.episode, cell),
                false => attacked_episodes += u64::from(row.is_attacked()),
            }
        }
        Ok(())
    })?;
    let mut counter = Counter::new(query, Texts::read(run, plan.is_trace())?, plan);
    let mut calls: Vec<CallRecord> = Vec::new();
    run.for_each_call(&mut |call| {
        if manifest.shell_tools.iter().any(|shell| **shell == *call.tool) {
            shell_errors += u64::from(call.is_error && cells.contains_key(&call.episode));
            return Ok(());
        }
        if calls.first().is_some_and(|first| first.episode != call.episode) {
            counter.add(&cells, &calls)?;
            calls.clear();
        }
        calls.push(call);
        Ok(())
    })?;
    counter.add(&cells, &calls)?;
    Ok(ErrorTexts { attacked_episodes, shell_errors, ..counter.finish(plan) })
}

/// A group: an agent, a condition, both, a tool, or a kind.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
enum GroupKey {
    Axis(usize),
    Cell(usize, usize),
    Name(String),
}

/// The sums over the episodes so far.
struct Counter {
    query: ErrorQuery,
    texts: Texts,
    totals: Sums,
    groups: BTreeMap<GroupKey, Sums>,
    kinds: BTreeMap<usize, BTreeMap<String, Sums>>,
    /// The first condition with the same error format and content as each; empty if all have the same.
    forms: Vec<usize>,
    by_text: BTreeMap<TextKey, TextSums>,
}

/// Calls whose texts are one row.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
struct TextKey {
    tool: String,
    /// The text, masked or as a template; `None` if the run does not store it.
    text: Option<String>,
    /// The first condition with the same error format and content. `None` if the run has one form alone, or if the text is all that was sent:
    /// then it is the same under any.
    form: Option<usize>,
}

impl Counter {
    fn new(query: ErrorQuery, texts: Texts, plan: &Plan) -> Counter {
        let form = |condition: &Condition| (condition.format().clone(), condition.values.content);
        let first = |condition: &Condition| plan.conditions.iter().position(|other| form(other) == form(condition));
        let forms: Vec<usize> = plan.conditions.iter().filter_map(first).collect();
        Counter {
            query,
            texts,
            totals: Sums::default(),
            groups: BTreeMap::new(),
            kinds: BTreeMap::new(),
            // One form, as in a trace, has nothing to keep apart.
            forms: if forms.iter().all(|form| *form == 0) { Vec::new() } else { forms },
            by_text: BTreeMap::new(),
        }
    }

    /// Adds the calls of an episode.
    fn add(&mut self, cells: &HashMap<u64, CellRef>, calls: &[CallRecord]) -> Result<(), ReportError> {
        for call in calls {
            self.texts.add_names(call);
        }
        let Some(cell) = calls.first().and_then(|first| cells.get(&first.episode)) else { return Ok(()) };
        let found = chains(calls, self.query.flagged_only)?;
        for at in found.failed {
            let call = &calls[at];
            // Chains are in the order of their first calls.
            let chain = found.chains.binary_search_by_key(&at, |chain| chain.first).ok();
            self.add_call(*cell, call, chain.map(|chain| &found.chains[chain]), fields_of(calls, at));
        }
        Ok(())
    }

    fn add_call(&mut self, cell: CellRef, call: &CallRecord, chain: Option<&Chain>, fields: BTreeSet<String>) {
        let kind = call.reading.map_or("not read", |reading| reading.kind.name()).replace('_', " ");
        let key = match self.query.by {
            None => None,
            Some(ErrorAxis::Agent) => Some(GroupKey::Axis(cell.agent)),
            Some(ErrorAxis::Condition) => Some(GroupKey::Axis(cell.condition)),
            Some(ErrorAxis::Cell) => Some(GroupKey::Cell(cell.agent, cell.condition)),
            Some(ErrorAxis::Tool) => Some(GroupKey::Name(call.tool.to_string())),
            Some(ErrorAxis::Kind) => Some(GroupKey::Name(kind.clone())),
        };
        let form = self.forms.get(cell.condition).copied().filter(|_| !self.texts.is_whole(call));
        let key_of_text = TextKey { tool: call.tool.to_string(), text: self.texts.masked(call), form };
        let text = self.by_text.entry(key_of_text).or_default();
        text.add_reading(cell.condition, call, fields);
        let group = key.map(|key| self.groups.entry(key).or_default());
        let kind = self.kinds.entry(cell.condition).or_default().entry(kind).or_default();
        for sums in [&mut self.totals, &mut text.sums, kind].into_iter().chain(group) {
            sums.add(cell.scenario, call, chain);
        }
    }

    fn finish(self, plan: &Plan) -> ErrorTexts {
        let mut rows: BTreeMap<TextKey, TextSums> = BTreeMap::new();
        for (key, sums) in self.by_text {
            let text = key.text.as_ref().map(|masked| self.texts.template(&key.tool, masked));
            rows.entry(TextKey { text, ..key }).or_default().merge(sums);
        }
        let mut texts: Vec<ErrorText> =
            rows.into_iter().map(|(key, sums)| sums.finish(plan, key.tool, key.text)).collect();
        let order = self.query.order;
        // The order of rows that are equal in all of these is that of their names.
        texts.sort_by_key(|text| {
            std::cmp::Reverse([order.key(&text.counts), text.counts.wasted_tokens, text.counts.unrepaired])
        });
        let name = |key: GroupKey| match (key, self.query.by) {
            (GroupKey::Name(name), _) => name,
            (GroupKey::Cell(agent, condition), _) => {
                format!("{} · {}", plan.agents[agent].title(), plan.conditions[condition].label())
            }
            (GroupKey::Axis(index), Some(ErrorAxis::Condition)) => plan.conditions[index].label(),
            (GroupKey::Axis(index), _) => plan.agents[index].title(),
        };
        let group = |name: String, sums: Sums| ErrorGroup { name, counts: sums.finish(plan) };
        let of_condition = |(condition, kinds): (usize, BTreeMap<String, Sums>)| ConditionKinds {
            condition: plan.conditions[condition].label(),
            kinds: kinds.into_iter().map(|(kind, sums)| group(kind, sums)).collect(),
        };
        ErrorTexts {
            confidence: CONFIDENCE,
            flagged_only: self.query.flagged_only,
            observational: plan.is_trace(),
            shell_errors: 0,
            attacked_episodes: 0,
            totals: self.totals.finish(plan),
            by: self.query.by,
            groups: self.groups.into_iter().map(|(key, sums)| group(name(key), sums)).collect(),
            kinds: self.kinds.into_iter().map(of_condition).collect(),
            texts,
        }
    }
}

impl ErrorOrder {
    fn key(self, counts: &ErrorCounts) -> u64 {
        match self {
            ErrorOrder::Tokens => counts.wasted_tokens,
            ErrorOrder::Chains => counts.chains,
            ErrorOrder::Unrepaired => counts.unrepaired,
            ErrorOrder::Repeated => counts.repeated.rate.numerator,
        }
    }
}
