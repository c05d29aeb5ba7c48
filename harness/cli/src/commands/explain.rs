//! Prints the answers of a scenario to the calls of its script, and to the mistakes.

use std::collections::BTreeSet;
use std::fmt::Write as _;

use healbench_core::{EnvironmentKind, Object, Seed, ToolCall};
use healbench_runner::{
    Answered, Axes, EnvironmentFactory, ExplainedStep, Explanation, ScenarioContext, build_plan, server_environments,
};
use healbench_scenarios::Scenario;
use healbench_text::{plain_text, template};
use serde_json::Value;

use crate::args::ExplainArgs;
use crate::conditions::{NamedFiles, conditions_of, short_labels, vary};
use crate::error::{CliError, ExitStatus};
use crate::load::{findings, scenarios};
use crate::lockfiles::add_lockfile;
use crate::signals::supervise;
use crate::terminal::Terminal;

/// Plays the script of scenarios under each condition, and prints every call with its answer.
pub(crate) fn explain(args: &ExplainArgs, terminal: &Terminal) -> Result<ExitStatus, CliError> {
    let mut scenarios = scenarios(&args.scenarios, terminal)?;
    let supervisor = supervise()?;
    let environments = server_environments(supervisor.clone());
    for scenario in &mut scenarios {
        let kind = if scenario.server.is_some() { EnvironmentKind::Mcp } else { EnvironmentKind::Simulator };
        let files = NamedFiles::default();
        let conditions = vary(conditions_of(&args.conditions, kind, &files)?, &args.conditions.vary, &files)?;
        if let Some(lockfile) = &files.lockfile(&conditions)? {
            add_lockfile(&mut scenario.awareness, lockfile, &scenario.id)?;
        }
        let make_environment: Option<&EnvironmentFactory<'_>> = scenario.server.as_ref().map(|_| &environments as _);
        let labels = short_labels(&conditions);
        let axes = Axes { agents: Vec::new(), conditions, trials: args.trials, seed: Seed(args.conditions.seed) };
        let plan = build_plan(&axes, std::slice::from_ref(scenario));
        let context = ScenarioContext::new(scenario, &plan, make_environment)?;
        for (condition, label) in labels.iter().enumerate() {
            let explained = context.explain(condition, args.trials).map_err(|error| {
                CliError::new(format_args!("`{}` gave no answer: {error}", scenario.id)).status(ExitStatus::Incomplete)
            })?;
            terminal.result(&render(scenario, label, &explained))?;
        }
    }
    // What nobody can solve is said beside what was seen.
    findings(&scenarios, terminal)?;
    Ok(crate::signals::status_of(&supervisor, ExitStatus::Success))
}

fn render(scenario: &Scenario, label: &str, explained: &Explanation) -> String {
    let mut out = format!("{} · {label}\n{}\n\n", plain_text(&scenario.id), plain_text(&scenario.task.prompt));
    for (index, step) in explained.steps.iter().enumerate() {
        for (alike, mistake) in kinds(step) {
            let alike = if alike > 1 { format!(" (one of {alike} alike)") } else { String::new() };
            for answered in mistake {
                add(&mut out, &format!("{} mistake{alike}", index + 1), answered);
            }
        }
        for answered in &step.answers {
            add(&mut out, &format!("{}", index + 1), answered);
        }
    }
    match explained.unmet.as_slice() {
        [] => out.push_str("The calls of the script do the task.\n\n"),
        unmet => _ = writeln!(out, "The calls of the script do not do the task: {}\n", plain_text(&unmet.join("; "))),
    }
    out
}

/// Returns the mistakes of a step, those once that differ only in what is sent, each with their number and its answers.
fn kinds(step: &ExplainedStep) -> Vec<(usize, &[Answered])> {
    let meant = &step.step.intended.arguments;
    let known = words(meant);
    let mut kinds: Vec<(String, (usize, &[Answered]))> = Vec::new();
    for mistake in step.mistakes.chunk_by(|one, next| one.call == next.call) {
        let sent = &mistake[0].call;
        let is_changed = |name: &&String| sent.arguments.get(name.as_str()) != meant.get(name.as_str());
        let changed: Vec<&String> = meant.as_object().into_iter().flat_map(Object::keys).filter(is_changed).collect();
        let mut new: Vec<String> =
            words(&sent.arguments).difference(&known).filter(|word| !word.is_empty()).cloned().collect();
        new.sort_by_key(|word| std::cmp::Reverse(word.len()));
        let texts = mistake.iter().map(|answered| template::mask(&answered.reply.response.text(), &new));
        let kind = format!("{}{changed:?}{}", sent.tool, texts.collect::<String>());
        match kinds.iter_mut().find(|(known, _)| *known == kind) {
            Some((_, (count, _))) => *count += 1,
            None => kinds.push((kind, (1, mistake))),
        }
    }
    kinds.into_iter().map(|(_, mistake)| mistake).collect()
}

/// Returns the names and the plain values of arguments.
fn words(value: &Value) -> BTreeSet<String> {
    match value {
        Value::Object(map) => {
            map.iter().flat_map(|(name, value)| words(value).into_iter().chain([name.clone()])).collect()
        }
        Value::Array(items) => items.iter().flat_map(words).collect(),
        Value::String(text) => [text.clone()].into(),
        value => [value.to_string()].into(),
    }
}

/// Adds a call and its answer.
fn add(out: &mut String, head: &str, Answered { call, waited_s, reply }: &Answered) {
    let ToolCall { tool, arguments, .. } = call;
    if *waited_s > 0 {
        out.push_str("  the agent waits\n");
    }
    let fault = reply.fault.map(|fault| format!(" · fault {}", fault.name())).unwrap_or_default();
    let kind = if reply.response.is_error { " · isError" } else { "" };
    let _ = writeln!(out, "{head}: {} {}{kind}{fault}", plain_text(tool), plain_text(&arguments.to_string()));
    for line in reply.response.text().lines() {
        let _ = writeln!(out, "  {}", plain_text(line).trim_end());
    }
    out.push('\n');
}
