//! Examples of objects and lists, built from examples of their contents.

use serde_json::{Map, Value};

use super::super::schema_node::SchemaNode;
use super::pattern::text_matching;
use super::{ExampleGenerator, IncludedProperties, ParentSchemas};

/// No example is generated for a list that must be longer.
const MAX_LENGTH: usize = 64;

struct Property<'s> {
    name: &'s str,
    required: bool,
    values: Vec<Value>,
}

impl<'s> ExampleGenerator<'s> {
    /// Returns candidates with all declared properties, then with only the required ones.
    pub(super) fn objects(
        &self,
        node: &SchemaNode<'s>,
        want: usize,
        included: IncludedProperties,
        parents: &ParentSchemas<'_, 's>,
    ) -> Vec<Value> {
        let required = node.required();
        let mut properties: Vec<Property<'_>> = Vec::new();
        let undeclared = required.iter().copied().filter(|name| node.property(name).is_none());
        for name in node.property_names().into_iter().chain(undeclared) {
            let property = node.property(name).or_else(|| node.additional_property());
            let values = match property {
                Some(property) => self.generate(&property, want, included, Some(parents)),
                None => vec![Value::from("example")],
            };
            let required = required.contains(&name);
            if values.is_empty() && required {
                return Vec::new();
            }
            properties.push(Property { name, required, values });
        }
        let most = count(node.upper_bound("maxProperties")).unwrap_or(usize::MAX);
        let mut out = Vec::new();
        for all in [true, false] {
            if all && included == IncludedProperties::Required {
                continue;
            }
            for variant in 0..want {
                let optional = most.saturating_sub(required.len());
                let mut object = Map::new();
                let mut room = optional;
                for property in properties.iter().filter(|property| property.required || all) {
                    if property.values.is_empty() || (!property.required && room == 0) {
                        continue;
                    }
                    room -= usize::from(!property.required);
                    object.insert(property.name.to_owned(), property.values[variant % property.values.len()].clone());
                }
                self.pad_object(node, &mut object, all, parents);
                out.push(Value::Object(object));
            }
        }
        out
    }

    /// Adds properties with generated names if the count requires it, or if the object is a map.
    fn pad_object(
        &self,
        node: &SchemaNode<'s>,
        object: &mut Map<String, Value>,
        all: bool,
        parents: &ParentSchemas<'_, 's>,
    ) {
        let least = count(node.lower_bound("minProperties")).unwrap_or(0);
        let has_map = |keyword| node.keyword_value(keyword).is_some_and(Value::is_object);
        let is_map = all
            && node.property_names().is_empty()
            && (has_map("additionalProperties") || has_map("patternProperties"));
        let wanted = least.max(usize::from(is_map)).min(MAX_LENGTH);
        if object.len() >= wanted {
            return;
        }
        let value = |node: Option<SchemaNode<'s>>| match node {
            Some(node) => self.generate(&node, 1, IncludedProperties::Declared, Some(parents)).pop(),
            None => Some(Value::from("example")),
        };
        let mut fill = |names: Vec<String>, value: Option<Value>| {
            let Some(value) = value else { return };
            for name in names {
                if object.len() < wanted {
                    object.entry(name).or_insert_with(|| value.clone());
                }
            }
        };
        for (pattern, schema) in node.pattern_properties() {
            let names = (0..wanted * 2).filter_map(|variant| text_matching(pattern, 0, variant));
            fill(names.collect(), value(Some(schema)));
        }
        let names = match node.named_part("propertyNames") {
            Some(names) => self.generate(&names, wanted * 2, IncludedProperties::Declared, Some(parents)),
            None => Vec::new(),
        };
        let names: Vec<String> = match names.is_empty() {
            false => names.iter().filter_map(Value::as_str).map(str::to_owned).collect(),
            true => std::iter::once("example".to_owned())
                .chain((2..=MAX_LENGTH * 2).map(|index| format!("example{index}")))
                .collect(),
        };
        fill(names, value(node.additional_property()));
    }

    /// Returns candidates with one item, or with the minimum number of items if it is larger, and an empty list last.
    pub(super) fn arrays(&self, node: &SchemaNode<'s>, want: usize, parents: &ParentSchemas<'_, 's>) -> Vec<Value> {
        let least = count(node.lower_bound("minItems")).unwrap_or(0);
        let most = count(node.upper_bound("maxItems")).unwrap_or(usize::MAX);
        let tuple = node.keyword_values("prefixItems").filter_map(Value::as_array).map(Vec::len).max().unwrap_or(0);
        let contained = if node.has("contains") { count(node.lower_bound("minContains")).unwrap_or(1) } else { 0 };
        let length = least.max(tuple).max(contained).max(1).min(most);
        if length > MAX_LENGTH {
            return Vec::new();
        }
        let unique = node.keyword_values("uniqueItems").any(|on| *on == true);
        let different = if unique { length + want - 1 } else { want };
        let mut columns: Vec<Vec<Value>> = Vec::new();
        // All other items are the same, so they are generated once.
        let mut plain: Option<Vec<Value>> = None;
        for index in 0..length {
            let item = if index < contained { node.contained_item(index) } else { node.item(index) };
            let make = || match &item {
                Some(item) => self.generate(item, different, IncludedProperties::Declared, Some(parents)),
                None => (0..different)
                    .map(|n| if n == 0 { "example".into() } else { format!("example{}", n + 1).into() })
                    .collect(),
            };
            let values =
                if index < tuple || index < contained { make() } else { plain.get_or_insert_with(make).clone() };
            if values.is_empty() {
                break;
            }
            columns.push(values);
        }
        let mut out = Vec::new();
        for variant in 0..want {
            let mut items: Vec<Value> = Vec::new();
            for values in &columns {
                let pick = (0..values.len()).map(|step| &values[(variant + step) % values.len()]);
                let Some(item) = pick.into_iter().find(|item| !unique || !items.contains(item)) else { break };
                items.push(item.clone());
            }
            out.push(Value::Array(items));
        }
        out.push(Value::Array(Vec::new()));
        out
    }
}

fn count(value: Option<&Value>) -> Option<usize> {
    // A schema may write a count as 2.0.
    value.and_then(Value::as_f64).map(|count| count as usize)
}
