//! Random scenarios that use every word of the language. They are about one world, so that most of what is drawn fits together; the loader
//! refuses the rest.

use healbench_core::{DrawKey, Draws, Object, Seed};
use serde_json::{Value, json};

/// The columns and arguments whose values are plain, with the values that are drawn for them.
const STATES: [&str; 3] = ["new", "paid", "sent"];
const NAMES: [&str; 3] = ["Ada Lind", "Bo", "Cy O'Neil"];
const DUE: [&str; 2] = ["2027-03-01", "2027-04-15"];
/// The actions of the tool `orders`, with the key of their handler.
const ACTIONS: [(&str, &str); 8] = [
    ("list", "select"),
    ("page", "select"),
    ("get", "get"),
    ("add", "insert"),
    ("set", "update"),
    ("drop", "delete"),
    ("info", "return"),
    ("close", "fail"),
];

/// A generator of scenarios.
pub(super) struct Generator {
    draws: Draws,
    /// True if no answer depends on calls or time, and no fault strikes, so that answers come from the cache.
    is_timeless: bool,
}

/// Sets a key of an object.
pub(super) fn put(object: &mut Value, key: &str, value: Value) {
    object.as_object_mut().unwrap().insert(key.to_owned(), value);
}

impl Generator {
    /// Creates the generator of the scenario with this number.
    pub(super) fn new(number: u64) -> Generator {
        let draws = DrawKey::of_run(Seed(1)).draws("whole language", number);
        Generator { draws, is_timeless: number.is_multiple_of(2) }
    }

    pub(super) fn yes(&mut self, percent: u64) -> bool {
        self.draws.below(100) < percent
    }

    pub(super) fn pick<T: Clone>(&mut self, from: &[T]) -> T {
        self.draws.pick(from).unwrap().clone()
    }

    pub(super) fn below(&mut self, end: u64) -> u64 {
        self.draws.below(end)
    }

    /// Sets a key in this percentage of cases.
    pub(super) fn maybe(
        &mut self,
        percent: u64,
        object: &mut Value,
        key: &str,
        value: impl FnOnce(&mut Generator) -> Value,
    ) {
        if self.yes(percent) {
            let value = value(self);
            put(object, key, value);
        }
    }

    fn some(&mut self, most: u64, one: impl Fn(&mut Generator) -> Value) -> Value {
        (0..self.below(most + 1)).map(|_| one(self)).collect()
    }

    /// Returns a right value of an argument or a column.
    pub(super) fn value(&mut self, name: &str) -> Value {
        match name {
            "id" => json!(format!("O-{}", 1 + self.below(3))),
            "name" => json!(self.pick(&NAMES)),
            "state" => json!(self.pick(&STATES)),
            "due" => json!(self.pick(&DUE)),
            "labels" => json!(["ripe", "sweet"]),
            "lines" => json!([{"sku": "A-1", "qty": 1 + self.below(4)}, {"sku": "A-2", "qty": 2}]),
            "item" => json!(self.pick(&["A-1", "A-2"])),
            "note" => json!("17"),
            "session" => json!("s-1"),
            _ => json!(self.below(9)),
        }
    }

