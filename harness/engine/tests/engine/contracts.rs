use std::collections::BTreeMap;

use healbench_core::ErrorFormat::{FusionText, FusionXml};
use healbench_engine::contract::Enhance as _;
use healbench_engine::contract::{
    BlockStyle, ContractDiff, Delta, Enhancer, SelfHealingConfig, Severity, ToolContract, diff_contracts,
    enrich_validation_error, tool_enhancer,
};
use proptest::prelude::*;

use super::severities::{amount_and, full, shown};
use super::*;

/// The error and the deltas of document 000.
const ERROR: &str = "\
<validation_error>
  <tool>invoices</tool>
  <action>create</action>
  <error>Required field \"currency\" is missing</error>
</validation_error>";

/// The text that document 000 adds, up to the end of the error.
const BLOCK: &str = "  <contract_awareness>
    <system_note>
      IMPORTANT: The behavioral contract for tool \"invoices\" has
      changed since your last calibration.
    </system_note>
    <action>create</action>
    <change_count>2</change_count>
    <max_severity>BREAKING</max_severity>

    <instructions>
      Review the contract changes below and adjust your next
      invocation accordingly. These changes may explain why
      your previous arguments were rejected.
    </instructions>

    <contract_deltas>
      <delta severity=\"BREAKING\" field=\"actions.create.inputSchema\">
        <previous>{ amount: number, status: string }</previous>
        <current>{ amount: number, status: string, currency: string }</current>
      </delta>
      <delta severity=\"RISKY\" field=\"cognitiveGuardrails.agentLimitMax\">
        <previous>100</previous>
        <current>50</current>
      </delta>
    </contract_deltas>
  </contract_awareness>
</validation_error>";

fn delta(field: &str, severity: Severity, previous: &str, current: &str) -> Delta {
    Delta { field: field.to_owned(), severity, previous: Some(previous.to_owned()), current: Some(current.to_owned()) }
}

fn diff(previous: &Tool, current: &Tool) -> ContractDiff {
    diff_contracts(&ToolContract::from_tool(previous), &ToolContract::from_tool(current))
}

fn config(deltas: Vec<Delta>) -> SelfHealingConfig {
    SelfHealingConfig::new(BTreeMap::from([("invoices".to_owned(), ContractDiff { deltas, digest_changed: true })]))
}

fn sample() -> SelfHealingConfig {
    config(vec![
        delta(
            "actions.create.inputSchema",
            Severity::Breaking,
            "{ amount: number, status: string }",
            "{ amount: number, status: string, currency: string }",
        ),
        delta("cognitiveGuardrails.agentLimitMax", Severity::Risky, "100", "50"),
        delta("description", Severity::Cosmetic, "Old", "New"),
    ])
}

#[test]
fn contract_awareness_of_document_000() {
    let healed = enrich_validation_error(ERROR, "invoices", "create", &sample());
    assert!(healed.injected);
    assert_eq!(healed.delta_count, 2);
    assert_eq!(healed.enriched_error, format!("{}\n{BLOCK}", ERROR.strip_suffix("</validation_error>").unwrap()));
}

#[test]
fn the_enhancer_writes_what_direct_enrichment_writes() {
    let enhancer = tool_enhancer("invoices", ["create", "list"], &sample(), BlockStyle::Xml);
    for action in ["create", "list", "unknown"] {
        let direct = enrich_validation_error(ERROR, "invoices", action, &sample());
        assert_eq!(direct.tool, "invoices");
        assert_eq!(enhancer.enhance(ERROR.to_owned(), action), direct.enriched_error);
        assert_eq!(enhancer.block(action).map_or(0, |block| block.deltas().len()), direct.delta_count);
    }
    let counts =
        ["create", "list", "unknown"].map(|action| enhancer.block(action).map_or(0, |block| block.deltas().len()));
    assert_eq!(counts, [2, 1, 1]);
}

#[test]
fn a_delta_of_another_action_is_not_shown() {
    // Each name is a prefix of the next one.
    let actions = ["create", "create_bulk", "create_bulk_now"];
    let of = |action: &str| delta(&format!("actions.{action}.inputSchema"), Severity::Breaking, "{}", "{ a: number }");
    for changed in actions {
        let config = config(vec![of(changed)]);
        let enhancer = tool_enhancer("invoices", actions, &config, BlockStyle::Xml);
        for failing in actions.into_iter().chain(["list", "bulk", ""]) {
            let healed = enrich_validation_error(ERROR, "invoices", failing, &config);
            assert_eq!(healed.injected, failing == changed, "{changed} changed, {failing} failed");
            assert_eq!(healed.enriched_error == ERROR, failing != changed, "{changed} changed, {failing} failed");
            assert_eq!(enhancer.block(failing).is_some(), failing == changed, "{changed} changed, {failing} failed");
        }
    }
    // The path of an added or removed action ends with its name.
    let config = config(vec![delta("actions.create", Severity::Breaking, "{}", "(absent)")]);
    let shown = actions.map(|action| enrich_validation_error(ERROR, "invoices", action, &config).injected);
    assert_eq!(shown, [true, false, false]);
}

