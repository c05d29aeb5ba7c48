//! The calls that are wrong in one respect, made from a base call and the tool's schema.

use healbench_core::Object;
use healbench_engine::{accepts, valid_example};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

/// The most probes of a tool.
pub(crate) const MAX_PROBES: usize = 64;
/// The depth of fields: `a.b.c` has three.
const MAX_DEPTH: usize = 3;
/// The longest text or list that is made to break a bound.
const MAX_LENGTH: u64 = 10_000;

/// A kind of probe.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum ProbeKind {
    /// A required field is left out.
    Missing,
    /// A value has another JSON type.
    WrongType,
    /// A value has another JSON type from which the right one follows.
    Coercible,
    /// A value is null.
    Null,
    /// A value is not one of the options.
    WrongEnum,
    /// A value is an option in another case.
    WrongCase,
    /// A value is beyond a bound by one.
    OutOfRange,
    /// A text does not have its format.
    BadFormat,
    /// A text does not match its pattern.
    BadPattern,
    /// The name of a required field is misspelled.
    MisspelledRequired,
    /// The name of an optional field is misspelled.
    MisspelledOptional,
    /// There is another field.
    Undeclared,
    /// A text names something that does not exist.
    NoSuch,
    /// A call of the calls file that is declared to be wrong.
    Declared,
    /// A tool that does not exist, once for each server.
    UnknownTool,
}

/// What a reader has to be told to repair a probe.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Remedy {
    Missing,
    Type,
    Options,
    Bound,
    Format,
    Unrecognized,
    /// Any remedy.
    Any,
    /// None is looked for.
    None,
}

/// An entry of [`KINDS`].
#[derive(Debug)]
pub struct KindEntry {
    /// The kind.
    pub kind: ProbeKind,
    /// Its name in outputs.
    pub name: &'static str,
    /// What is wrong with the call.
    pub sentence: &'static str,
    pub(crate) remedy: Remedy,
}

/// All kinds, in the order of outputs.
pub const KINDS: [KindEntry; 15] = [
    entry(ProbeKind::Missing, "missing", "a required field is left out", Remedy::Missing),
    entry(
        ProbeKind::WrongType,
        "wrong_type",
        "a text for a number, integer, boolean, list or object; 42 for a text",
        Remedy::Type,
    ),
    entry(ProbeKind::Coercible, "coercible", "`\"1\"` for a number, 1 for a boolean; not scored", Remedy::None),
    entry(ProbeKind::Null, "null", "null", Remedy::Type),
    entry(ProbeKind::WrongEnum, "wrong_enum", "a value that is not one of the options", Remedy::Options),
    entry(ProbeKind::WrongCase, "wrong_case", "an option in another case", Remedy::Options),
    entry(ProbeKind::OutOfRange, "out_of_range", "beyond a bound by one", Remedy::Bound),
    entry(ProbeKind::BadFormat, "bad_format", "a text that does not have its format", Remedy::Format),
    entry(ProbeKind::BadPattern, "bad_pattern", "a text that does not match its pattern", Remedy::Format),
    entry(
        ProbeKind::MisspelledRequired,
        "misspelled_required",
        "the last two letters of a required field's name are swapped",
        Remedy::Unrecognized,
    ),
    entry(
        ProbeKind::MisspelledOptional,
        "misspelled_optional",
        "the last two letters of an optional field's name are swapped",
        Remedy::Unrecognized,
    ),
    entry(ProbeKind::Undeclared, "undeclared", "another field, `hb_extra: true`", Remedy::Unrecognized),
    entry(
        ProbeKind::NoSuch,
        "no_such",
        "`-hb-none` after a required text of a base call that was accepted; not scored",
        Remedy::None,
    ),
    entry(ProbeKind::Declared, "declared", "a call of `wrong` in the calls file", Remedy::Any),
    entry(ProbeKind::UnknownTool, "unknown_tool", "a tool that does not exist; not scored", Remedy::None),
];

const fn entry(kind: ProbeKind, name: &'static str, sentence: &'static str, remedy: Remedy) -> KindEntry {
    KindEntry { kind, name, sentence, remedy }
}

