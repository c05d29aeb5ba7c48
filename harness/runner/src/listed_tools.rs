//! The tools of a server, compared with those of its scenario's `tools_file`.
//!
//! The parts of a schema that decide which calls are valid have to be the same. Texts for readers, defaults and examples need not be: they differ at each start
//! of a server that makes them from a set or from the time, and agents are shown those of the file.

use healbench_core::ToolSpec;
use healbench_text::plain_text;
use serde_json::Value;

/// The keywords of a schema that decide about no call.
const UNDECIDING: [&str; 7] = ["title", "description", "default", "examples", "$comment", "deprecated", "readOnly"];
/// The keywords whose value has schemas by name, so that a name is no keyword.
const BY_NAME: [&str; 5] = ["properties", "patternProperties", "$defs", "definitions", "dependentSchemas"];
/// The keywords whose lists mean the same in any order.
const UNORDERED: [&str; 3] = ["required", "enum", "type"];
/// The keywords whose value is no schema.
const VALUES: [&str; 2] = ["enum", "const"];
/// The characters of a value in a message.
const SHOWN: usize = 100;

/// Returns in words how a tool differs from the one of the same name that the server lists; `None` if it does not.
pub(crate) fn difference(expected: &ToolSpec, listed: &[ToolSpec]) -> Option<String> {
    let name = plain_text(&expected.name);
    let Some(found) = listed.iter().find(|tool| tool.name == expected.name) else {
        return Some(format!("the server lists no tool `{name}`, which is in `tools_file`"));
    };
    let schemas =
        |tool: &ToolSpec| tool.actions.iter().map(|action| action.input_schema.clone()).collect::<Vec<Value>>();
    let (before, now) = (schemas(expected), schemas(found));
    let (path, before, now) = before.iter().zip(&now).find_map(|(before, now)| in_schema(before, now))?;
    let shown =
        |value: Option<&Value>| value.map_or("nothing".to_owned(), |value| cut(&plain_text(&value.to_string())));
    Some(format!(
        "its tool `{name}` differs from the one of `tools_file`: {} is {}, and was {}",
        plain_text(&format!("inputSchema{path}")),
        shown(now),
        shown(before)
    ))
}

fn cut(text: &str) -> String {
    match text.char_indices().nth(SHOWN) {
        Some((at, _)) => format!("{}…", &text[..at]),
        None => text.to_owned(),
    }
}

/// The place of a difference, and the values before and now.
type Place<'v> = (String, Option<&'v Value>, Option<&'v Value>);

/// Returns the first place in which two schemas decide differently.
fn in_schema<'v>(before: &'v Value, now: &'v Value) -> Option<Place<'v>> {
    members(before, now, |keyword, before, now| match (before, now) {
        _ if UNDECIDING.contains(&keyword) => None,
        (Some(before), Some(now)) if UNORDERED.contains(&keyword) && is_same_set(before, now) => None,
        (Some(before), Some(now)) if BY_NAME.contains(&keyword) && before.is_object() && now.is_object() => {
            members(before, now, |_, before, now| match (before, now) {
                (Some(before), Some(now)) => in_schema(before, now),
                _ => Some((String::new(), before, now)),
            })
        }
        (Some(before), Some(now)) if !VALUES.contains(&keyword) => in_schema(before, now),
        _ => (before != now).then_some((String::new(), before, now)),
    })
}

/// Compares the members of two objects, or the items of two lists, by `compare`; other values as they are.
fn members<'v>(
    before: &'v Value,
    now: &'v Value,
    mut compare: impl FnMut(&str, Option<&'v Value>, Option<&'v Value>) -> Option<Place<'v>>,
) -> Option<Place<'v>> {
    match (before, now) {
        (Value::Object(left), Value::Object(right)) => {
            let added = right.keys().filter(|name| !left.contains_key(*name));
            left.keys().chain(added).find_map(|name| {
                let (path, before, now) = compare(name, left.get(name), right.get(name))?;
                Some((format!(".{name}{path}"), before, now))
            })
        }
        (Value::Array(left), Value::Array(right)) if left.len() == right.len() => {
            left.iter().zip(right).enumerate().find_map(|(index, (before, now))| {
                let (path, before, now) = in_schema(before, now)?;
                Some((format!("[{index}]{path}"), before, now))
            })
        }
        _ => (before != now).then_some((String::new(), Some(before), Some(now))),
    }
}

fn is_same_set(before: &Value, now: &Value) -> bool {
    let (Some(before), Some(now)) = (before.as_array(), now.as_array()) else { return false };
    before.len() == now.len() && before.iter().all(|item| now.contains(item))
}

#[cfg(test)]
mod tests {
    use healbench_core::ActionSpec;
    use serde_json::json;

    use super::*;

    fn tool(name: &str, schema: Value) -> ToolSpec {
        let action =
            ActionSpec { name: name.to_owned(), description: "d".to_owned(), input_schema: schema, read_only: true };
        ToolSpec { name: name.to_owned(), description: "d".to_owned(), discriminator: None, actions: vec![action] }
    }

    fn differs(before: Value, now: Value) -> Option<String> {
        let mut listed = tool("t", now);
        listed.description = "made at 12:00".to_owned();
        difference(&tool("t", before), &[tool("other", json!({})), listed])
    }

    #[test]
    fn only_what_decides_about_calls_is_compared() {
        let plain = json!({"type": "object", "properties": {"a": {"type": "string"}, "default": {"type": "integer"}}, "required": ["a", "default"]});
        let mut same = plain.clone();
        same["properties"]["a"]["default"] = json!("x,y");
        same["properties"]["a"]["description"] = json!("as of 12:00");
        same["examples"] = json!([{"a": "1"}]);
        same["required"] = json!(["default", "a"]);
        assert_eq!(differs(plain.clone(), same), None);
        // These are names of properties.
        let mut other = plain.clone();
        other["properties"]["default"] = json!({"type": "string"});
        let text = differs(plain.clone(), other).unwrap_or_default();
        assert!(text.ends_with("inputSchema.properties.default.type is \"string\", and was \"integer\""), "{text}");
        let listed = |values: Value| json!({"properties": {"a": {"anyOf": [{"enum": values}, {"type": "null"}]}}});
        assert_eq!(differs(listed(json!(["x", "y"])), listed(json!(["y", "x"]))), None);
        let text = differs(listed(json!(["x", "y"])), listed(json!(["x", "z"]))).unwrap_or_default();
        assert!(text.contains("inputSchema.properties.a.anyOf[0].enum is [\"x\",\"z\"]"), "{text}");
        let mut more = plain.clone();
        more["properties"]["b"] = json!({});
        assert!(differs(plain.clone(), more.clone()).is_some_and(|text| text.ends_with("b is {}, and was nothing")));
        assert!(differs(more, plain).is_some_and(|text| text.ends_with("b is nothing, and was {}")));
        assert!(difference(&tool("gone", json!({})), &[]).is_some_and(|text| text.contains("no tool `gone`")));
    }
}
