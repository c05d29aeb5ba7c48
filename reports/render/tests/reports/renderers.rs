//! Shared code of the tests that every output shows the numbers of one `Report`, checked against a second
//! implementation of number formatting: sample reports, their expected numbers, and the tests of JSON and CSV. The
//! tests of text outputs are in `renderers_text`, those of pages in `renderers_page`.

use std::collections::BTreeMap;
use std::sync::LazyLock;

use healbench_analysis::{
    Ablation, AgentReport, ClaimReport, ClaimRow, ClaimVerdict, Difference, Effect, Report, ReportRow, RowMetric,
    Scope, Verdict, agents_by_information, summarize,
};
use healbench_core::{AgentKind, AgentSpec, ErrorFormat, Measure, Plan, Records};
use healbench_frames::Rows;
use healbench_render::html::{RunPage, Transcripts, run};
use healbench_render::{csv, json};
use healbench_store::{RunManifest, RunStatus};
use serde_json::Value;

use crate::ablation::sweep;
use crate::numbers::{self, UNKNOWN, condition, join_nonempty, known};
use crate::rendering::plan_with_claims;
use crate::sample::{manifest, plan, records, run_with};

pub(crate) struct Sample {
    pub(crate) name: &'static str,
    pub(crate) manifest: RunManifest,
    pub(crate) report: Report,
}

pub(crate) static SAMPLES: LazyLock<Vec<Sample>> = LazyLock::new(|| {
    let formats = [ErrorFormat::FusionXml, ErrorFormat::FusionText, ErrorFormat::Serde];
    let mut alone = plan(6);
    alone.conditions.drain(..2);
    vec![
        complete_sample("a model beside a script", plan(20)),
        complete_sample("all sets of guardrails", sweep(3, 0..16, &formats[..1])),
        complete_sample("formats", sweep(6, [0, 2, 15], &formats)),
        complete_sample("single guardrails", sweep(6, [0, 1, 4, 15], &formats[..2])),
        complete_sample("one setting, simulated readers alone", without_model(alone.clone())),
        complete_sample("one setting", alone),
        complete_sample("simulated readers alone", without_model(plan(20))),
        complete_sample("claims", plan_with_claims()),
        sample_with_many_classes("more kinds of failures than are told apart", plan(6)),
        interrupted_sample("an interrupted run", plan(20), 217),
        interrupted_sample("hardly begun", plan(4), 5),
    ]
});

fn without_model(mut plan: Plan) -> Plan {
    plan.agents[1] = AgentSpec { name: "careless".to_owned(), ..plan.agents[0].clone() };
    plan
}

fn complete_sample(name: &'static str, plan: Plan) -> Sample {
    let episodes = plan.len();
    interrupted_sample(name, plan, episodes)
}

/// Returns a run with `done` finished episodes.
fn interrupted_sample(name: &'static str, plan: Plan, done: u64) -> Sample {
    let Records { mut episodes, mut calls } = records(&plan);
    episodes.retain(|row| row.episode < done);
    calls.retain(|row| row.episode < done);
    sample(name, plan, &Records { episodes, calls })
}

fn sample_with_many_classes(name: &'static str, plan: Plan) -> Sample {
    let mut records = records(&plan);
    for call in records.calls.iter_mut().filter(|call| call.is_error) {
        call.error_class = Some(format!("KIND_{}", (call.episode + u64::from(call.call)) % 10).as_str().into());
    }
    sample(name, plan, &records)
}

fn sample(name: &'static str, plan: Plan, records: &Records) -> Sample {
    let (_folder, run) = run_with(&plan, records);
    let mut manifest = manifest(&plan);
    let done = records.episodes.len() as u64;
    if done < plan.len() {
        (manifest.status, manifest.episodes_done) = (RunStatus::Interrupted, done);
    }
    let report = summarize(&Rows(&run), &manifest, Scope::Full).unwrap();
    Sample { name, manifest, report }
}

impl Sample {
    pub(crate) fn page(&self) -> String {
        let transcripts = Transcripts::default();
        let (manifest, report) = (&self.manifest, &self.report);
        run(&RunPage { name: "run", manifest, report, transcripts: &transcripts, served: false }).unwrap()
    }