impl ProbeKind {
    /// Returns the entry of the kind.
    pub fn entry(self) -> &'static KindEntry {
        &KINDS[self as usize]
    }
}

/// A call that is wrong in one respect.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Draft {
    pub(crate) kind: ProbeKind,
    /// The dotted path of the field; empty if the probe is about no field, or about several.
    pub(crate) path: String,
    pub(crate) arguments: Value,
    /// True if the arguments are invalid under the schema.
    pub(crate) invalid: bool,
    /// The call that is meant: the base call, with a valid value of the field if that has none.
    pub(crate) intended: Value,
}

/// Makes the probes of a tool that follow from its schema, and returns them with the number of those left out above `most`.
/// `accepted` is true if the server accepted the base call.
pub(crate) fn from_schema(schema: &Value, base: &Value, accepted: bool, most: usize) -> (Vec<Draft>, usize) {
    let mut maker = Maker { schema, base, drafts: Vec::new() };
    let at_root = Place { path: Vec::new(), schema };
    maker.fields(&at_root);
    let last = maker.drafts.len();
    if base.get("hb_extra").is_none() {
        maker.push(ProbeKind::Undeclared, "hb_extra", |arguments| set(arguments, &["hb_extra".into()], json!(true)));
    }
    if accepted {
        maker.no_such();
    }
    // The last ones are about the whole tool, and are kept.
    let general = maker.drafts.split_off(last);
    let room = most.saturating_sub(general.len());
    let left_out = maker.drafts.len().saturating_sub(room);
    maker.drafts.truncate(room);
    maker.drafts.extend(general);
    (maker.drafts, left_out)
}

/// A field: the keys and indices that lead to it, and its schema.
struct Place<'s> {
    path: Vec<String>,
    schema: &'s Value,
}

struct Maker<'s> {
    schema: &'s Value,
    base: &'s Value,
    drafts: Vec<Draft>,
}

impl<'s> Maker<'s> {
    /// Adds the probes of all fields of an object.
    fn fields(&mut self, object: &Place<'s>) {
        let schema = resolve(object.schema, self.schema);
        let required: Vec<&str> =
            schema["required"].as_array().into_iter().flatten().filter_map(Value::as_str).collect();
        let Some(properties) = schema["properties"].as_object() else { return };
        let names: Vec<&String> = properties.keys().collect();
        for (name, property) in properties {
            let place = Place { path: [object.path.as_slice(), std::slice::from_ref(name)].concat(), schema: property };
            self.field(&place, required.contains(&name.as_str()), &names);
        }
    }

    fn field(&mut self, place: &Place<'s>, is_required: bool, names: &[&String]) {
        let schema = resolve(place.schema, self.schema);
        let is_sent = get(self.base, &place.path).is_some();
        if is_required && is_sent {
            self.change(ProbeKind::Missing, place, |arguments, path| remove(arguments, path).is_some());
        }
        for (kind, value) in values(schema, get(self.base, &place.path)) {
            let wrong = value.clone();
            self.change(kind, place, move |arguments, path| set(arguments, path, wrong));
        }
        if let Some(name) = place.path.last().and_then(|name| misspelled(name, names)) {
            let value = get(self.base, &place.path).cloned().or_else(|| example(schema, self.schema));
            let kind = if is_required { ProbeKind::MisspelledRequired } else { ProbeKind::MisspelledOptional };
            if let Some(value) = value.filter(|_| !is_required || is_sent) {
                self.change(kind, place, move |arguments, path| {
                    let mut other = path.to_vec();
                    other.pop();
                    other.push(name);
                    remove(arguments, path);
                    set(arguments, &other, value)
                });
            }
        }
        if place.path.len() >= MAX_DEPTH {
            return;
        }
        if get(self.base, &place.path).is_some_and(Value::is_object) {
            self.fields(&Place { path: place.path.clone(), schema });
        }
        let first = [place.path.as_slice(), &["0".to_owned()]].concat();
        if get(self.base, &first).is_some() {
            let item = Place { path: first, schema: resolve(&schema["items"], self.schema) };
            for (kind, value) in values(item.schema, get(self.base, &item.path)) {
                let wrong = value.clone();
                self.change(kind, &item, move |arguments, path| set(arguments, path, wrong));
            }
            if item.path.len() < MAX_DEPTH {
                self.fields(&item);
            }
        }
    }

