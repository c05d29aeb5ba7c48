//! Every form of a report shows the numbers of one `Report` value: each text is held against one formatting of the number there.

use std::collections::BTreeMap;
use std::sync::LazyLock;

use healbench_protocol::{AgentKind, ErrorFormat, Measure};
use healbench_record::{Plan, Records, RunManifest, RunStatus};
use healbench_reports::render::html::{RunPage, Transcripts, run};
use healbench_reports::render::{csv, json};
use healbench_reports::{
    Ablation, AgentReport, ClaimReport, ClaimRow, ClaimVerdict, Difference, Effect, Report, ReportRow, Scope, summarise,
};
use serde_json::Value;

use crate::ablation::sweep;
use crate::numbers::{self, UNKNOWN, condition, joined, known};
use crate::rendering::claiming;
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
        whole("a model beside a script", plan(20)),
        whole("all sets of guardrails", sweep(3, 0..16, &formats[..1])),
        whole("formats", sweep(6, [0, 2, 15], &formats)),
        whole("single guardrails", sweep(6, [0, 1, 4, 15], &formats[..2])),
        whole("one setting", alone),
        whole("claims", claiming()),
        many_kinds("more kinds of failures than are told apart", plan(6)),
        interrupted("an interrupted run", plan(20), 217),
        interrupted("hardly begun", plan(4), 5),
    ]
});

fn whole(name: &'static str, plan: Plan) -> Sample {
    let episodes = plan.len();
    interrupted(name, plan, episodes)
}

/// A run of which so many episodes were played.
fn interrupted(name: &'static str, plan: Plan, done: u64) -> Sample {
    let Records { mut episodes, mut calls } = records(&plan);
    episodes.retain(|row| row.episode < done);
    calls.retain(|row| row.episode < done);
    sample(name, plan, &Records { episodes, calls })
}

/// A run with ten error classes.
fn many_kinds(name: &'static str, plan: Plan) -> Sample {
    let mut records = records(&plan);
    for call in records.calls.iter_mut().filter(|call| call.is_error) {
        call.error_class = Some(format!("KIND_{}", (call.episode + u64::from(call.call)) % 10).into());
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
    let report = summarise(&run, &manifest, Scope::Whole).unwrap();
    Sample { name, manifest, report }
}

impl Sample {
    pub(crate) fn page(&self) -> String {
        let transcripts = Transcripts::default();
        let (manifest, report) = (&self.manifest, &self.report);
        run(&RunPage { name: "run", manifest, report, transcripts: &transcripts, served: false }).unwrap()
    }

    pub(crate) fn rows(&self) -> impl Iterator<Item = (&AgentReport, &ReportRow)> {
        self.report.agents.iter().flat_map(|agent| agent.rows.iter().map(move |row| (agent, row)))
    }

    /// The two rows of an agent that are laid side by side, or the only one.
    pub(crate) fn beside<'a>(&self, agent: &'a AgentReport) -> Vec<&'a ReportRow> {
        let places = self.report.headline.map_or(vec![0], |headline| vec![headline.left, headline.right]);
        places.into_iter().map(|place| &agent.rows[place]).collect()
    }
}

/// What a column shows: numbers by the names of [`of_row`].
pub(crate) fn shown(texts: &BTreeMap<&'static str, String>, keys: &[&'static str]) -> String {
    joined(&keys.iter().map(|key| texts[key].as_str()).collect::<Vec<_>>())
}

pub(crate) fn badge(agent: &AgentReport) -> String {
    let kind = match agent.kind {
        AgentKind::Scripted => "scripted",
        AgentKind::Llm => "model",
        AgentKind::Replay => "model, replayed",
    };
    format!("{} {kind}", agent.title)
}

/// What effects are effects of, in the order of documents; a summary leaves the last two out where the first are there.
pub(crate) fn sections(ablation: &Ablation, summary: bool) -> Vec<(&'static str, &Effect)> {
    let single = !summary || ablation.main.is_empty();
    let kinds = [
        ("whatever the other switches", &ablation.main, true),
        ("two switches together", &ablation.interactions, true),
        ("one alone, over none", &ablation.one_in, single),
        ("the last one, to make all", &ablation.one_out, single),
    ];
    let shown = kinds.into_iter().filter(|(.., shown)| *shown);
    shown.flat_map(|(about, effects, _)| effects.iter().map(move |effect| (about, effect))).collect()
}

