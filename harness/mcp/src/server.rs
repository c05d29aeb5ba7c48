//! The server's side of a session, without streams: it is given the lines of a client, and says what to do about them.

use std::sync::Arc;

use healbench_core::{CallResult, ContentBlock, NumberTexts, ProtocolError, ToolCall};
use serde_json::{Map, Value, json};

use crate::client::REVISIONS;
use crate::line::{Message, RpcError, to_line};

/// The revision without `initialize`, whose requests say it themselves.
const STATELESS: &str = "2026-07-28";
/// The member of `_meta` with the revision of a request.
const REVISION_KEY: &str = "io.modelcontextprotocol/protocolVersion";
/// The member of `_meta` with the name of the server.
const SERVER_KEY: &str = "io.modelcontextprotocol/serverInfo";

const INVALID_REQUEST: i64 = -32600;
const UNKNOWN_METHOD: i64 = -32601;
const INVALID_PARAMS: i64 = -32602;
const UNSUPPORTED_REVISION: i64 = -32022;

/// One client's session with a server that has tools and nothing else.
///
/// Calls are answered by the caller, in any order and from any thread, with [`IncomingCall::answer`].
#[derive(Debug, Clone)]
pub struct ToolServer {
    name: String,
    /// The definitions, as `tools/list` has them.
    tools: Arc<[Value]>,
}

/// The reaction to a line of the client.
#[derive(Debug, PartialEq)]
pub enum Incoming {
    /// The line to send.
    Answer(Vec<u8>),
    /// A call to answer.
    Call(IncomingCall),
    /// The client no longer wants the answer to the request with this id, which it may have had already.
    Cancelled(Value),
    /// Nothing is to be done.
    Nothing,
}

/// A call of a client that was not answered yet.
#[derive(Debug, Clone, PartialEq)]
pub struct IncomingCall {
    /// The id of the request.
    pub id: Value,
    /// The call, with the numbers as they were sent.
    pub call: ToolCall,
    is_stateless: bool,
}

impl IncomingCall {
    /// Returns the line that answers the call, with a `CallToolResult` or with a protocol error.
    pub fn answer(&self, outcome: Result<Value, RpcError>) -> Vec<u8> {
        response(&self.id, outcome, self.is_stateless)
    }
}

/// Returns what a client is sent: a `CallToolResult`, or the protocol error.
///
/// # Errors
/// The protocol error.
pub fn call_outcome(result: CallResult) -> Result<Value, RpcError> {
    if let Some(ProtocolError { code, message, data }) = result.protocol_error {
        return Err(RpcError { code, message, data: data.unwrap_or_default() });
    }
    let block = |block: ContentBlock| match block {
        ContentBlock::Text(text) => json!({"type": "text", "text": text}),
        ContentBlock::Other(block) => block,
    };
    let mut sent = Map::new();
    sent.insert("content".to_owned(), result.content.into_iter().map(block).collect());
    if let Some(structured) = result.structured {
        sent.insert("structuredContent".to_owned(), structured);
    }
    sent.insert("isError".to_owned(), result.is_error.into());
    Ok(sent.into())
}

impl ToolServer {
    /// Creates a server with this name and these definitions of tools.
    pub fn new(name: &str, tools: impl Into<Arc<[Value]>>) -> ToolServer {
        ToolServer { name: name.to_owned(), tools: tools.into() }
    }

    /// Reacts to a line of the client.
    pub fn receive(&self, line: &[u8]) -> Incoming {
        match Message::parse(line) {
            Message::Request { id, method, params } => self.request(line, id, &method, &params),
            Message::Notification { method, params } if method == "notifications/cancelled" => {
                Incoming::Cancelled(params["requestId"].clone())
            }
            // The server asks for nothing, so an answer is of no use.
            Message::Notification { .. } | Message::Response { .. } => Incoming::Nothing,
            Message::Batch => self.refuse(&Value::Null, INVALID_REQUEST, "batches are not supported"),
            Message::Invalid if line.trim_ascii().is_empty() => Incoming::Nothing,
            Message::Invalid => self.refuse(&Value::Null, INVALID_REQUEST, "the line is no message of JSON-RPC 2.0"),
        }
    }

    /// Reacts to a line that was longer than the limit.
    pub fn receive_too_long(&self) -> Incoming {
        self.refuse(&Value::Null, INVALID_REQUEST, "the line is too long")
    }

