//! The matrix of one run's cells: the values of a dimension, each with its difference from a reference.

use std::collections::{BTreeMap, BTreeSet};

use healbench_core::{
    AXES, AgentKind, AgentSpec, Axis as ConditionAxis, AxisError, CellRef, Condition, Guardrails, Need, Outcome, Plan,
    REFERENCE_CONDITION,
};
use schemars::JsonSchema;
use serde::Serialize;

use super::axis::{Axis, value_axis};
use super::difference::adjust;
use super::episode_metrics::RunEpisodes;
use super::interaction::{Interaction, interactions};
use super::{Cluster, ComparisonError, EpisodeMetrics, MetricDifference, Side, difference};
use crate::metric::Metric;
use crate::rate::{CONFIDENCE, Rate};
use crate::report_error::ReportError;
use crate::run_rows::RunRows;
use crate::statistics::{Interval, Resamples, wilson};
use crate::summary::{Compared, Pairs, Verdict};

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
    /// The names of the compared values, in the order of the plan.
    pub rows: Vec<String>,
    /// The columns. The cells of a column are compared with each other.
    pub columns: Vec<MatrixColumn>,
    /// The rows that are shown to be better than the reference, worse or as good in some column.
    pub conclusions: Vec<RowConclusion>,
    /// How much the effects of content depend on the error format, if content or formats are compared and the run varies both.
    pub interactions: Vec<Interaction>,
    /// Pairs of episodes that were not both executed and scored with the same mistakes and faults.
    pub unpaired: u64,
}

/// The columns in which something is shown about the success of a row and that of the reference: of models, where some columns are of models
/// and others of simulated readers.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct RowConclusion {
    /// The row.
    pub row: String,
    /// Columns in which it is clearly better.
    pub better: u64,
    /// Columns in which it is clearly worse.
    pub worse: u64,
    /// Columns in which it is as good, within 5 points.
    pub as_good: u64,
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
    /// if the plan has no such cell. P-values of success are adjusted by Holm for all pairs of conditions of the agent, between agents and of
    /// other rates for all cells of the matrix.
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
/// `sdk-typescript` for conditions, the first row for agents, formats and content, and the default of other axes.
///
/// # Errors
/// [`ComparisonError::Axis`] for a reference that the run does not have, [`ComparisonError::TooFew`] if the axis has
/// fewer than two entries, and [`ComparisonError::Report`].
pub fn matrix(side: Side<'_>, axis: Axis, reference: Option<&str>) -> Result<Matrix, ComparisonError> {
    let plan = &side.manifest.plan;
    let report = |source| ComparisonError::Report { run: side.name.to_owned(), source };
    ReportError::refuse_listed(plan).map_err(report)?;
    plan.check_names().map_err(|source| report(source.into()))?;
    let (rows, columns) = layout(plan, axis);
    // Nothing can be compared where a column has one cell.
    let has_pairs = columns.iter().any(|column| column.indices.iter().flatten().count() > 1);
    if rows.len() < 2 || !has_pairs {
        return Err(ComparisonError::TooFew { run: side.name.to_owned(), axis: axis.plural() });
    }
    let reference = match reference {
        None => default_reference(plan, axis, &rows),
        Some(name) => rows.iter().position(|row| row == name).ok_or_else(|| {
            let known = rows.clone();
            ComparisonError::Axis(AxisError { axis: "reference", word: name.to_owned(), known })
        })?,
    };
    let episodes = RunEpisodes::read(side.run, plan).map_err(report)?;
    let pairs = Pairs::of_episodes(plan, &episodes);
    let matrix = build_matrix(plan, &episodes, &pairs, axis, (rows, columns), reference);
    Ok(Matrix { run: side.name.to_owned(), ..matrix })
}

