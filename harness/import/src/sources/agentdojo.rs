//! Run files of AgentDojo.

use serde_json::Value;

use super::documents::{self, Entry};
use super::message::{self, text_of};
use crate::error::Stop;
use crate::log::LogText;
use crate::problem::ProblemKind;
use crate::sink::Sink;

const FORM: documents::Form = documents::Form { lists: &[], marks: &["messages"], shared: &[], add };
/// The text of an error is what the agent was shown.
const MESSAGES: message::Form = message::Form { error_is_text: true, end_marker: None };
/// The name of every model that runs on the machine of whoever made the log. The path tells which it is.
const LOCAL: &str = "local";

pub(super) fn read(log: LogText<'_>, sink: &mut Sink<'_>) -> Result<(), Stop> {
    documents::read(log, &FORM, sink)
}

fn add(entry: Entry<'_>, sink: &mut Sink<'_>) -> Result<(), Stop> {
    let Entry { mut value, position, .. } = entry;
    let Some(Value::Array(messages)) = value.get_mut("messages").map(Value::take) else {
        return sink.problem(ProblemKind::Broken, position, "it has no `messages`");
    };
    let path = RunPath::of(&sink.log().name);
    let mut draft = sink.draft();
    draft.position = Some(position);
    let known = |field: &str, path: Option<&str>| {
        let text = text_of(&value, field);
        if text.is_empty() { path.map(str::to_owned) } else { Some(text.to_owned()) }
    };
    let conversation = &mut draft.conversation;
    conversation.suite = known("suite_name", path.suite.as_deref());
    conversation.model = known("pipeline_name", path.model.as_deref());
    if conversation.model.as_deref() == Some(LOCAL) && path.model.is_some() {
        conversation.model = path.model;
    }
    if let Some(task) = known("user_task_id", path.task.as_deref()) {
        conversation.task = task;
    }
    conversation.success = value.get("utility").and_then(Value::as_bool);
    for (tag, text) in [("attack", text_of(&value, "attack_type")), ("injection", text_of(&value, "injection_task_id"))]
    {
        if !text.is_empty() && text != "none" {
            conversation.tags.insert(tag.to_owned(), text.to_owned());
        }
    }
    for mut message in messages {
        message::add(&mut draft, &mut message, MESSAGES);
    }
    sink.take(draft)
}

/// The parts of the path of a run file: `MODEL/SUITE/USER_TASK/ATTACK/INJECTION.json`.
#[derive(Default)]
struct RunPath {
    model: Option<String>,
    suite: Option<String>,
    task: Option<String>,
}

impl RunPath {
    fn of(path: &str) -> RunPath {
        let mut folders = path.rsplit('/').skip(2).map(str::to_owned);
        let (task, suite, model) = (folders.next(), folders.next(), folders.next());
        RunPath { model, suite, task }
    }
}
