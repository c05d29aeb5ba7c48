//! The Agent Client Protocol, version 1, as far as an episode needs it: `initialize`, `session/new`, `session/prompt`,
//! `session/update`, `session/request_permission` and `session/cancel`.

use std::path::Path;

use healbench_core::{ProgramReport, SERVER_NAME, ToolSpec, Turn};
use healbench_mcp::{Message, RpcError, to_line};
use serde_json::{Value, json};

use super::home::McpServer;
use super::text::KeptText;
use super::usage::add_usage;

/// The ids of our requests.
const INITIALIZE: u64 = 1;
const NEW_SESSION: u64 = 2;
const PROMPT: u64 = 3;

/// The codes of refusals that last: a login is wanted, and JSON-RPC's for an unknown method and for wrong parameters.
const LASTING: [i64; 3] = [-32000, -32601, -32602];
/// The code of JSON-RPC for everything else that went wrong.
const INTERNAL_ERROR: i64 = -32603;
/// Words of refusals that want a login or a key, with any code.
const LOGIN: [&str; 8] = ["authent", "unauthor", "login", "log in", "logged in", "sign in", "api key", "credential"];

/// The requests of a program that are answered. Answers wait in memory while the program does not read them.
const MAX_ANSWERS: u32 = 10_000;
/// The bytes of a text that an answer repeats from a request: its id, or the id of an option.
const MAX_ECHO: usize = 1 << 10;

/// The characters of a refusal's data that are repeated.
const MAX_DETAILS: usize = 300;

/// A conversation with a program.
pub(super) struct Conversation {
    prompt: String,
    new_session: Value,
    tools: Vec<String>,
    sums_usage: bool,
    session: Option<String>,
    /// The text since the last call.
    text: KeptText,
    /// The number of the program's requests that were answered.
    answers: u32,
}

/// The reaction to a line of the program.
#[derive(Debug, PartialEq)]
pub(super) enum Reaction {
    /// The line to send.
    Send(Vec<u8>),
    /// The end of the episode.
    End(Turn),
    /// The program refused a request of the task, with a description.
    Failed(String),
    /// The program cannot be set up, which no retry mends, with a description.
    Unusable(String),
    Nothing,
}

impl Conversation {
    /// Returns a conversation and its first line.
    pub(super) fn begin(
        prompt: &str,
        tools: &[ToolSpec],
        work: &Path,
        server: &McpServer,
        sums_usage: bool,
    ) -> (Conversation, Vec<u8>) {
        let McpServer { command, args } = server;
        let server = json!({"name": SERVER_NAME, "command": command, "args": args, "env": []});
        let conversation = Conversation {
            prompt: prompt.to_owned(),
            new_session: json!({"cwd": work.display().to_string(), "mcpServers": [server]}),
            tools: tools.iter().map(|tool| normalized(&tool.name)).collect(),
            sums_usage,
            session: None,
            text: KeptText::default(),
            answers: 0,
        };
        let params = json!({
            "protocolVersion": 1,
            "clientCapabilities": {"fs": {"readTextFile": false, "writeTextFile": false}, "terminal": false},
        });
        (conversation, request(INITIALIZE, "initialize", &params))
    }

    /// Returns true if the program has not begun a session yet.
    pub(super) fn is_setup(&self) -> bool {
        self.session.is_none()
    }

    /// Returns the line that asks the program to stop; `None` before its session.
    pub(super) fn cancel(&self) -> Option<Vec<u8>> {
        let session = self.session.as_ref()?;
        Some(to_line(&json!({"jsonrpc": "2.0", "method": "session/cancel", "params": {"sessionId": session}})))
    }

    /// Reacts to a line.
    pub(super) fn receive(&mut self, line: &[u8], report: &mut ProgramReport) -> Reaction {
        match Message::parse(line) {
            Message::Response { id, outcome } => self.answered(&id, outcome, report),
            Message::Request { id, .. } if self.answers == MAX_ANSWERS || is_long(&id) => {
                report.stray_lines += 1;
                Reaction::Nothing
            }
            Message::Request { id, method, params } if method == "session/request_permission" => {
                self.answers += 1;
                Reaction::Send(self.permission(&id, &params, report))
            }
            Message::Request { id, .. } => {
                self.answers += 1;
                let error = json!({"code": -32601, "message": "the client does not offer this"});
                Reaction::Send(to_line(&json!({"jsonrpc": "2.0", "id": id, "error": error})))
            }
            Message::Notification { method, params } => {
                if method == "session/update" {
                    self.update(&params["update"], report);
                }
                Reaction::Nothing
            }
            Message::Invalid if line.trim_ascii().is_empty() => Reaction::Nothing,
            Message::Batch | Message::Invalid => {
                report.stray_lines += 1;
                Reaction::Nothing
            }
        }
    }

