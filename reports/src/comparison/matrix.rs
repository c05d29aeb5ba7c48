//! The matrix of one run's cells: error formats, guardrail sets or agents, each with its difference from a reference.

use std::collections::{BTreeMap, BTreeSet};

use healbench_protocol::{
    AgentKind, AgentSpec, AxisError, Client, Content, ErrorFormat, Guardrails, REFERENCE_CONDITION,
};
use healbench_record::{CellRef, Condition, Outcome, Plan, RunDir};
use schemars::JsonSchema;
use serde::Serialize;

use super::episode_metrics::RunEpisodes;
use super::interaction::{Interaction, interactions};
use super::pairs::adjust;
use super::{Cluster, ComparisonError, EpisodeMetrics, MetricDifference, Side, difference};
use crate::frames::check_names;
use crate::metric::Metric;
use crate::rate::{CONFIDENCE, Rate};
use crate::report_error::ReportError;
use crate::statistics::{Interval, Resamples, wilson};
use crate::summary::{Verdict, verdict};

/// The dimension of a run that is compared.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Axis {
    /// Error formats, of the same agent under the same guardrails with the same content.
    Format,
    /// Sets of guardrails, of the same agent in the same error format.
    Guardrails,
    /// Agents, under the same guardrails in the same error format.
    Agent,
    /// Conditions, of the same agent.
    Condition,
    /// Levels of content, of the same agent under the same guardrails in the same error format.
    Content,
    /// Clients, of the same agent under the same condition but for its client.
    Client,
}

/// A matrix of cells: rows are compared within each column. Every difference is over pairs of the same scenario and
/// trial.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct Matrix {
    /// The run as named by the user; empty in a report.
    pub run: String,
    /// The compared dimension.
    pub axis: Axis,
    /// The row that the others are compared with.
    pub reference: String,
    /// The confidence of every interval: 0.95.
    pub confidence: f64,
    /// Scenarios of the plan.
    pub scenarios: u64,
    /// Trials of the plan.
    pub trials: u32,
    /// The names of the compared formats, sets of guardrails or agents, in the order of the plan.
    pub rows: Vec<String>,
    /// The columns. The cells of a column are compared with each other.
    pub columns: Vec<MatrixColumn>,
    /// The rows that are clearly better or worse than the reference in some column.
    pub conclusions: Vec<RowConclusion>,
    /// How much the effects of content depend on the error format, if content or formats are compared and the run varies both.
    pub interactions: Vec<Interaction>,
    /// Pairs of episodes that were not both executed and scored with the same mistakes and faults.
    pub unpaired: u64,
}

/// The columns in which the success of a row differs clearly from that of the reference.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct RowConclusion {
    /// The row.
    pub row: String,
    /// Columns in which it is clearly better.
    pub better: u64,
    /// Columns in which it is clearly worse.
    pub worse: u64,
    /// Columns in which both have cells.
    pub columns: u64,
}

/// One column of a matrix.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct MatrixColumn {
    /// What its cells have in common: an agent and guardrails, an agent and a format, or a condition.
    pub title: String,
    /// The agent in the title; null if agents are compared.
    pub agent: Option<String>,
    /// The agent's name without opening and tools mode; null where agents are compared.
    pub agent_name: Option<String>,
    /// The rest of the title.
    pub condition: String,
    /// True if any of its agents is scripted.
    pub scripted: bool,
    /// The cells by row; null if the plan has no such cell.
    pub cells: Vec<Option<MatrixCell>>,
}

/// One cell of a matrix.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct MatrixCell {
    /// Successes among scored episodes.
    pub success: Rate,
    /// Wilson's interval.
    pub success_interval: Option<Interval>,
    /// The difference to the reference's cell in this column, one entry per metric; empty for the reference itself, and
    /// if the plan has no such cell. P-values are adjusted by Holm for all cells of the matrix.
    pub differences: Vec<MetricDifference>,
}

/// The indices of an agent and a condition in the plan.
type CellIndex = (usize, usize);

/// A column before its cells are computed.
struct ColumnLayout {
    agent: Option<AgentSpec>,
    condition: String,
    scripted: bool,
    indices: Vec<Option<CellIndex>>,
}

