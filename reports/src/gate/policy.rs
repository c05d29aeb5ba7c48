//! What a gate holds a candidate to: a TOML file.

mod file;

use std::fmt;
use std::str::FromStr;

use healbench_protocol::Guardrails;
use serde::{Deserialize, Serialize, Serializer};

use crate::baseline::CellName;
use crate::metric::Metric;
pub use file::PolicyError;

/// A policy.
#[derive(Debug, Clone, PartialEq)]
pub struct Policy {
    /// The file's name; `None` for the policy that is built in.
    pub name: Option<String>,
    /// The share of episodes that may be lost to infrastructure: 0 to 1.
    pub infra_share: f64,
    /// What of the base's may be another in the candidate, because that is what is asked about.
    pub may_differ: Vec<MayDiffer>,
    /// Metrics of exact rows that do not decide; `rows` is one.
    pub exact_advisory: Vec<String>,
    /// What models that are asked are held to.
    pub checks: Vec<Check>,
    /// Cells that the candidate must have.
    pub require: Vec<CellName>,
    /// What paired rounds are held to.
    pub perf: PerfPolicy,
}

/// What a metric of models may lose.
#[derive(Debug, Clone, PartialEq)]
pub struct Check {
    /// The metric.
    pub metric: Metric,
    /// Which way it may not go.
    pub direction: Direction,
    /// How far it may go that way.
    pub margin: Margin,
    /// Whether it decides.
    pub tier: Tier,
    /// Only agents whose rows are headed so; `None` for all.
    pub agent: Option<String>,
    /// Only these guardrails.
    pub guardrails: Option<Guardrails>,
    /// Only the error format of this name.
    pub format: Option<String>,
}

impl Check {
    /// Whether it is about a cell.
    pub(super) fn is_of(&self, cell: &CellName) -> bool {
        // The name alone stands for the agent however its episodes begin and tools are told.
        let is_named = |name: &String| *name == cell.agent || cell.agent.split(" · ").next() == Some(name.as_str());
        self.agent.as_ref().is_none_or(is_named)
            && self.guardrails.is_none_or(|guardrails| guardrails == cell.guardrails)
            && self.format.as_ref().is_none_or(|format| *format == cell.format)
    }

    /// Whether it is about some cells alone.
    pub(super) fn names_a_cell(&self) -> bool {
        self.agent.is_some() || self.guardrails.is_some() || self.format.is_some()
    }

    /// What it says of the cells that it is about.
    pub(super) fn cells(&self) -> String {
        let guardrails = self.guardrails.map(|guardrails| guardrails.to_string());
        let named = [("agent", &self.agent), ("guardrails", &guardrails), ("format", &self.format)];
        let named = named.into_iter().filter_map(|(key, value)| Some(format!("{key} {}", value.as_ref()?)));
        named.collect::<Vec<_>>().join(", ")
    }
}

/// What paired rounds are held to.
#[derive(Debug, Clone, PartialEq)]
pub struct PerfPolicy {
    /// How far a control may be from no difference: a share of the time. Beyond it nothing can be told.
    pub control: f64,
    /// The margin of equivalence where no check names another.
    pub equal: f64,
    /// How much slower than an earlier measurement an arm may be, beside its yardstick, where no check names another.
    pub slower: f64,
    /// Margins of single pairs.
    pub checks: Vec<PerfCheck>,
}

/// The margin of one pair of arms.
#[derive(Debug, Clone, PartialEq)]
pub struct PerfCheck {
    /// The pair's name.
    pub pair: String,
    /// A share of the time.
    pub margin: Option<f64>,
    /// Whether it decides.
    pub tier: Tier,
}

/// Whether a row decides.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Tier {
    /// It does.
    #[default]
    Critical,
    /// It is told, and decides nothing.
    Advisory,
}

/// Which way a metric is better.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Direction {
    /// More is better: it may not fall by more than the margin.
    Higher,
    /// Less is better: it may not rise by more than the margin.
    Lower,
    /// It may do neither.
    Same,
}

/// What may be another in a candidate than in the base.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum MayDiffer {
    /// The texts of scenarios, as long as their schedules are the same.
    Scenarios,
    /// The texts of templates.
    Formats,
    /// The settings of agents.
    Agents,
    /// The price table.
    Prices,
}

impl MayDiffer {
    /// Everything that may be allowed to differ, in the order of documents.
    pub const ALL: [MayDiffer; 4] = [MayDiffer::Scenarios, MayDiffer::Formats, MayDiffer::Agents, MayDiffer::Prices];

    /// The word in a policy.
    pub fn name(self) -> &'static str {
        match self {
            MayDiffer::Scenarios => "scenarios",
            MayDiffer::Formats => "formats",
            MayDiffer::Agents => "agents",
            MayDiffer::Prices => "prices",
        }
    }
}

/// How much worse something may be. In a policy `5 points`, `10%`, or a plain number in quotes.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Margin {
    /// Of a rate: a share of episodes, 0.05 for 5 points.
    Points(f64),
    /// Of anything else: a share of the base's mean, 0.1 for 10%.
    Percent(f64),
    /// Of anything else: so many an episode.
    Amount(f64),
}

impl fmt::Display for Margin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // Not more digits than were written.
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
            number.ok_or_else(|| format!("`{}` is no margin: write `5 points`, `10%` or `200`", text.escape_debug()))
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

/// Lost episodes that a policy allows where it does not say: what a run itself allows.
const INFRA_SHARE: f64 = 0.05;

impl Default for Policy {
    /// For scripted agents and replays, that nothing changed; for models, that success and false success are not worse by 5 points;
    /// tokens and calls are told. For paired rounds, that what should be equal is so within 1%, with a control within 0.3%.
    fn default() -> Policy {
        let check = |metric, direction, margin, tier| Check {
            metric,
            direction,
            margin,
            tier,
            agent: None,
            guardrails: None,
            format: None,
        };
        Policy {
            name: None,
            infra_share: INFRA_SHARE,
            may_differ: Vec::new(),
            exact_advisory: Vec::new(),
            checks: vec![
                check(Metric::Success, Direction::Higher, Margin::Points(0.05), Tier::Critical),
                check(Metric::FalseSuccess, Direction::Lower, Margin::Points(0.05), Tier::Critical),
                check(Metric::Calls, Direction::Lower, Margin::Percent(0.1), Tier::Advisory),
                check(Metric::Tokens, Direction::Lower, Margin::Percent(0.1), Tier::Advisory),
            ],
            require: Vec::new(),
            perf: PerfPolicy { control: 0.003, equal: 0.01, slower: 0.1, checks: Vec::new() },
        }
    }
}

impl Policy {
    /// Whether an exact row of this metric decides.
    pub(super) fn tier_of(&self, metric: &str) -> Tier {
        match self.exact_advisory.iter().any(|advisory| advisory == metric) {
            true => Tier::Advisory,
            false => Tier::Critical,
        }
    }
}
