use std::fmt::Write as _;

use healbench_protocol::AgentSpec;
use healbench_reports::render::{count, money, plain_text, pluralize};

use crate::args::PlanArgs;
use crate::error::{CliError, ExitStatus};
use crate::estimate::estimates;
use crate::load::cast;
use crate::terminal::Terminal;

/// An agent with its opening, if it has one.
fn named(spec: &AgentSpec) -> String {
    let name = plain_text(&spec.to_string()).into_owned();
    spec.opening.map_or(name.clone(), |opening| format!("{name} {}", opening.name()))
}

/// Says what `run` would play.
pub(crate) fn plan(args: &PlanArgs, terminal: &Terminal) -> Result<ExitStatus, CliError> {
    let cast = cast(&args.axes, false, terminal)?;
    let plan = &cast.plan;
    let mut out = String::new();
    let list = |items: Vec<String>| items.join(", ");
    // Writes into a String cannot fail.
    let _ = writeln!(out, "scenarios  {}", plan.scenarios.len());
    for scenario in &plan.scenarios {
        let _ = writeln!(out, "  {}", healbench_reports::render::plain_text(&scenario.id));
    }
    let _ = writeln!(out, "agents     {}", list(plan.agents.iter().map(named).collect()));
    let conditions = plan.conditions.iter().map(|condition| format!("{}/{}", condition.guardrails, condition.format));
    let _ = writeln!(out, "settings   {}", list(conditions.collect()));
    let _ = writeln!(out, "trials     {}", plan.trials);
    let _ = writeln!(out, "seed       {}", plan.seed);
    let _ = writeln!(out, "cells      {}", plan.cells());
    let _ = writeln!(out, "episodes   {}", plan.len());
    for estimate in estimates(&cast)? {
        let spec = &plan.agents[estimate.agent];
        let usd = estimate.usd.map_or("price unknown".to_owned(), |usd| format!("US $ {}", money(usd)));
        let _ = writeln!(
            out,
            "estimate   {}: {}, {} in and {} out, {usd}",
            named(spec),
            pluralize(estimate.turns, "turn"),
            pluralize(estimate.input, "token"),
            count(estimate.output),
        );
    }
    terminal.result(&out)?;
    if plan.agents.iter().any(|agent| agent.opening.is_some()) {
        terminal.note("estimates are what conversations of `scripted:typical` would take, without any cache");
    }
    Ok(ExitStatus::Fine)
}
