//! Limits of clients and providers: definitions of tools that they refuse or change.

use serde_json::{Map, Value};

use crate::places::resolve;

/// The deepest part of a schema that is looked at.
const MAX_DEPTH: usize = 12;
/// Keywords that hold one schema, a list of them, and a map of them.
const ONE: [&str; 7] = ["items", "additionalProperties", "not", "if", "then", "else", "contains"];
const LIST: [&str; 4] = ["anyOf", "oneOf", "allOf", "prefixItems"];
const MAP: [&str; 4] = ["properties", "$defs", "definitions", "patternProperties"];

/// A published limit.
pub(crate) struct Limit {
    pub(crate) client: &'static str,
    /// Returns what of a definition is beyond the limit.
    pub(crate) breaks: fn(&Value) -> Option<String>,
}

/// All limits, in the order of outputs.
pub(crate) const LIMITS: [Limit; 15] = [
    // platform.openai.com/docs/api-reference/chat: `function.name` is of a-z, A-Z, 0-9, underscores and dashes, at most 64 characters.
    Limit { client: "OpenAI", breaks: |tool| name(tool, 64, "_-") },
    // The errors of the API: "String should match pattern '^[a-zA-Z0-9_-]{1,128}$'" (github.com/microsoft/wassette/issues/56), "String
    // should have at most 64 characters" (github.com/anthropics/claude-code/issues/2485).
    Limit { client: "Anthropic", breaks: |tool| name(tool, 64, "_-") },
    // pub.dev/documentation/google_cloud_ai_generativelanguage_v1beta, `FunctionDeclaration.name`: a-z, A-Z, 0-9, underscores, colons, dots
    // and dashes, at most 64 characters.
    Limit { client: "Gemini", breaks: |tool| name(tool, 64, "_-.:") },
    // It names a tool `mcp__SERVER__TOOL`, of at most 64 characters (github.com/mims-harvard/ToolUniverse/issues/65).
    Limit { client: "Claude Code", breaks: with_prefix },
    // The error of the API: "schema must have type 'object' and not have 'oneOf'/'anyOf'/'allOf'/'enum'/'not' at the top level"
    // (github.com/langchain-ai/langchainjs/issues/9804).
    Limit { client: "OpenAI", breaks: |tool| at_root(tool, &["oneOf", "anyOf", "allOf", "enum", "not"]) },
    // The error of the API: "input_schema does not support oneOf, allOf, or anyOf at the top level"
    // (github.com/anomalyco/opencode/issues/35516).
    Limit { client: "Anthropic", breaks: |tool| at_root(tool, &["oneOf", "anyOf", "allOf"]) },
    // The error of the API: "Invalid schema for function ...: array schema missing items" (github.com/sigoden/aichat/pull/1049).
    Limit { client: "OpenAI", breaks: |tool| in_schema(tool, "a list without `items`", &is_bare_list) },
    // It takes a part of OpenAPI 3.0, and answers 400, `Unknown name "exclusiveMinimum"`, to other keywords
    // (github.com/modelcontextprotocol/servers/issues/1624, github.com/pizza-bot-app/pizza-bot/issues/62).
    Limit {
        client: "Gemini",
        breaks: |tool| {
            keywords(
                tool,
                &[
                    "exclusiveMinimum",
                    "exclusiveMaximum",
                    "const",
                    "multipleOf",
                    "$ref",
                    "oneOf",
                    "allOf",
                    "not",
                    "patternProperties",
                ],
            )
        },
    },
    // The error of the API: "Invalid value at '...enum[0]' (TYPE_STRING), 7" (github.com/weave-os/router/pull/65).
    Limit { client: "Gemini", breaks: |tool| in_schema(tool, "options that are no texts", &has_other_options) },
    // spec.openapis.org/oas/v3.0.3#schema-object: "Value MUST be a string. Multiple types via an array are not supported."
    Limit { client: "Gemini", breaks: |tool| in_schema(tool, "a list of types", &has_types) },
    // cloud.google.com/vertex-ai/generative-ai/docs/reference, `FunctionDeclaration`: the name of a function, and those of its parameters,
    // "must start with a letter or an underscore"; parameters have letters, digits and underscores, at most 64.
    Limit { client: "Vertex AI", breaks: first_sign },
    Limit { client: "Vertex AI", breaks: |tool| other_names(tool, "_", true) },
    // The error of the API, about fields at the root: "Property keys should match pattern '^[a-zA-Z0-9_.-]{1,64}$'"
    // (github.com/beautyfree/appstore-connect-mcp/issues/2).
    Limit { client: "Anthropic", breaks: |tool| other_names(tool, "_.-", false) },
    // json-schema.org/draft/2020-12/json-schema-core, section 8.2.3: what a reference leads to has to be there.
    Limit { client: "all clients", breaks: unresolved },
    // spec.openapis.org/oas/v3.0.3#schema-object: `nullable` is a keyword of OpenAPI 3.0. JSON Schema has the type "null".
    Limit {
        client: "JSON Schema",
        breaks: |tool| {
            let found = keywords(tool, &["nullable"]);
            found.map(|found| format!("{found} is no keyword; the type \"null\" allows null"))
        },
    },
];

