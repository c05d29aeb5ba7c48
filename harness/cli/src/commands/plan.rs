use std::fmt::Write as _;

use healbench_analysis::{Side, SizeAssumptions, measure_variation, sample_sizes};
use healbench_core::{AgentSpec, Plan};
use healbench_frames::Rows;
use healbench_render::{json, sample_sizes as render_sizes};
use healbench_store::RunDir;
use healbench_text::{count, money, plain_text, pluralize};

use super::outputs;
use crate::args::{PlanArgs, ShardArgs, SizeArgs, TextForm};
use crate::error::{CliError, ExitStatus};
use crate::estimate::estimates;
use crate::load::build_run_spec;
use crate::shard_sizes::shard_sizes;
use crate::terminal::Terminal;

/// Formats an agent with its opening, if it has one.
fn agent_label(spec: &AgentSpec) -> String {
    let name = plain_text(&spec.to_string()).into_owned();
    spec.opening.map_or(name.clone(), |opening| format!("{name} {}", opening.name()))
}

/// Prints what `run` would execute, or how large a run would have to be.
pub(crate) fn plan(args: &PlanArgs, terminal: &Terminal) -> Result<ExitStatus, CliError> {
    let run_spec = build_run_spec(&args.axes, false, terminal)?;
    let plan = &run_spec.plan;
    if let Some(detect) = args.sizes.detect {
        return print_sizes(detect, &args.sizes, plan, terminal);
    }
    let mut out = String::new();
    let list = |items: Vec<String>| items.join(", ");
    // Writing to a `String` cannot fail.
    let _ = writeln!(out, "scenarios  {}", plan.scenarios.len());
    for scenario in &plan.scenarios {
        let _ = writeln!(out, "  {}", healbench_text::plain_text(&scenario.id));
    }
    let _ = writeln!(out, "agents     {}", list(plan.agents.iter().map(agent_label).collect()));
    let conditions = plan.conditions.iter().map(|condition| plain_text(&condition.title()).into_owned());
    let _ = writeln!(out, "conditions {}", list(conditions.collect()));
    let _ = writeln!(out, "trials     {}", plan.trials);
    let _ = writeln!(out, "seed       {}", plan.seed);
    let _ = writeln!(out, "cells      {}", plan.cells());
    let _ = writeln!(out, "episodes   {}", plan.len());
    if let Some(requested) = args.shards.shards {
        let ShardArgs { time, pilot, .. } = &args.shards;
        let cores = std::thread::available_parallelism().map_or(1, |cores| cores.get().min(1024) as u16);
        let sizes = shard_sizes(&run_spec, requested, *time, pilot.as_deref(), cores)?;
        out.push_str(&sizes.lines());
    }
    for estimate in estimates(&run_spec)? {
        let spec = &plan.agents[estimate.agent];
        let usd = estimate.usd.map_or("price unknown".to_owned(), |usd| format!("US $ {}", money(usd)));
        let _ = writeln!(
            out,
            "estimate   {}: {}, {} in and {} out, {usd}",
            agent_label(spec),
            pluralize(estimate.turns, "turn"),
            pluralize(estimate.input, "token"),
            count(estimate.output),
        );
    }
    terminal.result(&out)?;
    if plan.agents.iter().any(|agent| agent.opening.is_some()) {
        terminal.note("estimates assume conversations of `scripted:typical`, without any cache");
    }
    Ok(ExitStatus::Success)
}

/// Prints how many scenarios and trials would settle a difference.
fn print_sizes(detect: f64, args: &SizeArgs, plan: &Plan, terminal: &Terminal) -> Result<ExitStatus, CliError> {
    let assumptions = match &args.from {
        Some(path) => {
            let (run, manifest) = RunDir::open(path)?;
            let side = Side { name: &path.to_string_lossy(), run: &Rows(&run), manifest: &manifest };
            let pair = args.pair.as_deref().and_then(|pair| <&[String; 2]>::try_from(pair).ok());
            measure_variation(side, plan, pair.map(|pair| pair.each_ref().map(String::as_str)))?
        }
        None => SizeAssumptions { discordance: args.discordance, icc: args.icc.clone(), measured: None },
    };
    let sizes = sample_sizes(detect, args.power, assumptions, plan)
        .ok_or_else(|| CliError::new("no sample size can be computed for these values"))?;
    outputs::check(&args.output, std::iter::empty())?;
    outputs::write(&args.output, TextForm::Terminal, terminal, |form, printed| match form {
        TextForm::Json => Ok(json(&sizes)?),
        TextForm::Terminal => Ok(render_sizes(&sizes, terminal.width(), printed && terminal.colors_results())),
    })?;
    Ok(ExitStatus::Success)
}
