use std::collections::BTreeMap;

use healbench_protocol::{AgentSpec, Guardrails};
use healbench_record::{Plan, PlannedScenario, RunDir, RunManifest, Setting};
use polars::prelude::{DataFrame, IntoLazy as _, LazyFrame, PolarsError};

use super::ablation::ablation;
use super::queries::{self as ask, ROW};
use super::{AgentReport, CONFIDENCE, Paired, Rate, Report, ReportError, ReportRow, ScenarioRate, Totals};
use crate::columns::{AGENT, EPISODE, FORMAT, GUARDRAILS, SCENARIO, TRIAL};
use crate::frames::{Span, check_names, read_frame};
use crate::statistics::{mcnemar_mid_p, tango, wilson};

/// Computes the report of a run from its two frames and its plan. A run that was interrupted has a report too, over the episodes
/// that are there.
///
/// # Errors
/// [`ReportError::Frame`] when a frame cannot be read; [`ReportError::Schedule`] or [`ReportError::Schedules`] when episodes that
/// would be compared met different schedules; [`ReportError::Stranger`] when the frames belong to another plan; [`ReportError::Query`].
pub fn summarise(run: &RunDir, manifest: &RunManifest) -> Result<Report, ReportError> {
    let plan = &manifest.plan;
    check_names(plan)?;
    let episodes = read_frame(&run.episodes(), &ask::EPISODES_READ, Span::All)?;
    check_cells(&episodes, plan)?;
    let episodes = episodes.lazy();
    let calls = read_frame(&run.calls(), &ask::CALLS_READ, Span::All)?.lazy();

    let none = plan.settings.iter().find(|setting| setting.guardrails == Guardrails::NONE);
    if let Some(none) = none {
        refuse_mismatch(episodes.clone(), none)?;
    }
    let ablation = ablation(plan, episodes.clone(), calls.clone())?;
    let sums = Sums {
        none,
        endings: Groups::of(ask::endings(episodes.clone(), &ROW), &ROW)?,
        calls: Groups::of(ask::call_sums(episodes.clone(), calls), &ROW)?,
        by_scenario: {
            let keys = [SCENARIO, ROW[0], ROW[1], ROW[2]];
            Groups::of(ask::endings(episodes.clone(), &keys), &keys)?
        },
        pairs: none.map(|none| Groups::of(ask::pairs(episodes, none), &ROW)).transpose()?,
    };

    let agents: Vec<AgentReport> = plan
        .agents
        .iter()
        .map(|agent| AgentReport {
            agent: agent.to_string(),
            kind: agent.kind,
            rows: plan.settings.iter().map(|setting| row(&sums, plan, agent, setting)).collect(),
        })
        .collect();
    let totals = totals(&agents);
    Ok(Report {
        suite: suite(&plan.scenarios),
        seed: plan.seed,
        trials: plan.trials,
        scenarios: plan.scenarios.iter().map(|scenario| scenario.id.clone()).collect(),
        planned: plan.len(),
        tokenizer: manifest.tokenizer.clone(),
        confidence: CONFIDENCE,
        totals,
        agents,
        ablation,
    })
}

/// Every row must be the episode that the plan has under its index, and come once: pairs and sums rest on it.
fn check_cells(frame: &DataFrame, plan: &Plan) -> Result<(), ReportError> {
    let agents: Vec<String> = plan.agents.iter().map(ToString::to_string).collect();
    let guardrails: Vec<String> = plan.settings.iter().map(|setting| setting.guardrails.to_string()).collect();
    let formats: Vec<String> = plan.settings.iter().map(|setting| setting.format.to_string()).collect();
    let text = |name| Ok::<_, PolarsError>(frame.column(name)?.str()?.iter());
    let rows = frame.column(EPISODE)?.u64()?.iter().zip(frame.column(TRIAL)?.u32()?.iter());
    let names = text(SCENARIO)?.zip(text(AGENT)?).zip(text(GUARDRAILS)?.zip(text(FORMAT)?));
    let mut next = 0;
    for ((episode, trial), ((scenario, agent), (guardrail, format))) in rows.zip(names) {
        let episode = episode.unwrap_or(u64::MAX);
        let expected = plan.cell(episode).filter(|_| episode >= next);
        let same = expected.is_some_and(|cell| {
            trial == Some(cell.trial)
                && scenario == Some(plan.scenarios[cell.scenario].id.as_str())
                && agent == Some(agents[cell.agent].as_str())
                && guardrail == Some(guardrails[cell.setting].as_str())
                && format == Some(formats[cell.setting].as_str())
        });
        if !same {
            return Err(ReportError::Stranger { episode });
        }
        next = episode + 1;
    }
    Ok(())
}

