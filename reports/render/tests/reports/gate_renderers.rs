use std::collections::BTreeMap;

use healbench_analysis::gate::{
    ChangeEffect, GateReport, GateRow, Margin, Method, ScenarioChange, SourceLocation, Subject, Tier, Verdict,
};
use healbench_analysis::statistics::Interval;
use healbench_core::{AgentId, Guardrails, Opening, ToolsMode};
use healbench_render::gate::{github, junit};
use roxmltree::{Document, Node};

pub(crate) fn cell(agent: &str) -> Subject {
    cell_of(AgentId { name: agent.to_owned(), opening: None, tools: None })
}

fn cell_of(agent: AgentId) -> Subject {
    Subject::Cell { agent, guardrails: Guardrails::ALL, format: "fusion-xml".to_owned(), condition: None }
}

pub(crate) fn variants(pair: &str) -> Subject {
    Subject::Variants { pair: pair.to_owned() }
}

/// Returns a critical row without numbers.
pub(crate) fn row(subject: Subject, metric: &str, verdict: Verdict, method: Method, reason: &str) -> GateRow {
    GateRow {
        subject,
        metric: metric.to_owned(),
        tier: Tier::Critical,
        verdict,
        method,
        base: None,
        candidate: None,
        difference: None,
        other_scenarios: None,
        interval: None,
        confidence: None,
        margin: None,
        pairs: None,
        needed_pairs: None,
        unseen_scenarios: 0,
        changes: Vec::new(),
        cause: None,
        unlike: None,
        reason: reason.to_owned(),
    }
}

pub(crate) fn with(row: GateRow, base: f64, candidate: f64, bounds: Option<(f64, f64)>) -> GateRow {
    GateRow {
        base: Some(base),
        candidate: Some(candidate),
        difference: Some(candidate - base),
        interval: bounds.map(|(lower, upper)| Interval { lower, upper }),
        confidence: bounds.map(|_| 0.9),
        margin: bounds.map(|_| Margin::Points(0.05)),
        ..row
    }
}

/// Scenario, base, candidate and trial of a change.
type Changed<'a> = (&'a str, Option<f64>, Option<f64>, Option<u32>);

pub(crate) fn changed(row: GateRow, changes: &[Changed<'_>]) -> GateRow {
    let change = |(scenario, base, candidate, trial): &Changed<'_>| ScenarioChange {
        scenario: (*scenario).to_owned(),
        base: *base,
        candidate: *candidate,
        trial: *trial,
        worse_trials: 0,
        effect: match base.zip(*candidate) {
            Some((base, candidate)) if candidate > base => ChangeEffect::Worse,
            Some((base, candidate)) if candidate < base => ChangeEffect::Better,
            _ => ChangeEffect::Neutral,
        },
    };
    GateRow { changes: changes.iter().map(change).collect(), ..row }
}

pub(crate) fn advisory(row: GateRow) -> GateRow {
    GateRow { tier: Tier::Advisory, ..row }
}

pub(crate) fn report(verdict: Verdict, rows: Vec<GateRow>) -> GateReport {
    let mut counts = BTreeMap::new();
    for row in &rows {
        *counts.entry(row.verdict.name()).or_default() += 1;
    }
    GateReport {
        base: Some("baselines/ci.txt".to_owned()),
        candidate: "runs/new".to_owned(),
        candidate_run: "runs/new".to_owned(),
        policy: None,
        verdict,
        run_apart: None,
        counts,
        rows,
        texts: Vec::new(),
        locations: BTreeMap::new(),
    }
}

