//! The facts that a text of one level states, independent of the format.

use std::borrow::Cow;

use healbench_core::{Content, detail_texts};
use healbench_text::nearest_name;
use serde_json::Value;

use crate::definition::Severity;
use crate::failure::{Bound, Failure, Issue, IssueKind, Quantity, Routing};
use crate::render::RenderInput;
use crate::render::friendly::{declared_names, issue_items, json, neutral_example, requirements};

/// The facts of one failure. What its level does not hold is empty.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Statement<'a> {
    /// `VALIDATION`, a routing code, or the code of a domain error.
    pub(crate) code: Option<Cow<'a, str>>,
    pub(crate) severity: Option<Severity>,
    pub(crate) message: String,
    /// The invalid fields; empty unless arguments are invalid.
    pub(crate) findings: Vec<Finding<'a>>,
    /// Further facts as name and text.
    pub(crate) details: Vec<(&'a str, String)>,
    pub(crate) advice: Vec<String>,
    /// The actions to choose from, or the tools.
    pub(crate) available: &'a [String],
    /// Seconds.
    pub(crate) retry_after: Option<u32>,
    /// Valid arguments.
    pub(crate) example: Option<&'a Value>,
}

/// The facts about one value.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Finding<'a> {
    /// The names and indices on the way to the value.
    pub(crate) segments: Vec<Value>,
    /// The path, or `(root)`.
    pub(crate) path: Cow<'a, str>,
    /// The keyword of JSON Schema that failed.
    pub(crate) rule: &'a str,
    /// What is wrong with the value, as the rest of a sentence about it.
    pub(crate) problem: Cow<'a, str>,
    /// The value as sent; `None` if it is missing.
    pub(crate) sent: Option<Cow<'a, Value>>,
    /// What the schema requires.
    pub(crate) expected: Option<String>,
}

impl<'a> Statement<'a> {
    /// Returns the facts of a failure at a level.
    pub(crate) fn new(input: &RenderInput<'a>, content: Content) -> Statement<'a> {
        let has_expected = matches!(content, Content::Expected | Content::NextStep | Content::Example);
        let has_advice = matches!(content, Content::NextStep | Content::Example);
        let mut statement = match input.failure {
            Failure::Validation { issues, .. } => validation(input, issues, has_expected),
            Failure::Routing(routing) => routing_statement(routing, has_expected),
            Failure::Tool(failure) | Failure::Fault(failure) => {
                let details = detail_texts(&failure.details).collect();
                Statement {
                    code: failure.code.as_deref().map(Cow::Borrowed),
                    severity: failure.severity,
                    details: if has_expected { details } else { Vec::new() },
                    advice: failure.recovery.clone().into_iter().collect(),
                    available: &failure.available_actions,
                    retry_after: failure.retry_after,
                    ..Statement::of_message(failure.message.clone())
                }
            }
        };
        if has_advice {
            statement.advice.extend(input.deltas.iter().map(|delta| {
                let value = |value: &Option<String>| value.as_deref().unwrap_or("(none)").to_owned();
                format!(
                    "The contract changed: {} was {} and is now {}.",
                    delta.field,
                    value(&delta.previous),
                    value(&delta.current)
                )
            }));
        } else {
            (statement.advice, statement.available, statement.retry_after) = (Vec::new(), &[], None);
        }
        if content == Content::Example
            && let Some(action) = input.action
        {
            statement.example = action.neutral_example.get_or_init(|| neutral_example(action)).as_ref();
        }
        statement
    }

    fn of_message(message: String) -> Statement<'a> {
        Statement {
            code: None,
            severity: None,
            message,
            findings: Vec::new(),
            details: Vec::new(),
            advice: Vec::new(),
            available: &[],
            retry_after: None,
            example: None,
        }
    }

