//! The tool's schema, explained, and its examples: what a text says whatever was sent.

use healbench_protocol::Object;
use serde_json::{Value, json};

use super::example::{Examples, Shown};
use super::place::Place;
use super::words::{constraints, type_words};
use crate::render::ActionFacts;
use crate::schema::prepared;

/// How deep fields of fields are explained.
const DEEPEST: usize = 4;

/// The most fields that are explained; the example shows the others.
const MOST_FIELDS: usize = 200;

/// The most examples of one field that the schema's author gave.
const MOST_GIVEN: usize = 3;

/// A tool, explained.
#[derive(Debug)]
pub(crate) struct ToolHelp {
    pub(crate) required: Vec<String>,
    pub(crate) fields: Vec<FieldHelp>,
    /// Arguments that are valid, with all declared fields where that is possible.
    pub(crate) example: Option<Value>,
    /// Valid arguments with the required fields alone, or those that the schema's author gave.
    pub(crate) examples: Vec<Value>,
    /// Whether a field has options.
    pub(crate) options: bool,
}

/// A field, explained.
#[derive(Debug)]
pub(crate) struct FieldHelp {
    pub(crate) name: String,
    pub(crate) kind: String,
    pub(crate) description: Option<String>,
    pub(crate) constraints: Vec<String>,
    pub(crate) examples: Vec<Value>,
    pub(crate) required: Vec<String>,
    /// The fields of an object, or of the objects in a list.
    pub(crate) fields: Vec<FieldHelp>,
    /// Whether `fields` are those of a list's items.
    pub(crate) list: bool,
}

/// Explains the action. The discriminator stands first, as a field with one value, so that an example can be sent as it
/// is.
pub(crate) fn explain(facts: &ActionFacts) -> ToolHelp {
    let schema = whole(facts);
    let examples = Examples::new(&schema);
    let root = Place::root(&schema);
    let first = |value: Value| match (value, &facts.discriminator) {
        (Value::Object(object), Some(field)) => Value::Object(in_front(object, field)),
        (value, _) => value,
    };
    let mut given = examples.given(&root);
    given.truncate(MOST_GIVEN);
    if given.is_empty() {
        given.extend(examples.whole(Shown::Required));
    }
    let mut left = MOST_FIELDS;
    let mut fields = field_help(&root, &examples, DEEPEST, &mut left);
    let mut required: Vec<String> = root.required().into_iter().map(str::to_owned).collect();
    if let Some(field) = &facts.discriminator {
        fields.sort_by_key(|help| help.name != *field);
        required.sort_by_key(|name| name != field);
    }
    ToolHelp {
        options: has_options(&root, DEEPEST),
        required,
        fields,
        example: examples.whole(Shown::Declared).map(first),
        examples: given.into_iter().map(first).collect(),
    }
}

/// The schema of the arguments as they are sent: with the discriminator, and closed.
fn whole(facts: &ActionFacts) -> Value {
    let discriminator = facts.discriminator.as_deref().map(|field| (field, facts.action.as_str()));
    let mut schema = prepared(&facts.schema, discriminator, true);
    let Some((field, value)) = discriminator else { return schema };
    let present = |arguments: &mut Value| {
        if let Value::Object(object) = arguments {
            object.insert(field.to_owned(), json!(value));
        }
    };
    if let Some(required) = schema.as_object_mut().map(|root| root.entry("required").or_insert_with(|| json!([])))
        && let Value::Array(names) = required
        && !names.iter().any(|name| name == field)
    {
        names.insert(0, json!(field));
    }
    // What the schema's author gives as an example knows nothing of the discriminator.
    schema.get_mut("examples").and_then(Value::as_array_mut).into_iter().flatten().for_each(present);
    schema.get_mut("default").into_iter().for_each(present);
    schema
}

fn in_front(mut object: Object, field: &str) -> Object {
    let Some(value) = object.shift_remove(field) else { return object };
    std::iter::once((field.to_owned(), value)).chain(object).collect()
}

fn field_help<'s>(place: &Place<'s>, examples: &Examples<'s>, deeper: usize, left: &mut usize) -> Vec<FieldHelp> {
    let mut out = Vec::new();
    for name in place.names() {
        let Some(field) = place.declared(name).filter(|_| *left > 0) else { continue };
        *left -= 1;
        out.push(one_field(name, &field, examples, deeper, left));
    }
    out
}

fn one_field<'s>(name: &str, field: &Place<'s>, examples: &Examples<'s>, deeper: usize, left: &mut usize) -> FieldHelp {
    let (essence, nullable) = field.without_null();
    let essence = essence.unwrap_or_else(|| field.clone());
    let kind = type_words(&essence);
    let mut shown = examples.given(field);
    shown.truncate(MOST_GIVEN);
    if shown.is_empty() {
        shown.extend(examples.at(field));
    }
    let mut constraints = constraints(&essence);
    let item = essence.item(0).filter(|_| !essence.has("prefixItems"));
    let (inner, list) = match item {
        Some(item) => {
            constraints.extend(super::words::constraints(&item).into_iter().map(|words| format!("Items: {words}")));
            (item, true)
        }
        None => (essence.clone(), false),
    };
    let fields = if deeper > 0 { field_help(&inner, examples, deeper - 1, left) } else { Vec::new() };
    FieldHelp {
        name: name.to_owned(),
        kind: if nullable { format!("{kind} | null") } else { kind },
        description: field.first("description").and_then(Value::as_str).map(str::to_owned),
        constraints,
        examples: shown,
        required: inner.required().into_iter().map(str::to_owned).collect(),
        fields,
        list,
    }
}

/// Whether some field asks for one of several values.
fn has_options(place: &Place<'_>, deeper: usize) -> bool {
    let field = |field: Place<'_>| {
        let essence = field.without_null().0.unwrap_or(field);
        let several = |place: &Place<'_>| !place.has("const") && place.options().is_some();
        let item = essence.item(0);
        several(&essence)
            || item.as_ref().is_some_and(several)
            || (deeper > 0 && has_options(&item.unwrap_or(essence), deeper - 1))
    };
    place.names().into_iter().filter_map(|name| place.declared(name)).any(field)
}