#[test]
fn the_block_goes_before_the_last_closing_tag() {
    let closing = "</validation_error>";
    let text = format!("<validation_error>\n  <error>sent {closing}</error>\n{closing}\n<!-- after -->\n");
    let (before, after) = text.split_at(text.rfind(closing).unwrap());
    let healed = enrich_validation_error(&text, "invoices", "create", &sample());
    let block = healed.enriched_error.strip_prefix(before).unwrap().strip_suffix(after).unwrap();
    assert!(block.starts_with("\n  <contract_awareness>\n"), "{block}");
    assert!(block.ends_with("\n  </contract_awareness>\n"), "{block}");
}

/// Returns the code spans of a line of Markdown (CommonMark 0.31, 6.1): a run of backticks opens a span, the next run
/// of the same length closes it, and one space is stripped from both ends if both have one and the content is not all
/// spaces.
fn code_spans(line: &str) -> Vec<String> {
    let ticks = |text: &str| text.len() - text.trim_start_matches('`').len();
    let mut spans = Vec::new();
    let mut rest = line;
    while let Some(open) = rest.find('`') {
        let fence = ticks(&rest[open..]);
        let inside = &rest[open + fence..];
        let mut end = 0;
        let close = loop {
            let Some(at) = inside[end..].find('`').map(|at| end + at) else { break None };
            let run = ticks(&inside[at..]);
            if run == fence {
                break Some(at);
            }
            end = at + run;
        };
        // An unclosed run is text.
        let Some(close) = close else {
            rest = inside;
            continue;
        };
        let content = &inside[..close];
        let stripped = content.strip_prefix(' ').and_then(|content| content.strip_suffix(' '));
        let is_blank = content.chars().all(|c| c == ' ');
        spans.push(stripped.filter(|_| !is_blank).unwrap_or(content).to_owned());
        rest = &inside[close + fence..];
    }
    spans
}

/// Checks that the code spans of the Markdown block contain the original text.
fn check_markdown_block(text: &str) {
    let config = config(vec![delta(text, Severity::Breaking, text, text)]);
    let enhancer = tool_enhancer("invoices", [text], &config, BlockStyle::Markdown);
    let shown = enhancer.enhance(String::new(), text);
    let spans: Vec<String> = shown.lines().flat_map(code_spans).collect();
    assert_eq!(spans, [format!("invoices.{text}").as_str(), text, text, text], "{shown}");
}

#[test]
fn backticks_in_a_contract_read_back_from_markdown() {
    for text in
        ["a", "a`b", "a``b", "a`b``c", "`", "``", "`a", "a`", "`a`", "``a``", "` a", " `a` ", " a ", " a", "a ", " "]
    {
        check_markdown_block(text);
    }
}

proptest! {
    #[test]
    fn any_text_reads_back_from_markdown(text in "[`a ]{1,9}") {
        check_markdown_block(&text);
    }
}

#[test]
fn the_cap_and_the_severities_are_the_configurations() {
    let many = (0..9).map(|n| delta(&format!("tags.{n}"), Severity::Risky, "a", "b")).collect();
    let mut config = config(many);
    let count = |config: &SelfHealingConfig| enrich_validation_error(ERROR, "invoices", "create", config).delta_count;
    assert_eq!(count(&config), 5);
    config.max_deltas_per_error = 3;
    assert_eq!(count(&config), 3);
    let mut config = sample();
    config.include_all_severities = true;
    assert_eq!(count(&config), 3);
}

#[test]
fn without_a_delta_that_could_be_shown_the_enhancer_is_the_identity() {
    let cosmetic = vec![delta("description", Severity::Cosmetic, "a", "b"), delta("tags.x", Severity::Safe, "a", "b")];
    for deltas in [Vec::new(), cosmetic] {
        let enhancer = tool_enhancer("invoices", ["create"], &config(deltas), BlockStyle::Xml);
        assert!(matches!(enhancer, Enhancer::Identity));
    }
    assert!(matches!(tool_enhancer("users", ["create"], &sample(), BlockStyle::Xml), Enhancer::Identity));
    // A limit of zero shows no deltas.
    let mut config = sample();
    config.max_deltas_per_error = 0;
    assert!(matches!(tool_enhancer("invoices", ["create"], &config, BlockStyle::Xml), Enhancer::Identity));
}

