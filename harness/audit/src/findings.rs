//! What a maintainer would want to know.

use crate::base::OVERSIZE_TOKENS;
use crate::kinds::ProbeKind;
use crate::report::{AnswerKind, Base, BaseState, Finding, Probe, Severity, ToolAudit};

/// An entry of [`FINDINGS`].
#[derive(Debug)]
pub struct FindingEntry {
    /// The name in outputs.
    pub id: &'static str,
    /// How severe it is.
    pub severity: Severity,
    pub sentence: &'static str,
    shows: Shows,
}

/// How a finding shows.
#[derive(Debug)]
enum Shows {
    Probe(fn(&Probe) -> bool),
    Base(fn(&Base) -> bool),
    /// In the schema, or in the annotations.
    Elsewhere,
}

fn is_scored(probe: &Probe) -> bool {
    probe.points.is_some()
}

fn is_accepted(probe: &Probe) -> bool {
    matches!(probe.answer, AnswerKind::AcceptedSame | AnswerKind::AcceptedOther)
}

fn is_soft(base: &Base) -> bool {
    base.state == BaseState::RefusedSoftly
}

/// All findings, in the order of outputs.
pub const FINDINGS: [FindingEntry; 28] = [
    probe_entry("accepts-wrong", Severity::Error, "a wrong call is accepted", |probe| {
        is_scored(probe) && is_accepted(probe)
    }),
    probe_entry("soft-error", Severity::Error, "an error is sent as a success", |probe| {
        probe.answer == AnswerKind::SoftError
    }),
    probe_entry("hangs", Severity::Error, "a wrong call is not answered in time", |probe| {
        is_scored(probe) && probe.answer == AnswerKind::Slow
    }),
    probe_entry("dies", Severity::Error, "a wrong call ends the server", |probe| probe.answer == AnswerKind::Died),
    other_entry("base-dies", Severity::Error, "a call that should be right ends the server"),
    other_entry("base-hangs", Severity::Error, "a call that should be right is not answered in time"),
    FindingEntry {
        id: "base-soft-error",
        severity: Severity::Error,
        sentence: "the base call is refused with an error that is sent as a success",
        shows: Shows::Base(is_soft),
    },
    other_entry("schema-broken", Severity::Error, "the input schema cannot be used"),
    other_entry(
        "output-schema-broken",
        Severity::Error,
        "the output schema cannot be used: clients refuse the whole list of tools, or each answer",
    ),
    other_entry(
        "output-schema",
        Severity::Error,
        "structured content does not fit the output schema, or is missing: clients show neither it nor the text",
    ),
    probe_entry(
        "ignores-misspelled-optional",
        Severity::Warning,
        "an optional field with a misspelled name is ignored",
        |probe| probe.kind == ProbeKind::MisspelledOptional && !is_scored(probe) && is_accepted(probe),
    ),
    probe_entry(
        "no-such-accepted",
        Severity::Warning,
        "a name of nothing that exists is accepted, which is right for a search or a new name only",
        |probe| probe.kind == ProbeKind::NoSuch && is_accepted(probe),
    ),
    probe_entry("no-field", Severity::Warning, "the text of a refusal does not name the field", |probe| {
        is_scored(probe) && probe.answer.is_refusal() && probe.field == Some(false)
    }),
    probe_entry(
        "no-remedy",
        Severity::Warning,
        "the reader found nothing in the text of a refusal that says what would be right",
        |probe| is_scored(probe) && probe.answer.is_refusal() && probe.remedy == Some(false),
    ),
    probe_entry("stack-trace", Severity::Warning, "the text of a refusal has a stack trace of the server", |probe| {
        probe.answer.is_refusal() && probe.text.as_deref().is_some_and(has_stack_trace)
    }),
    probe_entry(
        "protocol-error-for-arguments",
        Severity::Warning,
        "wrong arguments are answered with a JSON-RPC error, which clients may not show to their models",
        |probe| is_scored(probe) && probe.answer == AnswerKind::ProtocolError,
    ),
    other_entry(
        "no-text",
        Severity::Warning,
        "an error has no text block, or a success structured content alone: some clients show text blocks only",
    ),
    other_entry(
        "structured-error",
        Severity::Warning,
        "an error has structured content, which some clients show in place of its text",
    ),
    other_entry(
        "output-draft",
        Severity::Warning,
        "the output schema names a draft that clients with JSON Schema 2020-12 alone refuse",
    ),
    other_entry("client-limits", Severity::Warning, "clients or providers refuse or change the tool"),
    other_entry("oversize", Severity::Warning, "a success has over 10,000 tokens, and does not say how to get less"),
    FindingEntry {
        id: "base-refused",
        severity: Severity::Warning,
        sentence: "the base call is refused: if its values are wrong, give an example in the calls file or in the schema's `examples`",
        shows: Shows::Base(|base| base.state == BaseState::Refused),
    },
    other_entry(
        "base-mended",
        Severity::Info,
        "a call that fits the schema was refused, and accepted after it was changed as the text said: the server wants more than its schema requires",
    ),
    probe_entry("coerces", Severity::Info, "a text is taken for the number or boolean that it holds", |probe| {
        probe.kind == ProbeKind::Coercible && is_accepted(probe)
    }),
    probe_entry("ignores-undeclared", Severity::Info, "a field that does not exist is ignored", |probe| {
        probe.kind == ProbeKind::Undeclared && !is_scored(probe) && is_accepted(probe)
    }),
    probe_entry("warns", Severity::Info, "a success says what of the call was left aside", |probe| {
        probe.answer == AnswerKind::Warned
    }),
    probe_entry("null-is-absent", Severity::Info, "null is taken for an optional field that is absent", |probe| {
        probe.kind == ProbeKind::Null && probe.invalid && !is_scored(probe) && is_accepted(probe)
    }),
    other_entry(
        "undeclared-hints",
        Severity::Info,
        "the tool does not say whether it is read-only (`annotations.readOnlyHint`)",
    ),
];

