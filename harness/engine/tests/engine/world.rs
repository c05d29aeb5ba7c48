use healbench_engine::definition::{Code, Condition, FaultDef, FaultKind, Rule, ToolFailure};

use super::*;

fn billing(rules: Vec<Rule>) -> Vec<Tool> {
    let table = || "invoices".to_owned();
    let by = || "id".to_owned();
    let id = json!({"properties": {"id": {"type": "string"}}, "required": ["id"]});
    let any = json!({"additionalProperties": {}, "properties": {}});
    let mut create = action("create", any.clone(), Handler::Insert { table: table() });
    create.rules = rules;
    vec![tool(
        "billing",
        vec![
            create,
            action("list", json!({}), Handler::Select { table: table(), filters: Vec::new(), page: None }),
            action("get", id.clone(), Handler::Get { table: table(), by: by() }),
            action("update", any, Handler::Update { table: table(), by: by() }),
            action("delete", id, Handler::Delete { table: table(), by: by() }),
        ],
    )]
}

/// An environment and an engine without strict validation.
struct Server {
    engine: Engine,
    world: World,
}

impl Server {
    fn new(rules: Vec<Rule>, def: WorldDef) -> Server {
        Server { engine: engine(&billing(rules), "healing".parse().unwrap()), world: world(def) }
    }

    fn call(&mut self, action: &str, arguments: Value) -> GuardedReply {
        let mut arguments = arguments;
        arguments["action"] = json!(action);
        self.engine.call(&mut self.world, &call("billing", arguments))
    }

    fn class(&mut self, action: &str, arguments: Value) -> String {
        self.call(action, arguments).failure.map_or_else(|| "ok".to_owned(), |failure| failure.class().to_string())
    }
}

fn two_invoices() -> WorldDef {
    let rows = json!([{"id": "INV-1", "customer": "Acme"}, {"id": "INV-2", "customer": "Globex"}]);
    WorldDef { tables: vec![invoices(rows)], ..WorldDef::default() }
}

