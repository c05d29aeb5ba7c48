use std::collections::BTreeSet;

use healbench_engine::definition::{Action, Entitlement, Handler, Presenter, Tool};
use healbench_protocol::Object;
use serde_json::{Value, json};

use super::Reading;
use super::handlers::{handler, rules};
use super::world::Tables;
use crate::file::{ActionFile, EntitlementFile, PresenterFile, PreviousActionFile, PreviousFile, ToolFile};
use crate::locate::child;
use crate::suggest;

/// The tools of a file; the part that is whole, and all the names.
pub(super) struct Tools {
    tools: Vec<NamedTool>,
}

/// A tool, or at least its name and its actions' names.
pub(super) struct NamedTool {
    pub(super) name: String,
    pub(super) actions: Vec<String>,
    /// The tool with those of its actions that are whole.
    pub(super) tool: Option<Tool>,
    /// The previous names of actions, by current name, for the actions that were there before.
    pub(super) before: Vec<(String, String)>,
}

impl Tools {
    pub(super) fn get(&self, name: &str) -> Option<&NamedTool> {
        self.tools.iter().find(|tool| tool.name == name)
    }

    pub(super) fn names(&self) -> impl Iterator<Item = &str> {
        self.tools.iter().map(|tool| tool.name.as_str())
    }

    /// Every `tool.action`.
    pub(super) fn paths(&self) -> Vec<String> {
        let paths = |tool: &NamedTool| tool.actions.iter().map(|action| format!("{}.{action}", tool.name)).collect();
        self.tools.iter().flat_map::<Vec<String>, _>(paths).collect()
    }

    pub(super) fn into_checked(self) -> Option<Vec<Tool>> {
        self.tools.into_iter().map(|tool| tool.tool).collect()
    }
}

impl NamedTool {
    /// The action by the previous contract.
    pub(super) fn previous(&self, action: &str) -> Option<&Action> {
        let (_, before) = self.before.iter().find(|(current, _)| current == action)?;
        self.tool.as_ref()?.previous.as_ref()?.actions.iter().find(|action| action.name == *before)
    }
}

/// A tool and an action that a file refers to.
pub(super) struct Reference<'a> {
    pub(super) tool: &'a NamedTool,
    /// The action's name; `None` when the tool is broken and may be one without a discriminator.
    pub(super) action: Option<String>,
}

impl Reading<'_> {
    /// Resolves the `tool` and `action` keys of the mapping behind `pointer`; notes what does not exist.
    pub(super) fn refer<'t>(
        &mut self,
        pointer: &str,
        tool: &str,
        action: Option<&str>,
        tools: &'t Tools,
    ) -> Option<Reference<'t>> {
        let Some(named) = tools.get(tool) else {
            self.unknown(&child(pointer, "tool"), "tool", tool, tools.names());
            return None;
        };
        match action {
            Some(action) if named.actions.iter().any(|known| known == action) => {}
            Some(action) => {
                let known = named.actions.iter().map(String::as_str);
                self.unknown(&child(pointer, "action"), &format!("action of `{tool}`:"), action, known);
                return None;
            }
            None => {
                let flat = named.tool.as_ref().is_none_or(|tool| tool.discriminator.is_none());
                if !flat {
                    let names: Vec<&str> = named.actions.iter().map(String::as_str).collect();
                    let help = format!("`{tool}` has the actions {}", suggest::list(&names));
                    self.at_value(pointer, "missing key `action`", help);
                    return None;
                }
                return Some(Reference { tool: named, action: named.actions.first().cloned() });
            }
        }
        Some(Reference { tool: named, action: action.map(str::to_owned) })
    }
}

pub(super) fn read(reading: &mut Reading<'_>, tables: &Tables) -> Tools {
    let mut tools = Vec::new();
    for name in reading.keys("/tools") {
        let pointer = child("/tools", &name);
        if name.trim().is_empty() {
            reading.at_key(&pointer, "a tool needs a name", None);
        }
        let actions = reading.keys(&child(&pointer, "actions"));
        let file: Option<ToolFile> = reading.section(&pointer);
        let mut before = Vec::new();
        let tool = file.map(|file| tool(reading, &pointer, &name, file, tables, &mut before));
        tools.push(NamedTool { name, actions, tool, before });
    }
    let tools = Tools { tools };
    check_paths(reading, &tools);
    tools
}

