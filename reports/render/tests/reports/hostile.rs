//! Tests that text of agents, models and files is escaped in every output format.

use std::collections::BTreeSet;
use std::sync::LazyLock;

use healbench_analysis::{
    CallStep, EpisodeFilter, ErrorAxis, ErrorField, ErrorGroup, ErrorTexts, FilteredEpisodes, IndexedEpisode, Report,
    Scope, SentCall, Side, Transcript, TranscriptStep, compare, summarize,
};
use healbench_core::{
    AxisValues, CallRecord, Claim, Condition, ErrorFormat, Guardrails, Measure, Outcome, Plan, Records, TemplateSource,
};
use healbench_frames::Rows;
use healbench_render::html::{
    ComparisonPage, EpisodeNeighbors, EpisodePage, EpisodesPage, ListedRun, RunPage, RunState, RunSummary,
    ScenarioChange, Transcripts, comparison, episode, episodes, error_page, run, runs,
};
use healbench_render::{
    ComparisonOptions, Detail, ErrorOptions, TerminalOptions, comparison as compared_in_words, csv, errors, errors_csv,
    errors_markdown, json, markdown, matrix, terminal,
};
use healbench_store::RunManifest;
use healbench_text::plain_text;
use serde_json::{Value, json};

use crate::ablation::sweep;
use crate::pages::read;
use crate::sample::{manifest, plan, records, run_with};

/// Texts that would be markup, end markup, or be invisible if they were not escaped.
const HOSTILE: [&str; 20] = [
    "<script>alert(1)</script>",
    "</style></title></script><b>bold</b>",
    "]]><!-- ",
    "\"><img src=x onerror=alert(1)>",
    "' onmouseover='alert(1)",
    "&#60;b&#62; &lt;b&gt; &# &",
    "javascript:alert(1)",
    "\u{1b}[31mred\u{1b}]0;owned\u{7}",
    "\u{9b}31mred\u{85}\u{7f}",
    "\u{202e}evil\u{2066}aside\u{200f}",
    "nul\0nul",
    "first\nsecond\r\nthird\tand\u{2028}more",
    "a | b || c \\| d \\",
    "`code` ``` *b* _i_ ~s~ $x$ [link](x) ![i](x)",
    "@everyone #1 <a@b.c>",
    "{\"a\": \"b\"}, 'quoted', \"quoted\"",
    "\u{feff}\u{200b}\u{ad}\u{e0041}",
    "=1+1",
    "---",
    "",
];

/// Returns true for characters that must be escaped.
fn is_raw(c: char) -> bool {
    c.is_control()
        || matches!(c, '\u{ad}' | '\u{61c}' | '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2060}'..='\u{206f}')
        || matches!(c, '\u{feff}' | '\u{fff9}'..='\u{fffb}' | '\u{e0000}'..='\u{e007f}')
}

/// Checks every character except the line breaks of the output format.
fn check_plain(output: &str, text: &str) {
    if let Some(at) = text.find(|c| is_raw(c) && c != '\n') {
        let from = text[..at].char_indices().rev().nth(60).map_or(0, |(from, _)| from);
        panic!("{output}: {:?}", text[from..].chars().take(90).collect::<String>());
    }
}

/// Returns a run in which every text from outside is `hostile`.
fn run_containing(hostile: &str) -> (Plan, RunManifest, Records) {
    let mut plan = plan(3);
    let file = format!("{hostile}.jinja");
    let template = TemplateSource { file, text: String::new() };
    plan.conditions[2] = Condition::new(Guardrails::ALL, ErrorFormat::Template(template));
    for (index, agent) in plan.agents.iter_mut().enumerate() {
        agent.name = format!("{hostile}{index}");
    }
    for (index, scenario) in plan.scenarios.iter_mut().enumerate() {
        scenario.id = format!("{hostile}/{index}");
        scenario.path = format!("scenarios/{hostile}/{index}.yaml");
        scenario.claims = vec![Claim { says: hostile.to_owned(), measure: Measure::Calls, without: None, with: None }];
    }
    let mut records = records(&plan);
    for call in records.calls.iter_mut().filter(|call| call.is_error) {
        call.error_class = Some(format!("{hostile}{}", call.call % 3).as_str().into());
        call.tool = hostile.into();
    }
    let text = || hostile.to_owned();
    let manifest = RunManifest {
        healbench: text(),
        revision: Some(text()),
        command: text(),
        started: text(),
        tokenizer: text(),
        ..manifest(&plan)
    };
    (plan, manifest, records)
}

