//! A server's own text for a failure, with what it lacks.

use healbench_core::ToolSpec;
use healbench_tokens::count_tokens;
use serde_json::Value;

use crate::places::{get, plain};
use crate::probes::Draft;
use crate::readers::{MESSAGES, finds_field, finds_remedy, statements};
use crate::report::{AnswerKind, Base, BaseState, Better, Probe};

/// Longer values are shown by their beginning.
const MAX_VALUE_CHARACTERS: usize = 60;

/// Returns the text of a refusal with what it lacks: what the schema says of the field, or a value that the server accepts where the form of
/// the value is wrong. The name of another thing is no form: with it an agent would change that. The words around it stay. `in_fusion_text` is
/// the same failure in that format. `None` if the reader does not find the field and a remedy in the result.
pub(crate) fn better(
    probe: &Probe,
    base: &Base,
    specs: &[ToolSpec],
    tool: &str,
    in_fusion_text: &str,
) -> Option<Better> {
    // What lacks a flag only is not mended by words.
    if probe.answer == AnswerKind::SoftError {
        return None;
    }
    let at = specs.iter().position(|spec| spec.name == tool)?;
    let tools: Vec<ToolSpec> = specs[at..=at].iter().chain(&specs[..at]).chain(&specs[at + 1..]).cloned().collect();
    let schema = &tools[0].actions.first()?.input_schema;
    let draft = Draft {
        kind: probe.kind,
        path: probe.path.clone(),
        arguments: probe.arguments.clone(),
        invalid: probe.invalid,
        optional: probe.optional,
        intended: probe.intended.as_ref().unwrap_or(&base.arguments).clone(),
    };
    let is_accepted = matches!(base.state, BaseState::Accepted | BaseState::Volatile);
    let facts: Vec<String> = in_fusion_text.lines().filter_map(fact).collect();
    let is_form = is_accepted && !draft.kind.is_domain();
    let lacking = if facts.is_empty() { accepted_value(&draft).filter(|_| is_form)? } else { facts.join(" ") };
    let is_enough = |text: &str| {
        let found = statements(text, &tools, &draft.intended, &draft.arguments);
        finds_field(&draft, text, &found) != Some(false) && finds_remedy(&draft, &found, schema, &tools) != Some(false)
    };
    let sent = probe.text.as_deref()?;
    let text = with_sentence(sent, &lacking);
    (!is_enough(sent) && is_enough(&text)).then(|| Better { tokens: count_tokens(&text), text })
}

/// Reads what a line of fusion-text says of a field: "  • days — Required. Expected type: integer."
fn fact(line: &str) -> Option<String> {
    let (field, rest) = line.trim_start().strip_prefix("• ")?.split_once(" — ")?;
    Some(format!("{field}: {rest}"))
}

/// Says which value was not accepted, and which is.
fn accepted_value(draft: &Draft) -> Option<String> {
    let path: Vec<String> = draft.path.split('.').map(str::to_owned).collect();
    let of =
        |arguments: &Value| get(arguments, &path).filter(|value| !value.is_object() && !value.is_array()).map(plain);
    let (sent, right) = (of(&draft.arguments)?, of(&draft.intended)?);
    let shown = |value: &str| value.chars().take(MAX_VALUE_CHARACTERS).collect::<String>();
    (sent != right).then(|| {
        format!("{}: '{}' is not accepted; give a value such as '{}'.", draft.path, shown(&sent), shown(&right))
    })
}

/// Adds a sentence to a text, or to the message in a JSON object.
fn with_sentence(text: &str, sentence: &str) -> String {
    if let Ok(mut value) = serde_json::from_str::<Value>(text)
        && let Some(message) = message(&mut value)
    {
        *message = Value::from(with_sentence(message.as_str().unwrap_or_default(), sentence));
        return if text.contains('\n') { format!("{value:#}") } else { value.to_string() };
    }
    let text = text.trim_end();
    if text.contains('\n') {
        return format!("{text}\n{sentence}");
    }
    let joint = if text.is_empty() || text.ends_with(['.', '!', '?', ':']) { "" } else { "." };
    format!("{text}{joint} {sentence}").trim_start().to_owned()
}

/// Returns the text that a JSON object holds under a key of an error's words.
fn message(value: &mut Value) -> Option<&mut Value> {
    let key = MESSAGES.iter().find(|key| value.get(**key).is_some_and(|part| part.is_string() || part.is_object()))?;
    let part = value.get_mut(*key)?;
    if part.is_string() { Some(part) } else { message(part) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_words_around_a_message_stay() {
        assert_eq!(with_sentence("Error: bad request", "a: Required."), "Error: bad request. a: Required.");
        assert_eq!(
            with_sentence(r#"{"ok":false,"error":{"code":3,"message":"bad!"}}"#, "a: Required."),
            r#"{"ok":false,"error":{"code":3,"message":"bad! a: Required."}}"#
        );
        assert_eq!(with_sentence("[1]", "a: Required."), "[1]. a: Required.");
        assert_eq!(with_sentence("", "a: Required."), "a: Required.");
        assert_eq!(
            fact("  • days — Required. Expected type: integer.").as_deref(),
            Some("days: Required. Expected type: integer.")
        );
    }
}
