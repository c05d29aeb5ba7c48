//! Conversations in the form of the OpenAI Chat Completions API or the Anthropic Messages API. A reader takes both, because messages of
//! both can stand in one conversation.

use serde_json::Value;

use super::documents::{self, Entry};
use super::message::{self, text_of};
use crate::error::Stop;
use crate::log::LogText;
use crate::problem::ProblemKind;
use crate::sink::Sink;

const FORM: documents::Form = documents::Form {
    lists: &["results", "conversations", "data"],
    marks: &["messages", "trace", "trajectory", "traj"],
    shared: &["model", "tools"],
    add,
};

pub(super) fn read(log: LogText<'_>, sink: &mut Sink<'_>) -> Result<(), Stop> {
    documents::read(log, &FORM, sink)
}

fn add(entry: Entry<'_>, sink: &mut Sink<'_>) -> Result<(), Stop> {
    let Entry { mut value, position, document } = entry;
    let Some(messages) = take_messages(&mut value) else {
        return sink.problem(ProblemKind::Broken, position, "it has no `messages`");
    };
    let mut draft = sink.draft();
    draft.position = Some(position);
    let field = |name: &str| value.get(name).or_else(|| document.get(name));
    let conversation = &mut draft.conversation;
    conversation.model = field("model").and_then(Value::as_str).map(str::to_owned);
    conversation.tools = message::tools(field("tools"));
    let task = [text_of(&value, "task_id"), value.get("task").map_or("", |task| text_of(task, "id"))];
    if let Some(task) = task.into_iter().find(|task| !task.is_empty()) {
        task.clone_into(&mut conversation.task);
    }
    for mut message in messages {
        message::add(&mut draft, &mut message, message::Form::default());
    }
    sink.take(draft)
}

/// Returns the messages of a conversation: itself, its `messages`, or those inside of `trace`.
fn take_messages(value: &mut Value) -> Option<Vec<Value>> {
    if let Value::Array(messages) = value {
        return Some(std::mem::take(messages));
    }
    for path in ["/messages", "/trace/messages", "/trajectory/messages", "/trajectory", "/trace", "/traj"] {
        if let Some(Value::Array(messages)) = value.pointer_mut(path) {
            return Some(std::mem::take(messages));
        }
    }
    None
}