    /// Returns a scenario file. Its id is new.
    pub(super) fn scenario(&mut self, number: u64) -> Value {
        let mut kinds: Vec<(&str, &str)> = ACTIONS.to_vec();
        kinds.retain(|(name, _)| matches!(*name, "list" | "get" | "add" | "set") || self.yes(60));
        let actions: Object =
            kinds.iter().map(|(name, handler)| ((*name).to_owned(), self.action(name, handler))).collect();
        let mut orders = json!({"description": "Orders of fruit.", "actions": actions});
        self.maybe(20, &mut orders, "discriminator", |_| json!("op"));
        self.contract_parts(&mut orders);
        self.maybe(50, &mut orders, "previous", Generator::previous);
        let before = &orders["previous"]["actions"]["add"];
        let has_previous = before.get("name").or(before.get("input")).is_some();
        let login = json!({"login": self.action("login", "insert")});
        let mut tools =
            json!({"orders": orders, "login": {"description": "", "discriminator": null, "actions": login}});
        self.maybe(
            20,
            &mut tools,
            "archive",
            |all| json!({"description": "Old orders.", "actions": {"list": all.action("list", "select")}}),
        );
        let mut file = json!({
            "id": format!("generated/{number}"),
            "title": "Orders",
            "task": {"prompt": "Do what the script does.", "max_calls": 6 + self.below(10)},
            "tools": tools,
            "world": self.world(),
            "expect": self.expectations(&kinds),
            "script": (0..=self.below(4)).map(|_| self.step(&kinds, has_previous)).collect::<Value>(),
        });
        if self.yes(15) {
            let get = |id: &str| json!({"tool": "orders", "action": "get", "arguments": {"id": id}});
            let again = json!({"call": get("O-2"), "mistakes": [{"kind": "previous_value", "field": "id"}]});
            file["script"].as_array_mut().unwrap().extend([json!({"call": get("O-1")}), again]);
        }
        let share = if self.is_timeless { 0 } else { 90 };
        self.maybe(share, &mut file, "faults", |all| (0..1 + all.below(2)).map(|_| all.fault()).collect());
        let is_stale = |fault: &Value| fault["kind"] == "stale";
        if file["faults"].as_array().is_some_and(|faults| faults.iter().any(is_stale)) {
            // What was written is to be read.
            let list = json!({"call": {"tool": "orders", "action": "list"}});
            file["script"].as_array_mut().unwrap().extend([
                json!({"call": {"tool": "orders", "action": "set", "arguments": {"id": "O-1", "n": 77}}}),
                list,
            ]);
        }
        self.maybe(if self.is_timeless { 0 } else { 80 }, &mut file, "clock", |all| {
            json!(all.pick(&["none", "wait_tool", "on_retry"]))
        });
        self.maybe(40, &mut file, "answer", |all| json!(format!("There are {} orders of Bo.", all.below(9))));
        self.maybe(20, &mut file, "description", |_| json!("A scenario of a test."));
        self.maybe(20, &mut file, "tags", |_| json!(["random"]));
        self.maybe(20, &mut file, "cluster", |_| json!("generated/all"));
        self.maybe(20, &mut file, "renamed_from", |_| json!(format!("former/{number}")));
        self.maybe(
            20,
            &mut file,
            "self_healing",
            |all| json!({"include_all_severities": all.yes(50), "max_deltas_per_error": all.below(4)}),
        );
        self.maybe(30, &mut file, "claims", |all| {
            let mut claim = json!({"says": "It is better.", "measure": all.pick(&["calls", "retries", "repeated_calls", "response_tokens"])});
            if all.yes(30) {
                claim = json!({"says": "Cheaper.", "measure": "response_usd", "usd_per_million_tokens": 3});
            }
            all.maybe(60, &mut claim, "without", |_| json!({"about": 5}));
            all.maybe(60, &mut claim, "with", |_| json!({"from": 1, "to": 3}));
            json!([claim])
        });
        if self.yes(25) {
            put(&mut file, "title", json!("Orders that are {each.state}"));
            let variants =
                json!({"one": {"state": "new", "most": 12}, "two": {"state": self.pick(&STATES), "most": 7}});
            put(&mut file, "for_each", variants);
            put(&mut file["task"], "max_calls", json!("{each.most}"));
        }
        file
    }

    /// Draws keys that only the contract of a tool has.
    fn contract_parts(&mut self, tool: &mut Value) {
        self.maybe(20, tool, "tags", |_| json!(["fruit"]));
        self.maybe(20, tool, "middleware", |_| json!(["audit"]));
        self.maybe(20, tool, "state_sync", |_| json!(["orders"]));
        self.maybe(20, tool, "concurrency", |_| json!(2));
        let all = ["filesystem", "network", "subprocess", "crypto", "code_evaluation"];
        self.maybe(30, tool, "entitlements", |own| json!([own.pick(&all)]));
    }