fn name(tool: &Value, longest: usize, others: &str) -> Option<String> {
    let name = tool["name"].as_str()?;
    let is_known = |c: char| c.is_ascii_alphanumeric() || others.contains(c);
    let length = name.chars().count();
    match name.chars().find(|c| !is_known(*c)) {
        Some(c) => Some(format!("a name with {c:?}")),
        None => {
            (!(1..=longest).contains(&length)).then(|| format!("a name of {length} characters, of at most {longest}"))
        }
    }
}

/// The shortest name of a server that is put before that of a tool: `mcp__a__`.
fn with_prefix(tool: &Value) -> Option<String> {
    let length = tool["name"].as_str()?.chars().count();
    (57..=64)
        .contains(&length)
        .then(|| format!("a name of {length} characters, too long with that of the server before it"))
}

fn at_root(tool: &Value, keywords: &[&str]) -> Option<String> {
    let schema = &tool["inputSchema"];
    let found: Vec<String> =
        keywords.iter().filter(|key| schema.get(**key).is_some()).map(|key| format!("`{key}`")).collect();
    (!found.is_empty()).then(|| format!("{} at the root of the schema", found.join(", ")))
}

fn keywords(tool: &Value, keywords: &[&'static str]) -> Option<String> {
    let schema = &tool["inputSchema"];
    let has = |key: &'static str| is_anywhere(schema, MAX_DEPTH, &|part| part.contains_key(key));
    let found: Vec<String> = keywords.iter().filter(|key| has(key)).map(|key| format!("`{key}`")).collect();
    (!found.is_empty()).then(|| found.join(", "))
}

fn in_schema(tool: &Value, what: &str, is_beyond: &dyn Fn(&Map<String, Value>) -> bool) -> Option<String> {
    is_anywhere(&tool["inputSchema"], MAX_DEPTH, is_beyond).then(|| what.to_owned())
}

fn is_bare_list(part: &Map<String, Value>) -> bool {
    part.get("type").is_some_and(|kind| kind == "array")
        && !part.contains_key("items")
        && !part.contains_key("prefixItems")
}

fn has_other_options(part: &Map<String, Value>) -> bool {
    part.get("enum").and_then(Value::as_array).is_some_and(|options| !options.iter().all(Value::is_string))
}

fn has_types(part: &Map<String, Value>) -> bool {
    part.get("type").is_some_and(Value::is_array)
}

fn first_sign(tool: &Value) -> Option<String> {
    let name = tool["name"].as_str()?;
    let first = name.chars().next().filter(|c| !begins_name(*c))?;
    Some(format!("a name that begins with {first:?}"))
}

fn begins_name(c: char) -> bool {
    c.is_ascii_alphabetic() || c == '_'
}

/// Returns a field at the root whose name has other signs than letters, digits and `others`, or, if `is_identifier`, begins with one.
fn other_names(tool: &Value, others: &str, is_identifier: bool) -> Option<String> {
    let is_known = |name: &&String| {
        (1..=64).contains(&name.len())
            && name.chars().all(|c| c.is_ascii_alphanumeric() || others.contains(c))
            && (!is_identifier || name.starts_with(begins_name))
    };
    let name = tool["inputSchema"]["properties"].as_object()?.keys().find(|name| !is_known(name))?;
    Some(format!("a field with the name {name:?}"))
}

fn unresolved(tool: &Value) -> Option<String> {
    let root = &tool["inputSchema"];
    let is_lost = |part: &Map<String, Value>| {
        let reference = part.get("$ref").and_then(Value::as_str);
        // One by a name, or to another document, may be known elsewhere.
        let is_pointer = reference.is_some_and(|reference| reference.starts_with("#/"));
        is_pointer && resolve(&Value::Object(part.clone()), root).get("$ref").and_then(Value::as_str) == reference
    };
    in_schema(tool, "a `$ref` that leads nowhere", &is_lost)
}

/// Returns true if something holds for a part of a schema.
fn is_anywhere(schema: &Value, depth: usize, holds: &dyn Fn(&Map<String, Value>) -> bool) -> bool {
    let (Some(part), Some(depth)) = (schema.as_object(), depth.checked_sub(1)) else { return false };
    let one = ONE.iter().filter_map(|key| part.get(*key));
    let lists = LIST.iter().filter_map(|key| part.get(*key)?.as_array()).flatten();
    let maps = MAP.iter().filter_map(|key| part.get(*key)?.as_object()).flat_map(Map::values);
    holds(part) || one.chain(lists).chain(maps).any(|inner| is_anywhere(inner, depth, holds))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn broken(name: &str, schema: Value) -> Vec<String> {
        let tool = json!({"name": name, "inputSchema": schema});
        LIMITS
            .iter()
            .filter_map(|limit| (limit.breaks)(&tool).map(|what| format!("{}: {what}", limit.client)))
            .collect()
    }

    #[test]
    fn each_limit_is_found_and_a_plain_tool_breaks_none() {
        let plain = json!({"type": "object", "required": ["to"], "properties": {
            "to": {"type": "array", "items": {"type": "string", "enum": ["a", "b"]}}, "const": {"type": "integer", "minimum": 1}}});
        assert_eq!(broken("send_mail", plain.clone()), Vec::<String>::new());
        assert_eq!(broken("mail.send", plain.clone()), ["OpenAI: a name with '.'", "Anthropic: a name with '.'"]);
        assert_eq!(broken(&"a".repeat(65), plain.clone()).len(), 3);
        assert_eq!(broken(&"a".repeat(60), plain).len(), 1);
        let of = |schema: Value| broken("a", schema);
        let root = of(json!({"type": "object", "anyOf": [{"required": ["a"]}]}));
        assert_eq!(root.len(), 2);
        let field =
            |schema: Value| of(json!({"type": "object", "properties": {"a": {"anyOf": [schema, {"type": "null"}]}}}));
        assert_eq!(field(json!({"type": "array"})), ["OpenAI: a list without `items`"]);
        assert_eq!(field(json!({"exclusiveMinimum": 0, "const": 1})), ["Gemini: `exclusiveMinimum`, `const`"]);
        assert_eq!(field(json!({"enum": ["a", 1]})), ["Gemini: options that are no texts"]);
        assert_eq!(
            field(json!({"type": "string", "nullable": true})),
            ["JSON Schema: `nullable` is no keyword; the type \"null\" allows null"]
        );
        let lost = field(json!({"$ref": "#/$defs/none"}));
        assert_eq!(lost, ["Gemini: `$ref`", "all clients: a `$ref` that leads nowhere"]);
        assert_eq!(of(json!({"properties": {"a b": {}}})).len(), 2);
        assert_eq!(of(json!({"properties": {"a-b": {}, "c": {}}})), ["Vertex AI: a field with the name \"a-b\""]);
        assert_eq!(broken("2fa", json!({"type": "object"})), ["Vertex AI: a name that begins with '2'"]);
        assert_eq!(field(json!({"type": ["string", "null"]})), ["Gemini: a list of types"]);
    }
}