    /// Returns everything but the message and the findings, each fact as a line.
    pub(crate) fn further_facts(&self) -> Vec<Fact> {
        let detail = |(name, text): &(&str, String)| Fact::new([text.clone()], format!("{name}: {text}"));
        let mut facts: Vec<Fact> = self.details.iter().map(detail).collect();
        facts.extend(self.advice.iter().map(|advice| Fact::new([advice.clone()], advice.clone())));
        if !self.available.is_empty() {
            let line = format!("Available {}: {}", self.choices(), self.available.join(", "));
            facts.push(Fact::new(self.available.iter().cloned(), line));
        }
        let wait = |seconds: u32| Fact::new([seconds.to_string()], format!("Retry after {seconds} seconds."));
        facts.extend(self.retry_after.map(wait));
        let example = |text: String| Fact::new([text.clone()], format!("Valid example: {text}"));
        facts.extend(self.example.map(json::inline).map(example));
        facts
    }

    /// Returns the values that were sent and those that are expected.
    pub(crate) fn finding_facts(&self) -> Vec<Fact> {
        let mut facts = Vec::new();
        for finding in &self.findings {
            let fact =
                |about: &str, text: String| Fact::new([text.clone()], format!("{}: {about}: {text}.", finding.path));
            facts.extend(finding.sent.as_ref().map(|sent| fact("You sent", json::inline(sent))));
            facts.extend(finding.expected.clone().map(|expected| fact("Expected", expected)));
        }
        facts
    }

    /// Returns what `available` lists.
    pub(crate) fn choices(&self) -> &'static str {
        if self.code.as_deref() == Some("UNKNOWN_TOOL") { "tools" } else { "actions" }
    }
}

/// One fact of a statement.
#[derive(Debug)]
pub(crate) struct Fact {
    /// The parts that a text with this fact has.
    pub(crate) parts: Vec<String>,
    pub(crate) line: String,
}

impl Fact {
    fn new(parts: impl IntoIterator<Item = String>, line: String) -> Fact {
        Fact { parts: parts.into_iter().collect(), line }
    }
}

impl Finding<'_> {
    /// Returns true if a number, a length or a count is out of bounds.
    pub(crate) fn is_bound(&self) -> bool {
        ["min", "max", "exclusiveM"].iter().any(|prefix| self.rule.starts_with(prefix))
    }

    /// Returns the facts as sentences: `Is too small. You sent: 0. Expected: number; Minimum: 1.`
    pub(crate) fn text(&self) -> String {
        let mut out = self.sentence();
        if let Some(sent) = &self.sent {
            out.push_str(" You sent: ");
            json::push_inline(&mut out, sent);
            out.push('.');
        }
        if let Some(expected) = &self.expected {
            out.push_str(&format!(" Expected: {expected}."));
        }
        out
    }

    /// Returns the problem as a sentence.
    pub(crate) fn sentence(&self) -> String {
        let mut rest = self.problem.chars();
        let first = rest.next().map(char::to_uppercase);
        first.into_iter().flatten().chain(rest).chain(['.']).collect()
    }
}

fn validation<'a>(input: &RenderInput<'a>, issues: &'a [Issue], has_expected: bool) -> Statement<'a> {
    let mut items = issue_items(input, issues).into_iter();
    let mut findings = Vec::new();
    let mut advice: Vec<String> = Vec::new();
    for issue in issues {
        let (rule, problem) = rule_and_problem(&issue.kind);
        let segments = issue.segments(input.arguments).into_iter().map(|segment| segment.to_json());
        let segments: Vec<Value> = segments.collect();
        let names: Vec<Option<&str>> = match &issue.kind {
            IssueKind::Undeclared { fields } => fields.iter().map(|field| Some(field.as_str())).collect(),
            _ => vec![None],
        };
        for (name, item) in names.into_iter().zip(items.by_ref()) {
            let required = match (&issue.kind, name) {
                (_, Some(name)) => nearest_name(name, declared_names(input, issue).iter().map(String::as_str))
                    .map_or_else(
                        || "no such field".to_owned(),
                        |nearest| format!("no such field; the nearest name is '{nearest}'"),
                    ),
                (IssueKind::Other { message, .. }, _) if !issue.is_end_mark() => message.clone(),
                _ => {
                    let mut phrases = requirements(input, issue);
                    if !phrases.iter().any(|phrase| phrase.contains(&item.expected)) {
                        phrases.insert(0, item.expected.clone());
                    }
                    phrases.join("; ")
                }
            };
            if !issue.is_end_mark() {
                advice.push(format!("{}: {}", item.field, item.fix));
            }
            findings.push(Finding {
                segments: segments.iter().cloned().chain(name.map(Value::from)).collect(),
                path: item.field,
                rule,
                problem: problem.into(),
                sent: item.received,
                expected: (has_expected && !issue.is_end_mark()).then_some(required),
            });
        }
    }
    advice.push("Call the tool again.".to_owned());
    let count = findings.len();
    Statement {
        code: Some("VALIDATION".into()),
        findings,
        advice,
        ..Statement::of_message(format!("{count} of the arguments are not valid."))
    }
}