    fn previous(&mut self) -> Value {
        let mut previous = json!({});
        self.maybe(30, &mut previous, "name", |_| json!("purchases"));
        self.maybe(30, &mut previous, "description", |_| json!("Purchases."));
        self.contract_parts(&mut previous);
        let mut add = json!({});
        self.maybe(50, &mut add, "name", |_| json!("create"));
        self.maybe(30, &mut add, "description", |_| json!("Buy."));
        let input = json!({"properties": {"nam": {"type": "string"}, "n": {"type": "string"}}, "required": ["nam"]});
        self.maybe(60, &mut add, "input", |_| input);
        for key in ["destructive", "read_only", "idempotent"] {
            self.maybe(20, &mut add, key, |_| json!(true));
        }
        let mut list = json!({});
        self.maybe(60, &mut list, "presenter", |all| if all.yes(30) { Value::Null } else { all.presenter() });
        put(&mut previous, "actions", json!({"add": add, "list": list}));
        self.maybe(20, &mut previous, "without", |_| json!(["get"]));
        previous
    }

    fn presenter(&mut self) -> Value {
        let mut presenter = json!({});
        self.maybe(50, &mut presenter, "name", |_| json!("Table"));
        self.maybe(70, &mut presenter, "agent_limit", |all| json!(1 + all.below(3)));
        self.maybe(50, &mut presenter, "teach", |_| json!("{shown} of {total}, {omitted} left; use {filters}."));
        self.maybe(50, &mut presenter, "rules", |_| json!(["Prices are in euros."]));
        self.maybe(50, &mut presenter, "suggest_actions", |_| json!(["orders.get"]));
        let egress = json!({"properties": {"name": {"type": "string"}}});
        self.maybe(30, &mut presenter, "egress", |_| egress);
        self.maybe(30, &mut presenter, "egress_max_bytes", |_| json!(4096));
        self.maybe(30, &mut presenter, "embeds", |_| json!(["Line"]));
        presenter
    }

    fn failure(&mut self, has_row: bool) -> Value {
        let texts = match has_row {
            true if self.is_timeless => ["It is {row.state}, and {sent.name} was sent.", "No."],
            true => ["It is {row.state}, and {sent.name} was sent at {now.calls}.", "Wait; {now.seconds} s passed."],
            false => ["'{sent.name}' is not possible.", "Not now."],
        };
        let mut failure = json!({"message": self.pick(&texts)});
        self.maybe(60, &mut failure, "code", |all| {
            json!(all.pick(&["CLOSED", "CONFLICT", "FORBIDDEN", "WRONG_STATE"]))
        });
        let severities = ["none", "warning", "error", "critical"];
        self.maybe(40, &mut failure, "severity", |all| json!(all.pick(&severities)));
        self.maybe(60, &mut failure, "recovery", |all| json!(all.pick(&["Call orders.list first.", "Set 'n' to 3."])));
        self.maybe(40, &mut failure, "available_actions", |_| json!(["orders.list"]));
        self.maybe(40, &mut failure, "details", |_| json!({"sent": "{sent.n}", "limit": 3, "open": true, "by": null}));
        self.maybe(30, &mut failure, "retry_after", |all| json!(1 + all.below(40)));
        self.maybe(30, &mut failure, "bare", |_| json!("no: {sent.name}"));
        self.maybe(20, &mut failure, "misleading", |_| json!(true));
        failure
    }

