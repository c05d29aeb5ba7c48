use healbench_core::{
    AxisError, AxisValues, CellRef, Condition, ConditionEntry, ErrorFormat, Guardrails, Opening, Plan,
};
use healbench_render::TranscriptOptions;
use healbench_store::RunDir;
use healbench_text::{count, plain_text};

use super::transcript::{transcripts, transcripts_under};
use crate::args::ShowArgs;
use crate::axis_values::parse_single_format;
use crate::conditions::{NamedFiles, with_values};
use crate::error::{CliError, ErrorKind, ExitStatus};
use crate::load::run_spec_of;
use crate::terminal::Terminal;

/// Prints the transcripts of episodes. They are replayed by the simulated reader or from the model's recorded turns, and
/// checked against the recorded rows.
pub(crate) fn show(args: &ShowArgs, terminal: &Terminal) -> Result<ExitStatus, CliError> {
    let (run, manifest) = RunDir::open(&args.run)?;
    let query = requested_episodes(args, &manifest.plan)?;
    let run_spec = run_spec_of(&run, manifest.plan)?;
    let recorded: Vec<u64> = query.iter().filter_map(|query| query.episode(&run_spec.plan)).collect();
    let unrecorded = query.iter().filter(|query| query.episode(&run_spec.plan).is_none());
    let unrecorded: Vec<_> = unrecorded.map(|query| (query.cell, query.condition.clone())).collect();
    let mut recorded = transcripts(&run, &run_spec, &recorded)?.into_iter();
    let mut unrecorded = transcripts_under(&run, &run_spec, &unrecorded)?.into_iter();
    let options = TranscriptOptions { width: terminal.width(), color: terminal.colors_results(), full: args.full };
    let mut separator = "";
    for query in &query {
        let transcript = if query.episode(&run_spec.plan).is_some() { recorded.next() } else { unrecorded.next() };
        let Some(transcript) = transcript else { break };
        terminal.result(&format!("{separator}{}", healbench_render::transcript(&transcript?, options)))?;
        separator = "\n";
    }
    Ok(ExitStatus::Success)
}

/// A requested episode.
struct EpisodeQuery {
    /// Scenario, agent and trial. The condition in it is that of the named episode.
    cell: CellRef,
    /// The requested condition, which need not be in the plan.
    condition: Condition,
}

impl EpisodeQuery {
    /// Returns the episode's index if the plan has its condition.
    fn episode(&self, plan: &Plan) -> Option<u64> {
        let condition = plan.find(&self.condition)?;
        Some(plan.episode(CellRef { condition, ..self.cell }))
    }
}

/// Returns the requested episodes: by number, or the first one that matches the options.
fn requested_episodes(args: &ShowArgs, plan: &Plan) -> Result<Vec<EpisodeQuery>, CliError> {
    let guardrails = args.guardrails.as_deref().map(parse_single_guardrails).transpose()?;
    let format = args.format.as_deref();
    let files = NamedFiles::default();
    let requested = |base: Option<&Condition>| {
        let varied = |condition: Condition| with_values(condition, &args.vary, &files);
        // Without an episode, the first condition of the run that has the values.
        let has_values =
            |condition: &&Condition| varied((*condition).clone()).is_ok_and(|varied| varied == **condition);
        let condition = match (&args.condition, base) {
            (Some(name), _) => varied(condition_by_name(plan, name)?)?,
            (None, Some(_)) => varied(resolve_condition(plan, base, guardrails, format)?)?,
            (None, None) => {
                let fits = |condition: &&Condition| fits(condition, guardrails, format) && has_values(condition);
                match plan.conditions.iter().find(fits) {
                    Some(condition) => condition.clone(),
                    None => varied(resolve_condition(plan, base, guardrails, format)?)?,
                }
            }
        };
        let lock = &condition.values.contract.lock;
        match lock.is_some() && plan.conditions.iter().all(|known| known.values.contract.lock != *lock) {
            true => Err(CliError::new("no condition of the run has this lockfile").kind(ErrorKind::Invalid)),
            false => Ok(condition),
        }
    };
    let by_number = |episode: &u64| {
        let cell = plan.cell(*episode);
        let cell = cell
            .ok_or_else(|| CliError::no_episode(format_args!("{episode}, of 0 to {}", plan.len().saturating_sub(1))))?;
        let condition = requested(Some(&plan.conditions[cell.condition]))?;
        Ok(EpisodeQuery { cell, condition })
    };
    if !args.episodes.is_empty() {
        return args.episodes.iter().map(by_number).collect();
    }
    let has_suffix =
        |name: &str, wanted: &Option<String>| wanted.as_deref().is_none_or(|wanted| name.ends_with(wanted));
    let scenario = plan.scenarios.iter().position(|scenario| has_suffix(&scenario.id, &args.scenario));
    let scenario = scenario.ok_or_else(|| {
        not_in_plan("scenario", args.scenario.as_deref(), plan.scenarios.iter().map(|known| known.id.clone()))
    })?;
    let opening: Option<Opening> = args.opening.as_deref().map(str::parse).transpose()?;
    let agent = plan.agents.iter().position(|agent| {
        has_suffix(&agent.to_string(), &args.agent) && opening.is_none_or(|opening| agent.opening == Some(opening))
    });
    let agent = agent.ok_or_else(|| {
        let wanted = args.agent.as_deref().into_iter().chain(args.opening.as_deref()).collect::<Vec<_>>().join(" ");
        not_in_plan("agent", Some(&wanted), plan.agents.iter().map(|known| known.title()))
    })?;
    let trial = args.trial.unwrap_or(0);
    if trial >= plan.trials {
        return Err(CliError::no_episode(format_args!("trial {trial}, of 0 to {}", plan.trials.saturating_sub(1))));
    }
    let cell = CellRef { scenario, agent, condition: 0, trial };
    Ok(vec![EpisodeQuery { cell, condition: requested(None)? }])
}

