//! The sources: one table of what is known about each, and how the source of a log is recognized.

mod agentdojo;
mod chat;
mod claude_code;
mod codex;
mod documents;
mod healbench;
mod inspect;
mod message;
mod opencode;
mod responses;
mod sessions;
mod tau2;

use std::fs::File;

use crate::error::{ImportError, Stop};
use crate::head::Outline;
use crate::log::{Log, LogText, RECORDED};
use crate::sink::Sink;

/// A source of logs.
#[derive(Clone, Copy)]
pub struct Source {
    /// Its name, as `--source` takes it.
    pub name: &'static str,
    /// The part of its logs that is a conversation.
    pub conversation: &'static str,
    /// The fields that are used.
    pub fields: &'static str,
    /// The versions whose logs were read, or what stands for them.
    pub seen: &'static str,
    /// Paths in its logs: of each list, one has to be there.
    needs: &'static [&'static [&'static str]],
    pub(crate) read: fn(LogText<'_>, &mut Sink<'_>) -> Result<(), Stop>,
}

impl std::fmt::Debug for Source {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Source").field("name", &self.name).finish_non_exhaustive()
    }
}

/// The source of `.eval` files.
pub(crate) const EVAL: &str = "inspect";

/// The sources. The first one whose needs are met is recognized.
pub const SOURCES: [Source; 10] = [
    Source {
        name: "agentdojo",
        conversation: "a run file",
        fields: "suite_name, pipeline_name, user_task_id, injection_task_id, attack_type, utility, messages[] {role, content, \
                 tool_calls[] {id, function, args}, tool_call_id, error}",
        seen: "runs of github:sequrity-ai/agentdojo at 7ee80b495601; format without and with agentdojo_package_version",
        needs: &[&["suite_name"], &["user_task_id"], &["messages"]],
        read: agentdojo::read,
    },
    Source {
        name: "tau2",
        conversation: "a simulation of a results file",
        fields: "info.environment_info {domain_name, tool_defs}, info.agent_info.llm, simulations[] {task_id, trial, \
                 reward_info.reward, messages[] {role, content, tool_calls[] {id, name, arguments, requestor}, id, error, usage}}",
        seen: "results of tau2-bench, 2025 and 2026",
        needs: &[&["info.environment_info", "info.agent_info"], &["simulations", "tasks"]],
        read: tau2::read,
    },
    Source {
        name: "inspect",
        conversation: "a sample of a log (.eval or .json)",
        fields: "eval {task, model}, samples[] {id, epoch, messages[] {id, role, content, tool_calls[] {id, function, \
                 arguments}, tool_call_id, error}, scores, events[] {event, tools, output}, attachments}",
        seen: "log format version 2, as Inspect 0.3.285 writes it with mockllm",
        needs: &[&["eval.task"], &["eval.model"], &["samples", "status"]],
        read: inspect::read,
    },
    Source {
        name: "claude-code",
        conversation: "a session file; each side chain is one of its own",
        fields: "type, uuid, parentUuid, sessionId (session_id), agentId (parent_tool_use_id), isSidechain, isMeta, isCompactSummary, isApiErrorMessage, timestamp, \
                 message {id, role, model, content, usage}",
        seen: "none; written from its form in 2.0 and 2.1",
        needs: &[&["sessionId", "session_id"], &["type=user", "type=assistant"], &["message.role", "message.content"]],
        read: claude_code::read,
    },
    Source {
        name: "codex",
        conversation: "a rollout file",
        fields: "type, timestamp, payload {type, id, model, role, content, name, namespace, arguments, input, action, \
                 call_id, output, info, result, exit_code, success, item {id, status}}",
        seen: "0.171; the forms before it are written from 0.40 and later",
        needs: &[&["payload"], &["type=response_item", "type=session_meta", "type=turn_context", "type=event_msg"]],
        read: codex::read,
    },
    Source {
        name: "opencode",
        conversation: "the lines of `run --format json` with one sessionID",
        fields: "type, sessionID, timestamp, part {messageID, callID, tool, text, reason, tokens, state {status, \
                 input, output, error, metadata.exit}}",
        seen: "1.18",
        needs: &[
            &["sessionID"],
            &["part", "type=error"],
            &["type=tool_use", "type=text", "type=step_start", "type=error"],
        ],
        read: opencode::read,
    },
    Source {
        name: RECORDED,
        conversation: "the rows of a session that `proxy --record --record-texts` wrote (calls-*.jsonl)",
        fields: "episode, call, tool, arguments, is_error, text",
        seen: "those of this program",
        needs: &[&["episode"], &["effect"], &["tool"], &["arguments"]],
        read: healbench::read,
    },
    Source {
        name: "openai-responses",
        conversation: "an array of items, or an object with input and output; also one a line",
        fields: "model, tools, usage, input[], output[] {type, role, content, name, arguments, input, call_id, output, error}",
        seen: "the API of 2025",
        needs: &[
            &[
                "call_id",
                "input[].call_id",
                "output[].call_id",
                "items[].call_id",
                "output[].type=message",
                "output[].type=mcp_call",
            ],
            &[
                "type=function_call",
                "type=custom_tool_call",
                "input[].type=function_call",
                "input[].type=custom_tool_call",
                "output[].type=function_call",
                "output[].type=custom_tool_call",
                "output[].type=message",
                "output[].type=mcp_call",
                "items[].type=function_call",
            ],
        ],
        read: responses::read,
    },
    Source {
        name: "anthropic",
        conversation: "an object with messages; also one a line, or in an array",
        fields: "model, tools, task_id, messages[] {role, content[] {type, text, id, name, input, tool_use_id, content, is_error}, \
                 usage}",
        seen: "evaluation files of github:everruns/bashkit at b7097ab",
        needs: &[
            &["messages[].role", "role"],
            &["messages[].content[].type=tool_use", "content[].type=tool_use", "messages[].content[].tool_use_id"],
        ],
        read: chat::read,
    },
    Source {
        name: "openai-chat",
        conversation: "an array of messages, or an object with messages; also one a line, or in an array",
        fields: "model, tools, task_id, messages[] {role, content, tool_calls[] {id, function {name, arguments}}, tool_call_id, \
                 is_error, error, usage}",
        seen: "baseline/output of github:icip-cas/LiveMCPBench at a928e57",
        needs: &[
            &["messages[].role", "role"],
            &["messages[].content", "content", "messages[].tool_calls", "tool_calls"],
        ],
        read: chat::read,
    },
];