    /// Returns an action. All have the same arguments, as far as their handler allows.
    fn action(&mut self, name: &str, handler: &str) -> Value {
        let has_key = matches!(handler, "get" | "update" | "delete");
        let mut properties = json!({
            "name": {"type": "string", "minLength": 1, "maxLength": 40},
            "n": {"type": "integer", "minimum": 0, "maximum": 99},
        });
        if has_key {
            put(&mut properties, "id", json!({"type": "string"}));
        }
        if matches!(handler, "insert" | "update") {
            let line = json!({"type": "object", "properties": {"sku": {"type": "string"}, "qty": {"type": "integer", "minimum": 1}}, "required": ["sku"]});
            put(&mut properties, "lines", json!({"type": "array", "items": line}));
            put(&mut properties, "labels", json!({"type": "array", "items": {"type": "string"}}));
            put(&mut properties, "due", json!({"type": "string", "format": "date"}));
            put(&mut properties, "item", json!({"type": "string"}));
        }
        if handler == "select" {
            put(&mut properties, "limit", json!({"type": "integer", "minimum": 1}));
            put(&mut properties, "cursor", json!({"type": "string"}));
        }
        put(&mut properties, "state", json!({"enum": STATES}));
        put(&mut properties, "note", json!({"type": "string"}));
        put(&mut properties, "session", json!({"type": "string"}));
        let required = match (has_key, handler) {
            (true, _) => json!(["id"]),
            (_, "insert") => json!(["name", "n"]),
            _ => json!([]),
        };
        let mut action = json!({
            "input": {"properties": properties, "required": required},
            "handler": self.handler(name, handler),
        });
        self.maybe(70, &mut action, "description", |_| json!("Do it."));
        self.maybe(60, &mut action, "rules", |all| all.some(2, |all| all.rule(has_key)));
        self.maybe(if self.is_timeless { 0 } else { 40 }, &mut action, "meanwhile", |all| {
            all.some(2, |all| all.write(false))
        });
        if handler == "select" && name != "page" {
            self.maybe(50, &mut action, "presenter", Generator::presenter);
        }
        self.maybe(15, &mut action, "warning", |_| json!({"message": "This is old.", "recovery": "Use another one."}));
        if matches!(handler, "select" | "get") {
            put(&mut action, "read_only", json!(true));
        }
        self.maybe(20, &mut action, "destructive", |all| json!(all.yes(50)));
        self.maybe(20, &mut action, "idempotent", |_| json!(true));
        action
    }

    fn handler(&mut self, name: &str, handler: &str) -> Value {
        let table = if name == "login" { "sessions" } else { "orders" };
        match handler {
            "return" => {
                let mut handler = json!({"return": self.pick(&[json!("Open."), json!({"open": true}), Value::Null])});
                self.maybe(30, &mut handler, "also", |all| all.some(2, |all| all.write(false)));
                return handler;
            }
            "fail" => return json!({"fail": self.failure(false)}),
            _ => {}
        }
        let mut file = json!({ handler: table });
        match handler {
            "select" => {
                if name == "page" {
                    put(&mut file, "page", json!(1 + self.below(3)));
                }
                self.maybe(60, &mut file, "filters", |all| {
                    let relation = all.pick(&["equal", "before", "after", "contains"]);
                    json!({"note": {"column": all.pick(&["name", "id", "state"]), "relation": relation}, "n": {"column": "n"}})
                });
            }
            "insert" | "update" => {
                self.maybe(60, &mut file, "set", |all| all.set(handler == "update", true));
                self.maybe(40, &mut file, "except", |_| json!(["note"]));
                if name == "login" {
                    let ends = self.number(false, false);
                    put(&mut file, "set", json!({"token": {"token": "s_"}, "ends": ends}));
                }
                self.maybe(40, &mut file, "also", |all| all.some(2, |all| all.write(true)));
            }
            "delete" => self.maybe(40, &mut file, "also", |all| all.some(2, |all| all.write(true))),
            _ => {}
        }
        if matches!(handler, "get" | "update" | "delete") {
            self.maybe(50, &mut file, "by", |_| json!("id"));
        }
        file
    }

