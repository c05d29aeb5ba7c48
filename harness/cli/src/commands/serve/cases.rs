//! Files of fixed answers. `serve` gives one of them, to record how a client presents it.

use std::collections::BTreeMap;
use std::path::Path;

use healbench_files::{MAX_WRITTEN_BYTES, hint, read_text_file};
use healbench_mcp::{IncomingCall, RpcError};
use healbench_text::plain_text;
use serde::Deserialize;
use serde_json::{Map, Value};

use crate::error::{CliError, ErrorKind};

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct CasesFile {
    cases: BTreeMap<String, Case>,
}

/// A tool, and the answer to every call of it.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Case {
    /// The definition, as `tools/list` has it.
    pub(super) tool: Value,
    /// The call to make, for those who drive clients.
    #[serde(rename = "call")]
    _call: Option<Value>,
    /// The `CallToolResult`.
    result: Option<Value>,
    /// The JSON-RPC error that is sent in its place.
    error: Option<CaseError>,
}

#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
struct CaseError {
    code: i64,
    message: String,
    #[serde(default)]
    data: Value,
}

/// The most characters that a text is made of.
const MAX_CHARACTERS: usize = 10_000_000;

impl Case {
    /// Reads the case with this name.
    pub(super) fn read(file: &Path, name: &str) -> Result<Case, CliError> {
        let text = read_text_file(file, MAX_WRITTEN_BYTES).map_err(|source| CliError::read(file, &source))?;
        let invalid = |problem: String| {
            CliError::new(format_args!("`{}`: {problem}", plain_text(&file.display().to_string())))
                .kind(ErrorKind::Invalid)
        };
        let mut found: CasesFile = serde_json::from_str(&text).map_err(|error| {
            invalid(plain_text(&error.to_string()).into_owned())
                .help("each of `cases` has a `tool`, and a `result` or an `error` to answer with")
        })?;
        let Some(case) = found.cases.remove(name) else {
            return Err(invalid(format!("no case is called `{}`", plain_text(name)))
                .help(hint(name, found.cases.keys().map(String::as_str))));
        };
        match (&case.result, &case.error) {
            (Some(_), None) | (None, Some(_)) => {}
            _ => {
                return Err(invalid(format!("`{}` needs a `result` or an `error`, and not both", plain_text(name))));
            }
        }
        Ok(case)
    }

    /// Returns the line that answers a call.
    pub(super) fn answer(&self, call: &IncomingCall) -> Vec<u8> {
        call.answer(match (&self.result, &self.error) {
            (Some(result), _) => Ok(expand(result, &call.call.arguments)),
            (None, Some(error)) => {
                Err(RpcError { code: error.code, message: error.message.clone(), data: error.data.clone() })
            }
            (None, None) => Ok(Value::Object(Map::new())),
        })
    }
}

/// Expands the objects that describe texts: `{"numbered_lines": N}` for N characters of lines, `{"repeat": TEXT,
/// "characters": N}` for N characters of a text again and again, and `{"echo": "arguments"}` for the arguments of the call.
fn expand(value: &Value, arguments: &Value) -> Value {
    match value {
        Value::Array(items) => items.iter().map(|item| expand(item, arguments)).collect(),
        Value::Object(members) => generated(members, arguments).map_or_else(
            || members.iter().map(|(name, member)| (name.clone(), expand(member, arguments))).collect(),
            Value::String,
        ),
        other => other.clone(),
    }
}

fn generated(members: &Map<String, Value>, arguments: &Value) -> Option<String> {
    let count = |name: &str| Some(usize::try_from(members.get(name)?.as_u64()?).ok()?.min(MAX_CHARACTERS));
    if let (Some(text), Some(count)) = (members.get("repeat").and_then(Value::as_str), count("characters")) {
        return Some(text.chars().cycle().take(count).collect());
    }
    if let Some(count) = count("numbered_lines") {
        let lines: String = (1..=count / 10 + 1).map(|line| format!("{line:09}\n")).collect();
        return Some(lines[..count].to_owned());
    }
    (members.get("echo")?.as_str()? == "arguments").then(|| arguments.to_string())
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn texts_are_made_where_they_are_described() {
        let arguments = json!({"id": 7});
        for (value, expected) in [
            (json!([{"text": {"numbered_lines": 14}}]), json!([{"text": "000000001\n0000"}])),
            (json!({"text": {"repeat": "aé", "characters": 5}}), json!({"text": "aéaéa"})),
            (json!({"a": {"echo": "arguments"}}), json!({"a": "{\"id\":7}"})),
            (json!({"repeat": "x", "other": [1, null]}), json!({"repeat": "x", "other": [1, null]})),
        ] {
            assert_eq!(expand(&value, &arguments), expected);
        }
    }
}
