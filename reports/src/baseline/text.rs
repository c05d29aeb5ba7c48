//! The text of a baseline: TOML, sorted, one line a scenario and cell, under a first line that holds the hash of the rest.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use healbench_protocol::{AgentKind, Guardrails, fingerprint};
use healbench_record::Outcome;
use serde::Deserialize;
use toml::Value;

use super::{
    AgentFingerprint, BASELINE_VERSION, Baseline, CellName, CellScenario, Flags, Outcomes, ScenarioFingerprint, Sum,
};
use crate::metric::Metric;

/// Why a text is no baseline.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum BaselineError {
    /// Its first line is not that of a baseline.
    #[error("it does not begin as a baseline does")]
    Foreign,
    /// Its text is not what was blessed.
    #[error("it was truncated or edited: its text has the hash {found}, its first line says {said}")]
    Edited {
        /// The hash of the text.
        found: String,
        /// The hash in the first line.
        said: String,
    },
    /// A newer or an older program wrote it.
    #[error("its version is {found}; this program reads {BASELINE_VERSION}")]
    Version {
        /// Its version.
        found: i64,
    },
    /// It has not the shape of a baseline.
    #[error("it cannot be read: {0}")]
    Shape(String),
}

const FIRST: &str = "# healbench baseline ";
const HEAD: &str = "# Written by `healbench bless`, and read by `healbench gate`: an edited text is refused.
# A line a scenario: how its trials ended, and sums over them. What is not named did not happen.
";

/// Sums that are mostly 0 and stand in a line only where they are not.
const RARE: [Metric; 4] = [Metric::FalseSuccess, Metric::Stuck, Metric::RepeatedCalls, Metric::LeakedFields];

impl Baseline {
    /// The baseline as text, ending with a line break.
    pub fn to_text(&self) -> String {
        let body = self.body();
        format!("{FIRST}{}\n{body}", fingerprint(body.as_bytes()))
    }

    fn body(&self) -> String {
        let mut out = HEAD.to_owned();
        // Writing to a String cannot fail.
        let mut line = |text: String| {
            out.push_str(&text);
            out.push('\n');
        };
        line(format!("version = {BASELINE_VERSION}"));
        line(format!("healbench = {}", quoted(&self.healbench)));
        line(format!("run_format = {}", self.run_format));
        // TOML's numbers end at 2^63.
        line(format!("seed = {}", quoted(&self.seed.to_string())));
        line(format!("trials = {}", self.trials));
        line(format!("tokenizer = {}", quoted(&self.tokenizer)));
        if let Some(prices) = &self.prices {
            line(format!("prices = {}", quoted(prices)));
        }
        line("\n[agents]".to_owned());
        for (name, mark) in &self.agents {
            let (kind, settings) = (quoted(mark.kind.name()), quoted(&mark.settings));
            line(format!("{} = {{ kind = {kind}, settings = {settings} }}", quoted(name)));
        }
        line("\n[formats]".to_owned());
        for (name, text) in &self.formats {
            line(format!("{} = {}", quoted(name), quoted(text)));
        }
        line("\n[scenarios]".to_owned());
        for (id, mark) in &self.scenarios {
            let (text, schedules) = (quoted(&mark.text), quoted(&mark.schedules));
            line(format!("{} = {{ text = {text}, schedules = {schedules} }}", quoted(id)));
        }
        for (cell, lines) in &self.cells {
            line("\n[[cells]]".to_owned());
            line(format!("agent = {}", quoted(&cell.agent)));
            line(format!("guardrails = {}", quoted(&cell.guardrails.to_string())));
            line(format!("format = {}", quoted(&cell.format)));
            line("[cells.scenarios]".to_owned());
            for (id, sums) in lines {
                line(format!("{} = {{ {} }}", quoted(id), written(sums)));
            }
        }
        out
    }

    /// Reads a baseline back.
    ///
    /// # Errors
    /// [`BaselineError`].
    pub fn parse(text: &str) -> Result<Baseline, BaselineError> {
        // Git may have changed the ends of lines, and an editor may have put a mark before the first.
        let text = text.trim_start_matches('\u{feff}').replace("\r\n", "\n");
        let (first, body) = text.split_once('\n').ok_or(BaselineError::Foreign)?;
        let said = first.strip_prefix(FIRST).ok_or(BaselineError::Foreign)?;
        let shape = |error: toml::de::Error| BaselineError::Shape(error.message().to_owned());
        // The version is read first: what a newer program writes may be hashed in another way.
        if let Ok(Version { version }) = toml::from_str(body)
            && version != i64::from(BASELINE_VERSION)
        {
            return Err(BaselineError::Version { found: version });
        }
        let found = fingerprint(body.as_bytes());
        if found != said.trim_end() {
            return Err(BaselineError::Edited { found: short(&found), said: short(said) });
        }
        toml::from_str::<Written>(body).map_err(shape)?.into_baseline()
    }
}

fn short(hash: &str) -> String {
    hash.chars().take(12).collect()
}

/// A basic string of TOML, on one line whatever is in it, so that it may be a key as well. JSON escapes the same, but for DEL.
fn quoted(text: &str) -> String {
    serde_json::Value::from(text).to_string().replace('\u{7f}', "\\u007f")
}

