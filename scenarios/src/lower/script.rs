use std::collections::BTreeMap;

use healbench_engine::definition::{Action, Tool, WorldDef};
use healbench_protocol::{DrawKey, Object, RecordQuery, Seed, Step, ToolCall};
use jsonschema::Validator;
use serde_json::Value;

use super::handlers::{declared_hint, is_declared};
use super::tools::Tools;
use super::{Reading, shown};
use crate::file::{MistakeFile, StepFile};
use crate::locate::child;
use crate::mistakes::{self, Blame, Fixed, MistakeKind, Plan, Target};
use crate::schedule::{PlannedStep, WorldFacts, spoiled};
use crate::suggest;

pub(super) fn read(reading: &mut Reading<'_>, tools: &Tools, world: &WorldDef) -> Option<Vec<PlannedStep>> {
    let pointers = reading.items("/script");
    let read = |pointer: &String| step(reading, pointer, tools, world);
    let steps: Vec<Option<PlannedStep>> = pointers.iter().map(read).collect();
    steps.into_iter().collect()
}

fn step(reading: &mut Reading<'_>, pointer: &str, tools: &Tools, world: &WorldDef) -> Option<PlannedStep> {
    let file: StepFile = reading.section(pointer)?;
    let at = child(pointer, "call");
    let reference = reading.refer(&at, &file.call.tool, file.call.action.as_deref(), tools);
    for (argument, _) in file.find.iter().filter(|(argument, _)| !file.call.arguments.contains_key(*argument)) {
        let known = file.call.arguments.keys().map(String::as_str);
        let message = format!("the call has no argument `{argument}` to find");
        reading.at_key(&child(&child(pointer, "find"), argument), message, suggest::hint(argument, known));
    }
    let reference = reference?;
    let tool = reference.tool.tool.as_ref()?;
    // One that is not there is broken, and its own problems are reported.
    let action = tool.actions.iter().find(|action| Some(&action.name) == reference.action.as_ref())?;
    let validator = compiled(&action.input)?;
    if !is_valid_intent(reading, &child(&at, "arguments"), &file.call.arguments, tool, action, &validator) {
        return None;
    }
    let target = Target {
        tool,
        action,
        previous: reference.tool.previous(&action.name),
        arguments: &file.call.arguments,
        validator: &validator,
        world,
    };
    let mistakes = plans(reading, &child(pointer, "mistakes"), file.mistakes, &target);
    let draw = match file.draw {
        Some(draw) => {
            let at = child(pointer, "draw");
            let offered = draw.from.len();
            if usize::try_from(draw.count).is_ok_and(|count| count > offered) {
                let message = format!("{} mistakes cannot be drawn from {offered}, each at most once", draw.count);
                reading.at_value(&child(&at, "count"), message, None);
            }
            Some((draw.count, plans(reading, &child(&at, "from"), draw.from, &target)?))
        }
        None => None,
    };
    let mut arguments = Object::new();
    if let Some(discriminator) = &tool.discriminator {
        arguments.insert(discriminator.clone(), action.name.clone().into());
    }
    arguments.extend(file.call.arguments.clone());
    let intended = ToolCall { tool: tool.name.clone(), arguments: Value::Object(arguments) };
    let find = |(name, find): (String, crate::file::FindFile)| {
        (name, RecordQuery { column: find.column, matching: find.matching })
    };
    let find: BTreeMap<String, RecordQuery> = file.find.into_iter().map(find).collect();
    Some(PlannedStep::new(Step { draft: intended.clone(), intended, find }, mistakes?, draw))
}

/// The input schema as the engine checks it: formats included.
fn compiled(input: &Value) -> Option<Validator> {
    let options = jsonschema::options().with_draft(jsonschema::Draft::Draft202012).should_validate_formats(true);
    options.build(input).ok()
}

