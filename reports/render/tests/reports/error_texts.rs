//! Tests of the renderers of error texts, and of the section in a run's page and Markdown.

use healbench_analysis::statistics::Interval;
use healbench_analysis::{
    AfterSecond, ErrorAxis, ErrorCounts, ErrorExample, ErrorField, ErrorGroup, ErrorText, ErrorTexts, Rate, Report,
    Scope, TaskRate, summarize,
};
use healbench_core::{CallRecord, ErrorKind, Plan, ResponseRecord};
use healbench_frames::{FrameWriter, Rows};
use healbench_render::html::{RunPage, Transcripts, run};
use healbench_render::{ErrorOptions, errors, errors_csv, errors_markdown, json, markdown};
use healbench_store::EpisodeResult;

use crate::sample::{empty_run, manifest, plan, records, run_with};

fn rate(numerator: u64, denominator: u64) -> TaskRate {
    TaskRate { rate: Rate::of(numerator, denominator), interval: None }
}

fn counts(calls: u64, chains: u64, tasks: u64, wasted_tokens: u64) -> ErrorCounts {
    let of = |part| rate(part, chains);
    ErrorCounts {
        calls,
        chains,
        tasks,
        wasted_tokens,
        unrepaired: 0,
        repaired_next: of(chains / 2),
        repaired_next_same_errand: of(chains / 2),
        repaired_within_3: of(chains),
        changed: of(chains / 2),
        repeated: of(chains / 4),
        other_tool: of(0),
        stopped: of(chains / 4),
        after_second: AfterSecond {
            chains: chains / 2,
            repaired_next: rate(chains / 4, chains / 2),
            changed: rate(chains / 4, chains / 2),
            repeated: rate(0, chains / 2),
            other_tool: rate(0, chains / 2),
            stopped: rate(chains / 4, chains / 2),
        },
    }
}

fn text(tool: &str, template: Option<&str>, counts: ErrorCounts) -> ErrorText {
    let calls = counts.calls;
    ErrorText {
        tool: tool.to_owned(),
        template: template.map(str::to_owned),
        counts,
        soft_calls: 0,
        kind: Some(ErrorKind::UnknownField),
        names_field: Rate::of(0, calls),
        states_remedy: Rate::of(calls, calls),
        names_tool: Rate::of(1, calls),
        fields: ["body", "title"].map(|name| ErrorField { name: name.to_owned(), calls: 2 }).to_vec(),
        conditions: ["bare", "fusion"].map(str::to_owned).to_vec(),
        example: ErrorExample { episode: 12, call: 3 },
    }
}

fn texts() -> ErrorTexts {
    let mut soft = text("search", None, counts(2, 0, 1, 1));
    (soft.soft_calls, soft.kind) = (2, None);
    (soft.names_field, soft.states_remedy, soft.names_tool) = (Rate::of(0, 0), Rate::of(0, 0), Rate::of(0, 0));
    soft.fields.clear();
    ErrorTexts {
        observational: false,
        shell_errors: 0,
        attacked_episodes: 0,
        confidence: 0.95,
        flagged_only: false,
        totals: counts(1_300, 1_200, 96, 240_000),
        by: None,
        groups: Vec::new(),
        kinds: Vec::new(),
        texts: vec![text("create_issue", Some("body | <failed> '…'"), counts(40, 31, 12, 140_001)), soft],
    }
}

fn printed(texts: &ErrorTexts, limit: usize) -> String {
    errors(texts, ErrorOptions { width: 200, color: false, limit })
}

#[test]
fn the_answer_counts_errors_and_names_the_costliest_text() {
    let answer = |texts: &ErrorTexts| {
        let shown = errors(texts, ErrorOptions { width: 1_000, color: false, limit: 9 });
        shown.lines().next().unwrap().to_owned()
    };
    let mut texts = texts();
    assert_eq!(
        answer(&texts),
        "1,300 errors in 96 tasks, in 1,200 chains: 50% repaired next, 25% repeated, 25% ended it. Costliest: `create_issue`, 'body | \
         <failed> '…'' (31 chains in 12 tasks, 140k wasted tokens): the reader found no field that it names, but a remedy."
    );
    // What rates do not know is said.
    texts.totals.repaired_next = rate(500, 1_000);
    assert!(
        answer(&texts).contains(", in 1,200 chains (200 of them cut off, and in no rate): 50% "),
        "{}",
        answer(&texts)
    );
    // To send the call again is a remedy.
    (texts.texts[0].kind, texts.texts[0].states_remedy) = (Some(ErrorKind::Transient), Rate::of(0, 40));
    assert!(answer(&texts).ends_with("that it names, but a remedy."), "{}", answer(&texts));
    texts.texts[0].kind = None;
    texts.texts[0].names_field = Rate::of(40, 40);
    texts.texts[0].states_remedy = Rate::of(20, 40);
    assert!(answer(&texts).ends_with(": the reader found a field that it names, but no remedy."), "{}", answer(&texts));
    // One of each, of which nothing is known but the number.
    texts.totals = counts(1, 1, 1, 1);
    for share in [&mut texts.totals.repaired_next, &mut texts.totals.repeated, &mut texts.totals.stopped] {
        *share = rate(0, 0);
    }
    texts.texts.remove(0);
    assert_eq!(
        answer(&texts),
        "1 error in 1 task, in 1 chain: what followed is not known. Costliest: `search`, with texts that the run does not store (2 failed \
         calls in 1 task, 1 wasted token)."
    );
    texts.totals = counts(0, 0, 0, 0);
    texts.texts.clear();
    assert_eq!(printed(&texts, 9), "No call failed.\n");
    texts.shell_errors = 1;
    assert_eq!(printed(&texts, 9), "No call failed of those that count. Left out: 1 error of shells.\n");
    texts.shell_errors = 0;
    assert_eq!(errors_markdown(&texts, 9), "## healbench: error texts\n\n**No call failed.**\n");
}

