//! The severity of each contract change, with one case for every clause of the specification.

use std::collections::BTreeSet;

use healbench_engine::contract::Severity::{Breaking, Cosmetic, Risky, Safe};
use healbench_engine::contract::{ContractDiff, Severity, ToolContract, diff_contracts};
use healbench_engine::definition::{Entitlement, Presenter};

use super::*;

/// Creates a tool that uses every part of a contract.
pub(super) fn full() -> Tool {
    let input = json!({"type": "object", "properties": {"amount": {"type": "number"}}, "required": ["amount"]});
    let listing = json!({"type": "object", "properties": {"status": {"type": "string"}}});
    let presenter = Presenter {
        name: Some("InvoiceList".to_owned()),
        max: Some(100),
        rules: vec!["Amounts are in cents.".to_owned()],
        suggest_actions: vec!["invoices.create".to_owned()],
        egress: Some(json!({"type": "object", "properties": {"id": {"type": "string"}}})),
        egress_max_bytes: Some(8000),
        embeds: vec!["Customer".to_owned()],
        ..Presenter::default()
    };
    let select = Handler::Select { table: "invoices".to_owned(), filters: Vec::new(), page: None };
    let list = Action { presenter: Some(presenter), read_only: true, ..action("list", listing, select) };
    Tool {
        description: "Invoices.".to_owned(),
        tags: vec!["billing".to_owned(), "money".to_owned()],
        middleware: vec!["auth".to_owned(), "audit".to_owned()],
        state_sync: vec!["invoices.*".to_owned()],
        concurrency: Some(4),
        entitlements: BTreeSet::from([Entitlement::Network]),
        ..tool("invoices", vec![ok("create", input), list])
    }
}

fn diff(previous: &Tool, current: &Tool) -> ContractDiff {
    diff_contracts(&ToolContract::from_tool(previous), &ToolContract::from_tool(current))
}

/// Formats `SEVERITY field: previous -> current`, one per line.
fn lines(diff: &ContractDiff) -> Vec<String> {
    let text = |value: &Option<String>| value.clone().unwrap_or_else(|| "-".to_owned());
    let line = |delta: &healbench_engine::contract::Delta| {
        format!("{} {}: {} -> {}", delta.severity.name(), delta.field, text(&delta.previous), text(&delta.current))
    };
    diff.deltas.iter().map(line).collect()
}

type Edit = fn(&mut Tool);

