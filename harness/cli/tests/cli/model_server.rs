//! A local server for OpenAI chat completions with scripted replies.

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::{TcpListener, TcpStream};
use std::sync::{Arc, Mutex};

use serde_json::{Value, json};

/// The status and the body of a reply.
pub(crate) type ServerReply = (u16, Value);

/// A received request for a completion.
#[derive(Debug, Clone)]
pub(crate) struct ReceivedRequest {
    pub(crate) authorization: Option<String>,
    pub(crate) body: Value,
}

pub(crate) struct ModelServer {
    /// The base URL for `healbench.toml`.
    pub(crate) url: String,
    requests: Arc<Mutex<Vec<ReceivedRequest>>>,
}

type Script = dyn Fn(usize, &ReceivedRequest) -> ServerReply + Send + Sync;

impl ModelServer {
    /// Starts a server with the model `mini` that answers each request by its number, from 0, with `script`.
    pub(crate) fn start(
        script: impl Fn(usize, &ReceivedRequest) -> ServerReply + Send + Sync + 'static,
    ) -> ModelServer {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let url = format!("http://{}/v1", listener.local_addr().unwrap());
        let requests = Arc::new(Mutex::new(Vec::new()));
        let (script, all): (Arc<Script>, _) = (Arc::new(script), Arc::clone(&requests));
        std::thread::spawn(move || {
            for stream in listener.incoming() {
                let (script, all) = (Arc::clone(&script), Arc::clone(&all));
                // A connection ends when the program under test ends.
                std::thread::spawn(move || {
                    let Ok(stream) = stream else { return };
                    while serve(&stream, &*script, &all).is_some() {}
                });
            }
        });
        ModelServer { url, requests }
    }

    /// Returns the requests for completions so far.
    pub(crate) fn requests(&self) -> Vec<ReceivedRequest> {
        self.requests.lock().unwrap().clone()
    }
}

fn serve(stream: &TcpStream, script: &Script, all: &Mutex<Vec<ReceivedRequest>>) -> Option<()> {
    let mut reader = BufReader::new(stream);
    let (mut first, mut length, mut authorization) = (String::new(), 0, None);
    reader.read_line(&mut first).ok().filter(|read| *read > 0)?;
    loop {
        let mut line = String::new();
        reader.read_line(&mut line).ok().filter(|read| *read > 0)?;
        let Some((name, value)) = line.trim().split_once(':') else { break };
        match name.to_ascii_lowercase().as_str() {
            "content-length" => length = value.trim().parse().ok()?,
            "authorization" => authorization = Some(value.trim().to_owned()),
            _ => {}
        }
    }
    let mut body = vec![0; length];
    reader.read_exact(&mut body).ok()?;
    let (status, answer) = if first.starts_with("GET /v1/models ") {
        (200, json!({"data": [{"id": "mini"}]}))
    } else {
        let request = ReceivedRequest { authorization, body: serde_json::from_slice(&body).ok()? };
        let number = {
            let mut all = all.lock().unwrap();
            all.push(request.clone());
            all.len() - 1
        };
        script(number, &request)
    };
    let text = answer.to_string();
    let head =
        format!("HTTP/1.1 {status} X\r\ncontent-type: application/json\r\ncontent-length: {}\r\n\r\n", text.len());
    let mut stream = stream;
    stream.write_all(format!("{head}{text}").as_bytes()).ok()
}

/// Returns a model's reply without a call.
pub(crate) fn text_reply(text: &str) -> ServerReply {
    reply(json!({"role": "assistant", "content": text}), "stop")
}

/// Returns a model's reply with a call.
pub(crate) fn call_reply(name: &str, arguments: &Value) -> ServerReply {
    let call = json!({"id": "c1", "type": "function", "function": {"name": name, "arguments": arguments.to_string()}});
    reply(json!({"role": "assistant", "content": null, "tool_calls": [call]}), "tool_calls")
}

fn reply(message: Value, reason: &str) -> ServerReply {
    let usage = json!({
        "prompt_tokens": 400, "completion_tokens": 20, "total_tokens": 420,
        "prompt_tokens_details": {"cached_tokens": 100},
    });
    (200, json!({"choices": [{"index": 0, "message": message, "finish_reason": reason}], "usage": usage}))
}

/// A model that first lists the issues of `quickstart/wrong-enum` and then repairs the call.
pub(crate) fn repairing_model(_: usize, request: &ReceivedRequest) -> ServerReply {
    let earlier_replies =
        request.body["messages"].as_array().unwrap().iter().filter(|message| message["role"] == "assistant");
    match earlier_replies.count() {
        0 | 1 => call_reply("issues", &json!({"action": "list", "status": "in_review"})),
        _ => {
            call_reply("issues", &json!({"action": "update", "id": "WEB-7", "status": "completed", "priority": "low"}))
        }
    }
}
