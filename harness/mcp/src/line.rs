//! Newline-delimited JSON-RPC, with a limit for the length of a line.

use std::io::{self, BufRead};

use serde_json::{Value, json};

/// The bytes that a line may have.
pub const MAX_LINE: usize = 16 << 20;

/// A line as it was received, without the line break.
#[derive(Debug, PartialEq, Eq)]
pub enum Line {
    /// The bytes, which need not be text.
    Bytes(Vec<u8>),
    /// It was longer than the limit, and skipped.
    TooLong,
}

/// Reads the next line; `None` at the end of the stream. An end without a line break ends a line.
///
/// # Errors
/// Those of the stream.
pub fn read_line(source: &mut impl BufRead, limit: usize) -> io::Result<Option<Line>> {
    let mut line = Vec::new();
    let mut is_too_long = false;
    loop {
        let available = match source.fill_buf() {
            Ok(available) => available,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
            Err(error) => return Err(error),
        };
        if available.is_empty() {
            return Ok(match (is_too_long, line.is_empty()) {
                (true, _) => Some(Line::TooLong),
                (false, true) => None,
                (false, false) => Some(Line::Bytes(line)),
            });
        }
        let end = available.iter().position(|byte| *byte == b'\n');
        let taken = end.unwrap_or(available.len());
        if line.len() + taken > limit {
            is_too_long = true;
            line = Vec::new();
        } else if !is_too_long {
            line.extend_from_slice(&available[..taken]);
        }
        source.consume(taken + usize::from(end.is_some()));
        if end.is_some() {
            return Ok(Some(if is_too_long { Line::TooLong } else { Line::Bytes(line) }));
        }
    }
}

/// A message of JSON-RPC.
#[derive(Debug, Clone, PartialEq)]
pub enum Message {
    /// A request. Its id is a text or a number, and `1` and `"1"` differ.
    Request {
        id: Value,
        method: String,
        /// The parameters; null if there are none.
        params: Value,
    },
    /// A request without an answer.
    Notification {
        method: String,
        /// The parameters; null if there are none.
        params: Value,
    },
    /// The answer to a request.
    Response {
        /// The id of the request.
        id: Value,
        /// The result, or the error.
        outcome: Result<Value, RpcError>,
    },
    /// Several messages in an array.
    Batch,
    Invalid,
}

/// The error of a response.
#[derive(Debug, Clone, PartialEq)]
pub struct RpcError {
    /// The code, such as -32602.
    pub code: i64,
    pub message: String,
    /// `data`; null if there is none.
    pub data: Value,
}

impl Message {
    pub fn parse(line: &[u8]) -> Message {
        let Ok(mut value) = serde_json::from_slice::<Value>(line) else { return Message::Invalid };
        if value.is_array() {
            return Message::Batch;
        }
        let Some(object) = value.as_object_mut() else { return Message::Invalid };
        if object.get("jsonrpc") != Some(&json!("2.0")) {
            return Message::Invalid;
        }
        let id = object.remove("id").filter(|id| id.is_string() || id.is_number());
        let params = object.remove("params").unwrap_or_default();
        let method = object.get("method").map(|method| method.as_str().map(str::to_owned));
        match (id, method, object.remove("result"), object.remove("error")) {
            (Some(id), Some(Some(method)), None, None) => Message::Request { id, method, params },
            (None, Some(Some(method)), None, None) => Message::Notification { method, params },
            (Some(id), None, Some(result), None) => Message::Response { id, outcome: Ok(result) },
            (Some(id), None, None, Some(error)) => {
                let outcome = Err(RpcError {
                    code: error["code"].as_i64().unwrap_or_default(),
                    message: error["message"].as_str().unwrap_or_default().to_owned(),
                    data: error["data"].clone(),
                });
                Message::Response { id, outcome }
            }
            _ => Message::Invalid,
        }
    }
}

/// Returns the line of a message, with its line break.
pub fn to_line(message: &Value) -> Vec<u8> {
    let mut line = message.to_string().into_bytes();
    line.push(b'\n');
    line
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lines(mut bytes: &[u8], limit: usize) -> Vec<Line> {
        std::iter::from_fn(|| read_line(&mut bytes, limit).unwrap()).collect()
    }

    #[test]
    fn lines_keep_their_bytes_and_have_a_limit() {
        let line = |bytes: &[u8]| Line::Bytes(bytes.to_vec());
        assert_eq!(lines(b"{}\r\n\n\xff\n1", 3), [line(b"{}\r"), line(b""), line(b"\xff"), line(b"1")]);
        assert_eq!(lines(b"1234\n123\n12345678", 3), [Line::TooLong, line(b"123"), Line::TooLong]);
        assert_eq!(lines(b"", 3), []);
    }

    #[test]
    fn a_long_line_is_skipped_without_being_kept() {
        let mut source = io::BufReader::with_capacity(7, io::Read::take(io::repeat(b'x'), 1 << 20));
        assert_eq!(read_line(&mut source, 100).unwrap(), Some(Line::TooLong));
        assert_eq!(read_line(&mut source, 100).unwrap(), None);
    }

    #[test]
    fn messages_are_told_apart() {
        let parse = |text: &str| Message::parse(text.as_bytes());
        let ids: Vec<Message> =
            ["1", "\"1\""].map(|id| parse(&format!(r#"{{"jsonrpc":"2.0","id":{id},"result":{{}}}}"#))).into();
        assert_ne!(ids[0], ids[1]);
        assert!(matches!(&ids[1], Message::Response { id, outcome: Ok(_) } if *id == json!("1")));
        let error = parse(r#"{"jsonrpc":"2.0","id":2,"error":{"code":-32602,"message":"no","data":[1]}}"#);
        let expected = RpcError { code: -32602, message: "no".to_owned(), data: json!([1]) };
        assert_eq!(error, Message::Response { id: json!(2), outcome: Err(expected) });
        let request = r#"{"jsonrpc":"2.0","id":3,"method":"ping"}"#;
        assert!(matches!(parse(request), Message::Request { params: Value::Null, .. }));
        let note = r#"{"jsonrpc":"2.0","method":"notifications/progress","params":{"progress":1}}"#;
        assert!(matches!(parse(note), Message::Notification { .. }));
        assert_eq!(parse("[]"), Message::Batch);
        for invalid in [
            "Server started",
            "{}",
            "1",
            r#"{"jsonrpc":"2.0"}"#,
            r#"{"jsonrpc":"1.0","id":1,"result":{}}"#,
            r#"{"jsonrpc":"2.0","id":null,"result":{}}"#,
            r#"{"jsonrpc":"2.0","id":1,"result":{},"error":{}}"#,
            r#"{"jsonrpc":"2.0","id":1,"method":5}"#,
        ] {
            assert_eq!(parse(invalid), Message::Invalid, "{invalid}");
        }
        assert_eq!(Message::parse(b"\xff"), Message::Invalid);
        assert_eq!(to_line(&json!({"a": "\n"})), b"{\"a\":\"\\n\"}\n");
    }
}
