//! Lists of tools as MCP servers, SDKs and model APIs write them.

use healbench_core::{ErrorFormat, Guardrails, ToolCall};
use healbench_engine::definition::{Tool, WorldDef};
use healbench_engine::{Engine, World, WorldBase};
use healbench_scenarios::load_tools_str;
use insta::assert_snapshot;
use serde_json::{Value, json};

fn tools(text: &str) -> Vec<Tool> {
    load_tools_str("tools.json", text).unwrap_or_else(|problems| panic!("{text}\n{problems:?}")).tools
}

/// Returns the tool of a list with one tool.
fn tool(list: &Value) -> Tool {
    tools(&list.to_string()).pop().unwrap()
}

/// Returns the tool with this input schema, loaded from a list.
fn with_schema(schema: Value) -> Tool {
    tool(&json!({"tools": [{"name": "t", "inputSchema": schema}]}))
}

/// Returns true if a call of `tool` with these arguments is valid.
fn accepts(tool: &Tool, arguments: Value) -> bool {
    let engine = Engine::new(std::slice::from_ref(tool), Guardrails::ALL, &ErrorFormat::FusionXml).unwrap();
    let mut world = World::new(std::sync::Arc::new(WorldBase::new(WorldDef::default())));
    !engine.call(&mut world, &ToolCall::new(&tool.name, arguments)).response.is_error
}

#[track_caller]
fn check(schema: Value, valid: &[Value], invalid: &[Value]) {
    let tool = with_schema(schema.clone());
    for arguments in valid {
        assert!(accepts(&tool, arguments.clone()), "{schema} rejects {arguments}");
    }
    for arguments in invalid {
        assert!(!accepts(&tool, arguments.clone()), "{schema} accepts {arguments}");
    }
}

#[test]
fn answers_are_unwrapped() {
    let ping = json!({"name": "ping", "inputSchema": {"type": "object"}});
    let pong = json!({"name": "pong", "inputSchema": {"type": "object"}});
    let page = |tool: &Value| json!({"tools": [tool], "nextCursor": "abc"});
    let answer = |id: u32, result: Value| json!({"jsonrpc": "2.0", "id": id, "result": result});
    let names = |text: &str| tools(text).into_iter().map(|tool| tool.name).collect::<Vec<_>>().join(" ");
    for (text, expected) in [
        (json!([ping, pong]).to_string(), "ping pong"),
        (json!({"tools": [ping], "nextCursor": null, "_meta": {}}).to_string(), "ping"),
        (json!({"result": {"tools": [ping]}}).to_string(), "ping"),
        (answer(1, json!({"tools": [ping], "ttl": 1})).to_string(), "ping"),
        (json!({"result": [ping]}).to_string(), "ping"),
        // Several pages.
        (format!("{}\n{}\n", page(&ping), page(&pong)), "ping pong"),
        (format!("{:#}{:#}", answer(1, page(&ping)), answer(2, page(&pong))), "ping pong"),
        (json!([answer(1, page(&ping)), answer(2, page(&pong))]).to_string(), "ping pong"),
        (json!([[ping], [pong]]).to_string(), "ping pong"),
        // A streamed response over HTTP.
        (
            format!(
                "event: message\r\nid: 1\r\ndata: {}\r\n\r\n: ping\ndata:{}\n\n",
                answer(1, page(&ping)),
                page(&pong)
            ),
            "ping pong",
        ),
        // By name, as the AI SDK has them.
        (json!({"tools": {"ping": {"inputSchema": {}}, "pong": {"parameters": {}}}}).to_string(), "ping pong"),
    ] {
        assert_eq!(names(&text), expected, "{text}");
    }
}

#[test]
fn lists_of_other_apis_are_read() {
    let schema = json!({"type": "object", "properties": {"q": {"type": "string"}}, "required": ["q"]});
    let named = |key: &str| json!({"name": "find", "description": "Finds.", key: schema});
    let function = json!({"type": "function", "function": named("parameters"), "strict": true});
    for list in [
        json!([named("inputSchema")]),
        json!({"tools": [function]}),
        json!([{"type": "function", "name": "find", "description": "Finds.", "parameters": schema}]),
        json!({"functions": [named("parameters")]}),
        json!([named("input_schema")]),
        json!([named("parametersJsonSchema")]),
        json!([named("parameters_json_schema")]),
        json!({"tools": [{"functionDeclarations": [named("parameters")]}]}),
        json!([{"function_declarations": [named("parameters")]}]),
        json!({"tools": [{"toolSpec": {"name": "find", "description": "Finds.", "inputSchema": {"json": schema}}}]}),
        json!({"toolConfig": {"tools": [{"toolSpec": {"name": "find", "description": "Finds.", "inputSchema": {"json": schema}}}]}}),
    ] {
        let tool = tool(&list);
        assert_eq!((tool.name.as_str(), tool.description.as_str()), ("find", "Finds."), "{list}");
        assert!(accepts(&tool, json!({"q": "x"})), "{list}");
        assert!(!accepts(&tool, json!({})), "{list}");
    }
    // Types in capitals, as in the protocol buffers of Gemini.
    let upper = json!({"type": "OBJECT", "properties": {"q": {"type": "STRING", "description": "A."}}});
    let declared = tool(&json!([{"functionDeclarations": [{"name": "find", "parameters": upper}]}]));
    assert!(accepts(&declared, json!({"q": "x"})) && !accepts(&declared, json!({"q": 1})));
    // A function without parameters.
    assert!(accepts(&tool(&json!([{"type": "function", "function": {"name": "now"}}])), json!({})));
}