#[test]
fn rows_are_added_read_changed_and_removed() {
    let mut server = Server::new(Vec::new(), two_invoices());
    let added = server.call("create", json!({"customer": "Initech"}));
    assert!(added.state_changed == Some(true));
    assert_eq!(added.response.text(), r#"{"id":"INV-3","customer":"Initech"}"#);
    assert_eq!(
        server.call("update", json!({"id": "INV-1", "paid": true})).response.text(),
        r#"{"id":"INV-1","customer":"Acme","paid":true}"#
    );
    assert_eq!(
        server.call("get", json!({"id": "INV-1"})).response.text(),
        r#"{"id":"INV-1","customer":"Acme","paid":true}"#
    );
    assert_eq!(server.call("get", json!({"id": "INV-1"})).state_changed, Some(false));
    assert_eq!(server.class("delete", json!({"id": "INV-2"})), "ok");
    assert_eq!(server.class("get", json!({"id": "INV-2"})), "NOT_FOUND");
    assert_eq!(server.class("delete", json!({"id": "INV-2"})), "NOT_FOUND");
    assert_eq!(server.class("delete", json!({"id": "INV-3"})), "ok");
    let ids: Vec<&Value> = server.world.tables().rows("invoices").iter().map(|row| &row["id"]).collect();
    assert_eq!(ids, ["INV-1"]);
    assert!(!server.world.tables().is_unchanged("invoices"));
    // A generated key is never reused.
    assert!(server.call("create", json!({})).response.text().contains("INV-4"));
}

#[test]
fn a_failed_call_changes_nothing_and_a_reverted_row_counts_as_unchanged() {
    let mut server = Server::new(Vec::new(), two_invoices());
    assert_eq!(server.class("update", json!({"id": "INV-9", "paid": true})), "NOT_FOUND");
    assert_eq!(server.class("create", json!({"id": "INV-1"})), "CONFLICT");
    assert!(server.world.tables().is_unchanged("invoices"));
    server.call("update", json!({"id": "INV-1", "customer": "Other"}));
    assert!(!server.world.tables().is_unchanged("invoices"));
    server.call("update", json!({"id": "INV-1", "customer": "Acme"}));
    assert!(server.world.tables().is_unchanged("invoices"));
}

#[test]
fn a_text_and_a_number_are_different_keys() {
    let rows = json!([{"id": 1, "customer": "number"}, {"id": "1", "customer": "text"}]);
    let world = world(WorldDef { tables: vec![invoices(rows)], ..WorldDef::default() });
    let engine = engine(&billing(Vec::new()), Guardrails::NONE);
    let answer = engine.call(&mut world.clone(), &call("billing", json!({"action": "get", "id": "1"})));
    assert_eq!(answer.response.text(), r#"{"id":"1","customer":"text"}"#);
}

#[test]
fn an_update_with_what_is_there_changes_nothing() {
    let mut server = Server::new(Vec::new(), two_invoices());
    assert_eq!(server.call("update", json!({"id": "INV-1", "customer": "Acme"})).state_changed, Some(false));
    assert_eq!(server.call("update", json!({"id": "INV-1", "customer": "New"})).state_changed, Some(true));
    assert_eq!(server.call("delete", json!({"id": "INV-1"})).state_changed, Some(true));
    assert_eq!(server.call("delete", json!({"id": "INV-1"})).state_changed, Some(false));
}

#[test]
fn worlds_on_one_base_do_not_see_each_other() {
    let base = Arc::new(WorldBase::new(two_invoices()));
    let engine = engine(&billing(Vec::new()), Guardrails::NONE);
    let (mut first, second) = (World::new(Arc::clone(&base)), World::new(base));
    engine.call(&mut first, &call("billing", json!({"action": "delete", "id": "INV-1"})));
    assert_eq!((first.tables().rows("invoices").len(), second.tables().rows("invoices").len()), (1, 2));
}

#[test]
fn rules_are_checked_in_order() {
    let deny = Rule::Deny {
        unless_role: Some("admin".to_owned()),
        when: Condition::of_arguments(object(json!({"kind": "credit"}))),
        failure: ToolFailure {
            recovery: Some("Contact an admin to perform this action.".to_owned()),
            ..ToolFailure::new(Code::Forbidden, "Only administrators can create credit notes.")
        },
    };
    let conflict = Rule::Conflict { table: "invoices".to_owned(), fields: vec!["customer".to_owned()] };
    let missing = Rule::Missing { table: "invoices".to_owned(), argument: "replaces".to_owned() };
    let rules = || vec![deny.clone(), conflict.clone(), missing.clone()];
    let mut server = Server::new(rules(), two_invoices());
    assert_eq!(server.class("create", json!({"kind": "credit", "customer": "Acme", "replaces": "x"})), "FORBIDDEN");
    assert_eq!(server.class("create", json!({"customer": "Acme", "replaces": "x"})), "CONFLICT");
    assert_eq!(server.class("create", json!({"customer": "New", "replaces": "x"})), "NOT_FOUND");
    assert_eq!(server.class("create", json!({"customer": "New", "replaces": "INV-1"})), "ok");
    let mut admin = Server::new(rules(), WorldDef { role: Some("admin".to_owned()), ..two_invoices() });
    assert_eq!(admin.class("create", json!({"kind": "credit", "customer": "New"})), "ok");
}

fn fault(kind: FaultKind, from_call: u32, calls: u32) -> FaultDef {
    let action = Some("list".to_owned());
    FaultDef { action, from_call, calls, retry_after: Some(30), ..FaultDef::new(kind, "billing") }
}

#[test]
fn a_fault_is_injected_into_its_scheduled_calls() {
    let def = WorldDef { faults: vec![fault(FaultKind::Busy, 2, 2)], ..two_invoices() };
    let mut server = Server::new(Vec::new(), def);
    let seen: Vec<String> = (0..5).map(|_| server.class("list", json!({}))).collect();
    assert_eq!(seen, ["ok", "SERVER_BUSY", "SERVER_BUSY", "ok", "ok"]);
    assert_eq!(server.class("get", json!({"id": "INV-1"})), "ok");
}

#[test]
fn waiting_for_retry_after_ends_only_a_rate_limit() {
    let play = |kind, wait| {
        let def = WorldDef { faults: vec![fault(kind, 1, 3)], ..two_invoices() };
        let mut server = Server::new(Vec::new(), def);
        server.class("list", json!({}));
        server.world.wait(wait);
        server.class("list", json!({}))
    };
    assert_eq!(play(FaultKind::RateLimited, 29), "RATE_LIMITED");
    assert_eq!(play(FaultKind::RateLimited, 30), "ok");
    assert_eq!(play(FaultKind::Timeout, 30), "TIMEOUT");
}

#[test]
fn an_injected_fault_names_its_delay() {
    let def = WorldDef { faults: vec![fault(FaultKind::RateLimited, 1, 1)], ..two_invoices() };
    let answer = Server::new(Vec::new(), def).call("list", json!({}));
    assert!(answer.response.text().contains("<retry_after>30 seconds</retry_after>"));
    assert_eq!(answer.unguarded_text().as_deref(), Some("Error: Too many requests"));
    assert!(matches!(answer.failure, Some(healbench_engine::Failure::Fault(_))));
}

#[test]
fn messages_cut_long_values() {
    let long = "é".repeat(1 << 20);
    let otherwise = ToolFailure::new("NO_COLOR", "There is no color {sent}.");
    let allow = Rule::Allow { argument: "color".to_owned(), options: vec![json!("red")], otherwise };
    let mut server = Server::new(vec![allow], two_invoices());
    server.call("create", json!({"id": long}));
    let calls = [
        ("list", json!({"sort": long})),
        ("list", json!({"limit": [long]})),
        ("list", json!({"offset": long})),
        ("get", json!({"id": format!("{long}!")})),
        ("create", json!({"id": long})),
        ("create", json!({"color": [long]})),
        (long.as_str(), json!({})),
    ];
    for (name, arguments) in calls {
        let reply = server.call(name, arguments);
        let text = reply.response.text();
        let (is_error, is_cut) = (reply.response.is_error, text.contains(" characters)"));
        assert!(is_error && is_cut && text.len() < 20_000, "{} bytes: {text:.200}", text.len());
    }
    let reply = server.engine.call(&mut server.world, &call(&long, json!({})));
    assert!(reply.response.text().len() < 20_000);
}

#[test]
fn a_generated_key_is_a_text_where_keys_are_texts() {
    let mut def = two_invoices();
    def.tables[0].key_prefix = String::new();
    def.tables[0].rows = [json!({"id": "3"}), json!({"id": "4"})].map(object).to_vec();
    let mut server = Server::new(Vec::new(), def);
    assert_eq!(server.call("create", json!({})).response.text(), r#"{"id":"5"}"#);
    assert_eq!(server.class("get", json!({"id": "5"})), "ok");
}

#[test]
fn generated_keys_continue_those_of_the_rows() {
    let next = |prefix: &str, keys: Value| {
        let mut def = two_invoices();
        def.tables[0].key_prefix = prefix.to_owned();
        def.tables[0].rows = keys.as_array().unwrap().iter().map(|key| object(json!({ "id": key }))).collect();
        let mut server = Server::new(Vec::new(), def);
        server.call("create", json!({})).response.text().into_owned()
    };
    assert_eq!(next("EV-", json!(["EV-40", "EV-7"])), r#"{"id":"EV-41"}"#);
    assert_eq!(next("C-", json!(["C-008", "C-009"])), r#"{"id":"C-10"}"#);
    assert_eq!(next("", json!([301])), r#"{"id":"302"}"#);
    // Keys of another form are none of them; the count of the rows stays the least.
    assert_eq!(next("EV-", json!(["ev_99", "EV-x", "EV-1"])), r#"{"id":"EV-4"}"#);
    assert_eq!(next("EV-", json!([])), r#"{"id":"EV-1"}"#);
}
