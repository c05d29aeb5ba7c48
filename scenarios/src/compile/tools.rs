use std::collections::BTreeSet;

use healbench_core::Object;
use healbench_engine::definition::{Action, Clock, Effects, Entitlement, Handler, Presenter, Tool, WAIT_TOOL};
use serde_json::{Value, json};

use super::Compiler;
use super::conditions::Names;
use super::handlers::{handler, rules, warning};
use super::world::Tables;
use crate::declared::{declared, is_declared};
use crate::file::{ActionFile, EntitlementFile, PresenterFile, PreviousActionFile, PreviousFile, ToolFile};
use crate::locate::child;
use crate::suggest;

/// The valid tools of a file, and the names of all tools.
pub(super) struct Tools {
    tools: Vec<NamedTool>,
}

/// The name of a tool and of its actions, with the tool if it is valid.
pub(super) struct NamedTool {
    pub(super) name: String,
    pub(super) actions: Vec<String>,
    /// The tool with its valid actions.
    pub(super) tool: Option<Tool>,
    /// The previous names of the actions that existed before, as pairs of current and previous name.
    pub(super) previous_names: Vec<(String, String)>,
}

impl Tools {
    pub(super) fn new(tools: Vec<NamedTool>) -> Tools {
        Tools { tools }
    }

    pub(super) fn get(&self, name: &str) -> Option<&NamedTool> {
        self.tools.iter().find(|tool| tool.name == name)
    }

    pub(super) fn names(&self) -> impl Iterator<Item = &str> {
        self.tools.iter().map(|tool| tool.name.as_str())
    }

    /// Returns the valid tools with their discriminators and actions.
    pub(super) fn discriminators(&self) -> Vec<(String, Option<String>, Vec<String>)> {
        let valid = self.tools.iter().filter_map(|named| Some((named, named.tool.as_ref()?)));
        valid.map(|(named, tool)| (named.name.clone(), tool.discriminator.clone(), named.actions.clone())).collect()
    }

    /// Returns all paths `tool.action`.
    pub(super) fn paths(&self) -> Vec<String> {
        let paths = |tool: &NamedTool| tool.actions.iter().map(|action| format!("{}.{action}", tool.name)).collect();
        self.tools.iter().flat_map::<Vec<String>, _>(paths).collect()
    }

    pub(super) fn into_checked(self) -> Option<Vec<Tool>> {
        self.tools.into_iter().map(|tool| tool.tool).collect()
    }
}

impl NamedTool {
    /// Returns the action in the previous contract.
    pub(super) fn previous(&self, action: &str) -> Option<&Action> {
        let (_, previous_name) = self.previous_names.iter().find(|(current, _)| current == action)?;
        self.tool.as_ref()?.previous.as_ref()?.actions.iter().find(|action| action.name == *previous_name)
    }
}

/// A reference to a tool and an action.
pub(super) struct ActionRef<'a> {
    pub(super) tool: &'a NamedTool,
    /// The action's name; `None` if the tool is invalid and may have no discriminator.
    pub(super) action: Option<String>,
}

impl Compiler<'_> {
    /// Resolves the keys `tool` and `action` of the mapping behind `pointer`. Reports names that do not exist.
    pub(super) fn resolve_action<'t>(
        &mut self,
        pointer: &str,
        tool: &str,
        action: Option<&str>,
        tools: &'t Tools,
    ) -> Option<ActionRef<'t>> {
        let Some(named) = tools.get(tool) else {
            self.report_unknown(&child(pointer, "tool"), "tool", tool, tools.names());
            return None;
        };
        match action {
            Some(action) if named.actions.iter().any(|known| known == action) => {}
            Some(action) => {
                let known = named.actions.iter().map(String::as_str);
                self.report_unknown(&child(pointer, "action"), &format!("action of `{tool}`:"), action, known);
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
                return Some(ActionRef { tool: named, action: named.actions.first().cloned() });
            }
        }
        Some(ActionRef { tool: named, action: action.map(str::to_owned) })
    }
}

