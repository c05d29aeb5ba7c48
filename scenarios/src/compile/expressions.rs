//! Computed columns.

use healbench_core::ValuePath;
use healbench_engine::definition::{Expression, Operand};
use indexmap::IndexMap;
use serde_json::Value;

use super::Compiler;
use super::conditions::Names;
use crate::locate::child;
use crate::suggest;

impl Compiler<'_> {
    pub(super) fn columns(
        &mut self,
        pointer: &str,
        set: &IndexMap<String, Value>,
        names: Names<'_>,
    ) -> Option<Vec<(String, Expression)>> {
        let one = |(column, value): (&String, &Value)| {
            Some((column.clone(), self.expression(&child(pointer, column), value, names)?))
        };
        let all: Vec<_> = set.iter().map(one).collect();
        all.into_iter().collect()
    }

    /// Returns a constant, a reference, or a computation: `{add: 1}`, `{sum: "lines[].amount"}`. Any other object is an error.
    fn expression(&mut self, pointer: &str, value: &Value, names: Names<'_>) -> Option<Expression> {
        const KNOWN: [&str; 10] = ["row", "sent", "now", "add", "subtract", "sum", "count", "after", "token", "value"];
        let Some(map) = value.as_object() else { return Some(Expression::Operand(Operand::Constant(value.clone()))) };
        let (Some((key, inner)), 1) = (map.iter().next(), map.len()) else {
            let help = format!("write one of {}, or `{{value: …}}` for an object", suggest::list(&KNOWN));
            self.at_value(pointer, "a computed column has exactly one key", help);
            return None;
        };
        self.check_reference(pointer, value)?;
        let at = child(pointer, key);
        match key.as_str() {
            "row" | "sent" | "now" if inner.is_string() => {
                Some(Expression::Operand(self.operand(pointer, value, names)?))
            }
            "value" => Some(Expression::Operand(Operand::Constant(inner.clone()))),
            "add" | "subtract" => {
                let operand = self.operand(&at, inner, names)?;
                let is_number = match &operand {
                    Operand::Constant(value) => value.is_number(),
                    Operand::Sent(path) => path.schema(names.input)["type"] != "string",
                    Operand::Row(_) | Operand::Now(_) => true,
                };
                if !is_number {
                    self.at_value(&at, format!("`{key}` needs a number"), None);
                    return None;
                }
                Some(if key == "add" { Expression::Add(operand) } else { Expression::Subtract(operand) })
            }
            "after" => self.after(&at, inner, names),
            "token" => match inner.as_str() {
                Some(prefix) => Some(Expression::Token(prefix.to_owned())),
                None => {
                    self.at_value(&at, "`token` needs a prefix, which may be empty", None);
                    None
                }
            },
            "sum" | "count" => self.sum_or_count(&at, key, inner, names),
            _ => {
                self.at_key(&at, format!("unknown computation `{key}`"), suggest::help(key, KNOWN));
                None
            }
        }
    }

    fn after(&mut self, at: &str, inner: &Value, names: Names<'_>) -> Option<Expression> {
        let of = inner.as_object().filter(|map| map.len() == 1).and_then(|map| map.iter().next());
        let Some((measure, more)) = of else {
            let help = "write `{after: {seconds: 60}}` or `{after: {calls: 3}}`".to_owned();
            self.at_value(at, "`after` needs one number of calls or of seconds", help);
            return None;
        };
        let here = child(at, measure);
        let operand = self.operand(&here, more, names)?;
        if matches!(&operand, Operand::Constant(value) if !value.is_number()) {
            self.at_value(&here, "`after` needs a number", None);
            return None;
        }
        Some(Expression::After(self.progress(&here, measure, true)?, operand))
    }

    fn sum_or_count(&mut self, at: &str, key: &str, inner: &Value, names: Names<'_>) -> Option<Expression> {
        let texts: Vec<&str> = match inner {
            Value::String(text) => vec![text],
            other => other.as_array().into_iter().flatten().filter_map(Value::as_str).collect(),
        };
        let paths: Vec<_> = texts.iter().map(|text| self.argument(at, text, names.input, false)).collect();
        let mut paths = paths.into_iter().collect::<Option<Vec<ValuePath>>>()?;
        if paths.is_empty() {
            let help = format!("write `{{{key}: \"lines[].amount\"}}`");
            self.at_value(at, format!("`{key}` needs the path of an argument"), help);
            return None;
        }
        if key == "count" && (paths.len() > 1 || !paths[0].has_list()) {
            let help = format!("write `{{count: \"{}[]\"}}`", paths[0]);
            self.at_value(at, "`count` needs one path to the elements of a list", help);
            return None;
        }
        let lists = || paths.iter().filter(|path| path.has_list());
        if lists().zip(lists().skip(1)).any(|(one, next)| !one.shares_list(next)) {
            let help = "write paths into the elements of one list".to_owned();
            self.at_value(at, "these paths name the elements of different lists", help);
            return None;
        }
        Some(if key == "sum" { Expression::Sum(paths) } else { Expression::Count(paths.swap_remove(0)) })
    }
}
