//! The names that a reader knows, and how a text may write them.

use std::borrow::Cow;

use healbench_protocol::{Script, ToolSpec};
use serde_json::Value;

/// Names of tools, actions and fields: of the tool list, of the intents and of the beliefs.
#[derive(Debug, Clone, Default)]
pub struct Vocabulary<'a> {
    tools: Vec<&'a ToolSpec>,
    /// Top-level fields, sorted.
    fields: Vec<&'a str>,
    /// Nested fields outside of lists as (name, path), sorted; a text may name them without the path.
    nested: Vec<(&'a str, String)>,
    /// Actions that an intent calls; the tool list may be too old to have them.
    intended: Vec<&'a str>,
}

/// Where servers keep arguments, as in `body.amount`: no part of a field's path.
const WRAPPER_KEYS: [&str; 8] = ["body", "query", "params", "args", "arguments", "input", "properties", "root"];

impl<'a> Vocabulary<'a> {
    /// Everything that an agent knows by name at the start of an episode.
    pub fn new(tools: &'a [ToolSpec], script: &'a Script) -> Vocabulary<'a> {
        let mut vocabulary = Vocabulary { tools: tools.iter().collect(), ..Vocabulary::default() };
        for tool in tools {
            vocabulary.fields.extend(tool.discriminator.as_deref());
            for action in &tool.actions {
                vocabulary.add_schema(&action.input_schema, "");
            }
        }
        for step in &script.steps {
            vocabulary.add_value(&step.intended.arguments, "");
            vocabulary.add_value(&step.draft.arguments, "");
            vocabulary.fields.extend(step.find.keys().map(String::as_str).filter(|name| !name.contains('.')));
            let tool = tools.iter().find(|tool| tool.name == step.intended.tool);
            let discriminator = tool.and_then(|tool| tool.discriminator.as_deref());
            let action = discriminator.and_then(|field| step.intended.arguments.get(field)?.as_str());
            vocabulary.intended.extend(action);
        }
        vocabulary.fields.sort_unstable();
        vocabulary.fields.dedup();
        vocabulary.nested.sort_unstable();
        vocabulary.nested.dedup();
        vocabulary
    }

    /// Everything that it holds: vocabularies with the same bytes read every text alike. The length comes first.
    pub(crate) fn cache_key(&self) -> Vec<u8> {
        // Taken apart, so that what is added to it cannot be forgotten here.
        let Vocabulary { tools, fields, nested, intended } = self;
        let mut out = Vec::with_capacity(1024);
        out.extend_from_slice(&[0; 8]);
        let mut put = |kind: u8, name: &str| {
            out.push(kind);
            out.extend_from_slice(&(name.len() as u64).to_le_bytes());
            out.extend_from_slice(name.as_bytes());
        };
        for tool in tools {
            put(b't', &tool.name);
            tool.discriminator.iter().for_each(|field| put(b'd', field));
            tool.actions.iter().for_each(|action| put(b'a', &action.name));
        }
        fields.iter().for_each(|field| put(b'f', field));
        for (name, path) in nested {
            put(b'n', name);
            put(b'p', path);
        }
        intended.iter().for_each(|action| put(b'i', action));
        let length = (out.len() as u64).to_le_bytes();
        out[..8].copy_from_slice(&length);
        out
    }

    fn add_schema(&mut self, schema: &'a Value, prefix: &str) {
        let Some(properties) = schema.get("properties").and_then(Value::as_object) else { return };
        for (name, property) in properties {
            self.add_name(name, prefix);
            if property.get("properties").is_some() {
                self.add_schema(property, &format!("{prefix}{name}."));
            }
        }
    }

    fn add_value(&mut self, value: &'a Value, prefix: &str) {
        let Some(object) = value.as_object() else { return };
        for (name, item) in object {
            self.add_name(name, prefix);
            if item.is_object() {
                self.add_value(item, &format!("{prefix}{name}."));
            }
        }
    }

    fn add_name(&mut self, name: &'a str, prefix: &str) {
        if prefix.is_empty() {
            self.fields.push(name);
        } else {
            self.nested.push((name, format!("{prefix}{name}")));
        }
    }

    /// The dotted path that `raw` (`role`, `/lines/0/qty`, `lines[0].qty`, `body.role`, `city`) stands for, if it names a known
    /// field.
    pub(super) fn field_path(&self, raw: &str) -> Option<String> {
        let raw = raw.trim_matches(|c: char| matches!(c, '*' | '`' | '"' | '\'') || c.is_whitespace());
        if raw.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_') {
            return self.known_field(raw).map(Cow::into_owned);
        }
        if raw.len() > 200 || raw.contains(char::is_whitespace) {
            return None;
        }
        if self.has_field(raw) {
            return Some(raw.to_owned());
        }
        let parts: Vec<&str> =
            raw.split(['.', '/', '[', ']']).filter(|part| !matches!(*part, "" | "#" | "$")).collect();
        let start = parts.iter().position(|part| !WRAPPER_KEYS.contains(part) || self.has_field(part))?;
        let first = self.known_field(parts[start])?;
        Some(if start + 1 == parts.len() {
            first.into_owned()
        } else if self.has_field(&first) {
            parts[start..].join(".")
        } else {
            return None;
        })
    }

    fn known_field(&self, name: &str) -> Option<Cow<'_, str>> {
        if let Ok(index) = self.fields.binary_search(&name) {
            return Some(Cow::Borrowed(self.fields[index]));
        }
        let from = self.nested.partition_point(|(leaf, _)| *leaf < name);
        let mut same = self.nested[from..].iter().take_while(|(leaf, _)| *leaf == name);
        match (same.next(), same.next()) {
            (Some((_, path)), None) => Some(Cow::Borrowed(path)),
            // A name that stands in two places says neither.
            _ => None,
        }
    }

    /// The field that a plural speaks of: `statuses` of `status`, `priorities` of `priority`.
    pub(super) fn field_of_plural(&self, plural: &str) -> Option<String> {
        let plural = plural.to_lowercase();
        let singular = [("ies", "y"), ("es", ""), ("s", "")].into_iter().filter_map(|(end, instead)| {
            let stem = plural.strip_suffix(end).filter(|stem| !stem.is_empty())?;
            Some(format!("{stem}{instead}"))
        });
        singular.into_iter().find_map(|name| self.field_path(&name))
    }

    fn has_field(&self, name: &str) -> bool {
        self.fields.binary_search(&name).is_ok()
    }

    /// Whether the field selects a tool's action.
    pub(super) fn is_discriminator(&self, field: &str) -> bool {
        self.tools.iter().any(|tool| tool.discriminator.as_deref() == Some(field))
    }

    /// Whether some tool has an action of this name, as far as the reader knows.
    pub(super) fn is_action(&self, name: &str) -> bool {
        self.intended.contains(&name) || self.tools.iter().any(|tool| tool.action(name).is_some())
    }

    /// The tool and action of a full name (`billing.list`, `billing/list`, or a tool with a single action); the action need
    /// not be one that the reader knows.
    pub(super) fn resolve_action(&self, name: &str) -> Option<(String, String)> {
        for tool in &self.tools {
            let rest = match name.get(..tool.name.len()) {
                Some(head) if head.eq_ignore_ascii_case(&tool.name) => &name[tool.name.len()..],
                _ => continue,
            };
            if rest.is_empty() {
                if let (None, [only]) = (&tool.discriminator, tool.actions.as_slice()) {
                    return Some((tool.name.clone(), only.name.clone()));
                }
            } else if let Some(action) = rest.strip_prefix(['.', '/', ':'])
                && !action.is_empty()
                && tool.discriminator.is_some()
            {
                let known = tool.actions.iter().find(|known| known.name.eq_ignore_ascii_case(action));
                return Some((tool.name.clone(), known.map_or(action, |known| &known.name).to_owned()));
            }
        }
        None
    }
}

#[cfg(test)]
mod tests {
    use healbench_protocol::{Step, ToolCall};
    use serde_json::json;

    use super::*;

    /// What an agent knows besides the tool list and the names of arguments.
    #[test]
    fn different_vocabularies_have_different_cache_keys() {
        let tools = [ToolSpec {
            name: "valves".to_owned(),
            description: String::new(),
            discriminator: Some("action".to_owned()),
            actions: Vec::new(),
        }];
        let script = |action: &str| {
            let call = ToolCall { tool: "valves".to_owned(), arguments: json!({"action": action}) };
            Script { steps: vec![Step { intended: call.clone(), draft: call, find: Default::default() }] }
        };
        let (alpha, beta) = (script("alpha"), script("beta"));
        let (alpha, beta) = (Vocabulary::new(&tools, &alpha), Vocabulary::new(&tools, &beta));
        assert!(alpha.is_action("alpha") && !beta.is_action("alpha"));
        assert_ne!(alpha.cache_key(), beta.cache_key());
    }
}
