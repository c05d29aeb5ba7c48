use healbench_core::ErrorFormat::{LlmFriendly, LlmFriendlyJson};

use super::*;

/// The sample shown in full by document 002.
const AFTER: &str = "\
❌ Tool 'create-user' received invalid arguments. 3 validation error(s) found.

## Issues Found:

1. **username**: String must be at least 3 characters
   - Received: \"ab\"
   - Expected: string
   - Fix: Provide a string with at least 3 characters and at most 20 characters and matching pattern ^[a-zA-Z0-9_]+$.

2. **email**: Invalid email format
   - Received: \"not-an-email\"
   - Expected: valid value
   - Fix: Provide a string in email format.

3. **age**: Number must be at least 18
   - Received: 15
   - Expected: minimum 18
   - Fix: Provide a integer >= 18 and <= 120.

## Tool Schema:

**Description**: Create a new user with comprehensive validation

**Required fields**: username, email, age, role

**Properties**:
- **username** (string): Username (3-20 chars, alphanumeric + underscore)
  Constraints: Min length: 3, Max length: 20, Pattern: ^[a-zA-Z0-9_]+$
  Examples: \"example\"
- **email** (string): User email address
  Constraints: Format: email
  Examples: \"user@example.com\"
- **age** (integer): Age (18-120)
  Constraints: Minimum: 18, Maximum: 120
  Examples: 69
- **role** (string): User role
  Constraints: Must be one of: \"admin\", \"moderator\", \"user\", \"guest\"
  Examples: \"admin\"
