//! Answers as a JSON document says: `tools` as in `tools/list`, and for each tool rules, of which the first that holds answers.
//!
//! A rule is a list of conditions and an answer. The condition `f:T` holds if the argument `f` has the JSON type T, which is `none` if it
//! is not there, and `f=V` if its value is V; `!` before either denies it, `>f,g` holds if there is another argument than these, `&f` if
//! a call of the tool with the same `f` has succeeded, and `#N` from the Nth call on. An answer is a whole result, or a text: with `!` before it that of an error, and with `†` the last words of the server; an empty
//! text is no answer.

use std::collections::BTreeSet;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

use serde_json::{Value, json};

use crate::result;

/// The tools and arguments of calls that succeeded.
static SUCCEEDED: Mutex<BTreeSet<(String, String)>> = Mutex::new(BTreeSet::new());

/// The number of calls.
static CALLS: AtomicUsize = AtomicUsize::new(0);

pub(crate) fn answer(id: &Value, rules: &Value, params: &Value) {
    CALLS.fetch_add(1, Ordering::Relaxed);
    let arguments = &params["arguments"];
    let tool = params["name"].as_str().unwrap_or_default();
    let rules = rules[tool].as_array().map_or(&[][..], Vec::as_slice);
    let holds =
        |rule: &&Value| rule[0].as_array().unwrap().iter().all(|c| is_met(c.as_str().unwrap(), tool, arguments));
    match rules.iter().find(holds).map(|rule| &rule[1]) {
        Some(Value::String(text)) => {
            let text = filled(text, arguments);
            if text.is_empty() {
                return;
            }
            if let Some(words) = text.strip_prefix('†') {
                eprintln!("{words}");
                std::process::exit(1);
            }
            let (text, is_error) = text.strip_prefix('!').map_or((text.as_str(), false), |text| (text, true));
            if !is_error {
                let sent = arguments.as_object().into_iter().flatten();
                SUCCEEDED
                    .lock()
                    .unwrap()
                    .extend(sent.map(|(name, value)| (tool.to_owned(), format!("{name}={value}"))));
            }
            result(id, &json!({"content": [{"type": "text", "text": text}], "isError": is_error}));
        }
        Some(whole) => result(id, whole),
        None => result(id, &json!({"content": [{"type": "text", "text": format!("no tool {tool}")}], "isError": true})),
    }
}

fn is_met(condition: &str, tool: &str, arguments: &Value) -> bool {
    if let Some(denied) = condition.strip_prefix('!') {
        return !is_met(denied, tool, arguments);
    }
    if let Some(name) = condition.strip_prefix('&') {
        let sent = format!("{name}={}", arguments[name]);
        return SUCCEEDED.lock().unwrap().contains(&(tool.to_owned(), sent));
    }
    if let Some(known) = condition.strip_prefix('>') {
        return arguments.as_object().unwrap().keys().any(|name| !known.split(',').any(|known| known == name));
    }
    if let Some(number) = condition.strip_prefix('#') {
        return CALLS.load(Ordering::Relaxed) >= number.parse().unwrap();
    }
    match condition.split_once(':') {
        Some((field, kind)) => kind == type_of(arguments.get(field)),
        None => condition.split_once('=').is_some_and(|(field, value)| shown(&arguments[field]) == value),
    }
}

fn type_of(value: Option<&Value>) -> &'static str {
    match value {
        None => "none",
        Some(Value::Null) => "null",
        Some(Value::Bool(_)) => "boolean",
        Some(Value::Number(_)) => "number",
        Some(Value::String(_)) => "string",
        Some(Value::Array(_)) => "array",
        Some(Value::Object(_)) => "object",
    }
}

/// Replaces `{f}` by the value of the argument.
fn filled(text: &str, arguments: &Value) -> String {
    let fields = arguments.as_object().into_iter().flatten();
    fields.fold(text.to_owned(), |text, (name, value)| text.replace(&format!("{{{name}}}"), &shown(value)))
}

fn shown(value: &Value) -> String {
    value.as_str().map_or_else(|| value.to_string(), str::to_owned)
}
