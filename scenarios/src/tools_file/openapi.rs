//! The operations of an OpenAPI document as tools: parameters and the fields of a JSON body are arguments side by side.

use healbench_core::{Object, schema_parts};
use healbench_engine::definition::{Action, Handler, Tool};
use healbench_engine::{schema_keywords, valid_example};
use serde_json::{Value, json};

use super::ToolReader;
use super::listing::Entry;
use crate::Diagnostic;
use crate::locate::{Document, child};

/// The methods of operations, in the order of the tools of a path.
const METHODS: [&str; 5] = ["get", "post", "put", "patch", "delete"];
/// The references that are followed from one to the next.
const MAX_HOPS: usize = 8;
/// The levels of a schema that are read.
const MAX_LEVELS: usize = 60;

/// Returns true for an OpenAPI document of any version.
pub(super) fn is_document(value: &Value) -> bool {
    ["openapi", "swagger"].iter().any(|key| value.get(key).is_some_and(Value::is_string))
}

/// Returns the operations, and a problem if there is none.
pub(super) fn entries(document: &Document<'_>) -> (Vec<Entry>, Vec<Diagnostic>) {
    if !document.value["openapi"].as_str().is_some_and(|version| version.starts_with("3.")) {
        let key = if document.value["openapi"].is_null() { "/swagger" } else { "/openapi" };
        let help = "convert the document, for example with a converter of Swagger 2 to OpenAPI 3".to_owned();
        return (Vec::new(), vec![document.at_value(key, "only OpenAPI 3 is read", Some(help))]);
    }
    let mut entries = Vec::new();
    for (path, item) in document.value["paths"].as_object().into_iter().flatten() {
        for method in METHODS.iter().filter(|method| item[**method].is_object()) {
            let name = item[*method]["operationId"].as_str().map_or_else(|| format!("{method}{path}"), str::to_owned);
            let words = name.split(|c: char| !c.is_ascii_alphanumeric() && c != '_' && c != '-');
            let name = words.filter(|word| !word.is_empty()).collect::<Vec<_>>().join("_");
            let pointer = child(&child("/paths", path), method);
            entries.push(Entry { pointer, key: Some(name), optional_schema: true });
        }
    }
    let nothing = || document.at_value("/paths", "there is no operation in the document", None);
    let problems = if entries.is_empty() { vec![nothing()] } else { Vec::new() };
    (entries, problems)
}

impl<'a> ToolReader<'a> {
    /// Reads an operation.
    pub(super) fn operation(&mut self, entry: &Entry) -> Option<Tool> {
        let (item, method) = entry.pointer.rsplit_once('/')?;
        let (mut properties, mut required, mut defs) = (Object::new(), Vec::new(), Object::new());
        for list in [item, &entry.pointer].map(|at| child(at, "parameters")) {
            let count = self.document.value.pointer(&list).and_then(Value::as_array).map_or(0, Vec::len);
            for index in 0..count {
                let (at, parameter) = self.target(&child(&list, index))?;
                let name = parameter["name"].as_str().unwrap_or_default();
                // Headers and cookies are of the client, not of the agent.
                if name.is_empty() || !matches!(parameter["in"].as_str(), Some("path" | "query")) {
                    continue;
                }
                let mut schema = self.schema(&child(&at, "schema"), &mut defs, 0);
                if let (Some(map), Some(text)) = (schema.as_object_mut(), parameter["description"].as_str()) {
                    map.entry("description").or_insert_with(|| text.into());
                }
                required.retain(|known| known != name);
                required.extend((parameter["required"] == true).then(|| name.to_owned()));
                properties.insert(name.to_owned(), schema);
            }
        }
        self.add_body(&entry.pointer, &mut properties, &mut required, &mut defs);
        let mut input = json!({"type": "object", "properties": properties, "required": required});
        // Of the definitions, those that are still referred to.
        let texts = |input: &Value, defs: &Object| format!("{input}{defs:?}");
        let used = texts(&input, &defs);
        defs.retain(|name, _| used.contains(&format!("\"#/$defs/{name}\"")));
        if !defs.is_empty() {
            input["$defs"] = defs.into();
        }
        let input = self.input(&entry.pointer, &input)?;
        let operation = self.document.value.pointer(&entry.pointer)?;
        let text =
            |key: &str| operation[key].as_str().map(|text| text.trim().to_owned()).filter(|text| !text.is_empty());
        let action = Action {
            name: entry.key.clone()?,
            input,
            handler: Handler::Return(self.answer(&entry.pointer).unwrap_or_else(|| json!("OK"))),
            read_only: method == "get",
            destructive: method == "delete",
            idempotent: matches!(method, "put" | "delete"),
            ..Action::default()
        };
        let description = text("summary").or_else(|| text("description")).unwrap_or_default();
        Some(Tool { name: entry.key.clone()?, description, actions: vec![action], ..Tool::default() })
    }