/// Builds the matrix of a report: named conditions if it has any, error formats, or levels of content if there is only one
/// format, or guardrails if there is only one of both. Returns `None` if there is only one of each.
///
/// # Errors
/// As [`crate::summarize`].
pub(crate) fn main_matrix(run: &dyn RunRows, plan: &Plan, pairs: &Pairs) -> Result<Option<Matrix>, ReportError> {
    let has_names = plan.conditions.iter().any(|condition| condition.own_name().is_some());
    let axes = if has_names { &[Axis::Condition][..] } else { &[Axis::FORMAT, Axis::CONTENT, Axis::Guardrails] };
    for axis in axes.iter().copied() {
        let layout = layout(plan, axis);
        if layout.0.len() > 1 {
            let reference = default_reference(plan, axis, &layout.0);
            let episodes = RunEpisodes::read(run, plan)?;
            return Ok(Some(build_matrix(plan, &episodes, pairs, axis, layout, reference)));
        }
    }
    Ok(None)
}

/// Returns the named reference condition, with its first client, `none` for guardrails, the first row for agents, formats and content, and
/// the default of other axes.
fn default_reference(plan: &Plan, axis: Axis, rows: &[String]) -> usize {
    let row = |name: &str| rows.iter().position(|row| row == name);
    let none = || row(&Guardrails::NONE.to_string());
    match axis {
        Axis::Condition => plan.conditions.iter().position(|each| each.is_named(REFERENCE_CONDITION)).or_else(none),
        Axis::Guardrails => none(),
        Axis::FORMAT | Axis::CONTENT => None,
        Axis::Value(key) => value_axis(key).and_then(|axis| {
            let default = plan.conditions.iter().find(|condition| (axis.follows)(&condition.values))?;
            row(&(axis.word)(&default.values))
        }),
        Axis::Agent => None,
    }
    .unwrap_or(0)
}

/// Computes the matrix of a layout, without the run's name.
fn build_matrix(
    plan: &Plan,
    episodes: &RunEpisodes,
    pairs: &Pairs,
    axis: Axis,
    (rows, columns): (Vec<String>, Vec<ColumnLayout>),
    reference: usize,
) -> Matrix {
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
            .or_insert_with(|| cell(plan, (episodes, pairs), index, reference_cell, &mut resamples, &mut unpaired));
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
        Axis::CONTENT | Axis::FORMAT => {
            interactions(plan, episodes, reference_on(Axis::CONTENT), reference_on(Axis::FORMAT))
        }
        _ => Vec::new(),
    };
    Matrix {
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
    }
}

impl Matrix {
    /// Returns true if some columns are of models and others of simulated readers. Conclusions are then of models.
    pub fn mixes_models_and_readers(&self) -> bool {
        mixes(&self.columns)
    }
}

fn mixes(columns: &[MatrixColumn]) -> bool {
    columns.iter().any(|column| column.scripted) && columns.iter().any(|column| !column.scripted)
}

fn conclusions(rows: &[String], columns: &[MatrixColumn]) -> Vec<RowConclusion> {
    let speaks = |column: &&MatrixColumn| !(column.scripted && mixes(columns));
    let of_row = |(index, row): (usize, &String)| {
        let mut found = RowConclusion { row: row.clone(), better: 0, worse: 0, as_good: 0, columns: 0 };
        for cell in columns.iter().filter(speaks).filter_map(|column| column.cells.get(index)?.as_ref()) {
            let Some(entry) = cell.differences.iter().find(|entry| entry.metric == Metric::Success) else { continue };
            found.columns += 1;
            let difference = entry.difference.filter(|_| entry.verdict == Verdict::Clear).unwrap_or_default();
            found.better += u64::from(difference > 0.0);
            found.worse += u64::from(difference < 0.0);
            found.as_good += u64::from(entry.verdict == Verdict::AsGood);
        }
        found
    };
    rows.iter().enumerate().map(of_row).filter(|row| row.better + row.worse + row.as_good > 0).collect()
}

/// Conditions that are compared with each other: those of the rows.
struct Group {
    /// What they have in common.
    key: Vec<String>,
    conditions: Vec<Option<usize>>,
}