#[test]
fn members_of_a_tool_that_are_null_or_not_needed_are_ignored() {
    let full = json!({
        "name": "t", "title": null, "description": null, "annotations": null, "outputSchema": null, "icons": null,
        "execution": {"taskSupport": "optional"}, "_meta": {"a": 1}, "inputSchema": null,
    });
    let loaded = tool(&json!({"tools": [full]}));
    assert_eq!((loaded.description.as_str(), loaded.actions[0].read_only), ("", false));
    assert!(accepts(&loaded, json!({})) && !accepts(&loaded, json!({"x": 1})));
    check(json!({}), &[json!({})], &[json!({"x": 1})]);
    check(
        json!({
            "type": ["object", "null"], "title": null, "description": null, "required": null, "additionalProperties": null,
            "$defs": null, "properties": {"a": {"type": "string", "description": null, "enum": null, "default": null}},
        }),
        &[json!({}), json!({"a": "x"})],
        &[json!({"a": null}), json!({"b": 1})],
    );
    check(
        json!({"properties": {"a": {"const": null}, "b": {"enum": [null]}}}),
        &[json!({"a": null, "b": null})],
        &[json!({"a": 1}), json!({"b": 1})],
    );
}

#[test]
fn older_drafts_are_converted() {
    let field = |schema: Value| json!({"type": "object", "properties": {"f": schema}});
    let f = |value: Value| json!({ "f": value });
    for draft in ["http://json-schema.org/draft-04/schema#", "http://json-schema.org/draft-07/schema", "urn:own"] {
        check(
            json!({"$schema": draft, "properties": {"a": {"$schema": draft, "type": "string"}}}),
            &[json!({"a": "x"})],
            &[json!({"a": 1})],
        );
    }
    // Tuples of draft 07 and earlier.
    let pair = json!({"type": "array", "items": [{"type": "number"}, {"type": "string"}], "minItems": 2});
    check(field(pair.clone()), &[f(json!([1, "x"])), f(json!([1, "x", null]))], &[f(json!(["x", 1])), f(json!([1]))]);
    let mut closed = pair.clone();
    closed["additionalItems"] = json!(false);
    check(field(closed), &[f(json!([1, "x"]))], &[f(json!([1, "x", null]))]);
    check(field(json!({"type": "array", "items": []})), &[f(json!([1]))], &[f(json!(1))]);
    check(field(json!({"additionalItems": false, "items": {}})), &[f(json!([1, 2]))], &[]);
    check(
        json!({"properties": {"a": pair, "b": {"$ref": "#/properties/a/items/1"}}}),
        &[json!({"b": "x"})],
        &[json!({"b": 1})],
    );
    // Booleans of draft 04.
    let above = |exclusive: bool| field(json!({"type": "number", "minimum": 1, "exclusiveMinimum": exclusive}));
    check(above(true), &[f(json!(2))], &[f(json!(1))]);
    check(above(false), &[f(json!(1))], &[f(json!(0))]);
    let below = json!({"type": "integer", "maximum": 9, "exclusiveMaximum": true});
    check(field(below), &[f(json!(8))], &[f(json!(9))]);
    check(field(json!({"type": "integer", "exclusiveMinimum": true})), &[f(json!(0))], &[]);
    check(
        json!({"properties": {"a": {"type": "string", "required": true}, "b": {"required": false}}}),
        &[json!({"a": "x"})],
        &[json!({})],
    );
    // Identifiers and references to them.
    let definitions = |word: &str, reference: &str, id: Value| json!({"properties": {"f": {"$ref": reference}}, word: {"x": id, "id": {"type": "string"}}});
    let text = |keyword: &str, id: &str| json!({keyword: id, "type": "string"});
    for schema in [
        definitions("definitions", "#/definitions/x", json!({"type": "string"})),
        definitions("definitions", "#x", text("id", "#x")),
        definitions("definitions", "#x", text("$id", "#x")),
        definitions("$defs", "#x", text("$anchor", "x")),
        definitions("$defs", "x.json", text("$id", "x.json")),
        definitions("definitions", "urn:x", text("id", "urn:x")),
        json!({"$id": "https://example.com/t.json", "properties": {"f": {"$ref": "#/definitions/x"}}, "definitions": {"x": {"type": "string"}}}),
        json!({"id": "https://example.com/t.json", "properties": {"f": {"$ref": "https://example.com/t.json#/definitions/x"}}, "definitions": {"x": {"type": "string"}}}),
        json!({"$id": "https://example.com/t.json", "properties": {"f": {"$ref": "x.json"}}, "$defs": {"x": {"$id": "https://example.com/x.json", "type": "string"}}}),
    ] {
        check(schema, &[f(json!("x"))], &[f(json!(1))]);
    }
    check(
        json!({"properties": {"id": {"type": "string"}, "$id": {"type": "integer"}}}),
        &[json!({"id": "a", "$id": 1})],
        &[json!({"id": 1})],
    );
    // Before 2019-09, keywords beside a reference had no effect.
    let beside = |schema: &str| {
        json!({"$schema": schema, "properties": {"f": {"$ref": "#/definitions/x", "maxLength": 1}},
               "definitions": {"x": {"type": "string"}}})
    };
    check(beside("http://json-schema.org/draft-07/schema#"), &[f(json!("xx"))], &[f(json!(1))]);
    check(beside("https://json-schema.org/draft/2020-12/schema"), &[f(json!("x"))], &[f(json!("xx"))]);
    let tree = |reference: Value| json!({"properties": {"f": {"type": "array", "items": reference}}});
    check(tree(json!({"$recursiveRef": "#"})), &[f(json!([{"f": []}]))], &[f(json!([{"f": 1}]))]);
    let needs = json!({"properties": {"a": {}, "b": {}}, "dependencies": {"a": ["b"]}});
    check(needs, &[json!({"b": 1}), json!({"a": 1, "b": 1})], &[json!({"a": 1})]);
    let needs = json!({"properties": {"a": {}, "b": {}}, "dependencies": {"a": {"required": ["b"]}}});
    check(needs, &[json!({"b": 1}), json!({"a": 1, "b": 1})], &[json!({"a": 1})]);
    // Values are not schemas.
    let value = json!({"items": [1], "$id": "#x", "exclusiveMinimum": true, "title": null});
    let kept = with_schema(field(json!({"const": value, "default": value, "examples": [value], "enum": [value]})));
    let field = &kept.actions[0].input["properties"]["f"];
    assert_eq!(
        (&field["const"], &field["default"], &field["examples"][0], &field["enum"][0]),
        (&value, &value, &value, &value)
    );
}