    /// Returns the agents with a headline, in the order of reports: the models, or all agents if there is no model.
    pub(crate) fn headline_agents(&self) -> Vec<&AgentReport> {
        let agents = agents_by_information(&self.report).into_iter().map(|agent| &self.report.agents[agent]);
        let (readers, models): (Vec<_>, Vec<_>) = agents.partition(|agent| agent.kind == AgentKind::Scripted);
        if models.is_empty() { readers } else { models }
    }

    pub(crate) fn rows(&self) -> impl Iterator<Item = (&AgentReport, &ReportRow)> {
        self.report.agents.iter().flat_map(|agent| agent.rows.iter().map(move |row| (agent, row)))
    }

    /// Returns an agent's two rows of the headline comparison, or its only row.
    pub(crate) fn headline_rows<'a>(&self, agent: &'a AgentReport) -> Vec<&'a ReportRow> {
        let places = self.report.headline.map_or(vec![0], |headline| vec![headline.left, headline.right]);
        places.into_iter().map(|place| &agent.rows[place]).collect()
    }
}

/// Returns the content of a column with the numbers named by `keys`; see `numbers::row_texts`.
pub(crate) fn shown(texts: &BTreeMap<&'static str, String>, keys: &[&'static str]) -> String {
    join_nonempty(&keys.iter().map(|key| texts[key].as_str()).collect::<Vec<_>>())
}

pub(crate) fn badge(agent: &AgentReport) -> String {
    match agent.kind {
        AgentKind::Scripted => agent.agent.replace("scripted:", "Simulated reader "),
        AgentKind::Llm => format!("{} model", agent.title),
        AgentKind::Replay => format!("{} model, replayed", agent.title),
        AgentKind::Program => format!("{} program", agent.title),
        AgentKind::Trace => format!("{} recorded", agent.title),
    }
}

/// Returns the effects with their headings, in the order of documents. A summary omits the last two kinds if the first
/// is present.
pub(crate) fn sections(ablation: &Ablation, summary: bool) -> Vec<(&'static str, &Effect)> {
    let single = !summary || ablation.main.is_empty();
    let kinds = [
        ("averaged over the others", &ablation.main, true),
        ("interactions of two", &ablation.interactions, true),
        ("one on, vs none", &ablation.one_in, single),
        ("all, vs one off", &ablation.one_out, single),
    ];
    let shown = kinds.into_iter().filter(|(.., shown)| *shown);
    shown.flat_map(|(about, effects, _)| effects.iter().map(move |effect| (about, effect))).collect()
}

pub(crate) fn switches(effect: &Effect) -> String {
    effect.switches.to_string().replace('+', " × ")
}

pub(crate) fn heading(ablation: &Ablation) -> String {
    let format = ablation.format.to_string();
    join_nonempty(&[&ablation.title, if format == "bare" { "" } else { &format }])
}

/// Returns a number of a row by its JSON pointer; `None` for null.
pub(crate) fn at(row: &ReportRow, pointer: &str) -> Option<f64> {
    serde_json::to_value(row).unwrap().pointer(pointer).and_then(Value::as_f64)
}

/// The expected sentences about an agent, over the pairs of the headline comparison.
pub(crate) struct ExpectedHeadline {
    pub(crate) success: [String; 2],
    pub(crate) points: Option<String>,
    pub(crate) p: Option<String>,
    pub(crate) conclusion: &'static str,
    pub(crate) billed: [String; 2],
    pub(crate) more_billed: Option<String>,
    /// The medians over scenarios of billed tokens per episode and per success.
    pub(crate) medians: [[String; 2]; 2],
    pub(crate) provider: Option<[String; 2]>,
    pub(crate) tokens: [String; 2],
    pub(crate) more_tokens: Option<String>,
    pub(crate) billed_ok: [String; 2],
    pub(crate) calls: [String; 2],
    pub(crate) more_calls: Option<String>,
    pub(crate) usd_ok: [String; 2],
    pub(crate) unmatched: u64,
}