pub(crate) fn switches(effect: &Effect) -> String {
    effect.switches.to_string().replace('+', " × ")
}

pub(crate) fn heading(ablation: &Ablation) -> String {
    let format = ablation.format.to_string();
    joined(&[&ablation.title, if format == "bare" { "" } else { &format }])
}

/// A number of a row by its place in JSON; null where there is none.
pub(crate) fn at(row: &ReportRow, pointer: &str) -> Option<f64> {
    serde_json::to_value(row).unwrap().pointer(pointer).and_then(Value::as_f64)
}

/// The sentences about an agent, all of them over the pairs of the contrast.
pub(crate) struct Answer {
    pub(crate) success: [String; 2],
    pub(crate) points: Option<String>,
    pub(crate) p: Option<String>,
    pub(crate) told: &'static str,
    pub(crate) tokens: [String; 2],
    pub(crate) more_tokens: Option<String>,
    pub(crate) tokens_ok: [String; 2],
    pub(crate) calls: [String; 2],
    pub(crate) more_calls: Option<String>,
    pub(crate) usd_ok: [String; 2],
    pub(crate) unmatched: u64,
}

pub(crate) fn answer(agent: &AgentReport, left: &ReportRow, right: &ReportRow) -> Answer {
    let beside = agent.beside.unwrap();
    let more = |found: Difference| found.difference.map(|_| numbers::on_amount(found));
    let told = match (beside.success.p_adjusted, beside.success.difference) {
        (Some(p), Some(difference)) if p < 0.05 && difference > 0.0 => "more succeed",
        (Some(p), Some(difference)) if p < 0.05 && difference < 0.0 => "fewer succeed",
        _ => "it cannot be told whether more or fewer succeed",
    };
    let points = |difference| format!("{} points", numbers::points(difference));
    Answer {
        success: beside.success_rates.map(|rate| known(rate.rate, numbers::percent)),
        points: beside
            .success
            .difference
            .map(|difference| joined(&[&points(difference), &numbers::points_interval(beside.success.interval)])),
        p: beside.success.p_adjusted.map(numbers::p_value),
        told,
        tokens: beside.tokens_per_episode.map(|rate| known(rate.rate, numbers::amount)),
        more_tokens: more(beside.tokens),
        tokens_ok: beside.tokens_per_success.map(|rate| known(rate.rate, numbers::amount)),
        calls: beside.calls_per_episode.map(|rate| known(rate.rate, numbers::per)),
        more_calls: more(beside.calls),
        usd_ok: [left, right].map(|row| known(row.cost_per_success, numbers::money)),
        unmatched: beside.success.unmatched,
    }
}

pub(crate) fn arrow([before, after]: &[String; 2]) -> String {
    format!("{before} → {after}")
}

pub(crate) fn claim_number(measure: Measure) -> fn(f64) -> String {
    match measure {
        Measure::ResponseUsd(_) => |value| if value < 0.995 { format!("{value:.3}") } else { format!("{value:.2}") },
        _ => numbers::per,
    }
}

/// What a row of a claim says: success, what was measured, what is claimed, and what follows.
pub(crate) fn claim_row(claim: &ClaimReport, row: &ClaimRow) -> [String; 4] {
    let number = claim_number(claim.claim.measure);
    let interval = row.interval.map(|found| format!("[{}, {}]", number(found.lower), number(found.upper)));
    let verdict = row.verdict.map_or("", |verdict| match verdict {
        ClaimVerdict::BorneOut => "yes",
        ClaimVerdict::Lower => "no: lower",
        ClaimVerdict::Higher => "no: higher",
        ClaimVerdict::Same => "no: the same",
        ClaimVerdict::CannotTell => "cannot tell",
    });
    [
        known(row.success.rate, numbers::percent),
        joined(&[&known(row.mean, number), &interval.unwrap_or_default()]),
        row.claimed.map_or(UNKNOWN.to_owned(), |span| format!("{} to {}", number(span.from), number(span.to))),
        verdict.to_owned(),
    ]
}

pub(crate) fn claim_condition(row: &ClaimRow) -> String {
    let format = row.format.to_string();
    joined(&[&row.guardrails.to_string(), if format == "bare" { "" } else { &format }])
}