    fn change(&mut self, kind: ProbeKind, place: &Place<'_>, change: impl FnOnce(&mut Value, &[String]) -> bool) {
        self.push(kind, &place.path.join("."), |arguments| change(arguments, &place.path));
        if get(self.base, &place.path).is_some() {
            return;
        }
        let value = example(resolve(place.schema, self.schema), self.schema);
        if let (Some(draft), Some(value)) = (self.drafts.last_mut(), value) {
            set(&mut draft.intended, &place.path, value);
        }
    }

    fn push(&mut self, kind: ProbeKind, path: &str, change: impl FnOnce(&mut Value) -> bool) {
        let mut arguments = self.base.clone();
        if !change(&mut arguments) || arguments == *self.base {
            return;
        }
        let invalid = accepts(self.schema, &arguments).is_ok_and(|accepted| !accepted);
        let intended = self.base.clone();
        self.drafts.push(Draft { kind, path: path.to_owned(), arguments, invalid, intended });
    }

    /// Adds a probe for the first required text that may be any text.
    fn no_such(&mut self) {
        let schema = resolve(self.schema, self.schema);
        let required: Vec<&str> =
            schema["required"].as_array().into_iter().flatten().filter_map(Value::as_str).collect();
        let Some(properties) = schema["properties"].as_object() else { return };
        for (name, property) in properties {
            let property = resolve(property, self.schema);
            let is_free =
                ["enum", "const", "format", "pattern", "maxLength"].iter().all(|key| property.get(key).is_none());
            let text = self.base.get(name).and_then(Value::as_str);
            if let Some(text) = text.filter(|_| is_free && required.contains(&name.as_str())) {
                let other = json!(format!("{text}-hb-none"));
                let path = [name.clone()];
                self.push(ProbeKind::NoSuch, name, |arguments| set(arguments, &path, other));
                return;
            }
        }
    }
}

/// Returns a valid value of a field that is not null.
fn example(schema: &Value, root: &Value) -> Option<Value> {
    let of = |schema: &Value| valid_example(&with_definitions(schema, root)).filter(|value| !value.is_null());
    let mut parts = ["anyOf", "oneOf"].iter().flat_map(|key| schema[key].as_array().into_iter().flatten());
    of(schema).or_else(|| parts.find_map(of))
}

/// Returns the wrong values of a field, in the order of [`KINDS`].
fn values(schema: &Value, sent: Option<&Value>) -> Vec<(ProbeKind, Value)> {
    let types = types(schema);
    let has = |name: &str| types.contains(&name);
    let mut out = Vec::new();
    let has_text = has("string");
    if !types.is_empty() {
        if !has_text {
            out.push((ProbeKind::WrongType, json!("hb-none")));
        } else if !has("number") && !has("integer") {
            out.push((ProbeKind::WrongType, json!(42)));
        }
    }
    if !has_text && (has("number") || has("integer")) {
        out.push((ProbeKind::Coercible, json!("1")));
    }
    if !has("number") && !has("integer") && has("boolean") {
        out.push((ProbeKind::Coercible, json!(1)));
    }
    if !types.is_empty() && !has("null") {
        out.push((ProbeKind::Null, Value::Null));
    }
    let options = options(schema);
    if let Some(first) = options.first() {
        out.push((ProbeKind::WrongEnum, if first.is_number() { json!(424_242) } else { json!("hb-none") }));
        let chosen = sent.filter(|sent| options.contains(sent)).unwrap_or(first);
        if let Some(other) =
            chosen.as_str().and_then(other_case).map(Value::from).filter(|other| !options.contains(&other))
        {
            out.push((ProbeKind::WrongCase, other));
        }
    }
    out.extend(out_of_range(schema, sent).into_iter().map(|value| (ProbeKind::OutOfRange, value)));
    if has_text || types.is_empty() {
        if schema["format"].is_string() {
            out.push((ProbeKind::BadFormat, json!("hb none")));
        }
        if schema["pattern"].is_string() {
            let texts = ["hb none!", "", "HB-NONE-0", "\u{2028}"].map(Value::from);
            let wrong = texts
                .into_iter()
                .find(|text| accepts(&json!({"properties": {"x": schema}}), &json!({"x": text})) == Ok(false));
            out.extend(wrong.map(|text| (ProbeKind::BadPattern, text)));
        }
    }
    out
}

