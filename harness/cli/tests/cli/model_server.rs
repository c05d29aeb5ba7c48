//! A server on loopback that speaks OpenAI chat completions and says what a test wants.

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::{TcpListener, TcpStream};
use std::sync::{Arc, Mutex};

use serde_json::{Value, json};

/// What the server answers: a status and a body.
pub(crate) type Answer = (u16, Value);

/// A request for a completion as it came.
#[derive(Debug, Clone)]
pub(crate) struct Came {
    pub(crate) authorization: Option<String>,
    pub(crate) body: Value,
}

pub(crate) struct ModelServer {
    /// The base URL for `healbench.toml`.
    pub(crate) url: String,
    came: Arc<Mutex<Vec<Came>>>,
}

type Script = dyn Fn(usize, &Came) -> Answer + Send + Sync;

impl ModelServer {
    /// Has the model `mini`, and answers the request of each number, from 0, as `script` says.
    pub(crate) fn start(script: impl Fn(usize, &Came) -> Answer + Send + Sync + 'static) -> ModelServer {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let url = format!("http://{}/v1", listener.local_addr().unwrap());
        let came = Arc::new(Mutex::new(Vec::new()));
        let (script, all): (Arc<Script>, _) = (Arc::new(script), Arc::clone(&came));
        std::thread::spawn(move || {
            for stream in listener.incoming() {
                let (script, all) = (Arc::clone(&script), Arc::clone(&all));
                // A connection ends when the program under test does.
                std::thread::spawn(move || {
                    let Ok(stream) = stream else { return };
                    while serve(&stream, &*script, &all).is_some() {}
                });
            }
        });
        ModelServer { url, came }
    }

    /// The requests for completions so far.
    pub(crate) fn came(&self) -> Vec<Came> {
        self.came.lock().unwrap().clone()
    }
}

/// Answers one request.
fn serve(stream: &TcpStream, script: &Script, all: &Mutex<Vec<Came>>) -> Option<()> {
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
        let came = Came { authorization, body: serde_json::from_slice(&body).ok()? };
        let number = {
            let mut all = all.lock().unwrap();
            all.push(came.clone());
            all.len() - 1
        };
        script(number, &came)
    };
    let text = answer.to_string();
    let head =
        format!("HTTP/1.1 {status} X\r\ncontent-type: application/json\r\ncontent-length: {}\r\n\r\n", text.len());
    let mut stream = stream;
    stream.write_all(format!("{head}{text}").as_bytes()).ok()
}

/// A model's answer in words.
pub(crate) fn says(text: &str) -> Answer {
    answer(json!({"role": "assistant", "content": text}), "stop")
}

/// A model's call.
pub(crate) fn calls(name: &str, arguments: &Value) -> Answer {
    let call = json!({"id": "c1", "type": "function", "function": {"name": name, "arguments": arguments.to_string()}});
    answer(json!({"role": "assistant", "content": null, "tool_calls": [call]}), "tool_calls")
}

fn answer(message: Value, reason: &str) -> Answer {
    let usage = json!({
        "prompt_tokens": 400, "completion_tokens": 20, "total_tokens": 420,
        "prompt_tokens_details": {"cached_tokens": 100},
    });
    (200, json!({"choices": [{"index": 0, "message": message, "finish_reason": reason}], "usage": usage}))
}

/// A model that looks at the issues of `quickstart/wrong-enum` first, and then mends the call.
pub(crate) fn mender(_: usize, came: &Came) -> Answer {
    let said = came.body["messages"].as_array().unwrap().iter().filter(|message| message["role"] == "assistant");
    match said.count() {
        0 | 1 => calls("issues", &json!({"action": "list", "status": "in_review"})),
        _ => calls("issues", &json!({"action": "update", "id": "WEB-7", "status": "completed", "priority": "low"})),
    }
}