    fn refuse(&self, id: &Value, code: i64, message: &str) -> Incoming {
        let error = RpcError { code, message: message.to_owned(), data: Value::Null };
        Incoming::Answer(response(id, Err(error), false))
    }

    fn request(&self, line: &[u8], id: Value, method: &str, params: &Value) -> Incoming {
        let own_revision = params["_meta"].get(REVISION_KEY).and_then(Value::as_str).map(str::to_owned);
        let is_stateless = own_revision.is_some() || method == "server/discover";
        if let Some(revision) = own_revision.filter(|revision| revision != STATELESS) {
            let data = json!({"supported": [STATELESS], "requested": revision});
            let message = "unsupported protocol version".to_owned();
            let error = RpcError { code: UNSUPPORTED_REVISION, message, data };
            return Incoming::Answer(response(&id, Err(error), is_stateless));
        }
        let result = match method {
            "initialize" => {
                let wanted = params["protocolVersion"].as_str().unwrap_or_default();
                let revision = REVISIONS.into_iter().find(|revision| *revision == wanted).unwrap_or(REVISIONS[0]);
                json!({
                    "protocolVersion": revision,
                    "capabilities": {"tools": {}},
                    "serverInfo": self.info(),
                })
            }
            "server/discover" => json!({
                "supportedVersions": [STATELESS],
                "capabilities": {"tools": {}},
                "ttlMs": 0,
                "cacheScope": "private",
                "_meta": {SERVER_KEY: self.info()},
            }),
            "ping" => json!({}),
            "tools/list" if params["cursor"].is_null() => match is_stateless {
                true => json!({"tools": &*self.tools, "ttlMs": 0, "cacheScope": "private"}),
                false => json!({"tools": &*self.tools}),
            },
            "tools/list" => return self.refuse(&id, INVALID_PARAMS, "unknown cursor: the list has one page"),
            "tools/call" => {
                let Some(name) = params["name"].as_str() else {
                    return self.refuse(&id, INVALID_PARAMS, "`name` is the name of a tool");
                };
                let arguments = match &params["arguments"] {
                    Value::Null => json!({}),
                    arguments => arguments.clone(),
                };
                let numbers = str::from_utf8(line).ok().and_then(NumberTexts::of);
                let numbers = numbers.and_then(|numbers| numbers.member("params")?.member("arguments"));
                let call = ToolCall { numbers, ..ToolCall::new(name, arguments) };
                return Incoming::Call(IncomingCall { id, call, is_stateless });
            }
            _ => return self.refuse(&id, UNKNOWN_METHOD, "the server has tools and nothing else"),
        };
        Incoming::Answer(response(&id, Ok(result), is_stateless))
    }

    fn info(&self) -> Value {
        json!({"name": self.name, "version": env!("CARGO_PKG_VERSION")})
    }
}

