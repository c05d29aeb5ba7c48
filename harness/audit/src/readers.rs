//! What a reader finds in the text of an error: the place, the remedy, and the way to the right call.

use healbench_core::ErrorKind;
use healbench_core::{
    Agent as _, DrawKey, EpisodeStart, Script, Seed, Step, ToolCall, ToolResponse, ToolSpec, Turn, same_json,
};
use healbench_engine::accepts;
use healbench_reader::reading::{Statement, Vocabulary, read, read_statements};
use healbench_reader::{Profile, ScriptedAgent, has_type, is_within, shipped_profile, soft_errors};
use healbench_text::secrets;
use serde_json::{Value, json};

use crate::answer::Answer;
use crate::kinds::{ProbeKind, Remedy};
use crate::places::{get, has_word, leaves, plain, set};
use crate::probes::Draft;

/// The answers that the reader may see before its call is the intended one.
const MAX_ANSWERS: usize = 3;
/// The turns without a call that are skipped.
const MAX_TURNS: usize = 16;

/// Words of a success that say that something of the call was left aside.
const NOTICES: [&str; 8] = [
    "ignor",
    "warning",
    "has no effect",
    "had no effect",
    "not used",
    "using default",
    "using the default",
    "defaulting to",
];

/// The characters of a line that are kept of a notice.
const MAX_NOTICE_CHARS: usize = 500;

/// Returns the statements of a text about a call of a tool whose right arguments are known. The tool is the first of those that the text
/// may name.
pub(crate) fn statements(text: &str, tools: &[ToolSpec], base: &Value, sent: &Value) -> Vec<Statement> {
    let Some(tool) = tools.first() else { return Vec::new() };
    let script = script(tool, base, sent);
    read_statements(text, &Vocabulary::new(tools, &script), sent)
}

/// Keys of JSON that hold the words of an error.
pub(crate) const MESSAGES: [&str; 6] = ["message", "detail", "error", "errors", "reason", "msg"];

/// Returns true if a success says that the call was not done: by the wordings and keys that are looked for in logs, or because the reader
/// finds an error in it. That a search found nothing is none, and neither is a document, nor a record that says of something that it failed.
pub(crate) fn reports_error(answer: &Answer, tool: &ToolSpec, sent: &Value) -> bool {
    let vocabulary = Vocabulary::of_tools(std::slice::from_ref(tool));
    let structured = answer.result.structured.as_ref().map(Value::to_string);
    let mut texts = std::iter::once(answer.text.as_str()).chain(structured.as_deref());
    texts.any(|text| {
        let unwrapped = soft_errors::unwrap(text);
        let is_message = || match serde_json::from_str::<Value>(&unwrapped.text) {
            Ok(value) => MESSAGES.iter().any(|key| value.get(key).is_some()),
            Err(_) => !unwrapped.text.trim_start().starts_with('#'),
        };
        let kind = || read(&unwrapped.text, &vocabulary, sent, None).kind;
        unwrapped.is_flagged
            || unwrapped.is_error_text
            || is_message() && kind().is_some_and(|kind| kind != ErrorKind::NothingFound)
    })
}

/// Returns true if the reader takes the text of an error for one that passes.
pub(crate) fn is_transient(text: &str, tool: &ToolSpec, sent: &Value) -> bool {
    let vocabulary = Vocabulary::of_tools(std::slice::from_ref(tool));
    read(text, &vocabulary, sent, None).kind == Some(ErrorKind::Transient)
}

/// Returns true if a success does what was asked for but for a part of the call, and says so: beside the answer to the base call there is
/// a hint, or a hint is a notice.
pub(crate) fn warns(text: &str, base_text: Option<&str>, draft: &Draft, tool: &ToolSpec, hints: &[Statement]) -> bool {
    let lower = text.trim_start().to_lowercase();
    if let Some((before, after)) = base_text.and_then(|base| split_at_lines(text, base)) {
        let beside = format!("{before}\n{after}");
        let tools = std::slice::from_ref(tool);
        if !statements(beside.trim(), tools, &draft.intended, &draft.arguments).is_empty() {
            return true;
        }
    }
    let is_hint = !hints.is_empty() || finds_field(draft, text, hints) == Some(true);
    is_hint && !lower.starts_with("error") && NOTICES.iter().any(|notice| lower.contains(notice))
}

