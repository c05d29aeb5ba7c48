//! The names that an agent knows, and the spellings in which texts mention them.

use std::borrow::Cow;

use healbench_core::{ActionSpec, Script, ToolSpec};
use serde_json::Value;

use super::entries::ENTRY;
use super::mentions::{is_same_word, stem_of, words_of};
use super::tokens::{Token, TokenKind};

/// The names of tools, actions and fields that an agent knows: those of the tool list, and those in the script's
/// intended calls (which a perfect agent would make) and drafts (which this agent sends first). A text is searched
/// for these names.
#[derive(Debug, Clone, Default)]
pub struct Vocabulary<'a> {
    tools: Vec<&'a ToolSpec>,
    fields: Vec<&'a str>,
    /// Nested fields outside of lists as (name, path), sorted. A text may mention them without the path.
    nested: Vec<(&'a str, String)>,
    /// The actions of intended calls. An outdated tool list may lack them.
    intended: Vec<&'a str>,
}

/// Names under which servers pass arguments, as in `body.amount`. They are not part of a field's path.
const WRAPPER_KEYS: [&str; 11] =
    ["body", "query", "params", "args", "arguments", "input", "properties", "root", "data", "payload", "request"];

impl<'a> Vocabulary<'a> {
    /// Collects the names that an agent knows at the start of an episode.
    pub fn new(tools: &'a [ToolSpec], script: &'a Script) -> Vocabulary<'a> {
        let mut vocabulary = Vocabulary::of_tools(tools);
        let scripted = vocabulary.names_of_script(script);
        vocabulary.fields.extend(scripted.fields);
        vocabulary.nested.extend(scripted.nested);
        vocabulary.intended = scripted.intended;
        vocabulary.sorted()
    }

    /// Collects the names of a list of tools: all that somebody knows who has not read the script.
    pub fn of_tools(tools: &'a [ToolSpec]) -> Vocabulary<'a> {
        let mut vocabulary = Vocabulary::default();
        vocabulary.add_tools(tools);
        vocabulary.sorted()
    }

    /// Returns the names of a script that the tools, whose vocabulary this is, do not have.
    fn names_of_script(&self, script: &'a Script) -> Vocabulary<'a> {
        let mut scripted = Vocabulary::default();
        for step in &script.steps {
            scripted.add_value(&step.intended.arguments, "");
            scripted.add_value(&step.draft.arguments, "");
            scripted.fields.extend(step.find.keys().map(String::as_str).filter(|name| !name.contains('.')));
            let tool = self.tools.iter().find(|tool| tool.name == step.intended.tool);
            let discriminator = tool.and_then(|tool| tool.discriminator.as_deref());
            let action = discriminator.and_then(|field| step.intended.arguments.get(field)?.as_str());
            scripted.intended.extend(action.filter(|action| !self.is_action(action)));
        }
        scripted.fields.retain(|name| !self.has_field(name));
        scripted.nested.retain(|name| self.nested.binary_search(name).is_err());
        scripted.sorted()
    }

    fn add_tools(&mut self, tools: &'a [ToolSpec]) {
        for tool in tools {
            self.tools.push(tool);
            self.fields.extend(tool.discriminator.as_deref());
            for action in &tool.actions {
                self.add_schema(&action.input_schema, "");
            }
        }
    }

    fn sorted(mut self) -> Vocabulary<'a> {
        self.fields.sort_unstable();
        self.fields.dedup();
        self.nested.sort_unstable();
        self.nested.dedup();
        self.intended.sort_unstable();
        self.intended.dedup();
        self
    }

    /// Returns the vocabulary as bytes, which begin with their length: texts have the same statements if these bytes are equal.
    pub(crate) fn cache_key(&self) -> Vec<u8> {
        let mut out = Vec::with_capacity(1024);
        out.extend_from_slice(&[0; 8]);
        for tool in &self.tools {
            put(&mut out, b't', &tool.name);
            tool.discriminator.iter().for_each(|field| put(&mut out, b'd', field));
            tool.actions.iter().for_each(|action| put(&mut out, b'a', &action.name));
        }
        self.fields.iter().for_each(|name| put(&mut out, b'f', name));
        self.nested.iter().for_each(|(_, path)| put(&mut out, b'n', path));
        self.intended.iter().for_each(|action| put(&mut out, b'i', action));
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

    /// Returns the dotted path of the known field that `raw` names (`role`, `/lines/0/qty`, `lines[0].qty`,
    /// `body.role`, `city`).
    pub(super) fn field_path(&self, raw: &str) -> Option<String> {
        let raw = raw.trim_matches(|c: char| matches!(c, '*' | '`' | '"' | '\'') || c.is_whitespace());
        // `--count`, as a shell has it
        let raw = raw.strip_prefix("--").unwrap_or(raw);
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
        // A field may have this name as well.
        let parts = names_in_schema(&parts).filter(|_| !self.fields.contains(&"properties")).unwrap_or(parts);
        let is_outer = |part: &&str| {
            // `CreateVolumeRequest.size_gb`: the type that a field belongs to.
            let is_type =
                part.starts_with(|c: char| c.is_ascii_uppercase()) && parts.first() == Some(part) && parts.len() > 1;
            WRAPPER_KEYS.contains(part) || is_type
        };
        let start = parts.iter().position(|part| !is_outer(part) || self.has_field(part))?;
        let first = self.known_field(parts[start])?;
        Some(if start + 1 == parts.len() {
            first.into_owned()
        } else if self.has_field(&first) {
            self.without_tag(&parts[start..]).unwrap_or_else(|| parts[start..].join("."))
        } else {
            return None;
        })
    }

    /// Returns the known path that is left without the tag of a union, which pydantic writes between an object and its
    /// field: `payment.day` for `payment.card.day`.
    fn without_tag(&self, parts: &[&str]) -> Option<String> {
        if self.has_nested(&parts.join(".")) {
            return None;
        }
        let without = |tag| [&parts[..tag], &parts[tag + 1..]].concat().join(".");
        (1..parts.len() - 1).map(without).find(|path| self.has_nested(path))
    }

    /// Returns true if the path is that of a known field in an object.
    pub(super) fn has_nested(&self, path: &str) -> bool {
        let leaf = path.rsplit('.').next().unwrap_or(path);
        let from = self.nested.partition_point(|(known, _)| *known < leaf);
        self.nested[from..].iter().take_while(|(known, _)| *known == leaf).any(|(_, known)| known == path)
    }

    fn known_field(&self, name: &str) -> Option<Cow<'_, str>> {
        if let Ok(index) = self.fields.binary_search(&name) {
            return Some(Cow::Borrowed(self.fields[index]));
        }
        let from = self.nested.partition_point(|(leaf, _)| *leaf < name);
        let mut same = self.nested[from..].iter().take_while(|(leaf, _)| *leaf == name);
        match (same.next(), same.next()) {
            (Some((_, path)), None) => Some(Cow::Borrowed(path)),
            // A name with two paths is ambiguous.
            _ => None,
        }
    }

    /// Returns all names of fields, each with its path.
    fn names(&self) -> impl Iterator<Item = (&str, &str)> {
        let fields = self.fields.iter().map(|name| (*name, *name));
        fields.chain(self.nested.iter().map(|(name, path)| (*name, path.as_str())))
    }

    /// Returns the field whose name the words at `at` say, and their number: "due date" for `due_date`, "file with ID" for `file_id`.
    pub(super) fn spoken_field(&self, tokens: &[Token<'_>], at: usize, end: usize) -> Option<(usize, String)> {
        self.spoken_by(|name| name, tokens, at, end)
    }

    /// Like [`Vocabulary::spoken_field`], by what the name is about: "payment method" for `payment_method_id`.
    pub(super) fn spoken_thing(&self, tokens: &[Token<'_>], at: usize, end: usize) -> Option<(usize, String)> {
        self.spoken_by(stem_of, tokens, at, end)
    }

    fn spoken_by(
        &self,
        part: impl for<'n> Fn(&'n str) -> &'n str,
        tokens: &[Token<'_>],
        at: usize,
        end: usize,
    ) -> Option<(usize, String)> {
        // Most names begin with another letter.
        let first = tokens[at].text.as_bytes().first().map(u8::to_ascii_lowercase);
        let said = |name: &str| {
            if name.as_bytes().first().map(u8::to_ascii_lowercase) != first {
                return None;
            }
            let mut next = at;
            let mut count = 0;
            for word in words_of(name) {
                while next > at && next < end && tokens[next].is_word("with") {
                    next += 1;
                }
                if next >= end || tokens[next].kind != TokenKind::Word || !is_same_word(tokens[next].text, word) {
                    return None;
                }
                next += 1;
                count += 1;
            }
            (count > 1).then_some(next - at)
        };
        let begins = |(name, _): &(&str, &str)| name.as_bytes().first().map(u8::to_ascii_lowercase) == first;
        let mut found = self.names().filter(begins).filter_map(|(name, path)| Some((said(part(name))?, path)));
        let one = found.next()?;
        let longest =
            found.fold((one, false), |((length, path), twice), (other, other_path)| match other.cmp(&length) {
                std::cmp::Ordering::Greater => ((other, other_path), false),
                std::cmp::Ordering::Equal => ((length, path), twice || other_path != path),
                std::cmp::Ordering::Less => ((length, path), twice),
            });
        // Words that are two names are none.
        let ((length, path), is_twice) = longest;
        (!is_twice).then(|| (length, path.to_owned()))
    }

    /// Returns the only field with the same words in another form: `max_results` for `maxResults`.
    pub(super) fn field_in_other_form(&self, raw: &str) -> Option<String> {
        let same = |name: &str| {
            let mut words = words_of(name);
            words_of(raw).all(|word| words.next().is_some_and(|other| other.eq_ignore_ascii_case(word)))
                && words.next().is_none()
        };
        self.only_field(same)
    }

    /// Returns the only field that is about a thing: `order_id` for "order".
    pub(super) fn field_about(&self, thing: &str) -> Option<String> {
        self.only_field(|name| {
            thing.len() > 2 && words_of(stem_of(name)).last().is_some_and(|last| is_same_word(thing, last))
        })
    }

    /// Returns the field whose name is this noun, in the singular or the plural.
    pub(super) fn field_of_noun(&self, noun: &str) -> Option<String> {
        // "language" for `lang`
        let is_short = |name: &str| {
            name.len() >= 4
                && noun
                    .get(..name.len())
                    .is_some_and(|start| noun.len() > name.len() && start.eq_ignore_ascii_case(name))
        };
        let is_noun = |name: &str| (is_same_word(noun, name) || is_short(name)) && words_of(name).nth(1).is_none();
        self.only_field(|name| noun.len() > 2 && is_noun(name))
    }

    fn only_field(&self, is_meant: impl Fn(&str) -> bool) -> Option<String> {
        let mut found = self.names().filter(|(name, _)| is_meant(name));
        let (_, path) = found.next()?;
        found.next().is_none().then(|| path.to_owned())
    }

    /// Returns the tool and the action whose name the words say in this order, with at most two other words between them: "open a return"
    /// for `open_return`.
    pub(super) fn spoken_action(&self, words: &[&str]) -> Option<(String, String)> {
        let said = |name: &str| {
            let mut at = 0;
            let mut count = 0;
            let is_said = words_of(name).all(|word| {
                let within = if at == 0 { 1 } else { 3 };
                let found = words.iter().skip(at).take(within).position(|shown| is_same_word(shown, word));
                count += 1;
                found.is_some_and(|found| {
                    at += found + 1;
                    true
                })
            });
            is_said && count > 1
        };
        self.tools.iter().find_map(|tool| {
            let name = |action: &ActionSpec| said(if tool.discriminator.is_none() { &tool.name } else { &action.name });
            let action = tool.actions.iter().find(|action| name(action))?;
            Some((tool.name.clone(), action.name.clone()))
        })
    }

    /// Returns the field whose plural this is: `status` for `statuses`, `priority` for `priorities`.
    pub(super) fn field_of_plural(&self, plural: &str) -> Option<String> {
        let plural = plural.to_lowercase();
        let singular = [("ies", "y"), ("es", ""), ("s", "")].into_iter().filter_map(|(end, instead)| {
            let stem = plural.strip_suffix(end).filter(|stem| !stem.is_empty())?;
            Some(format!("{stem}{instead}"))
        });
        singular.into_iter().find_map(|name| self.field_path(&name)).or_else(|| self.field_of_noun(&plural))
    }

    fn has_field(&self, name: &str) -> bool {
        self.fields.binary_search(&name).is_ok()
    }

    /// Returns true if the field is a tool's discriminator.
    pub(super) fn is_discriminator(&self, field: &str) -> bool {
        self.tools.iter().any(|tool| tool.discriminator.as_deref() == Some(field))
    }

    /// Returns true if the name is a known action of any tool.
    pub(super) fn is_action(&self, name: &str) -> bool {
        self.intended.contains(&name) || self.tools.iter().any(|tool| tool.action(name).is_some())
    }

    /// Returns true if the name of a tool or an action has this word: "pay" in `pay_invoice`.
    pub(super) fn is_verb_of_action(&self, word: &str) -> bool {
        let has_word = |name: &str| words_of(name).any(|of| of.eq_ignore_ascii_case(word));
        self.tools.iter().any(|tool| has_word(&tool.name) || tool.actions.iter().any(|action| has_word(&action.name)))
    }

    /// Returns true if the name is that of a known tool.
    pub(super) fn has_tool(&self, name: &str) -> bool {
        self.tools.iter().any(|tool| tool.name.eq_ignore_ascii_case(name))
    }

    /// Returns the name of the tool with this name and this action.
    pub(super) fn tool_with_action(&self, tool: &str, action: &str) -> Option<String> {
        let found = self.tools.iter().find(|known| known.name == tool && known.action(action).is_some())?;
        Some(found.name.clone())
    }

    /// Returns the tool and action of a qualified name (`billing.list`, `billing/list`, or a tool with a single
    /// action). The action may be unknown.
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

/// Returns the names of a path in a JSON Schema, with `items` for the entries of a list: `properties/lines/items/properties/qty`.
fn names_in_schema<'p>(parts: &[&'p str]) -> Option<Vec<&'p str>> {
    let mut rest = parts.iter();
    let mut names = Vec::new();
    while let Some(part) = rest.next() {
        match *part {
            "properties" => names.push(*rest.next()?),
            "items" if !names.is_empty() => names.push(ENTRY),
            _ => return None,
        }
    }
    (!names.is_empty()).then_some(names)
}