/// Builds the matrix of one run. The reference is the row of the given name; by default `none` for guardrails,
/// `sdk-typescript` for conditions, `raw` for clients, and otherwise the first row.
///
/// # Errors
/// [`ComparisonError::Axis`] for a reference that the run does not have, [`ComparisonError::TooFew`] if the axis has
/// fewer than two entries, and [`ComparisonError::Report`].
pub fn matrix(side: Side<'_>, axis: Axis, reference: Option<&str>) -> Result<Matrix, ComparisonError> {
    let plan = &side.manifest.plan;
    let report = |source| ComparisonError::Report { run: side.name.to_owned(), source };
    check_names(plan).map_err(|source| report(source.into()))?;
    let (rows, columns) = layout(plan, axis);
    if rows.len() < 2 {
        return Err(ComparisonError::TooFew { run: side.name.to_owned(), axis: axis.plural() });
    }
    let reference = match reference {
        None => default_reference(plan, axis, &rows),
        Some(name) => rows.iter().position(|row| row == name).ok_or_else(|| {
            let known = rows.clone();
            ComparisonError::Axis(AxisError { axis: "reference", word: name.to_owned(), known })
        })?,
    };
    build_matrix(side.run, plan, axis, (rows, columns), reference)
        .map_err(report)
        .map(|matrix| Matrix { run: side.name.to_owned(), ..matrix })
}

/// Builds the matrix of a report: named conditions if it has any, error formats, or levels of content if there is only one
/// format, or guardrails if there is only one of both. Returns `None` if there is only one of each.
///
/// # Errors
/// As [`crate::summarize`].
pub(crate) fn main_matrix(run: &RunDir, plan: &Plan) -> Result<Option<Matrix>, ReportError> {
    let has_names = plan.conditions.iter().any(|condition| !condition.is_plain());
    let axes = if has_names { &[Axis::Condition][..] } else { &[Axis::Format, Axis::Content, Axis::Guardrails] };
    for axis in axes.iter().copied() {
        let layout = layout(plan, axis);
        if layout.0.len() > 1 {
            let reference = default_reference(plan, axis, &layout.0);
            return build_matrix(run, plan, axis, layout, reference).map(Some);
        }
    }
    Ok(None)
}

/// Returns the named reference condition, with its first client, `none` for guardrails, `raw` for clients, and otherwise the first
/// row.
fn default_reference(plan: &Plan, axis: Axis, rows: &[String]) -> usize {
    let row = |name: &str| rows.iter().position(|row| row == name);
    let reference_condition = || {
        let is_reference = |condition: &Condition| condition.is_named(REFERENCE_CONDITION);
        plan.conditions.iter().position(is_reference)
    };
    match axis {
        Axis::Condition => reference_condition().or_else(|| row(&Guardrails::NONE.to_string())),
        Axis::Client => row(Client::Raw.name()),
        _ => row(&Guardrails::NONE.to_string()),
    }
    .unwrap_or(0)
}

