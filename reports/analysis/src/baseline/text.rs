//! The text form of a baseline: sorted TOML with one line per scenario and cell. The first line holds the hash of the
//! rest.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use healbench_core::{AgentId, AgentKind, EnvironmentKind, Guardrails, Opening, Outcome, ToolsMode, fingerprint};
use healbench_files::nested_too_deep;
use healbench_store::RunTimes;
use serde::Deserialize;
use toml::Value;

use super::{
    AgentFingerprint, BASELINE_VERSION, Baseline, CellName, CellScenario, Flags, Outcomes, ScenarioFingerprint, Sum,
};
use crate::metric::Metric;

/// The error of reading a baseline.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum BaselineError {
    /// The first line is not that of a baseline.
    #[error("it does not begin as a baseline does")]
    NotABaseline,
    /// The text does not match its hash.
    #[error("it was truncated or edited: its text has the hash {found}, its first line says {expected}")]
    Edited {
        /// The hash of the text.
        found: String,
        /// The hash in the first line.
        expected: String,
    },
    /// Another version of the program wrote it.
    #[error("its version is {found}; this program reads {BASELINE_VERSION}")]
    Version {
        /// The version in the file.
        found: i64,
    },
    /// The text is not a valid baseline.
    #[error("it cannot be read: {0}")]
    Shape(String),
}

const FIRST_LINE_PREFIX: &str = "# healbench baseline ";
const HEADER: &str = "# Written by `healbench bless`, and read by `healbench gate`: an edited text is refused.
# A line a scenario: how its trials ended, and sums over them. What is not named did not happen.
";

/// Metrics whose sums are mostly 0; a line contains them only if they are not.
const MOSTLY_ZERO: [Metric; 4] = [Metric::FalseSuccess, Metric::Stuck, Metric::RepeatedCalls, Metric::LeakedFields];

impl Baseline {
    /// Formats the baseline, ending with a line break.
    pub fn to_text(&self) -> String {
        let body = self.body();
        format!("{FIRST_LINE_PREFIX}{}\n{body}", fingerprint(body.as_bytes()))
    }

    fn body(&self) -> String {
        let mut out = HEADER.to_owned();
        // Writing to a `String` cannot fail.
        let mut line = |text: String| {
            out.push_str(&text);
            out.push('\n');
        };
        line(format!("version = {BASELINE_VERSION}"));
        line(format!("healbench = {}", quoted(&self.healbench)));
        line(format!("run_format = {}", self.run_format));
        // TOML integers end at 2^63, so the seed is a string.
        line(format!("seed = {}", quoted(&self.seed.to_string())));
        line(format!("trials = {}", self.trials));
        line(format!("tokenizer = {}", quoted(&self.tokenizer)));
        line(format!("environment = {}", quoted(&self.environment)));
        if let Some(contracts) = &self.contracts {
            line(format!("contracts = {}", quoted(contracts)));
        }
        if let Some(prices) = &self.prices {
            line(format!("prices = {}", quoted(prices)));
        }
        if let Some(RunTimes { started, finished }) = &self.times {
            line(format!("times = {{ started = {}, finished = {} }}", quoted(started), quoted(finished)));
        }
        line("\n[agents]".to_owned());
        for (id, agent) in &self.agents {
            let title = id.to_string();
            let details = [
                ("kind", Some(agent.kind.name())),
                ("name", (title != id.name).then_some(id.name.as_str())),
                ("opening", id.opening.map(Opening::name)),
                ("tools", id.tools.map(ToolsMode::name)),
                ("settings", Some(agent.settings.as_str())),
            ];
            let details = details.into_iter().filter_map(|(key, value)| Some(format!("{key} = {}", quoted(value?))));
            line(format!("{} = {{ {} }}", quoted(&title), details.collect::<Vec<_>>().join(", ")));
        }
        line("\n[formats]".to_owned());
        for (name, text) in &self.formats {
            line(format!("{} = {}", quoted(name), quoted(text)));
        }
        if !self.templates.is_empty() {
            line("\n[templates]".to_owned());
        }
        for (name, text) in &self.templates {
            // A line of the text is a line of the file, so that a change can be reviewed.
            let lines: Vec<String> = text.split('\n').map(|text| format!("  {},", quoted(text))).collect();
            line(format!("{} = [\n{}\n]", quoted(name), lines.join("\n")));
        }
        if !self.conditions.is_empty() {
            line("\n[conditions]".to_owned());
        }
        for (name, parts) in &self.conditions {
            line(format!("{} = {}", quoted(name), quoted(parts)));
        }
        line("\n[scenarios]".to_owned());
        for (id, scenario) in &self.scenarios {
            let (text, schedules) = (quoted(&scenario.text), quoted(&scenario.schedules));
            let cluster = match scenario.cluster == *id {
                true => String::new(),
                false => format!(", cluster = {}", quoted(&scenario.cluster)),
            };
            line(format!("{} = {{ text = {text}, schedules = {schedules}{cluster} }}", quoted(id)));
        }
        for (cell, scenarios) in &self.cells {
            line("\n[[cells]]".to_owned());
            line(format!("agent = {}", quoted(&cell.agent.to_string())));
            line(format!("guardrails = {}", quoted(&cell.guardrails.to_string())));
            line(format!("format = {}", quoted(&cell.format)));
            if let Some(condition) = &cell.condition {
                line(format!("condition = {}", quoted(condition)));
            }
            line("[cells.scenarios]".to_owned());
            for (id, sums) in scenarios {
                line(format!("{} = {{ {} }}", quoted(id), format_scenario(sums)));
            }
        }
        out
    }

