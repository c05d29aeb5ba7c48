//! The policy file: its keys and their validation.

use healbench_core::{AgentId, AxisError, CONDITIONS, ErrorFormat, Guardrails};
use healbench_files::{ConfigError, Document, Table, Value};

use super::{Check, Direction, Margin, MayDiffer, PerfCheck, PerfPolicy, Policy, Tier};
use crate::baseline::CellName;
use crate::metric::{Better, Metric};

const TIERS: [(&str, Tier); 2] = [("critical", Tier::Critical), ("advisory", Tier::Advisory)];

const DIRECTIONS: [(&str, Direction); 3] =
    [("higher", Direction::Higher), ("lower", Direction::Lower), ("same", Direction::Same)];

impl Policy {
    /// Parses a policy; `file` is named in errors. Missing keys have their default values. A single `check` replaces
    /// all default checks.
    ///
    /// # Errors
    /// Returns the first problem with its position.
    pub fn parse(file: &str, text: &str) -> Result<Policy, ConfigError> {
        let document = Document::parse(file, text)?;
        let root = document.root();
        root.deny_unknown(&["infra_share", "may_differ", "deterministic", "generalize", "check", "require", "perf"])?;
        let default = Policy::default();
        // `formats` is of earlier versions, which refused another text of a template.
        let properties = || MayDiffer::ALL.map(|property| (property.name(), Some(property))).into_iter();
        let property = |value: &Value<'_>| value.one_of(properties().chain([("formats", None)]));
        let may_differ = root.read("may_differ", |value| each(value, property))?.unwrap_or_default();
        Ok(Policy {
            name: Some(file.to_owned()),
            infra_share: root.read("infra_share", share)?.unwrap_or(default.infra_share),
            may_differ: may_differ.into_iter().flatten().collect(),
            deterministic_advisory: root.read("deterministic", advisory)?.unwrap_or_default(),
            checks: root.read("check", |value| each(value, check))?.unwrap_or(default.checks),
            require: root.read("require", |value| each(value, cell))?.unwrap_or_default(),
            generalize: root.read("generalize", Value::boolean)?.unwrap_or_default(),
            perf: root.read("perf", |value| perf(value, &default.perf))?.unwrap_or(default.perf),
        })
    }
}

/// Converts each item of a list.
fn each<'d, T>(value: &Value<'d>, read: impl Fn(&Value<'d>) -> Result<T, ConfigError>) -> Result<Vec<T>, ConfigError> {
    value.list()?.iter().map(read).collect()
}

fn advisory(value: &Value<'_>) -> Result<Vec<String>, ConfigError> {
    let table = value.table()?;
    table.deny_unknown(&["advisory"])?;
    let known = || Metric::ALL.iter().map(|metric| metric.name()).chain(["rows"]);
    let name = |value: &Value<'_>| value.one_of(known().map(|name| (name, name.to_owned())));
    Ok(table.read("advisory", |value| each(value, name))?.unwrap_or_default())
}

fn check(value: &Value<'_>) -> Result<Check, ConfigError> {
    let table = value.table()?;
    table.deny_unknown(&["metric", "direction", "margin", "tier", "agent", "guardrails", "format", "condition"])?;
    let metric = table.require("metric", "it is the metric that must not become worse")?;
    let metric = metric.one_of(Metric::ALL.map(|metric| (metric.name(), metric)))?;
    let value = table.require("margin", "it is the largest change that passes, such as `5 points` or `10%`")?;
    let margin =
        value.parse(|text| text.parse().map_err(|problem| (problem, "write `5 points`, `10%` or `200`".to_owned())))?;
    match (metric.is_rate(), margin) {
        (true, Margin::Percent(_) | Margin::Amount(_)) => {
            let problem = format!("does not fit: {metric} is a rate");
            return Err(value.error(problem, "its margin is in points, as in `5 points`"));
        }
        (false, Margin::Points(_)) => {
            let problem = format!("does not fit: {metric} is no rate");
            return Err(value.error(problem, "its margin is a percentage of the base, or a number"));
        }
        _ => {}
    }
    let usual = match metric.better() {
        Better::Higher => Direction::Higher,
        Better::Lower => Direction::Lower,
    };
    Ok(Check {
        metric,
        direction: table.read("direction", |value| value.one_of(DIRECTIONS))?.unwrap_or(usual),
        margin,
        tier: tier(&table)?,
        agent: table.read("agent", text)?,
        guardrails: table.read("guardrails", guardrails)?,
        format: table.read("format", text)?,
        condition: table.read("condition", text)?,
    })
}