    fn answered(&mut self, id: &Value, outcome: Result<Value, RpcError>, report: &mut ProgramReport) -> Reaction {
        // Some programs return the number as a text.
        let number = id.as_u64().or_else(|| id.as_str()?.parse().ok());
        let (method, id) = match number {
            Some(INITIALIZE) => ("initialize", INITIALIZE),
            Some(NEW_SESSION) => ("session/new", NEW_SESSION),
            Some(PROMPT) => ("session/prompt", PROMPT),
            _ => {
                report.stray_lines += 1;
                return Reaction::Nothing;
            }
        };
        let result = match outcome {
            Ok(result) => result,
            Err(RpcError { code, message, data }) => {
                let details = details(&data).map(|details| format!(": {details}")).unwrap_or_default();
                let refused = format!("it refused `{method}`: {message}{details} ({code})");
                let may_pass = code == INTERNAL_ERROR || (id == PROMPT && !LASTING.contains(&code));
                return match may_pass && !wants_login(&message, &data) {
                    true => Reaction::Failed(refused),
                    false => Reaction::Unusable(refused),
                };
            }
        };
        match id {
            INITIALIZE => Reaction::Send(request(NEW_SESSION, "session/new", &self.new_session)),
            NEW_SESSION => {
                let Some(session) = result["sessionId"].as_str() else {
                    return Reaction::Unusable("it answered `session/new` without a session".to_owned());
                };
                self.session = Some(session.to_owned());
                let prompt = json!([{"type": "text", "text": self.prompt}]);
                Reaction::Send(request(PROMPT, "session/prompt", &json!({"sessionId": session, "prompt": prompt})))
            }
            _ => {
                if self.sums_usage {
                    add_usage(report, &result["usage"]);
                }
                let text = self.text.take(&mut report.dropped_text_bytes);
                match result["stopReason"].as_str() {
                    Some("end_turn") => Reaction::End(Turn::Answer { text }),
                    Some("max_tokens" | "max_turn_requests") => Reaction::End(Turn::Incomplete { text }),
                    Some("refusal") => Reaction::End(Turn::Refused { reason: text }),
                    reason => Reaction::Failed(format!("it stopped for the reason {}", json!(reason))),
                }
            }
        }
    }

    fn update(&mut self, update: &Value, report: &mut ProgramReport) {
        match update["sessionUpdate"].as_str() {
            Some("agent_message_chunk") => {
                let text = update["content"]["text"].as_str().unwrap_or_default();
                self.text.push(text, &mut report.dropped_text_bytes);
            }
            Some("tool_call") => {
                self.text.clear();
                report.own_tool_calls += u32::from(!self.is_ours(update));
            }
            _ => {}
        }
    }

    /// Returns true if a call is one of the scenario's tools, as far as the program tells.
    fn is_ours(&self, call: &Value) -> bool {
        let is_other = matches!(call["kind"].as_str(), None | Some("other"));
        let title = normalized(call["title"].as_str().unwrap_or_default());
        let names = |tool: &String| title == *tool || title.contains(&format!("{SERVER_NAME}_{tool}"));
        is_other && self.tools.iter().any(names)
    }

    /// Grants what asks for a tool of the scenario, once; refuses everything else.
    fn permission(&self, id: &Value, params: &Value, report: &mut ProgramReport) -> Vec<u8> {
        let options = params["options"].as_array().map(Vec::as_slice).unwrap_or_default();
        let option = |kind: &str| {
            let option = options.iter().find(|option| option["kind"] == kind && !is_long(&option["optionId"]));
            option.map(|option| &option["optionId"])
        };
        let chosen = match self.is_ours(&params["toolCall"]) {
            true => option("allow_once").or_else(|| option("allow_always")),
            false => None,
        };
        let outcome = match chosen {
            Some(chosen) => {
                report.granted_permissions += 1;
                json!({"outcome": "selected", "optionId": chosen})
            }
            None => {
                report.refused_permissions += 1;
                match option("reject_once").or_else(|| option("reject_always")) {
                    Some(chosen) => json!({"outcome": "selected", "optionId": chosen}),
                    None => json!({"outcome": "cancelled"}),
                }
            }
        };
        to_line(&json!({"jsonrpc": "2.0", "id": id, "result": {"outcome": outcome}}))
    }
}