pub(crate) fn expected_headline(agent: &AgentReport, left: &ReportRow, right: &ReportRow) -> ExpectedHeadline {
    let comparison = agent.headline.unwrap();
    let more = |found: Difference| found.difference.map(|_| numbers::amount_effect(found));
    let verdict = comparison.success.verdict;
    let conclusion = match (verdict, comparison.success.difference) {
        (Verdict::Clear, Some(difference)) if difference > 0.0 => "more succeed",
        (Verdict::Clear, Some(_)) => "fewer succeed",
        (Verdict::Equal, _) => "in every trial",
        (Verdict::AsGood, _) => "as good, within 5 points",
        _ => "no clear difference",
    };
    let points = |difference| match verdict {
        Verdict::Equal => "equal".to_owned(),
        _ => format!("{} points", numbers::points(difference)),
    };
    ExpectedHeadline {
        success: comparison.success_rates.map(|rate| known(rate.rate, numbers::percent)),
        points: comparison.success.difference.map(|difference| {
            let interval = numbers::pair_interval_in_words(comparison.success.interval, verdict);
            let this_suite = comparison.success.this_suite.map(|this| numbers::points_interval(Some(this.interval)));
            let this_suite = this_suite.map(|interval| format!("this suite {interval}")).unwrap_or_default();
            join_nonempty(&[&points(difference), &interval, &this_suite])
        }),
        p: comparison.success.p_adjusted.map(numbers::p_value),
        conclusion,
        billed: comparison.billed_tokens_per_episode.map(|rate| known(rate.rate, numbers::amount)),
        more_billed: more(comparison.billed_tokens),
        medians: [comparison.median_billed_tokens_per_episode, comparison.median_billed_tokens_per_success]
            .map(|medians| medians.map(|median| known(median, numbers::amount))),
        provider: comparison.provider_tokens_per_episode[0]
            .rate
            .map(|_| comparison.provider_tokens_per_episode.map(|rate| known(rate.rate, numbers::amount))),
        tokens: comparison.tokens_per_episode.map(|rate| known(rate.rate, numbers::amount)),
        more_tokens: more(comparison.tokens),
        billed_ok: comparison.billed_tokens_per_success.map(|rate| known(rate.rate, numbers::amount)),
        calls: comparison.calls_per_episode.map(|rate| known(rate.rate, numbers::rate_decimal)),
        more_calls: more(comparison.calls),
        usd_ok: [left, right].map(|row| known(row.cost_per_success, numbers::money)),
        unmatched: comparison.success.unmatched,
    }
}

pub(crate) fn arrow([before, after]: &[String; 2]) -> String {
    format!("{before} → {after}")
}

pub(crate) fn claim_number(measure: Measure) -> fn(f64) -> String {
    match measure {
        Measure::ResponseUsd(_) => |value| if value < 0.995 { format!("{value:.3}") } else { format!("{value:.2}") },
        _ => numbers::rate_decimal,
    }
}

/// Returns the cells of a claim's row: success, mean, claimed range and verdict.
pub(crate) fn claim_row(claim: &ClaimReport, row: &ClaimRow) -> [String; 4] {
    let number = claim_number(claim.claim.measure);
    let interval = row.interval.map(|found| format!("[{}, {}]", number(found.lower), number(found.upper)));
    let verdict = row.verdict.map_or("", |verdict| match verdict {
        ClaimVerdict::Supported => "supported",
        ClaimVerdict::Lower => "lower",
        ClaimVerdict::Higher => "higher",
        ClaimVerdict::Same => "no reduction",
        ClaimVerdict::Inconclusive => "inconclusive",
    });
    [
        known(row.success.rate, numbers::percent),
        join_nonempty(&[&known(row.mean, number), &interval.unwrap_or_default()]),
        row.claimed.map_or(UNKNOWN.to_owned(), |span| format!("{} to {}", number(span.from), number(span.to))),
        verdict.to_owned(),
    ]
}

pub(crate) fn claim_condition(row: &ClaimRow) -> String {
    let format = row.condition.format().to_string();
    join_nonempty(&[&row.condition.guardrails().to_string(), if format == "bare" { "" } else { &format }])
}

