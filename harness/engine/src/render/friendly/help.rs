//! The explanation of a tool's schema and its examples, independent of the arguments.

use healbench_core::Object;
use serde_json::{Value, json};

use super::example::{ExampleGenerator, IncludedProperties};
use super::phrases::{constraints, type_label};
use super::schema_node::SchemaNode;
use crate::keywords::{KeywordKind, keyword_kind};
use crate::render::ActionDoc;
use crate::schema::prepare_schema;

/// The depth to which options are searched for.
const MAX_DEPTH: usize = 4;

/// The size of an explained schema and of an example in bytes beyond which less is shown.
const MAX_SCHEMA: usize = 12_000;
const MAX_EXAMPLE: usize = 4_000;

/// How much of a schema is explained.
#[derive(Debug, Clone, Copy)]
struct Detail {
    depth: usize,
    /// The number of fields; the example shows the others.
    fields: usize,
    examples: ShownExamples,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum ShownExamples {
    All,
    /// Those of fields that have no fields themselves.
    OfLeaves,
    None,
}

/// From all to little. The last is shown whatever its size; a tool with as many fields has a large schema anyway.
const DETAILS: [Detail; 5] = [
    Detail { depth: 4, fields: 200, examples: ShownExamples::All },
    Detail { depth: 4, fields: 200, examples: ShownExamples::OfLeaves },
    Detail { depth: 2, fields: 100, examples: ShownExamples::OfLeaves },
    Detail { depth: 1, fields: 50, examples: ShownExamples::None },
    Detail { depth: 0, fields: 25, examples: ShownExamples::None },
];

/// The note on a schema that is not explained in full.
pub(crate) const CUT: &str = "Parts of the schema are left out here; the list of tools has all of it.";

/// The maximum number of examples shown for one field from the schema's `examples`.
const MAX_DECLARED_EXAMPLES: usize = 3;

#[derive(Debug)]
pub(crate) struct ToolHelp {
    pub(crate) required: Vec<String>,
    pub(crate) fields: Vec<FieldHelp>,
    /// Valid arguments, with all declared fields if possible.
    pub(crate) example: Option<Value>,
    /// Valid arguments with only the required fields, or the examples given in the schema.
    pub(crate) examples: Vec<Value>,
    /// True if a field has options.
    pub(crate) options: bool,
    /// True if fields or examples are left out.
    pub(crate) is_cut: bool,
}

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
    /// True if `fields` are those of a list's items.
    pub(crate) list: bool,
}

/// Explains the action, in as much detail as fits what `render` makes of it, and returns its text too.
pub(crate) fn explain(doc: &ActionDoc, render: impl Fn(&ToolHelp) -> String) -> (ToolHelp, String) {
    let schema = arguments_schema(doc);
    let generator = ExampleGenerator::new(&schema, true);
    let mut help = explain_in_detail(doc, &schema, &generator, DETAILS[0]);
    let mut text = render(&help);
    for detail in &DETAILS[1..] {
        if text.len() <= MAX_SCHEMA {
            break;
        }
        help = ToolHelp { is_cut: true, ..explain_in_detail(doc, &schema, &generator, *detail) };
        text = render(&help);
    }
    (help, text)
}

/// Explains the action. The discriminator is the first field and has one value, so that an example can be sent
/// unchanged.
fn explain_in_detail<'s>(
    doc: &ActionDoc,
    schema: &'s Value,
    generator: &ExampleGenerator<'s>,
    detail: Detail,
) -> ToolHelp {
    let root = SchemaNode::root(schema);
    let first = |value: Value| match (value, &doc.discriminator) {
        (Value::Object(object), Some(field)) => Value::Object(move_to_front(object, field)),
        (value, _) => value,
    };
    let mut declared_examples = generator.declared_examples(&root);
    declared_examples.truncate(MAX_DECLARED_EXAMPLES);
    if declared_examples.is_empty() {
        declared_examples.extend(generator.root_example(IncludedProperties::Required));
    }
    declared_examples.retain(|example| json_size(example) <= MAX_EXAMPLE);
    // One more is asked for, to know whether there are more.
    let mut fields_left = detail.fields + 1;
    let mut fields = field_help(&root, generator, detail, &mut fields_left);
    let is_cut = fields_left == 0;
    let mut required: Vec<String> = root.required().into_iter().map(str::to_owned).collect();
    if let Some(field) = &doc.discriminator {
        fields.sort_by_key(|help| help.name != *field);
        required.sort_by_key(|name| name != field);
    }
    ToolHelp {
        options: has_options(&root, MAX_DEPTH),
        required,
        fields,
        example: [IncludedProperties::Declared, IncludedProperties::Required]
            .into_iter()
            .filter_map(|included| generator.root_example(included))
            .find(|example| json_size(example) <= MAX_EXAMPLE)
            .map(first),
        is_cut,
        examples: declared_examples.into_iter().map(first).collect(),
    }
}

