//! The guardrails in front of a server: what they do to results that are not their own.

use healbench_core::{
    ActionSpec, CallResult, ContentBlock, Deadline, EnvironmentError, ProtocolError, Reply, ReplyOutcome, Session,
    ToolSpec, Undeclared,
};
use healbench_engine::{Failure, Faults, ForeignSettings, GuardedReply};

use super::*;

/// Gives one answer to every call.
struct Answers(CallResult);

impl Session for Answers {
    fn call<'s>(&'s mut self, _: &ToolCall, _: Deadline) -> Result<Reply<'s>, EnvironmentError> {
        Ok(Reply { outcome: ReplyOutcome::Foreign(self.0.clone()), state_changed: None, struck: false })
    }

    fn check(&mut self, _: Deadline) -> Result<Vec<bool>, EnvironmentError> {
        Ok(Vec::new())
    }
}

/// A token is four bytes here.
const SETTINGS: ForeignSettings =
    ForeignSettings { max_tokens: 100, count_tokens: |text| u32::try_from(text.len().div_ceil(4)).unwrap() };

fn ask(guardrails: &str, schema: Value, arguments: Value, result: CallResult) -> GuardedReply {
    let action = ActionSpec {
        name: "search".to_owned(),
        description: "Search.".to_owned(),
        input_schema: schema,
        read_only: true,
    };
    let tool = ToolSpec {
        name: "search".to_owned(),
        description: "Search.".to_owned(),
        discriminator: None,
        actions: vec![action],
    };
    let guardrails = guardrails.parse().unwrap();
    let engine = Engine::for_server(&[tool], guardrails, &ErrorFormat::FusionXml, SETTINGS).unwrap();
    let call = ToolCall::new("search", arguments);
    engine.answer(&mut Answers(result), &mut Faults::none(), &call, Deadline::NONE).unwrap()
}

fn schema() -> Value {
    json!({"type": "object", "properties": {"text": {"type": "string"}, "limit": {"type": "integer"}}, "required": ["text"]})
}

fn success(text: &str) -> CallResult {
    CallResult { content: vec![ContentBlock::Text(text.to_owned())], ..CallResult::default() }
}

fn refusal(text: &str) -> CallResult {
    CallResult { is_error: true, ..success(text) }
}

#[test]
fn a_refusal_is_shown_as_it_is_or_escaped_as_a_message() {
    let refused = refusal("<b>text</b> & \"limit\" are wrong");
    for guardrails in ["none", "strict", "truncation", "contract"] {
        let reply = ask(guardrails, schema(), json!({"text": "a"}), refused.clone());
        assert_eq!(reply.response.content, ["<b>text</b> & \"limit\" are wrong"], "{guardrails}");
        assert!(reply.response.is_error);
    }
    let reply = ask("all", schema(), json!({"text": "a"}), refused);
    let text = reply.response.text();
    assert!(text.contains("SERVER_ERROR") && text.contains("&lt;b>text&lt;/b> &amp; "), "{text}");
    assert!(roxmltree::Document::parse(&text).is_ok(), "{text}");
    assert_eq!(reply.named_fields().unwrap(), ["limit", "text"]);
    assert_eq!(reply.unguarded_text().unwrap(), "<b>text</b> & \"limit\" are wrong");
    assert_eq!((reply.state_changed, reply.leaked_fields), (None, None));
}

#[test]
fn a_protocol_error_has_its_own_class() {
    let error = ProtocolError { code: -32602, message: "no such context".to_owned(), data: None };
    let result = CallResult { protocol_error: Some(error), ..CallResult::default() };
    let reply = ask("none", schema(), json!({"text": "a"}), result.clone());
    assert_eq!(reply.response.content, ["MCP error -32602: no such context"]);
    // `context` is not the word `text`.
    assert_eq!(reply.named_fields().unwrap(), Vec::<String>::new());
    let reply = ask("all", schema(), json!({"text": "a"}), result);
    assert!(reply.response.text().contains("PROTOCOL_ERROR"), "{}", reply.response.text());
}

#[test]
fn only_strict_validates_and_a_schema_that_does_not_compile_is_skipped() {
    let wrong = || json!({"text": 3, "more": 1});
    for guardrails in ["none", "healing"] {
        assert_eq!(ask(guardrails, schema(), wrong(), success("ok")).response.content, ["ok"], "{guardrails}");
    }
    let reply = ask("all", schema(), wrong(), success("ok"));
    assert!(matches!(reply.failure, Some(Failure::Validation { ref issues, .. }) if issues.len() == 2), "{reply:?}");
    let broken = json!({"type": "object", "properties": {"text": {"pattern": "("}}});
    assert_eq!(ask("all", broken, wrong(), success("ok")).response.content, ["ok"]);
}

#[test]
fn a_success_that_fits_is_never_changed() {
    let text = "<error code=\"x\">not an error</error>\n".repeat(10);
    assert_eq!(ask("all", schema(), json!({"text": "a"}), success(&text)).response.content, [text.as_str()]);
    let structured = CallResult { structured: Some(json!({"n": 1})), ..CallResult::default() };
    assert_eq!(ask("all", schema(), json!({"text": "a"}), structured).response.content, ["{\"n\":1}"]);
}

