//! Gate policies, read from TOML files.

mod file;

use std::fmt;
use std::str::FromStr;

use healbench_core::Guardrails;
use serde::{Serialize, Serializer};

use crate::baseline::CellName;
use crate::metric::Metric;

/// The rules by which a gate decides.
#[derive(Debug, Clone, PartialEq)]
pub struct Policy {
    /// The file's name; `None` for the built-in policy.
    pub name: Option<String>,
    /// The share of episodes that may be lost to infrastructure: 0 to 1.
    pub infra_share: f64,
    /// The properties that may differ between base and candidate.
    pub may_differ: Vec<MayDiffer>,
    /// The metrics of deterministic rows that are advisory; may include `rows`.
    pub deterministic_advisory: Vec<String>,
    /// The checks of live model agents.
    pub checks: Vec<Check>,
    /// The cells that the candidate must have.
    pub require: Vec<CellName>,
    /// The limits for paired measurements.
    pub perf: PerfPolicy,
    /// True if the checks of rates also decide for other scenarios of the same suites, and not only for these.
    pub generalize: bool,
}

/// The limit for one metric of live model agents.
#[derive(Debug, Clone, PartialEq)]
pub struct Check {
    pub metric: Metric,
    /// The direction in which the metric must not change.
    pub direction: Direction,
    /// The largest change that passes.
    pub margin: Margin,
    /// The tier of the row: only critical rows decide the verdict.
    pub tier: Tier,
    /// Restricts the check to agents with this name or title; `None` for all.
    pub agent: Option<String>,
    /// Restricts the check to these guardrails.
    pub guardrails: Option<Guardrails>,
    /// Restricts the check to the error format of this name.
    pub format: Option<String>,
    /// Restricts the check to the condition of this name.
    pub condition: Option<String>,
}

impl Check {
    pub(super) fn applies_to(&self, cell: &CellName) -> bool {
        // An agent's name without details matches every opening and tools mode.
        self.agent.as_ref().is_none_or(|agent| cell.agent.is_named(agent))
            && self.guardrails.is_none_or(|guardrails| guardrails == cell.guardrails)
            && self.format.as_ref().is_none_or(|format| *format == cell.format)
            && self.condition.as_ref().is_none_or(|name| cell.condition.as_ref() == Some(name))
    }

    /// Returns true if the check is restricted to some cells.
    pub(super) fn selects_cells(&self) -> bool {
        self.agent.is_some() || self.guardrails.is_some() || self.format.is_some() || self.condition.is_some()
    }

    /// Describes the cells that the check is restricted to.
    pub(super) fn describe_cells(&self) -> String {
        let guardrails = self.guardrails.map(|guardrails| guardrails.to_string());
        let named = [
            ("agent", &self.agent),
            ("guardrails", &guardrails),
            ("format", &self.format),
            ("condition", &self.condition),
        ];
        let named = named.into_iter().filter_map(|(key, value)| Some(format!("{key} {}", value.as_ref()?)));
        named.collect::<Vec<_>>().join(", ")
    }
}

/// The limits for paired measurements.
#[derive(Debug, Clone, PartialEq)]
pub struct PerfPolicy {
    /// The largest difference of a control, as a share of the time. Beyond it the result is inconclusive.
    pub control: f64,
    /// The margin of equivalence of pairs without their own check.
    pub equal: f64,
    /// The margin by which the ratio to the reference workload may exceed that of an earlier measurement, for pairs
    /// without their own check.
    pub slower: f64,
    /// The margins of single pairs.
    pub checks: Vec<PerfCheck>,
}

/// The margin of one pair of variants.
#[derive(Debug, Clone, PartialEq)]
pub struct PerfCheck {
    pub pair: String,
    /// The margin as a share of the time.
    pub margin: Option<f64>,
    /// The tier of the row: only critical rows decide the verdict.
    pub tier: Tier,
}

/// The effect of a row on the verdict.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Tier {
    /// The row decides the verdict.
    #[default]
    Critical,
    /// The row is shown without effect on the verdict.
    Advisory,
}

/// The direction in which a metric is better.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Direction {
    /// More is better: the metric must not fall by more than the margin.
    Higher,
    /// Less is better: the metric must not rise by more than the margin.
    Lower,
    /// The metric must not change in either direction by more than the margin.
    Same,
}