/// An intent that the engine would reject makes a script that can never succeed.
fn is_valid_intent(
    reading: &mut Reading<'_>,
    pointer: &str,
    arguments: &Object,
    tool: &Tool,
    action: &Action,
    validator: &Validator,
) -> bool {
    let before = reading.found.len();
    for name in arguments.keys().filter(|name| !is_declared(&action.input, name)) {
        let at = child(pointer, name);
        if tool.discriminator.as_ref() == Some(name) {
            let help = "name the action beside the tool: `call: {tool: …, action: …}`".to_owned();
            reading.at_key(&at, format!("`{name}` is not given among the arguments"), help);
        } else {
            let message = format!("`{}.{}` declares no argument `{name}`", tool.name, action.name);
            reading.at_key(&at, message, declared_hint(&action.input, name));
        }
    }
    for error in validator.iter_errors(&Value::Object(arguments.clone())) {
        if matches!(error.kind(), jsonschema::error::ValidationErrorKind::AdditionalProperties { .. }) {
            continue;
        }
        let message = format!("the input schema rejects this call, so the script can never succeed: {error}");
        reading.at_value(&format!("{pointer}{}", error.instance_path().as_str()), message, None);
    }
    reading.found.len() == before
}

fn plans(reading: &mut Reading<'_>, pointer: &str, files: Vec<MistakeFile>, target: &Target<'_>) -> Option<Vec<Plan>> {
    let read = |(index, file)| mistake(reading, &child(pointer, index), file, target);
    let plans: Vec<Option<Plan>> = files.into_iter().enumerate().map(read).collect();
    plans.into_iter().collect()
}

fn mistake(reading: &mut Reading<'_>, pointer: &str, file: MistakeFile, target: &Target<'_>) -> Option<Plan> {
    // An unknown kind is reported with the shape.
    let kind: MistakeKind = file.kind().parse().ok()?;
    let fixed = match file {
        MistakeFile::Kind(_) => Fixed::default(),
        MistakeFile::Fixed { field, value, .. } => Fixed { field, value },
    };
    match mistakes::plan(kind, target, &fixed) {
        Ok(plan) => Some(plan),
        Err(inapplicable) => {
            let (at, sent) = match inapplicable.blames {
                Blame::Kind => (pointer.to_owned(), None),
                Blame::Field => (child(pointer, "field"), fixed.field.as_ref()),
                Blame::Value => (child(pointer, "value"), None),
            };
            let help = sent.and_then(|field| suggest::hint(field, target.arguments.keys().map(String::as_str)));
            let message = format!("`{kind}` cannot happen here: {}", inapplicable.reason);
            reading.at_value(&at, message, help);
            None
        }
    }
}

/// How many trials are tried when a file is loaded.
const TRIALS: u32 = 32;

/// Mistakes that are possible each for itself may leave one another nothing to spoil. That is found here, and not in the
/// middle of a run.
pub(super) fn hold_together(
    reading: &mut Reading<'_>,
    steps: Vec<PlannedStep>,
    world: &WorldDef,
) -> Option<Vec<PlannedStep>> {
    let tables = world.tables.iter().map(|table| table.name.clone()).collect();
    let facts = WorldFacts::of(world, &tables);
    for (index, planned) in steps.iter().enumerate().filter(|(_, planned)| planned.has_mistakes()) {
        let pointer = child("/script", index);
        for trial in 0..TRIALS {
            let key = DrawKey::of_trial(Seed(0), "load", trial);
            let (step, all) = spoiled(planned, facts.known(), &mut key.draws("mistake", index as u64));
            let problem = match (all, step.draft == step.intended) {
                (false, _) => "these mistakes do not fit into one call: an argument would have to go wrong twice",
                (true, true) => "these mistakes undo one another",
                (true, false) => continue,
            };
            let help = format!("a call that they were tried on: {}", shown(&step.intended.arguments));
            let at = if planned.mistakes.is_empty() { "draw" } else { "mistakes" };
            reading.at_value(&child(&pointer, at), problem, help);
            return None;
        }
    }
    Some(steps)
}