/// Maps the columns of CSV to JSON pointers in a row.
fn columns(row: &ReportRow) -> Vec<(String, String)> {
    let mut columns: Vec<(String, String)> = Vec::new();
    let mut add = |name: String, pointer: String| columns.push((name, pointer));
    let Value::Object(json) = serde_json::to_value(row).unwrap() else { unreachable!("a row is an object") };
    // Numbers with one name in both; CSV has the unit in the name of the other.
    for (name, _) in json.iter().filter(|(name, value)| value.is_u64() && *name != "cost_per_success") {
        add(name.clone(), format!("/{name}"));
    }
    let mut rate = |name: &str, pointer: &str| {
        add(name.to_owned(), format!("{pointer}/rate"));
        add(format!("{name}_numerator"), format!("{pointer}/numerator"));
        add(format!("{name}_denominator"), format!("{pointer}/denominator"));
    };
    for (name, _) in json.iter().filter(|(_, value)| value.get("numerator").is_some()) {
        rate(name, &format!("/{name}"));
    }
    for (index, repair) in row.repair_at.iter().enumerate() {
        rate(&format!("repair_at_{}", repair.k), &format!("/repair_at/{index}/chains"));
    }
    for (name, pointer) in [
        ("success_lower", "/success_interval/lower"),
        ("success_upper", "/success_interval/upper"),
        ("success_vs_reference", "/vs_reference/difference"),
        ("success_vs_reference_lower", "/vs_reference/interval/lower"),
        ("success_vs_reference_upper", "/vs_reference/interval/upper"),
        ("pairs_vs_reference", "/vs_reference/pairs"),
        ("success_vs_reference_this_suite_lower", "/vs_reference/this_suite/interval/lower"),
        ("success_vs_reference_this_suite_upper", "/vs_reference/this_suite/interval/upper"),
        ("p_vs_reference", "/vs_reference/p_value"),
        ("p_adjusted_vs_reference", "/vs_reference/p_adjusted"),
        ("calls_vs_reference", "/calls_vs_reference/difference"),
        ("calls_vs_reference_lower", "/calls_vs_reference/interval/lower"),
        ("calls_vs_reference_upper", "/calls_vs_reference/interval/upper"),
        ("billed_tokens_vs_reference", "/billed_tokens_vs_reference/difference"),
        ("billed_tokens_vs_reference_lower", "/billed_tokens_vs_reference/interval/lower"),
        ("billed_tokens_vs_reference_upper", "/billed_tokens_vs_reference/interval/upper"),
        ("median_billed_tokens_per_episode", "/median_billed_tokens_per_episode"),
        ("median_billed_tokens_per_success", "/median_billed_tokens_per_success"),
        ("tokens_vs_reference", "/tokens_vs_reference/difference"),
        ("tokens_vs_reference_lower", "/tokens_vs_reference/interval/lower"),
        ("tokens_vs_reference_upper", "/tokens_vs_reference/interval/upper"),
        ("retries_fixed", "/retries/fixed"),
        ("retries_censored", "/retries/censored"),
        ("retries_median", "/retries/median"),
        ("retries_median_lower", "/retries/lower"),
        ("retries_median_upper", "/retries/upper"),
        ("cost_per_success_usd", "/cost_per_success"),
        ("turns_per_episode", "/model/turns_per_episode/rate"),
        ("input_tokens_per_episode", "/model/input_per_episode/rate"),
        ("output_tokens_per_episode", "/model/output_per_episode/rate"),
        ("cost_usd", "/model/usd"),
        ("cost_per_episode_usd", "/model/usd_per_episode"),
        ("latency_ms_per_turn", "/model/latency_ms_per_turn/rate"),
    ] {
        columns.push((name.to_owned(), pointer.to_owned()));
    }
    for (index, pass) in row.passes.iter().enumerate() {
        columns.push((format!("pass_at_{}", pass.k), format!("/passes/{index}/any")));
        columns.push((format!("pass_hat_{}", pass.k), format!("/passes/{index}/all")));
        columns.push((format!("pass_hat_{}_lower", pass.k), format!("/passes/{index}/all_interval/lower")));
        columns.push((format!("pass_hat_{}_upper", pass.k), format!("/passes/{index}/all_interval/upper")));
    }
    columns
}

/// Parses CSV into lines by column name.
fn csv_rows(text: &str) -> Vec<BTreeMap<String, String>> {
    let mut reader = ::csv::Reader::from_reader(text.as_bytes());
    reader.deserialize().map(Result::unwrap).collect()
}

fn number(text: &str) -> Option<f64> {
    (!text.is_empty()).then(|| text.parse().unwrap())
}

/// Removes the names of agent and condition from a line and checks them.
fn check_names(line: &mut BTreeMap<String, String>, agent: &AgentReport, row: &ReportRow) {
    let expected = [
        ("agent", agent.agent.clone()),
        ("agent_kind", agent.kind.name().to_owned()),
        ("opening", agent.opening.map_or(String::new(), |opening| opening.name().to_owned())),
        ("tools_mode", agent.tools.map_or(String::new(), |tools| tools.name().to_owned())),
        ("condition", row.condition.label()),
        ("guardrails", row.condition.guardrails().to_string()),
        ("format", row.condition.format().to_string()),
    ];
    for (name, value) in expected {
        assert_eq!(line.remove(name).unwrap(), value);
    }
}