/// The answers of all queries, by row.
struct Sums<'a> {
    none: Option<&'a Setting>,
    endings: Groups,
    calls: Groups,
    by_scenario: Groups,
    pairs: Option<Groups>,
}

/// The key of a row.
fn row_key(agent: &AgentSpec, setting: &Setting) -> [String; 3] {
    [agent.to_string(), setting.guardrails.to_string(), setting.format.to_string()]
}

/// The key of a row on one scenario.
fn cell_key(scenario: &PlannedScenario, agent: &AgentSpec, setting: &Setting) -> [String; 4] {
    let [agent, guardrails, format] = row_key(agent, setting);
    [scenario.id.clone(), agent, guardrails, format]
}

fn row(sums: &Sums<'_>, plan: &Plan, agent: &AgentSpec, setting: &Setting) -> ReportRow {
    let row = row_key(agent, setting);
    let ended = |column| sums.endings.get(&row, column);
    let called = |column| sums.calls.get(&row, column);
    let (scored, successes) = (ended(ask::SCORED), ended(ask::SUCCESSES));
    let tokens = called(ask::TOKENS) + ended(ask::PROSE);
    let scenario = |scenario: &PlannedScenario| {
        let key = cell_key(scenario, agent, setting);
        let success = Rate::of(sums.by_scenario.get(&key, ask::SUCCESSES), sums.by_scenario.get(&key, ask::SCORED));
        ScenarioRate { scenario: scenario.id.clone(), success }
    };
    let vs_none = match (&sums.pairs, sums.none) {
        (Some(pairs), Some(none)) if none != setting => {
            Some(paired(pairs, &row, sums.endings.get(&row_key(agent, none), ask::EPISODES)))
        }
        _ => None,
    };
    ReportRow {
        guardrails: setting.guardrails,
        format: setting.format.clone(),
        episodes: ended(ask::EPISODES),
        scored,
        infra: ended(ask::INFRA),
        config: ended(ask::CONFIG),
        success: Rate::of(successes, scored),
        success_interval: wilson(successes, scored, CONFIDENCE),
        vs_none,
        episode_recovery: Rate::of(ended(ask::SCHEDULED_SUCCESSES), ended(ask::SCHEDULED_SCORED)),
        chain_recovery: Rate::of(called(ask::CHAINS_MENDED), called(ask::CHAINS)),
        first_call_success: Rate::of(called(ask::FIRST_CALLS_OK), scored),
        calls_per_success: Rate::of(called(ask::CALLS_MADE), successes),
        tokens_per_success: Rate::of(tokens, successes),
        wasted_tokens: Rate::of(called(ask::WASTED), tokens),
        prose_tokens: ended(ask::PROSE),
        guardrail_tokens: called(ask::GUARDRAIL),
        leaked_fields: called(ask::LEAKED),
        identical_repeats: Rate::of(called(ask::REPEATS), called(ask::AFTER_ERROR)),
        false_success: Rate::of(ended(ask::FALSE_SUCCESSES), scored),
        scenarios: plan.scenarios.iter().map(scenario).collect(),
    }
}