/// Computes the matrix of a layout, without the run's name.
fn build_matrix(
    run: &RunDir,
    plan: &Plan,
    axis: Axis,
    (rows, columns): (Vec<String>, Vec<ColumnLayout>),
    reference: usize,
) -> Result<Matrix, ReportError> {
    let episodes = RunEpisodes::read(run, plan)?;
    let mut resamples = Resamples::new(plan.seed);
    let mut unpaired = 0;
    // A condition without `healing` is in the column of every format, but counts as one comparison in the family.
    let compared_cells = |column: &ColumnLayout, row: usize| {
        let reference_cell = column.indices[reference].filter(|_| row != reference);
        column.indices[row].map(|index| (index, reference_cell))
    };
    let mut cells: BTreeMap<(CellIndex, Option<CellIndex>), MatrixCell> = BTreeMap::new();
    for compared in columns.iter().flat_map(|column| (0..rows.len()).filter_map(|row| compared_cells(column, row))) {
        let (index, reference_cell) = compared;
        cells
            .entry(compared)
            .or_insert_with(|| cell(plan, &episodes, index, reference_cell, &mut resamples, &mut unpaired));
    }
    adjust(cells.values_mut().map(|cell| &mut cell.differences));
    let columns = columns
        .into_iter()
        .map(|column| {
            let cells = (0..rows.len())
                .map(|row| compared_cells(&column, row).and_then(|compared| cells.get(&compared).cloned()));
            let agent = column.agent.as_ref().map(AgentSpec::title);
            MatrixColumn {
                cells: cells.collect(),
                title: [agent.clone().unwrap_or_default(), column.condition.clone()].join(" ").trim().to_owned(),
                agent,
                agent_name: column.agent.as_ref().map(ToString::to_string),
                condition: column.condition,
                scripted: column.scripted,
            }
        })
        .collect();
    let columns: Vec<MatrixColumn> = columns;
    let conclusions = conclusions(&rows, &columns);
    let reference_on = |wanted: Axis| (axis == wanted).then_some(rows[reference].as_str());
    let interactions = match axis {
        Axis::Content | Axis::Format => {
            interactions(plan, &episodes, reference_on(Axis::Content), reference_on(Axis::Format))
        }
        Axis::Guardrails | Axis::Agent | Axis::Condition | Axis::Client => Vec::new(),
    };
    Ok(Matrix {
        run: String::new(),
        axis,
        reference: rows[reference].clone(),
        confidence: CONFIDENCE,
        scenarios: plan.scenarios.len() as u64,
        trials: plan.trials,
        rows,
        columns,
        conclusions,
        interactions,
        unpaired,
    })
}

fn conclusions(rows: &[String], columns: &[MatrixColumn]) -> Vec<RowConclusion> {
    let of_row = |(index, row): (usize, &String)| {
        let mut found = RowConclusion { row: row.clone(), better: 0, worse: 0, columns: 0 };
        for cell in columns.iter().filter_map(|column| column.cells.get(index)?.as_ref()) {
            let Some(entry) = cell.differences.iter().find(|entry| entry.metric == Metric::Success) else { continue };
            found.columns += 1;
            let Some(interval) = entry.interval else { continue };
            if verdict(interval, entry.p_adjusted) == Verdict::Clear {
                let better = interval.lower > 0.0;
                found.better += u64::from(better);
                found.worse += u64::from(!better);
            }
        }
        found
    };
    rows.iter().enumerate().map(of_row).filter(|row| row.better + row.worse > 0).collect()
}

impl Axis {
    /// Returns the plural of the axis, for messages.
    pub fn plural(self) -> &'static str {
        match self {
            Axis::Format => "error formats",
            Axis::Guardrails => "sets of guardrails",
            Axis::Agent => "agents",
            Axis::Condition => "conditions",
            Axis::Content => "levels of content",
            Axis::Client => "clients",
        }
    }
}