/// Returns what is before and after the lines of another text in a text; `None` if it has not all of them, or nothing else.
pub(crate) fn split_at_lines<'t>(text: &'t str, lines: &str) -> Option<(&'t str, &'t str)> {
    let lines = Some(lines.trim()).filter(|lines| lines.len() > 1 && text.len() > lines.len())?;
    let is_whole = |(at, _): &(usize, &str)| {
        let (before, after) = (&text[..*at], &text[at + lines.len()..]);
        (before.is_empty() || before.ends_with('\n')) && (after.is_empty() || after.starts_with(['\n', '\r']))
    };
    let (at, _) = text.match_indices(lines).find(is_whole)?;
    Some((&text[..at], &text[at + lines.len()..]))
}

/// Returns what a success says beside the answer to the base call, or the lines with a notice. The rest is data of the server.
pub(crate) fn notice(text: &str, base_text: Option<&str>) -> String {
    if let Some((before, after)) = base_text.and_then(|base| split_at_lines(text, base)) {
        return format!("{before}\n{after}").trim().to_owned();
    }
    let has_notice = |line: &&str| NOTICES.iter().any(|notice| line.to_lowercase().contains(notice));
    let shortened = |line: &str| secrets().mask(line).chars().take(MAX_NOTICE_CHARS).collect::<String>();
    text.lines().filter(has_notice).map(shortened).collect::<Vec<_>>().join("\n")
}

fn script(tool: &ToolSpec, base: &Value, sent: &Value) -> Script {
    Script {
        steps: vec![Step {
            intended: ToolCall::new(&tool.name, base.clone()),
            draft: ToolCall::new(&tool.name, sent.clone()),
            ..Step::default()
        }],
        ..Script::default()
    }
}

/// Returns true if a statement is about the field of a probe. The field of a misspelled name is the right one or the wrong one.
fn is_about(draft: &Draft, statement: &Statement) -> bool {
    statement.field().is_some_and(|found| found == draft.path || found_in(draft, found))
}

/// Returns true if a name is the misspelled one that was sent.
fn found_in(draft: &Draft, found: &str) -> bool {
    let is_misspelled = matches!(draft.kind, ProbeKind::MisspelledRequired | ProbeKind::MisspelledOptional);
    let siblings = |path: &str| path.rsplit_once('.').map_or(String::new(), |(parent, _)| parent.to_owned());
    is_misspelled && siblings(found) == siblings(&draft.path) && sorted(found) == sorted(&draft.path)
}

fn sorted(text: &str) -> Vec<char> {
    let mut letters: Vec<char> = text.chars().collect();
    letters.sort_unstable();
    letters
}

/// Returns true if a text names the field of a statement, or the statement is about none. What data seem to say without a name is no hint.
pub(crate) fn names_field(text: &str, statement: &Statement) -> bool {
    let name = statement.field().and_then(|field| field.rsplit('.').find(|name| name.parse::<u64>().is_err()));
    name.is_none_or(|name| has_word(text, name))
}

/// Returns true if the text names the field of a probe, or a statement in it is about the field; `None` if the probe is about no
/// field.
pub(crate) fn finds_field(draft: &Draft, text: &str, statements: &[Statement]) -> Option<bool> {
    let name = draft.path.rsplit('.').find(|name| name.parse::<u64>().is_err())?;
    let is_named = || has_word(text, name);
    // What fits the schema is wrong for its value, and who reads that knows where it stands.
    let path: Vec<String> = draft.path.split('.').map(str::to_owned).collect();
    let texts = |arguments: &Value| -> Vec<String> {
        let mut values = Vec::new();
        if let Some(value) = get(arguments, &path) {
            leaves(value, &mut values);
        }
        values.into_iter().filter_map(Value::as_str).map(str::to_owned).collect()
    };
    let is_repeated = || {
        let right = texts(&draft.intended);
        let wrong = texts(&draft.arguments);
        // A short text has to stand by itself.
        let shows =
            |value: &String| value.chars().count() > 2 && text.contains(value.as_str()) || has_word(text, value);
        draft.kind.is_domain() && wrong.iter().filter(|value| value.len() > 1 && !right.contains(value)).any(shows)
    };
    let is_found = || statements.iter().any(|statement| is_about(draft, statement));
    (!name.is_empty()).then(|| is_found() || is_named() || is_repeated())
}