fn response(id: &Value, outcome: Result<Value, RpcError>, is_stateless: bool) -> Vec<u8> {
    match outcome {
        Ok(mut result) => {
            if let (true, Some(result)) = (is_stateless, result.as_object_mut()) {
                result.insert("resultType".to_owned(), "complete".into());
            }
            to_line(&json!({"jsonrpc": "2.0", "id": id, "result": result}))
        }
        Err(RpcError { code, message, data }) => {
            let mut error = json!({"code": code, "message": message});
            if !data.is_null() {
                error["data"] = data;
            }
            to_line(&json!({"jsonrpc": "2.0", "id": id, "error": error}))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn server() -> ToolServer {
        ToolServer::new("tools", vec![json!({"name": "echo", "inputSchema": {"type": "object"}})])
    }

    fn answer(line: &str) -> Value {
        match server().receive(line.as_bytes()) {
            Incoming::Answer(line) => serde_json::from_slice(&line).unwrap(),
            other => panic!("{line}: {other:?}"),
        }
    }

    fn request(method: &str, params: &Value) -> String {
        json!({"jsonrpc": "2.0", "id": "a", "method": method, "params": params}).to_string()
    }

    #[test]
    fn a_session_begins_with_the_revision_of_the_client() {
        for (wanted, chosen) in [
            ("2024-11-05", "2024-11-05"),
            ("2025-03-26", "2025-03-26"),
            ("2025-06-18", "2025-06-18"),
            ("2025-11-25", "2025-11-25"),
            ("2030-01-01", "2025-11-25"),
        ] {
            let answer = answer(&request("initialize", &json!({"protocolVersion": wanted})));
            assert_eq!(answer["result"]["protocolVersion"], chosen);
            assert_eq!(answer["result"]["serverInfo"]["name"], "tools");
            assert_eq!(answer["id"], "a");
        }
        assert_eq!(answer(&request("tools/list", &json!({})))["result"]["tools"][0]["name"], "echo");
        assert_eq!(answer(&request("ping", &json!({})))["result"], json!({}));
    }

    #[test]
    fn a_request_of_the_stateless_revision_needs_no_session() {
        let meta = json!({REVISION_KEY: STATELESS});
        let list = answer(&request("tools/list", &json!({"_meta": meta})));
        assert_eq!(list["result"]["resultType"], "complete");
        assert_eq!(list["result"]["ttlMs"], 0);
        assert_eq!(answer(&request("server/discover", &json!({})))["result"]["supportedVersions"], json!([STATELESS]));
        let other = answer(&request("tools/list", &json!({"_meta": {REVISION_KEY: "2031-01-01"}})));
        assert_eq!(other["error"]["code"], UNSUPPORTED_REVISION);
        assert_eq!(other["error"]["data"], json!({"supported": [STATELESS], "requested": "2031-01-01"}));
        let call = request("tools/call", &json!({"name": "echo", "_meta": meta}));
        let Incoming::Call(call) = server().receive(call.as_bytes()) else { panic!("{call}") };
        let line = call.answer(call_outcome(CallResult {
            content: vec![ContentBlock::Text("x".to_owned())],
            ..CallResult::default()
        }));
        let expected = json!({"content": [{"type": "text", "text": "x"}], "isError": false, "resultType": "complete"});
        assert_eq!(serde_json::from_slice::<Value>(&line).unwrap()["result"], expected);
    }

    #[test]
    fn calls_keep_their_ids_and_their_numbers() {
        let line = r#"{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{"name":"echo","arguments":{"n":1e2}}}"#;
        let Incoming::Call(call) = server().receive(line.as_bytes()) else { panic!("no call") };
        assert_eq!((&call.id, call.call.tool.as_str()), (&json!(7), "echo"));
        let numbers = call.call.numbers.as_ref().unwrap();
        assert_eq!(numbers.json_of(&call.call.arguments["n"], ["n"]).as_deref(), Some("1e2"));
        let error = RpcError { code: -32603, message: "no".to_owned(), data: json!([1]) };
        let answered: Value = serde_json::from_slice(&call.answer(Err(error))).unwrap();
        assert_eq!(
            answered,
            json!({"jsonrpc": "2.0", "id": 7, "error": {"code": -32603, "message": "no", "data": [1]}})
        );
        let without = request("tools/call", &json!({"name": "echo"}));
        let Incoming::Call(call) = server().receive(without.as_bytes()) else { panic!("no call") };
        assert_eq!(call.call.arguments, json!({}));
    }

    #[test]
    fn what_is_not_offered_is_refused_and_what_is_no_request_is_not_answered() {
        for (line, code) in [
            (request("resources/list", &json!({})), UNKNOWN_METHOD),
            (request("tools/list", &json!({"cursor": "2"})), INVALID_PARAMS),
            (request("tools/call", &json!({"arguments": {}})), INVALID_PARAMS),
            (request("tools/call", &json!("text")), INVALID_PARAMS),
            ("[]".to_owned(), INVALID_REQUEST),
            ("hello".to_owned(), INVALID_REQUEST),
        ] {
            assert_eq!(answer(&line)["error"]["code"], code, "{line}");
        }
        for (params, id) in [(json!({"requestId": 7}), json!(7)), (json!("text"), Value::Null)] {
            let line = json!({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": params}).to_string();
            assert_eq!(server().receive(line.as_bytes()), Incoming::Cancelled(id));
        }
        for line in [
            r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#,
            r#"{"jsonrpc":"2.0","id":3,"result":{}}"#,
            " \r",
        ] {
            assert_eq!(server().receive(line.as_bytes()), Incoming::Nothing, "{line}");
        }
    }
}
