//! `llm-friendly` and `llm-friendly-json`.

mod examples;
mod fixes;
mod hostile;
mod other_failures;
mod samples;

use super::*;

/// Creates a tool with one action and no discriminator.
fn single(name: &str, description: &str, input: Value) -> Vec<Tool> {
    vec![Tool { description: description.to_owned(), discriminator: None, ..tool(name, vec![ok(name, input)]) }]
}

/// The tool of document 002.
fn create_user() -> Vec<Tool> {
    let input = json!({
        "type": "object",
        "properties": {
            "username": {
                "type": "string",
                "description": "Username (3-20 chars, alphanumeric + underscore)",
                "minLength": 3,
                "maxLength": 20,
                "pattern": "^[a-zA-Z0-9_]+$",
            },
            "email": {"type": "string", "description": "User email address", "format": "email"},
            "age": {"type": "integer", "description": "Age (18-120)", "minimum": 18, "maximum": 120},
            "role": {
                "type": "string",
                "description": "User role",
                "enum": ["admin", "moderator", "user", "guest"],
            },
            "tags": {
                "type": "array",
                "description": "User tags (1-5 unique tags)",
                "items": {"type": "string"},
                "minItems": 1,
                "maxItems": 5,
                "uniqueItems": true,
            },
        },
        "required": ["username", "email", "age", "role"],
    });
    single("create-user", "Create a new user with comprehensive validation", input)
}

/// Returns the valid example in the last fence of a Markdown text.
fn example_of(markdown: &str) -> Option<Value> {
    let (_, block) = markdown.split_once("## Valid Example:\n\n")?;
    let (fence, rest) = block.split_once("json\n").unwrap();
    assert!(fence.len() >= 3 && fence.chars().all(|c| c == '`'), "{markdown}");
    let text = rest.split_once(&format!("\n{fence}")).unwrap().0;
    Some(serde_json::from_str(text).unwrap())
}
