//! The policy file: its raw shape and its validation.

use std::str::FromStr;

use healbench_protocol::{AxisError, ErrorFormat, Guardrails};
use serde::de::Error as _;
use serde::{Deserialize, Deserializer};
use toml::Spanned;

use super::{Check, Direction, Margin, MayDiffer, PerfCheck, PerfPolicy, Policy, Tier};
use crate::baseline::CellName;
use crate::metric::{Better, Metric};

/// The error of reading a policy.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{file}:{line}: {message}")]
pub struct PolicyError {
    /// The file as named on the command line.
    pub file: String,
    /// The line, from 1.
    pub line: usize,
    pub message: String,
}

impl Policy {
    /// Parses a policy; `file` is named in errors. Missing keys have their default values. A single `check` replaces
    /// all default checks.
    ///
    /// # Errors
    /// [`PolicyError`] with the location of the first mistake.
    pub fn parse(file: &str, text: &str) -> Result<Policy, PolicyError> {
        let error = |offset: usize, message: String| PolicyError {
            file: file.to_owned(),
            line: 1 + text.bytes().take(offset).filter(|byte| *byte == b'\n').count(),
            message,
        };
        let raw: RawPolicy = toml::from_str(text)
            .map_err(|wrong| error(wrong.span().map_or(0, |span| span.start), wrong.message().replace('\n', " ")))?;
        let default = Policy::default();
        let deterministic_advisory: Vec<Spanned<String>> = raw.exact.map(|exact| exact.advisory).unwrap_or_default();
        for word in &deterministic_advisory {
            if word.get_ref() != "rows"
                && let Err(unknown) = word.get_ref().parse::<Metric>()
            {
                let known = unknown.known.join(", ");
                return Err(error(word.span().start, format!("{unknown}; known: {known}, rows")));
            }
        }
        let checks = match raw.check {
            None => default.checks,
            Some(raw) => {
                let checked = raw.into_iter().map(|check| {
                    let at = check.span().start;
                    check.into_inner().validate().map_err(|message| error(at, message))
                });
                checked.collect::<Result<_, _>>()?
            }
        };
        let required = raw.require.into_iter().map(|cell| {
            let at = cell.span().start;
            cell.into_inner().cell().map_err(|message| error(at, message))
        });
        let require = required.collect::<Result<_, _>>()?;
        let perf = raw.perf.unwrap_or_default();
        for (index, check) in perf.check.iter().enumerate() {
            if perf.check[..index].iter().any(|other| other.get_ref().pair == check.get_ref().pair) {
                return Err(error(check.span().start, "this pair has a check already".to_owned()));
            }
        }
        let share = |share: Option<Share>, or: f64| share.map_or(or, |Share(share)| share);
        Ok(Policy {
            name: Some(file.to_owned()),
            infra_share: share(raw.infra_share, default.infra_share),
            may_differ: raw.may_differ,
            deterministic_advisory: deterministic_advisory.into_iter().map(Spanned::into_inner).collect(),
            checks,
            require,
            perf: PerfPolicy {
                control: share(perf.control, default.perf.control),
                equal: share(perf.equal, default.perf.equal),
                slower: share(perf.slower, default.perf.slower),
                checks: perf
                    .check
                    .into_iter()
                    .map(|check| {
                        let RawPerfCheck { pair, margin, tier } = check.into_inner();
                        PerfCheck { pair, margin: margin.map(|Share(margin)| margin), tier }
                    })
                    .collect(),
            },
        })
    }
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct RawPolicy {
    infra_share: Option<Share>,
    #[serde(default)]
    may_differ: Vec<MayDiffer>,
    exact: Option<RawExact>,
    check: Option<Vec<Spanned<RawCheck>>>,
    #[serde(default)]
    require: Vec<Spanned<RawCell>>,
    perf: Option<RawPerf>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct RawExact {
    #[serde(default)]
    advisory: Vec<Spanned<String>>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct RawCheck {
    #[serde(deserialize_with = "metric")]
    metric: Metric,
    direction: Option<Direction>,
    #[serde(deserialize_with = "parse_from_str")]
    margin: Margin,
    #[serde(default)]
    tier: Tier,
    agent: Option<String>,
    guardrails: Option<Guardrails>,
    format: Option<String>,
}

impl RawCheck {
    fn validate(self) -> Result<Check, String> {
        let RawCheck { metric, direction, margin, tier, agent, guardrails, format } = self;
        match (metric.is_rate(), margin) {
            (true, Margin::Percent(_) | Margin::Amount(_)) => {
                return Err(format!("{metric} is a rate: its margin is in points, as in `5 points`"));
            }
            (false, Margin::Points(_)) => {
                return Err(format!("{metric} is no rate: its margin is a percentage of the base, or a number"));
            }
            _ => {}
        }
        let usual = match metric.better() {
            Better::Higher => Direction::Higher,
            Better::Lower => Direction::Lower,
        };
        Ok(Check { metric, direction: direction.unwrap_or(usual), margin, tier, agent, guardrails, format })
    }
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct RawCell {
    agent: String,
    guardrails: Guardrails,
    format: Option<String>,
}

impl RawCell {
    fn cell(self) -> Result<CellName, String> {
        let bare = ErrorFormat::Bare.to_string();
        let format = match (self.guardrails.healing, self.format) {
            (true, None) => return Err("with `healing` a cell has a format: name it".to_owned()),
            (true, Some(format)) if format != bare => format,
            (true, Some(_)) => return Err("`bare` is the format of cells without `healing`".to_owned()),
            (false, Some(format)) if format != bare => {
                return Err("without `healing` a cell has no format: leave it out".to_owned());
            }
            (false, _) => bare,
        };
        Ok(CellName { agent: self.agent, guardrails: self.guardrails, format })
    }
}

#[derive(Deserialize, Default)]
#[serde(deny_unknown_fields)]
struct RawPerf {
    control: Option<Share>,
    equal: Option<Share>,
    slower: Option<Share>,
    #[serde(default)]
    check: Vec<Spanned<RawPerfCheck>>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct RawPerfCheck {
    pair: String,
    margin: Option<Share>,
    #[serde(default)]
    tier: Tier,
}

/// A percentage in quotes: `5%`.
struct Share(f64);

impl<'de> Deserialize<'de> for Share {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Share, D::Error> {
        let text = String::deserialize(deserializer)?;
        match text.parse() {
            Ok(Margin::Percent(share)) if share <= 1.0 => Ok(Share(share)),
            _ => {
                Err(D::Error::custom(format!("`{}` is no share: write a percentage, as in `5%`", text.escape_debug())))
            }
        }
    }
}

fn metric<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Metric, D::Error> {
    let text = String::deserialize(deserializer)?;
    text.parse()
        .map_err(|unknown: AxisError| D::Error::custom(format!("{unknown}; known: {}", unknown.known.join(", "))))
}

/// Deserializes a text with the type's [`FromStr`].
fn parse_from_str<'de, D: Deserializer<'de>, T: FromStr<Err: ToString>>(deserializer: D) -> Result<T, D::Error> {
    let text = String::deserialize(deserializer)?;
    text.parse().map_err(|wrong: T::Err| D::Error::custom(wrong.to_string()))
}
