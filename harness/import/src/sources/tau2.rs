//! Results files of tau2-bench.

use serde_json::Value;

use super::documents::{self, Entry};
use super::message;
use crate::error::Stop;
use crate::log::LogText;
use crate::problem::ProblemKind;
use crate::sink::Sink;

const FORM: documents::Form = documents::Form { lists: &["simulations"], marks: &["messages"], shared: &["info"], add };
/// The simulated user ends a conversation with `###STOP###`, `###TRANSFER###` or `###OUT-OF-SCOPE###`.
const MESSAGES: message::Form = message::Form { error_is_text: false, end_marker: Some("###") };

pub(super) fn read(log: LogText<'_>, sink: &mut Sink<'_>) -> Result<(), Stop> {
    documents::read(log, &FORM, sink)
}

fn add(entry: Entry<'_>, sink: &mut Sink<'_>) -> Result<(), Stop> {
    let Entry { mut value, position, document } = entry;
    let Some(Value::Array(messages)) = value.get_mut("messages").map(Value::take) else {
        return sink.problem(ProblemKind::Broken, position, "it has no `messages`");
    };
    let mut draft = sink.draft();
    draft.position = Some(position);
    let info = |path: &str| document.get("info")?.pointer(path);
    let field = |name: &str| value.get(name).map(Value::to_string);
    draft.id = field("id").map(|id| [Some(id), field("task_id"), field("trial")].into_iter().flatten().collect());
    let conversation = &mut draft.conversation;
    conversation.suite = info("/environment_info/domain_name").and_then(Value::as_str).map(str::to_owned);
    conversation.model = info("/agent_info/llm").and_then(Value::as_str).map(str::to_owned);
    conversation.tools = message::tools(info("/environment_info/tool_defs"));
    match value.get("task_id") {
        Some(Value::String(task)) => task.clone_into(&mut conversation.task),
        Some(Value::Number(task)) => conversation.task = task.to_string(),
        _ => {}
    }
    let reward = value.pointer("/reward_info/reward").and_then(Value::as_f64);
    conversation.success = reward.map(|reward| (reward - 1.0).abs() < 1e-9);
    if let Some(trial) = value.get("trial").and_then(Value::as_u64) {
        conversation.tags.insert("trial".to_owned(), trial.to_string());
    }
    for mut message in messages {
        message::add(&mut draft, &mut message, MESSAGES);
    }
    sink.take(draft)
}