/// Returns a transcript in which every text is `hostile`.
fn transcript_containing(hostile: &str) -> Transcript {
    let calls = [1, 2].map(|call| {
        let row = CallRecord {
            call,
            turn: Some(call),
            tool: hostile.into(),
            action: Some(hostile.into()),
            is_error: true,
            error_class: Some(hostile.into()),
            chain: Some(1),
            ..CallRecord::default()
        };
        SentCall { arguments: json!({hostile: hostile, "deep": [{hostile: call}], "n": {"said": hostile}}), row }
    });
    let text = || hostile.to_owned();
    let step = |index: usize| {
        TranscriptStep::Call(Box::new(CallStep::new(&calls[..index], &calls[index], index == 0, text())))
    };
    let template = TemplateSource { file: text(), text: String::new() };
    Transcript {
        episode: Some(0),
        scenario: text(),
        description: text(),
        agent: text(),
        condition: (&Condition::named(text(), AxisValues::of(Guardrails::ALL, ErrorFormat::Template(template)))).into(),
        trial: 0,
        prompt: text(),
        steps: vec![
            TranscriptStep::Message(text()),
            step(0),
            step(1),
            TranscriptStep::Done(text()),
            TranscriptStep::Answer(text()),
            TranscriptStep::Incomplete(text()),
            TranscriptStep::GiveUp(text()),
            TranscriptStep::Failed(text()),
        ],
        outcome: Outcome::TaskFail,
        calls: 2,
        unmet: vec![text(), text()],
    }
}

/// Returns error texts in which every text is `hostile`, and which are also grouped.
fn error_texts_containing(hostile: &str, mut texts: ErrorTexts) -> ErrorTexts {
    for text in &mut texts.texts {
        text.template = Some(hostile.to_owned());
        text.fields = vec![ErrorField { name: hostile.to_owned(), calls: 1 }];
    }
    texts.by = Some(ErrorAxis::Tool);
    texts.groups = vec![ErrorGroup { name: hostile.to_owned(), counts: texts.totals.clone() }];
    assert!(!texts.texts.is_empty());
    texts
}

/// The outputs of runs with each of these texts.
static OUTPUTS: LazyLock<Vec<(&str, Outputs)>> =
    LazyLock::new(|| HOSTILE.into_iter().map(|hostile| (hostile, outputs(hostile))).collect());

/// All pages of such a run: the report, an episode, a list of episodes, and a comparison.
struct Outputs {
    report: Report,
    pages: [String; 8],
    texts: Vec<String>,
    json: Vec<String>,
}

