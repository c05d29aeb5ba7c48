use std::collections::BTreeMap;

use healbench_core::{DrawKey, Object, RecordQuery, Seed, Step, ToolCall, ValuePath};
use healbench_engine::IssueKind;
use healbench_engine::definition::{Action, Tool, WorldDef};
use indexmap::IndexMap;
use jsonschema::Validator;
use jsonschema::error::ValidationErrorKind;
use serde_json::Value;

use super::tools::Tools;
use super::{Compiler, short_json};
use crate::declared::declared_help;
use crate::file::{CallFile, FindFile, MistakeFile, StepFile};
use crate::locate::child;
use crate::mistakes::{self, MistakeKind, MistakeParams, MistakePart, MutationPlan, Target};
use crate::schedule::{PlannedStep, WorldSummary, mutated_step};
use crate::suggest;

/// `on_server` is true if the scenario has a server.
pub(super) fn compile(
    compiler: &mut Compiler<'_>,
    tools: &Tools,
    world: &WorldDef,
    on_server: bool,
) -> Option<Vec<PlannedStep>> {
    let pointers = compiler.items("/script");
    let mut steps: Vec<Option<PlannedStep>> = Vec::new();
    for pointer in pointers {
        let planned = step(compiler, &pointer, tools, world, &steps, on_server);
        steps.push(planned);
    }
    steps.into_iter().collect()
}

fn step(
    compiler: &mut Compiler<'_>,
    pointer: &str,
    tools: &Tools,
    world: &WorldDef,
    before: &[Option<PlannedStep>],
    on_server: bool,
) -> Option<PlannedStep> {
    let file: StepFile = compiler.section(pointer)?;
    let at = child(pointer, "call");
    let reference = compiler.resolve_action(&at, &file.call.tool, file.call.action.as_deref(), tools);
    let find = found_records(compiler, &child(pointer, "find"), file.find, &file.call.arguments);
    let reference = reference?;
    let tool = reference.tool.tool.as_ref()?;
    // An action that the tool lacks is invalid, and its own problems are reported.
    let action = tool.actions.iter().find(|action| Some(&action.name) == reference.action.as_ref())?;
    let validator = compile_schema(&action.input)?;
    if !is_valid_intended_call(compiler, &child(&at, "arguments"), &file.call.arguments, tool, action, &validator) {
        return None;
    }
    let is_same_action = |call: &&ToolCall| {
        let discriminator = tool.discriminator.as_ref();
        call.tool == tool.name && discriminator.is_none_or(|field| call.arguments[field] == action.name)
    };
    let earlier = before.iter().flatten().map(|planned| &planned.step.intended).filter(is_same_action);
    let earlier: Vec<&Object> = earlier.filter_map(ToolCall::object).collect();
    let known = tools.discriminators();
    let target = Target {
        earlier: &earlier,
        tools: &known,
        tool,
        action,
        previous: reference.tool.previous(&action.name),
        arguments: &file.call.arguments,
        validator: &validator,
        world,
        on_server,
    };
    let mistakes = plans(compiler, &child(pointer, "mistakes"), file.mistakes, &target);
    let draw = match file.draw {
        Some(draw) => {
            let at = child(pointer, "draw");
            let offered = draw.from.len();
            if usize::try_from(draw.count).is_ok_and(|count| count > offered) {
                let message = format!("{} mistakes cannot be drawn from {offered}, each at most once", draw.count);
                compiler.at_value(&child(&at, "count"), message, None);
            }
            Some((draw.count, plans(compiler, &child(&at, "from"), draw.from, &target)?))
        }
        None => None,
    };
    let mut alternatives = Vec::new();
    for (index, other) in file.alternatives.into_iter().enumerate() {
        alternatives.push(alternative(compiler, &child(&child(pointer, "alternatives"), index), other, tools)?);
    }
    let intended = call_of(tool, action, file.call.arguments.clone());
    let draft = intended.clone();
    let step = Step { draft, intended, find, fails: file.fails, optional: file.optional, twice: false, alternatives };
    Some(PlannedStep::new(step, mistakes?, draw))
}

/// Returns what records have to provide, by the place of the value in the arguments.
fn found_records(
    compiler: &mut Compiler<'_>,
    pointer: &str,
    files: IndexMap<String, FindFile>,
    arguments: &Object,
) -> BTreeMap<String, RecordQuery> {
    let mut find = BTreeMap::new();
    for (argument, query) in files {
        match place_of(&argument, arguments) {
            Some(place) => _ = find.insert(place, RecordQuery { column: query.column, matching: query.matching }),
            None => {
                let known = arguments.keys().map(String::as_str);
                let noun = if argument.contains(['.', '[']) { "one value" } else { "argument" };
                let message = format!("the call has no {noun} `{argument}` to find");
                compiler.at_key(&child(pointer, &argument), message, suggest::help(&argument, known));
            }
        }
    }
    find
}

/// Compiles a call that does as well as the intended one.
fn alternative(compiler: &mut Compiler<'_>, at: &str, other: CallFile, tools: &Tools) -> Option<ToolCall> {
    let reference = compiler.resolve_action(at, &other.tool, other.action.as_deref(), tools)?;
    let tool = reference.tool.tool.as_ref()?;
    let action = tool.actions.iter().find(|action| Some(&action.name) == reference.action.as_ref())?;
    let validator = compile_schema(&action.input)?;
    is_valid_intended_call(compiler, &child(at, "arguments"), &other.arguments, tool, action, &validator)
        .then(|| call_of(tool, action, other.arguments))
}

fn call_of(tool: &Tool, action: &Action, sent: Object) -> ToolCall {
    let discriminator = tool.discriminator.iter().map(|field| (field.clone(), action.name.clone().into()));
    ToolCall::new(&tool.name, Value::Object(discriminator.chain(sent).collect()))
}