/// Returns the schema of the arguments as sent: with the discriminator.
fn arguments_schema(doc: &ActionDoc) -> Value {
    let discriminator = doc.discriminator.as_deref().map(|field| (field, doc.action.as_str()));
    let mut schema = prepare_schema(&doc.schema, discriminator);
    let Some((field, value)) = discriminator else { return schema };
    let insert_discriminator = |arguments: &mut Value| {
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
    // Examples given in the schema do not contain the discriminator.
    schema.get_mut("examples").and_then(Value::as_array_mut).into_iter().flatten().for_each(insert_discriminator);
    schema.get_mut("default").into_iter().for_each(insert_discriminator);
    schema
}

/// Returns valid arguments with the required fields only, made from the constraints of the schema: without the examples and
/// defaults that its author chose, and with bounds in the place of other numbers, which might be those that are looked for.
pub(crate) fn neutral_example(doc: &ActionDoc) -> Option<Value> {
    let mut schema = arguments_schema(doc);
    for_each_schema(&mut schema, &remove_values);
    let mut at_bounds = schema.clone();
    for_each_schema(&mut at_bounds, &restrict_to_bound);
    let example = |schema: &Value| ExampleGenerator::new(schema, true).root_example(IncludedProperties::Required);
    let example = example(&at_bounds).or_else(|| example(&schema));
    match (example, &doc.discriminator) {
        (Some(Value::Object(object)), Some(field)) => Some(Value::Object(move_to_front(object, field))),
        (example, _) => example,
    }
}

/// Removes the examples and the default.
fn remove_values(keywords: &mut Object) {
    keywords.shift_remove("examples");
    keywords.shift_remove("default");
}

/// Leaves only the bound of a number that has one.
fn restrict_to_bound(keywords: &mut Object) {
    let bound = keywords.get("minimum").or_else(|| keywords.get("maximum")).cloned();
    if let Some(bound) = bound {
        keywords.insert("minimum".to_owned(), bound.clone());
        keywords.insert("maximum".to_owned(), bound);
    }
}

/// Changes the keywords of a schema and of those in it.
fn for_each_schema(schema: &mut Value, change: &impl Fn(&mut Object)) {
    let Value::Object(keywords) = schema else { return };
    change(keywords);
    for (keyword, value) in keywords {
        match (keyword_kind(keyword), value) {
            (KeywordKind::Schema, value) => for_each_schema(value, change),
            (KeywordKind::SchemaMap, Value::Object(schemas)) => {
                schemas.values_mut().for_each(|schema| for_each_schema(schema, change));
            }
            (KeywordKind::SchemaList, Value::Array(schemas)) => {
                schemas.iter_mut().for_each(|schema| for_each_schema(schema, change));
            }
            _ => {}
        }
    }
}

fn move_to_front(mut object: Object, field: &str) -> Object {
    let Some(value) = object.shift_remove(field) else { return object };
    std::iter::once((field.to_owned(), value)).chain(object).collect()
}

/// Returns the size of a value as it is shown in the text.
fn json_size(value: &Value) -> usize {
    let mut text = String::new();
    super::json::push_pretty(&mut text, value, 0);
    text.len()
}

fn field_help<'s>(
    node: &SchemaNode<'s>,
    generator: &ExampleGenerator<'s>,
    detail: Detail,
    fields_left: &mut usize,
) -> Vec<FieldHelp> {
    let mut out = Vec::new();
    for name in node.property_names() {
        let Some(field) = node.property(name).filter(|_| *fields_left > 0) else { continue };
        *fields_left -= 1;
        out.push(describe_field(name, &field, generator, detail, fields_left));
    }
    out
}

fn describe_field<'s>(
    name: &str,
    field: &SchemaNode<'s>,
    generator: &ExampleGenerator<'s>,
    detail: Detail,
    fields_left: &mut usize,
) -> FieldHelp {
    let (non_null, nullable) = field.without_null();
    let non_null = non_null.unwrap_or_else(|| field.clone());
    let kind = type_label(&non_null);
    let mut constraints = constraints(&non_null);
    let item = non_null.item(0).filter(|_| !non_null.has("prefixItems"));
    let (inner, list) = match item {
        Some(item) => {
            constraints.extend(super::phrases::constraints(&item).into_iter().map(|phrase| format!("Items: {phrase}")));
            (item, true)
        }
        None => (non_null.clone(), false),
    };
    let has_example = match detail.examples {
        ShownExamples::All => true,
        ShownExamples::OfLeaves => inner.property_names().is_empty(),
        ShownExamples::None => false,
    };
    let mut shown = if has_example { generator.declared_examples(field) } else { Vec::new() };
    shown.truncate(MAX_DECLARED_EXAMPLES);
    if shown.is_empty() && has_example {
        shown.extend(generator.example_at(field));
    }
    let fields = match detail.depth.checked_sub(1) {
        Some(depth) => field_help(&inner, generator, Detail { depth, ..detail }, fields_left),
        None => Vec::new(),
    };
    FieldHelp {
        name: name.to_owned(),
        kind: if nullable { format!("{kind} | null") } else { kind },
        description: field.keyword_value("description").and_then(Value::as_str).map(str::to_owned),
        constraints,
        examples: shown,
        required: inner.required().into_iter().map(str::to_owned).collect(),
        fields,
        list,
    }
}

/// Returns true if a field requires one of several values.
fn has_options(node: &SchemaNode<'_>, depth_left: usize) -> bool {
    let field = |field: SchemaNode<'_>| {
        let non_null = field.without_null().0.unwrap_or(field);
        let several = |node: &SchemaNode<'_>| !node.has("const") && node.options().is_some();
        let item = non_null.item(0);
        several(&non_null)
            || item.as_ref().is_some_and(several)
            || (depth_left > 0 && has_options(&item.unwrap_or(non_null), depth_left - 1))
    };
    node.property_names().into_iter().filter_map(|name| node.property(name)).any(field)
}