/// Returns true if following a statement may help: the value that was sent does not meet it already, and the tool that it names is one of
/// the server.
fn may_help(statement: &Statement, draft: &Draft, schema: &Value, tools: &[ToolSpec]) -> bool {
    let at = |field: &str| {
        let path: Vec<String> = field.split('.').map(str::to_owned).collect();
        get(&draft.arguments, &path)
    };
    let is_sent = |field: &str, option: &str| at(field).is_some_and(|sent| plain(sent) == option);
    match statement {
        Statement::Options { field, values } => {
            let path: Vec<String> = field.split('.').map(str::to_owned).collect();
            let is_right = |option: &String| {
                let mut arguments = draft.intended.clone();
                let as_text = json!(option);
                let as_json = serde_json::from_str(option).unwrap_or(Value::Null);
                [as_text, as_json]
                    .into_iter()
                    .any(|value| !set(&mut arguments, &path, value) || accepts(schema, &arguments) != Ok(false))
            };
            values.is_empty() || values.iter().any(|option| !is_sent(field, option) && is_right(option))
        }
        Statement::Value { field, value: Some(value) } => at(field).is_none_or(|sent| !same_json(sent, value)),
        Statement::Missing { field } => {
            at(field).is_none_or(|sent| [json!(null), json!(""), json!([]), json!({})].contains(sent))
        }
        Statement::Unrecognized { field } => at(field).is_some(),
        Statement::WrongType { field, expected } => at(field).is_none_or(|sent| !has_type(sent, expected)),
        Statement::Bound { field, relation, limit } => at(field).is_none_or(|sent| !is_within(sent, *relation, *limit)),
        Statement::Suggest { tool: Some(name), .. } => tools.iter().skip(1).any(|tool| tool.name == *name),
        Statement::Example { object } => {
            let example = Value::Object(object.clone());
            !same_json(&example, &draft.arguments) && accepts(schema, &example) != Ok(false)
        }
        _ => true,
    }
}

/// Returns true if the statements state a remedy for a kind of probe that may help; `None` if none is looked for.
pub(crate) fn finds_remedy(
    draft: &Draft,
    statements: &[Statement],
    schema: &Value,
    tools: &[ToolSpec],
) -> Option<bool> {
    let statements: Vec<&Statement> =
        statements.iter().filter(|statement| may_help(statement, draft, schema, tools)).collect();
    let about = |statement: &&&Statement| draft.path.is_empty() || is_about(draft, statement);
    let any = |is: &dyn Fn(&Statement) -> bool| Some(statements.iter().filter(about).any(|statement| is(statement)));
    match draft.kind.entry().remedy {
        Remedy::None => None,
        // A type, a list of options and a format say what to send, for a missing value as for one of another type. That a value is missing
        // says what is wrong with null.
        Remedy::Missing | Remedy::Type => any(&|statement| match statement {
            Statement::WrongType { .. } | Statement::Options { .. } | Statement::Format { .. } => true,
            Statement::Missing { .. } => draft.kind != ProbeKind::WrongType,
            _ => false,
        }),
        Remedy::Options => any(&|statement| matches!(statement, Statement::Options { .. } | Statement::Value { .. })),
        // That an empty value is missing says that it must not be empty.
        Remedy::Bound => any(&|statement| {
            matches!(statement, Statement::Bound { .. } | Statement::Compared { .. } | Statement::Missing { .. })
        }),
        Remedy::Format => any(&|statement| matches!(statement, Statement::Format { .. } | Statement::Value { .. })),
        // Of a misspelled required field, that it is missing says as much.
        Remedy::Unrecognized => any(&|statement| {
            matches!(statement, Statement::Unrecognized { .. } | Statement::Rename { .. })
                || draft.kind == ProbeKind::MisspelledRequired
                    && matches!(
                        statement,
                        Statement::Missing { .. } | Statement::WrongType { .. } | Statement::Options { .. }
                    )
        }),
        Remedy::Any => Some(statements.iter().any(|statement| {
            matches!(
                statement,
                Statement::Options { .. }
                    | Statement::Bound { .. }
                    | Statement::Format { .. }
                    | Statement::Compared { .. }
                    | Statement::Value { .. }
                    | Statement::Rename { .. }
                    | Statement::Suggest { .. }
                    | Statement::Lookup { .. }
                    | Statement::SearchDifferently { .. }
                    | Statement::Actions { .. }
                    | Statement::Delay { .. }
                    | Statement::Stop
                    | Statement::Example { .. }
                    | Statement::Missing { .. }
                    | Statement::WrongType { .. }
                    | Statement::Unrecognized { .. }
            )
        })),
    }
}