/// Returns the values that are beyond a bound by one.
fn out_of_range(schema: &Value, sent: Option<&Value>) -> Vec<Value> {
    let mut out = Vec::new();
    let number =
        |value: f64| if value.fract() == 0.0 && value.abs() < 1e15 { json!(value as i64) } else { json!(value) };
    for (key, step) in [("minimum", -1.0), ("exclusiveMinimum", 0.0), ("maximum", 1.0), ("exclusiveMaximum", 0.0)] {
        // The largest integers stand for no bound.
        if let Some(bound) = schema[key].as_f64().filter(|bound| bound.abs() < 9e15) {
            out.push(number(bound + step));
        }
    }
    let text = |length: u64| json!("x".repeat(usize::try_from(length).unwrap_or_default()));
    if let Some(length) = schema["minLength"].as_u64().filter(|length| (1..=MAX_LENGTH).contains(length)) {
        out.push(text(length - 1));
    }
    if let Some(length) = schema["maxLength"].as_u64().filter(|length| *length < MAX_LENGTH) {
        out.push(text(length + 1));
    }
    let item = sent.and_then(|sent| sent.get(0)).cloned().or_else(|| valid_example(&schema["items"]));
    let list = |length: u64| item.clone().map(|item| json!(vec![item; usize::try_from(length).unwrap_or_default()]));
    if let Some(length) = schema["minItems"].as_u64().filter(|length| (1..=MAX_LENGTH).contains(length)) {
        out.extend(if length == 1 { Some(json!([])) } else { list(length - 1) });
    }
    if let Some(length) = schema["maxItems"].as_u64().filter(|length| *length < MAX_LENGTH) {
        out.extend(list(length + 1));
    }
    out
}

/// Returns the JSON types that a schema allows; none if it does not say.
fn types(schema: &Value) -> Vec<&str> {
    match &schema["type"] {
        Value::String(name) => vec![name],
        Value::Array(names) => names.iter().filter_map(Value::as_str).collect(),
        _ => ["anyOf", "oneOf"]
            .iter()
            .flat_map(|key| schema[key].as_array().into_iter().flatten())
            .flat_map(types)
            .collect(),
    }
}

/// Returns the values that a schema allows; none if it does not list them.
fn options(schema: &Value) -> Vec<&Value> {
    let own = schema["enum"].as_array().into_iter().flatten();
    let of_parts = ["anyOf", "oneOf"].iter().flat_map(|key| schema[key].as_array().into_iter().flatten());
    own.chain(schema.get("const")).chain(of_parts.flat_map(options)).filter(|value| !value.is_null()).collect()
}

/// Follows local references. A cycle ends after a few steps.
fn resolve<'s>(schema: &'s Value, root: &'s Value) -> &'s Value {
    let mut schema = schema;
    for _ in 0..8 {
        let target = schema["$ref"].as_str().and_then(|reference| root.pointer(reference.strip_prefix('#')?));
        match target {
            Some(target) => schema = target,
            None => break,
        }
    }
    schema
}

/// Returns a schema of a field with the definitions that it may refer to.
fn with_definitions(schema: &Value, root: &Value) -> Value {
    let mut schema = schema.clone();
    if let Value::Object(map) = &mut schema {
        for key in ["$defs", "definitions"] {
            if let Some(definitions) = root.get(key) {
                map.entry(key).or_insert_with(|| definitions.clone());
            }
        }
    }
    schema
}

