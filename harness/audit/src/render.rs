//! The outputs for people and for CI. All text of a server is data: it is escaped for where it is shown.

mod badge;
mod junit;
mod markdown;
mod sarif;
mod terminal;

pub use badge::{badge, svg};
pub use junit::junit;
pub use markdown::markdown;
pub use sarif::{SourceFile, sarif};
pub use terminal::terminal;

use healbench_text::{count, plain_text, pluralize};

use crate::findings::FINDINGS;
use crate::report::{AuditReport, Base, BaseState, Finding, Template, ToolAudit};

/// The templates that the terminal and Markdown show.
const WORST: usize = 3;
/// The most characters of a server's text in a line.
const MAX_LINE: usize = 200;
/// The most characters of a better text, whose end is what it lacks.
const MAX_BETTER: usize = 1_000;
/// The findings of a name with a reason each.
const MAX_REASONS: usize = 20;
/// What stands for an unknown number.
const UNKNOWN: &str = "–";

fn score(score: Option<f64>) -> String {
    score.map_or(UNKNOWN.to_owned(), |score| format!("{score:.1}"))
}

fn share(share: Option<f64>) -> String {
    share.map_or(UNKNOWN.to_owned(), |share| format!("{:.0}%", share * 100.0))
}

/// Returns text of a server in one line, shortened.
fn line(text: &str) -> String {
    shortened(text, MAX_LINE, 0)
}

/// Returns the example of a finding in one line. What a server says last before it ends is often the reason.
fn example_line(example: &str) -> String {
    shortened(example, MAX_LINE, MAX_LINE / 2)
}

/// Returns a text in one line. If it has over `most` characters, its last `kept` characters and its first ones are left.
fn shortened(text: &str, most: usize, kept: usize) -> String {
    let plain = plain_text(text);
    let length = plain.chars().count();
    if length <= most {
        return plain.into_owned();
    }
    let first = plain.chars().take(most - kept);
    first.chain(['…']).chain(plain.chars().skip(length - kept)).collect()
}

/// Returns the server and the revision of MCP.
fn title(report: &AuditReport) -> String {
    let server = &report.server;
    let name = server.name.as_deref().unwrap_or("a server without a name");
    let version = server.version.as_deref().map(|version| format!(" {version}")).unwrap_or_default();
    plain_text(&format!("{name}{version}, MCP {}", server.revision)).into_owned()
}

/// Returns the score and what is behind it.
fn headline(report: &AuditReport) -> String {
    let behind = &report.scored;
    match report.score {
        Some(score) => format!(
            "Score {score:.1} of 100{}: {}, {}, {} of mistakes{}",
            worst_tool(report),
            pluralize(behind.tools as u64, "tool"),
            pluralize(behind.probes as u64, "scored call"),
            pluralize(behind.kinds as u64, "kind"),
            if checks_alone(report) {
                "; of the checks of arguments alone, since no base call was accepted"
            } else {
                ""
            }
        ),
        None => "Score: none, since no call could be scored".to_owned(),
    }
}

/// Returns true if the base call of each scored tool was refused.
fn checks_alone(report: &AuditReport) -> bool {
    let scored = report.tools.iter().filter(|tool| tool.score.is_some());
    scored.filter_map(|tool| tool.base.as_ref()).all(|base| base.text.is_some())
}

/// Returns the tool with the lowest score, if there are several.
fn worst_tool(report: &AuditReport) -> String {
    let scored = report.tools.iter().filter_map(|tool| Some((tool.score?, &tool.name)));
    let worst = scored.min_by(|a, b| a.0.total_cmp(&b.0)).filter(|(worst, _)| Some(*worst) != report.score);
    worst.map_or_else(String::new, |(score, name)| format!(" (worst tool: {}, {score:.1})", plain_text(name)))
}

/// Returns how many calls had the refusal of their base call, if any.
fn reached(report: &AuditReport) -> Option<String> {
    let environment = report.environment.as_ref()?;
    let others = match environment.other_reasons {
        0 => String::new(),
        others => format!(" (1 of {} reasons)", count(others as u64 + 1)),
    };
    let calls = pluralize(environment.calls as u64, "call");
    let reason = line(&environment.reason);
    Some(match environment.reached {
        0 => format!("0 of {calls} reached a tool: {reason}{others}"),
        reached => format!(
            "{} of {calls} had the refusal of their base call, which says nothing about the mistake: {reason}{others}",
            count((environment.calls - reached) as u64)
        ),
    })
}

