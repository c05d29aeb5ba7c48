//! Checks of a tool and of its answers as clients see them: the output schema, the place of the text, and the limits of providers.

use healbench_engine::{accepts, check_schema, upgrade_schema};
use serde_json::{Value, json};

use crate::answer::Answer;
use crate::limits::LIMITS;

/// A finding and its example.
pub(crate) type Defect = (&'static str, String);

/// Returns what is wrong with a tool before it is called.
pub(crate) fn of_definition(definition: &Value) -> Vec<Defect> {
    let mut defects = Vec::new();
    let no_object = |schema: &Value| {
        let shown = schema.get("type").map_or("it has no `type`".to_owned(), |kind| format!("its `type` is {kind}"));
        (schema["type"] != json!("object")).then(|| format!("the schema has to have `type: object`; {shown}"))
    };
    // modelcontextprotocol.io/specification/2025-11-25/schema#tool: both have the type "object".
    defects.extend(no_object(&definition["inputSchema"]).map(|example| ("schema-broken", example)));
    let output = &definition["outputSchema"];
    if !output.is_null() {
        if let Some(example) = no_object(output) {
            defects.push(("output-schema-broken", example));
        } else if let Err(error) = check_schema(&upgrade_schema(output)) {
            defects.push(("output-schema-broken", error.to_string()));
        }
        if let Some(draft) = output["$schema"].as_str().filter(|draft| !draft.contains("2020-12")) {
            defects.push(("output-draft", draft.to_owned()));
        }
    }
    let refused: Vec<String> = LIMITS
        .iter()
        .filter_map(|limit| (limit.breaks)(definition).map(|what| format!("{}: {what}", limit.client)))
        .collect();
    if !refused.is_empty() {
        defects.push(("client-limits", refused.join("; ")));
    }
    defects
}

/// Returns what is wrong with an answer of a tool.
pub(crate) fn of_answer(definition: &Value, answer: &Answer) -> Vec<Defect> {
    let result = &answer.result;
    if answer.slow || answer.asked || answer.is_task || result.protocol_error.is_some() {
        return Vec::new();
    }
    let mut defects = Vec::new();
    let output = definition.get("outputSchema").filter(|schema| schema["type"] == json!("object"));
    match (&result.structured, output) {
        (Some(structured), Some(schema)) if accepts(schema, structured) == Ok(false) => {
            let what = if result.is_error { "an error" } else { "a success" };
            defects.push(("output-schema", format!("{what} has {structured}")));
        }
        (None, Some(_)) if !result.is_error => {
            defects.push(("output-schema", "a success without structured content".to_owned()));
        }
        _ => {}
    }
    if let Some(structured) = result.structured.as_ref().filter(|_| result.is_error) {
        defects.push(("structured-error", structured.to_string()));
    }
    let is_structured_alone = result.content.is_empty() && result.structured.is_some();
    if !answer.has_text() && (result.is_error || is_structured_alone) {
        let instead = match (result.content.is_empty(), &result.structured) {
            (true, None) => "no content".to_owned(),
            (true, Some(_)) => "structured content alone".to_owned(),
            (false, _) => answer.text.clone(),
        };
        defects.push(("no-text", instead));
    }
    defects
}

#[cfg(test)]
mod tests {
    use healbench_core::{CallResult, ContentBlock};

    use super::*;

    fn ids(defects: &[Defect]) -> Vec<&str> {
        defects.iter().map(|(id, _)| *id).collect()
    }

    fn answer(result: CallResult) -> Answer {
        Answer {
            result,
            text: String::new(),
            hash: String::new(),
            tokens: 0,
            asked: false,
            slow: false,
            is_task: false,
        }
    }

    #[test]
    fn a_definition_is_what_clients_expect() {
        let of = |output: Value| {
            let schema = json!({"type": "object", "properties": {"city": {"type": "string"}}});
            of_definition(&json!({"name": "a", "inputSchema": schema, "outputSchema": output}))
        };
        assert_eq!(of(Value::Null), []);
        assert_eq!(of(json!({"type": "object"})), []);
        assert_eq!(ids(&of(json!({"description": "a result"}))), ["output-schema-broken"]);
        assert!(of(json!({"type": "array"}))[0].1.ends_with("its `type` is \"array\""));
        assert_eq!(
            ids(&of(json!({"type": "object", "properties": {"a": {"type": "nothing"}}}))),
            ["output-schema-broken"]
        );
        let draft = |name: &str| json!({"type": "object", "$schema": format!("https://json-schema.org/{name}/schema")});
        assert_eq!((ids(&of(draft("draft-07"))), of(draft("draft/2020-12"))), (vec!["output-draft"], vec![]));
    }

    #[test]
    fn an_answer_keeps_what_the_definition_promises() {
        let definition =
            json!({"outputSchema": {"type": "object", "required": ["n"], "properties": {"n": {"type": "integer"}}}});
        let text = || vec![ContentBlock::Text("done".to_owned())];
        let of = |is_error: bool, content: Vec<ContentBlock>, structured: Option<Value>| {
            let defects =
                of_answer(&definition, &answer(CallResult { content, structured, is_error, protocol_error: None }));
            defects.into_iter().map(|(id, _)| id).collect::<Vec<_>>()
        };
        let nothing: [&str; 0] = [];
        assert_eq!(of(false, text(), Some(json!({"n": 1}))), nothing);
        assert_eq!(of(false, text(), Some(json!({"n": "1"}))), ["output-schema"]);
        assert_eq!(of(false, text(), None), ["output-schema"]);
        assert_eq!(of(true, text(), None), nothing);
        assert_eq!(of(true, text(), Some(json!({"n": 1}))), ["structured-error"]);
        assert_eq!(of(true, Vec::new(), Some(json!({"e": "no"}))), ["output-schema", "structured-error", "no-text"]);
        let resource = ContentBlock::Other(json!({"type": "resource", "resource": {"uri": "a:b", "text": "no"}}));
        assert_eq!(of(true, vec![resource], None), ["no-text"]);
        // Text that repeats it would arrive everywhere.
        assert_eq!(of(false, Vec::new(), Some(json!({"n": 1}))), ["no-text"]);
        // Of a tool that promises nothing, both are right.
        let plain = CallResult { content: text(), ..CallResult::default() };
        assert_eq!(of_answer(&json!({}), &answer(plain)), []);
    }
}