/// Changes, and the line of each delta, in which `-` is an absent value.
const CLAUSES: [(&str, Edit, &str); 40] = [
    ("tool renamed", |t| t.name = "bills".into(), "BREAKING name: invoices -> bills"),
    ("action removed", |t| drop(t.actions.remove(0)), "BREAKING actions.create: { amount: number } -> -"),
    (
        "required field added",
        |t| t.actions[0].input = amount_and("status", true),
        "BREAKING actions.create.inputSchema: { amount: number } -> { amount: number, status: string }",
    ),
    (
        "property removed",
        |t| t.actions[1].input = json!({"type": "object"}),
        "BREAKING actions.list.inputSchema: { status?: string } -> object",
    ),
    (
        "property renamed",
        |t| t.actions[1].input = json!({"type": "object", "properties": {"state": {"type": "string"}}}),
        "BREAKING actions.list.inputSchema: { status?: string } -> { state?: string }",
    ),
    (
        "type changed",
        |t| t.actions[0].input["properties"]["amount"] = json!({"type": "string"}),
        "BREAKING actions.create.inputSchema: { amount: number } -> { amount: string }",
    ),
    (
        "enum narrowed",
        |t| t.actions[1].input["properties"]["status"] = json!({"enum": ["open"]}),
        "BREAKING actions.list.inputSchema: { status?: string } -> { status?: \"open\" }",
    ),
    (
        "bound tightened",
        |t| t.actions[0].input["properties"]["amount"]["minimum"] = json!(1),
        "BREAKING actions.create.inputSchema: { amount: number } -> { amount: number >= 1 }",
    ),
    (
        "pattern tightened",
        |t| t.actions[1].input["properties"]["status"]["pattern"] = json!("^o"),
        "BREAKING actions.list.inputSchema: { status?: string } -> { status?: string matching ^o }",
    ),
    ("destructive flipped", |t| t.actions[0].destructive = true, "BREAKING actions.create.destructive: false -> true"),
    ("readOnly flipped", |t| t.actions[1].read_only = false, "BREAKING actions.list.readOnly: true -> false"),
    ("presenter removed", |t| t.actions[1].presenter = None, "BREAKING actions.list.presenter: InvoiceList -> -"),
    (
        "egress schema changed",
        |t| shown(t).egress = Some(json!({"type": "object"})),
        "BREAKING actions.list.egressSchema: { id?: string } -> object",
    ),
    ("egress schema removed", |t| shown(t).egress = None, "BREAKING actions.list.egressSchema: { id?: string } -> -"),
    (
        "system rules changed",
        |t| shown(t).rules = vec!["Amounts are in euros.".into()],
        "BREAKING actions.list.systemRules: [\"Amounts are in cents.\"] -> [\"Amounts are in euros.\"]",
    ),
    ("inflation risk escalated", |t| shown(t).max = None, "BREAKING tokenEconomics.inflationRisk: low -> medium"),
    (
        "entitlement gained",
        |t| t.entitlements.extend([Entitlement::CodeEvaluation]),
        "BREAKING entitlements.codeEvaluation: - -> codeEvaluation",
    ),
    ("discriminator changed", |t| t.discriminator = Some("op".into()), "BREAKING discriminator: action -> op"),
    (
        "input schema changed otherwise",
        |t| t.actions[0].input = amount_and("status", false),
        "SAFE actions.create.inputSchema: { amount: number } -> { amount: number, status?: string }",
    ),
    ("idempotent flipped", |t| t.actions[0].idempotent = true, "RISKY actions.create.idempotent: false -> true"),
    ("presenter changed", |t| shown(t).name = None, "RISKY actions.list.presenter: InvoiceList -> (unnamed)"),
    (
        "presenter added",
        |t| t.actions[0].presenter = Some(Presenter::default()),
        "RISKY actions.create.presenter: - -> (unnamed)",
    ),
    ("agentLimitMax removed", |t| shown(t).max = None, "RISKY cognitiveGuardrails.agentLimitMax: 100 -> -"),
    ("agentLimitMax halved", |t| shown(t).max = Some(50), "RISKY cognitiveGuardrails.agentLimitMax: 100 -> 50"),
    (
        "egressMaxBytes removed",
        |t| shown(t).egress_max_bytes = None,
        "RISKY cognitiveGuardrails.egressMaxBytes: 8000 -> -",
    ),
    (
        "egressMaxBytes lowered",
        |t| shown(t).egress_max_bytes = Some(1000),
        "RISKY cognitiveGuardrails.egressMaxBytes: 8000 -> 1000",
    ),
    (
        "middleware changed",
        |t| t.middleware.reverse(),
        "RISKY middleware: [\"auth\",\"audit\"] -> [\"audit\",\"auth\"]",
    ),
    ("state-sync changed", |t| t.state_sync.clear(), "RISKY stateSync: [\"invoices.*\"] -> -"),
    ("concurrency changed", |t| t.concurrency = None, "RISKY concurrency: 4 -> -"),
    (
        "affordances changed",
        |t| shown(t).suggest_actions.push("invoices.list".into()),
        "RISKY actions.list.affordances: [\"invoices.create\"] -> [\"invoices.create\",\"invoices.list\"]",
    ),
    (
        "embedded presenters changed",
        |t| shown(t).embeds.clear(),
        "RISKY actions.list.embeddedPresenters: [\"Customer\"] -> -",
    ),
    (
        "collection became unbounded",
        |t| (shown(t).max, shown(t).egress_max_bytes) = (None, None),
        "RISKY tokenEconomics.unboundedCollection: false -> true",
    ),
    (
        "action added",
        |t| t.actions.push(ok("void", json!({"properties": {"id": {"type": "string"}}}))),
        "SAFE actions.void: - -> { id?: string }",
    ),
    (
        "required no longer",
        |t| t.actions[0].input["required"] = json!([]),
        "SAFE actions.create.inputSchema: { amount: number } -> { amount?: number }",
    ),
    ("tag removed", |t| t.tags.truncate(1), "SAFE tags.money: money -> -"),
    ("limit tightened less", |t| shown(t).max = Some(51), "SAFE cognitiveGuardrails.agentLimitMax: 100 -> 51"),
    ("entitlement lost", |t| t.entitlements.clear(), "SAFE entitlements.network: network -> -"),
    ("description", |t| t.description = "Bills.".into(), "COSMETIC description: Invoices. -> Bills."),
    (
        "description of an action",
        |t| t.actions[0].description = "Make.".into(),
        "COSMETIC actions.create.description:  -> Make.",
    ),
    ("tag added", |t| t.tags.push("new".into()), "COSMETIC tags.new: - -> new"),
];