/// Returns what the texts of the errors let a reader do; `None` if there is no error that a reader can repair.
fn answer(report: &AuditReport) -> Option<String> {
    let answer = Some(&report.answer).filter(|answer| answer.errors > 0)?;
    let server = report.server.name.as_deref().unwrap_or("The server");
    let worst = answer
        .worst
        .as_ref()
        .map(|worst| format!(" Repaired least: {} ({} of {}).", worst.tool, worst.repaired, worst.errors));
    let text = format!(
        "{server}'s texts let the simulated reader perfect fix {} of errors ({} of {}).{}",
        share(Some(answer.repaired as f64 / answer.errors as f64)),
        answer.repaired,
        answer.errors,
        worst.unwrap_or_default()
    );
    Some(plain_text(&text).into_owned())
}

/// Returns a sentence about the tools that were audited and those that were not.
fn coverage(report: &AuditReport) -> String {
    let counts = &report.counts;
    let mut parts =
        vec![format!("{} of {} audited", count(counts.audited as u64), pluralize(counts.tools as u64, "tool"))];
    for (tools, why) in [
        (counts.not_read_only, "not known to be read-only"),
        (counts.not_asked_for, "not asked for"),
        (counts.too_many, "beyond the limit"),
        (counts.base_refused, "audited although the base call was refused"),
    ] {
        if tools > 0 {
            parts.push(format!("{} {why}", count(tools as u64)));
        }
    }
    parts.join("; ")
}

/// Returns what became of the base call of a tool.
fn base_state(base: Option<&Base>) -> &'static str {
    match base.map(|base| base.state) {
        None => "none",
        Some(BaseState::Accepted) => "accepted",
        Some(BaseState::Volatile) => "volatile",
        Some(BaseState::Refused) => "refused",
        Some(BaseState::RefusedSoftly) => "refused softly",
        Some(BaseState::Slow) => "slow",
        Some(BaseState::Died) => "died",
        Some(BaseState::Asks) => "asks",
        Some(BaseState::TaskOnly) => "task only",
    }
}

/// The heads and the rows of the table of tools.
fn tool_rows(report: &AuditReport) -> (Vec<&'static str>, Vec<Vec<String>>) {
    let row = |tool: &ToolAudit| {
        let refused = tool.probes.iter().filter(|probe| probe.answer.is_refusal()).count();
        vec![
            plain_text(&tool.name).into_owned(),
            score(tool.score),
            tool.probes.len().to_string(),
            tool.probes.iter().filter(|probe| probe.points.is_some()).count().to_string(),
            refused.to_string(),
            base_state(tool.base.as_ref()).to_owned(),
        ]
    };
    (vec!["tool", "score", "calls", "scored", "refused", "base call"], report.tools.iter().map(row).collect())
}

/// The heads and the rows of the table of kinds.
fn kind_rows(report: &AuditReport) -> (Vec<&'static str>, Vec<Vec<String>>) {
    let rows = report.kinds.iter().map(|kind| {
        vec![
            kind.kind.entry().name.to_owned(),
            score(kind.score),
            kind.probes.to_string(),
            kind.scored.to_string(),
            kind.refused.to_string(),
            share(kind.field),
            share(kind.remedy),
            share(kind.repaired),
        ]
    });
    (vec!["mistake", "score", "calls", "scored", "refused", "names field", "states remedy", "repaired"], rows.collect())
}

/// Returns the worst of the templates that lack something with the sentence above them; `None` if none does.
fn worst(report: &AuditReport) -> Option<(String, &[Template])> {
    let all = pluralize(report.templates.len() as u64, "text");
    let is_lacking = |template: &&Template| template.score.is_some_and(|score| score < 100.0);
    let lacking = report.templates.iter().take_while(is_lacking).count();
    let shown = report.templates.get(..lacking.min(WORST)).filter(|shown| !shown.is_empty())?;
    let sentence = match lacking {
        1 => format!("1 of {all} of refusals lacks something"),
        _ if lacking <= WORST => format!("{lacking} of {all} of refusals lack something, the worst first"),
        _ => format!("{} of {all} of refusals lack something. The worst {WORST}", count(lacking as u64)),
    };
    Some((format!("What to change: {sentence}"), shown))
}