pub(super) fn compile(compiler: &mut Compiler<'_>, tables: &Tables, clock: Clock) -> Tools {
    let mut tools = Vec::new();
    for name in compiler.keys("/tools") {
        let pointer = child("/tools", &name);
        if name.trim().is_empty() {
            compiler.at_key(&pointer, "a tool needs a name", None);
        }
        let actions = compiler.keys(&child(&pointer, "actions"));
        let file: Option<ToolFile> = compiler.section(&pointer);
        let mut previous_names = Vec::new();
        let tool = file.map(|file| tool(compiler, &pointer, &name, file, tables, &mut previous_names));
        if clock == Clock::WaitTool && name == WAIT_TOOL {
            let help = "the clock `wait_tool` adds a tool of this name".to_owned();
            compiler.at_key(&pointer, format!("a second tool `{name}`"), help);
        }
        tools.push(NamedTool { name, actions, tool, previous_names });
    }
    if clock == Clock::WaitTool {
        let (name, tool) = (WAIT_TOOL.to_owned(), Some(Tool::wait()));
        tools.push(NamedTool { actions: vec![name.clone()], name, tool, previous_names: Vec::new() });
    }
    let tools = Tools { tools };
    check_previous_names(compiler, &tools);
    check_paths(compiler, &tools);
    tools
}

fn tool(
    compiler: &mut Compiler<'_>,
    pointer: &str,
    name: &str,
    file: ToolFile,
    tables: &Tables,
    previous_names: &mut Vec<(String, String)>,
) -> Tool {
    let discriminator = file.discriminator;
    if discriminator.is_none() && file.actions.len() > 1 {
        let help = "name the argument that selects the action, or keep one action".to_owned();
        compiler.at_value(&child(pointer, "discriminator"), "a tool with several actions needs a discriminator", help);
    }
    let mut actions = Vec::new();
    for action_name in file.actions.into_keys() {
        let at = child(&child(pointer, "actions"), &action_name);
        if action_name.trim().is_empty() {
            compiler.at_key(&at, "an action needs a name", None);
        }
        let file: Option<ActionFile> = compiler.section(&at);
        actions
            .extend(file.and_then(|file| action(compiler, &at, action_name, file, discriminator.as_deref(), tables)));
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
        tool.previous = Some(Box::new(previous(compiler, &child(pointer, "previous"), &tool, file, previous_names)));
    }
    tool
}

fn action(
    compiler: &mut Compiler<'_>,
    pointer: &str,
    name: String,
    file: ActionFile,
    discriminator: Option<&str>,
    tables: &Tables,
) -> Option<Action> {
    // A schema that does not compile still declares arguments, so the other parts can be checked.
    let raw_input = Value::Object(file.input.clone());
    let input = input(compiler, &child(pointer, "input"), file.input, discriminator);
    let declared = input.as_ref().unwrap_or(&raw_input);
    let handler = handler(compiler, &child(pointer, "handler"), file.handler, declared, tables);
    let own = handler.as_ref().and_then(|(handler, _)| handler.row_table());
    let names = Names { input: declared, tables, row_of: own };
    let rules = rules(compiler, &child(pointer, "rules"), file.rules, names);
    let at = child(pointer, "presenter");
    let listed = handler.as_ref().map(|(handler, _)| handler);
    let presenter = file.presenter.map(|file| presenter(compiler, &at, &name, file, listed));
    let warning = file.warning.map(|file| warning(compiler, &child(pointer, "warning"), file));
    let meanwhile = compiler.writes(&child(pointer, "meanwhile"), file.meanwhile, Names { row_of: None, ..names });
    let (handler, effects) = handler?;
    let effects = Effects { meanwhile: meanwhile?, ..effects };
    Some(Action {
        name,
        description: file.description,
        input: input?,
        handler,
        effects,
        rules: rules?,
        presenter,
        warning,
        destructive: file.destructive,
        read_only: file.read_only,
        idempotent: file.idempotent,
    })
}