fn outputs(hostile: &str) -> Outputs {
    let (plan, manifest, records) = run_containing(hostile);
    let (_folder, kept) = run_with(&plan, &records);
    let mut report = summarize(&Rows(&kept), &manifest, Scope::Full).unwrap();
    report.error_texts = report.error_texts.map(|texts| error_texts_containing(hostile, texts));
    let mut transcripts = Transcripts::of(&report);
    let transcript = transcript_containing(hostile);
    let wanted = transcripts.next_batch().unwrap();
    wanted.iter().skip(2).for_each(|episode| transcripts.add(*episode, &transcript));
    wanted.iter().take(2).for_each(|episode| transcripts.add_failure(*episode, hostile));
    let name = format!("runs/{hostile}");
    let page = |served| {
        run(&RunPage { name: &name, manifest: &manifest, report: &report, transcripts: &transcripts, served }).unwrap()
    };

    let mut other = (plan.clone(), manifest.clone());
    other.0.scenarios[2].id = format!("other {hostile}");
    other.1.plan = other.0.clone();
    other.1.healbench = format!("other {hostile}");
    let mut moved = records.clone();
    for row in moved.episodes.iter_mut().filter(|row| row.outcome.is_scored() && row.episode % 3 == 0) {
        row.outcome = if row.outcome == Outcome::Success { Outcome::TaskFail } else { Outcome::Success };
    }
    let (_other_folder, other_kept) = run_with(&other.0, &moved);
    let found = compare(
        Side { name: &name, run: &Rows(&kept), manifest: &manifest },
        Side { name: &name, run: &Rows(&other_kept), manifest: &other.1 },
    )
    .unwrap();
    assert!(!found.flips.is_empty() && !found.unpaired.is_empty() && !found.differs.is_empty());
    let changes = [
        ScenarioChange { id: hostile.to_owned(), texts: Ok([format!("{hostile}\n1"), format!("{hostile}\n2")]) },
        ScenarioChange { id: hostile.to_owned(), texts: Err(hostile.to_owned()) },
    ];
    let compared =
        |addresses| comparison(&ComparisonPage { comparison: &found, addresses, scenario_changes: &changes });

    let found_run = || RunSummary { manifest: manifest.clone(), state: RunState::Ended, outcomes: None };
    let listed = [Ok(found_run()), Ok(found_run()), Err(hostile.to_owned())];
    let listed = listed.map(|found| ListedRun { name: name.clone(), summary: found });

    let filter = EpisodeFilter {
        scenario: hostile.to_owned(),
        error: hostile.to_owned(),
        q: hostile.to_owned(),
        ..EpisodeFilter::default()
    };
    let row = IndexedEpisode { episode: 0, outcome: Outcome::Limit, calls: 2, errors: 1, billed_tokens: None };
    let options = TerminalOptions { width: 100, color: false, detail: Detail::Scenarios, lines: None };
    let matrix_of = report.matrix.as_ref().unwrap();
    let error_texts = report.error_texts.as_ref().unwrap();
    Outputs {
        pages: [
            page(false),
            page(true),
            episode(&EpisodePage {
                name: &name,
                episode: 0,
                plan: &plan,
                versus: &[],
                transcripts: &[transcript.clone(), transcript],
                neighbors: &EpisodeNeighbors { filter: filter.clone(), previous: Some(3), next: None },
            }),
            episodes(&EpisodesPage {
                name: &name,
                plan: &plan,
                filter: &filter,
                found: &FilteredEpisodes { total: 1, rows: vec![row] },
                start: 0,
                page_size: 100,
                all: 40,
                texts_left_out: true,
            }),
            compared(None),
            compared(Some(["a/", "b/"])),
            runs(&name, &listed),
            error_page(hostile, &format!("{hostile}\n{hostile}\n{hostile}\n{hostile}"), Some(hostile)),
        ],
        texts: vec![
            terminal(&report, options),
            markdown(&report),
            csv(&report, false).unwrap(),
            csv(&report, true).unwrap(),
            matrix(matrix_of, 100, false),
            compared_in_words(&found, ComparisonOptions { width: 100, color: false, flips: 10 }),
            errors(error_texts, ErrorOptions { width: 100, color: false, limit: 20 }),
            errors_markdown(error_texts, 20),
            errors_csv(error_texts).unwrap(),
        ],
        json: vec![json(&report).unwrap(), json(&found).unwrap(), json(matrix_of).unwrap()],
        report,
    }
}

/// Returns a report and a comparison, each as a file and as served, an episode, a list of episodes, the list of runs, and an
/// error page.
pub(crate) fn pages(hostile: &str) -> [String; 8] {
    outputs(hostile).pages
}

/// Returns the names of a page's elements and attributes.
fn names(page: &str) -> BTreeSet<String> {
    read(page, |document| {
        let elements = document.descendants().filter(|node| node.is_element());
        elements
            .flat_map(|node| {
                let attributes = node.attributes().map(|attribute| format!("@{}", attribute.name()));
                attributes.chain([node.tag_name().name().to_owned()]).collect::<Vec<_>>()
            })
            .collect()
    })
}