const fn other_entry(id: &'static str, severity: Severity, sentence: &'static str) -> FindingEntry {
    FindingEntry { id, severity, sentence, shows: Shows::Elsewhere }
}

const fn probe_entry(
    id: &'static str,
    severity: Severity,
    sentence: &'static str,
    shows: fn(&Probe) -> bool,
) -> FindingEntry {
    FindingEntry { id, severity, sentence, shows: Shows::Probe(shows) }
}

/// Returns the finding with this name, of which only the tool and the example are known.
pub(crate) fn of_tool(id: &str, tool: &str, example: String) -> Finding {
    let severity = FINDINGS.iter().find(|entry| entry.id == id).map_or(Severity::Info, |entry| entry.severity);
    Finding { id: id.to_owned(), severity, tool: Some(tool.to_owned()), count: 1, example }
}

/// Returns the findings that show in the probes and the base call of a tool.
pub(crate) fn of_probes(tool: &ToolAudit) -> Vec<Finding> {
    let mut found = Vec::new();
    for entry in &FINDINGS {
        let (count, example) = match entry.shows {
            Shows::Probe(shows) => {
                let shown: Vec<&Probe> = tool.probes.iter().filter(|probe| shows(probe)).collect();
                (shown.len(), shown.first().map(|probe| in_words(probe)))
            }
            Shows::Base(shows) => {
                let base = tool.base.as_ref().filter(|base| shows(base));
                let example = base.map(|base| format!("{}: {}", base.arguments, base.text.as_deref().unwrap_or("")));
                (usize::from(example.is_some()), example)
            }
            Shows::Elsewhere => (0, None),
        };
        if let Some(example) = example {
            let tool = Some(tool.name.clone());
            found.push(Finding { id: entry.id.to_owned(), severity: entry.severity, tool, count, example });
        }
    }
    found
}

/// Returns true for the lines of a stack trace: of JavaScript, .NET and Java, Python, Go and Rust.
fn has_stack_trace(text: &str) -> bool {
    let is_frame = |line: &str| {
        let line = line.trim();
        // `at f (/a.js:3:9)`, `at /a.js:3:9`, `at A.B(C d)`
        let is_place = |rest: &str| {
            let place = rest.trim_end_matches(')');
            let number = place.rsplit(':').next().unwrap_or_default();
            place.contains(['/', '\\'])
                && number.len() < place.len()
                && number.bytes().all(|byte| byte.is_ascii_digit())
        };
        let is_call = |rest: &str| {
            let name = rest.split_once('(').filter(|_| rest.ends_with(')')).map(|(name, _)| name.trim_end());
            name.is_some_and(|name| name.contains('.') && !name.contains(' '))
        };
        line.strip_prefix("at ").is_some_and(|rest| is_place(rest) || is_call(rest))
            || line.starts_with("File \"") && line.contains("\", line ")
    };
    ["Traceback (most recent call last)", "\ngoroutine ", "stack backtrace:"].iter().any(|head| text.contains(head))
        || text.lines().filter(|line| is_frame(line)).count() > 1
}

/// Returns true if a success is too large.
pub(crate) fn is_oversize(tokens: u32) -> bool {
    tokens > OVERSIZE_TOKENS
}

fn in_words(probe: &Probe) -> String {
    let place = if probe.path.is_empty() { String::new() } else { format!(" {}", probe.path) };
    let said = match &probe.text {
        Some(text) if !probe.answer.is_refusal() => format!(": {text}"),
        _ => String::new(),
    };
    format!("{}{place}: {} → {}{said}", probe.kind.entry().name, probe.arguments, probe.answer.name())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn stack_traces_are_seen_in_texts() {
        for text in [
            "Error: x\n    at Server.call (/a/server.js:3:5)\n    at node:internal/main:2:1",
            "Error: x\n    at /a/server.js:3:5\n    at async call (C:\\a\\b.js:4:5)",
            "System.InvalidOperationException : x\n   at A.B(C d)\n   at E.F()",
            "Traceback (most recent call last):\n  File \"a.py\", line 3, in f",
        ] {
            assert!(has_stack_trace(text), "{text}");
        }
        for text in [
            "Taken\nat 10:30 by Ann\nat 11:30 by Bo",
            "at items.0: expected number\nat items.1: expected number",
            "days: expected a number\n  at days",
        ] {
            assert!(!has_stack_trace(text), "{text}");
        }
    }
}