/// Returns what the data of a refusal say beside its message.
fn details(data: &Value) -> Option<String> {
    let text =
        ["details", "message", "error", "reason"].into_iter().find_map(|key| data[key].as_str()).or(data.as_str())?;
    (!text.is_empty()).then(|| text.chars().take(MAX_DETAILS).collect())
}

/// Returns true if a refusal wants its user to log in, as its message or data say.
fn wants_login(message: &str, data: &Value) -> bool {
    let text = format!("{message} {data}").to_lowercase().replace('_', " ");
    LOGIN.iter().any(|words| text.contains(words))
}

/// Returns true if an answer cannot repeat a value.
fn is_long(value: &Value) -> bool {
    match value {
        Value::String(text) => text.len() > MAX_ECHO,
        Value::Array(_) | Value::Object(_) => true,
        Value::Null | Value::Bool(_) | Value::Number(_) => false,
    }
}

/// Returns a name with everything but letters and digits as one `_`: `mcp__tools__leave` and `tools/leave` end equal.
fn normalized(name: &str) -> String {
    let words: Vec<&str> = name.split(|c: char| !c.is_alphanumeric()).filter(|word| !word.is_empty()).collect();
    words.join("_")
}

fn request(id: u64, method: &str, params: &Value) -> Vec<u8> {
    to_line(&json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params}))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn conversation() -> (Conversation, Vec<u8>) {
        let tool = ToolSpec {
            name: "issue_list".to_owned(),
            description: String::new(),
            discriminator: None,
            actions: Vec::new(),
        };
        let server = McpServer { command: "/bin/h".to_owned(), args: vec!["serve".to_owned()] };
        Conversation::begin("Do it.", &[tool], Path::new("/w"), &server, true)
    }

    fn json(line: &[u8]) -> Value {
        serde_json::from_slice(line).unwrap()
    }

    fn receive(conversation: &mut Conversation, report: &mut ProgramReport, line: &Value) -> Value {
        match conversation.receive(line.to_string().as_bytes(), report) {
            Reaction::Send(line) => json(&line),
            other => panic!("{line}: {other:?}"),
        }
    }

    #[test]
    fn a_session_gets_the_task_and_ends_with_its_answer() {
        let (mut conversation, first) = conversation();
        let mut report = ProgramReport::default();
        assert_eq!(json(&first)["method"], "initialize");
        let answer = |id: u64, result: Value| json!({"jsonrpc": "2.0", "id": id, "result": result});
        let new = receive(&mut conversation, &mut report, &answer(1, json!({"protocolVersion": 1})));
        assert_eq!(new["params"]["mcpServers"][0]["args"], json!(["serve"]));
        assert_eq!(conversation.cancel(), None);
        // An id that comes back as a text is the same id.
        let created = json!({"jsonrpc": "2.0", "id": "2", "result": {"sessionId": "s"}});
        let prompt = receive(&mut conversation, &mut report, &created);
        assert_eq!(prompt["params"]["prompt"][0]["text"], "Do it.");
        assert_eq!(json(&conversation.cancel().unwrap())["params"]["sessionId"], "s");
        for update in [
            json!({"sessionUpdate": "agent_message_chunk", "content": {"type": "text", "text": "First"}}),
            json!({"sessionUpdate": "tool_call", "toolCallId": "1", "title": "tools_issue_list", "kind": "other"}),
            json!({"sessionUpdate": "tool_call", "toolCallId": "2", "title": "ls", "kind": "execute"}),
            json!({"sessionUpdate": "agent_message_chunk", "content": {"type": "text", "text": "Do"}}),
            json!({"sessionUpdate": "agent_message_chunk", "content": {"type": "text", "text": "ne."}}),
        ] {
            let line = json!({"jsonrpc": "2.0", "method": "session/update", "params": {"update": update}});
            assert_eq!(conversation.receive(line.to_string().as_bytes(), &mut report), Reaction::Nothing);
        }
        assert_eq!(conversation.receive(b"starting", &mut report), Reaction::Nothing);
        let usage = json!({"inputTokens": 10, "outputTokens": 2});
        let end = answer(3, json!({"stopReason": "end_turn", "usage": usage})).to_string();
        let end = conversation.receive(end.as_bytes(), &mut report);
        assert_eq!(end, Reaction::End(Turn::Answer { text: "Done.".to_owned() }));
        assert_eq!((report.own_tool_calls, report.stray_lines), (1, 1));
        let usage = report.usage.unwrap();
        assert_eq!((usage.input, usage.output), (10, 2));
    }

    #[test]
    fn only_the_tools_of_the_scenario_are_permitted() {
        let (mut conversation, _) = conversation();
        let mut report = ProgramReport::default();
        let options = json!([{"optionId": "y", "kind": "allow_once"}, {"optionId": "n", "kind": "reject_once"}]);
        for (title, kind, options, outcome) in [
            ("tools_issue_list", "other", &options, json!({"outcome": "selected", "optionId": "y"})),
            ("mcp__tools__issue_list", "other", &options, json!({"outcome": "selected", "optionId": "y"})),
            ("rm -r tools_issue_list", "execute", &options, json!({"outcome": "selected", "optionId": "n"})),
            ("bash", "other", &options, json!({"outcome": "selected", "optionId": "n"})),
            ("bash", "other", &json!([]), json!({"outcome": "cancelled"})),
        ] {
            let params = json!({"toolCall": {"title": title, "kind": kind}, "options": options});
            let line = json!({"jsonrpc": "2.0", "id": 0, "method": "session/request_permission", "params": params});
            let answer = receive(&mut conversation, &mut report, &line);
            assert_eq!(answer["result"]["outcome"], outcome, "{title}");
        }
        assert_eq!((report.granted_permissions, report.refused_permissions), (2, 3));
        let read = json!({"jsonrpc": "2.0", "id": 1, "method": "fs/read_text_file", "params": {}});
        assert_eq!(receive(&mut conversation, &mut report, &read)["error"]["code"], -32601);
    }

    #[test]
    fn what_a_program_asks_is_answered_up_to_a_limit() {
        let (mut conversation, _) = conversation();
        let mut report = ProgramReport::default();
        let request = |id: &Value| json!({"jsonrpc": "2.0", "id": id, "method": "fs/read_text_file"}).to_string();
        let long = request(&"x".repeat(MAX_ECHO + 1).into());
        assert_eq!(conversation.receive(long.as_bytes(), &mut report), Reaction::Nothing);
        let options = json!([{"optionId": "y".repeat(MAX_ECHO + 1), "kind": "allow_once"}]);
        let params = json!({"toolCall": {"title": "issue_list"}, "options": options});
        let line = json!({"jsonrpc": "2.0", "id": 0, "method": "session/request_permission", "params": params});
        let answer = receive(&mut conversation, &mut report, &line);
        assert_eq!(answer["result"]["outcome"], json!({"outcome": "cancelled"}));
        for id in 1..MAX_ANSWERS {
            let reaction = conversation.receive(request(&id.into()).as_bytes(), &mut report);
            assert!(matches!(reaction, Reaction::Send(_)), "{id}");
        }
        assert_eq!(conversation.receive(request(&0.into()).as_bytes(), &mut report), Reaction::Nothing);
        assert_eq!(report.stray_lines, 2);
    }

    #[test]
    fn a_refusal_of_the_setup_is_not_mended_by_a_retry() {
        let refusal_for = |id: u64, code: i64, why: &str| {
            let (mut conversation, _) = conversation();
            let error = json!({"code": code, "message": "No", "data": {"details": why}});
            let line = json!({"jsonrpc": "2.0", "id": id, "error": error});
            conversation.receive(line.to_string().as_bytes(), &mut ProgramReport::default())
        };
        let refusal = |id, code| refusal_for(id, code, "");
        for (id, code, method) in [
            (1, 500, "initialize"),
            (1, -32602, "initialize"),
            (2, -32000, "session/new"),
            (2, -32002, "session/new"),
            (3, -32000, "session/prompt"),
            (3, -32601, "session/prompt"),
        ] {
            assert_eq!(refusal(id, code), Reaction::Unusable(format!("it refused `{method}`: No ({code})")));
        }
        for (id, code, method) in
            [(3, -32603, "session/prompt"), (3, 500, "session/prompt"), (2, -32603, "session/new")]
        {
            assert_eq!(refusal(id, code), Reaction::Failed(format!("it refused `{method}`: No ({code})")));
        }
        let refused = "it refused `session/prompt`: No: quota of the model (-32603)";
        assert_eq!(refusal_for(3, -32603, "quota of the model"), Reaction::Failed(refused.to_owned()));
        for why in ["GEMINI_API_KEY is not set", "You are not logged in"] {
            for id in [2, 3] {
                assert!(matches!(refusal_for(id, -32603, why), Reaction::Unusable(_)), "{why}");
            }
        }
    }
}