#[test]
fn deep_schemas_are_read_and_too_deep_ones_are_reported() {
    let nested = |levels: usize| {
        (0..levels).fold(json!({"type": "string"}), |inner, _| json!({"type": "object", "properties": {"f": inner}}))
    };
    let arguments = |levels: usize, leaf: Value| (0..levels).fold(leaf, |inner, _| json!({ "f": inner }));
    for levels in [11, 25, 40] {
        check(nested(levels), &[arguments(levels, json!("x"))], &[arguments(levels, json!(1))]);
    }
    // One level too deep, and so deep that recursion would overflow the stack.
    for levels in [49, 10_000] {
        let (before, after) = (r#"{"properties":{"f":"#.repeat(levels), "}}".repeat(levels));
        let text = format!(
            r#"{{"tools":[{{"name":"deep","inputSchema":{before}{{}}{after}}},{{"name":"ping","inputSchema":{{}}}}]}}"#
        );
        let list = load_tools_str("tools.json", &text).unwrap();
        assert_eq!(list.problems[0].message, "nested more than 100 levels deep");
        assert_eq!((list.tools.len(), list.problems.len()), (1, 1));
        assert!(list.rejected.contains("deep"));
    }
}

#[test]
fn a_bad_tool_is_reported_and_the_others_are_used() {
    let text = r##"{"jsonrpc": "2.0", "id": 2, "result": {"tools": [
  {"name": "good", "inputSchema": {"type": "object"}},
  {"name": "no-schema"},
  {"name": "good", "inputSchema": {}},
  {"name": "text", "inputSchema": {"type": "string"}},
  {"name": "kind", "inputSchema": {"properties": {"a": {"type": "strin"}}}},
  {"name": "dangling", "inputSchema": {"properties": {"a": {"$ref": "#/$defs/none"}}}},
  {"name": "remote", "inputSchema": {"properties": {"a": {"$ref": "https://example.com/a.json"}}}},
  {"name": "twice", "name": "twice", "inputSchema": {}},
  {"inputSchema": {}},
  "ping",
  {"name": 7, "inputSchema": {}},
  {"name": "words", "description": 1, "inputSchema": {}},
  {"name": "also good", "inputSchema": {}}
]}}
{"jsonrpc": "2.0", "id": 3, "error": {"code": -32602, "message": "Unknown cursor"}}"##;
    let list = load_tools_str("tools.json", text).unwrap();
    assert_eq!(list.tools.iter().map(|tool| tool.name.as_str()).collect::<Vec<_>>(), ["good", "also good"]);
    let rejected: Vec<&str> = list.rejected.iter().map(String::as_str).collect();
    assert_eq!(rejected, ["dangling", "kind", "no-schema", "remote", "text", "twice", "words"]);
    let lines: Vec<String> =
        list.problems.iter().map(|problem| format!("{}: {}", problem.line, problem.message)).collect();
    assert_snapshot!(lines.join("\n"));
    assert!(load_tools_str("tools.json", &text.replace("good\"", "good\", \"description\": 1")).is_err());
}

