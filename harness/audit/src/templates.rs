//! Texts that are equal but for names, values and numbers.

use std::collections::BTreeMap;

use healbench_core::{
    CallResult, Deadline, EnvironmentError, ErrorFormat, Guardrails, Reply, ReplyOutcome, Session, ToolCall, ToolSpec,
};
use healbench_engine::{Engine, Faults, ForeignSettings};
use healbench_text::secrets;
use healbench_tokens::count_tokens;
use serde_json::Value;

use crate::base::OVERSIZE_TOKENS;
use crate::better::better;
use crate::places::{get, leaves};
use crate::report::{AnswerKind, FormatText, Probe, Template, ToolAudit};
use crate::score::mean;

/// The characters of a template.
const MAX_CHARACTERS: usize = 600;

/// The beginnings and parts of texts that SDKs make, and the SDK.
const SDKS: [(&str, &str); 5] = [
    ("Invalid arguments for tool", "TypeScript SDK"),
    ("Input validation error: ", "Python SDK"),
    ("[type=", "Python SDK (pydantic)"),
    ("Invalid input for tool", "Python SDK (pydantic)"),
    ("failed to deserialize parameters", "Rust SDK"),
];
/// What these texts repeat of a call beside its values: the beginning, and the end.
const REPEATED: [(&str, &str); 2] = [("input_value=", ", input_type="), ("validation errors for ", "\n")];

/// The words of texts for a value that was not sent.
const ABSENT: [&str; 5] = ["undefined", "null", "None", "nil", "NaN"];

/// Returns the SDK that makes a text.
fn sdk(text: &str) -> Option<&'static str> {
    SDKS.iter().find(|(part, _)| text.contains(part)).map(|(_, sdk)| *sdk)
}

/// Returns a text with the tool, the field, what was sent, and numbers replaced.
fn masked(text: &str, tool: &str, probe: &Probe) -> String {
    let mut out = text.replace("1 validation error for ", "1 validation errors for ");
    for (start, end) in REPEATED {
        out = masked_between(&out, start, end);
    }
    let path: Vec<String> = probe.path.split('.').map(str::to_owned).collect();
    let mut values = Vec::new();
    leaves(&probe.arguments, &mut values);
    let mut values: Vec<&str> = values.into_iter().filter_map(Value::as_str).collect();
    // The longest first: one may contain another.
    values.sort_by_key(|value| std::cmp::Reverse(value.len()));
    for value in values.iter().filter(|value| value.len() > 2) {
        out = out.replace(*value, "‹value›");
    }
    let mut fields: Vec<&str> = path.iter().map(String::as_str).filter(|name| name.parse::<u64>().is_err()).collect();
    let misspelled = get(&probe.arguments, &path).is_none().then(|| probe.arguments.as_object()).flatten();
    fields.extend(misspelled.into_iter().flatten().map(|(name, _)| name.as_str()));
    words(&out, |word, is_key| match word {
        _ if is_key => None,
        _ if word == tool => Some("‹tool›"),
        _ if word == probe.path || fields.contains(&word) => Some("‹field›"),
        // In every text, whether sent or not: what varies from call to call may be any of these.
        _ if ABSENT.contains(&word) || word.parse::<f64>().is_ok() => Some("‹value›"),
        _ => None,
    })
}

/// Replaces all that is between two parts of a text.
fn masked_between(text: &str, start: &str, end: &str) -> String {
    let mut out = String::new();
    let mut rest = text;
    while let Some(at) = rest.find(start).map(|at| at + start.len()) {
        let Some(length) = rest[at..].find(end) else { break };
        out.push_str(&rest[..at]);
        out.push_str("‹value›");
        rest = &rest[at + length..];
    }
    out + rest
}

/// Replaces words of a text. A word that is the key of a JSON object is told apart.
fn words(text: &str, replace: impl Fn(&str, bool) -> Option<&'static str>) -> String {
    let is_part = |c: char| c.is_alphanumeric() || matches!(c, '_' | '.' | '-');
    let mut out = String::new();
    let mut rest = text;
    while let Some(start) = rest.find(is_part) {
        out.push_str(&rest[..start]);
        rest = &rest[start..];
        let end = rest.find(|c| !is_part(c)).unwrap_or(rest.len());
        // A full stop after a word ends a sentence.
        let word = rest[..end].trim_end_matches(['.', '-']);
        let end = if word.is_empty() { end } else { word.len() };
        let (word, after) = (&rest[..end], &rest[end..]);
        let is_key = after.strip_prefix('"').is_some_and(|after| after.trim_start().starts_with(':'));
        out.push_str(replace(word, is_key).unwrap_or(word));
        rest = after;
    }
    out.push_str(rest);
    out
}