    /// Adds the fields of a body, or the body as one argument if it has none, or one with the name of a parameter.
    fn add_body(&mut self, operation: &str, properties: &mut Object, required: &mut Vec<String>, defs: &mut Object) {
        let Some((at, is_required)) = self.content(&child(operation, "requestBody")) else { return };
        let body = self.schema(&at, defs, 0);
        let root = json!({"$defs": defs});
        let parts = schema_parts(&body, &root);
        let fields = || parts.iter().filter_map(|part| part["properties"].as_object()).flatten();
        let is_choice = |part: &&Value| part.get("anyOf").is_some() || part.get("oneOf").is_some();
        let is_flat = fields().next().is_some() && !parts.iter().any(is_choice);
        if is_flat && !fields().any(|(name, _)| properties.contains_key(name)) {
            let names = parts.iter().filter_map(|part| part["required"].as_array()).flatten();
            let names = names.filter_map(Value::as_str).filter(|_| is_required).map(str::to_owned);
            required.extend(names);
            properties.extend(fields().map(|(name, schema)| (name.clone(), schema.clone())));
        } else {
            required.extend(is_required.then(|| "body".to_owned()));
            properties.insert("body".to_owned(), body);
        }
    }

    /// Returns an example of the first successful answer.
    fn answer(&mut self, operation: &str) -> Option<Value> {
        let responses = child(operation, "responses");
        let codes = self.document.value.pointer(&responses)?.as_object()?;
        let code = codes.keys().find(|code| code.starts_with('2'))?.clone();
        let (at, _) = self.content(&child(&responses, &code))?;
        let mut defs = Object::new();
        let mut schema = self.schema(&at, &mut defs, 0);
        schema.as_object_mut()?.insert("$defs".to_owned(), defs.into());
        valid_example(&schema)
    }

    /// Returns the pointer of the schema of a body, that of JSON if there are several, and true if the body is required.
    fn content(&mut self, pointer: &str) -> Option<(String, bool)> {
        self.document.value.pointer(pointer)?;
        let (at, body) = self.target(pointer)?;
        let content = body["content"].as_object()?;
        let kind = content.keys().find(|kind| kind.contains("json")).or_else(|| content.keys().next())?;
        content[kind].get("schema")?;
        Some((child(&child(&child(&at, "content"), kind), "schema"), body["required"] == true))
    }

    /// Returns what stands at a pointer, or what a reference there leads to, with its pointer. Reports a reference that leads nowhere.
    fn target(&mut self, pointer: &str) -> Option<(String, &'a Value)> {
        let document = self.document;
        let mut at = pointer.to_owned();
        for _ in 0..MAX_HOPS {
            let Some(reference) = document.value.pointer(&at)?["$ref"].as_str() else { break };
            let next = reference.strip_prefix('#').filter(|next| document.value.pointer(next).is_some());
            let Some(next) = next else {
                let message = format!("the document has nothing at `{reference}`");
                let help = "references lead to a place in the same document: `#/components/…`".to_owned();
                self.problem(&child(&at, "$ref"), message, Some(help));
                return None;
            };
            at = next.to_owned();
        }
        let value = document.value.pointer(&at)?;
        Some((at, value))
    }

    /// Returns a schema as JSON Schema. What it refers to is added to the definitions. Fields that only answers have are left out.
    fn schema(&mut self, pointer: &str, defs: &mut Object, level: usize) -> Value {
        let document = self.document;
        let Some(schema) = document.value.pointer(pointer).filter(|_| level < MAX_LEVELS) else {
            return json!({});
        };
        let Some(map) = schema.as_object() else { return schema.clone() };
        if map.contains_key("$ref") {
            let Some((at, _)) = self.target(pointer) else { return json!({}) };
            let name = at.trim_start_matches("/components/schemas").trim_start_matches('/').replace(['/', '~'], "_");
            if !defs.contains_key(&name) {
                // A schema may contain itself.
                defs.insert(name.clone(), json!({}));
                let schema = self.schema(&at, defs, level + 1);
                defs.insert(name.clone(), schema);
            }
            return json!({"$ref": format!("#/$defs/{name}")});
        }
        let mut read = Object::new();
        for (key, value) in map.iter().filter(|(key, _)| schema_keywords().any(|known| known == key.as_str())) {
            let at = child(pointer, key);
            let value = match (key.as_str(), value) {
                ("properties", Value::Object(fields)) => {
                    let of_calls = fields.iter().filter(|(_, field)| field["readOnly"] != true);
                    of_calls.map(|(name, _)| (name.clone(), self.schema(&child(&at, name), defs, level + 1))).collect()
                }
                ("required", Value::Array(names)) => {
                    let is_of_calls =
                        |name: &&Value| map["properties"][name.as_str().unwrap_or_default()]["readOnly"] != true;
                    names.iter().filter(is_of_calls).cloned().collect()
                }
                ("type", kind) if map.get("nullable") == Some(&json!(true)) => json!([kind, "null"]),
                ("allOf" | "anyOf" | "oneOf" | "prefixItems", Value::Array(parts)) => {
                    (0..parts.len()).map(|index| self.schema(&child(&at, index), defs, level + 1)).collect()
                }
                ("items" | "additionalProperties" | "not" | "contains", Value::Object(_)) => {
                    self.schema(&at, defs, level + 1)
                }
                (_, value) => value.clone(),
            };
            read.insert(key.clone(), value);
        }
        read.into()
    }
}