/// Returns the keyword that failed, and the problem without anything that the keyword requires.
fn rule_and_problem(kind: &IssueKind) -> (&str, &'static str) {
    match kind {
        IssueKind::Missing { .. } => ("required", "is missing"),
        IssueKind::WrongType { .. } => ("type", "is of the wrong kind"),
        IssueKind::NotAnOption { .. } => ("enum", "is none of the values allowed"),
        IssueKind::OutOfBounds { measure, relation, .. } => match (measure, relation) {
            (Quantity::Number, Bound::AtLeast) => ("minimum", "is too small"),
            (Quantity::Number, Bound::MoreThan) => ("exclusiveMinimum", "is too small"),
            (Quantity::Number, Bound::AtMost) => ("maximum", "is too large"),
            (Quantity::Number, Bound::LessThan) => ("exclusiveMaximum", "is too large"),
            (Quantity::Characters, Bound::AtLeast | Bound::MoreThan) => ("minLength", "is too short"),
            (Quantity::Characters, _) => ("maxLength", "is too long"),
            (Quantity::Items, Bound::AtLeast | Bound::MoreThan) => ("minItems", "has too few items"),
            (Quantity::Items, _) => ("maxItems", "has too many items"),
            (Quantity::Properties, Bound::AtLeast | Bound::MoreThan) => ("minProperties", "has too few fields"),
            (Quantity::Properties, _) => ("maxProperties", "has too many fields"),
        },
        IssueKind::BadFormat { .. } => ("format", "is not in the required format"),
        IssueKind::BadPattern { .. } => ("pattern", "does not match the required pattern"),
        IssueKind::NotAMultiple { .. } => ("multipleOf", "is not a multiple of the required step"),
        IssueKind::NotUnique => ("uniqueItems", "has equal items"),
        IssueKind::Undeclared { .. } => ("additionalProperties", "is not declared"),
        IssueKind::Other { keyword, .. } if keyword.is_empty() => ("", "may have more problems: checking stopped here"),
        IssueKind::Other { keyword, .. } => (keyword, "breaks this rule"),
    }
}

fn routing_statement(routing: &Routing, has_expected: bool) -> Statement<'_> {
    let (code, message, advice, sent, available) = match routing {
        Routing::MissingDiscriminator { field, available } => (
            "MISSING_DISCRIMINATOR",
            format!("The required field \"{field}\" is missing."),
            format!("Add the \"{field}\" field and call the tool again."),
            None,
            available,
        ),
        Routing::UnknownAction { action, available } => (
            "UNKNOWN_ACTION",
            format!("The action \"{action}\" does not exist."),
            "Choose one of the available actions and call the tool again.".to_owned(),
            Some(action),
            available,
        ),
        Routing::UnknownTool { tool, available } => (
            "UNKNOWN_TOOL",
            format!("The tool \"{tool}\" does not exist."),
            "Choose one of the available tools and call it.".to_owned(),
            Some(tool),
            available,
        ),
    };
    let nearest =
        sent.filter(|_| has_expected).and_then(|sent| nearest_name(sent, available.iter().map(String::as_str)));
    Statement {
        code: Some(code.into()),
        details: nearest.map(|name| ("nearest name", name.to_owned())).into_iter().collect(),
        advice: vec![advice],
        available,
        ..Statement::of_message(message)
    }
}