    /// Returns a computed value of a column that is a number.
    fn number(&mut self, has_row: bool, has_lines: bool) -> Value {
        let reference = if has_row { json!({"row": "n"}) } else { json!({"sent": "n"}) };
        match self.below(if has_lines { 10 } else { 7 }) {
            0 => json!({"add": 1}),
            1 => json!({"subtract": reference}),
            2..5 if self.is_timeless => json!(self.below(9)),
            2 => json!({"now": self.pick(&["calls", "seconds"])}),
            3 => json!({"after": {"calls": self.below(4)}}),
            4 => json!({"after": {"seconds": self.below(40)}}),
            5 => reference,
            6 => json!(self.below(9)),
            7 => json!({"sum": "lines[].qty"}),
            8 => json!({"sum": ["lines[].qty", "n"]}),
            _ => json!({"count": "lines[]"}),
        }
    }

    /// Returns columns to set.
    fn set(&mut self, has_row: bool, has_lines: bool) -> Value {
        let mut set = json!({"n": self.number(has_row, has_lines)});
        self.maybe(40, &mut set, "state", |all| json!(all.pick(&STATES)));
        self.maybe(30, &mut set, "made", |all| all.number(has_row, has_lines));
        self.maybe(20, &mut set, "more", |_| json!({"value": {"a": [1]}}));
        self.maybe(20, &mut set, "mark", |_| json!({"token": "t-"}));
        self.maybe(20, &mut set, "name", |_| json!({"sent": "name"}));
        set
    }

    fn write(&mut self, has_row: bool) -> Value {
        let table = self.pick(&["log", "orders", "sessions"]);
        let matching = |all: &mut Generator| {
            let mut matching = json!({"n": all.comparison("n", has_row)});
            all.maybe(50, &mut matching, "name", |all| all.comparison("name", has_row));
            matching
        };
        match self.below(3) {
            0 => json!({"insert": "log", "set": self.set(has_row, false)}),
            1 => json!({"update": table, "where": matching(self), "set": self.set(has_row, false)}),
            _ => json!({"delete": table, "where": matching(self)}),
        }
    }

    /// Returns the comparison of a value that is of the kind of this argument.
    fn comparison(&mut self, like: &str, has_row: bool) -> Value {
        let mut operand = match self.below(4) {
            0 if has_row => json!({ "row": like }),
            1 => json!({ "sent": like }),
            2 if like == "n" && !self.is_timeless => json!({"now": self.pick(&["calls", "seconds"])}),
            _ => self.value(like),
        };
        let operator = self.pick(&healbench_engine::definition::OPERATORS).0;
        match operator {
            "in" | "not_in" => operand = json!([self.value(like), operand]),
            "present" => operand = json!(self.yes(50)),
            _ => {}
        }
        match self.below(4) {
            0 => self.value(like),
            1 if !matches!(operator, "in" | "not_in" | "present") => operand,
            _ => json!({ operator: operand }),
        }
    }

    fn rule(&mut self, has_row: bool) -> Value {
        match self.below(8) {
            0 => json!({"required": {"argument": self.pick(&["name", "n"])}}),
            1 => json!({"missing": {"table": "sessions", "argument": "session"}}),
            2 => json!({"conflict": {"table": "orders", "fields": ["name", "n"]}}),
            3 => {
                let options: Vec<Value> = NAMES[..2].iter().map(|name| json!(name)).collect();
                let mut otherwise = self.failure(false);
                put(&mut otherwise, "message", json!("'{sent}' is none."));
                json!({"allow": {"argument": "name", "options": options, "otherwise": otherwise}})
            }
            _ => {
                let mut when = json!({});
                self.maybe(40, &mut when, "n", |all| all.comparison("n", has_row));
                self.maybe(30, &mut when, "name", |all| all.comparison("name", has_row));
                if has_row {
                    self.maybe(50, &mut when, "row", |all| json!({"state": all.comparison("state", true)}));
                }
                self.maybe(40, &mut when, "rows", |all| {
                    let mut rows = json!({"in": "orders", "where": {"n": all.comparison("n", has_row)}});
                    all.maybe(50, &mut rows, "count", |all| json!({"greater": all.below(4)}));
                    if all.yes(20) { json!([rows, {"in": "sessions"}]) } else { rows }
                });
                self.maybe(
                    if self.is_timeless { 0 } else { 30 },
                    &mut when,
                    "now",
                    |all| json!({all.pick(&["calls", "seconds"]): {"greater": 2}}),
                );
                let mut deny = self.failure(has_row);
                put(&mut deny, "when", when);
                self.maybe(30, &mut deny, "unless_role", |all| json!(all.pick(&["owner", "guest"])));
                json!({ "deny": deny })
            }
        }
    }

