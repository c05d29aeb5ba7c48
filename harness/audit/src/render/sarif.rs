//! The Static Analysis Results Interchange Format, version 2.1.0, as far as code scanning of GitHub reads it.

use std::collections::{BTreeMap, BTreeSet};

use healbench_text::{plain_text, pluralize};
use serde_json::{Value, json};
use sha2::{Digest as _, Sha256};

use super::{MAX_BETTER, better, example_line, line, score, sentence, shortened};
use crate::findings::FINDINGS;
use crate::report::{AnswerKind, AuditReport, Finding, Probe, Severity, Template};

/// The results that GitHub shows of a run.
const MAX_RESULTS: usize = 5_000;
/// The places of a result that GitHub keeps.
const MAX_TOOLS: usize = 100;
/// The path for results of a server without a file. GitHub rejects a result without a path.
const NO_FILE: &str = "tools.json";
/// The rule for texts that say all that is looked for, and that the reader cannot use.
const NO_REPAIR: (&str, &str) = ("no-repair", "the reader does not arrive at the right call by the text of a refusal");
/// The findings that are told text by text.
const OF_TEXTS: [&str; 3] = ["soft-error", "no-field", "no-remedy"];

/// The file in which results are shown.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SourceFile {
    /// The path relative to the root of the repository, with `/` between its parts.
    pub path: String,
    /// The text, in which the names of tools are looked up.
    pub text: String,
}

/// Formats an audit as SARIF, with a result for each text of a refusal that lacks something, and one for each other finding.
///
/// A result is in the first line of `file` that names its tool. Its fingerprint does not depend on the line.
pub fn sarif(report: &AuditReport, file: Option<&SourceFile>) -> Value {
    let probes = probes_by_template(report);
    let texts = report.templates.iter().enumerate().filter_map(|(index, template)| {
        let probes = probes.get(&index)?;
        Some(text_result(rule_of(probes)?, template, probes, file))
    });
    let others = report.findings.iter().filter(|finding| !OF_TEXTS.contains(&finding.id.as_str()));
    let mut results: Vec<Value> = texts.chain(others.map(|finding| finding_result(finding, file))).collect();
    // The most severe first, since those after the last are lost.
    let rank = |result: &Value| ["error", "warning"].iter().position(|level| result["level"] == **level).unwrap_or(2);
    results.sort_by_key(rank);
    number(&mut results);
    let lost = results.len().saturating_sub(MAX_RESULTS);
    results.truncate(MAX_RESULTS);
    let notes = report.notes.iter().map(|note| message(&[line(note)]));
    let lost = (lost > 0).then(|| message(&[format!("{} left out", pluralize(lost as u64, "result"))]));
    let notifications: Vec<Value> = notes.chain(lost).map(|text| json!({"level": "note", "message": text})).collect();
    json!({
        "$schema": "https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/schemas/sarif-schema-2.1.0.json",
        "version": "2.1.0",
        "runs": [{
            "tool": {"driver": {
                "name": "healbench audit",
                "semanticVersion": env!("CARGO_PKG_VERSION"),
                "rules": rules(),
            }},
            "automationDetails": {"id": format!("healbench/{}/", category(report))},
            "columnKind": "unicodeCodePoints",
            // Without a score nothing is known of the texts, and an empty list of results does not say that they are good.
            "invocations": [{"executionSuccessful": report.score.is_some(), "toolExecutionNotifications": notifications}],
            "results": results,
            "properties": {"score": report.score, "format": report.format},
        }],
    })
}

/// Returns the probes that were answered with each template, and their tools.
fn probes_by_template(report: &AuditReport) -> BTreeMap<usize, Vec<(&str, &Probe)>> {
    let mut by_template: BTreeMap<usize, Vec<(&str, &Probe)>> = BTreeMap::new();
    for tool in &report.tools {
        for probe in &tool.probes {
            if let Some(template) = probe.template {
                by_template.entry(template).or_default().push((&tool.name, probe));
            }
        }
    }
    by_template
}

