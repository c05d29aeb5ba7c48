//! Joins the rows that one cause makes fail.

use std::collections::{BTreeMap, BTreeSet};

use super::inputs::Inputs;
use super::{GateRow, Method, Subject, Verdict};

/// The common ground of rows that fail for one cause.
#[derive(PartialEq, Eq, PartialOrd, Ord)]
enum Cause {
    /// The text of an error format differs.
    Format(String),
    /// The settings of an agent differ.
    Agent(String),
    /// The texts of the scenarios that changed differ.
    Rewritten,
    /// The same scenarios changed, of simulated readers and replays.
    Scenarios(BTreeSet<String>),
    /// The cell, of live models.
    Cell(String),
}

/// Gives each cause a head among its failing rows, and points the others to it. The head is a critical row before an advisory one, then the
/// first by metric, then the one with the largest loss.
pub(super) fn join(rows: &mut [GateRow], inputs: &Inputs<'_>) {
    let cell = |row: &GateRow| format!("{:?}", row.subject);
    let mut changed: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
    for row in rows.iter().filter(|row| row.verdict == Verdict::Fail && row.method == Method::Exact) {
        changed.entry(cell(row)).or_default().extend(row.changes.iter().map(|change| change.scenario.clone()));
    }
    let cause = |row: &GateRow| {
        let Subject::Cell { agent, format, .. } = &row.subject else { return None };
        Some(match row.method {
            _ if inputs.is_new_format(format) => Cause::Format(format.clone()),
            _ if inputs.is_new_agent(agent) => Cause::Agent(agent.to_string()),
            _ if !row.changes.is_empty()
                && inputs.are_rewritten(row.changes.iter().map(|change| change.scenario.as_str())) =>
            {
                Cause::Rewritten
            }
            Method::Exact => Cause::Scenarios(changed.get(&cell(row)).cloned().unwrap_or_default()),
            _ => Cause::Cell(cell(row)),
        })
    };
    let mut causes: BTreeMap<Cause, Vec<usize>> = BTreeMap::new();
    for (index, row) in rows.iter().enumerate().filter(|(_, row)| row.verdict == Verdict::Fail) {
        if let Some(cause) = cause(row) {
            causes.entry(cause).or_default().push(index);
        }
    }
    for (cause, indexes) in causes {
        let because = match &cause {
            Cause::Format(name) => Some(format!("the text of the error format `{name}` differs")),
            Cause::Agent(name) => Some(format!("the settings of `{name}` differ")),
            Cause::Rewritten => Some("the texts of these scenarios differ".to_owned()),
            Cause::Scenarios(_) | Cause::Cell(_) => None,
        };
        let weight = |index: &&usize| {
            let row = &rows[**index];
            (row.tier, row.by_loss())
        };
        let Some(head) = indexes.iter().min_by_key(weight).copied() else { continue };
        for index in indexes.into_iter().filter(|index| *index != head) {
            rows[index].cause = Some(head);
        }
        if let Some(because) = because {
            rows[head].reason = format!("{}; {because}", rows[head].reason);
        }
    }
}