/// Returns the place of a value in the arguments as [`Step::find`] has it: an argument's name, or a dotted path such as `lines.0.sku`.
/// `None` where there is no one value, and where a name of the path has a dot.
fn place_of(path: &str, arguments: &Object) -> Option<String> {
    if arguments.contains_key(path) {
        return Some(path.to_owned());
    }
    let parts = ValuePath::parse(path).ok()?.parts_in(arguments)?;
    parts.iter().all(|part| !part.contains('.')).then(|| parts.join("."))
}

/// Compiles an input schema as the engine does, with format validation.
fn compile_schema(input: &Value) -> Option<Validator> {
    let options = jsonschema::options().with_draft(jsonschema::Draft::Draft202012).should_validate_formats(true);
    options.build(input).ok()
}

/// Reports arguments that the engine would reject. With an invalid intended call, the script could never succeed.
fn is_valid_intended_call(
    compiler: &mut Compiler<'_>,
    pointer: &str,
    arguments: &Object,
    tool: &Tool,
    action: &Action,
    validator: &Validator,
) -> bool {
    let before = compiler.diagnostics.len();
    let sent = Value::Object(arguments.clone());
    for issue in healbench_engine::validate(&action.input, &sent).unwrap_or_default() {
        let IssueKind::Undeclared { fields } = &issue.kind else { continue };
        let path = issue.path.split('.').filter(|name| !name.is_empty());
        let object = path.fold(pointer.to_owned(), |at, name| child(&at, name));
        for name in fields {
            let at = child(&object, name);
            if issue.path.is_empty() && tool.discriminator.as_ref() == Some(name) {
                let help = "name both the tool and the action: `call: {tool: …, action: …}`".to_owned();
                compiler.at_key(&at, format!("`{name}` is not given among the arguments"), help);
                continue;
            }
            let field = if issue.path.is_empty() { name.clone() } else { format!("{}.{name}", issue.path) };
            let message = format!("`{}.{}` declares no argument `{field}`", tool.name, action.name);
            let help = if issue.path.is_empty() { declared_help(&action.input, name) } else { None };
            compiler.at_key(&at, message, help);
        }
    }
    for error in validator.iter_errors(&sent) {
        if matches!(
            error.kind(),
            ValidationErrorKind::AdditionalProperties { .. } | ValidationErrorKind::UnevaluatedProperties { .. }
        ) {
            continue;
        }
        let message = format!("the input schema rejects this call, so the script can never succeed: {error}");
        compiler.at_value(&format!("{pointer}{}", error.instance_path().as_str()), message, None);
    }
    compiler.diagnostics.len() == before
}

fn plans(
    compiler: &mut Compiler<'_>,
    pointer: &str,
    files: Vec<MistakeFile>,
    target: &Target<'_>,
) -> Option<Vec<MutationPlan>> {
    let read = |(index, file)| mistake(compiler, &child(pointer, index), file, target);
    let plans: Vec<Option<MutationPlan>> = files.into_iter().enumerate().map(read).collect();
    plans.into_iter().collect()
}

fn mistake(compiler: &mut Compiler<'_>, pointer: &str, file: MistakeFile, target: &Target<'_>) -> Option<MutationPlan> {
    // An unknown kind is already reported as an error of shape.
    let kind: MistakeKind = file.kind().parse().ok()?;
    let params = match file {
        MistakeFile::Kind(_) => MistakeParams::default(),
        MistakeFile::Detailed { field, value, .. } => MistakeParams { field, value },
    };
    match mistakes::plan_mutations(kind, target, &params) {
        Ok(plan) => Some(plan),
        Err(inapplicable) => {
            let (at, sent) = match inapplicable.part {
                MistakePart::Kind => (pointer.to_owned(), None),
                MistakePart::Field => (child(pointer, "field"), params.field.as_ref()),
                MistakePart::Value => (child(pointer, "value"), None),
            };
            let is_known = |field: &str| target.argument_names().any(|name| name == field);
            let unknown = sent.filter(|field| !is_known(field));
            let help = inapplicable.help.or_else(|| suggest::help(unknown?, target.argument_names()));
            let message = format!("`{kind}` cannot happen here: {}", inapplicable.reason);
            compiler.at_value(&at, message, help);
            None
        }
    }
}

/// The number of trials checked when a file is loaded.
const TRIALS: u32 = 32;

/// Reports mistakes that cannot be combined. Each mistake may be applicable on its own but have no argument left to
/// change after another. Checking here prevents failures during a run.
pub(super) fn check_combinations(
    compiler: &mut Compiler<'_>,
    steps: Vec<PlannedStep>,
    world: &WorldDef,
) -> Option<Vec<PlannedStep>> {
    let tables = world.tables.iter().map(|table| table.name.clone()).collect();
    let summary = WorldSummary::new(world, &tables);
    for (index, planned) in steps.iter().enumerate().filter(|(_, planned)| planned.has_mistakes()) {
        let pointer = child("/script", index);
        for trial in 0..TRIALS {
            let key = DrawKey::of_trial(Seed(0), "load", trial);
            let (step, all_applied) =
                mutated_step(planned, summary.existing_keys(), &mut key.draws("mistake", index as u64));
            let problem = match (all_applied, !step.is_mistaken()) {
                (false, _) => "these mistakes do not fit into one call: an argument would have to go wrong twice",
                (true, true) => "these mistakes undo one another",
                (true, false) => continue,
            };
            let help = format!("a call that they were tried on: {}", short_json(&step.intended.arguments));
            let at = if planned.mistakes.is_empty() { "draw" } else { "mistakes" };
            compiler.at_value(&child(&pointer, at), problem, help);
            return None;
        }
    }
    Some(steps)
}
