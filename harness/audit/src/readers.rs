//! What a reader finds in the text of an error: the place, the remedy, and the way to the right call.

use healbench_core::{
    Agent as _, DrawKey, EpisodeStart, Script, Seed, Step, ToolCall, ToolResponse, ToolSpec, Turn, same_json,
};
use healbench_engine::accepts;
use healbench_reader::reading::{Statement, Vocabulary, read_statements};
use healbench_reader::{Profile, ScriptedAgent, shipped_profile};
use serde_json::Value;

use crate::answer::Answer;
use crate::probes::{Draft, ProbeKind, Remedy};

/// The answers that the reader may see before its call is the intended one.
const MAX_ANSWERS: usize = 3;
/// The turns without a call that are skipped.
const MAX_TURNS: usize = 16;

/// Returns the statements of a text about a call of a tool whose right arguments are known.
pub(crate) fn statements(text: &str, tool: &ToolSpec, base: &Value, sent: &Value) -> Vec<Statement> {
    let script = script(tool, base, sent);
    let tools = std::slice::from_ref(tool);
    read_statements(text, &Vocabulary::new(tools, &script), sent)
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

/// Returns true if the text names the field of a probe, or a statement in it is about the field; `None` if the probe is about no
/// field.
pub(crate) fn finds_field(draft: &Draft, text: &str, statements: &[Statement]) -> Option<bool> {
    let name = draft.path.rsplit('.').find(|name| name.parse::<u64>().is_err())?;
    let is_part = |c: char| c.is_alphanumeric() || matches!(c, '_' | '-');
    let is_named = || text.split(|c| !is_part(c)).any(|word| word == name);
    (!name.is_empty()).then(|| statements.iter().any(|statement| is_about(draft, statement)) || is_named())
}

/// Returns true if the statements state the remedy for a kind of probe; `None` if none is looked for.
pub(crate) fn finds_remedy(draft: &Draft, statements: &[Statement]) -> Option<bool> {
    let about = |statement: &&Statement| draft.path.is_empty() || is_about(draft, statement);
    let any = |is: &dyn Fn(&Statement) -> bool| Some(statements.iter().filter(about).any(is));
    match draft.kind.entry().remedy {
        Remedy::None => None,
        // A list of options says what to send, for a missing value as for one of another type.
        Remedy::Missing => any(&|statement| matches!(statement, Statement::Missing { .. } | Statement::Options { .. })),
        Remedy::Type => any(&|statement| matches!(statement, Statement::WrongType { .. } | Statement::Options { .. })),
        Remedy::Options => any(&|statement| matches!(statement, Statement::Options { .. } | Statement::Value { .. })),
        Remedy::Bound => any(&|statement| matches!(statement, Statement::Bound { .. } | Statement::Compared { .. })),
        Remedy::Format => any(&|statement| matches!(statement, Statement::Format { .. } | Statement::Value { .. })),
        // Of a misspelled required field, that it is missing says as much.
        Remedy::Unrecognized => any(&|statement| {
            matches!(statement, Statement::Unrecognized { .. } | Statement::Rename { .. })
                || draft.kind == ProbeKind::MisspelledRequired
                    && matches!(statement, Statement::Missing { .. } | Statement::Options { .. })
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
            )
        })),
    }
}

/// Returns true if a result says how to get less of it.
pub(crate) fn narrows(statements: &[Statement]) -> bool {
    statements.iter().any(|statement| matches!(statement, Statement::Narrow { .. } | Statement::Page { .. }))
}

/// Lets the profile `perfect` repair a probe by the server's answers, and returns true if it arrives at the intended call
/// within three of them: at a call with all its values, and beside them only what the schema allows. `call` sends a call to the
/// server, and returns `None` if there is no usable answer.
pub(crate) fn repairs(
    tool: &ToolSpec,
    schema: &Value,
    intended: &Value,
    probe: &Value,
    first: &Answer,
    mut call: impl FnMut(&ToolCall) -> Option<Answer>,
) -> bool {
    let Ok(profile): Result<Profile, _> = shipped_profile("perfect") else { return false };
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
        let Ok(turn) = agent.next_turn(&responses) else { return false };
        match turn {
            Turn::Message { .. } => seen = None,
            Turn::Calls { calls, .. } => {
                let [next] = calls.as_slice() else { return false };
                let answer = if answers == 0 {
                    Some(first.clone())
                } else if next.tool == tool.name && is_meant(schema, intended, &next.arguments) {
                    return true;
                } else if answers < MAX_ANSWERS && next.tool == tool.name {
                    call(next)
                } else {
                    None
                };
                let Some(answer) = answer else { return false };
                answers += 1;
                let is_error = answer.is_refusal();
                seen = Some(ToolResponse { content: vec![answer.text], is_error });
                if !is_error {
                    // Another call was accepted.
                    return false;
                }
            }
            _ => return false,
        }
    }
    false
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