/// Groups the texts of all probes, sets the index of each probe, and returns the templates, the worst first.
pub(crate) fn group(tools: &mut [ToolAudit], specs: &[ToolSpec]) -> Vec<Template> {
    // By masked text: the probes, as tool and index.
    let mut groups: BTreeMap<String, Vec<(usize, usize)>> = BTreeMap::new();
    for (tool_index, tool) in tools.iter().enumerate() {
        for (index, probe) in tool.probes.iter().enumerate() {
            let is_text = probe.answer.is_refusal() || probe.answer == AnswerKind::SoftError;
            if let Some(text) = probe.text.as_ref().filter(|_| is_text) {
                // Nobody would know a secret in it again.
                let text = secrets().mask(text);
                let mut template: String = masked(&text, &tool.name, probe).chars().take(MAX_CHARACTERS).collect();
                template.truncate(template.trim_end().len());
                groups.entry(template).or_default().push((tool_index, index));
            }
        }
    }
    let mut templates: Vec<(Template, Vec<(usize, usize)>)> =
        groups.into_iter().map(|(text, members)| (template(text, &members, tools, specs), members)).collect();
    let rank = |template: &Template| (template.score.is_none(), template.score.unwrap_or(0.0));
    templates.sort_by(|(a, _), (b, _)| {
        let (a_rank, b_rank) = (rank(a), rank(b));
        a_rank
            .0
            .cmp(&b_rank.0)
            .then(a_rank.1.total_cmp(&b_rank.1))
            .then(b.probes.cmp(&a.probes))
            .then(a.text.cmp(&b.text))
    });
    for (index, (_, members)) in templates.iter().enumerate() {
        for (tool, probe) in members {
            tools[*tool].probes[*probe].template = Some(index);
        }
    }
    templates.into_iter().map(|(template, _)| template).collect()
}

fn template(text: String, members: &[(usize, usize)], tools: &[ToolAudit], specs: &[ToolSpec]) -> Template {
    let probes: Vec<&Probe> = members.iter().map(|(tool, probe)| &tools[*tool].probes[*probe]).collect();
    // The one that lacks most, of equal ones the first.
    let points = |at: &usize| probes[*at].points.unwrap_or(f64::INFINITY);
    let worst = (0..probes.len()).min_by(|a, b| points(a).total_cmp(&points(b))).unwrap_or(0);
    let (first, tool) = (probes[worst], &tools[members[worst].0]);
    let example = first.text.clone().unwrap_or_default();
    let lacks = |part: fn(&Probe) -> Option<bool>, name: &str| {
        let judged: Vec<bool> =
            probes.iter().filter(|probe| probe.points.is_some()).filter_map(|probe| part(probe)).collect();
        let lacking = judged.iter().filter(|holds| !**holds).count();
        (lacking > 0).then(|| match lacking == judged.len() {
            true => name.to_owned(),
            false => format!("{name} ({lacking} of {})", judged.len()),
        })
    };
    let spec = specs.iter().find(|spec| spec.name == tool.name);
    let formats = spec.map_or_else(Vec::new, |spec| in_formats(spec, &first.arguments, &example));
    let lacks: Vec<String> = [
        (first.answer == AnswerKind::SoftError).then(|| "that it is an error".to_owned()),
        lacks(|probe| probe.field, "the field"),
        lacks(|probe| probe.remedy, "what would be right"),
        lacks(|probe| probe.repaired, "a way to the right call"),
    ]
    .into_iter()
    .flatten()
    .collect();
    let fusion_text = formats.iter().find(|format| format.format == "fusion-text").map_or("", |format| &format.text);
    let base = tool.base.as_ref().filter(|_| !lacks.is_empty());
    Template {
        sdk: sdk(&example).map(str::to_owned),
        probes: probes.len(),
        score: mean(probes.iter().filter_map(|probe| probe.points)),
        lacks,
        better: base.and_then(|base| better(first, base, specs, &tool.name, fusion_text)),
        tool: tool.name.clone(),
        arguments: first.arguments.clone(),
        tokens: count_tokens(&example),
        formats,
        example,
        text,
    }
}

/// A session that gives a known answer.
struct Known(CallResult);

impl Session for Known {
    fn call<'s>(&'s mut self, _: &ToolCall, _: Deadline) -> Result<Reply<'s>, EnvironmentError> {
        Ok(Reply { outcome: ReplyOutcome::Foreign(self.0.clone()), state_changed: None, struck: false })
    }

    fn check(&mut self, _: Deadline) -> Result<Vec<bool>, EnvironmentError> {
        Ok(Vec::new())
    }
}

/// Returns the failure of a call in each built-in format: what the guardrails say of its arguments, or else the server's text.
fn in_formats(spec: &ToolSpec, arguments: &Value, text: &str) -> Vec<FormatText> {
    let guardrails = Guardrails { strict: true, healing: true, ..Guardrails::default() };
    let settings = ForeignSettings { max_tokens: OVERSIZE_TOKENS, count_tokens };
    let call = ToolCall::new(&spec.name, arguments.clone());
    let mut session = Known(CallResult {
        content: vec![healbench_core::ContentBlock::Text(text.to_owned())],
        is_error: true,
        ..CallResult::default()
    });
    ErrorFormat::named()
        .filter_map(|entry| {
            let engine = Engine::for_server(std::slice::from_ref(spec), guardrails, &entry.format, settings).ok()?;
            let reply = engine.answer(&mut session, &mut Faults::none(), &call, Deadline::NONE).ok()?;
            let text = reply.response.text().into_owned();
            Some(FormatText { format: entry.format.name().into_owned(), tokens: count_tokens(&text), text })
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_replaced_whole_and_keys_are_kept() {
        let replaced = words("path: 3.5 of \"path\": [\"path\"], my_path. 7.", |word, is_key| match word {
            "path" if !is_key => Some("F"),
            word if word.parse::<f64>().is_ok() => Some("N"),
            _ => None,
        });
        assert_eq!(replaced, "F: N of \"path\": [\"F\"], my_path. N.");
    }
}