fn put(out: &mut Vec<u8>, kind: u8, name: &str) {
    out.push(kind);
    out.extend_from_slice(&(name.len() as u64).to_le_bytes());
    out.extend_from_slice(name.as_bytes());
}

#[cfg(test)]
mod tests {
    use healbench_core::{Step, ToolCall};
    use serde_json::json;

    use super::*;

    /// The key includes actions that only intended calls mention.
    #[test]
    fn different_vocabularies_have_different_cache_keys() {
        let tools = [ToolSpec {
            name: "valves".to_owned(),
            description: String::new(),
            discriminator: Some("action".to_owned()),
            actions: Vec::new(),
        }];
        let only_known = Script::default();
        assert_eq!(Vocabulary::new(&tools, &only_known).cache_key(), Vocabulary::of_tools(&tools).cache_key());
        let script = |action: &str| {
            let call = ToolCall::new("valves", json!({"action": action}));
            let step = Step { intended: call.clone(), draft: call, ..Step::default() };
            Script { steps: vec![step], ..Script::default() }
        };
        let (alpha, beta) = (script("alpha"), script("beta"));
        let (alpha, beta) = (Vocabulary::new(&tools, &alpha), Vocabulary::new(&tools, &beta));
        assert_ne!(alpha.cache_key(), beta.cache_key());
        assert!(alpha.is_action("alpha") && !beta.is_action("alpha"));
    }
}