/// A report with every verdict, both tiers, deterministic, stochastic and perf rows, and changes in a file, in a
/// built-in suite and without a location.
pub(crate) fn sample() -> GateReport {
    use Verdict::{Fail, Inconclusive, Missing, Pass};
    let scripted = || cell("scripted:typical");
    let model = || {
        let name = "openai:gpt-5-mini".to_owned();
        cell_of(AgentId { name, opening: Some(Opening::Seeded), tools: Some(ToolsMode::Prompt) })
    };
    let deterministic = |metric, verdict, reason| row(scripted(), metric, verdict, Method::Exact, reason);
    let stochastic = |metric, verdict, method, reason| row(model(), metric, verdict, method, reason);
    let run = Subject::Run { run: "runs/new".to_owned() };
    let rows = vec![
        row(run, "infra", Pass, Method::Presence, "0 of 360 episodes were lost"),
        row(cell("scripted:gives-up"), "cell", Missing, Method::Presence, "the candidate has no such cell"),
        deterministic("success", Pass, "the same in every scenario"),
        changed(
            with(deterministic("tokens", Fail, "changed in 2 of 3 scenarios, for the worse"), 4_512.0, 8_573.5, None),
            &[("refund-order", Some(8_123.0), Some(16_246.0), None), ("ship-late", Some(901.0), Some(900.0), Some(2))],
        ),
        advisory(changed(
            with(deterministic("calls", Fail, "changed in 1 of 3 scenarios, for the worse"), 3.0, 3.1, None),
            &[("refund-order", Some(9.0), Some(10.0), None)],
        )),
        changed(
            deterministic("rows", Fail, "rows of 1 of 3 scenarios differ where no sum does"),
            &[("find-user", None, None, None)],
        ),
        with(
            stochastic("success", Pass, Method::Tango, "lower by 5 points or more is ruled out"),
            0.9,
            0.91,
            Some((-0.02, 0.04)),
        ),
        changed(
            with(
                stochastic(
                    "false_success",
                    Inconclusive,
                    Method::Tango,
                    "higher by 5 points or more is neither shown nor ruled out; about 410 pairs would settle it",
                ),
                0.04,
                0.07,
                Some((-0.01, 0.08)),
            ),
            &[("refund-order", Some(1.0), Some(2.0), Some(3)), ("only-live", Some(0.0), Some(1.0), Some(1))],
        ),
        advisory(stochastic("tokens", Missing, Method::Bootstrap, "the number is not known on both sides")),
        with(
            row(variants("direct/identity"), "time", Pass, Method::SignTest, "at most 1% slower than direct"),
            1.0,
            1.001,
            Some((-0.002, 0.003)),
        ),
        row(variants("direct/direct"), "time", Inconclusive, Method::SignTest, "100 rounds; at least 501 decide"),
    ];
    let place = |path: &str, line| SourceLocation { path: path.to_owned(), line };
    let mut report = report(Fail, rows);
    report.locations = BTreeMap::from([
        ("refund-order".to_owned(), place(r".\suites\100%, all:in\refund.yaml", 7)),
        ("ship-late".to_owned(), place("./suites/ship.yaml", 3)),
        ("find-user".to_owned(), place("built-in:quickstart/find-user.yaml", 2)),
    ]);
    report
}

/// Names that would break the markup if they were not escaped.
pub(crate) const HOSTILE: [&str; 6] = [
    "]]></failure>",
    "<x a=\"1\">&amp;'",
    "\u{1b}[31mred\0\u{8}\u{9b}",
    "🦀 |a|`b`\\|*c*_d_[e](https://f)~~g~~$h$",
    "@octocat #1\n::error::x\r\n\r\n# head",
    "</summary><script>\n```\n| x |",
];

/// Returns a report with these names in every place where a name can be.
pub(crate) fn hostile(names: &[&str]) -> GateReport {
    let rows = names.iter().map(|name| {
        let row = row(cell(name), name, Verdict::Fail, Method::Exact, name);
        changed(row, &[(*name, Some(1.0), Some(2.0), None)])
    });
    let mut report = report(Verdict::Fail, rows.collect());
    report.base = Some(names.concat());
    report.candidate = names.concat();
    report.candidate_run = names.concat();
    report.policy = Some(names.concat());
    report.locations =
        names.iter().map(|name| ((*name).to_owned(), SourceLocation { path: (*name).to_owned(), line: 1 })).collect();
    report
}

pub(crate) fn elements<'a>(document: &'a Document<'_>, name: &str) -> Vec<Node<'a, 'a>> {
    document.descendants().filter(|node| node.has_tag_name(name)).collect()
}

