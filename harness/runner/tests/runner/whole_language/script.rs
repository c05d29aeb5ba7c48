//! The calls of a script, their mistakes, and faults.

use healbench_core::{FAULTS, FaultPhase, Object};
use serde_json::{Value, json};

use super::generator::{Generator, put};

impl Generator {
    /// Returns a call with the arguments that the action needs, and some that it takes.
    fn call<'k>(&mut self, kinds: &[(&'k str, &'k str)]) -> (Value, &'k str, Vec<&'static str>) {
        let (action, handler) = self.pick(kinds);
        if self.yes(10) {
            let names = vec!["name", "n"];
            return (json!({"tool": "login", "arguments": {"name": self.value("name"), "n": 1}}), "insert", names);
        }
        let (mut names, optional): (Vec<&str>, &[&str]) = match handler {
            "get" | "delete" => (vec!["id"], &["session"]),
            "update" => (vec!["id"], &["name", "n", "state", "due", "labels", "lines", "item", "note"]),
            "insert" => (vec!["name", "n"], &["state", "due", "labels", "lines", "item", "note", "session"]),
            _ => (vec![], &["name", "n", "state", "note"]),
        };
        names.extend(optional.iter().filter(|_| self.yes(40)));
        let arguments: Object = names.iter().map(|name| ((*name).to_owned(), self.value(name))).collect();
        (json!({"tool": "orders", "action": action, "arguments": arguments}), handler, names)
    }

    pub(super) fn step(&mut self, kinds: &[(&str, &str)], has_previous: bool) -> Value {
        let (call, handler, names) = self.call(kinds);
        let mut step = json!({ "call": call });
        if names.contains(&"item") {
            let item = step["call"]["arguments"]["item"].clone();
            let name = if item == "A-1" { "Pear" } else { "Fig" };
            self.maybe(60, &mut step, "find", |_| json!({"item": {"column": "sku", "matching": {"name": name}}}));
        }
        self.maybe(10, &mut step, "fails", |all| json!(all.pick(&["NOT_FOUND", "CONFLICT", "CLOSED"])));
        self.maybe(20, &mut step, "optional", |_| json!(true));
        self.maybe(15, &mut step, "alternatives", |all| json!([all.call(kinds).0]));
        let follows_previous = has_previous && step["call"]["action"] == "add";
        let is_of_orders = step["call"]["tool"] == "orders";
        let mistake = |all: &mut Generator| all.mistake(handler, &names, is_of_orders, follows_previous);
        match self.below(4) {
            0 => {}
            1 => put(&mut step, "draw", json!({"count": 1, "from": [mistake(self), mistake(self)]})),
            _ => put(&mut step, "mistakes", json!([mistake(self)])),
        }
        step
    }

    /// Returns a mistake that is possible in a call with these arguments.
    fn mistake(&mut self, handler: &str, names: &[&str], is_of_orders: bool, follows_previous: bool) -> Value {
        let has = |name: &str| names.contains(&name);
        let writes = matches!(handler, "insert" | "update");
        let has_key = matches!(handler, "get" | "update" | "delete");
        // Each with the field that it is in, if there is one.
        let possible = [
            ("misspelled_action", "", is_of_orders),
            ("missing_discriminator", "", is_of_orders),
            ("other_tool", "", true),
            ("old_tool_name", "", true),
            ("hallucinated_field", "priority", true),
            ("misspelled_field", "", !names.is_empty()),
            ("missing", "", has_key || handler == "insert"),
            ("missing_all", "", has_key || handler == "insert"),
            ("missing_longest", "", has_key || handler == "insert"),
            ("wrong_type", "lines[0].qty", has("lines")),
            ("wrong_type", "n", has("n")),
            ("wrong_enum", "state", has("state")),
            ("out_of_range", "n", has("n")),
            ("bad_format", "due", has("due")),
            ("json_text", "lines", has("lines")),
            ("broken_json", "lines", has("lines")),
            ("single_item", "lines", has("lines")),
            ("comma_text", "labels", has("labels")),
            ("number_text", "n", has("n")),
            ("null_value", "state", true),
            ("unknown_id", "id", has_key),
            ("other_kind_id", "id", has_key),
            ("other_row_value", "id", has_key),
            ("stale_value", "name", has("name")),
            ("unfiltered_list", "", handler == "select" && !names.is_empty()),
            ("stale_contract", "", follows_previous),
            ("double_submission", "", writes || handler == "delete"),
        ];
        let possible: Vec<(&str, &str)> = possible
            .into_iter()
            .filter(|(.., is_possible)| *is_possible)
            .map(|(kind, field, _)| (kind, field))
            .collect();
        if follows_previous && self.yes(30) {
            return json!("stale_contract");
        }
        // Few calls have what mistakes in a field need.
        let of_fields: Vec<(&str, &str)> = possible.iter().copied().filter(|(_, field)| !field.is_empty()).collect();
        let (kind, field) = if self.yes(60) { self.pick(&of_fields) } else { self.pick(&possible) };
        match (kind, field) {
            ("stale_value", _) => json!({"kind": kind, "field": field, "value": "Zoe"}),
            ("other_tool", _) if self.yes(50) && is_of_orders => json!({"kind": kind, "value": "login"}),
            ("old_tool_name", _) => json!({"kind": kind, "value": "purchase"}),
            (_, "") => json!(kind),
            _ if self.yes(70) => json!({"kind": kind, "field": field}),
            _ => json!(kind),
        }
    }

    pub(super) fn fault(&mut self) -> Value {
        let kinds = FAULTS.iter().filter(|entry| entry.phase != FaultPhase::Text).map(|entry| entry.name);
        let kind = self.pick(&kinds.collect::<Vec<_>>());
        let on: &[&str] = match kind {
            "no_op" => &["orders", "orders.add", "orders.set", "login"],
            "stale" => &["orders", "orders.list"],
            _ => &["orders", "orders.list", "orders.add", "orders.set", "login"],
        };
        let mut fault = json!({"kind": kind, "on": self.pick(on)});
        self.maybe(40, &mut fault, "from_call", |all| json!(1 + all.below(2)));
        self.maybe(40, &mut fault, "calls", |all| json!(1 + all.below(3)));
        if kind == "stale" {
            put(&mut fault, "calls", json!(9));
        }
        self.maybe(40, &mut fault, "retry_after", |all| json!(all.below(30)));
        if matches!(kind, "cut" | "corrupt") {
            self.maybe(50, &mut fault, "column", |_| json!("name"));
        } else if !matches!(kind, "no_op" | "stale") {
            self.maybe(40, &mut fault, "message", |_| json!("It did not work."));
            self.maybe(40, &mut fault, "recovery", |_| json!("Set 'n' to 3."));
            if fault.get("message").or(fault.get("recovery")).is_some() {
                self.maybe(40, &mut fault, "misleading", |_| json!(true));
            }
        }
        fault
    }
}