/// Returns true if a result says how to get less of it.
pub(crate) fn narrows(statements: &[Statement]) -> bool {
    statements.iter().any(|statement| matches!(statement, Statement::Narrow { .. } | Statement::Page { .. }))
}

/// Lets the profile `perfect` repair a probe by the server's answers, and returns the number of answers that it read if it arrives at the intended
/// call within three of them: at a call with all intended values and no field that the schema forbids, or with the refusal that the base call
/// gets (`is_base_refusal`, of a text and the arguments that were sent). `call` sends a call to the
/// server, and returns `None` if there is no usable answer.
pub(crate) fn repairs(
    tool: &ToolSpec,
    schema: &Value,
    intended: &Value,
    probe: &Value,
    first: &Answer,
    is_base_refusal: impl Fn(&str, &Value) -> bool,
    mut call: impl FnMut(&ToolCall) -> Option<Answer>,
) -> Option<usize> {
    let Ok(profile): Result<Profile, _> = shipped_profile("perfect") else { return None };
    let script = script(tool, intended, probe);
    let start = EpisodeStart {
        prompt: "",
        tools: std::slice::from_ref(tool),
        opening: &[],
        episode: 0,
        trial: 0,
        draws: DrawKey::of_trial(Seed(1), &tool.name, 0),
    };
    let mut agent = ScriptedAgent::new(&profile, start, &script);
    let mut seen: Option<ToolResponse> = None;
    let mut answers = 0;
    for _ in 0..MAX_TURNS {
        let responses: Vec<&ToolResponse> = seen.iter().collect();
        let Ok(turn) = agent.next_turn(&responses) else { return None };
        match turn {
            Turn::Message { .. } => seen = None,
            Turn::Calls { calls, .. } => {
                let [next] = calls.as_slice() else { return None };
                let answer = if answers == 0 {
                    Some(first.clone())
                } else if next.tool == tool.name && is_meant(schema, intended, &next.arguments) {
                    return Some(answers);
                } else if answers < MAX_ANSWERS && next.tool == tool.name {
                    call(next)
                } else {
                    None
                };
                let answer = answer?;
                answers += 1;
                let is_error = answer.is_refusal();
                // Nothing is wrong any more but what is wrong with the right call.
                if is_error && has_all(intended, &next.arguments) && is_base_refusal(&answer.text, &next.arguments) {
                    return Some(answers - 1);
                }
                seen = Some(ToolResponse { content: vec![answer.text], is_error });
                if !is_error {
                    // A call with a name beside the right one is as good, where the server ignores that.
                    return has_all(intended, &next.arguments).then_some(answers - 1);
                }
            }
            _ => return None,
        }
    }
    None
}

/// Returns true if a call is the intended one, but for fields that the schema allows beside its own.
fn is_meant(schema: &Value, intended: &Value, arguments: &Value) -> bool {
    same_json(intended, arguments) || has_all(intended, arguments) && accepts(schema, arguments) == Ok(true)
}

/// Returns true if a value has all that another has.
fn has_all(intended: &Value, value: &Value) -> bool {
    match (intended, value) {
        (Value::Object(intended), Value::Object(value)) => {
            intended.iter().all(|(name, part)| value.get(name).is_some_and(|value| has_all(part, value)))
        }
        (Value::Array(intended), Value::Array(value)) => {
            intended.len() == value.len() && intended.iter().zip(value).all(|(part, value)| has_all(part, value))
        }
        _ => same_json(intended, value),
    }
}
