//! Files that stand for several scenarios: `for_each` names variants and the values of each.

use healbench_core::Object;
use serde_json::Value;

use crate::Diagnostic;
use crate::diagnostic::MAX_PROBLEMS;
use crate::locate::{Document, Places, child};
use crate::suggest;

/// The key of the variants.
const KEY: &str = "for_each";
/// The largest number of variants of a file.
const MAX_VARIANTS: usize = 1000;
/// The beginning of a placeholder: `{each.NAME}`.
const BEGINNING: &str = "{each.";

/// The content of a variant of a file.
pub(crate) struct Expanded {
    pub(crate) name: String,
    pub(crate) content: Value,
    pub(crate) places: Places,
}

/// Returns each variant of a file; `None` for a file that is one scenario. The id of a variant is that of the file and the name, and all
/// are one cluster unless the file says otherwise.
///
/// # Errors
/// Returns what is wrong with the variants and with what refers to them.
pub(crate) fn variants(document: &Document<'_>) -> Result<Option<Vec<Expanded>>, Vec<Diagnostic>> {
    let Some(file) = document.value.get(KEY) else { return Ok(None) };
    let at = child("", KEY);
    let Some(all) = file.as_object().filter(|all| !all.is_empty()) else {
        let help = "write `for_each: {paid: {state: paid}, sent: {state: sent}}`, and `{each.state}` below".to_owned();
        return Err(vec![document.at_value(&at, "`for_each` needs variants, each with its values", Some(help))]);
    };
    if all.len() > MAX_VARIANTS {
        let message = format!("{} variants are more than {MAX_VARIANTS}", all.len());
        return Err(vec![document.at_value(&at, message, None)]);
    }
    let mut template = document.value.clone();
    template.as_object_mut().map(|root| root.shift_remove(KEY));
    let mut problems = Vec::new();
    let mut expanded = Vec::new();
    let names: Vec<&String> =
        all.values().next().and_then(Value::as_object).into_iter().flat_map(Object::keys).collect();
    for (name, values) in all {
        let here = child(&at, name);
        let is_word = |c: char| c.is_alphanumeric() || matches!(c, '-' | '_' | '.');
        if name.is_empty() || !name.chars().all(is_word) {
            let help = "a name is letters, digits, `-`, `_` and `.`: it becomes a part of the id".to_owned();
            problems.push(document.at_key(&here, format!("`{name}` cannot name a variant"), Some(help)));
        }
        let Some(values) = values.as_object() else {
            problems.push(document.at_value(&here, "a variant is a mapping of names to values", None));
            continue;
        };
        for missing in names.iter().filter(|known| !values.contains_key(**known)) {
            problems.push(document.at_key(&here, format!("this variant has no `{missing}`"), None));
        }
        for surplus in values.keys().filter(|known| !names.contains(known)) {
            let help = suggest::help(surplus, names.iter().map(|name| name.as_str()));
            problems.push(document.at_key(
                &child(&here, surplus),
                format!("the first variant has no `{surplus}`"),
                help,
            ));
        }
        let mut content = template.clone();
        let Expansion { used, places, .. } =
            Expansion::of(document, (name.as_str(), values), &mut problems, &mut content);
        for unused in values.keys().filter(|known| !used.contains(known)) {
            let message = format!("nothing refers to `{BEGINNING}{unused}}}`");
            problems.push(document.at_key(&child(&here, unused), message, None));
        }
        name_variant(&mut content, name);
        expanded.push(Expanded { name: name.clone(), content, places });
    }
    problems.sort();
    // What is wrong in every variant is said once.
    problems.dedup();
    problems.truncate(MAX_PROBLEMS);
    if problems.is_empty() { Ok(Some(expanded)) } else { Err(problems) }
}

/// Adds the name of a variant to its ids.
fn name_variant(content: &mut Value, name: &str) {
    if let Some(root) = content.as_object_mut()
        && let Some(Value::String(id)) = root.get("id").cloned()
    {
        root.insert("id".to_owned(), format!("{id}/{name}").into());
        // Variants keep their cluster and their draws when their file is renamed.
        let former = root.get("renamed_from").and_then(Value::as_str).map(str::to_owned);
        if let Some(former) = &former {
            root.insert("renamed_from".to_owned(), format!("{former}/{name}").into());
        }
        root.entry("cluster").or_insert(Value::String(former.unwrap_or(id)));
    }
}