fn other_case(text: &str) -> Option<String> {
    let upper = text.to_uppercase();
    let other = if upper == text { text.to_lowercase() } else { upper };
    (other != text).then_some(other)
}

/// Swaps the last two letters that differ; `None` if the result is another field.
fn misspelled(name: &str, names: &[&String]) -> Option<String> {
    let mut letters: Vec<char> = name.chars().collect();
    let at = (1..letters.len()).rev().find(|at| letters[*at] != letters[at - 1])?;
    letters.swap(at, at - 1);
    let other: String = letters.into_iter().collect();
    (!names.contains(&&other)).then_some(other)
}

/// Returns the value at a path.
pub(crate) fn get<'v>(value: &'v Value, path: &[String]) -> Option<&'v Value> {
    path.iter().try_fold(value, |value, key| match value {
        Value::Array(items) => items.get(key.parse::<usize>().ok()?),
        value => value.get(key),
    })
}

fn get_mut<'v>(value: &'v mut Value, path: &[String]) -> Option<&'v mut Value> {
    path.iter().try_fold(value, |value, key| match value {
        Value::Array(items) => items.get_mut(key.parse::<usize>().ok()?),
        value => value.get_mut(key),
    })
}

/// Sets the value at a path whose parent exists.
fn set(arguments: &mut Value, path: &[String], value: Value) -> bool {
    let Some((last, parents)) = path.split_last() else { return false };
    match get_mut(arguments, parents) {
        Some(Value::Object(map)) => {
            map.insert(last.clone(), value);
            true
        }
        Some(Value::Array(items)) => match last.parse::<usize>().ok().and_then(|at| items.get_mut(at)) {
            Some(item) => {
                *item = value;
                true
            }
            None => false,
        },
        _ => false,
    }
}

fn remove(arguments: &mut Value, path: &[String]) -> Option<Value> {
    let (last, parents) = path.split_last()?;
    let map: &mut Object = get_mut(arguments, parents)?.as_object_mut()?;
    map.shift_remove(last)
}

