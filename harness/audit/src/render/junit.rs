use healbench_text::xml_text;
use quick_junit::{NonSuccessKind, Report, TestCase, TestCaseStatus, TestSuite};

use super::{example_line, score, sentence, title};
use crate::baseline::Change;
use crate::report::Severity;
use crate::report::{AuditReport, ToolAudit};

/// Formats an audit as JUnit XML: a test suite for each tool, with a test case for its score and one for each finding, and a
/// suite for the server. A finding of the severity "error" is a failure, and so is what became worse since the baseline; other
/// findings are skipped. There are no times or ids, so the output is reproducible.
pub fn junit(report: &AuditReport, changes: Option<&[Change]>) -> String {
    let mut xml = Report::new(xml_text(&format!("healbench audit: {}", title(report))));
    let mut server = TestSuite::new("server");
    server.add_test_case(case("server", "score", scored(report.score)));
    server.add_test_cases(changes.into_iter().flatten().map(|change| {
        let status = if change.is_worse { failure("changed", &change.text) } else { TestCaseStatus::success() };
        case("server", &format!("since the baseline: {}", change.text), status)
    }));
    server.add_test_cases(findings(report, None));
    xml.add_test_suite(server);
    for tool in &report.tools {
        xml.add_test_suite(suite(report, tool));
    }
    xml.to_string().expect("writing to memory does not fail")
}

fn suite(report: &AuditReport, tool: &ToolAudit) -> TestSuite {
    let mut suite = TestSuite::new(xml_text(&tool.name));
    suite.add_test_case(case(&tool.name, "score", scored(tool.score)));
    suite.add_test_cases(findings(report, Some(&tool.name)));
    suite
}

fn scored(value: Option<f64>) -> TestCaseStatus {
    match value {
        Some(_) => TestCaseStatus::success(),
        None => {
            let mut status = TestCaseStatus::skipped();
            status.set_message(format!("score: {}", score(value)));
            status
        }
    }
}

/// Returns the findings of a tool, or of a server and of tools that were not audited.
fn findings(report: &AuditReport, tool: Option<&str>) -> Vec<TestCase> {
    let is_audited = |name: Option<&str>| report.tools.iter().any(|tool| Some(tool.name.as_str()) == name);
    let is_here = |name: Option<&str>| if tool.is_some() { name == tool } else { !is_audited(name) };
    let found = report.findings.iter().filter(|finding| is_here(finding.tool.as_deref()));
    let to_case = |finding: &crate::report::Finding| {
        let message = format!("{} ({}): {}", sentence(&finding.id), finding.count, example_line(&finding.example));
        let status = match finding.severity {
            Severity::Error => failure(&finding.id, &message),
            Severity::Warning | Severity::Info => {
                let mut status = TestCaseStatus::skipped();
                status.set_message(xml_text(&message)).set_type(finding.severity.name());
                status
            }
        };
        case(finding.tool.as_deref().unwrap_or("server"), &finding.id, status)
    };
    found.map(to_case).collect()
}

fn failure(kind: &str, message: &str) -> TestCaseStatus {
    let mut status = TestCaseStatus::non_success(NonSuccessKind::Failure);
    status.set_message(xml_text(message)).set_type(xml_text(kind));
    status
}

fn case(class: &str, name: &str, status: TestCaseStatus) -> TestCase {
    let mut case = TestCase::new(xml_text(name), status);
    case.set_classname(xml_text(class));
    case
}