/// Converts the presenter of the action `name`; `handler` is the action's handler if it is valid.
fn presenter(
    compiler: &mut Compiler<'_>,
    pointer: &str,
    name: &str,
    file: PresenterFile,
    handler: Option<&Handler>,
) -> Presenter {
    if handler.is_some_and(|handler| !matches!(handler, Handler::Select { .. })) {
        let help = "a presenter belongs to an action that lists (`select`)".to_owned();
        compiler.at_key(pointer, format!("`{name}` does not answer with a list"), help);
    }
    if matches!(handler, Some(Handler::Select { page: Some(_), .. })) {
        let help = "leave `page` out for a list that the presenter cuts".to_owned();
        compiler.at_key(pointer, format!("`{name}` answers with pages, which no presenter changes"), help);
    }
    let egress = file.egress.map(Value::Object);
    if let Some(Err(error)) = egress.as_ref().map(healbench_engine::check_schema) {
        let at = format!("{}{}", child(pointer, "egress"), error.pointer);
        compiler.at_value(&at, format!("the egress schema does not compile: {}", error.message), None);
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

const TYPES: [&str; 7] = ["string", "integer", "number", "boolean", "array", "object", "null"];

/// Checks an input schema: it must be an object schema that compiles and does not declare the discriminator.
fn input(compiler: &mut Compiler<'_>, pointer: &str, file: Object, discriminator: Option<&str>) -> Option<Value> {
    let mut input = file;
    match input.get("type") {
        None => {
            input.shift_insert(0, "type".to_owned(), json!("object"));
        }
        Some(kind) if kind == "object" => {}
        Some(_) => {
            let help = "the arguments of a call are an object; `type` may be left out".to_owned();
            compiler.at_value(&child(pointer, "type"), "an input schema must be of `type: object`", help);
            return None;
        }
    }
    let input = Value::Object(input);
    if let Err(error) = healbench_engine::check_schema(&input) {
        let at = format!("{pointer}{}", error.pointer);
        match input.pointer(&error.pointer).and_then(Value::as_str) {
            Some(word) if error.pointer.ends_with("/type") => compiler.report_unknown(&at, "type", word, TYPES),
            _ => compiler.at_value(&at, format!("the input schema does not compile: {}", error.message), None),
        }
        return None;
    }
    if let Some(discriminator) = discriminator.filter(|name| is_declared(&input, name)) {
        let at = child(&child(pointer, "properties"), discriminator);
        let help = "rename the property, or name another `discriminator` for the tool".to_owned();
        compiler.at_key(&at, format!("`{discriminator}` selects the action and cannot be a property as well"), help);
        return None;
    }
    for name in input["properties"].as_object().into_iter().flat_map(Object::keys).filter(|name| name.contains('.')) {
        let at = child(&child(pointer, "properties"), name);
        let help = "rename it: in error texts a dot leads to a field inside of another".to_owned();
        compiler.at_key(&at, format!("the property `{name}` has a dot in its name"), help);
    }
    let unknown = if compiler.is_stored { Vec::new() } else { healbench_engine::unknown_keywords(&input) };
    for (at, keyword) in unknown {
        let help = suggest::nearest(&keyword, healbench_engine::schema_keywords());
        let help = format!("{help}a keyword of your own begins with `x-`");
        compiler.at_key(&format!("{pointer}{at}"), format!("`{keyword}` is no keyword of JSON Schema"), help);
    }
    for (index, name) in input["required"].as_array().into_iter().flatten().enumerate() {
        if let Some(name) = name.as_str().filter(|name| !is_declared(&input, name)) {
            let known = declared(&input).map(|(name, _)| name);
            compiler.report_unknown(&child(&child(pointer, "required"), index), "property", name, known);
        }
    }
    Some(input)
}

/// Returns the previous version of a tool: the current one with the changes in `file`.
fn previous(
    compiler: &mut Compiler<'_>,
    pointer: &str,
    current: &Tool,
    file: PreviousFile,
    previous_names: &mut Vec<(String, String)>,
) -> Tool {
    let mut tool = Tool { previous: None, ..current.clone() };
    // An action with an invalid section is still a known name.
    let names = compiler.keys(&child(pointer.trim_end_matches("/previous"), "actions"));
    let known = || names.iter().map(String::as_str);
    for (index, name) in file.without.iter().enumerate() {
        if !known().any(|action| action == name) {
            let what = format!("action of `{}`:", current.name);
            compiler.report_unknown(&child(&child(pointer, "without"), index), &what, name, known());
        }
    }
    tool.actions.retain(|action| !file.without.contains(&action.name));
    previous_names.extend(tool.actions.iter().map(|action| (action.name.clone(), action.name.clone())));
    if let Some(name) = &file.name {
        let at = child(pointer, "name");
        if compiler.keys("/tools").contains(name) {
            let help = "the previous name of a tool is one that no tool has any more".to_owned();
            compiler.at_value(&at, format!("`{name}` is the name of a tool"), help);
        } else if name.trim().is_empty() {
            compiler.at_value(&at, "a tool needs a name", None);
        }
    }
    set(&mut tool.name, file.name);
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
            compiler.at_key(&at, message, suggest::help(&name, known()));
            continue;
        }
        let Some(action) = tool.actions.iter_mut().find(|action| action.name == name) else { continue };
        if let Some(old) = &overlay.name
            && let Some(entry) = previous_names.iter_mut().find(|(current, _)| *current == name)
        {
            entry.1.clone_from(old);
        }
        previous_action(compiler, &at, action, overlay, current.discriminator.as_deref());
    }
    tool
}