#[test]
fn pages_have_no_markup_but_their_own() {
    let own: Vec<BTreeSet<String>> = outputs("plain words").pages.iter().map(|page| names(page)).collect();
    for (hostile, outputs) in OUTPUTS.iter() {
        for (index, page) in outputs.pages.iter().enumerate() {
            check_plain(&format!("page {index} of {hostile:?}"), page);
            for (tag, most) in [("<script", 1), ("</script", 1), ("<style", 1), ("</style", 1), ("<title", 99)] {
                assert!((1..=most).contains(&page.matches(tag).count()), "{hostile:?}: {tag} in page {index}");
            }
            assert!(!page.contains("<img") && !page.contains("<!--"), "{hostile:?}: page {index}");
            let found = names(page);
            let foreign: Vec<_> = found.difference(&own[index]).collect();
            assert!(foreign.is_empty(), "{hostile:?}: page {index} has {foreign:?}");
        }
    }
}

/// Text stays text: the visible text is the original, with invisible characters made visible.
#[test]
fn pages_show_every_text() {
    for (hostile, outputs) in OUTPUTS.iter().filter(|(hostile, _)| !hostile.is_empty()) {
        let shown = plain_text(hostile);
        let shown: String = shown.split_whitespace().collect::<Vec<_>>().join(" ");
        for (index, page) in outputs.pages.iter().enumerate() {
            let text = read(page, |document| crate::pages::text(document.root()));
            let times = text.matches(&shown).count();
            assert!(times >= 3, "{hostile:?} is {times} times in page {index}: {text}");
        }
    }
}

#[test]
fn other_outputs_have_no_invisible_characters() {
    for (hostile, outputs) in OUTPUTS.iter() {
        for (index, text) in outputs.texts.iter().chain(&outputs.json).enumerate() {
            check_plain(&format!("form {index} of {hostile:?}"), text);
        }
    }
}

#[test]
fn json_keeps_every_text() {
    for (hostile, outputs) in OUTPUTS.iter() {
        let found: Vec<Value> = outputs.json.iter().map(|text| serde_json::from_str(text).unwrap()).collect();
        for (scenario, shown) in outputs.report.scenarios.iter().zip(found[0]["scenarios"].as_array().unwrap()) {
            assert_eq!(shown, scenario);
            assert!(scenario.starts_with(hostile));
        }
        assert_eq!(found[0]["agents"][0]["agent"], format!("scripted:{hostile}0"));
        assert_eq!(found[0]["claims"][0]["claim"]["says"], *hostile);
        assert_eq!(found[1]["base"], format!("runs/{hostile}"));
        assert_eq!(found[2]["rows"][1], format!("template:{hostile}.jinja"));
    }
}

#[test]
fn csv_keeps_its_columns() {
    for (hostile, outputs) in OUTPUTS.iter() {
        for text in &outputs.texts[2..4] {
            let mut reader = ::csv::Reader::from_reader(text.as_bytes());
            let columns = reader.headers().unwrap().len();
            let mut lines = 1;
            for record in reader.records() {
                let record = record.unwrap();
                assert_eq!(record.len(), columns, "{hostile:?}");
                assert!(record[0].ends_with(|c: char| c.is_ascii_digit()) && record[0].contains(&*plain_text(hostile)));
                lines += 1;
            }
            assert!(lines > 6 && text.lines().count() == lines, "{hostile:?}");
        }
    }
}

/// Returns the number of cells in a line of a Markdown table, as GitHub counts them.
fn cells(line: &str) -> usize {
    line.matches('|').count() - line.matches("\\|").count()
}

fn check_markdown(name: &str, text: &str) {
    assert!(text.lines().count() <= 60, "{name}: {} lines", text.lines().count());
    let mut columns = None;
    for line in text.lines() {
        match line.starts_with('|') {
            true => assert_eq!(cells(line), *columns.get_or_insert(cells(line)), "{name}: {line}"),
            false => columns = None,
        }
    }
    let tag = |at: &str| at.starts_with(|c: char| c.is_ascii_alphabetic() || "/!?".contains(c));
    assert!(!text.split('<').skip(1).any(tag), "{name}: {text}");
}