/// Returns the rule that a text breaks, the most severe one; `None` if it lacks nothing.
fn rule_of(probes: &[(&str, &Probe)]) -> Option<&'static str> {
    if probes.iter().any(|(_, probe)| probe.answer == AnswerKind::SoftError) {
        return Some("soft-error");
    }
    let lacks = |part: fn(&Probe) -> Option<bool>| {
        probes.iter().any(|(_, probe)| probe.points.is_some() && part(probe) == Some(false))
    };
    if lacks(|probe| probe.remedy) {
        Some("no-remedy")
    } else if lacks(|probe| probe.field) {
        Some("no-field")
    } else {
        lacks(|probe| probe.repaired).then_some(NO_REPAIR.0)
    }
}

fn text_result(rule: &str, template: &Template, probes: &[(&str, &Probe)], file: Option<&SourceFile>) -> Value {
    let maker = match &template.sdk {
        Some(sdk) => format!("a text of the {sdk}"),
        None => "the server's own text".to_owned(),
    };
    let mut lines = vec![
        format!("{}: the text of an error lacks {}.", line(&template.tool), template.lacks.join(", ")),
        format!("{}, score {}, {maker}.", pluralize(template.probes as u64, "call"), score(template.score)),
        format!("Sent: {}", line(&template.arguments.to_string())),
        format!("Answer ({} tokens): {}", template.tokens, line(&template.example)),
    ];
    if let Some((tokens, what, text)) = better(template) {
        lines.push(format!("Better ({tokens} tokens, {what}): {}", shortened(text, MAX_BETTER, MAX_BETTER / 2)));
    }
    let mut tools = vec![template.tool.as_str()];
    let mut seen = BTreeSet::from([template.tool.as_str()]);
    tools.extend(probes.iter().map(|(tool, _)| *tool).filter(|tool| seen.insert(*tool)));
    let mut result = result(rule, &lines, &tools, file, &template.text);
    result["properties"] = json!({"score": template.score, "calls": template.probes, "tokens": template.tokens});
    result
}

fn finding_result(finding: &Finding, file: Option<&SourceFile>) -> Value {
    let subject = finding.tool.as_deref().unwrap_or("server");
    let lines = [
        format!("{}: {}.", line(subject), sentence(&finding.id)),
        format!("{}, as in: {}", pluralize(finding.count as u64, "call"), example_line(&finding.example)),
    ];
    let tools: Vec<&str> = finding.tool.as_deref().into_iter().collect();
    result(&finding.id, &lines, &tools, file, subject)
}

/// Returns a result about tools, of which the first one gives the line. `identity` is what is equal in later runs.
fn result(rule: &str, lines: &[String], tools: &[&str], file: Option<&SourceFile>, identity: &str) -> Value {
    let index = rule_list().position(|(id, ..)| id == rule);
    let level = rule_list().find(|(id, ..)| *id == rule).map_or("note", |(_, severity, _)| level(severity));
    let path = file.map_or_else(|| NO_FILE.to_owned(), |file| uri(&file.path));
    let (start, from, to) = file.and_then(|file| place(&file.text, tools.first()?)).unwrap_or((1, 1, 1));
    let tools = tools.iter().take(MAX_TOOLS).map(|tool| plain_text(tool));
    let tools: Vec<Value> =
        tools.map(|tool| json!({"name": tool, "fullyQualifiedName": tool, "kind": "function"})).collect();
    let hash = Sha256::digest(format!("{rule}\0{identity}"));
    let hash: String = hash.iter().take(8).map(|byte| format!("{byte:02x}")).collect();
    json!({
        "ruleId": rule,
        "ruleIndex": index,
        "level": level,
        "message": message(lines),
        "locations": [{
            "physicalLocation": {
                "artifactLocation": {"uri": path},
                "region": {"startLine": start, "startColumn": from, "endLine": start, "endColumn": to},
            },
            "logicalLocations": tools,
        }],
        "partialFingerprints": {"primaryLocationLineHash": hash},
    })
}

/// Tells results with equal fingerprints apart by their number.
fn number(results: &mut [Value]) {
    let mut seen = BTreeMap::new();
    for result in results {
        let fingerprint = &mut result["partialFingerprints"]["primaryLocationLineHash"];
        let number = seen.entry(fingerprint.to_string()).or_insert(0);
        *number += 1;
        *fingerprint = format!("{}:{number}", fingerprint.as_str().unwrap_or_default()).into();
    }
}