impl Group {
    /// Adds a condition to the first group that is alike and lacks its row.
    fn add(groups: &mut Vec<Group>, key: Vec<String>, row: usize, rows: usize, condition: usize) {
        let fits = |group: &&mut Group| group.key == key && group.conditions[row].is_none();
        match groups.iter_mut().find(fits) {
            Some(group) => group.conditions[row] = Some(condition),
            None => {
                let mut conditions = vec![None; rows];
                conditions[row] = Some(condition);
                groups.push(Group { key, conditions });
            }
        }
    }

    /// Returns the first condition, and true if all have its name.
    fn first<'p>(&self, plan: &'p Plan) -> Option<(&'p Condition, bool)> {
        let mut all = self.conditions.iter().flatten().map(|index| &plan.conditions[*index]);
        let first = all.next()?;
        Some((first, all.all(|condition| condition.name == first.name)))
    }
}

/// Returns the rows and the groups of the values of an axis. Under `bare` no error has a format or content, so these conditions are in no
/// group of such an axis.
fn value_groups(plan: &Plan, axis: &'static ConditionAxis) -> (Vec<String>, Vec<(String, Group)>) {
    let needs_healing = axis.key == "errors" || axis.needs == Some(Need::Healing);
    let is_compared = |condition: &Condition| !needs_healing || condition.guardrails().healing;
    let compared = || plan.conditions.iter().enumerate().filter(|(_, condition)| is_compared(condition));
    let rows = distinct(compared().map(|(_, condition)| (axis.word)(&condition.values)));
    let mut groups = Vec::new();
    for (index, condition) in compared() {
        let others = AXES.iter().filter(|other| other.key != axis.key);
        let word = (axis.word)(&condition.values);
        let row = rows.iter().position(|row| *row == word).unwrap_or(0);
        Group::add(&mut groups, others.map(|other| (other.word)(&condition.values)).collect(), row, rows.len(), index);
    }
    let title = |group: &Group| match group.first(plan) {
        Some((first, true)) => first.label_without(&[axis.key]),
        Some((first, false)) => first.unnamed().label_without(&[axis.key]),
        None => String::new(),
    };
    (rows, groups.into_iter().map(|group| (title(&group), group)).collect())
}

/// Returns the sets of guardrails and their groups. A set without `healing` has no format and no content, so its condition is in the groups
/// of all of them.
fn guardrail_groups(plan: &Plan) -> (Vec<String>, Vec<(String, Group)>) {
    let sets = distinct(plan.conditions.iter().map(Condition::guardrails));
    // These differ with the guardrails, or with the server that a named condition stands for.
    let is_of_guardrails =
        |axis: &&ConditionAxis| ["undeclared", "domain_errors", "truncation", "contract"].contains(&axis.key);
    let has_format = |condition: &Condition| condition.guardrails().healing;
    let is_of_format = |axis: &&ConditionAxis| axis.key == "errors" || axis.needs == Some(Need::Healing);
    let any_has_format = plan.conditions.iter().any(has_format);
    let mut groups: Vec<Group> = Vec::new();
    for (index, condition) in plan.conditions.iter().enumerate() {
        let row = sets.iter().position(|set| *set == condition.guardrails()).unwrap_or(0);
        if has_format(condition) || !any_has_format {
            let others = AXES.iter().filter(|axis| !is_of_guardrails(axis));
            Group::add(
                &mut groups,
                others.map(|axis| (axis.word)(&condition.values)).collect(),
                row,
                sets.len(),
                index,
            );
        }
    }
    let title = |group: &Group| {
        let first = group.first(plan).map(|(first, _)| first.unnamed());
        first.map_or(String::new(), |first| {
            first.label().strip_prefix(&format!("{} ", first.guardrails())).unwrap_or_default().to_owned()
        })
    };
    let mut titled: Vec<(String, Group)> = groups.into_iter().map(|group| (title(&group), group)).collect();
    for (_, group) in &mut titled {
        let Some((first, _)) = group.first(plan) else { continue };
        let others = |condition: &Condition| -> Vec<String> {
            let others = AXES.iter().filter(|axis| !is_of_format(axis) && !is_of_guardrails(axis));
            others.map(|axis| (axis.word)(&condition.values)).collect()
        };
        for (set, condition) in sets.iter().zip(&mut group.conditions).filter(|(set, _)| !set.healing) {
            let fits = |known: &Condition| known.guardrails() == *set && others(known) == others(first);
            *condition = condition.or_else(|| plan.conditions.iter().position(fits));
        }
    }
    (sets.iter().map(ToString::to_string).collect(), titled)
}