/// Returns the rows and the columns of a matrix.
fn layout(plan: &Plan, axis: Axis) -> (Vec<String>, Vec<ColumnLayout>) {
    let at = |guardrails: Guardrails, format: &ErrorFormat, (content, client): (Content, Client)| {
        plan.conditions.iter().position(|condition| {
            let is_same = condition.guardrails() == guardrails && condition.format() == format;
            is_same && condition.values.content == content && condition.values.client == client
        })
    };
    let clients = distinct(plan.conditions.iter().map(|condition| condition.values.client));
    let mut contents = distinct(
        plan.conditions
            .iter()
            .filter(|condition| condition.guardrails().healing)
            .map(|condition| condition.values.content),
    );
    if contents.is_empty() {
        contents.push(Content::Native);
    }
    let shown: Vec<(Content, Client)> =
        clients.iter().flat_map(|client| contents.iter().map(move |content| (*content, *client))).collect();
    let titled = |text: String, (content, client): (Content, Client)| {
        let content = (!content.is_native()).then(|| content.name());
        let client = (!client.is_raw()).then(|| client.name());
        std::iter::once(text.as_str()).chain(content).chain(client).collect::<Vec<_>>().join(" ")
    };
    let formats = distinct(
        plan.conditions.iter().map(|condition| condition.format()).filter(|format| **format != ErrorFormat::Bare),
    );
    let sets = distinct(plan.conditions.iter().map(|condition| condition.guardrails()));
    let scripted = |agent: usize| plan.agents[agent].kind == AgentKind::Scripted;
    let by_agent = |conditions: &dyn Fn(usize) -> Vec<(String, Vec<Option<CellIndex>>)>| -> Vec<ColumnLayout> {
        let columns = (0..plan.agents.len()).flat_map(|agent| {
            conditions(agent).into_iter().map(move |(condition, indices)| (agent, condition, indices))
        });
        let column = |(agent, condition, indices): (usize, String, Vec<Option<CellIndex>>)| ColumnLayout {
            agent: Some(plan.agents[agent].clone()),
            condition,
            scripted: scripted(agent),
            indices,
        };
        columns.map(column).collect()
    };
    match axis {
        Axis::Format => {
            let sets: Vec<Guardrails> = sets.into_iter().filter(|set| set.healing).collect();
            let columns = by_agent(&|agent| {
                let indices = |set: Guardrails, shown: (Content, Client)| {
                    formats.iter().map(|format| Some((agent, at(set, format, shown)?))).collect()
                };
                let columns = sets.iter().flat_map(|set| shown.iter().map(move |shown| (*set, *shown)));
                columns.map(|(set, shown)| (titled(set.to_string(), shown), indices(set, shown))).collect()
            });
            (formats.iter().map(ToString::to_string).collect(), columns)
        }
        Axis::Guardrails => {
            let bare = [&ErrorFormat::Bare];
            let within = if formats.is_empty() { &bare[..] } else { &formats };
            // A set without `healing` has no format, so its one condition is used for every format.
            let condition = |set, format: &ErrorFormat, shown: (Content, Client)| {
                at(set, format, shown).or_else(|| at(set, &ErrorFormat::Bare, (Content::Native, shown.1)))
            };
            let columns = by_agent(&|agent| {
                let indices = |format: &ErrorFormat, shown: (Content, Client)| {
                    sets.iter().map(|set| Some((agent, condition(*set, format, shown)?))).collect()
                };
                let columns = within.iter().flat_map(|format| shown.iter().map(move |shown| (*format, *shown)));
                let column = |(format, shown): (&ErrorFormat, (Content, Client))| {
                    (titled(format.to_string(), shown), indices(format, shown))
                };
                columns.map(column).collect()
            });
            (sets.iter().map(ToString::to_string).collect(), columns)
        }
        Axis::Content => {
            let sets: Vec<Guardrails> = sets.into_iter().filter(|set| set.healing).collect();
            let columns = by_agent(&|agent| {
                let indices = |set: Guardrails, format: &ErrorFormat, client: Client| {
                    contents.iter().map(|content| Some((agent, at(set, format, (*content, client))?))).collect()
                };
                let columns = sets.iter().flat_map(|set| formats.iter().map(move |format| (*set, *format)));
                let columns =
                    columns.flat_map(|(set, format)| clients.iter().map(move |client| (set, format, *client)));
                let column = |(set, format, client): (Guardrails, &ErrorFormat, Client)| {
                    let title = titled(format!("{set} {format}"), (Content::Native, client));
                    (title, indices(set, format, client))
                };
                columns.map(column).collect()
            });
            (contents.iter().map(|content| content.name().to_owned()).collect(), columns)
        }
        Axis::Client => {
            let names = distinct(plan.conditions.iter().map(|condition| condition.label_without(&["client"])));
            let with = |name: &str, client: Client| {
                let is_it = |condition: &Condition| {
                    condition.values.client == client && condition.label_without(&["client"]) == name
                };
                plan.conditions.iter().position(is_it)
            };
            let columns = by_agent(&|agent| {
                let indices =
                    |name| clients.iter().map(|client| Some((agent, with(name, *client)?))).collect::<Vec<_>>();
                names.iter().map(|name| (name.clone(), indices(name))).collect()
            });
            (clients.iter().map(|client| client.name().to_owned()).collect(), columns)
        }
        Axis::Condition => {
            let indices = |agent| (0..plan.conditions.len()).map(|condition| Some((agent, condition))).collect();
            let columns = by_agent(&|agent| vec![(String::new(), indices(agent))]);
            (plan.conditions.iter().map(Condition::short_label).collect(), columns)
        }
        Axis::Agent => {
            let column = |(index, condition): (usize, &Condition)| ColumnLayout {
                agent: None,
                condition: condition.short_label(),
                scripted: (0..plan.agents.len()).any(scripted),
                indices: (0..plan.agents.len()).map(|agent| Some((agent, index))).collect(),
            };
            (
                plan.agents.iter().map(|agent| agent.id().to_string()).collect(),
                plan.conditions.iter().enumerate().map(column).collect(),
            )
        }
    }
}

