//! Base calls that were refused, changed as the text of the refusal says.

use healbench_engine::accepts;
use healbench_reader::is_within;
use healbench_reader::reading::{ExpectedFormat, Relation, Statement};
use serde_json::{Value, json};

use crate::places::{example, get, has_word, leaves, plain, schema_at, set};

/// A refused call.
pub(crate) struct Refused<'r> {
    pub(crate) text: &'r str,
    pub(crate) statements: &'r [Statement],
    pub(crate) schema: &'r Value,
    pub(crate) arguments: &'r Value,
    /// Paths that exist, of which the first is the best.
    pub(crate) paths: &'r [String],
}

impl Refused<'_> {
    /// Returns calls that may be right, the likeliest first. `look_up` returns the answer of another tool.
    pub(crate) fn mended(&self, look_up: &mut dyn FnMut(&str) -> Option<Value>) -> Vec<Value> {
        let mut edits: Vec<(String, Value)> = Vec::new();
        let mut whole: Vec<Value> = Vec::new();
        for statement in self.statements.iter().filter(|statement| !self.is_met(statement)) {
            match statement {
                Statement::Missing { field } => edits.extend(self.example(field).map(|value| (field.clone(), value))),
                Statement::Options { field, values } => {
                    edits.extend(values.iter().find_map(|option| self.option(field, option)));
                }
                Statement::Value { field, value: Some(value) } => edits.push((field.clone(), value.clone())),
                Statement::Bound { field, relation, limit } => {
                    edits.extend(self.bound(field, *relation, *limit).map(|value| (field.clone(), value)));
                }
                Statement::Format { field, expected: ExpectedFormat::Named(format) } if is_example(format) => {
                    edits.push((field.clone(), json!(format)));
                }
                Statement::Example { object } => whole.push(self.with(object.iter())),
                Statement::Suggest { tool: Some(tool), .. } => {
                    let answer = look_up(tool);
                    let value =
                        |field: String| Some((answer.as_ref().and_then(|answer| found(answer, &field))?, field));
                    edits.extend(self.fields().into_iter().find_map(value).map(|(value, field)| (field, value)));
                }
                _ => {}
            }
        }
        if self.text.to_lowercase().contains("absolute") {
            let relative = self.fields().into_iter().find(|field| {
                let sent = self.sent(field).and_then(Value::as_str);
                sent.is_some_and(|sent| !sent.starts_with(['/', '{']))
            });
            if let Some(field) = relative {
                whole.extend(self.paths.iter().map(|path| self.with([(&field, &json!(path))])));
            }
        }
        // "You must specify at least one of 'start' and 'end'."
        let unsent = self.unsent_fields().into_iter().filter_map(|field| Some((self.example(&field)?, field)));
        let unsent: Vec<Value> = unsent.map(|(value, field)| self.with([(&field, &value)])).collect();
        let all = self.with(edits.iter().map(|(field, value)| (field, value)));
        let each = edits.iter().map(|(field, value)| self.with([(field, value)]));
        let mut calls: Vec<Value> = Vec::new();
        // What a text demands of one field of two is often enough.
        for call in
            std::iter::once(all).filter(|_| !self.text.contains("ither ")).chain(whole).chain(each).chain(unsent)
        {
            if call != *self.arguments && !calls.contains(&call) && accepts(self.schema, &call) != Ok(false) {
                calls.push(call);
            }
        }
        calls
    }

    fn with<'e>(&self, edits: impl IntoIterator<Item = (&'e String, &'e Value)>) -> Value {
        let mut call = self.arguments.clone();
        for (field, value) in edits {
            set(&mut call, &path(field), value.clone());
        }
        call
    }

    /// Returns true if what was sent is as a statement demands: it is not what was refused.
    fn is_met(&self, statement: &Statement) -> bool {
        let Some(sent) = statement.field().and_then(|field| self.sent(field)) else { return false };
        match statement {
            Statement::Missing { .. } => !sent.is_null(),
            Statement::Options { values, .. } => values.contains(&plain(sent)),
            Statement::Bound { relation, limit, .. } => is_within(sent, *relation, *limit),
            _ => false,
        }
    }

    fn sent(&self, field: &str) -> Option<&Value> {
        get(self.arguments, &path(field))
    }

    fn example(&self, field: &str) -> Option<Value> {
        let schema = schema_at(self.schema, &path(field));
        (!schema.is_null()).then(|| example(schema, self.schema)).flatten()
    }

    /// Returns a field with an option that the schema allows, as a text or as what it is in JSON.
    fn option(&self, field: &String, option: &str) -> Option<(String, Value)> {
        let values = [Some(json!(option)), serde_json::from_str(option).ok()];
        // "Either `a` or `b`" lists fields.
        let is_field = !schema_at(self.schema, &path(option)).is_null();
        let fits = |value: &Value| !is_field && accepts(self.schema, &self.with([(field, value)])) != Ok(false);
        values.into_iter().flatten().find(fits).map(|value| (field.clone(), value))
    }

    fn bound(&self, field: &str, relation: Relation, limit: f64) -> Option<Value> {
        let number = match relation {
            Relation::Above => limit + 1.0,
            Relation::Below => limit - 1.0,
            _ => limit,
        };
        match self.sent(field)? {
            Value::Number(_) => Some(if number.fract() == 0.0 { json!(number as i64) } else { json!(number) }),
            Value::String(text) => {
                let length = number.clamp(0.0, 1000.0) as usize;
                Some(json!(text.chars().chain("x".repeat(length).chars()).take(length).collect::<String>()))
            }
            _ => None,
        }
    }

    /// Returns the fields that the text names and the call leaves out.
    fn unsent_fields(&self) -> Vec<String> {
        let names = self.schema["properties"].as_object().into_iter().flatten().map(|(name, _)| name);
        let is_named = |name: &&String| name.len() > 2 && has_word(self.text, name);
        names.filter(|name| self.sent(name).is_none()).filter(is_named).cloned().collect()
    }

    /// Returns the fields that the text may be about: those of its statements, those whose value it repeats, and the texts that were sent.
    fn fields(&self) -> Vec<String> {
        let named = self.statements.iter().filter_map(|statement| statement.field().map(str::to_owned));
        let texts = self.arguments.as_object().into_iter().flatten().filter(|(_, value)| value.is_string());
        let is_repeated =
            |value: &Value| value.as_str().is_some_and(|value| !value.is_empty() && self.text.contains(value));
        let (repeated, others): (Vec<_>, Vec<_>) = texts.partition(|(_, value)| is_repeated(value));
        let sent = repeated.into_iter().chain(others).map(|(name, _)| name.clone());
        let mut fields: Vec<String> = Vec::new();
        named.chain(sent).for_each(|field| {
            if !fields.contains(&field) {
                fields.push(field);
            }
        });
        fields
    }
}

