//! Runs an agent with responses defined by a test.

use healbench_core::{
    ActionSpec, Agent, DrawKey, EpisodeStart, RecordQuery, Script, Seed, Step, ToolCall, ToolResponse, ToolSpec, Turn,
};
use healbench_reader::{Profile, ScriptedAgent, shipped_profile};
use serde_json::{Value, json};

pub(crate) fn profile(name: &str) -> Profile {
    shipped_profile(name).unwrap()
}

pub(crate) fn call(tool: &str, arguments: Value) -> ToolCall {
    ToolCall::new(tool, arguments)
}

pub(crate) fn ok(text: &str) -> ToolResponse {
    ToolResponse { content: vec![text.to_owned()], is_error: false }
}

pub(crate) fn error(text: &str) -> ToolResponse {
    ToolResponse { content: vec![text.to_owned()], is_error: true }
}

pub(crate) fn step(tool: &str, intended: Value, draft: Value) -> Step {
    Step { intended: call(tool, intended), draft: call(tool, draft), ..Step::default() }
}

pub(crate) fn with_query(mut step: Step, argument: &str, column: &str, matching: Value) -> Step {
    let matching = matching.as_object().unwrap().clone();
    step.find.insert(argument.to_owned(), RecordQuery { column: column.to_owned(), matching });
    step
}

pub(crate) fn tools() -> Vec<ToolSpec> {
    let action = |name: &str, schema: Value| ActionSpec {
        name: name.to_owned(),
        description: String::new(),
        input_schema: schema,
        read_only: name != "create",
    };
    vec![ToolSpec {
        name: "billing".to_owned(),
        description: String::new(),
        discriminator: Some("action".to_owned()),
        actions: vec![
            action(
                "create",
                json!({"properties": {"amount": {}, "currency": {}, "email": {}, "due": {},
                    "address": {"properties": {"city": {}, "zip": {}}}, "lines": {}}}),
            ),
            action("list", json!({"properties": {"status": {}, "customer": {}, "offset": {}}})),
            action("get", json!({"properties": {"invoice_id": {}}, "required": ["invoice_id"]})),
        ],
    }]
}

/// Returns the turns of an episode in which `answer` responds to every call. It ends with the agent's last turn or
/// after `max_turns` turns.
pub(crate) fn run_episode(
    profile: &Profile,
    steps: Vec<Step>,
    trial: u32,
    max_turns: usize,
    mut answer: impl FnMut(&ToolCall, usize) -> ToolResponse,
) -> Vec<Turn> {
    let script = Script { steps, ..Script::default() };
    let tools = tools();
    let draws = DrawKey::of_trial(Seed(7), "test", trial);
    let mut agent = ScriptedAgent::new(
        profile,
        EpisodeStart { prompt: "", tools: &tools, opening: &[], episode: 0, trial: 0, draws },
        &script,
    );
    let mut turns = Vec::new();
    let mut seen = Vec::new();
    let mut answered = 0;
    while turns.len() < max_turns {
        let turn = agent.next_turn(&seen.iter().collect::<Vec<_>>()).unwrap();
        seen.clear();
        if let Turn::Calls { calls, .. } = &turn {
            for call in calls {
                seen.push(answer(call, answered));
                answered += 1;
            }
        }
        let is_last = matches!(turn, Turn::Done { .. } | Turn::GiveUp { .. });
        turns.push(turn);
        if is_last {
            break;
        }
    }
    turns
}

/// Returns the arguments of the calls in `turns`.
pub(crate) fn arguments(turns: &[Turn]) -> Vec<Value> {
    let calls = turns.iter().filter_map(|turn| match turn {
        Turn::Calls { calls, .. } => Some(calls[0].arguments.clone()),
        _ => None,
    });
    calls.collect()
}

pub(crate) fn is_done(turns: &[Turn]) -> bool {
    matches!(turns.last(), Some(Turn::Done { .. }))
}

pub(crate) fn gave_up(turns: &[Turn]) -> bool {
    matches!(turns.last(), Some(Turn::GiveUp { .. }))
}