fn previous_action(
    compiler: &mut Compiler<'_>,
    pointer: &str,
    action: &mut Action,
    file: PreviousActionFile,
    discriminator: Option<&str>,
) {
    if let Some(schema) = file.input
        && let Some(schema) = input(compiler, &child(pointer, "input"), schema, discriminator)
    {
        action.input = schema;
    }
    if let Some(file) = file.presenter {
        let at = child(pointer, "presenter");
        action.presenter = file.map(|file| presenter(compiler, &at, &action.name, file, Some(&action.handler)));
    }
    set(&mut action.description, file.description);
    set(&mut action.destructive, file.destructive);
    set(&mut action.read_only, file.read_only);
    set(&mut action.idempotent, file.idempotent);
    set(&mut action.name, file.name);
}

fn set<T>(target: &mut T, value: Option<T>) {
    if let Some(value) = value {
        *target = value;
    }
}

/// Reports tools that had the same name before.
fn check_previous_names(compiler: &mut Compiler<'_>, tools: &Tools) {
    let mut known = BTreeSet::new();
    for tool in tools.tools.iter().filter_map(|named| named.tool.as_ref()) {
        let Some(name) = tool.previous_name() else { continue };
        if !known.insert(name) {
            let at = child(&child(&child("/tools", &tool.name), "previous"), "name");
            compiler.at_value(&at, format!("another tool had the name `{name}` too"), None);
        }
    }
}

/// Reports suggested actions that do not exist: they would mislead agents unintentionally.
fn check_paths(compiler: &mut Compiler<'_>, tools: &Tools) {
    let paths = tools.paths();
    for tool in &tools.tools {
        for action in &tool.actions {
            let at = child(&child(&child("/tools", &tool.name), "actions"), action);
            let rules = compiler.items(&format!("{at}/rules")).into_iter();
            let of_rules = rules.flat_map(|rule| {
                ["allow/otherwise", "deny"].map(|failure| format!("{rule}/{failure}/available_actions"))
            });
            let others = ["presenter/suggest_actions", "handler/fail/available_actions", "warning/available_actions"];
            let others = others.map(|list| format!("{at}/{list}"));
            for list in others.into_iter().chain(of_rules.collect::<Vec<_>>()) {
                for item in compiler.items(&list) {
                    let Some(path) = compiler.content.pointer(&item).and_then(Value::as_str).map(str::to_owned) else {
                        continue;
                    };
                    if !paths.contains(&path) {
                        compiler.report_unknown(&item, "action", &path, paths.iter().map(String::as_str));
                    }
                }
            }
        }
    }
}