#[test]
fn a_long_text_is_shortened_in_the_answer_alone() {
    let mut texts = texts();
    let long = "word ".repeat(39);
    texts.texts[0].template = Some(long.trim().to_owned());
    let shown = errors(&texts, ErrorOptions { width: 400, color: false, limit: 9 });
    assert!(
        shown.contains("word …' (31 chains") && shown.contains(&format!("create_issue: {}", long.trim())),
        "{shown}"
    );
}

#[test]
fn unknown_rates_are_not_zero() {
    let shown = printed(&texts(), 9);
    let row = |label: &str| shown.lines().find(|line| line.starts_with(label)).unwrap().split_whitespace().collect();
    let cells: Vec<&str> = row("  unknown field");
    assert_eq!(cells, ["unknown", "field", "31", "12", "40", "140k", "48%", "100%", "23%", "0%", "23%"]);
    let cells: Vec<&str> = row("  — · soft");
    assert_eq!(cells, ["—", "·", "soft", "0", "1", "2", "1", "—", "—", "—", "—", "—"]);
    assert!(shown.contains("search: (text not stored)") && shown.contains("reader found: —"), "{shown}");
    assert!(
        shown
            .contains("reader found: no field, remedy, tool in 2% · fields: body, title · under bare, fusion · example: episode 12, call 3")
    );
}

#[test]
fn intervals_and_what_is_left_out_are_said() {
    let mut texts = texts();
    assert!(printed(&texts, 9).contains("Below 10 tasks there are no intervals."));
    texts.totals.repaired_next.interval = Some(Interval { lower: 0.41, upper: 0.6 });
    let shown = printed(&texts, 1);
    assert!(
        shown.contains("Repaired next: 50% [41, 60]; 50% without chains") && shown.contains("Intervals are 95%"),
        "{shown}"
    );
    assert!(shown.contains("Left out: 1 more text.") && !shown.contains("search"), "{shown}");
    assert!(!printed(&texts, 2).contains("Left out") && printed(&texts, 2).contains("soft: errors"));
    texts.flagged_only = true;
    assert!(printed(&texts, 2).contains("Errors that were sent as successes count as successes."));
}

#[test]
fn all_forms_have_the_same_numbers() {
    let texts = texts();
    let table = errors_markdown(&texts, 9);
    let row = table.lines().find(|line| line.starts_with("| create")).unwrap();
    let cells: Vec<&str> = row.trim_matches('|').split(" | ").map(str::trim).collect();
    assert_eq!(
        cells[1..12],
        [
            "body &#124; &#60;failed&#62; '…'",
            "unknown field",
            "31",
            "12",
            "40",
            "140k",
            "48%",
            "100%",
            "23%",
            "0%",
            "23%"
        ]
    );
    let csv = errors_csv(&texts).unwrap();
    let mut reader = ::csv::Reader::from_reader(csv.as_bytes());
    let head: Vec<String> = reader.headers().unwrap().iter().map(str::to_owned).collect();
    let lines: Vec<::csv::StringRecord> = reader.records().map(Result::unwrap).collect();
    let value = |line: usize, name: &str| &lines[line][head.iter().position(|head| head == name).unwrap()];
    assert_eq!(
        ["template", "wasted_tokens", "kind"].map(|name| value(0, name)),
        ["body | <failed> '…'", "140001", "unknown_field"]
    );
    assert_eq!(["template", "repaired_next", "kind", "names_field"].map(|name| value(1, name)), [""; 4]);
    let document: serde_json::Value = serde_json::from_str(&json(&texts).unwrap()).unwrap();
    assert_eq!(document["texts"][0]["wasted_tokens"], 140_001);
    assert_eq!(
        (&document["texts"][1]["template"], &document["texts"][1]["repaired_next"]["rate"]),
        (&serde_json::Value::Null, &serde_json::Value::Null)
    );
}