/// Returns the places of the values of a variant, as [`Document::places`] has them; none if the file has no such variant.
pub(crate) fn places_of(document: &Document<'_>, name: &str) -> Places {
    let Some(values) = document.value[KEY][name].as_object() else { return Places::default() };
    let mut content = document.value.clone();
    content.as_object_mut().map(|root| root.shift_remove(KEY));
    Expansion::of(document, (name, values), &mut Vec::new(), &mut content).places
}

/// The values of one variant, put in the places of their placeholders.
struct Expansion<'a> {
    document: &'a Document<'a>,
    name: &'a str,
    values: &'a Object,
    used: Vec<String>,
    places: Places,
    problems: &'a mut Vec<Diagnostic>,
}

impl<'a> Expansion<'a> {
    /// Fills all placeholders of the content.
    fn of(
        document: &'a Document<'a>,
        (name, values): (&'a str, &'a Object),
        problems: &'a mut Vec<Diagnostic>,
        content: &mut Value,
    ) -> Expansion<'a> {
        let (used, places) = (Vec::new(), Places::default());
        let mut expansion = Expansion { document, name, values, used, places, problems };
        expansion.fill(content, "", "");
        expansion
    }

    /// Fills the placeholders of a value, which stands at `pointer` in the file and at `place` in the content.
    fn fill(&mut self, value: &mut Value, pointer: &str, place: &str) {
        match value {
            Value::String(text) if text.contains(BEGINNING) => {
                if let Some(name) = text.strip_prefix(BEGINNING).and_then(|text| text.strip_suffix('}'))
                    && self.values.contains_key(name)
                {
                    let row = child(&child("", KEY), self.name);
                    self.places.values.insert(place.to_owned(), child(&row, name));
                }
                *value = self.filled(text, pointer);
            }
            Value::Array(items) => {
                for (index, item) in items.iter_mut().enumerate() {
                    self.fill(item, &child(pointer, index), &child(place, index));
                }
            }
            Value::Object(map) => {
                let entries = std::mem::take(map);
                for (key, mut inner) in entries {
                    let at = child(pointer, &key);
                    let is_filled = key.contains(BEGINNING);
                    let key = if is_filled { text_of(&self.filled(&key, &at)) } else { key };
                    let place = child(place, &key);
                    if is_filled {
                        self.places.values.insert(place.clone(), at.clone());
                        self.places.keys.insert(place.clone(), at.clone());
                    }
                    self.fill(&mut inner, &at, &place);
                    if map.insert(key.clone(), inner).is_some() {
                        self.problems.push(self.document.at_key(&at, format!("`{key}` is there twice"), None));
                    }
                }
            }
            _ => {}
        }
    }

    /// Returns a text with the values of its placeholders, or the value itself if the text is one placeholder.
    fn filled(&mut self, text: &str, pointer: &str) -> Value {
        let mut filled = String::new();
        let mut rest = text;
        while let Some((before, after)) = rest.split_once(BEGINNING) {
            filled.push_str(before);
            let Some((name, after)) = after.split_once('}') else {
                filled.push_str(BEGINNING);
                rest = after;
                continue;
            };
            match self.values.get(name) {
                Some(value) => {
                    self.used.push(name.to_owned());
                    if before.is_empty() && after.is_empty() && filled.is_empty() {
                        return value.clone();
                    }
                    filled.push_str(&text_of(value));
                }
                None => {
                    let help = suggest::help(name, self.values.keys().map(String::as_str));
                    self.problems.push(self.document.at_value(
                        pointer,
                        format!("no variant has a value `{name}`"),
                        help,
                    ));
                }
            }
            rest = after;
        }
        filled.push_str(rest);
        filled.into()
    }
}

fn text_of(value: &Value) -> String {
    value.as_str().map_or_else(|| value.to_string(), str::to_owned)
}