#[test]
fn junit_has_a_suite_a_subject_and_a_case_a_row() {
    insta::assert_snapshot!(junit(&sample()), @r#"
    <?xml version="1.0" encoding="UTF-8"?>
    <testsuites name="healbench gate: runs/new against baselines/ci.txt" tests="11" skipped="4" failures="2" errors="1">
        <testsuite name="runs/new" tests="1" skipped="0" errors="0" failures="0">
            <testcase name="infra" classname="runs/new"/>
        </testsuite>
        <testsuite name="scripted:gives-up · all fusion-xml" tests="1" skipped="0" errors="1" failures="0">
            <testcase name="cell" classname="scripted:gives-up · all fusion-xml">
                <error message="the candidate has no such cell" type="MISSING"/>
            </testcase>
        </testsuite>
        <testsuite name="scripted:typical · all fusion-xml" tests="4" skipped="1" errors="0" failures="2">
            <testcase name="success" classname="scripted:typical · all fusion-xml"/>
            <testcase name="tokens" classname="scripted:typical · all fusion-xml">
                <failure message="changed in 2 of 3 scenarios, for the worse" type="FAIL">4,512 → 8,574
    refund-order  8,123 → 16,246
    ship-late  901 → 900
    healbench show runs/new --scenario ship-late --agent scripted:typical --guardrails all --format fusion-xml --trial 2</failure>
            </testcase>
            <testcase name="calls" classname="scripted:typical · all fusion-xml">
                <skipped message="advisory: changed in 1 of 3 scenarios, for the worse" type="FAIL">3.0 → 3.1
    refund-order  9 → 10
    healbench show runs/new --scenario refund-order --agent scripted:typical --guardrails all --format fusion-xml --trial 0</skipped>
            </testcase>
            <testcase name="rows" classname="scripted:typical · all fusion-xml">
                <failure message="rows of 1 of 3 scenarios differ where no sum does" type="FAIL">find-user
    healbench show runs/new --scenario find-user --agent scripted:typical --guardrails all --format fusion-xml --trial 0</failure>
            </testcase>
        </testsuite>
        <testsuite name="openai:gpt-5-mini · seeded · prompt · all fusion-xml" tests="3" skipped="2" errors="0" failures="0">
            <testcase name="success" classname="openai:gpt-5-mini · seeded · prompt · all fusion-xml"/>
            <testcase name="false_success" classname="openai:gpt-5-mini · seeded · prompt · all fusion-xml">
                <skipped message="higher by 5 points or more is neither shown nor ruled out; about 410 pairs would settle it" type="INCONCLUSIVE">4% → 7%
    +3 points, 90% [-1, 8]
    refund-order  1 → 2
    only-live  0 → 1
    healbench show runs/new --scenario refund-order --agent openai:gpt-5-mini --opening seeded --guardrails all --format fusion-xml --trial 3</skipped>
            </testcase>
            <testcase name="tokens" classname="openai:gpt-5-mini · seeded · prompt · all fusion-xml">
                <skipped message="advisory: the number is not known on both sides" type="MISSING"/>
            </testcase>
        </testsuite>
        <testsuite name="direct/identity" tests="1" skipped="0" errors="0" failures="0">
            <testcase name="time" classname="direct/identity"/>
        </testsuite>
        <testsuite name="direct/direct" tests="1" skipped="1" errors="0" failures="0">
            <testcase name="time" classname="direct/direct">
                <skipped message="100 rounds; at least 501 decide" type="INCONCLUSIVE"/>
            </testcase>
        </testsuite>
    </testsuites>
    "#);
}

#[test]
fn junit_fails_for_what_decides_alone() {
    let decided = |verdict, tier| {
        let row = GateRow { tier, ..row(cell("scripted:typical"), "calls", verdict, Method::Exact, "why") };
        let xml = junit(&report(verdict, vec![row]));
        let document = Document::parse(&xml).unwrap();
        let counts = ["tests", "failures", "errors", "skipped"];
        let root = counts.map(|count| document.root_element().attribute(count).unwrap().to_owned());
        let suite = counts.map(|count| elements(&document, "testsuite")[0].attribute(count).unwrap().to_owned());
        assert_eq!(root, suite);
        let case = elements(&document, "testcase")[0];
        let result = case
            .first_element_child()
            .map(|node| format!("{} {:?}", node.tag_name().name(), node.attribute("message")));
        format!("{} {}", root.join(" "), result.unwrap_or_default())
    };
    use Tier::{Advisory, Critical};
    let table = [
        (Verdict::Pass, Critical, "1 0 0 0 "),
        (Verdict::Fail, Critical, "1 1 0 0 failure Some(\"why\")"),
        (Verdict::Missing, Critical, "1 0 1 0 error Some(\"why\")"),
        (Verdict::Inconclusive, Critical, "1 0 0 1 skipped Some(\"why\")"),
        (Verdict::Pass, Advisory, "1 0 0 0 "),
        (Verdict::Fail, Advisory, "1 0 0 1 skipped Some(\"advisory: why\")"),
        (Verdict::Missing, Advisory, "1 0 0 1 skipped Some(\"advisory: why\")"),
        (Verdict::Inconclusive, Advisory, "1 0 0 1 skipped Some(\"advisory: why\")"),
    ];
    for (verdict, tier, expected) in table {
        assert_eq!(decided(verdict, tier), expected, "{verdict:?} {tier:?}");
    }
}

#[test]
fn junit_is_well_formed_whatever_the_names() {
    // The last name has two characters that XML does not allow.
    let names = [&HOSTILE[..], &["\u{fffe}\u{ffff}"]].concat();
    let xml = junit(&hostile(&names));
    let document = Document::parse(&xml).unwrap();
    let shown = [
        "]]></failure>",
        "<x a=\"1\">&amp;'",
        r"\u{1b}[31mred\u{0}\u{8}\u{9b}",
        HOSTILE[3],
        r"@octocat #1\n::error::x\r\n\r\n# head",
        r"</summary><script>\n```\n| x |",
        r"\u{fffe}\u{ffff}",
    ];
    let suites = elements(&document, "testsuite");
    assert_eq!(suites.len(), shown.len());
    for (suite, shown) in suites.iter().zip(shown) {
        let subject = format!("{shown} · all fusion-xml");
        assert_eq!(suite.attribute("name"), Some(subject.as_str()));
        let case = suite.first_element_child().unwrap();
        assert_eq!((case.attribute("name"), case.attribute("classname")), (Some(shown), Some(subject.as_str())));
        let failure = case.first_element_child().unwrap();
        assert_eq!(failure.attribute("message"), Some(shown));
        assert_eq!(failure.text().unwrap().lines().next().unwrap(), format!("{shown}  1 → 2"));
    }
    let timed = |node: Node<'_, '_>| node.attributes().any(|at| ["time", "timestamp", "uuid"].contains(&at.name()));
    assert!(!document.descendants().any(timed));
}

#[test]
fn github_annotates_scenarios_where_they_are_written_down() {
    insta::assert_snapshot!(github(&sample()), @"
    ::notice title=healbench::FAIL: 3 fail, 2 missing, 2 inconclusive, 4 pass · runs/new · worse: tokens 4,512 → 8,574 in refund-order
    ::error file=suites/100%25%2C all%3Ain/refund.yaml,line=7,title=FAIL%3A refund-order::tokens 8,123 → 16,246 (sums over trials) in scripted:typical · all fusion-xml%0AINCONCLUSIVE: false_success 1 → 2 (trials in which it holds) in openai:gpt-5-mini · seeded · prompt · all fusion-xml (higher by 5 points or more is neither shown nor ruled out; about 410 pairs would settle it)%0AFAIL (advisory): calls 9 → 10 (sums over trials) in scripted:typical · all fusion-xml%0Ahealbench show runs/new --scenario refund-order --agent scripted:typical --guardrails all --format fusion-xml --trial 0
    ::error title=FAIL%3A find-user::rows changed in scripted:typical · all fusion-xml%0Ahealbench show runs/new --scenario find-user --agent scripted:typical --guardrails all --format fusion-xml --trial 0
    ::error title=MISSING%3A scripted%3Agives-up · all fusion-xml · cell::the candidate has no such cell
    ::warning title=INCONCLUSIVE%3A only-live::false_success 0 → 1 (trials in which it holds) in openai:gpt-5-mini · seeded · prompt · all fusion-xml (higher by 5 points or more is neither shown nor ruled out; about 410 pairs would settle it)%0Ahealbench show runs/new --scenario only-live --agent openai:gpt-5-mini --opening seeded --guardrails all --format fusion-xml --trial 1
    ::warning title=INCONCLUSIVE%3A direct/direct · time::100 rounds; at least 501 decide
    ::warning title=MISSING (advisory)%3A openai%3Agpt-5-mini · seeded · prompt · all fusion-xml · tokens::the number is not known on both sides
    ");
}

#[test]
fn github_reports_a_pass() {
    let rows = (0..130).map(|_| row(cell("scripted:typical"), "calls", Verdict::Pass, Method::Exact, "the same"));
    insta::assert_snapshot!(github(&report(Verdict::Pass, rows.collect())), @"::notice title=healbench::PASS: 130 pass · runs/new");
}

#[test]
fn github_gets_no_more_than_it_shows() {
    let rows = |count: usize, tier: Tier| -> Vec<GateRow> {
        let row = |index: usize| {
            let row = row(cell("scripted:typical"), "calls", Verdict::Fail, Method::Exact, "changed");
            GateRow { tier, ..changed(row, &[(&format!("{tier:?}-{index}"), Some(1.0), Some(2.0), None)]) }
        };
        (0..count).map(row).collect()
    };
    for (count, shown, last) in [(10, 10, None), (11, 10, Some(2)), (5_000, 10, Some(4_991))] {
        let both = [rows(count, Tier::Advisory), rows(count, Tier::Critical)].concat();
        let text = github(&report(Verdict::Fail, both));
        for level in ["error", "warning"] {
            let lines: Vec<&str> = text.lines().filter(|line| line.starts_with(&format!("::{level} "))).collect();
            assert_eq!(lines.len(), shown, "{count} {level}s");
            let more = last
                .map(|more| format!("::{level} title=healbench::and {more} more {level}s: `--output json` has all"));
            assert_eq!(lines.last().copied().filter(|line| line.contains("title=healbench:")), more.as_deref());
        }
        assert_eq!(text.lines().count(), 1 + 2 * shown);
    }
}

#[test]
fn github_shows_a_handful_of_rows_of_a_scenario() {
    let rows = (0..8).map(|index| {
        let row = row(cell(&format!("scripted:{index}")), "calls", Verdict::Fail, Method::Exact, "changed");
        changed(row, &[("refund-order", Some(1.0), Some(2.0), None)])
    });
    insta::assert_snapshot!(github(&report(Verdict::Fail, rows.collect())), @"
    ::notice title=healbench::FAIL: 8 fail · runs/new
    ::error title=FAIL%3A refund-order::calls 1 → 2 (sums over trials) in scripted:0 · all fusion-xml%0Acalls 1 → 2 (sums over trials) in scripted:1 · all fusion-xml%0Acalls 1 → 2 (sums over trials) in scripted:2 · all fusion-xml%0Acalls 1 → 2 (sums over trials) in scripted:3 · all fusion-xml%0Acalls 1 → 2 (sums over trials) in scripted:4 · all fusion-xml%0Aand 3 more%0Ahealbench show runs/new --scenario refund-order --agent scripted:0 --guardrails all --format fusion-xml --trial 0
    ");
}

#[test]
fn github_takes_no_command_from_a_name() {
    let text = github(&hostile(&HOSTILE));
    assert_eq!(text.lines().count(), 1 + HOSTILE.len());
    for line in text.lines() {
        assert!(!line.contains(|c: char| c.is_control()), "{line:?}");
        // Parses the line as the GitHub runner does: the command ends at the next `::`, properties at commas, their
        // names at `=`.
        let (command, message) = line.strip_prefix("::").unwrap().split_once("::").unwrap();
        let (name, properties) = command.split_once(' ').unwrap();
        let names: Vec<&str> = properties.split(',').map(|property| property.split('=').next().unwrap()).collect();
        let expected: &[&str] = if name == "notice" { &["title"] } else { &["file", "line", "title"] };
        assert_eq!(names, expected, "{line}");
        assert!(!message.is_empty());
    }
    insta::assert_snapshot!(text.lines().nth(5).unwrap(), @r#"::error file=@octocat #1/n%3A%3Aerror%3A%3Ax/r/n/r/n# head,line=1,title=FAIL%3A @octocat #1\n%3A%3Aerror%3A%3Ax\r\n\r\n# head::@octocat #1\n::error::x\r\n\r\n# head 1 → 2 in @octocat #1\n::error::x\r\n\r\n# head · all fusion-xml%0Ahealbench show ']]></failure><x a="1">&amp;'\''\u{1b}[31mred\u{0}\u{8}\u{9b}🦀 |a|`b`\|*c*_d_[e](https://f)~~g~~$h$@octocat #1\n::error::x\r\n\r\n# head</summary><script>\n```\n| x |' --scenario '@octocat #1\n::error::x\r\n\r\n# head' --agent '@octocat #1\n::error::x\r\n\r\n# head' --guardrails all --format fusion-xml --trial 0"#);
}