/// Returns the rows and the columns of a matrix.
fn layout(plan: &Plan, axis: Axis) -> (Vec<String>, Vec<ColumnLayout>) {
    let scripted = |agent: usize| plan.agents[agent].kind == AgentKind::Scripted;
    if axis == Axis::Agent {
        let column = |(index, condition): (usize, &Condition)| ColumnLayout {
            agent: None,
            condition: condition.short_label(),
            scripted: (0..plan.agents.len()).any(scripted),
            indices: (0..plan.agents.len()).map(|agent| Some((agent, index))).collect(),
        };
        let rows = plan.agents.iter().map(|agent| agent.id().to_string()).collect();
        return (rows, plan.conditions.iter().enumerate().map(column).collect());
    }
    let (rows, groups) = match axis {
        Axis::Guardrails => guardrail_groups(plan),
        Axis::Value(key) => value_axis(key).map_or_else(Default::default, |axis| value_groups(plan, axis)),
        Axis::Condition | Axis::Agent => {
            let conditions = (0..plan.conditions.len()).map(Some).collect();
            let rows = plan.conditions.iter().map(Condition::short_label).collect();
            (rows, vec![(String::new(), Group { key: Vec::new(), conditions })])
        }
    };
    let columns = plan.agents.iter().enumerate().flat_map(|(agent, spec)| {
        groups.iter().map(move |(condition, group)| ColumnLayout {
            agent: Some(spec.clone()),
            condition: condition.clone(),
            scripted: spec.kind == AgentKind::Scripted,
            indices: group.conditions.iter().map(|condition| Some((agent, (*condition)?))).collect(),
        })
    });
    (rows, columns.collect())
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
    (episodes, pairs): (&RunEpisodes, &Pairs),
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
    for (scenario, family) in plan.families().into_iter().enumerate() {
        let name = plan.scenarios[scenario].cluster.as_str();
        let at = names.iter().position(|known| *known == name).unwrap_or_else(|| {
            names.push(name);
            clusters.iter_mut().for_each(|clusters| clusters.push(Cluster::of_family(family)));
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
    let known = reference_cell.filter(|(other, reference)| *other == agent && *reference != condition);
    let known: Option<Compared> = known.map(|(agent, reference)| pairs.get(agent, condition, reference));
    let differences = Metric::ALL.into_iter().zip(&clusters).filter(|_| reference_cell.is_some());
    let is_exact = plan.is_reproducible(agent) && reference_cell.is_none_or(|(agent, _)| plan.is_reproducible(agent));
    MatrixCell {
        success: Rate::of(successes, scored),
        success_interval: wilson(distinct[0], distinct[1], CONFIDENCE).filter(|_| !plan.is_reproducible(agent)),
        differences: differences.map(|(metric, sums)| difference(metric, sums, known, is_exact, resamples)).collect(),
    }
}

fn pair<'a>(
    here: Option<&'a EpisodeMetrics>,
    there: Option<&'a EpisodeMetrics>,
) -> Option<(&'a EpisodeMetrics, &'a EpisodeMetrics)> {
    let (here, there) = (here?, there?);
    (here.is_scored() && there.is_scored() && here.schedule == there.schedule).then_some((here, there))
}
