use healbench_protocol::{ErrorFormat, Guardrails, Opening};
use healbench_record::{CellRef, Condition, Plan, RunDir};
use healbench_reports::render::{self, TranscriptOptions, count, plain_text};

use super::playback::{playbacks_under, transcripts};
use crate::args::ShowArgs;
use crate::error::{CliError, ExitStatus};
use crate::load::{cast_of_run, one_format};
use crate::terminal::Terminal;

/// Prints the transcripts of episodes. They are played again, by the scripted agent or with the turns that the model took; that they
/// play as they were recorded is checked.
pub(crate) fn show(args: &ShowArgs, terminal: &Terminal) -> Result<ExitStatus, CliError> {
    let (run, manifest) = RunDir::open(&args.run)?;
    let asked = chosen(args, &manifest.plan)?;
    let cast = cast_of_run(&run, manifest.plan)?;
    let there: Vec<u64> = asked.iter().filter_map(|asked| asked.episode(&cast.plan)).collect();
    let elsewhere = asked.iter().filter(|asked| asked.episode(&cast.plan).is_none());
    let elsewhere: Vec<_> = elsewhere.map(|asked| (asked.cell, asked.condition.clone())).collect();
    let mut there = transcripts(&run, &cast, &there)?.into_iter();
    let mut elsewhere = playbacks_under(&run, &cast, &elsewhere)?.into_iter();
    let options = TranscriptOptions { width: terminal.width(), color: terminal.colors_results(), full: args.full };
    let mut gap = "";
    for asked in &asked {
        let playback = if asked.episode(&cast.plan).is_some() { there.next() } else { elsewhere.next() };
        let Some(playback) = playback else { break };
        terminal.result(&format!("{gap}{}", render::transcript(&playback?, options)))?;
        gap = "\n";
    }
    Ok(ExitStatus::Fine)
}

/// An episode as it was asked for.
struct Asked {
    /// Scenario, agent and trial; its setting is that of the episode that was named.
    cell: CellRef,
    /// The setting, which the plan need not have.
    condition: Condition,
}

impl Asked {
    /// Its number, if the plan has its setting.
    fn episode(&self, plan: &Plan) -> Option<u64> {
        let condition = plan.conditions.iter().position(|known| *known == self.condition)?;
        Some(plan.episode(CellRef { condition, ..self.cell }))
    }
}

/// What was asked for: episodes by number, or the first one that fits the options.
fn chosen(args: &ShowArgs, plan: &Plan) -> Result<Vec<Asked>, CliError> {
    let guardrails = args.guardrails.as_deref().map(one_set).transpose()?;
    let format = args.format.as_deref();
    let numbered = |episode: &u64| {
        let cell = plan.cell(*episode);
        let cell =
            cell.ok_or_else(|| CliError::NoEpisode(format!("{episode}, of 0 to {}", plan.len().saturating_sub(1))))?;
        let condition = condition(plan, Some(&plan.conditions[cell.condition]), guardrails, format)?;
        Ok(Asked { cell, condition })
    };
    if !args.episodes.is_empty() {
        return args.episodes.iter().map(numbered).collect();
    }
    let ends = |name: &str, wanted: &Option<String>| wanted.as_deref().is_none_or(|wanted| name.ends_with(wanted));
    let scenario = plan.scenarios.iter().position(|scenario| ends(&scenario.id, &args.scenario));
    let scenario = scenario.ok_or_else(|| {
        absent("scenario", args.scenario.as_deref(), plan.scenarios.iter().map(|known| known.id.clone()))
    })?;
    let opening: Option<Opening> = args.opening.as_deref().map(str::parse).transpose()?;
    let agent = plan.agents.iter().position(|agent| {
        ends(&agent.to_string(), &args.agent) && opening.is_none_or(|opening| agent.opening == Some(opening))
    });
    let agent = agent.ok_or_else(|| {
        let wanted = args.agent.as_deref().into_iter().chain(args.opening.as_deref()).collect::<Vec<_>>().join(" ");
        absent("agent", Some(&wanted), plan.agents.iter().map(|known| known.title()))
    })?;
    let trial = args.trial.unwrap_or(0);
    if trial >= plan.trials {
        return Err(CliError::NoEpisode(format!("trial {trial}, of 0 to {}", plan.trials.saturating_sub(1))));
    }
    let cell = CellRef { scenario, agent, condition: 0, trial };
    Ok(vec![Asked { cell, condition: condition(plan, None, guardrails, format)? }])
}

/// What the plan does not have, and the first ones that it has.
fn absent(what: &'static str, word: Option<&str>, known: impl Iterator<Item = String>) -> CliError {
    const NAMED: usize = 8;
    let known: Vec<String> = known.map(|known| plain_text(&known).into_owned()).collect();
    let more = match known.len().saturating_sub(NAMED) {
        0 => String::new(),
        more => format!(" and {} more", count(more as u64)),
    };
    let known = format!("{}{more}", known.iter().take(NAMED).cloned().collect::<Vec<_>>().join(", "));
    CliError::NotInPlan { what, word: plain_text(word.unwrap_or_default()).into_owned(), known }
}

fn one_set(word: &str) -> Result<Guardrails, CliError> {
    match word.contains(',') || Guardrails::sweep(word).is_some() {
        true => Err(CliError::OneOnly { option: "--guardrails", word: word.to_owned() }),
        false => Ok(word.parse()?),
    }
}

/// The setting that is meant: the first one of the plan that fits; or, beside the `own` one of an episode, that one with what is asked
/// for in its place.
pub(super) fn condition(
    plan: &Plan,
    own: Option<&Condition>,
    guardrails: Option<Guardrails>,
    format: Option<&str>,
) -> Result<Condition, CliError> {
    let fits = |condition: &&Condition| {
        guardrails.is_none_or(|set| set == condition.guardrails)
            && format.is_none_or(|format| condition.format.name() == format)
    };
    let known = own.map_or(plan.conditions.as_slice(), std::slice::from_ref);
    if let Some(fitting) = known.iter().find(fits) {
        return Ok(fitting.clone());
    }
    let healing = || plan.conditions.iter().filter(|condition| condition.guardrails.healing);
    let guardrails = guardrails.or(own.map(|own| own.guardrails)).unwrap_or_else(|| match healing().next() {
        _ if format == Some(BARE) => Guardrails::NONE,
        Some(first) => first.guardrails,
        None => Guardrails::ALL,
    });
    let format = match (guardrails.healing, format) {
        (false, None | Some(BARE)) => ErrorFormat::Bare,
        (false, Some(format)) => {
            if !plan.conditions.iter().any(|condition| condition.format.name() == format) {
                one_format(format)?;
            }
            return Err(CliError::FormatUnseen { guardrails, format: format.to_owned() });
        }
        (true, Some(BARE)) => return Err(CliError::BareHealing(guardrails)),
        // By its name in the plan: a template's file may be gone.
        (true, Some(format)) => match healing().find(|condition| condition.format.name() == format) {
            Some(known) => known.format.clone(),
            None => one_format(format)?,
        },
        (true, None) => own
            .into_iter()
            .chain(healing().filter(|condition| condition.guardrails == guardrails))
            .chain(healing())
            .map(|condition| condition.format.clone())
            .find(|format| *format != ErrorFormat::Bare)
            .unwrap_or(ErrorFormat::FusionXml),
    };
    Ok(Condition { guardrails, format })
}

/// The name of what remains when `healing` is off.
const BARE: &str = "bare";