- **tags** (array): User tags (1-5 unique tags)
  Constraints: Min items: 1, Max items: 5, Items must be unique
  Examples: [[\"example\"]]

## Suggestions:

1. Check that numeric values and string lengths are within the allowed range
2. Use only allowed enum values (see the schema for valid options)
3. Review the validExample below for a correctly formatted request

## Valid Example:

```json
{
  \"username\": \"example\",
  \"email\": \"user@example.com\",
  \"age\": 69,
  \"role\": \"admin\",
  \"tags\": [\"example\"]
}
```";

fn after() -> Value {
    json!({"username": "ab", "email": "not-an-email", "age": 15, "role": "user"})
}

#[test]
fn the_full_sample_of_document_002() {
    let shown = text(&create_user(), LlmFriendly, "create-user", after());
    assert_eq!(shown, AFTER);
}

#[test]
fn the_type_error_of_document_002() {
    let input = json!({
        "properties": {
            "temperature": {"type": "number", "exclusiveMinimum": -273.15, "maximum": 1000},
            "unit": {"type": "string", "enum": ["celsius", "fahrenheit"]},
        },
        "required": ["temperature", "unit"],
    });
    let tools = single("set-temperature", "", input);
    let arguments = json!({"temperature": "hot", "unit": "celsius"});
    let shown = text(&tools, LlmFriendly, "set-temperature", arguments);
    let head = "\
❌ Tool 'set-temperature' received invalid arguments. 1 validation error(s) found.

## Issues Found:

1. **temperature**: Expected number, received string
   - Received: \"hot\"
   - Expected: number
   - Fix: Provide a number > -273.15 and <= 1000.

## ";
    assert!(shown.starts_with(head), "{shown}");
    let end = "\
## Valid Example:

```json
{
  \"temperature\": 363.425,
  \"unit\": \"celsius\"
}
```";
    assert!(shown.ends_with(end), "{shown}");
}

#[test]
fn the_enum_error_of_document_002() {
    let arguments = json!({"username": "abc", "email": "user@example.com", "age": 69, "role": "superadmin"});
    let shown = text(&create_user(), LlmFriendly, "create-user", arguments);
    let head = "\
❌ Tool 'create-user' received invalid arguments. 1 validation error(s) found.

## Issues Found:

1. **role**: Invalid enum value
   - Received: \"superadmin\"
   - Expected: 'admin' | 'moderator' | 'user' | 'guest'
   - Fix: Use one of these values: \"admin\", \"moderator\", \"user\", \"guest\"

## ";
    assert!(shown.starts_with(head), "{shown}");
    let suggestion = "## Suggestions:\n\n1. Use only allowed enum values (see the schema for valid options)\n2. Review the validExample";
    assert!(shown.contains(suggestion), "{shown}");
}

#[test]
fn the_multiple_errors_of_document_002() {
    // The sample's schema has no pattern.
    let mut tools = create_user();
    tools[0].actions[0].input["properties"]["username"].as_object_mut().unwrap().remove("pattern");
    let arguments = json!({"username": "a", "email": "invalid", "age": 5, "role": "user"});
    let shown = text(&tools, LlmFriendly, "create-user", arguments);
    let head = "\
❌ Tool 'create-user' received invalid arguments. 3 validation error(s) found.

## Issues Found:

1. **username**: String must be at least 3 characters
   - Received: \"a\"
   - Expected: string
   - Fix: Provide a string with at least 3 characters and at most 20 characters.

2. **email**: Invalid email format
   - Received: \"invalid\"
   - Expected: valid value
   - Fix: Provide a string in email format.

3. **age**: Number must be at least 18
   - Received: 5
   - Expected: minimum 18
   - Fix: Provide a integer >= 18 and <= 120.

## ";
    assert!(shown.starts_with(head), "{shown}");
}

#[test]
fn the_json_structure_of_document_002() {
    let input = json!({
        "properties": {
            "age": {"type": "integer", "description": "Age in years", "minimum": 18, "maximum": 120},
            "email": {"type": "string", "format": "email"},
        },
        "required": ["age"],
    });
    let shown = text(&single("XYZ", "Tool description", input), LlmFriendlyJson, "XYZ", json!({"age": 15}));
    let expected = r#"{
  "error": {
    "type": "validation",
    "summary": "Tool 'XYZ' received invalid arguments. 1 validation error(s) found.",
    "issues": [
      {
        "field": "age",
        "problem": "Number must be at least 18",
        "received": 15,
        "expected": "minimum 18",
        "fix": "Provide a integer >= 18 and <= 120."
      }
    ],
    "schema": {
      "description": "Tool description",
      "properties": {
        "age": {
          "type": "integer",
          "description": "Age in years",
          "constraints": ["Minimum: 18", "Maximum: 120"],
          "examples": [69]
        },
        "email": {
          "type": "string",
          "constraints": ["Format: email"],
          "examples": ["user@example.com"]
        }
      },
      "required": ["age"],
      "examples": [
        {
          "age": 69
        }
      ]
    },
    "suggestions": [
      "Check that numeric values and string lengths are within the allowed range",
      "Review the validExample below for a correctly formatted request"
    ],
    "validExample": {
      "age": 69,
      "email": "user@example.com"
    }
  }
}"#;
    assert_eq!(shown, expected);
}

#[test]
fn json_and_markdown_say_the_same() {
    let shown = text(&create_user(), LlmFriendlyJson, "create-user", after());
    let error = &serde_json::from_str::<Value>(&shown).unwrap()["error"];
    for issue in error["issues"].as_array().unwrap() {
        let said = |name: &str| issue[name].as_str().unwrap();
        let lines = format!(
            "**{}**: {}\n   - Received: {}\n   - Expected: {}\n   - Fix: {}\n",
            said("field"),
            said("problem"),
            issue["received"],
            said("expected"),
            said("fix")
        );
        assert!(AFTER.contains(&lines), "{lines}");
    }
    for suggestion in error["suggestions"].as_array().unwrap() {
        assert!(AFTER.contains(suggestion.as_str().unwrap()));
    }
    assert_eq!(Some(&error["validExample"]), example_of(AFTER).as_ref());
}

#[test]
fn missing_fields_have_no_received_and_are_suggested_together() {
    // Document 002: `Add missing required fields: email, username`.
    let arguments = json!({"age": 30, "role": "user"});
    let shown = text(&create_user(), LlmFriendly, "create-user", arguments.clone());
    let issue =
        "\n\n1. **username**: Required field is missing\n   - Expected: string\n   - Fix: Provide a string with";
    assert!(shown.contains(issue), "{shown}");
    assert!(shown.contains("\n1. Add missing required fields: username, email\n2. "), "{shown}");
    let json = text(&create_user(), LlmFriendlyJson, "create-user", arguments);
    let error = &serde_json::from_str::<Value>(&json).unwrap()["error"];
    assert_eq!(error["issues"][0].get("received"), None);
    assert_eq!(error["suggestions"][0], "Add missing required fields: username, email");
}

#[test]
fn each_category_has_its_suggestion_in_the_order_of_document_002() {
    let input = json!({
        "properties": {
            "a": {"type": "string"},
            "b": {"type": "integer"},
            "c": {"type": "string", "pattern": "^x+$"},
            "d": {"type": "integer", "maximum": 3},
            "e": {"type": "array", "maxItems": 1},
            "f": {"type": "string", "enum": ["x", "y"]},
        },
        "required": ["a"],
    });
    let arguments = json!({"b": "one", "c": "y", "d": 4, "e": [1, 2], "f": "z", "g": 1});
    let json = text(&single("t", "", input), LlmFriendlyJson, "t", arguments);
    let error = &serde_json::from_str::<Value>(&json).unwrap()["error"];
    assert_eq!(
        error["suggestions"],
        json!([
            "Add missing required fields: a",
            "Check that every field has the type given in the schema",
            "Check that strings match the pattern given in the schema",
            "Check that numeric values and string lengths are within the allowed range",
            "Check that arrays and objects have an allowed number of entries",
            "Use only allowed enum values (see the schema for valid options)",
            "Remove undeclared fields: g",
            "Review the validExample below for a correctly formatted request",
        ])
    );
}

#[test]
fn the_example_of_a_grouped_tool_can_be_sent_as_it_is() {
    let input = json!({"properties": {"amount": {"type": "number", "minimum": 1}}, "required": ["amount"]});
    let mut tools = vec![tool("billing", vec![ok("list", json!({})), ok("create", input)])];
    tools[0].actions[1].description = "Creates an invoice".to_owned();
    let shown = text(&tools, LlmFriendly, "billing", json!({"action": "create", "amount": 0}));
    let expected = "\
❌ Tool 'billing' (action 'create') received invalid arguments. 1 validation error(s) found.

## Issues Found:

1. **amount**: Number must be at least 1
   - Received: 0
   - Expected: minimum 1
   - Fix: Provide a number >= 1.

## Tool Schema:

**Description**: Creates an invoice

**Required fields**: action, amount

**Properties**:
- **action** (string)
  Constraints: Must be: \"create\"
  Examples: \"create\"
- **amount** (number)
  Constraints: Minimum: 1
  Examples: 1

## Suggestions:

1. Check that numeric values and string lengths are within the allowed range
2. Review the validExample below for a correctly formatted request

## Valid Example:

```json
{
  \"action\": \"create\",
  \"amount\": 1
}
```";
    assert_eq!(shown, expected);
    assert!(!answer(&tools, "all", LlmFriendly, "billing", example_of(&shown).unwrap()).response.is_error);
}

#[test]
fn fields_of_fields_are_explained_with_their_paths() {
    let input = json!({
        "properties": {
            "env": {"type": "object", "properties": {"region": {"enum": ["eu", "us"]}}, "required": ["region"]},
            "lines": {"type": "array", "items": {"type": "object", "properties": {"qty": {"type": "integer"}}}},
        },
    });
    let tools = single("t", "", input);
    let shown = text(&tools, LlmFriendly, "t", json!({"env": {}}));
    let schema = "\
**Properties**:
- **env** (object)
  Constraints: Required fields: region
  Examples: {\"region\": \"eu\"}
  - **env.region** (string)
    Constraints: Must be one of: \"eu\", \"us\"
    Examples: \"eu\"
- **lines** (array)
  Examples: [[{\"qty\": 1}]]
  - **lines[].qty** (integer)
    Examples: 1

";
    assert!(shown.contains(schema), "{shown}");
    let json = text(&tools, LlmFriendlyJson, "t", json!({"env": {}}));
    let properties = &serde_json::from_str::<Value>(&json).unwrap()["error"]["schema"]["properties"];
    assert_eq!(properties["env"]["required"], json!(["region"]));
    assert_eq!(properties["lines"]["items"]["properties"]["qty"]["type"], "integer");
}

#[test]
fn contract_changes_have_their_place_in_both() {
    let mut tools = create_user();
    let mut previous = tools[0].clone();
    previous.actions[0].input["required"] = json!([]);
    tools[0].previous = Some(Box::new(previous));
    let markdown = text(&tools, LlmFriendly, "create-user", after());
    assert!(
        markdown.starts_with(AFTER) && markdown[AFTER.len()..].starts_with("\n\n## Contract Changes:\n"),
        "{markdown}"
    );
    let json = text(&tools, LlmFriendlyJson, "create-user", after());
    let error = &serde_json::from_str::<Value>(&json).unwrap()["error"];
    assert_eq!(error["contractChanges"]["tool"], "create-user");
    assert_eq!(error["validExample"]["age"], 69);
}