fn tool(
    reading: &mut Reading<'_>,
    pointer: &str,
    name: &str,
    file: ToolFile,
    tables: &Tables,
    before: &mut Vec<(String, String)>,
) -> Tool {
    let discriminator = file.discriminator;
    if discriminator.is_none() && file.actions.len() > 1 {
        let help = "name the argument that selects the action, or keep one action".to_owned();
        reading.at_value(&child(pointer, "discriminator"), "a tool with several actions needs a discriminator", help);
    }
    let mut actions = Vec::new();
    for action_name in file.actions.into_keys() {
        let at = child(&child(pointer, "actions"), &action_name);
        if action_name.trim().is_empty() {
            reading.at_key(&at, "an action needs a name", None);
        }
        let file: Option<ActionFile> = reading.section(&at);
        actions.extend(file.and_then(|file| action(reading, &at, action_name, file, discriminator.as_deref(), tables)));
    }
    let mut tool = Tool {
        name: name.to_owned(),
        description: file.description,
        discriminator,
        actions,
        tags: file.tags,
        middleware: file.middleware,
        state_sync: file.state_sync,
        concurrency: file.concurrency,
        entitlements: entitlements(&file.entitlements),
        previous: None,
    };
    if let Some(file) = file.previous {
        tool.previous = Some(Box::new(previous(reading, &child(pointer, "previous"), &tool, file, before)));
    }
    tool
}

fn action(
    reading: &mut Reading<'_>,
    pointer: &str,
    name: String,
    file: ActionFile,
    discriminator: Option<&str>,
    tables: &Tables,
) -> Option<Action> {
    // A schema that does not compile still tells which arguments there are, so the rest is checked all the same.
    let written = Value::Object(file.input.clone());
    let input = input(reading, &child(pointer, "input"), file.input, discriminator);
    let declared = input.as_ref().unwrap_or(&written);
    let handler = handler(reading, &child(pointer, "handler"), file.handler, declared, tables);
    let rules = rules(reading, &child(pointer, "rules"), file.rules, declared, tables);
    let at = child(pointer, "presenter");
    let presenter = file.presenter.map(|file| presenter(reading, &at, &name, file, handler.as_ref()));
    Some(Action {
        name,
        description: file.description,
        input: input?,
        handler: handler?,
        rules: rules?,
        presenter,
        destructive: file.destructive,
        read_only: file.read_only,
        idempotent: file.idempotent,
    })
}

/// The presenter of the action `name`; `handler` is the action's where that is whole.
fn presenter(
    reading: &mut Reading<'_>,
    pointer: &str,
    name: &str,
    file: PresenterFile,
    handler: Option<&Handler>,
) -> Presenter {
    if handler.is_some_and(|handler| !matches!(handler, Handler::Select { .. })) {
        let help = "a presenter belongs to an action that lists (`select`)".to_owned();
        reading.at_key(pointer, format!("`{name}` does not answer with a list"), help);
    }
    let egress = file.egress.map(Value::Object);
    if let Some(Err(error)) = egress.as_ref().map(healbench_engine::check_schema) {
        let at = format!("{}{}", child(pointer, "egress"), error.pointer);
        reading.at_value(&at, format!("the egress schema does not compile: {}", error.message), None);
    }
    Presenter {
        name: file.name,
        max: file.agent_limit.map(|limit| usize::try_from(limit).unwrap_or(usize::MAX)),
        truncation_notice: file.teach,
        rules: file.rules,
        suggest_actions: file.suggest_actions,
        egress,
        egress_max_bytes: file.egress_max_bytes,
        embeds: file.embeds,
    }
}

fn entitlements(file: &[EntitlementFile]) -> BTreeSet<Entitlement> {
    let entitlement = |file: &EntitlementFile| match file {
        EntitlementFile::Filesystem => Entitlement::Filesystem,
        EntitlementFile::Network => Entitlement::Network,
        EntitlementFile::Subprocess => Entitlement::Subprocess,
        EntitlementFile::Crypto => Entitlement::Crypto,
        EntitlementFile::CodeEvaluation => Entitlement::CodeEvaluation,
    };
    file.iter().map(entitlement).collect()
}

/// The types of JSON Schema.
const TYPES: [&str; 7] = ["string", "integer", "number", "boolean", "array", "object", "null"];

/// An input schema: an object schema that compiles and leaves the discriminator alone.
fn input(reading: &mut Reading<'_>, pointer: &str, file: Object, discriminator: Option<&str>) -> Option<Value> {
    let mut input = file;
    match input.get("type") {
        None => {
            input.shift_insert(0, "type".to_owned(), json!("object"));
        }
        Some(kind) if kind == "object" => {}
        Some(_) => {
            let help = "the arguments of a call are an object; `type` may be left out".to_owned();
            reading.at_value(&child(pointer, "type"), "an input schema must be of `type: object`", help);
            return None;
        }
    }
    let input = Value::Object(input);
    if let Err(error) = healbench_engine::check_schema(&input) {
        let at = format!("{pointer}{}", error.pointer);
        match input.pointer(&error.pointer).and_then(Value::as_str) {
            Some(word) if error.pointer.ends_with("/type") => reading.unknown(&at, "type", word, TYPES),
            _ => reading.at_value(&at, format!("the input schema does not compile: {}", error.message), None),
        }
        return None;
    }
    if let Some(discriminator) = discriminator.filter(|name| !input["properties"][*name].is_null()) {
        let at = child(&child(pointer, "properties"), discriminator);
        let help = "rename the property, or name another `discriminator` for the tool".to_owned();
        reading.at_key(&at, format!("`{discriminator}` selects the action and cannot be a property as well"), help);
        return None;
    }
    for name in input["properties"].as_object().into_iter().flat_map(Object::keys).filter(|name| name.contains('.')) {
        let at = child(&child(pointer, "properties"), name);
        let help = "rename it: in error texts a dot leads to a field inside of another".to_owned();
        reading.at_key(&at, format!("the property `{name}` has a dot in its name"), help);
    }
    let declared: BTreeSet<&String> = input["properties"].as_object().into_iter().flat_map(Object::keys).collect();
    for (index, name) in input["required"].as_array().into_iter().flatten().enumerate() {
        if let Some(name) = name.as_str().filter(|name| !declared.contains(&(*name).to_owned())) {
            let known = declared.iter().map(|name| name.as_str());
            reading.unknown(&child(&child(pointer, "required"), index), "property", name, known);
        }
    }
    Some(input)
}