/// Returns the wrong calls that are accepted, in a sentence that says what to change; `None` without any.
fn accepted(report: &AuditReport) -> Option<String> {
    let found: Vec<&Finding> = report.findings.iter().filter(|finding| finding.id == "accepts-wrong").collect();
    let first = found.first()?;
    let calls: usize = found.iter().map(|finding| finding.count).sum();
    let tool = first.tool.as_deref().map(|tool| format!("{}, ", plain_text(tool))).unwrap_or_default();
    let example = first.example.rsplit_once(" → ").map_or(&*first.example, |(call, _)| call);
    let are = if calls == 1 { "is" } else { "are" };
    let calls = pluralize(calls as u64, "wrong call");
    Some(format!("What to refuse: {calls} {are} accepted, such as {tool}{}", example_line(example)))
}

/// Returns how many base calls are refused with an error that is sent as a success; `None` for none.
fn softly_refused(report: &AuditReport) -> Option<String> {
    let bases = report.tools.iter().filter_map(|tool| tool.base.as_ref());
    let softly = bases.filter(|base| base.state == BaseState::RefusedSoftly).count();
    (softly > 0).then(|| {
        let tools = pluralize(report.counts.audited as u64, "tool");
        format!(
            "What to flag: {} of {tools} answered the base call with an error that was sent as a success",
            count(softly as u64)
        )
    })
}

/// Returns what a template is: its score, its number of calls, its maker, and what it lacks.
fn template_line(template: &Template) -> String {
    let mut out = format!("{}, {}", score(template.score), pluralize(template.probes as u64, "call"));
    out.push_str(&match &template.sdk {
        Some(sdk) => format!(", a text of the {sdk}"),
        None => ", the server's own text".to_owned(),
    });
    if !template.lacks.is_empty() {
        out.push_str(&format!("; lacks {}", template.lacks.join(", ")));
    }
    out
}

/// Returns the format that is shown beside a text.
/// Returns a better text than a template's example, with its tokens and what it is.
fn better(template: &Template) -> Option<(u32, String, &str)> {
    let format = || template.formats.iter().find(|format| format.format == "fusion-xml").or(template.formats.first());
    let own = template.better.as_ref();
    own.map(|better| (better.tokens, "with what it lacks".to_owned(), better.text.as_str()))
        .or_else(|| format().map(|format| (format.tokens, format!("as {}", format.format), format.text.as_str())))
}

/// Returns the findings that have the same name, in their order.
fn by_finding(report: &AuditReport) -> Vec<(&'static str, Vec<&Finding>)> {
    let of = |id: &str| report.findings.iter().filter(|finding| finding.id == id).collect::<Vec<_>>();
    FINDINGS.iter().map(|entry| (entry.id, of(entry.id))).filter(|(_, found)| !found.is_empty()).collect()
}

/// Returns the examples of findings that have the same name: the first, or those of all tools where each has its own reason.
fn examples(found: &[&Finding]) -> Vec<String> {
    let has_reasons = |finding: &&&Finding| matches!(finding.id.as_str(), "schema-broken" | "output-schema-broken");
    let reasons = found.iter().filter(has_reasons).take(MAX_REASONS);
    let of_tool = |finding: &&Finding| {
        let tool = finding.tool.as_deref().map(plain_text).unwrap_or_default();
        format!("{tool}: {}", example_line(&finding.example))
    };
    match found {
        [first] => vec![example_line(&first.example)],
        _ => {
            let reasons: Vec<String> = reasons.map(of_tool).collect();
            if reasons.is_empty() {
                found.iter().take(1).map(|one| example_line(&one.example)).collect()
            } else {
                reasons
            }
        }
    }
}

/// Returns the sentence of a finding.
fn sentence(id: &str) -> &'static str {
    FINDINGS.iter().find(|entry| entry.id == id).map_or("", |entry| entry.sentence)
}