    /// Parses a baseline.
    ///
    /// # Errors
    /// [`BaselineError`].
    pub fn parse(text: &str) -> Result<Baseline, BaselineError> {
        // Git may have changed the line endings, and an editor may have added a byte order mark.
        let text = text.trim_start_matches('\u{feff}').replace("\r\n", "\n");
        let (first, body) = text.split_once('\n').ok_or(BaselineError::NotABaseline)?;
        let expected = first.strip_prefix(FIRST_LINE_PREFIX).ok_or(BaselineError::NotABaseline)?;
        let shape = |error: toml::de::Error| BaselineError::Shape(error.message().to_owned());
        if nested_too_deep(body).is_some() {
            return Err(BaselineError::Shape("it is nested too deep".to_owned()));
        }
        // The version is read first because another version may hash the text differently.
        if let Ok(Version { version }) = toml::from_str(body)
            && version != i64::from(BASELINE_VERSION)
        {
            return Err(BaselineError::Version { found: version });
        }
        let found = fingerprint(body.as_bytes());
        if found != expected.trim_end() {
            return Err(BaselineError::Edited { found: short(&found), expected: short(expected) });
        }
        toml::from_str::<RawBaseline>(body).map_err(shape)?.into_baseline()
    }
}

fn short(hash: &str) -> String {
    hash.chars().take(12).collect()
}

/// Formats a TOML basic string on one line, also valid as a key. JSON uses the same escapes except for DEL.
fn quoted(text: &str) -> String {
    serde_json::Value::from(text).to_string().replace('\u{7f}', "\\u007f")
}