/// Clauses about the reverse of a change.
const BACK: [(&str, Edit, &str); 4] = [
    ("limit added", |t| shown(t).max = None, "SAFE cognitiveGuardrails.agentLimitMax: - -> 100"),
    ("limit raised", |t| shown(t).max = Some(50), "SAFE cognitiveGuardrails.agentLimitMax: 50 -> 100"),
    ("inflation risk lowered", |t| shown(t).max = None, "SAFE tokenEconomics.inflationRisk: medium -> low"),
    (
        "collection became bounded",
        |t| (shown(t).max, shown(t).egress_max_bytes) = (None, None),
        "SAFE tokenEconomics.unboundedCollection: true -> false",
    ),
];

pub(super) fn shown(tool: &mut Tool) -> &mut Presenter {
    tool.actions[1].presenter.as_mut().unwrap()
}

pub(super) fn amount_and(name: &str, required: bool) -> Value {
    let mut input = full().actions[0].input.clone();
    input["properties"][name] = json!({"type": "string"});
    if required {
        input["required"] = json!(["amount", name]);
    }
    input
}

#[test]
fn every_clause() {
    let tool = full();
    for (back, (clause, change, line)) in
        CLAUSES.iter().map(|case| (false, case)).chain(BACK.iter().map(|case| (true, case)))
    {
        let mut other = tool.clone();
        change(&mut other);
        let diff = if back { diff(&other, &tool) } else { diff(&tool, &other) };
        let lines = lines(&diff);
        assert!(lines.iter().any(|deltas| deltas == line), "{clause}: {lines:#?}");
        assert!(diff.digest_changed, "{clause}");
        // Other deltas of the same change are allowed unless they are worse than the clause.
        let expected = line.split(' ').next().unwrap();
        let own = lines.iter().filter(|deltas| deltas.split(' ').nth(1) == line.split(' ').nth(1)).count();
        assert_eq!(own, 1, "{clause}: {lines:#?}");
        let alone = [
            "presenter removed",
            "inflation",
            "egressMaxBytes removed",
            "agentLimitMax removed",
            "collection",
            "limit added",
            "presenter added",
        ];
        if !alone.iter().any(|word| clause.starts_with(word)) {
            assert_eq!(lines.len(), 1, "{clause}: {lines:#?}");
            assert_eq!(diff.max_severity().map(Severity::name), Some(expected), "{clause}");
            assert_eq!(diff.is_backwards_compatible(), expected != "BREAKING", "{clause}");
        }
    }
    let unchanged = diff(&tool, &tool);
    assert_eq!(unchanged, ContractDiff::default());
    assert!(unchanged.is_backwards_compatible());
}

#[test]
fn the_worst_comes_first_then_the_field() {
    let mut other = full();
    for (_, change, _) in &CLAUSES[7..] {
        change(&mut other);
        if other.actions.len() < 2 || other.actions[1].presenter.is_none() {
            other = full();
        }
    }
    let deltas = diff(&full(), &other).deltas;
    assert!(deltas.len() > 5);
    assert!(deltas.is_sorted_by(|a, b| (b.severity, &a.field) < (a.severity, &b.field)), "{deltas:#?}");
    assert!([Breaking, Risky, Safe, Cosmetic].iter().all(|one| deltas.iter().any(|delta| delta.severity == *one)));
}

#[test]
fn what_a_presenter_that_goes_takes_with_it() {
    let mut other = full();
    other.actions[1].presenter = None;
    assert_eq!(
        lines(&diff(&full(), &other)),
        [
            "BREAKING actions.list.egressSchema: { id?: string } -> -",
            "BREAKING actions.list.presenter: InvoiceList -> -",
            "BREAKING actions.list.systemRules: [\"Amounts are in cents.\"] -> -",
            "BREAKING tokenEconomics.inflationRisk: low -> critical",
            "RISKY actions.list.affordances: [\"invoices.create\"] -> -",
            "RISKY actions.list.agentLimitMax: 100 -> -",
            "RISKY actions.list.egressMaxBytes: 8000 -> -",
            "RISKY actions.list.embeddedPresenters: [\"Customer\"] -> -",
            "RISKY tokenEconomics.unboundedCollection: false -> true",
        ]
    );
}