/// Where a column of CSV stands in the JSON of a row.
fn columns(row: &ReportRow) -> Vec<(String, String)> {
    let mut columns: Vec<(String, String)> = Vec::new();
    let mut add = |name: String, pointer: String| columns.push((name, pointer));
    for name in ["episodes", "scored", "infra", "config", "leaked_fields", "prose_tokens", "guardrail_tokens"] {
        add(name.to_owned(), format!("/{name}"));
    }
    let mut rate = |name: &str, pointer: &str| {
        add(name.to_owned(), format!("{pointer}/rate"));
        add(format!("{name}_numerator"), format!("{pointer}/numerator"));
        add(format!("{name}_denominator"), format!("{pointer}/denominator"));
    };
    let names = "success calls_per_episode tokens_per_episode calls_per_success tokens_per_success episode_recovery \
                 errors_fixed first_call_success repeated_calls stuck hints_followed false_success \
                 wasted_tokens call_efficiency call_efficiency_of_successes";
    names.split_whitespace().for_each(|name| rate(name, &format!("/{name}")));
    for (index, repair) in row.repair_at.iter().enumerate() {
        rate(&format!("repair_at_{}", repair.k), &format!("/repair_at/{index}/chains"));
    }
    for (name, pointer) in [
        ("success_lower", "/success_interval/lower"),
        ("success_upper", "/success_interval/upper"),
        ("success_vs_none", "/vs_none/difference"),
        ("success_vs_none_lower", "/vs_none/interval/lower"),
        ("success_vs_none_upper", "/vs_none/interval/upper"),
        ("pairs_vs_none", "/vs_none/pairs"),
        ("p_vs_none", "/vs_none/p_value"),
        ("p_adjusted_vs_none", "/vs_none/p_adjusted"),
        ("calls_vs_none", "/calls_vs_none/difference"),
        ("calls_vs_none_lower", "/calls_vs_none/interval/lower"),
        ("calls_vs_none_upper", "/calls_vs_none/interval/upper"),
        ("tokens_vs_none", "/tokens_vs_none/difference"),
        ("tokens_vs_none_lower", "/tokens_vs_none/interval/lower"),
        ("tokens_vs_none_upper", "/tokens_vs_none/interval/upper"),
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

/// The lines of CSV by the names of their columns.
fn csv_rows(text: &str) -> Vec<BTreeMap<String, String>> {
    let mut reader = ::csv::Reader::from_reader(text.as_bytes());
    reader.deserialize().map(Result::unwrap).collect()
}

fn number(text: &str) -> Option<f64> {
    (!text.is_empty()).then(|| text.parse().unwrap())
}

/// Takes what a line says of the agent and the setting, and holds it against them.
fn check_names(line: &mut BTreeMap<String, String>, agent: &AgentReport, row: &ReportRow) {
    let expected = [
        ("agent", agent.agent.clone()),
        ("agent_kind", agent.kind.name().to_owned()),
        ("opening", agent.opening.map_or(String::new(), |opening| opening.name().to_owned())),
        ("tools_mode", agent.tools.map_or(String::new(), |tools| tools.name().to_owned())),
        ("guardrails", row.guardrails.to_string()),
        ("format", row.format.to_string()),
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
        // Numbers lose their last bit when they are read.
        let again = |value: Value| -> Value { serde_json::from_str(&value.to_string()).unwrap() };
        assert!(found == again(serde_json::to_value(report).unwrap()), "{}", sample.name);
        // A few by hand: what the other forms are held against is what the report has under that name.
        for (agent, shown) in report.agents.iter().zip(found["agents"].as_array().unwrap()) {
            for (row, shown) in agent.rows.iter().zip(shown["rows"].as_array().unwrap()) {
                let same = |pointer: &str, value: Option<f64>| {
                    let found = shown.pointer(pointer).and_then(Value::as_f64);
                    let near = |found: f64| value.is_some_and(|value| (found - value).abs() <= value.abs() * 1e-12);
                    assert!(found.map_or(value.is_none(), near), "{}: {pointer}", sample.name);
                };
                same("/success/rate", row.success.rate);
                same("/success_interval/upper", row.success_interval.map(|interval| interval.upper));
                same("/vs_none/difference", row.vs_none.and_then(|paired| paired.difference));
                same("/tokens_vs_none/interval/lower", row.tokens_vs_none.and_then(|d| d.interval).map(|i| i.lower));
                same("/cost_per_success", row.cost_per_success);
                same("/model/usd", row.model.and_then(|model| model.usd));
                same("/retries/median", row.retries.median.median.map(f64::from));
                assert_eq!(shown["guardrails"], row.guardrails.to_string());
                assert_eq!(shown["format"], row.format.to_string());
            }
        }
    }
}
