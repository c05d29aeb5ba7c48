use healbench_text::xml_text;
use quick_junit::{NonSuccessKind, Report, TestCase, TestCaseStatus, TestSuite};

use super::{difference, example_command, format_change, means, subject};
use healbench_analysis::gate::{GateReport, GateRow, Subject, Tier, Verdict};

/// The largest number of changed scenarios listed per test case.
const CHANGES: usize = 50;

/// Formats the report as JUnit XML: one test suite per subject, one test case per row. Only critical rows with FAIL or
/// MISSING are failures; other rows that do not pass are skipped, and so are those whose cause has failed another row of the subject. There are no times or ids, so the output is
/// reproducible.
pub fn junit(report: &GateReport) -> String {
    let mut xml = Report::new(xml_text(&title(report)));
    for (row_subject, rows) in by_subject(report) {
        let mut suite = TestSuite::new(xml_text(&subject(row_subject)));
        suite.add_test_cases(rows.into_iter().map(|row| case(report, row)));
        xml.add_test_suite(suite);
    }
    xml.to_string().expect("writing to memory does not fail")
}

fn title(report: &GateReport) -> String {
    match &report.base {
        Some(base) => format!("healbench gate: {} against {base}", report.candidate),
        None => format!("healbench gate: {}", report.candidate),
    }
}

/// Groups the rows by subject, in the order of each subject's first row.
fn by_subject(report: &GateReport) -> Vec<(&Subject, Vec<&GateRow>)> {
    let mut suites: Vec<(&Subject, Vec<&GateRow>)> = Vec::new();
    for row in &report.rows {
        match suites.iter_mut().find(|(row_subject, _)| **row_subject == row.subject) {
            Some((_, rows)) => rows.push(row),
            None => suites.push((&row.subject, vec![row])),
        }
    }
    suites
}

fn case(report: &GateReport, row: &GateRow) -> TestCase {
    let mut case = TestCase::new(xml_text(&row.metric), status(report, row));
    case.set_classname(xml_text(&subject(&row.subject)));
    case
}

fn status(report: &GateReport, row: &GateRow) -> TestCaseStatus {
    let mut status = match (row.verdict, row.tier) {
        (Verdict::Pass, _) => return TestCaseStatus::success(),
        _ if stands_elsewhere(report, row) => TestCaseStatus::skipped(),
        (_, Tier::Advisory) | (Verdict::Inconclusive, _) => TestCaseStatus::skipped(),
        (Verdict::Fail, Tier::Critical) => TestCaseStatus::non_success(NonSuccessKind::Failure),
        (Verdict::Missing, Tier::Critical) => TestCaseStatus::non_success(NonSuccessKind::Error),
    };
    let head = row.cause.and_then(|index| report.rows.get(index));
    let one_cause = head.map(|head| format!("of one cause with {} · {}; ", subject(&head.subject), head.metric));
    let one_cause = one_cause.unwrap_or_default();
    let tier = if row.tier == Tier::Advisory { "advisory: " } else { "" };
    status.set_message(xml_text(&format!("{tier}{one_cause}{}", row.reason))).set_type(row.verdict.name());
    let text = description(report, row);
    if !text.is_empty() {
        status.set_description(text.join("\n"));
    }
    status
}

/// Returns true if a row of the same subject has failed for the same cause.
fn stands_elsewhere(report: &GateReport, row: &GateRow) -> bool {
    let Some(head) = row.cause else { return false };
    let is_earlier = |other: &GateRow| other.cause == Some(head) && other.subject == row.subject;
    let first = report.rows.iter().find(|other| is_earlier(other));
    report.rows[head].subject == row.subject || first.is_some_and(|first| !std::ptr::eq(first, row))
}

/// Returns lines with the numbers, the changed scenarios, and the command that shows one of them.
fn description(report: &GateReport, row: &GateRow) -> Vec<String> {
    let mut lines: Vec<String> = [means(row), difference(row)].into_iter().filter(|text| !text.is_empty()).collect();
    for change in row.changes.iter().take(CHANGES) {
        lines.push(format!("{}  {}", change.scenario, format_change(row, change)).trim_end().to_owned());
    }
    if row.changes.len() > CHANGES {
        lines.push(format!("and {} more", row.changes.len() - CHANGES));
    }
    lines.extend(example_command(report, row));
    lines.iter().map(|line| xml_text(line)).collect()
}
