use healbench_protocol::{ErrorFormat, Guardrails, Opening};
use healbench_record::{CellRef, Plan, RunDir, Setting};
use healbench_reports::render::{self, PlaybackOptions};
use healbench_reports::{Playback, rows_of_episodes};

use super::playback::{playback_under, playbacks};
use crate::args::ShowArgs;
use crate::error::{CliError, ExitStatus};
use crate::load::{Cast, Part, cast_of_run, one_format};
use crate::terminal::Terminal;

/// Prints the transcript of one episode. It is played again, by the scripted agent or with the turns that the model took; that it plays
/// as it was recorded is checked.
pub(crate) fn show(args: &ShowArgs, terminal: &Terminal) -> Result<ExitStatus, CliError> {
    let (run, manifest) = RunDir::open(&args.run)?;
    let done = manifest.done();
    let absent =
        |episode: u64| CliError::NoEpisode(format!("{episode}; it has those from {} up to {}", done.start, done.end));
    let (cell, setting) = chosen(args, &manifest.plan)?;
    let cast = cast_of_run(&run, manifest.plan)?;
    let playback = match cast.plan.settings.iter().position(|known| *known == setting) {
        Some(setting) => {
            let episode = cast.plan.episode(CellRef { setting, ..cell });
            let played = playbacks(&run, &cast, &[episode])?.pop().unwrap_or_else(|| Err(absent(episode)));
            played.map_err(|error| if matches!(error, CliError::NoEpisode(_)) { absent(episode) } else { error })?
        }
        None => elsewhere(&run, &cast, cell, setting, args.episode.map(|episode| (episode, absent(episode))))?,
    };
    let options = PlaybackOptions { width: terminal.width(), color: terminal.colors_results(), full: args.full };
    terminal.result(&render::playback(&playback, options))?;
    Ok(ExitStatus::Fine)
}

/// Plays a scenario, agent and trial of the run under a setting that the run does not have. The `named` episode must be there.
pub(super) fn elsewhere(
    run: &RunDir,
    cast: &Cast,
    cell: CellRef,
    setting: Setting,
    named: Option<(u64, CliError)>,
) -> Result<Playback, CliError> {
    if let Part::Model(_) = &cast.parts[cell.agent] {
        return Err(not_asked(&cast.plan, cell, &setting));
    }
    let settings = 0..cast.plan.settings.len();
    let episodes = settings.map(|setting| cast.plan.episode(CellRef { setting, ..cell })).collect();
    let recorded = rows_of_episodes(run, &episodes)?;
    if let Some((_, absent)) = named.filter(|(episode, _)| !recorded.contains_key(episode)) {
        return Err(absent);
    }
    let (playback, row) = playback_under(cast, cell, setting)?;
    let other = recorded.iter().find(|(_, (recorded, _))| recorded.schedule_hash != row.schedule_hash);
    match other {
        Some((episode, _)) => Err(CliError::OtherReplay(*episode)),
        None => Ok(playback),
    }
}

fn not_asked(plan: &Plan, cell: CellRef, setting: &Setting) -> CliError {
    let agent = &plan.agents[cell.agent];
    let opening = agent.opening.map(|opening| format!(" --opening {}", opening.name())).unwrap_or_default();
    let word = |text: &str| render::plain_text(&render::shell_word(text)).into_owned();
    // It cannot be asked for.
    let format = match &setting.format {
        ErrorFormat::Bare => String::new(),
        format => format!(" --format {}", word(&format.name())),
    };
    CliError::NotAsked {
        agent: render::plain_text(&agent.title()).into_owned(),
        setting: format!("{}/{}", setting.guardrails, render::plain_text(&setting.format.name())),
        command: format!(
            "healbench run {} --agent {}{opening} --guardrails {}{format}",
            word(&plan.scenarios[cell.scenario].path),
            word(&agent.to_string()),
            setting.guardrails
        ),
    }
}

/// What was asked for: an episode by number, or the first one that fits the options; and the setting, which the plan need not have.
/// The setting of the cell says nothing.
fn chosen(args: &ShowArgs, plan: &Plan) -> Result<(CellRef, Setting), CliError> {
    let guardrails: Option<Guardrails> = args.guardrails.as_deref().map(str::parse).transpose()?;
    let format = args.format.as_deref();
    if let Some(episode) = args.episode {
        let cell = plan.cell(episode);
        let cell = cell.ok_or_else(|| CliError::NoEpisode(format!("{episode} of {}", plan.len())))?;
        let own = &plan.settings[cell.setting];
        return Ok((cell, setting(plan, Some(own), guardrails, format)?));
    }
    let ends = |name: &str, wanted: &Option<String>| wanted.as_deref().is_none_or(|wanted| name.ends_with(wanted));
    let place = |found: Option<usize>, what: &str| found.ok_or_else(|| CliError::NoEpisode(format!("no such {what}")));
    let scenario = plan.scenarios.iter().position(|scenario| ends(&scenario.id, &args.scenario));
    let opening: Option<Opening> = args.opening.as_deref().map(str::parse).transpose()?;
    let agent = plan.agents.iter().position(|agent| {
        ends(&agent.to_string(), &args.agent) && opening.is_none_or(|opening| agent.opening == Some(opening))
    });
    let trial = args.trial.unwrap_or(0);
    if trial >= plan.trials {
        return Err(CliError::NoEpisode(format!("trial {trial} of {}", plan.trials)));
    }
    let cell = CellRef { scenario: place(scenario, "scenario")?, agent: place(agent, "agent")?, setting: 0, trial };
    Ok((cell, setting(plan, None, guardrails, format)?))
}

/// The setting that is meant: the first one of the plan that fits; or, beside the `own` one of an episode, that one with what is asked
/// for in its place.
pub(super) fn setting(
    plan: &Plan,
    own: Option<&Setting>,
    guardrails: Option<Guardrails>,
    format: Option<&str>,
) -> Result<Setting, CliError> {
    let fits = |setting: &&Setting| {
        guardrails.is_none_or(|set| set == setting.guardrails)
            && format.is_none_or(|format| setting.format.name() == format)
    };
    let known = own.map_or(plan.settings.as_slice(), std::slice::from_ref);
    if let Some(fitting) = known.iter().find(fits) {
        return Ok(fitting.clone());
    }
    let healing = || plan.settings.iter().filter(|setting| setting.guardrails.healing);
    let guardrails = guardrails.or(own.map(|own| own.guardrails)).unwrap_or_else(|| match healing().next() {
        _ if format == Some(BARE) => Guardrails::NONE,
        Some(first) => first.guardrails,
        None => Guardrails::ALL,
    });
    let format = match (guardrails.healing, format) {
        (false, None | Some(BARE)) => ErrorFormat::Bare,
        (false, Some(format)) => return Err(CliError::FormatUnseen { guardrails, format: format.to_owned() }),
        (true, Some(BARE)) => return Err(CliError::BareHealing(guardrails)),
        // By its name in the plan: a template's file may be gone.
        (true, Some(format)) => match healing().find(|setting| setting.format.name() == format) {
            Some(known) => known.format.clone(),
            None => one_format(format)?,
        },
        (true, None) => own
            .into_iter()
            .chain(healing().filter(|setting| setting.guardrails == guardrails))
            .chain(healing())
            .map(|setting| setting.format.clone())
            .find(|format| *format != ErrorFormat::Bare)
            .unwrap_or(ErrorFormat::FusionXml),
    };
    Ok(Setting { guardrails, format })
}

/// The name of what remains when `healing` is off.
const BARE: &str = "bare";
