use std::fmt;

use healbench_core::{canonical_json, fingerprint};
use serde_json::Value;

use crate::llm::Api;

/// The parts of a request that its response depends on.
#[derive(Debug, Clone, Copy)]
pub struct Request<'a> {
    pub api: Api,
    /// The provider's name for the model.
    pub model: &'a str,
    /// The trial. Without a seed, all trials send the same request and get different responses.
    pub trial: u32,
    /// The body, an object, as returned by [`Api::request`].
    pub body: &'a Value,
}

/// The key of a recording: a hash of all fields of a [`Request`], displayed as 32 hexadecimal digits.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Key(u128);

impl Request<'_> {
    /// Returns the key of the request's recording.
    pub fn key(&self) -> Key {
        key_of(self.api, self.model, self.trial, &canonical_json(self.body))
    }
}

/// Returns the key of a request, given the canonical JSON of its body.
pub(super) fn key_of(api: Api, model: &str, trial: u32, body: &str) -> Key {
    let (api, model) = (Value::from(api.name()), Value::from(model));
    // This is the canonical JSON of the five values, assembled without parsing the body.
    let text = format!(r#"{{"api":{api},"body":{body},"model":{model},"trial":{trial},"version":1}}"#);
    let digits = fingerprint(text.as_bytes());
    Key(u128::from_str_radix(&digits[..DIGITS], 16).unwrap_or_default())
}

const DIGITS: usize = 32;

impl Key {
    /// Parses the output of `Display`.
    pub fn parse(text: &str) -> Option<Key> {
        let is_hex = text.len() == DIGITS && text.bytes().all(|b| matches!(b, b'0'..=b'9' | b'a'..=b'f'));
        if is_hex { u128::from_str_radix(text, 16).ok().map(Key) } else { None }
    }
}

impl fmt::Display for Key {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:032x}", self.0)
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_key_hashes_canonical_json() {
        let body = json!({"model": "a/b\"", "messages": [{"role": "user", "content": "é"}]});
        let request = Request { api: Api::OpenaiChat, model: "a/b\"", trial: 3, body: &body };
        let all = json!({"version": 1, "api": "openai-chat", "model": "a/b\"", "trial": 3, "body": body});
        let key = request.key().to_string();
        assert_eq!(key, fingerprint(canonical_json(&all).as_bytes())[..32]);
        assert_eq!(Key::parse(&key), Some(request.key()));
        assert_eq!(Key::parse("+0000000000000000000000000000001"), None);
    }
}