/// Returns the source with a name.
pub(crate) fn by_name(name: &str) -> Result<&'static Source, ImportError> {
    let unknown = || ImportError::UnknownSource { name: name.to_owned(), known: names() };
    SOURCES.iter().find(|source| source.name == name).ok_or_else(unknown)
}

/// Returns the names of the sources.
pub(crate) fn names() -> String {
    SOURCES.map(|source| source.name).join(", ")
}

impl Source {
    /// Returns what the outline lacks of what its logs have.
    fn lacks(&self, outline: &Outline) -> Vec<&'static [&'static str]> {
        let is_missing = |need: &&&'static [&'static str]| !need.iter().any(|path| outline.has(path));
        self.needs.iter().filter(is_missing).copied().collect()
    }

    /// Returns the first thing that its logs have, if the outline has nothing of them.
    pub(crate) fn lacks_all(&self, outline: &Outline) -> Option<String> {
        let missing = self.lacks(outline);
        (missing.len() == self.needs.len()).then(|| missing[0].join("` or `"))
    }
}

/// The part that is missing in a log of no known source.
pub(crate) struct Missing {
    pub(crate) text: String,
    /// True if it may be a log of a source all the same.
    pub(crate) is_near: bool,
}

/// Returns the source of a log, or what is missing: the first thing that it lacks for each of the two nearest sources, if any is near.
pub(crate) fn recognize(outline: &Outline) -> Result<&'static Source, Missing> {
    let mut nearest = Vec::new();
    for source in &SOURCES {
        let missing = source.lacks(outline);
        let Some(first) = missing.first() else { return Ok(source) };
        let met = (source.needs.len() - missing.len()) * 100 / source.needs.len();
        nearest.push((met, source.name, first.join("` or `")));
    }
    nearest.sort_by_key(|(met, ..)| std::cmp::Reverse(*met));
    let is_near = nearest[0].0 > 0;
    let nearest = nearest.into_iter().take(2).map(|(_, name, first)| format!("a log of {name} has `{first}`"));
    let text = match (outline.has_value(), is_near) {
        (false, _) => "it is no JSON".to_owned(),
        (true, false) => "it has no messages".to_owned(),
        (true, true) => nearest.collect::<Vec<_>>().join("; "),
    };
    Err(Missing { text, is_near })
}

/// Reads a `.eval` file of Inspect, which is a zip file.
pub(crate) fn read_eval(zip: File, log: Log, is_named: bool, sink: &mut Sink<'_>) -> Result<(), Stop> {
    inspect::read_eval(zip, log, is_named, sink)
}