#[test]
fn markdown_keeps_its_tables_and_has_no_markup() {
    let own = outputs("plain words").texts[1].lines().count();
    for (hostile, outputs) in OUTPUTS.iter() {
        let text = &outputs.texts[1];
        check_markdown(hostile, text);
        assert_eq!(text.lines().count(), own, "{hostile:?}: {text}");
        // No hostile text becomes code, a link, a mention or an entity.
        let own_code =
            text.matches("`scripted:`").count() + text.matches("`healbench report RUN --output html=FILE`").count();
        assert_eq!(text.matches('`').count(), 2 * own_code, "{hostile:?}: {text}");
        assert!(!text.contains("](") && !text.contains("@everyone") && !text.contains("&lt;"), "{hostile:?}: {text}");
    }
}

#[test]
fn markdown_has_60_lines_at_most() {
    let formats: Vec<ErrorFormat> = ErrorFormat::named().map(|entry| entry.format.clone()).collect();
    let mut tried = Vec::new();
    for (agents, sets, kinds) in
        [(1, 1, 1), (1, 2, 1), (2, 2, 2), (7, 2, 2), (3, 16, 1), (10, 2, 8), (10, 5, 2), (40, 1, 1), (10, 16, 8)]
    {
        let mut plan = sweep(1, if sets == 2 { vec![0, 15] } else { (0..sets).collect() }, &formats[..kinds]);
        plan.scenarios.truncate(if agents * sets > 100 { 1 } else { 2 });
        plan.agents = (0..agents)
            .map(|index| {
                let mut agent = plan.agents[index % 2].clone();
                agent.name = format!("{} {index}", agent.name);
                agent
            })
            .collect();
        let (_folder, run) = run_with(&plan, &records(&plan));
        let report = summarize(&Rows(&run), &manifest(&plan), Scope::Full).unwrap();
        let text = markdown(&report);
        check_markdown(&format!("{agents} agents, {sets} sets, {kinds} formats"), &text);
        tried.push(text.lines().count());
    }
    assert!(tried.iter().any(|lines| *lines > 50) && tried.iter().any(|lines| *lines < 25), "{tried:?}");
}

#[test]
fn a_line_of_a_mebibyte_leaves_a_page_small_and_a_transcript_in_it() {
    let line = "lorem ipsum ".repeat(90_000);
    assert!(line.len() > 1 << 20);
    let (plan, manifest, records) = run_containing("plain words");
    let (_folder, kept) = run_with(&plan, &records);
    let report = summarize(&Rows(&kept), &manifest, Scope::Full).unwrap();
    let mut transcripts = Transcripts::of(&report);
    // The names of a template and of a condition cannot be this long.
    let condition = (&Condition::new(Guardrails::ALL, ErrorFormat::FusionXml)).into();
    let transcript = Transcript { condition, ..transcript_containing(&line) };
    while let Some(episodes) = transcripts.next_batch() {
        let pair = [report.examples[0].left, report.examples[0].right];
        episodes
            .into_iter()
            .filter(|episode| pair.contains(&Some(*episode)))
            .for_each(|episode| transcripts.add(episode, &transcript));
    }
    let page = RunPage { name: "run", manifest: &manifest, report: &report, transcripts: &transcripts, served: false };
    let page = run(&page).unwrap();
    assert!(page.len() < 200_000, "{} bytes", page.len());
    assert_eq!(page.matches("class=\"transcript\"").count(), 2);
    let shown = read(&page, |document| crate::pages::text(document.root()));
    assert!(shown.matches("more characters").count() > 20, "{shown}");
    // The page of a single episode truncates nothing.
    let whole = episode(&EpisodePage {
        name: "run",
        episode: 0,
        plan: &plan,
        versus: &[],
        transcripts: &[transcript],
        neighbors: &EpisodeNeighbors::default(),
    });
    assert!(!whole.contains("more characters") && whole.matches("lorem").count() > 15 * 90_000);
}