/// A property that may differ between a base and a candidate.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum MayDiffer {
    /// The scenarios: which there are, and their texts. Those that cannot be compared are advisory.
    Scenarios,
    /// The settings of agents.
    Agents,
    Prices,
}

impl MayDiffer {
    /// All properties, in the order of documents.
    pub const ALL: [MayDiffer; 3] = [MayDiffer::Scenarios, MayDiffer::Agents, MayDiffer::Prices];

    /// Returns the word in a policy.
    pub fn name(self) -> &'static str {
        match self {
            MayDiffer::Scenarios => "scenarios",
            MayDiffer::Agents => "agents",
            MayDiffer::Prices => "prices",
        }
    }
}

/// The largest change for the worse that passes. In a policy `5 points`, `10%`, or a plain number in quotes.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Margin {
    /// For a rate: a share of episodes, 0.05 for 5 points.
    Points(f64),
    /// For other metrics: a share of the base's mean, 0.1 for 10%.
    Percent(f64),
    /// For other metrics: an absolute amount per episode.
    Amount(f64),
}

impl fmt::Display for Margin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // Not more digits than the user wrote.
        let hundredfold = |share: f64| (share * 1e6).round() / 1e4;
        match *self {
            Margin::Points(share) => write!(f, "{} points", hundredfold(share)),
            Margin::Percent(share) => write!(f, "{}%", hundredfold(share)),
            Margin::Amount(amount) => write!(f, "{amount}"),
        }
    }
}

impl Serialize for Margin {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl FromStr for Margin {
    type Err = String;

    fn from_str(text: &str) -> Result<Margin, String> {
        let number = |text: &str| {
            let number = text.trim().parse::<f64>().ok().filter(|number| number.is_finite() && *number >= 0.0);
            number.ok_or_else(|| format!("`{}` is no margin", text.escape_debug()))
        };
        if let Some(points) = text.strip_suffix("points").or_else(|| text.strip_suffix("point")) {
            let share = number(points)? / 100.0;
            return match share < 1.0 {
                true => Ok(Margin::Points(share)),
                false => Err("a rate has 100 points: the margin has to be less".to_owned()),
            };
        }
        match text.strip_suffix('%') {
            Some(percent) => Ok(Margin::Percent(number(percent)? / 100.0)),
            None => Ok(Margin::Amount(number(text)?)),
        }
    }
}

/// The default share of episodes that may be lost; the same limit as for running.
const INFRA_SHARE: f64 = 0.05;

impl Default for Policy {
    /// Simulated readers and replays must not become worse at all. The texts of templates may differ. For live models, success and false success must not be worse
    /// by more than 5 points; tokens and calls are advisory. In paired measurements, equal variants must be equal
    /// within 1%, and controls within 0.3%.
    fn default() -> Policy {
        let check = |metric, direction, margin, tier| Check {
            metric,
            direction,
            margin,
            tier,
            agent: None,
            guardrails: None,
            format: None,
            condition: None,
        };
        Policy {
            name: None,
            infra_share: INFRA_SHARE,
            may_differ: Vec::new(),
            deterministic_advisory: Vec::new(),
            checks: vec![
                check(Metric::Success, Direction::Higher, Margin::Points(0.05), Tier::Critical),
                check(Metric::FalseSuccess, Direction::Lower, Margin::Points(0.05), Tier::Critical),
                check(Metric::Calls, Direction::Lower, Margin::Percent(0.1), Tier::Advisory),
                check(Metric::Tokens, Direction::Lower, Margin::Percent(0.1), Tier::Advisory),
            ],
            require: Vec::new(),
            generalize: false,
            perf: PerfPolicy { control: 0.003, equal: 0.01, slower: 0.1, checks: Vec::new() },
        }
    }
}

impl Policy {
    /// Returns the tier of a deterministic row of this metric.
    pub(super) fn tier_of(&self, metric: &str) -> Tier {
        match self.deterministic_advisory.iter().any(|advisory| advisory == metric) {
            true => Tier::Advisory,
            false => Tier::Critical,
        }
    }
}
