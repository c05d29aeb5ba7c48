use std::collections::BTreeSet;

use healbench_protocol::{AxisError, Guardrails, Opening};
use healbench_record::{CellRef, Plan, RunDir, read_transcript};
use healbench_reports::episode_rows;
use healbench_runner::{Job, replay};

use super::transcript::Transcript;
use crate::args::ShowArgs;
use crate::error::{CliError, ExitStatus};
use crate::load::{Models, cast_of_run};
use crate::terminal::Terminal;

/// Prints the transcript of one episode. It is played again, by the scripted agent or with the turns that the model took; that it plays
/// as it was recorded is checked.
pub(crate) fn show(args: &ShowArgs, terminal: &Terminal) -> Result<ExitStatus, CliError> {
    let (run, manifest) = RunDir::open(&args.run)?;
    let episode = chosen(args, &manifest.plan)?;
    let Some(recorded) = episode_rows(&run, episode)? else {
        let done = manifest.done();
        return Err(CliError::NoEpisode(format!("{episode}; it has those from {} up to {}", done.start, done.end)));
    };
    let cast = cast_of_run(&run, manifest.plan)?;
    let has_model = recorded.0.model.is_some();
    let taken = if has_model { read_transcript(&run, episode)? } else { None };
    if has_model && taken.is_none() {
        return Err(CliError::NoTranscript(episode));
    }
    let make_agent = cast.make_agent(taken.as_ref().map_or(Models::Absent, Models::Transcript));
    let job = Job { plan: &cast.plan, scenarios: &cast.scenarios, episodes: 0..0, jobs: 1, make_agent: &make_agent };
    let Some(cell) = cast.plan.cell(episode) else { return Err(CliError::NoEpisode(episode.to_string())) };
    let mut transcript = Transcript::begin(&cast, episode, cell, terminal.colors_results());
    let played = replay(&job, episode, &mut |moment| transcript.add(&moment))?;
    if played.as_ref() != Some(&recorded) {
        return Err(CliError::OtherReplay(episode));
    }
    terminal.result(&transcript.finish(&recorded.0))?;
    Ok(ExitStatus::Fine)
}

/// The episode that was asked for: by number, or the first one that fits the options.
fn chosen(args: &ShowArgs, plan: &Plan) -> Result<u64, CliError> {
    if let Some(episode) = args.episode {
        return match plan.cell(episode) {
            Some(_) => Ok(episode),
            None => Err(CliError::NoEpisode(format!("{episode} of {}", plan.len()))),
        };
    }
    let guardrails: Option<Guardrails> = args.guardrails.as_deref().map(str::parse).transpose()?;
    // By its name in the plan: `bare` cannot be asked for in a plan, and a template's file may be gone.
    let format = args.format.as_deref();
    if let Some(word) = format
        && !plan.settings.iter().any(|setting| setting.format.name() == word)
    {
        let known = plan.settings.iter().map(|setting| setting.format.to_string()).collect::<BTreeSet<_>>();
        let known = known.into_iter().collect();
        return Err(AxisError { axis: "error format of the run", word: word.to_owned(), known }.into());
    }
    let ends = |name: &str, wanted: &Option<String>| wanted.as_deref().is_none_or(|wanted| name.ends_with(wanted));
    let place = |found: Option<usize>, what: &str| found.ok_or_else(|| CliError::NoEpisode(format!("no such {what}")));
    let scenario = plan.scenarios.iter().position(|scenario| ends(&scenario.id, &args.scenario));
    let opening: Option<Opening> = args.opening.as_deref().map(str::parse).transpose()?;
    let agent = plan.agents.iter().position(|agent| {
        ends(&agent.to_string(), &args.agent) && opening.is_none_or(|opening| agent.opening == Some(opening))
    });
    let setting = plan.settings.iter().position(|setting| {
        guardrails.is_none_or(|set| set == setting.guardrails)
            && format.is_none_or(|format| setting.format.name() == format)
    });
    let trial = args.trial.unwrap_or(0);
    if trial >= plan.trials {
        return Err(CliError::NoEpisode(format!("trial {trial} of {}", plan.trials)));
    }
    Ok(plan.episode(CellRef {
        scenario: place(scenario, "scenario")?,
        agent: place(agent, "agent")?,
        setting: place(setting, "setting")?,
        trial,
    }))
}
