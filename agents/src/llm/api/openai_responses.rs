use serde_json::{Value, json};

use super::{Unreadable, Wire};
use crate::llm::{Conversation, Model, Reply};

pub(super) fn headers(_key: Option<&str>) -> Vec<(&'static str, String)> {
    Vec::new()
}

pub(super) fn request(_model: &Model, _conversation: &Conversation, _seed: u32) -> Wire {
    Wire { path: String::new(), body: json!({}) }
}

pub(super) fn reply(_body: &Value) -> Result<Reply, Unreadable> {
    Err(Unreadable("not written yet".to_owned()))
}