/// The error for a value that the plan does not have. Lists the first values that it has.
fn not_in_plan(kind: &'static str, value: Option<&str>, known: impl Iterator<Item = String>) -> CliError {
    const MAX_LISTED: usize = 8;
    let known: Vec<String> = known.map(|known| plain_text(&known).into_owned()).collect();
    let more = match known.len().saturating_sub(MAX_LISTED) {
        0 => String::new(),
        more => format!(" and {} more", count(more as u64)),
    };
    let known = format!("{}{more}", known.iter().take(MAX_LISTED).cloned().collect::<Vec<_>>().join(", "));
    CliError::new(format_args!("the run has no {kind} `{}`", plain_text(value.unwrap_or_default())))
        .help(format!("it has {known}; the end of a name is enough"))
}

fn parse_single_guardrails(value: &str) -> Result<Guardrails, CliError> {
    match value.contains(',') || Guardrails::sweep(value).is_some() {
        true => Err(CliError::one_only("--guardrails", value)),
        false => Ok(value.parse()?),
    }
}

/// Returns the condition of this name: of the plan, or a built-in one.
fn condition_by_name(plan: &Plan, name: &str) -> Result<Condition, CliError> {
    if let Some(known) = plan.conditions.iter().find(|condition| condition.label() == name) {
        return Ok(known.clone());
    }
    let entry: &ConditionEntry = name.parse().map_err(|error: AxisError| {
        let mut known: Vec<String> = plan.conditions.iter().map(Condition::label).collect();
        known.extend(error.known);
        known.dedup();
        CliError::from(AxisError { known, ..error })
    })?;
    Ok(with_contracts_of(plan, None, Condition::of(entry)))
}

/// Returns the condition with the contract changes that the base shows, or the first condition of the plan that shows any.
fn with_contracts_of(plan: &Plan, base: Option<&Condition>, condition: Condition) -> Condition {
    let mut shown = base.into_iter().chain(&plan.conditions).map(|known| &known.values.contract);
    match shown.find(|contract| contract.shown).filter(|_| condition.values.contract.shown) {
        Some(contract) => condition.with_values(AxisValues { contract: contract.clone(), ..condition.values.clone() }),
        None => condition,
    }
}

/// Returns true for a condition with these guardrails and this format, as far as they are given.
fn fits(condition: &Condition, guardrails: Option<Guardrails>, format: Option<&str>) -> bool {
    guardrails.is_none_or(|set| set == condition.guardrails())
        && format.is_none_or(|format| condition.format().name() == format)
}

/// Returns the requested condition: the first match in the plan or, for a `base` episode, its condition with the
/// requested parts replaced.
pub(super) fn resolve_condition(
    plan: &Plan,
    base: Option<&Condition>,
    guardrails: Option<Guardrails>,
    format: Option<&str>,
) -> Result<Condition, CliError> {
    let known = base.map_or(plan.conditions.as_slice(), std::slice::from_ref);
    if let Some(fitting) = known.iter().find(|condition| fits(condition, guardrails, format)) {
        return Ok(fitting.clone());
    }
    let healing = || plan.conditions.iter().filter(|condition| condition.guardrails().healing);
    let guardrails = guardrails.or(base.map(Condition::guardrails)).unwrap_or_else(|| match healing().next() {
        _ if format == Some(BARE) => Guardrails::NONE,
        Some(first) => first.guardrails(),
        None => Guardrails::ALL,
    });
    let format = match (guardrails.healing, format) {
        (false, None | Some(BARE)) => ErrorFormat::Bare,
        (false, Some(format)) => {
            if !plan.conditions.iter().any(|condition| condition.format().name() == format) {
                parse_single_format(format)?;
            }
            return Err(CliError::new(format_args!(
                "under the guardrails `{guardrails}` a failure is one bare line: the format `{format}` has no effect"
            ))
            .kind(ErrorKind::Invalid)
            .help("leave `--format` out, or choose guardrails with `healing`, as `--guardrails all`"));
        }
        (true, Some(BARE)) => {
            return Err(CliError::new(format_args!("under the guardrails `{guardrails}` no failure is bare"))
                .kind(ErrorKind::Invalid)
                .help("leave `--format` out, and choose guardrails without `healing`, as `--guardrails none`"));
        }
        // Match by the name in the plan, since the template's file may be missing.
        (true, Some(format)) => match healing().find(|condition| condition.format().name() == format) {
            Some(known) => known.format().clone(),
            None => parse_single_format(format)?,
        },
        (true, None) => base
            .into_iter()
            .chain(healing().filter(|condition| condition.guardrails() == guardrails))
            .chain(healing())
            .map(|condition| condition.format().clone())
            .find(|format| *format != ErrorFormat::Bare)
            .unwrap_or(ErrorFormat::FusionXml),
    };
    let mut condition = Condition::new(guardrails, format);
    if let Some(base) = base.filter(|_| guardrails.healing) {
        condition.values.content = base.values.content;
    }
    Ok(with_contracts_of(plan, base, condition))
}

/// The name of the error format without `healing`.
const BARE: &str = "bare";