/// The tool as it was: the current one with what the overlay says.
fn previous(
    reading: &mut Reading<'_>,
    pointer: &str,
    current: &Tool,
    file: PreviousFile,
    before: &mut Vec<(String, String)>,
) -> Tool {
    let mut tool = Tool { previous: None, ..current.clone() };
    // An action whose own section is broken is known by name all the same.
    let names = reading.keys(&child(pointer.trim_end_matches("/previous"), "actions"));
    let known = || names.iter().map(String::as_str);
    for (index, name) in file.without.iter().enumerate() {
        if !known().any(|action| action == name) {
            let what = format!("action of `{}`:", current.name);
            reading.unknown(&child(&child(pointer, "without"), index), &what, name, known());
        }
    }
    tool.actions.retain(|action| !file.without.contains(&action.name));
    before.extend(tool.actions.iter().map(|action| (action.name.clone(), action.name.clone())));
    set(&mut tool.description, file.description);
    set(&mut tool.tags, file.tags);
    set(&mut tool.middleware, file.middleware);
    set(&mut tool.state_sync, file.state_sync);
    set(&mut tool.concurrency, file.concurrency);
    set(&mut tool.entitlements, file.entitlements.as_deref().map(entitlements));
    for (name, overlay) in file.actions {
        let at = child(&child(pointer, "actions"), &name);
        if !known().any(|action| action == name) {
            let message = format!("unknown action of `{}`: `{name}`", current.name);
            reading.at_key(&at, message, suggest::hint(&name, known()));
            continue;
        }
        let Some(action) = tool.actions.iter_mut().find(|action| action.name == name) else { continue };
        if let Some(old) = &overlay.name
            && let Some(entry) = before.iter_mut().find(|(current, _)| *current == name)
        {
            entry.1.clone_from(old);
        }
        previous_action(reading, &at, action, overlay, current.discriminator.as_deref());
    }
    tool
}

fn previous_action(
    reading: &mut Reading<'_>,
    pointer: &str,
    action: &mut Action,
    file: PreviousActionFile,
    discriminator: Option<&str>,
) {
    if let Some(schema) = file.input
        && let Some(schema) = input(reading, &child(pointer, "input"), schema, discriminator)
    {
        action.input = schema;
    }
    if let Some(file) = file.presenter {
        let at = child(pointer, "presenter");
        action.presenter = file.map(|file| presenter(reading, &at, &action.name, file, Some(&action.handler)));
    }
    set(&mut action.description, file.description);
    set(&mut action.destructive, file.destructive);
    set(&mut action.read_only, file.read_only);
    set(&mut action.idempotent, file.idempotent);
    set(&mut action.name, file.name);
}

fn set<T>(place: &mut T, value: Option<T>) {
    if let Some(value) = value {
        *place = value;
    }
}

/// Paths of actions that texts suggest have to exist, or the scenario would mislead by mistake.
fn check_paths(reading: &mut Reading<'_>, tools: &Tools) {
    let paths = tools.paths();
    for tool in &tools.tools {
        for action in &tool.actions {
            let at = child(&child(&child("/tools", &tool.name), "actions"), action);
            let rules = reading.items(&format!("{at}/rules")).into_iter();
            let of_rules = rules.map(|rule| format!("{rule}/allow/otherwise/available_actions"));
            let others = [format!("{at}/presenter/suggest_actions"), format!("{at}/handler/fail/available_actions")];
            for list in others.into_iter().chain(of_rules.collect::<Vec<_>>()) {
                for item in reading.items(&list) {
                    let Some(path) = reading.content.pointer(&item).and_then(Value::as_str).map(str::to_owned) else {
                        continue;
                    };
                    if !paths.contains(&path) {
                        reading.unknown(&item, "action", &path, paths.iter().map(String::as_str));
                    }
                }
            }
        }
    }
}