fn path(field: &str) -> Vec<String> {
    field.split('.').map(str::to_owned).collect()
}

/// Returns true for a format that is written as an example: `2026-01-31`, `ABC-12`, `s3://bucket`.
fn is_example(format: &str) -> bool {
    format.contains(|c: char| c.is_ascii_digit()) || format.contains("://") || format.starts_with('/')
}

/// Returns the value for a field in the answer of a tool: that of its name, or of the last word of its name, in the first record that has
/// one, or the first of a list of texts.
fn found(answer: &Value, field: &str) -> Option<Value> {
    let name: String = field.rsplit('.').next().unwrap_or(field).chars().filter(char::is_ascii_alphanumeric).collect();
    let name = name.to_lowercase();
    let plain = |key: &str| key.chars().filter(char::is_ascii_alphanumeric).collect::<String>().to_lowercase();
    match answer {
        Value::Object(record) => {
            let mut keys: Vec<&String> =
                record.keys().filter(|key| !key.is_empty() && name.ends_with(&plain(key))).collect();
            keys.sort_by_key(|key| std::cmp::Reverse(key.len()));
            let own =
                keys.iter().filter_map(|key| record.get(*key)).find(|value| value.is_string() || value.is_number());
            own.cloned().or_else(|| record.values().find_map(|part| found(part, field)))
        }
        Value::Array(items) => {
            let mut texts = Vec::new();
            items.iter().filter(|item| item.is_string()).for_each(|item| leaves(item, &mut texts));
            texts.first().map(|text| (*text).clone()).or_else(|| items.iter().find_map(|item| found(item, field)))
        }
        _ => None,
    }
}

