//! Converts tools to function definitions. All actions of a tool share one flat schema with the discriminator, as in
//! Fusion.

use serde_json::{Value, json};

use crate::{ActionSpec, Object, ToolSpec};

/// The name of the server in the settings of clients, which tells nothing about scenario or condition.
pub const SERVER_NAME: &str = "tools";

/// The definition of a function that a model may call.
#[derive(Debug, Clone, PartialEq)]
pub struct Function {
    /// The name.
    pub name: String,
    /// The description.
    pub description: String,
    /// The JSON Schema of the arguments: an object with `type`, `properties` and `required`.
    pub parameters: Value,
}

/// Converts a task's tools to function definitions.
pub fn functions(tools: &[ToolSpec]) -> Vec<Function> {
    tools.iter().map(function).collect()
}

/// Converts tools to definitions as in MCP's `tools/list`. The schema of a tool with one action stays as it is.
pub fn tool_definitions(tools: &[ToolSpec]) -> Vec<Value> {
    let definition = |tool: &ToolSpec| {
        let Function { name, description, mut parameters } = function(tool);
        if let (None, [only]) = (&tool.discriminator, tool.actions.as_slice()) {
            let mut schema = only.input_schema.as_object().cloned().unwrap_or_default();
            schema.entry("type").or_insert_with(|| json!("object"));
            parameters = schema.into();
        }
        let mut definition = json!({"name": name, "description": description, "inputSchema": parameters});
        if tool.actions.iter().all(|action| action.read_only) {
            definition["annotations"] = json!({"readOnlyHint": true});
        }
        definition
    };
    tools.iter().map(definition).collect()
}

fn function(tool: &ToolSpec) -> Function {
    let (description, parameters) = match (&tool.discriminator, tool.actions.as_slice()) {
        (None, [only]) => (tool.description.clone(), object_schema(&only.input_schema)),
        (discriminator, actions) => {
            let field = discriminator.as_deref().unwrap_or("action");
            (description_with_actions(tool, actions), flat_schema(field, actions))
        }
    };
    Function { name: tool.name.clone(), description, parameters }
}

/// Returns the tool's description followed by a line for each action.
fn description_with_actions(tool: &ToolSpec, actions: &[ActionSpec]) -> String {
    let mut text = tool.description.clone();
    for action in actions {
        text.push_str(if text.is_empty() { "- " } else { "\n- " });
        text.push_str(&action.name);
        if !action.description.is_empty() {
            text.push_str(": ");
            text.push_str(&action.description);
        }
    }
    text
}

/// Returns the schema in the form that APIs require: `type` and `properties` are present, and the root has no `allOf`,
/// `anyOf` or `oneOf`.
fn object_schema(schema: &Value) -> Value {
    let mut schema = schema.as_object().cloned().unwrap_or_default();
    hoist_branches(&mut schema);
    schema.entry("type").or_insert_with(|| json!("object"));
    schema.entry("properties").or_insert_with(|| json!({}));
    schema.into()
}

/// Moves the fields in the root's `allOf`, `anyOf` and `oneOf` to the root. Only the `required` lists of `allOf` are
/// kept. The server still reports fields that exclude each other.
fn hoist_branches(schema: &mut Object) {
    for key in ["allOf", "anyOf", "oneOf"] {
        let Some(Value::Array(branches)) = schema.remove(key) else { continue };
        for branch in branches {
            let Value::Object(mut branch) = branch else { continue };
            hoist_branches(&mut branch);
            merge(schema, "properties", branch.get("properties"));
            if key == "allOf" {
                merge(schema, "required", branch.get("required"));
            }
        }
    }
}

/// Adds the entries of `more` that are missing in the object or list at `key`.
fn merge(schema: &mut Object, key: &str, more: Option<&Value>) {
    match (more, schema.get_mut(key)) {
        (Some(Value::Object(more)), Some(Value::Object(known))) => {
            for (name, value) in more {
                known.entry(name).or_insert_with(|| value.clone());
            }
        }
        (Some(Value::Array(more)), Some(Value::Array(known))) => {
            known.extend(more.iter().filter(|item| !known.contains(item)).cloned().collect::<Vec<_>>());
        }
        (Some(more), None) => {
            schema.insert(key.to_owned(), more.clone());
        }
        _ => {}
    }
}

/// A field of one or more actions.
#[derive(Default)]
struct Field<'a> {
    /// The distinct schemas of the field, in the order of the actions.
    schemas: Vec<Value>,
    actions: Vec<&'a str>,
    required: Vec<&'a str>,
}