#[test]
fn a_limit_is_the_tools_when_all_its_lists_share_it() {
    let tool = |limits: [Option<usize>; 2]| {
        let mut tool = full();
        tool.actions[1].presenter = Some(Presenter { max: limits[0], ..Presenter::default() });
        let mut search = tool.actions[1].clone();
        search.name = "search".to_owned();
        search.presenter = Some(Presenter { max: limits[1], ..Presenter::default() });
        tool.actions.push(search);
        tool
    };
    let deltas = |was, is| {
        let lines = lines(&diff(&tool(was), &tool(is)));
        lines.into_iter().filter(|line| line.contains("agentLimitMax")).collect::<Vec<_>>()
    };
    let both = |limit| [Some(limit); 2];
    assert_eq!(deltas(both(100), both(50)), ["RISKY cognitiveGuardrails.agentLimitMax: 100 -> 50"]);
    assert_eq!(deltas(both(100), [Some(100), Some(40)]), ["RISKY actions.search.agentLimitMax: 100 -> 40"]);
    assert_eq!(
        deltas([Some(9), Some(8)], both(7)),
        ["SAFE actions.list.agentLimitMax: 9 -> 7", "SAFE actions.search.agentLimitMax: 8 -> 7"]
    );
    // The actions are reported separately if one lost its list or has a different limit.
    let mut bare = tool(both(50));
    bare.actions[2].presenter = None;
    let tool_deltas = |was: &Tool, is: &Tool| {
        let lines = lines(&diff(was, is));
        lines.into_iter().filter(|line| line.contains("agentLimitMax")).collect::<Vec<_>>()
    };
    assert_eq!(
        tool_deltas(&tool(both(100)), &bare),
        ["RISKY actions.list.agentLimitMax: 100 -> 50", "RISKY actions.search.agentLimitMax: 100 -> -"]
    );
    let (mut was, mut is) = (tool(both(100)), tool(both(50)));
    was.actions.remove(2);
    is.actions.remove(1);
    assert_eq!(tool_deltas(&was, &is), Vec::<String>::new());
    // "Half or less", also for an odd number.
    assert_eq!(deltas(both(3), both(2)), ["SAFE cognitiveGuardrails.agentLimitMax: 3 -> 2"]);
    assert_eq!(deltas(both(3), both(1)), ["RISKY cognitiveGuardrails.agentLimitMax: 3 -> 1"]);
}

#[test]
fn inflation_risk_is_the_worst_lists() {
    let economics = |tool: &Tool| {
        let contract = ToolContract::from_tool(tool).token_economics;
        (contract.inflation_risk.name(), contract.unbounded_collection)
    };
    let mut tool = full();
    assert_eq!(ToolContract::from_tool(&tool).token_economics.schema_field_count, 2);
    assert_eq!(economics(&tool), ("low", false));
    shown(&mut tool).max = None;
    assert_eq!(economics(&tool), ("medium", false));
    shown(&mut tool).egress_max_bytes = None;
    assert_eq!(economics(&tool), ("critical", true));
    tool.actions[1].input["properties"]["limit"] = json!({"type": "integer"});
    assert_eq!(economics(&tool), ("high", true));
    // A page has a limit on rows.
    let Handler::Select { page, .. } = &mut tool.actions[1].handler else { panic!() };
    *page = Some(20);
    assert_eq!(economics(&tool), ("medium", false));
    // An action that returns one row cannot grow.
    tool.actions.remove(1);
    assert_eq!(economics(&tool), ("low", false));
}

#[test]
fn a_renamed_action_is_one_that_went_and_one_that_came() {
    let mut other = full();
    other.actions[0].name = "make".to_owned();
    let lines = lines(&diff(&full(), &other));
    assert_eq!(
        lines,
        ["BREAKING actions.create: { amount: number } -> -", "SAFE actions.make: - -> { amount: number }"]
    );
}

#[test]
fn lists_that_join_alike_are_distinguished() {
    let mut other = full();
    other.middleware = vec!["auth\",\"audit".to_owned()];
    assert_eq!(lines(&diff(&full(), &other)), [r#"RISKY middleware: ["auth","audit"] -> ["auth\",\"audit"]"#]);
}

#[test]
fn words_in_an_egress_schema_are_cosmetic() {
    let mut other = full();
    shown(&mut other).egress.as_mut().unwrap()["properties"]["id"]["description"] = json!("The number.");
    let expected = ["COSMETIC actions.list.egressSchema: - -> id.description: \"The number.\""];
    assert_eq!(lines(&diff(&full(), &other)), expected);
}
