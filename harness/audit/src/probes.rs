//! The calls that are wrong in one respect, made from a base call and the tool's schema.

use healbench_engine::{accepts, valid_example};
use serde_json::{Value, json};

use crate::kinds::ProbeKind;
use crate::places::{Fields, example, get, options, remove, resolve, set, types};

/// The most probes of a tool.
pub(crate) const MAX_PROBES: usize = 64;
/// The depth of fields: `a.b.c` has three.
const MAX_DEPTH: usize = 3;
/// The longest text or list that is made to break a bound.
const MAX_LENGTH: u64 = 10_000;

/// The last words in the names of fields whose value names something.
const NAMES: [&str; 25] = [
    "id",
    "path",
    "name",
    "username",
    "file",
    "filename",
    "filepath",
    "folder",
    "dir",
    "directory",
    "key",
    "slug",
    "uuid",
    "guid",
    "ref",
    "branch",
    "repo",
    "repository",
    "project",
    "database",
    "table",
    "collection",
    "user",
    "account",
    "owner",
];

/// A call that is wrong in one respect.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Draft {
    pub(crate) kind: ProbeKind,
    /// The dotted path of the field; empty if the probe is about no field, or about several.
    pub(crate) path: String,
    pub(crate) arguments: Value,
    /// True if the arguments are invalid under the schema.
    pub(crate) invalid: bool,
    /// True if the schema does not require the field.
    pub(crate) optional: bool,
    /// The call that is meant: the base call, with a valid value of the field if that has none.
    pub(crate) intended: Value,
}

/// Makes the probes of a tool that follow from its schema, and returns them with the number of those left out above `most`.
/// `accepted` is true if the server accepted the base call.
pub(crate) fn from_schema(schema: &Value, base: &Value, accepted: bool, most: usize) -> (Vec<Draft>, usize) {
    let mut maker = Maker { schema, base, drafts: Vec::new() };
    let at_root = Place { path: Vec::new(), schema, is_required: true };
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

/// A field: the keys and indices that lead to it, its schema, and whether that requires it.
struct Place<'s> {
    path: Vec<String>,
    schema: &'s Value,
    is_required: bool,
}

struct Maker<'s> {
    schema: &'s Value,
    base: &'s Value,
    drafts: Vec<Draft>,
}

impl<'s> Maker<'s> {
    /// Adds the probes of all fields of an object.
    fn fields(&mut self, object: &Place<'s>) {
        let Some(value) = get(self.base, &object.path) else { return };
        let fields = Fields::of(object.schema, self.schema, value);
        let names: Vec<&String> = fields.all.iter().map(|(name, _)| *name).collect();
        for (name, property) in &fields.all {
            let path = [object.path.as_slice(), std::slice::from_ref(*name)].concat();
            let is_required = fields.required.contains(&name.as_str());
            self.field(&Place { path, schema: property, is_required }, &names);
        }
    }

    fn field(&mut self, place: &Place<'s>, names: &[&String]) {
        let is_required = place.is_required;
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
            self.fields(&Place { path: place.path.clone(), schema, is_required });
        }
        let first = [place.path.as_slice(), &["0".to_owned()]].concat();
        if get(self.base, &first).is_some() {
            let item = Place { path: first, schema: resolve(&schema["items"], self.schema), is_required: true };
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
        let Some(draft) = self.push(kind, &place.path.join("."), |arguments| change(arguments, &place.path)) else {
            return;
        };
        draft.optional = !place.is_required;
        if get(self.base, &place.path).is_none()
            && let Some(value) = example(resolve(place.schema, self.schema), self.schema)
            && let Some(draft) = self.drafts.last_mut()
        {
            set(&mut draft.intended, &place.path, value);
        }
    }

    fn push(&mut self, kind: ProbeKind, path: &str, change: impl FnOnce(&mut Value) -> bool) -> Option<&mut Draft> {
        let mut arguments = self.base.clone();
        if !change(&mut arguments) || arguments == *self.base {
            return None;
        }
        let invalid = accepts(self.schema, &arguments).is_ok_and(|accepted| !accepted);
        let intended = self.base.clone();
        self.drafts.push(Draft { kind, path: path.to_owned(), arguments, invalid, optional: false, intended });
        self.drafts.last_mut()
    }

    /// Adds a probe for the first required text that names something and may be any text.
    fn no_such(&mut self) {
        let fields = Fields::of(self.schema, self.schema, self.base);
        for (name, property) in fields.all {
            let property = resolve(property, self.schema);
            let is_free =
                ["enum", "const", "format", "pattern", "maxLength"].iter().all(|key| property.get(key).is_none());
            let text = self.base.get(name).and_then(Value::as_str);
            let names_something = fields.required.contains(&name.as_str()) && is_name(name);
            if let Some(text) = text.filter(|_| is_free && names_something) {
                let other = json!(no_such(text));
                let path = [name.clone()];
                self.push(ProbeKind::NoSuch, name, |arguments| set(arguments, &path, other));
                return;
            }
        }
    }
}

/// Returns the name of nothing that exists: a name with another end, before the extension if it has one.
fn no_such(name: &str) -> String {
    let file = name.rfind(['/', '\\']).map_or(0, |slash| slash + 1);
    // The domain of an address has no extension.
    let is_domain = name.split_once("://").is_some_and(|(_, rest)| !rest.contains('/'));
    let dot = name[file..].rfind('.').map(|dot| file + dot).filter(|dot| *dot > file && !is_domain);
    let extension = dot.filter(|dot| {
        let extension = &name[dot + 1..];
        (1..=5).contains(&extension.len()) && extension.bytes().all(|byte| byte.is_ascii_alphanumeric())
    });
    let (stem, extension) = name.split_at(extension.unwrap_or(name.len()));
    // An identifier stays one.
    let is_identifier = name.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_');
    format!("{stem}{}{extension}", if is_identifier { "_hb_none" } else { "-hb-none" })
}

/// Returns the wrong values of a field, in the order of [`KINDS`](crate::kinds::KINDS).
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

/// Returns true if a field of this name holds the name of something that has to exist. A text to search for or to write does not.
fn is_name(field: &str) -> bool {
    let mut words = vec![String::new()];
    for c in field.chars() {
        if c.is_uppercase() || matches!(c, '_' | '-' | '.') {
            words.push(String::new());
        }
        if let Some(word) = words.last_mut().filter(|_| c.is_alphanumeric()) {
            word.extend(c.to_lowercase());
        }
    }
    let last = words.iter().rfind(|word| !word.is_empty());
    last.is_some_and(|word| NAMES.contains(&word.strip_suffix('s').unwrap_or(word)))
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

#[cfg(test)]
mod tests {
    use healbench_core::Object;

    use super::*;

    fn probes(schema: &Value, base: &Value) -> Vec<(String, String, Value, bool)> {
        let (drafts, _) = from_schema(schema, base, true, MAX_PROBES);
        drafts
            .into_iter()
            .map(|draft| (draft.kind.entry().name.to_owned(), draft.path, draft.arguments, draft.invalid))
            .collect()
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
    fn what_does_not_exist_has_the_form_of_what_does() {
        for (name, other) in [
            ("ORD-17", "ORD-17-hb-none"),
            ("users", "users_hb_none"),
            ("{dir}/notes.txt", "{dir}/notes-hb-none.txt"),
            ("a/b.c/d", "a/b.c/d-hb-none"),
            (".env", ".env-hb-none"),
            ("https://example.com", "https://example.com-hb-none"),
            ("https://example.com/a.png", "https://example.com/a-hb-none.png"),
        ] {
            assert_eq!(no_such(name), other);
        }
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