/// Returns the one argument in which a call differs from the base; empty if there are several or none.
pub(crate) fn differing_field(base: &Value, arguments: &Value) -> String {
    let side = |value: &Value| value.as_object().cloned().unwrap_or_default();
    let (base, arguments) = (side(base), side(arguments));
    let mut names: Vec<&String> = base.keys().chain(arguments.keys()).collect();
    names.sort();
    names.dedup();
    names.retain(|name| base.get(*name) != arguments.get(*name));
    match names.as_slice() {
        [name] => (*name).clone(),
        _ => String::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn probes(schema: &Value, base: &Value) -> Vec<(String, String, Value, bool)> {
        let (drafts, _) = from_schema(schema, base, true, MAX_PROBES);
        drafts
            .into_iter()
            .map(|draft| (draft.kind.entry().name.to_owned(), draft.path, draft.arguments, draft.invalid))
            .collect()
    }

    #[test]
    fn the_registry_is_in_the_order_of_the_kinds() {
        for (index, entry) in KINDS.iter().enumerate() {
            assert_eq!((entry.kind as usize, json!(entry.kind)), (index, json!(entry.name)));
        }
    }

    #[test]
    fn every_kind_is_made_from_a_schema() {
        let schema = json!({"type": "object", "required": ["name", "role", "at"], "properties": {
            "name": {"type": "string", "minLength": 1, "maxLength": 3},
            "role": {"enum": ["admin", "user"]},
            "at": {"type": "string", "format": "date"},
            "code": {"type": "string", "pattern": "^[A-Z]+$"},
            "count": {"type": "integer", "minimum": 1, "maximum": 9},
            "deep": {"type": "boolean"},
        }});
        let base = json!({"name": "ann", "role": "user", "at": "2026-01-02"});
        let found = probes(&schema, &base);
        let of = |name: &str, path: &str| -> Vec<(Value, bool)> {
            let of_kind = found.iter().filter(|(kind, at, ..)| kind == name && at == path);
            of_kind.map(|(_, _, arguments, invalid)| (arguments[path].clone(), *invalid)).collect()
        };
        assert_eq!(of("missing", "name"), [(Value::Null, true)]);
        assert_eq!(of("wrong_type", "name"), [(json!(42), true)]);
        assert_eq!(of("wrong_type", "count"), [(json!("hb-none"), true)]);
        assert_eq!(of("coercible", "count"), [(json!("1"), true)]);
        assert_eq!(of("coercible", "deep"), [(json!(1), true)]);
        assert_eq!(of("null", "at"), [(Value::Null, true)]);
        assert_eq!(of("wrong_enum", "role"), [(json!("hb-none"), true)]);
        assert_eq!(of("wrong_case", "role"), [(json!("USER"), true)]);
        assert_eq!(of("out_of_range", "count"), [(json!(0), true), (json!(10), true)]);
        assert_eq!(of("out_of_range", "name"), [(json!(""), true), (json!("xxxx"), true)]);
        assert_eq!(of("bad_format", "at"), [(json!("hb none"), true)]);
        assert_eq!(of("bad_pattern", "code"), [(json!("hb none!"), true)]);
        let misspelled: Vec<&Value> = found
            .iter()
            .filter(|(kind, path, ..)| kind == "misspelled_required" && path == "role")
            .map(|(_, _, arguments, _)| arguments)
            .collect();
        assert_eq!(misspelled, [&json!({"name": "ann", "at": "2026-01-02", "roel": "user"})]);
        // Without `additionalProperties`, other fields are valid.
        assert_eq!(of("undeclared", "hb_extra"), [(json!(true), false)]);
        let optional = found.iter().find(|(kind, path, ..)| kind == "misspelled_optional" && path == "count").unwrap();
        assert!(!optional.3 && optional.2["coutn"].is_number(), "{optional:?}");
        assert_eq!(of("no_such", "name"), []);
    }

    #[test]
    fn nested_fields_are_changed_where_the_base_has_them() {
        let schema = json!({"type": "object", "required": ["edits"], "additionalProperties": false, "properties": {
            "edits": {"type": "array", "minItems": 1, "items": {"$ref": "#/$defs/edit"}},
            "path": {"type": "string"},
        }, "$defs": {"edit": {"type": "object", "required": ["old"], "properties": {"old": {"type": "string"}}}}});
        let found = probes(&schema, &json!({"edits": [{"old": "a"}]}));
        let missing: Vec<&(String, String, Value, bool)> =
            found.iter().filter(|(kind, ..)| kind == "missing").collect();
        assert_eq!(missing.len(), 2);
        assert_eq!((missing[1].1.as_str(), &missing[1].2), ("edits.0.old", &json!({"edits": [{}]})));
        assert!(found.iter().any(|(kind, path, arguments, _)| {
            kind == "out_of_range" && path == "edits" && *arguments == json!({"edits": []})
        }));
        // The schema is closed.
        assert!(found.iter().any(|(kind, _, _, invalid)| kind == "undeclared" && *invalid));
    }

    #[test]
    fn probes_beyond_the_limit_are_counted() {
        let properties: Object = (0..40).map(|n| (format!("f{n}ab"), json!({"type": "integer"}))).collect();
        let schema = json!({"type": "object", "properties": properties});
        let (drafts, left_out) = from_schema(&schema, &json!({}), true, MAX_PROBES);
        // Wrong type, text of a number, null, and a misspelled name of each, and one undeclared field.
        assert_eq!((drafts.len(), left_out), (MAX_PROBES, 40 * 4 + 1 - MAX_PROBES));
        assert_eq!(drafts[MAX_PROBES - 1].kind, ProbeKind::Undeclared);
    }

    #[test]
    fn names_are_misspelled_into_no_other_name() {
        let names = ["ab".to_owned(), "ba".to_owned()];
        let names: Vec<&String> = names.iter().collect();
        assert_eq!(misspelled("ab", &names), None);
        assert_eq!(misspelled("address", &[]).as_deref(), Some("addrses"));
        assert_eq!((misspelled("aa", &[]), misspelled("a", &[])), (None, None));
    }
}