#[test]
fn groups_come_before_the_texts() {
    let mut texts = texts();
    texts.by = Some(ErrorAxis::Agent);
    texts.groups = vec![ErrorGroup { name: "scripted:typical".to_owned(), counts: counts(7, 6, 5, 4) }];
    let shown = printed(&texts, 9);
    let at = |part: &str| shown.find(part).unwrap();
    assert!(at("scripted:typical       6      5       7       4") < at("create_issue: "), "{shown}");
    let table = errors_markdown(&texts, 9);
    assert!(
        table.contains("| agent | chains | tasks |") && table.contains("| scripted:typical | 6 | 5 | 7 | 4 |"),
        "{table}"
    );
    let csv = errors_csv(&texts).unwrap();
    assert!(csv.starts_with("agent,calls,chains,") && csv.lines().count() == 2, "{csv}");
}

/// Returns the report of a run whose failed calls were answered with one of two texts.
fn report_of_run(edit: impl Fn(&mut CallRecord)) -> (Plan, Report) {
    let plan = plan(3);
    let rows = records(&plan);
    let (_folder, kept) = empty_run(&plan);
    let mut writer = FrameWriter::create(&kept, &plan).unwrap();
    for episode in rows.episodes {
        let mut calls: Vec<CallRecord> =
            rows.calls.iter().filter(|call| call.episode == episode.episode).cloned().collect();
        for call in &mut calls {
            call.response_hash = if call.is_error { 2 + u64::from(call.call % 2) } else { 1 };
            edit(call);
        }
        let response = |(hash, text): (u64, &str)| ResponseRecord {
            response_hash: hash,
            is_error: hash > 1,
            content: vec![text.to_owned()],
            ..ResponseRecord::default()
        };
        let responses = [(1, "fine"), (2, "no <b>amount</b> 17"), (3, "'amount' is 'too large'")].map(response).into();
        writer.write_result(&EpisodeResult { episode, calls, recorded_turns: None, responses }).unwrap();
    }
    writer.finish().unwrap();
    let report = summarize(&Rows(&kept), &manifest(&plan), Scope::Full).unwrap();
    (plan, report)
}

#[test]
fn a_report_has_the_error_texts_of_its_run() {
    let (plan, report) = report_of_run(|_| {});
    let found = report.error_texts.as_ref().unwrap();
    let mut templates: Vec<&str> = found.texts.iter().filter_map(|text| text.template.as_deref()).collect();
    templates.sort_unstable();
    assert_eq!(templates, ["'amount' is …", "no <b>amount</b> …"]);
    let rows = records(&plan);
    let failed: Vec<&CallRecord> = rows.calls.iter().filter(|call| call.is_error).collect();
    let tokens: u64 = failed.iter().map(|call| u64::from(call.request_tokens + call.response_tokens)).sum();
    assert_eq!((found.totals.calls, found.totals.wasted_tokens), (failed.len() as u64, tokens));
    let shown = markdown(&report);
    assert!(shown.contains("### Error texts") && shown.lines().count() <= 60, "{shown}");
    let manifest = manifest(&plan);
    let transcripts = Transcripts::of(&report);
    let page = |served| {
        run(&RunPage { name: "runs/x", manifest: &manifest, report: &report, transcripts: &transcripts, served })
            .unwrap()
    };
    let example = found.texts[0].example;
    assert!(
        page(false).contains("<h2 id=\"errors\">Error texts</h2>")
            && page(false).contains("no &lt;b&gt;amount&lt;/b&gt; …")
    );
    let link = format!("episodes/{}\">episode {0}, call {}</a>", example.episode, example.call);
    assert!(page(true).contains(&link) && !page(false).contains(&link), "{link}");
}

#[test]
fn the_report_of_an_older_run_has_no_error_texts() {
    let (plan, report) = report_of_run(|call| call.aftermath = None);
    assert_eq!(report.error_texts, None);
    assert!(!markdown(&report).contains("Error texts"));
    let manifest = manifest(&plan);
    let transcripts = Transcripts::of(&report);
    let page = RunPage { name: "x", manifest: &manifest, report: &report, transcripts: &transcripts, served: false };
    assert!(!run(&page).unwrap().contains("Error texts"));
}

#[test]
fn a_run_without_texts_has_its_numbers() {
    let plan = plan(1);
    let (_folder, kept) = run_with(&plan, &records(&plan));
    let report = summarize(&Rows(&kept), &manifest(&plan), Scope::Full).unwrap();
    let found = report.error_texts.unwrap();
    assert!(found.totals.chains > 0 && found.texts.iter().all(|text| text.template.is_none()));
    assert!(summarize(&Rows(&kept), &manifest(&plan), Scope::Tables).unwrap().error_texts.is_none());
}