/// A rate, its key in a line, and its place.
type ByTrial = (Metric, &'static str, fn(&mut Flags) -> &mut Option<bool>);

/// Rates that a line of a model has trial by trial, for pairs.
const BY_TRIAL: [ByTrial; 3] = [
    (Metric::Recovered, "recovered_by_trial", |flags| &mut flags.recovered),
    (Metric::FirstCallSuccess, "first_call_by_trial", |flags| &mut flags.first_call_success),
    (Metric::Stuck, "error_spirals_by_trial", |flags| &mut flags.stuck),
];

fn written(line: &CellScenario) -> String {
    let mut out = format!("outcomes = {}", quoted(&line.outcomes.to_string()));
    for metric in Metric::ALL {
        let Sum { total, of } = line.sum(metric);
        let (unknown, nothing) = (of == 0, total == 0.0 && RARE.contains(&metric));
        if metric == Metric::Success || unknown || nothing {
            continue;
        }
        // Money may be any size; everything else is counted.
        let total = if metric == Metric::CostUsd { format!("{total:?}") } else { total.to_string() };
        // Every scored episode has most of them.
        let _ = match of == line.outcomes.scored() {
            true => write!(out, ", {metric} = {total}"),
            false => write!(out, ", {metric} = \"{total} of {of}\""),
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
struct Written {
    #[serde(rename = "version")]
    _version: i64,
    healbench: String,
    run_format: u32,
    seed: String,
    trials: u32,
    tokenizer: String,
    prices: Option<String>,
    agents: BTreeMap<String, WrittenAgent>,
    formats: BTreeMap<String, String>,
    scenarios: BTreeMap<String, WrittenScenario>,
    #[serde(default)]
    cells: Vec<WrittenCell>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct WrittenAgent {
    kind: AgentKind,
    settings: String,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct WrittenScenario {
    text: String,
    schedules: String,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct WrittenCell {
    agent: String,
    guardrails: Guardrails,
    format: String,
    scenarios: BTreeMap<String, BTreeMap<String, Value>>,
}

impl Written {
    /// What keeps a cell from being one of this baseline's.
    fn wrong_with(&self, cell: &CellName, lines: &BTreeMap<String, CellScenario>) -> Option<&'static str> {
        let Some(agent) = self.agents.get(&cell.agent) else { return Some("is of no agent that it names") };
        let asked = agent.kind == AgentKind::Llm;
        if !self.formats.contains_key(&cell.format) {
            Some("is of no format that it names")
        } else if !lines.keys().eq(self.scenarios.keys()) {
            Some("has not the scenarios that it names")
        } else if lines.values().any(|line| line.outcomes.len() != self.trials as usize) {
            Some("has not the trials that it names")
        } else if lines.values().any(|line| line.rows.is_none() != asked) {
            Some("has a hash of rows that never come again, or none of rows that do")
        } else {
            None
        }
    }

    fn into_baseline(mut self) -> Result<Baseline, BaselineError> {
        let mut cells = BTreeMap::new();
        for cell in std::mem::take(&mut self.cells) {
            let WrittenCell { agent, guardrails, format, scenarios } = cell;
            let read = |(id, line): (String, BTreeMap<String, Value>)| {
                let read = line_of(&line).ok_or_else(|| BaselineError::Shape(format!("the line of `{id}` is none")))?;
                Ok((id, read))
            };
            let lines: BTreeMap<String, CellScenario> = scenarios.into_iter().map(read).collect::<Result<_, _>>()?;
            let name = CellName { agent, guardrails, format };
            if let Some(wrong) = self.wrong_with(&name, &lines) {
                return Err(BaselineError::Shape(format!(
                    "the cell of {}, {}, {} {wrong}",
                    name.agent, name.guardrails, name.format
                )));
            }
            if cells.insert(name, lines).is_some() {
                return Err(BaselineError::Shape("it has a cell twice".to_owned()));
            }
        }
        let seed = self.seed.parse().map_err(|_| BaselineError::Shape("its seed is none".to_owned()))?;
        let agents = self.agents.into_iter();
        let scenarios = self.scenarios.into_iter();
        Ok(Baseline {
            healbench: self.healbench,
            run_format: self.run_format,
            seed,
            trials: self.trials,
            tokenizer: self.tokenizer,
            prices: self.prices,
            agents: agents
                .map(|(name, WrittenAgent { kind, settings })| (name, AgentFingerprint { kind, settings }))
                .collect(),
            formats: self.formats,
            scenarios: scenarios
                .map(|(id, WrittenScenario { text, schedules })| (id, ScenarioFingerprint { text, schedules }))
                .collect(),
            cells,
        })
    }
}

fn line_of(line: &BTreeMap<String, Value>) -> Option<CellScenario> {
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
                Sum { total: successes.count() as f64, of: scored }
            }
            None if RARE.contains(&metric) => Sum { total: 0.0, of: scored },
            None => Sum::default(),
            Some(Value::Integer(total)) => Sum { total: *total as f64, of: scored },
            Some(Value::Float(total)) => Sum { total: *total, of: scored },
            Some(Value::String(text)) => {
                let (total, of) = text.split_once(" of ")?;
                Sum { total: total.parse().ok()?, of: of.parse().ok()? }
            }
            Some(_) => return None,
        };
    }
    let by_trial = |key: &String| BY_TRIAL.iter().any(|(_, known, _)| key == known);
    let known = |key: &String| key == "outcomes" || key == "rows" || by_trial(key) || key.parse::<Metric>().is_ok();
    let rows = line.get("rows").map(|rows| rows.as_str().map(str::to_owned));
    // What is there and no text is a mistake; what is not there is a model's.
    let rows = match rows {
        Some(None) => return None,
        Some(rows) => rows,
        None => None,
    };
    line.keys().all(known).then_some(CellScenario { outcomes, sums, rows })
}