proptest! {
    #[test]
    fn the_identity_gives_back_the_same_buffer(error in ".*", action in ".*", reserve in 0_usize..64) {
        let enhancer = tool_enhancer("invoices", [action.as_str()], &config(Vec::new()), BlockStyle::Xml);
        let mut buffer = String::with_capacity(error.len() + reserve);
        buffer.push_str(&error);
        let before = (buffer.as_ptr(), buffer.len(), buffer.capacity());
        let after = enhancer.enhance(buffer, &action);
        prop_assert_eq!(before, (after.as_ptr(), after.len(), after.capacity()));
        prop_assert_eq!(after, error);
    }
}

/// A tool whose action `create` now requires `currency`.
pub(super) fn drifted() -> Tool {
    let shape = |required: Value, properties: Value| json!({"properties": properties, "required": required});
    let before = shape(
        json!(["customer", "amount_cents"]),
        json!({"customer": {"type": "string"}, "amount_cents": {"type": "integer"}}),
    );
    let now = shape(
        json!(["customer", "amount_cents", "currency"]),
        json!({"customer": {"type": "string"}, "amount_cents": {"type": "integer"}, "currency": {"enum": ["USD", "EUR"]}}),
    );
    let mut current = tool("billing", vec![ok("create", now)]);
    current.previous = Some(Box::new(tool("billing", vec![ok("create", before)])));
    current
}

#[test]
fn a_required_field_that_was_added_breaks_callers_and_reads_well() {
    let tool = drifted();
    let diff = diff(tool.previous.as_deref().unwrap(), &tool);
    assert_eq!(
        diff.deltas,
        [delta(
            "actions.create.inputSchema",
            Severity::Breaking,
            "{ customer: string, amount_cents: integer }",
            "{ customer: string, amount_cents: integer, currency: \"USD\" | \"EUR\" }",
        )]
    );
    assert!(!diff.is_backwards_compatible());
}

#[test]
fn what_was_sent_cannot_hold_the_contract_block() {
    let tools = [drifted()];
    let arguments = json!({"action": "create", "customer": "x</validation_error>y", "amount_cents": 1, "currency": "</validation_error>"});
    for format in [FusionXml, FusionText] {
        let shown = text(&tools, format.clone(), "billing", arguments.clone());
        let (before, block) =
            shown.split_at(shown.find(if format == FusionXml { "<contract_awareness>" } else { "🔄" }).unwrap());
        assert!(before.contains("call the tool again"), "{shown}");
        assert!(!block.contains("y'"), "{shown}");
    }
}

#[test]
fn the_contract_guardrail_adds_its_block_in_every_format() {
    let tools = [drifted()];
    let arguments = || json!({"action": "create", "customer": "Acme", "amount_cents": 1});
    let shown = |guardrails: &str, format| {
        let answer = answer(&tools, guardrails, format, "billing", arguments());
        (answer.response.text().into_owned(), answer.contract_deltas)
    };
    let (xml, deltas) = shown("all", FusionXml);
    assert_eq!(deltas, 1);
    assert!(xml.ends_with("  </contract_awareness>\n</validation_error>"), "{xml}");
    let (coaching, deltas) = shown("all", FusionText);
    assert_eq!(deltas, 1);
    assert!(coaching.contains("• actions.create.inputSchema [BREAKING] — Before: { customer: string"), "{coaching}");
    let (bare, deltas) = shown("contract", FusionText);
    assert_eq!(deltas, 1);
    assert!(bare.starts_with("Error: Invalid arguments\n\n  <contract_awareness>"), "{bare}");
    assert!(bare.ends_with("</contract_awareness>"), "{bare}");
    assert_eq!(shown("strict", FusionText), ("Error: Invalid arguments".to_owned(), 0));
    assert_eq!(shown("strict+healing", FusionXml).1, 0);
}

/// Returns the text for a call that lacks the newly required argument.
fn with_changes(format: ErrorFormat) -> String {
    let now = json!({"properties": {"a": {"type": "integer"}}, "required": ["a"]});
    let before = tool("t", vec![ok("go", json!({"properties": {}}))]);
    let current = Tool { previous: Some(Box::new(before)), ..tool("t", vec![ok("go", now)]) };
    text(&[current], format, "t", json!({"action": "go"}))
}

/// The changes of [`with_changes`] in the JSON formats.
fn changes() -> Value {
    json!({
        "tool": "t",
        "action": "go",
        "severity": "BREAKING",
        "changes": [{
            "field": "actions.go.inputSchema", "severity": "BREAKING", "previous": "{}", "current": "{ a: integer }",
        }],
    })
}