const SHOP: &str = r##"
openapi: 3.0.3
info: {title: Shop, version: "1"}
paths:
  /orders/{id}:
    parameters: [{$ref: "#/components/parameters/Id"}]
    get:
      summary: Get an order.
      responses: {"200": {description: OK, content: {application/json: {schema: {$ref: "#/components/schemas/Order"}}}}}
    put:
      operationId: orders/replace
      description: Replace an order.
      parameters: [{name: X-Trace, in: header, schema: {type: string}}, {name: notify, in: query, description: Tell the customer., schema: {type: boolean}}]
      requestBody: {required: true, content: {application/json: {schema: {$ref: "#/components/schemas/Order"}}}}
      responses: {"204": {description: Done}}
  /tags:
    post:
      operationId: addTags
      requestBody: {required: true, content: {application/json: {schema: {type: array, items: {type: string}}}}}
components:
  parameters:
    Id: {name: id, in: path, required: true, schema: {type: string}}
  schemas:
    Order:
      type: object
      required: [number, customer, lines]
      properties:
        number: {type: integer, readOnly: true}
        customer: {type: string, example: Ada}
        note: {type: string, nullable: true}
        lines: {type: array, items: {$ref: "#/components/schemas/Line"}}
    Line: {type: object, required: [sku], properties: {sku: {type: string}, parts: {type: array, items: {$ref: "#/components/schemas/Line"}}}}
"##;

#[test]
fn operations_of_an_openapi_document_are_tools() {
    let list = load_tools_str("shop.yaml", SHOP).unwrap();
    assert!(list.problems.is_empty(), "{:?}", list.problems);
    let names: Vec<&str> = list.tools.iter().map(|tool| tool.name.as_str()).collect();
    assert_eq!(names, ["get_orders_id", "orders_replace", "addTags"]);
    let [get, replace, tags] = [0, 1, 2].map(|index| &list.tools[index].actions[0]);
    assert!(get.read_only && !replace.read_only && replace.idempotent);
    assert_eq!(get.input["required"], json!(["id"]));
    assert_eq!(replace.input["required"], json!(["id", "customer", "lines"]));
    let names: Vec<&String> = replace.input["properties"].as_object().unwrap().keys().collect();
    assert_eq!(names, ["id", "notify", "customer", "note", "lines"]);
    assert_eq!(replace.input["properties"]["note"]["type"], json!(["string", "null"]));
    assert_eq!(replace.input["properties"]["notify"]["description"], "Tell the customer.");
    assert_eq!(replace.input["properties"]["lines"]["items"], json!({"$ref": "#/$defs/Line"}));
    assert_eq!(replace.input["$defs"].as_object().unwrap().keys().collect::<Vec<_>>(), ["Line"]);
    assert_eq!(tags.input["required"], json!(["body"]));
    // The same document as JSON, and what is wrong in it, at its place.
    let json =
        load_tools_str("shop.json", &serde_json::to_string(&serde_saphyr::from_str::<Value>(SHOP).unwrap()).unwrap());
    assert_eq!(json.unwrap().tools, list.tools);
    let broken =
        load_tools_str("shop.yaml", &SHOP.replacen("#/components/parameters/Id", "#/components/parameters/Od", 1))
            .unwrap();
    assert_eq!((broken.tools.len(), broken.problems[0].line), (1, 6), "{:?}", broken.problems);
    assert!(broken.problems[0].message.contains("nothing at `#/components/parameters/Od`"));
    let old = load_tools_str("old.json", r#"{"swagger": "2.0", "paths": {}}"#).unwrap_err();
    assert_eq!(old[0].message, "only OpenAPI 3 is read");
}