fn cell(value: &Value<'_>) -> Result<CellName, ConfigError> {
    let table = value.table()?;
    table.deny_unknown(&["agent", "guardrails", "format", "condition"])?;
    let agent = text(&table.require("agent", "it is the agent as a report names it")?)?;
    let agent = AgentId { name: agent, opening: None, tools: None };
    let condition = table.read("condition", text)?;
    if let Some(entry) = CONDITIONS.iter().find(|entry| condition.as_deref() == Some(entry.name)) {
        // The parts of a built-in condition follow from its name.
        table.deny_unknown(&["agent", "condition"])?;
        let (guardrails, format) = (entry.values.guardrails(), entry.values.errors.to_string());
        return Ok(CellName { agent, guardrails, format, condition });
    }
    let guardrails = guardrails(&table.require("guardrails", "it is a set such as `strict+healing`")?)?;
    let bare = ErrorFormat::Bare.to_string();
    let format = match (guardrails.healing, table.get("format")) {
        (true, None) => return Err(table.error("has no format", "with `healing` a cell has a format: name it")),
        (true, Some(format)) if format.text()? == bare => {
            return Err(format.error("is `bare`", "`bare` is the format of cells without `healing`"));
        }
        (true, Some(format)) => text(&format)?,
        (false, Some(format)) if format.text()? != bare => {
            return Err(format.error("cannot be given", "without `healing` a cell has no format: leave it out"));
        }
        (false, _) => bare,
    };
    Ok(CellName { agent, guardrails, format, condition })
}

fn perf(value: &Value<'_>, default: &PerfPolicy) -> Result<PerfPolicy, ConfigError> {
    let table = value.table()?;
    table.deny_unknown(&["control", "equal", "slower", "check"])?;
    let mut checks: Vec<PerfCheck> = Vec::new();
    for value in table.read("check", Value::list)?.unwrap_or_default() {
        let check = perf_check(&value.table()?)?;
        if checks.iter().any(|other| other.pair == check.pair) {
            return Err(value.error("is about a pair that has a check already", "merge the two checks"));
        }
        checks.push(check);
    }
    let or = |key, default| Ok(table.read(key, share)?.unwrap_or(default));
    Ok(PerfPolicy {
        control: or("control", default.control)?,
        equal: or("equal", default.equal)?,
        slower: or("slower", default.slower)?,
        checks,
    })
}

fn perf_check(table: &Table<'_>) -> Result<PerfCheck, ConfigError> {
    table.deny_unknown(&["pair", "margin", "tier"])?;
    let pair = text(&table.require("pair", "it is the name of a pair of the measurement")?)?;
    Ok(PerfCheck { pair, margin: table.read("margin", share)?, tier: tier(table)? })
}

fn tier(table: &Table<'_>) -> Result<Tier, ConfigError> {
    Ok(table.read("tier", |value| value.one_of(TIERS))?.unwrap_or_default())
}

fn text(value: &Value<'_>) -> Result<String, ConfigError> {
    value.text().map(str::to_owned)
}

fn guardrails(value: &Value<'_>) -> Result<Guardrails, ConfigError> {
    value.parse(|text| {
        text.parse().map_err(|error: AxisError| (error.to_string(), format!("known: {}", error.known.join(", "))))
    })
}

/// Reads a percentage in quotes: `5%`.
fn share(value: &Value<'_>) -> Result<f64, ConfigError> {
    match value.text()?.parse() {
        Ok(Margin::Percent(share)) if share <= 1.0 => Ok(share),
        _ => Err(value.error(
            format_args!("is `{}`, which is no share", value.text()?.escape_debug()),
            "write a percentage, as in `5%`",
        )),
    }
}