/// `none` is the number of episodes of the row that is compared to.
fn paired(groups: &Groups, row: &[String], none: u64) -> Paired {
    let [present, met, pairs] = [ask::PRESENT, ask::MET, ask::PAIRS].map(|column| groups.get(row, column));
    let [gains, losses] = [ask::GAINS, ask::LOSSES].map(|column| groups.get(row, column));
    let enough = pairs >= 2;
    Paired {
        pairs,
        gains,
        losses,
        // Scenarios and trials on either side, without those that make a pair.
        unmatched: present + none - met - pairs,
        difference: (pairs > 0).then(|| (gains as f64 - losses as f64) / pairs as f64),
        interval: tango(gains, losses, pairs, CONFIDENCE),
        p_value: enough.then(|| mcnemar_mid_p(gains, losses)),
    }
}

fn totals(agents: &[AgentReport]) -> Totals {
    let mut totals = Totals::default();
    for row in agents.iter().flat_map(|agent| &agent.rows) {
        totals.episodes += row.episodes;
        totals.scored += row.scored;
        totals.infra += row.infra;
        totals.config += row.config;
        totals.unmatched += row.vs_none.map_or(0, |paired| paired.unmatched);
    }
    totals
}

fn refuse_mismatch(episodes: LazyFrame, none: &Setting) -> Result<(), ReportError> {
    let found = ask::first_mismatch(episodes, none).collect()?;
    if found.height() == 0 {
        return Ok(());
    }
    let text = |name| Ok::<_, PolarsError>(found.column(name)?.str()?.get(0).unwrap_or_default().to_owned());
    let number = |name| Ok::<_, PolarsError>(found.column(name)?.u64()?.get(0).unwrap_or_default());
    Err(ReportError::Schedule {
        agent: text(AGENT)?,
        scenario: text(SCENARIO)?,
        trial: found.column(TRIAL)?.u32()?.get(0).unwrap_or_default(),
        guardrails: text(GUARDRAILS)?,
        episode: number(EPISODE)?,
        none: number(ask::NONE_EPISODE)?,
    })
}

/// The folder's name when all scenario files are in the same.
fn suite(scenarios: &[PlannedScenario]) -> Option<String> {
    // A manifest may be read on another system than the one that wrote it.
    let folder = |scenario: &PlannedScenario| {
        let mut parts = scenario.path.rsplit(['/', '\\']).skip(1);
        // A built-in suite's file has the path `built-in:SUITE/…`.
        let name = parts.next()?.rsplit(':').next()?;
        Some(name).filter(|name| !name.is_empty() && *name != ".").map(str::to_owned)
    };
    let first = folder(scenarios.first()?)?;
    scenarios.iter().all(|scenario| folder(scenario).as_ref() == Some(&first)).then_some(first)
}

/// A small frame of counts, found by its keys.
struct Groups {
    index: BTreeMap<Vec<String>, usize>,
    counts: BTreeMap<String, Vec<u64>>,
}

impl Groups {
    fn of(query: LazyFrame, keys: &[&str]) -> Result<Groups, PolarsError> {
        let frame: DataFrame = query.collect()?;
        let mut names = vec![Vec::new(); frame.height()];
        for key in keys {
            for (name, value) in names.iter_mut().zip(frame.column(key)?.str()?.iter()) {
                name.push(value.unwrap_or_default().to_owned());
            }
        }
        let index = names.into_iter().enumerate().map(|(row, name)| (name, row)).collect();
        let mut counts = BTreeMap::new();
        for column in frame.columns().iter().filter(|column| !keys.contains(&column.name().as_str())) {
            // A sum over no value is 0: these are counts, and nothing is unknown about them.
            let values = column.u64()?.iter().map(Option::unwrap_or_default).collect();
            counts.insert(column.name().to_string(), values);
        }
        Ok(Groups { index, counts })
    }

    /// The count of a row; 0 when the frames have no episode of it.
    fn get(&self, row: &[String], column: &str) -> u64 {
        self.index.get(row).map_or(0, |row| self.counts[column][*row])
    }
}
