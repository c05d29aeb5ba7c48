//! Suggestions of routers: tools that call the tool that their arguments name.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;

use crate::options::Router;

/// The most values that are kept of an argument.
const MAX_VALUES: usize = 200;
/// The most tools and arguments that are looked at.
const MAX_NAMES: usize = 500;
/// Tools with fewer calls suggest nothing.
const MIN_CALLS: u64 = 20;

/// Counts of calls that may be those of routers.
#[derive(Debug, Default)]
pub(crate) struct Suggestions {
    calls: u64,
    tools: BTreeMap<String, Tool>,
}

#[derive(Debug, Default)]
struct Tool {
    calls: u64,
    fields: BTreeMap<String, Field>,
}

#[derive(Debug, Default)]
struct Field {
    /// The position among the arguments of the first call that has it.
    position: usize,
    names: u64,
    values: BTreeSet<String>,
    objects: u64,
}

impl Suggestions {
    pub(crate) fn see(&mut self, tool: &str, arguments: &Value) {
        self.calls += 1;
        if !self.tools.contains_key(tool) && self.tools.len() >= MAX_NAMES {
            return;
        }
        let tool = self.tools.entry(tool.to_owned()).or_default();
        tool.calls += 1;
        let Value::Object(fields) = arguments else { return };
        for (position, (name, value)) in fields.iter().enumerate() {
            if !tool.fields.contains_key(name) && tool.fields.len() >= MAX_NAMES {
                continue;
            }
            let field = tool.fields.entry(name.clone()).or_insert_with(|| Field { position, ..Field::default() });
            match value {
                Value::Object(_) => field.objects += 1,
                Value::String(text) if is_object(text) => field.objects += 1,
                Value::String(text) if is_name(text) => {
                    field.names += 1;
                    if field.values.len() < MAX_VALUES {
                        field.values.insert(text.clone());
                    }
                }
                _ => {}
            }
        }
    }

    /// Returns a router for each tool with over half of the calls, an argument with few values, and one that holds arguments.
    pub(crate) fn routers(&self) -> Vec<Router> {
        let is_frequent = |tool: &&Tool| tool.calls >= MIN_CALLS && tool.calls * 2 > self.calls;
        let routers = self.tools.iter().filter(|(_, tool)| is_frequent(tool));
        routers.filter_map(|(name, tool)| tool.router(name)).collect()
    }
}

impl Tool {
    fn router(&self, name: &str) -> Option<Router> {
        let is_frequent = |count: u64| count * 10 >= self.calls * 9;
        let (arguments_field, _) = self.fields.iter().find(|(_, field)| is_frequent(field.objects))?;
        let is_few = |values: usize| values < MAX_VALUES && u64::try_from(values).is_ok_and(|n| n * 2 <= self.calls);
        let mut names: Vec<(&String, &Field)> =
            self.fields.iter().filter(|(_, field)| is_frequent(field.names) && is_few(field.values.len())).collect();
        names.sort_by_key(|(_, field)| field.position);
        let name_fields: Vec<String> = names.into_iter().map(|(name, _)| name.clone()).collect();
        (!name_fields.is_empty()).then(|| Router {
            tool: name.to_owned(),
            name_fields,
            arguments_field: arguments_field.clone(),
        })
    }
}

fn is_object(text: &str) -> bool {
    text.starts_with('{') && text.ends_with('}')
}

fn is_name(text: &str) -> bool {
    let is_inside = |byte: u8| byte.is_ascii_alphanumeric() || b"-_./:@".contains(&byte);
    (1..=64).contains(&text.len()) && text.bytes().all(is_inside)
}
