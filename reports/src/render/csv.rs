//! A report as CSV: a line for each agent and setting, or for each scenario too. Shares are 0 to 1, and unknown is empty.

use csv::Writer;

use super::plain_text;
use crate::statistics::Interval;
use crate::summary::{AgentReport, Difference, Rate, Report, ReportRow};

/// The rows of a report with every number that is one of a row; or with `by_scenario`, its cells.
///
/// # Errors
/// None that a report can cause: the text is kept in memory.
pub fn csv(report: &Report, by_scenario: bool) -> Result<String, csv::Error> {
    let mut writer = Writer::from_writer(Vec::new());
    let mut headed = false;
    let mut write = |line: Line| {
        if !std::mem::replace(&mut headed, true) {
            writer.write_record(line.0.iter().map(|(name, _)| name))?;
        }
        writer.write_record(line.0.iter().map(|(_, value)| value))
    };
    for agent in &report.agents {
        for row in &agent.rows {
            if by_scenario {
                cells(agent, row).try_for_each(&mut write)?;
            } else {
                write(whole(agent, row))?;
            }
        }
    }
    let bytes = writer.into_inner().map_err(|error| error.into_error())?;
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}

/// Columns with their values, in order.
#[derive(Default)]
struct Line(Vec<(String, String)>);

impl Line {
    fn add(&mut self, name: &str, value: impl ToString) {
        self.0.push((name.to_owned(), plain_text(&value.to_string()).into_owned()));
    }

    fn maybe(&mut self, name: &str, value: Option<impl ToString>) {
        self.add(name, value.map_or(String::new(), |value| value.to_string()));
    }

    /// A rate with what it is made of.
    fn rate(&mut self, name: &str, rate: Rate) {
        self.maybe(name, rate.rate);
        self.add(&format!("{name}_numerator"), rate.numerator);
        self.add(&format!("{name}_denominator"), rate.denominator);
    }

    fn interval(&mut self, name: &str, interval: Option<Interval>) {
        self.maybe(&format!("{name}_lower"), interval.map(|interval| interval.lower));
        self.maybe(&format!("{name}_upper"), interval.map(|interval| interval.upper));
    }

    fn difference(&mut self, name: &str, found: Option<Difference>) {
        self.maybe(name, found.and_then(|found| found.difference));
        self.interval(name, found.and_then(|found| found.interval));
    }
}

fn named(agent: &AgentReport, row: &ReportRow) -> Line {
    let mut line = Line::default();
    line.add("agent", &agent.agent);
    line.add("agent_kind", agent.kind.name());
    line.maybe("opening", agent.opening.map(|opening| opening.name()));
    line.maybe("tools_mode", agent.tools.map(|tools| tools.name()));
    line.add("guardrails", row.guardrails);
    line.add("format", &row.format);
    line
}

fn cells(agent: &AgentReport, row: &ReportRow) -> impl Iterator<Item = Line> {
    row.scenarios.iter().map(move |cell| {
        let mut line = named(agent, row);
        line.add("scenario", &cell.scenario);
        line.rate("success", cell.success);
        line.rate("calls_per_episode", cell.calls_per_episode);
        line.rate("tokens_per_episode", cell.tokens_per_episode);
        line
    })
}

fn whole(agent: &AgentReport, row: &ReportRow) -> Line {
    let mut line = named(agent, row);
    line.add("episodes", row.episodes);
    line.add("scored", row.scored);
    line.add("infra", row.infra);
    line.add("config", row.config);
    line.rate("success", row.success);
    line.interval("success", row.success_interval);
    let paired = row.vs_none;
    line.maybe("success_vs_none", paired.and_then(|paired| paired.difference));
    line.interval("success_vs_none", paired.and_then(|paired| paired.interval));
    line.maybe("pairs_vs_none", paired.map(|paired| paired.pairs));
    line.maybe("p_vs_none", paired.and_then(|paired| paired.p_value));
    line.maybe("p_adjusted_vs_none", paired.and_then(|paired| paired.p_adjusted));
    line.difference("calls_vs_none", row.calls_vs_none);
    line.difference("tokens_vs_none", row.tokens_vs_none);
    let rates = [
        ("calls_per_episode", row.calls_per_episode),
        ("tokens_per_episode", row.tokens_per_episode),
        ("calls_per_success", row.calls_per_success),
        ("tokens_per_success", row.tokens_per_success),
        ("episode_recovery", row.episode_recovery),
        ("chain_recovery", row.chain_recovery),
        ("first_call_success", row.first_call_success),
        ("identical_repeats", row.identical_repeats),
        ("error_spirals", row.error_spirals),
        ("hint_uptake", row.hint_uptake),
        ("false_success", row.false_success),
        ("wasted_tokens", row.wasted_tokens),
        ("call_efficiency", row.call_efficiency),
        ("call_efficiency_of_successes", row.call_efficiency_of_successes),
    ];
    for (name, rate) in rates {
        line.rate(name, rate);
    }
    line.add("retries_fixed", row.retries.fixed);
    line.add("retries_censored", row.retries.censored);
    line.maybe("retries_median", row.retries.median.median);
    line.maybe("retries_median_lower", row.retries.median.lower);
    line.maybe("retries_median_upper", row.retries.median.upper);
    for repair in &row.repair_at {
        line.rate(&format!("repair_at_{}", repair.k), repair.chains);
    }
    line.add("leaked_fields", row.leaked_fields);
    line.add("prose_tokens", row.prose_tokens);
    line.add("guardrail_tokens", row.guardrail_tokens);
    line.maybe("cost_per_success_usd", row.cost_per_success);
    for pass in &row.passes {
        line.maybe(&format!("pass_at_{}", pass.k), pass.any);
        line.maybe(&format!("pass_hat_{}", pass.k), pass.all);
        line.interval(&format!("pass_hat_{}", pass.k), pass.all_interval);
    }
    let model = row.model;
    line.maybe("turns_per_episode", model.and_then(|model| model.turns_per_episode.rate));
    line.maybe("input_tokens_per_episode", model.and_then(|model| model.input_per_episode.rate));
    line.maybe("output_tokens_per_episode", model.and_then(|model| model.output_per_episode.rate));
    line.maybe("cost_usd", model.and_then(|model| model.usd));
    line.maybe("cost_per_episode_usd", model.and_then(|model| model.usd_per_episode));
    line.maybe("latency_ms_per_turn", model.and_then(|model| model.latency_ms_per_turn.rate));
    line
}