#[test]
fn a_long_list_keeps_its_first_items() {
    let items: Vec<Value> = (0..500).map(|number| json!({"id": number})).collect();
    for (value, pointer) in [(json!(items), ""), (json!({"total": 500, "items": items}), "/items")] {
        let whole = ask("healing", schema(), json!({"text": "a"}), success(&value.to_string()));
        assert_eq!(whole.response.content, [value.to_string()], "nothing is cut without the guardrail");
        let reply = ask("all", schema(), json!({"text": "a"}), success(&value.to_string()));
        let [kept, notice] = reply.response.content.as_slice() else { panic!("{reply:?}") };
        let kept: Value = serde_json::from_str(kept).unwrap();
        let shown = kept.pointer(pointer).unwrap().as_array().unwrap();
        assert!(!shown.is_empty() && items.starts_with(shown));
        assert!((SETTINGS.count_tokens)(&kept.to_string()) <= SETTINGS.max_tokens);
        assert_eq!(reply.omitted_rows as usize, 500 - shown.len());
        assert_eq!(reply.truncation_notice, Some(1));
        let expected = format!("Showing {} of 500 items.\nUse these arguments to narrow it: limit", shown.len());
        assert!(notice.ends_with(&expected), "{notice}");
    }
}

#[test]
fn a_long_text_keeps_its_first_lines_or_else_characters() {
    let lines = "a line of text\n".repeat(100);
    let reply = ask("all", schema(), json!({"text": "a"}), success(&lines));
    let [kept, notice] = reply.response.content.as_slice() else { panic!("{reply:?}") };
    assert!(lines.starts_with(kept.as_str()) && kept.ends_with("text"), "{kept}");
    let shown = kept.lines().count();
    assert!(shown > 20 && notice.contains(&format!("Showing {shown} of 100 lines.")), "{notice}");
    let reply = ask("all", json!({}), json!({}), success(&"ä".repeat(1000)));
    assert_eq!(reply.response.content[0], "ä".repeat(200));
    assert!(reply.response.content[1].ends_with("Showing 200 of 1000 characters."), "{:?}", reply.response.content);
}

#[test]
fn structured_content_of_a_server_is_passed_on_with_successes_only() {
    let structured = json!({"n": 1});
    let sent = |is_error| CallResult {
        content: vec![ContentBlock::Text("text".to_owned())],
        structured: Some(structured.clone()),
        is_error,
        ..CallResult::default()
    };
    for guardrails in ["none", "all"] {
        let reply = ask(guardrails, schema(), json!({"text": "a"}), sent(false));
        assert_eq!(reply.structured, Some(structured.clone()));
        let reply = ask(guardrails, schema(), json!({"text": "a"}), sent(true));
        assert_eq!((reply.response.is_error, reply.structured), (true, None));
    }
}

/// Answers with the arguments.
struct Echo;

impl Session for Echo {
    fn call<'s>(&'s mut self, call: &ToolCall, _: Deadline) -> Result<Reply<'s>, EnvironmentError> {
        Ok(Reply { outcome: ReplyOutcome::Text(call.arguments.to_string()), state_changed: None, struck: false })
    }

    fn check(&mut self, _: Deadline) -> Result<Vec<bool>, EnvironmentError> {
        Ok(Vec::new())
    }
}

#[test]
fn undeclared_fields_can_be_stripped_before_a_server_that_validates_itself() {
    let input_schema =
        json!({"type": "object", "properties": {"n": {"type": "integer"}, "o": {"properties": {"a": {}}}}});
    let action = ActionSpec { name: "t".to_owned(), description: String::new(), input_schema, read_only: false };
    let spec =
        ToolSpec { name: "t".to_owned(), description: String::new(), discriminator: None, actions: vec![action] };
    let engine = |undeclared| {
        let engine =
            Engine::for_server(std::slice::from_ref(&spec), Guardrails::NONE, &ErrorFormat::Bare, SETTINGS).unwrap();
        engine.with_undeclared(undeclared)
    };
    let sent = json!({"n": "not a number", "o": {"a": 1, "b": 2}, "x": 1});
    let reached = |undeclared| {
        let arguments = call("t", sent.clone());
        let reply = engine(undeclared).answer(&mut Echo, &mut Faults::none(), &arguments, Deadline::NONE);
        let reply = reply.unwrap();
        assert_eq!(reply.leaked_fields, None);
        serde_json::from_str::<Value>(&reply.response.text()).unwrap()
    };
    assert_eq!(reached(Undeclared::Pass), sent);
    assert_eq!(reached(Undeclared::Strip), json!({"n": "not a number", "o": {"a": 1}}));
}

#[test]
fn schemas_of_older_drafts_are_validated() {
    let draft_07 = json!({
        "$schema": "http://json-schema.org/draft-07/schema#",
        "properties": {"at": {"type": "array", "items": [{"type": "number"}], "description": null}},
    });
    let reply = |at: Value| ask("all", draft_07.clone(), json!({ "at": [at] }), success("ok"));
    assert_eq!(reply(json!(1)).response.content, ["ok"]);
    assert!(reply(json!("x")).response.is_error);
}