/// A rate, its key in a line, and its field in [`Flags`].
type ByTrial = (Metric, &'static str, fn(&mut Flags) -> &mut Option<bool>);

/// The rates that a model agent's line stores trial by trial, for pairing.
const BY_TRIAL: [ByTrial; 3] = [
    (Metric::Recovered, "recovered_by_trial", |flags| &mut flags.recovered),
    (Metric::FirstCallSuccess, "first_call_by_trial", |flags| &mut flags.first_call_success),
    (Metric::Stuck, "stuck_by_trial", |flags| &mut flags.stuck),
];

fn format_scenario(line: &CellScenario) -> String {
    let mut out = format!("outcomes = {}", quoted(&line.outcomes.to_string()));
    for metric in Metric::ALL {
        let Sum { total, count } = line.sum(metric);
        let (unknown, nothing) = (count == 0, total == 0.0 && MOSTLY_ZERO.contains(&metric));
        if metric == Metric::Success || unknown || nothing {
            continue;
        }
        // Costs are floating-point; all other sums are integers.
        let total = if metric == Metric::CostUsd { format!("{total:?}") } else { total.to_string() };
        // Most metrics have a value in every scored episode, so the count is written only if it differs.
        let _ = match count == line.outcomes.scored() {
            true => write!(out, ", {metric} = {total}"),
            false => write!(out, ", {metric} = \"{total} of {count}\""),
        };
    }
    for (rate, key, _) in BY_TRIAL {
        let digits = line.outcomes.digits(rate);
        if digits.contains(['0', '1']) {
            let _ = write!(out, ", {key} = \"{digits}\"");
        }
    }
    if let Some(rows) = &line.rows {
        let _ = write!(out, ", rows = {}", quoted(rows));
    }
    out
}

#[derive(Deserialize)]
struct Version {
    version: i64,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct RawBaseline {
    #[serde(rename = "version")]
    _version: i64,
    healbench: String,
    run_format: u32,
    seed: String,
    trials: u32,
    tokenizer: String,
    environment: String,
    contracts: Option<String>,
    prices: Option<String>,
    times: Option<RunTimes>,
    agents: BTreeMap<String, RawAgent>,
    formats: BTreeMap<String, String>,
    #[serde(default)]
    templates: BTreeMap<String, Vec<String>>,
    #[serde(default)]
    conditions: BTreeMap<String, String>,
    scenarios: BTreeMap<String, RawScenario>,
    #[serde(default)]
    cells: Vec<RawCell>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct RawAgent {
    kind: AgentKind,
    name: Option<String>,
    opening: Option<Opening>,
    tools: Option<ToolsMode>,
    settings: String,
}

impl RawAgent {
    /// Returns the agent with this title; `None` if the entry describes another one.
    fn id(&self, title: &str) -> Option<AgentId> {
        let name = self.name.clone().unwrap_or_else(|| title.to_owned());
        Some(AgentId { name, opening: self.opening, tools: self.tools }).filter(|id| id.to_string() == title)
    }
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct RawScenario {
    text: String,
    schedules: String,
    /// The scenario's id if absent.
    cluster: Option<String>,
}

impl RawScenario {
    fn fingerprint(self, id: &str) -> ScenarioFingerprint {
        let RawScenario { text, schedules, cluster } = self;
        ScenarioFingerprint { text, schedules, cluster: cluster.unwrap_or_else(|| id.to_owned()), former: None }
    }
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct RawCell {
    agent: String,
    guardrails: Guardrails,
    format: String,
    condition: Option<String>,
    scenarios: BTreeMap<String, BTreeMap<String, Value>>,
}

impl RawBaseline {
    /// Returns the reason why a cell is not valid in this baseline.
    fn cell_problem(
        &self,
        cell: &CellName,
        kind: AgentKind,
        scenarios: &BTreeMap<String, CellScenario>,
    ) -> Option<&'static str> {
        let stochastic = !kind.is_deterministic() || self.environment != EnvironmentKind::Simulator.name();
        if !self.formats.contains_key(&cell.format) {
            Some("is of no format that it names")
        } else if cell.condition.as_ref().is_some_and(|name| !self.conditions.contains_key(name)) {
            Some("is of no condition that it names")
        } else if !scenarios.keys().eq(self.scenarios.keys()) {
            Some("has not the scenarios that it names")
        } else if scenarios.values().any(|line| line.outcomes.len() != self.trials as usize) {
            Some("has not the trials that it names")
        } else if scenarios.values().any(|line| line.rows.is_none() != stochastic) {
            Some("has a hash of rows that never come again, or none of rows that do")
        } else {
            None
        }
    }

    fn into_baseline(mut self) -> Result<Baseline, BaselineError> {
        let mut agents = BTreeMap::new();
        // By the titles that cells are named with.
        let mut titles = BTreeMap::new();
        for (title, agent) in std::mem::take(&mut self.agents) {
            let Some(id) = agent.id(&title) else {
                return Err(BaselineError::Shape(format!("the agent `{title}` has another name or other details")));
            };
            titles.insert(title, (id.clone(), agent.kind));
            let all_settings = agent.settings.clone();
            agents.insert(id, AgentFingerprint { kind: agent.kind, settings: agent.settings, all_settings });
        }
        let mut cells = BTreeMap::new();
        for cell in std::mem::take(&mut self.cells) {
            let RawCell { agent, guardrails, format, condition, scenarios } = cell;
            let read = |(id, line): (String, BTreeMap<String, Value>)| {
                let read =
                    parse_scenario(&line).ok_or_else(|| BaselineError::Shape(format!("the line of `{id}` is none")))?;
                Ok((id, read))
            };
            let scenarios: BTreeMap<String, CellScenario> =
                scenarios.into_iter().map(read).collect::<Result<_, _>>()?;
            let problem = |wrong| BaselineError::Shape(format!("the cell of {agent}, {guardrails}, {format} {wrong}"));
            let known = titles.get(&agent).cloned();
            let (id, kind) = known.ok_or_else(|| problem("is of no agent that it names"))?;
            let name = CellName { agent: id, guardrails, format: format.clone(), condition };
            if let Some(wrong) = self.cell_problem(&name, kind, &scenarios) {
                return Err(problem(wrong));
            }
            if cells.insert(name, scenarios).is_some() {
                return Err(BaselineError::Shape("it has a cell twice".to_owned()));
            }
        }
        let seed = self.seed.parse().map_err(|_| BaselineError::Shape("its seed is none".to_owned()))?;
        let fingerprint = |(id, raw): (String, RawScenario)| {
            let fingerprint = raw.fingerprint(&id);
            (id, fingerprint)
        };
        Ok(Baseline {
            healbench: self.healbench,
            run_format: self.run_format,
            seed,
            trials: self.trials,
            tokenizer: self.tokenizer,
            environment: self.environment,
            contracts: self.contracts,
            prices: self.prices,
            times: self.times,
            agents,
            formats: self.formats,
            templates: self.templates.into_iter().map(|(name, lines)| (name, lines.join("\n"))).collect(),
            conditions: self.conditions,
            scenarios: self.scenarios.into_iter().map(fingerprint).collect(),
            cells,
        })
    }
}

fn parse_scenario(line: &BTreeMap<String, Value>) -> Option<CellScenario> {
    let mut outcomes: Outcomes = line.get("outcomes")?.as_str()?.parse().ok()?;
    for (_, key, flag) in BY_TRIAL {
        if let Some(digits) = line.get(key) {
            outcomes.set(digits.as_str()?, flag)?;
        }
    }
    let scored = outcomes.scored();
    let mut sums = [Sum::default(); Metric::ALL.len()];
    for (sum, metric) in sums.iter_mut().zip(Metric::ALL) {
        *sum = match line.get(metric.name()) {
            None if metric == Metric::Success => {
                let successes = outcomes.iter().filter(|ending| ending.outcome == Outcome::Success);
                Sum { total: successes.count() as f64, count: scored }
            }
            None if MOSTLY_ZERO.contains(&metric) => Sum { total: 0.0, count: scored },
            None => Sum::default(),
            Some(Value::Integer(total)) => Sum { total: *total as f64, count: scored },
            Some(Value::Float(total)) => Sum { total: *total, count: scored },
            Some(Value::String(text)) => {
                let (total, count) = text.split_once(" of ")?;
                Sum { total: total.parse().ok()?, count: count.parse().ok()? }
            }
            Some(_) => return None,
        };
    }
    let by_trial = |key: &String| BY_TRIAL.iter().any(|(_, known, _)| key == known);
    let known = |key: &String| key == "outcomes" || key == "rows" || by_trial(key) || key.parse::<Metric>().is_ok();
    let rows = line.get("rows").map(|rows| rows.as_str().map(str::to_owned));
    // `rows` must be a text; it is absent for a model agent.
    let rows = match rows {
        Some(None) => return None,
        Some(rows) => rows,
        None => None,
    };
    line.keys().all(known).then_some(CellScenario { outcomes, sums, rows, copy_of: Vec::new() })
}