/// The rules with their severities and sentences, the same for every server.
fn rule_list() -> impl Iterator<Item = (&'static str, Severity, &'static str)> {
    let findings = FINDINGS.iter().map(|entry| (entry.id, entry.severity, entry.sentence));
    findings.chain([(NO_REPAIR.0, Severity::Warning, NO_REPAIR.1)])
}

fn rules() -> Vec<Value> {
    let rule = |(id, severity, sentence): (&str, Severity, &str)| {
        let shown = match severity {
            Severity::Info => "recommendation",
            _ => severity.name(),
        };
        json!({
            "id": id,
            "name": id,
            "shortDescription": {"text": escaped(sentence)},
            "fullDescription": {"text": escaped(sentence)},
            "help": {"text": format!("docs/audit.md of healbench describes the finding `{id}`.")},
            "defaultConfiguration": {"level": level(severity)},
            "properties": {"tags": ["mcp", "errors"], "precision": "high", "problem.severity": shown},
        })
    };
    rule_list().map(rule).collect()
}

fn level(severity: Severity) -> &'static str {
    match severity {
        Severity::Error => "error",
        Severity::Warning => "warning",
        Severity::Info => "note",
    }
}

fn message(lines: &[String]) -> Value {
    let escaped: Vec<String> = lines.iter().map(|line| escaped(line)).collect();
    json!({"text": escaped.join("\n")})
}

/// Escapes text in which a brace begins a placeholder, and `[text](address)` is a link.
fn escaped(text: &str) -> String {
    plain_text(text).replace('{', "{{").replace('}', "}}").replace("](", "] (")
}

/// Returns the category of the results: those of several servers in a repository are told apart by it.
fn category(report: &AuditReport) -> String {
    let name = report.server.name.as_deref().unwrap_or("server");
    name.chars().take(100).map(|c| if c.is_alphanumeric() || matches!(c, '.' | '-' | '_') { c } else { '-' }).collect()
}

/// Returns a relative path as a URI.
fn uri(path: &str) -> String {
    let mut encoded = String::new();
    for byte in path.bytes() {
        match byte {
            b'/' | b'.' | b'-' | b'_' | b'~' => encoded.push(char::from(byte)),
            byte if byte.is_ascii_alphanumeric() => encoded.push(char::from(byte)),
            byte => encoded.push_str(&format!("%{byte:02X}")),
        }
    }
    encoded
}

/// Returns the first place of a name in a text: the line, and the columns of its first character and of the one after it.
/// A place in quotation marks comes before others.
fn place(text: &str, name: &str) -> Option<(usize, usize, usize)> {
    let is_part = |c: char| c.is_alphanumeric() || matches!(c, '_' | '-' | '.');
    let is_quote = |c: char| matches!(c, '"' | '\'' | '`');
    let mut found = None;
    for (number, line) in text.lines().enumerate() {
        for (at, _) in line.match_indices(name).filter(|(_, name)| !name.is_empty()) {
            let (before, after) = (line[..at].chars().next_back(), line[at + name.len()..].chars().next());
            if before.is_some_and(is_part) || after.is_some_and(is_part) {
                continue;
            }
            let column = line[..at].chars().count() + 1;
            let place = (number + 1, column, column + name.chars().count());
            if before.is_some_and(is_quote) && after.is_some_and(is_quote) {
                return Some(place);
            }
            found = found.or(Some(place));
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_tool_is_found_in_the_text_of_its_server() {
        let text = "// get_tickets, get_ticket\nconst é = { name: \"get_ticket\" };\n";
        assert_eq!(place(text, "get_ticket"), Some((2, 20, 30)));
        assert_eq!(place(text, "get_tickets"), Some((1, 4, 15)));
        assert_eq!((place(text, "ticket"), place(text, "")), (None, None));
    }

    #[test]
    fn texts_of_a_server_are_no_links_and_no_placeholders() {
        assert_eq!(escaped("[a](b) {0}\u{1b}"), "[a] (b) {{0}}\\u{{1b}}");
        assert_eq!(uri("a b/é#?.js"), "a%20b/%C3%A9%23%3F.js");
    }
}