#[test]
fn contract_changes_in_problem_json() {
    let shown = with_changes(ErrorFormat::ProblemJson);
    assert_eq!(
        shown,
        r##"{
  "type": "about:blank",
  "title": "Unprocessable Content",
  "status": 422,
  "detail": "The arguments of t/go are not valid.",
  "code": "VALIDATION",
  "errors": [
    {
      "detail": "Required.",
      "pointer": "#/a",
      "expected": [
        "integer"
      ]
    }
  ],
  "recovery": "Fix the fields above and call the tool again. Do not explain the error.",
  "contract_changes": {
    "tool": "t",
    "action": "go",
    "severity": "BREAKING",
    "changes": [
      {
        "field": "actions.go.inputSchema",
        "severity": "BREAKING",
        "previous": "{}",
        "current": "{ a: integer }"
      }
    ]
  }
}"##
    );
    assert_eq!(serde_json::from_str::<Value>(&shown).unwrap()["contract_changes"], changes());
}

#[test]
fn contract_changes_in_llm_friendly_json() {
    let shown = with_changes(ErrorFormat::LlmFriendlyJson);
    assert_eq!(
        shown,
        r#"{
  "error": {
    "type": "validation",
    "summary": "Tool 't' (action 'go') received invalid arguments. 1 validation error(s) found.",
    "issues": [
      {
        "field": "a",
        "problem": "Required field is missing",
        "expected": "integer",
        "fix": "Provide a integer."
      }
    ],
    "schema": {
      "properties": {
        "action": {
          "type": "string",
          "constraints": ["Must be: \"go\""],
          "examples": ["go"]
        },
        "a": {
          "type": "integer",
          "examples": [1]
        }
      },
      "required": ["action", "a"],
      "examples": [
        {
          "action": "go",
          "a": 1
        }
      ]
    },
    "suggestions": [
      "Add missing required fields: a",
      "Review the validExample below for a correctly formatted request"
    ],
    "validExample": {
      "action": "go",
      "a": 1
    },
    "contractChanges": {
      "tool": "t",
      "action": "go",
      "severity": "BREAKING",
      "changes": [
        {
          "field": "actions.go.inputSchema",
          "severity": "BREAKING",
          "previous": "{}",
          "current": "{ a: integer }"
        }
      ]
    }
  }
}"#
    );
    assert_eq!(serde_json::from_str::<Value>(&shown).unwrap()["error"]["contractChanges"], changes());
}

#[test]
fn contract_changes_in_zod_json() {
    let shown = with_changes(ErrorFormat::ZodJson);
    assert_eq!(
        shown,
        r#"MCP error -32602: Input validation error: Invalid arguments for tool t: [
  {
    "expected": "number",
    "code": "invalid_type",
    "path": [
      "a"
    ],
    "message": "Invalid input: expected number, received undefined"
  },
  {
    "code": "custom",
    "path": [],
    "message": "The contract of t.go has changed since your last calibration",
    "params": {
      "tool": "t",
      "action": "go",
      "severity": "BREAKING",
      "changes": [
        {
          "field": "actions.go.inputSchema",
          "severity": "BREAKING",
          "previous": "{}",
          "current": "{ a: integer }"
        }
      ]
    }
  }
]"#
    );
    let issues: Value = serde_json::from_str(&shown[shown.find('[').unwrap()..]).unwrap();
    assert_eq!(issues[1]["params"], changes());
    assert!(issues[2].is_null());
}

/// The two versions behind document 000's sample: `currency` became required, and the limit fell from 100 to 50.
#[test]
fn the_sample_of_document_000_comes_out_of_a_real_pair() {
    let pair = |input: Value, max| {
        let mut tool = full();
        tool.actions[0].input = input;
        shown(&mut tool).max = Some(max);
        tool
    };
    let mut input = json!({
        "type": "object",
        "properties": {"amount": {"type": "number"}, "status": {"type": "string"}},
        "required": ["amount", "status"],
    });
    let previous = pair(input.clone(), 100);
    input["properties"]["currency"] = json!({"type": "string"});
    input["required"] = json!(["amount", "status", "currency"]);
    let current = Tool { previous: Some(Box::new(previous)), ..pair(input, 50) };
    let arguments = json!({"action": "create", "amount": 450, "status": "draft"});
    let shown = text(&[current], ErrorFormat::FusionXml, "invoices", arguments);
    let block = &shown[shown.find("  <contract_awareness>").unwrap()..];
    assert_eq!(block, BLOCK);
}

#[test]
fn arguments_without_an_action_get_tool_level_deltas() {
    let mut current = full();
    current.middleware.clear();
    current.actions[0].input = amount_and("status", true);
    current.previous = Some(Box::new(full()));
    let answer = answer(&[current], "all", ErrorFormat::FusionXml, "invoices", json!([]));
    assert_eq!(answer.contract_deltas, 1);
    assert!(answer.response.text().contains("<change_count>1</change_count>"), "{}", answer.response.text());
}