fn distinct<T: PartialEq>(all: impl Iterator<Item = T>) -> Vec<T> {
    let mut found = Vec::new();
    for entry in all {
        if !found.contains(&entry) {
            found.push(entry);
        }
    }
    found
}

fn cell(
    plan: &Plan,
    episodes: &RunEpisodes,
    (agent, condition): CellIndex,
    reference_cell: Option<CellIndex>,
    resamples: &mut Resamples,
    unpaired: &mut u64,
) -> MatrixCell {
    let (mut successes, mut scored) = (0, 0);
    // Without copies of trials.
    let mut distinct = [0, 0];
    let is_deterministic = |agent: usize| plan.agents[agent].is_deterministic();
    let has_copies = is_deterministic(agent) && reference_cell.is_none_or(|(agent, _)| is_deterministic(agent));
    // One cluster for all scenarios that vary one situation.
    let mut names: Vec<&str> = Vec::new();
    let mut clusters = vec![Vec::new(); Metric::ALL.len()];
    for scenario in 0..plan.scenarios.len() {
        let name = plan.scenarios[scenario].cluster.as_str();
        let at = names.iter().position(|known| *known == name).unwrap_or_else(|| {
            names.push(name);
            clusters.iter_mut().for_each(|clusters| clusters.push(Cluster::default()));
            names.len() - 1
        });
        let (mut known, mut paired) = (BTreeSet::new(), BTreeSet::new());
        for trial in 0..plan.trials {
            let here = episodes.get(plan, CellRef { scenario, agent, condition, trial });
            let counted = here.filter(|here| here.is_scored());
            scored += u64::from(counted.is_some());
            let is_success = counted.is_some_and(|here| here.outcome == Outcome::Success);
            successes += u64::from(is_success);
            if counted.is_some_and(|here| !is_deterministic(agent) || known.insert(here.schedule)) {
                distinct = [distinct[0] + u64::from(is_success), distinct[1] + 1];
            }
            let Some((agent, condition)) = reference_cell else { continue };
            let there = episodes.get(plan, CellRef { scenario, agent, condition, trial });
            match pair(here, there) {
                Some((here, _)) if has_copies && !paired.insert(here.schedule) => {}
                Some((here, there)) => {
                    for (clusters, metric) in clusters.iter_mut().zip(Metric::ALL) {
                        clusters[at].add(metric, there, here);
                    }
                }
                None => *unpaired += u64::from(here.is_some() || there.is_some()),
            }
        }
    }
    let differences = Metric::ALL.into_iter().zip(&clusters).filter(|_| reference_cell.is_some());
    let is_exact = plan.is_reproducible(agent) && reference_cell.is_none_or(|(agent, _)| plan.is_reproducible(agent));
    MatrixCell {
        success: Rate::of(successes, scored),
        success_interval: wilson(distinct[0], distinct[1], CONFIDENCE).filter(|_| !plan.is_reproducible(agent)),
        differences: differences
            .map(|(metric, sums)| difference(metric, sums, CONFIDENCE, is_exact, resamples))
            .collect(),
    }
}

fn pair<'a>(
    here: Option<&'a EpisodeMetrics>,
    there: Option<&'a EpisodeMetrics>,
) -> Option<(&'a EpisodeMetrics, &'a EpisodeMetrics)> {
    let (here, there) = (here?, there?);
    (here.is_scored() && there.is_scored() && here.schedule == there.schedule).then_some((here, there))
}