    fn world(&mut self) -> Value {
        let row = |all: &mut Generator, id: u64| {
            let mut row = json!({"id": format!("O-{id}"), "n": all.below(9)});
            for column in ["name", "state", "note"] {
                let value = all.value(column);
                put(&mut row, column, value);
            }
            row
        };
        let rows: Value = (1..4).map(|id| row(self, id)).collect();
        let mut orders = json!({"key_prefix": "O-", "rows": rows});
        self.maybe(40, &mut orders, "singular", |_| json!("purchase"));
        let mut items = json!({"key": "sku", "rows": [{"sku": "A-1", "name": "Pear"}, {"sku": "A-2", "name": "Fig"}]});
        self.maybe(60, &mut items, "generate", |all| {
            json!({"count": 1 + all.below(30), "fields": {
                "sku": {"sequence": "B-{n:03}"},
                "name": {"phrase": [["Red", "Dry"], ["Plum", "Oat"]]},
                "n": {"range": [1, 90]},
                "unit": {"pick": ["kg", "piece", null]},
                "from": {"value": {"farm": 1}},
            }})
        });
        let sessions = json!({"key": "token", "rows": [{"token": "s-1", "n": 1, "name": "Bo"}]});
        let mut world = json!({"orders": orders, "items": items, "sessions": sessions, "log": {"key_prefix": "L-", "rows": [{"id": "L-0", "n": 0, "name": "Bo"}]}});
        self.maybe(50, &mut world, "role", |all| json!(all.pick(&["owner", "guest"])));
        self.maybe(40, &mut world, "fixed", |all| json!(all.yes(50)));
        world
    }

    fn called(&mut self, kinds: &[(&str, &str)]) -> Value {
        let mut called = json!({"tool": "orders", "action": self.pick(kinds).0});
        self.maybe(40, &mut called, "arguments", |all| json!({"n": all.below(5)}));
        called
    }

    fn expectations(&mut self, kinds: &[(&str, &str)]) -> Value {
        (0..=self.below(3)).map(|_| self.expectation(kinds, true)).collect()
    }

    fn expectation(&mut self, kinds: &[(&str, &str)], may_nest: bool) -> Value {
        let row =
            |all: &mut Generator| json!({"in": "orders", "where": {"name": all.value("name"), "n": all.below(9)}});
        match self.below(if may_nest { 14 } else { 12 }) {
            0 | 1 => {
                let mut row = row(self);
                self.maybe(30, &mut row, "only", |_| json!(true));
                json!({ "row": row })
            }
            2 => json!({"no_row": row(self)}),
            3 => {
                let mut count = json!({"in": "orders", "equals": 2 + self.below(4)});
                self.maybe(50, &mut count, "where", |all| json!({"state": all.value("state")}));
                json!({ "count": count })
            }
            4 => json!({"unchanged": self.pick(&["items", "log", "orders"])}),
            5 => json!({"verified": row(self)}),
            6 => json!({"called": self.called(kinds)}),
            7 => json!({"not_called": self.called(kinds)}),
            8 => {
                let mut at_most = self.called(kinds);
                put(&mut at_most, "calls", json!(self.below(3)));
                json!({ "at_most": at_most })
            }
            9 => json!({"in_order": [self.called(kinds), self.called(kinds)]}),
            10 => {
                let mut answer = json!({"answer": self.pick(&[json!("bo"), json!(4), json!(["orders", 5])])});
                self.maybe(40, &mut answer, "within", |all| json!(all.below(3)));
                answer
            }
            11 => json!({"stops": true}),
            _ => json!({"any_of": [self.expectation(kinds, false), self.expectation(kinds, false)]}),
        }
    }
}