fn flat_schema(discriminator: &str, actions: &[ActionSpec]) -> Value {
    let mut fields: Vec<(String, Field<'_>)> = Vec::new();
    let mut definitions = Object::new();
    for action in actions {
        let mut schema = extract_definitions(action, &mut definitions);
        hoist_branches(&mut schema);
        let required: Vec<&str> =
            schema.get("required").and_then(Value::as_array).into_iter().flatten().filter_map(Value::as_str).collect();
        for (name, schema) in schema.get("properties").and_then(Value::as_object).into_iter().flatten() {
            let at = fields.iter().position(|(known, _)| known == name).unwrap_or_else(|| {
                fields.push((name.clone(), Field::default()));
                fields.len() - 1
            });
            let field = &mut fields[at].1;
            if !field.schemas.contains(schema) {
                field.schemas.push(schema.clone());
            }
            field.actions.push(&action.name);
            if required.contains(&name.as_str()) {
                field.required.push(&action.name);
            }
        }
    }
    let names: Vec<&str> = actions.iter().map(|action| action.name.as_str()).collect();
    let mut properties = Object::new();
    properties.insert(discriminator.to_owned(), json!({"type": "string", "enum": names}));
    let mut required = vec![discriminator.to_owned()];
    for (name, field) in fields {
        if field.required.len() == actions.len() {
            required.push(name.clone());
        }
        if name != discriminator {
            properties.insert(name, field.schema(actions.len()));
        }
    }
    let mut schema = Object::new();
    schema.insert("type".to_owned(), json!("object"));
    schema.insert("properties".to_owned(), properties.into());
    schema.insert("required".to_owned(), json!(required));
    if !definitions.is_empty() {
        schema.insert("$defs".to_owned(), definitions.into());
    }
    schema.into()
}

impl Field<'_> {
    /// Returns the field's schema. Unless the field is the same in all actions, the description names the actions it
    /// belongs to.
    fn schema(mut self, actions: usize) -> Value {
        let mut schema = match self.schemas.len() {
            1 => self.schemas.remove(0),
            _ => json!({"anyOf": self.schemas}),
        };
        let mut notes = Vec::new();
        if self.actions.len() < actions {
            notes.push(format!("For: {}.", self.actions.join(", ")));
        }
        if !self.required.is_empty() && self.required.len() < actions && self.required != self.actions {
            notes.push(format!("Required for: {}.", self.required.join(", ")));
        } else if !self.required.is_empty() && self.required.len() < actions {
            notes = vec![format!("Required for: {}.", self.required.join(", "))];
        }
        if notes.is_empty() {
            return schema;
        }
        if let Some(object) = schema.as_object_mut() {
            let own = object.get("description").and_then(Value::as_str).unwrap_or_default();
            let text = if own.is_empty() { notes.join(" ") } else { format!("{own} {}", notes.join(" ")) };
            object.insert("description".to_owned(), text.into());
        }
        schema
    }
}

/// Moves the definitions of the action's schema to `definitions`, and returns the rest of the schema. If a name is
/// already taken by a different definition, all definitions of this action are prefixed with the action's name, because
/// even an equal definition may refer to a different one.
fn extract_definitions(action: &ActionSpec, definitions: &mut Object) -> Object {
    let mut schema = action.input_schema.as_object().cloned().unwrap_or_default();
    for key in ["$defs", "definitions"] {
        let Some(Value::Object(own)) = schema.remove(key) else { continue };
        let mut renamed = Vec::new();
        let clashes = own.iter().any(|(name, own)| definitions.get(name).is_some_and(|known| known != own));
        for name in own.keys() {
            let new = if clashes { format!("{}_{name}", action.name) } else { name.clone() };
            renamed.push((format!("#/{key}/{name}"), format!("#/$defs/{new}"), new));
        }
        for ((_, mut value), (_, _, new)) in own.into_iter().zip(&renamed) {
            update_refs(&mut value, &renamed);
            definitions.insert(new.clone(), value);
        }
        let mut value = Value::Object(schema);
        update_refs(&mut value, &renamed);
        schema = value.as_object().cloned().unwrap_or_default();
    }
    schema
}