#[test]
fn csv_holds_the_numbers_of_the_report() {
    for sample in SAMPLES.iter() {
        let lines = csv_rows(&csv(&sample.report, false).unwrap());
        assert_eq!(lines.len(), sample.rows().count());
        for (mut line, (agent, row)) in lines.into_iter().zip(sample.rows()) {
            check_names(&mut line, agent, row);
            for (name, pointer) in columns(row) {
                let found = line.remove(&name).unwrap_or_else(|| panic!("no column {name}"));
                assert_eq!(number(&found), at(row, &pointer), "{}, {}: {name}", sample.name, condition(row));
            }
            assert_eq!(line, BTreeMap::new(), "columns that are held against nothing");
        }
    }
}

#[test]
fn csv_by_scenario_holds_the_numbers_of_the_report() {
    for sample in SAMPLES.iter() {
        let mut lines = csv_rows(&csv(&sample.report, true).unwrap()).into_iter();
        for (agent, row) in sample.rows() {
            for (scenario, cell) in sample.report.scenarios.iter().zip(&row.scenarios) {
                let mut line = lines.next().unwrap();
                check_names(&mut line, agent, row);
                assert_eq!(line.remove("scenario").as_ref(), Some(scenario));
                let rates = [
                    ("success", cell.success),
                    ("calls_per_episode", cell.calls_per_episode),
                    ("billed_tokens_per_episode", cell.billed_tokens_per_episode),
                    ("billed_tokens_per_success", cell.billed_tokens_per_success),
                    ("tokens_per_episode", cell.tokens_per_episode),
                ];
                for (name, rate) in rates {
                    let mut value = |more: &str| number(&line.remove(&format!("{name}{more}")).unwrap());
                    assert_eq!(value(""), rate.rate, "{}: {name}", sample.name);
                    assert_eq!(value("_numerator"), Some(rate.numerator as f64), "{}: {name}", sample.name);
                    assert_eq!(value("_denominator"), Some(rate.denominator as f64), "{}: {name}", sample.name);
                }
                assert_eq!(line, BTreeMap::new(), "columns that are held against nothing");
            }
        }
        assert!(lines.next().is_none());
    }
}

#[test]
fn json_is_the_report() {
    for sample in SAMPLES.iter() {
        let (report, found) = (&sample.report, json(&sample.report).unwrap());
        let found: Value = serde_json::from_str(&found).unwrap();
        // Parsing may change the last bit of a number.
        let again = |value: Value| -> Value { serde_json::from_str(&value.to_string()).unwrap() };
        assert!(found == again(serde_json::to_value(report).unwrap()), "{}", sample.name);
        // A few values are checked by hand; the other formats are checked against the report's fields.
        for (agent, shown) in report.agents.iter().zip(found["agents"].as_array().unwrap()) {
            for (row, shown) in agent.rows.iter().zip(shown["rows"].as_array().unwrap()) {
                let same = |pointer: &str, value: Option<f64>| {
                    let found = shown.pointer(pointer).and_then(Value::as_f64);
                    let near = |found: f64| value.is_some_and(|value| (found - value).abs() <= value.abs() * 1e-12);
                    assert!(found.map_or(value.is_none(), near), "{}: {pointer}", sample.name);
                };
                same("/success/rate", row.rate(RowMetric::Success).rate);
                same("/success_interval/upper", row.success_interval.map(|interval| interval.upper));
                same("/vs_reference/difference", row.vs_reference.and_then(|paired| paired.difference));
                same(
                    "/tokens_vs_reference/interval/lower",
                    row.tokens_vs_reference.and_then(|d| d.interval).map(|i| i.lower),
                );
                same("/cost_per_success", row.cost_per_success);
                same("/model/usd", row.model.and_then(|model| model.usd));
                same("/retries/median", row.retries.median.median.map(f64::from));
                assert_eq!(shown["guardrails"], row.condition.guardrails().to_string());
                assert_eq!(shown["format"], row.condition.format().to_string());
            }
        }
    }
}
