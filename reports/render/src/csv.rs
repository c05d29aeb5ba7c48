//! A report as CSV: one line per agent and condition, or also per scenario. Rates are 0 to 1; unknown values are empty.

use csv::Writer;

use healbench_analysis::statistics::Interval;
use healbench_analysis::{AgentReport, Difference, Rate, Report, ReportRow, Unit, known_count};
use healbench_text::plain_text;

/// Formats the rows of a report with all their numbers or, if `by_scenario`, one line per scenario.
///
/// # Errors
/// None in practice: the text is built in memory.
pub fn csv(report: &Report, by_scenario: bool) -> Result<String, csv::Error> {
    let mut records = Vec::new();
    for agent in &report.agents {
        for row in &agent.rows {
            match by_scenario {
                true => records.extend(scenario_records(agent, row)),
                false => records.push(condition_record(agent, row)),
            }
        }
    }
    write(records)
}

/// Writes records after a line with the names of their columns.
pub(super) fn write(records: Vec<Record>) -> Result<String, csv::Error> {
    let mut writer = Writer::from_writer(Vec::new());
    if let Some(first) = records.first() {
        writer.write_record(first.0.iter().map(|(name, _)| name))?;
    }
    for record in &records {
        writer.write_record(record.0.iter().map(|(_, value)| value))?;
    }
    let bytes = writer.into_inner().map_err(|error| error.into_error())?;
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}

/// Column names with their values, in order.
#[derive(Default)]
pub(super) struct Record(Vec<(String, String)>);

impl Record {
    pub(super) fn add(&mut self, name: &str, value: impl ToString) {
        self.0.push((name.to_owned(), plain_text(&value.to_string()).into_owned()));
    }

    pub(super) fn add_optional(&mut self, name: &str, value: Option<impl ToString>) {
        self.add(name, value.map_or(String::new(), |value| value.to_string()));
    }

    /// Adds a rate with its numerator and denominator.
    pub(super) fn rate(&mut self, name: &str, rate: Rate) {
        self.add_optional(name, rate.rate);
        self.add(&format!("{name}_numerator"), rate.numerator);
        self.add(&format!("{name}_denominator"), rate.denominator);
    }

    pub(super) fn interval(&mut self, name: &str, interval: Option<Interval>) {
        self.add_optional(&format!("{name}_lower"), interval.map(|interval| interval.lower));
        self.add_optional(&format!("{name}_upper"), interval.map(|interval| interval.upper));
    }

    fn difference(&mut self, name: &str, found: Option<Difference>) {
        self.add_optional(name, found.and_then(|found| found.difference));
        self.interval(name, found.and_then(|found| found.interval));
    }
}

fn labeled_record(agent: &AgentReport, row: &ReportRow) -> Record {
    let mut record = Record::default();
    record.add("agent", &agent.agent);
    record.add("agent_kind", agent.kind.name());
    record.add_optional("opening", agent.opening.map(|opening| opening.name()));
    record.add_optional("tools_mode", agent.tools.map(|tools| tools.name()));
    record.add("condition", row.condition.label());
    record.add("guardrails", row.condition.guardrails());
    record.add("format", row.condition.format());
    record
}

fn scenario_records(agent: &AgentReport, row: &ReportRow) -> impl Iterator<Item = Record> {
    row.scenarios.iter().map(move |cell| {
        let mut record = labeled_record(agent, row);
        record.add("scenario", &cell.scenario);
        record.rate("success", cell.success);
        record.rate("calls_per_episode", cell.calls_per_episode);
        record.rate("billed_tokens_per_episode", cell.billed_tokens_per_episode);
        record.rate("billed_tokens_per_success", cell.billed_tokens_per_success);
        record.rate("tokens_per_episode", cell.tokens_per_episode);
        record
    })
}

fn condition_record(agent: &AgentReport, row: &ReportRow) -> Record {
    let mut record = labeled_record(agent, row);
    record.add("episodes", row.episodes);
    record.add("scored", row.scored);
    record.add("infra", row.infra);
    record.add("config", row.config);
    record.add("too_long", row.too_long);
    for (entry, rate) in row.metrics.iter() {
        match entry.unit {
            Unit::Count => record.add_optional(entry.key, known_count(rate)),
            _ => record.rate(entry.key, rate),
        }
    }
    record.interval("success", row.success_interval);
    let paired = row.vs_reference;
    record.add_optional("success_vs_reference", paired.and_then(|paired| paired.difference));
    record.interval("success_vs_reference", paired.and_then(|paired| paired.interval));
    record.add_optional("pairs_vs_reference", paired.map(|paired| paired.pairs));
    let this_suite = paired.and_then(|paired| paired.this_suite);
    record.interval("success_vs_reference_this_suite", this_suite.map(|this_suite| this_suite.interval));
    record.add_optional("p_vs_reference", paired.and_then(|paired| paired.p_value));
    record.add_optional("p_adjusted_vs_reference", paired.and_then(|paired| paired.p_adjusted));
    record.difference("calls_vs_reference", row.calls_vs_reference);
    record.difference("billed_tokens_vs_reference", row.billed_tokens_vs_reference);
    record.difference("tokens_vs_reference", row.tokens_vs_reference);
    record.add_optional("median_billed_tokens_per_episode", row.median_billed_tokens_per_episode);
    record.add_optional("median_billed_tokens_per_success", row.median_billed_tokens_per_success);
    record.add("retries_fixed", row.retries.fixed);
    record.add("retries_censored", row.retries.censored);
    record.add_optional("retries_median", row.retries.median.median);
    record.add_optional("retries_median_lower", row.retries.median.lower);
    record.add_optional("retries_median_upper", row.retries.median.upper);
    for repair in &row.repair_at {
        record.rate(&format!("repair_at_{}", repair.k), repair.chains);
    }
    record.add_optional("cost_per_success_usd", row.cost_per_success);
    for pass in &row.passes {
        record.add_optional(&format!("pass_at_{}", pass.k), pass.any);
        record.add_optional(&format!("pass_hat_{}", pass.k), pass.all);
        record.interval(&format!("pass_hat_{}", pass.k), pass.all_interval);
    }
    let model = row.model;
    record.add_optional("turns_per_episode", model.and_then(|model| model.turns_per_episode.rate));
    record.add_optional("input_tokens_per_episode", model.and_then(|model| model.input_per_episode.rate));
    record.add_optional("output_tokens_per_episode", model.and_then(|model| model.output_per_episode.rate));
    record.add_optional("cost_usd", model.and_then(|model| model.usd));
    record.add_optional("cost_per_episode_usd", model.and_then(|model| model.usd_per_episode));
    record.add_optional("latency_ms_per_turn", model.and_then(|model| model.latency_ms_per_turn.rate));
    record
}
