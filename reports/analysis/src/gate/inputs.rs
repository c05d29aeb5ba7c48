//! The inputs of two runs that differ: scenarios, templates and agents.

use std::collections::BTreeSet;

use healbench_core::AgentId;
use healbench_text::{pluralize, shell_quote};
use serde::Serialize;
use similar::TextDiff;

use super::policy::MayDiffer;
use super::{
    GateRow, IncompatibleRuns, NamedBaseline, Policy, SCENARIOS, ScenarioChange, Subject, Tier, Unlike, missing_row,
};
use crate::baseline::{AgentFingerprint, Baseline, CellName, ScenarioFingerprint};

/// A text that was given to both runs and differs between them.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct TextChange {
    /// The name of the error format, or the id of the scenario.
    pub name: String,
    /// The unified diff; null if one side does not have the text, such as a baseline that of a scenario.
    pub diff: Option<String>,
}

/// The inputs that differ, where both sides have one of that name.
pub(super) struct Inputs<'a> {
    formats: BTreeSet<&'a str>,
    scenarios: BTreeSet<&'a str>,
    agents: BTreeSet<&'a AgentId>,
}

impl<'a> Inputs<'a> {
    pub(super) fn of(base: &'a Baseline, candidate: &'a Baseline) -> Inputs<'a> {
        let formats =
            base.formats.iter().filter(|(name, hash)| candidate.formats.get(*name).is_some_and(|other| other != *hash));
        // A baseline of an earlier version has the fingerprint of all settings.
        let differs = |agent: &AgentFingerprint, other: &AgentFingerprint| {
            agent.kind != other.kind || ![&other.settings, &other.all_settings].contains(&&agent.settings)
        };
        let agents = base.agents.iter();
        let agents = agents.filter(|(id, agent)| candidate.agents.get(*id).is_some_and(|other| differs(agent, other)));
        Inputs {
            formats: formats.map(|(name, _)| name.as_str()).collect(),
            scenarios: rewritten(base, candidate).collect(),
            agents: agents.map(|(id, _)| id).collect(),
        }
    }

    /// Returns true if the text of this error format differs.
    pub(super) fn is_new_format(&self, format: &str) -> bool {
        self.formats.contains(format)
    }

    /// Returns true if the texts of all these scenarios differ.
    pub(super) fn are_rewritten<'s>(&self, mut scenarios: impl Iterator<Item = &'s str>) -> bool {
        scenarios.all(|id| self.scenarios.contains(id))
    }

    pub(super) fn is_new_agent(&self, agent: &AgentId) -> bool {
        self.agents.contains(agent)
    }

    /// Returns true if an input of a scenario in a cell differs.
    pub(super) fn explain(&self, cell: &CellName, scenario: &str) -> bool {
        self.is_new_format(&cell.format) || self.is_new_agent(&cell.agent) || self.scenarios.contains(scenario)
    }
}

/// Returns the scenarios that both sides have with different texts.
fn rewritten<'a>(base: &'a Baseline, candidate: &'a Baseline) -> impl Iterator<Item = &'a str> {
    let differs = |(id, scenario): &(&String, &ScenarioFingerprint)| {
        candidate.scenarios.get(*id).is_some_and(|other| other.text != scenario.text)
    };
    base.scenarios.iter().filter(differs).map(|(id, _)| id.as_str())
}

/// Returns the texts that differ.
pub(super) fn text_changes<'a>(
    base: NamedBaseline<'a>,
    candidate: NamedBaseline<'a>,
    inputs: &Inputs<'a>,
) -> Vec<TextChange> {
    let (before, after) = (base.baseline, candidate.baseline);
    let change = |name: &str, texts: Option<(&String, &String)>| TextChange {
        name: name.to_owned(),
        diff: texts
            .map(|(before, after)| TextDiff::from_lines(before, after).unified_diff().context_radius(2).to_string()),
    };
    let formats =
        inputs.formats.iter().map(|name| change(name, before.templates.get(*name).zip(after.templates.get(*name))));
    let text = |side: NamedBaseline<'a>, id: &str| side.sources.get(id).map(|source| &source.text);
    let scenarios = inputs.scenarios.iter().map(|id| change(id, text(base, id).zip(text(candidate, id))));
    formats.chain(scenarios).collect()
}

/// Scenarios that are not the same on both sides.
pub(super) struct UnlikeScenarios<'a> {
    pub(super) ids: BTreeSet<&'a str>,
    /// A row for each way in which they differ.
    pub(super) rows: Vec<GateRow>,
}

/// Returns the scenarios that cannot be compared.
///
/// # Errors
/// [`IncompatibleRuns`] if these are all.
pub(super) fn unlike_scenarios<'a>(
    base: NamedBaseline<'a>,
    candidate: NamedBaseline<'a>,
    policy: &Policy,
) -> Result<UnlikeScenarios<'a>, IncompatibleRuns> {
    let (before, after) = (&base.baseline.scenarios, &candidate.baseline.scenarios);
    let may_differ = policy.may_differ.contains(&MayDiffer::Scenarios);
    let removed = before.keys().filter(|id| !after.contains_key(*id)).map(String::as_str);
    let added = after.keys().filter(|id| !before.contains_key(*id)).map(String::as_str);
    let rewritten: Vec<&str> = rewritten(base.baseline, candidate.baseline).filter(|_| !may_differ).collect();
    let rescheduled = before.iter().filter(|(id, scenario)| {
        after.get(*id).is_some_and(|other| other.schedules != scenario.schedules) && !rewritten.contains(&id.as_str())
    });
    let rescheduled = rescheduled.map(|(id, _)| id.as_str());
    let kinds: [(Vec<&str>, Unlike); 4] = [
        (removed.collect(), Unlike::Removed),
        (added.collect(), Unlike::Added),
        (rewritten.clone(), Unlike::Changed),
        (rescheduled.collect(), Unlike::Rescheduled),
    ];
    let ids: BTreeSet<&str> = kinds.iter().flat_map(|(ids, ..)| ids.iter().copied()).collect();
    if before.keys().all(|id| ids.contains(id.as_str())) {
        let (ids, unlike) = kinds.iter().find(|(ids, _)| !ids.is_empty()).unwrap_or(&kinds[0]);
        let first = ids.first().copied().unwrap_or_default();
        return Err(IncompatibleRuns {
            property: format!("no scenario is the same: `{first}`"),
            base: "there".to_owned(),
            candidate: unlike.words().to_owned(),
            allow: (!kinds[2].0.is_empty()).then(|| MayDiffer::Scenarios.name()),
        });
    }
    let rows = kinds.into_iter().filter(|(ids, _)| !ids.is_empty()).map(|(ids, unlike)| {
        let subject = Subject::Run { run: candidate.name.to_owned() };
        let allowed = if may_differ { "" } else { ", or allow it by `may_differ = [\"scenarios\"]` in a policy" };
        let command = match base.sources.is_empty() {
            true => format!(" by `healbench bless {} --out {}`", shell_quote(candidate.name), shell_quote(base.name)),
            false => String::new(),
        };
        let reason = format!(
            "{} {}: not compared; {}{command}{allowed}",
            pluralize(ids.len() as u64, "scenario"),
            unlike.words(),
            unlike.way_out()
        );
        GateRow {
            tier: if may_differ { Tier::Advisory } else { Tier::Critical },
            changes: ids.iter().map(|id| ScenarioChange::named(id)).collect(),
            unlike: Some(unlike),
            ..missing_row(subject, SCENARIOS, &reason)
        }
    });
    Ok(UnlikeScenarios { rows: rows.collect(), ids })
}