/// Returns the JSON in the text of an answer; a text of other kind is the list of what its lines begin with.
pub(crate) fn records(text: &str) -> Value {
    serde_json::from_str(text).unwrap_or_else(|_| {
        let begin = |line: &str| {
            let item = line.trim().strip_prefix(['-', '*', '•'])?.trim();
            item.split([' ', ':', ',', '(']).next().map(|word| json!(word.trim_matches(['`', '"', '\''])))
        };
        Value::Array(text.lines().filter_map(begin).collect())
    })
}

#[cfg(test)]
mod tests {
    use healbench_scenarios::load_tools_str;

    use super::*;
    use crate::readers::statements;

    fn mended(text: &str, schema: Value, arguments: Value) -> Vec<Value> {
        let list = json!({"tools": [
            {"name": "get", "inputSchema": schema},
            {"name": "list_projects", "inputSchema": {"type": "object"}},
        ]});
        let list = load_tools_str("tools/list", &list.to_string()).unwrap();
        let tools: Vec<_> = list.tools.iter().map(healbench_engine::definition::Tool::advertised).collect();
        let statements = statements(text, &tools, &arguments, &arguments);
        let paths = ["{dir}/notes.txt".to_owned()];
        let refused = Refused { text, statements: &statements, schema: &schema, arguments: &arguments, paths: &paths };
        refused
            .mended(&mut |tool| (tool == "list_projects").then(|| json!({"projects": [{"name": "Web", "id": "p7"}]})))
    }

    #[test]
    fn a_refusal_says_how_to_go_on() {
        let text = |required: &[&str], fields: &[&str]| {
            let fields: serde_json::Map<String, Value> =
                fields.iter().map(|field| ((*field).to_owned(), json!({"type": "string"}))).collect();
            json!({"type": "object", "required": required, "properties": fields})
        };
        let either = mended(
            "Either `issue` or `url` must be provided",
            text(&["tag"], &["tag", "issue", "url"]),
            json!({"tag": "example"}),
        );
        assert_eq!(either.first(), Some(&json!({"tag": "example", "url": "example"})));
        let mode = mended("mode must be one of: fast, slow", text(&["mode"], &["mode"]), json!({"mode": "example"}));
        assert_eq!(mode, [json!({"mode": "fast"})]);
        let path = mended("Path 'example' must be absolute", text(&["path"], &["path"]), json!({"path": "example"}));
        assert_eq!(path.first(), Some(&json!({"path": "{dir}/notes.txt"})));
        let id = mended(
            "Unknown project 'example'. Call list_projects to see what there is.",
            text(&["project_id"], &["project_id"]),
            json!({"project_id": "example"}),
        );
        assert_eq!(id, [json!({"project_id": "p7"})]);
        let one_of = mended(
            "You must specify at least one of 'start' and 'end'.",
            text(&["tag"], &["tag", "start", "end", "zone"]),
            json!({"tag": "example"}),
        );
        assert!(
            one_of.contains(&json!({"tag": "example", "end": "example"}))
                && one_of.iter().all(|call| call["zone"].is_null()),
            "{one_of:?}"
        );
        let nothing = mended("Cannot reach api.example.org", text(&["a"], &["a"]), json!({"a": "example"}));
        assert_eq!(nothing, Vec::<Value>::new());
    }

    #[test]
    fn lists_of_other_tools_are_read() {
        assert_eq!(found(&records("Tables:\n- users (12 rows)\n- orders"), "table"), Some(json!("users")));
        assert_eq!(found(&records("[{\"id\": 7}]"), "projectId"), Some(json!(7)));
        assert_eq!(found(&records("nothing here"), "id"), None);
    }
}