/// Updates every `$ref` to the new location of its definition.
fn update_refs(schema: &mut Value, renamed: &[(String, String, String)]) {
    match schema {
        Value::Object(object) => {
            for (key, value) in object.iter_mut() {
                match value {
                    Value::String(target) if key == "$ref" => {
                        let to = renamed.iter().find(|(from, ..)| {
                            target == from
                                || target.strip_prefix(from.as_str()).is_some_and(|rest| rest.starts_with('/'))
                        });
                        if let Some((from, to, _)) = to {
                            *target = format!("{to}{}", &target[from.len()..]);
                        }
                    }
                    value => update_refs(value, renamed),
                }
            }
        }
        Value::Array(items) => items.iter_mut().for_each(|item| update_refs(item, renamed)),
        _ => {}
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn action(name: &str, input_schema: Value) -> ActionSpec {
        ActionSpec { name: name.to_owned(), description: format!("Does {name}."), input_schema, read_only: false }
    }

    fn tool(discriminator: Option<&str>, actions: Vec<ActionSpec>) -> ToolSpec {
        ToolSpec {
            name: "issues".to_owned(),
            description: "Track issues.".to_owned(),
            discriminator: discriminator.map(str::to_owned),
            actions,
        }
    }

    #[test]
    fn actions_become_one_schema_that_says_what_belongs_where() {
        let tool = tool(
            Some("action"),
            vec![
                action(
                    "create",
                    json!({"properties": {"id": {"type": "string"}, "title": {"type": "string"}, "note": {"type": "string"}},
                        "required": ["id", "title"]}),
                ),
                action(
                    "close",
                    json!({"properties": {"id": {"type": "string"}, "note": {"type": "integer", "description": "A code."}},
                        "required": ["id", "note"]}),
                ),
            ],
        );
        let function = &functions(&[tool])[0];
        assert_eq!(function.description, "Track issues.\n- create: Does create.\n- close: Does close.");
        assert_eq!(
            function.parameters,
            json!({
                "type": "object",
                "properties": {
                    "action": {"type": "string", "enum": ["create", "close"]},
                    "id": {"type": "string"},
                    "title": {"type": "string", "description": "Required for: create."},
                    "note": {
                        "anyOf": [{"type": "string"}, {"type": "integer", "description": "A code."}],
                        "description": "Required for: close.",
                    },
                },
                "required": ["action", "id"],
            })
        );
    }

    #[test]
    fn a_tool_without_actions_keeps_its_schema() {
        let tool = tool(None, vec![action("issues", json!({"required": ["id"], "additionalProperties": false}))]);
        let function = &functions(&[tool])[0];
        assert_eq!(function.description, "Track issues.");
        assert_eq!(
            function.parameters,
            json!({"required": ["id"], "additionalProperties": false, "type": "object", "properties": {}})
        );
    }

    #[test]
    fn a_definition_has_the_schema_of_its_only_action() {
        let schema = json!({"properties": {"id": {}}, "oneOf": [{"required": ["id"]}, {}]});
        let only = tool(None, vec![ActionSpec { read_only: true, ..action("issues", schema.clone()) }]);
        let two = tool(Some("action"), vec![action("a", schema.clone()), action("b", schema)]);
        let definitions = tool_definitions(&[only, two.clone()]);
        let expected = json!({"properties": {"id": {}}, "oneOf": [{"required": ["id"]}, {}], "type": "object"});
        assert_eq!(definitions[0]["inputSchema"], expected);
        assert_eq!(definitions[0]["annotations"], json!({"readOnlyHint": true}));
        assert_eq!(definitions[1]["inputSchema"], functions(&[two])[0].parameters);
        assert_eq!(definitions[1].get("annotations"), None);
    }

    #[test]
    fn fields_of_root_branches_are_hoisted() {
        let field = |kind: &str| json!({"type": kind});
        let schema = json!({
            "properties": {"id": field("string")},
            "required": ["id"],
            "allOf": [{"properties": {"note": field("string")}, "required": ["note", "id"]}],
            "oneOf": [
                {"properties": {"email": field("string"), "id": field("integer")}, "required": ["email"]},
                {"anyOf": [{"properties": {"phone": field("string")}}, true]},
            ],
        });
        let expected = json!({
            "properties": {"id": field("string"), "note": field("string"), "email": field("string"), "phone": field("string")},
            "required": ["id", "note"],
            "type": "object",
        });
        assert_eq!(functions(&[tool(None, vec![action("issues", schema.clone())])])[0].parameters, expected);
        let flat = &functions(&[tool(Some("action"), vec![action("send", schema)])])[0].parameters;
        let names: Vec<&String> = flat["properties"].as_object().unwrap().keys().collect();
        assert_eq!(names, ["action", "id", "note", "email", "phone"]);
        assert_eq!(flat["required"], json!(["action", "id", "note"]));
    }

    #[test]
    fn definitions_of_one_name_do_not_clash() {
        let schema = |kind: &str| {
            json!({
                "properties": {"item": {"$ref": "#/$defs/item"}},
                "$defs": {"item": {"type": "array", "items": {"$ref": "#/$defs/part"}}, "part": {"type": kind}},
            })
        };
        let tool = tool(Some("action"), vec![action("a", schema("string")), action("b", schema("integer"))]);
        let parameters = &functions(&[tool])[0].parameters;
        let item = |part: &str| json!({"type": "array", "items": {"$ref": format!("#/$defs/{part}")}});
        assert_eq!(
            parameters["$defs"],
            json!({
                "item": item("part"),
                "part": {"type": "string"},
                "b_item": item("b_part"),
                "b_part": {"type": "integer"},
            })
        );
        let items = &parameters["properties"]["item"]["anyOf"];
        assert_eq!(*items, json!([{"$ref": "#/$defs/item"}, {"$ref": "#/$defs/b_item"}]));
    }
}
