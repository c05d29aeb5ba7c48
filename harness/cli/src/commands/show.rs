use healbench_protocol::{ErrorFormat, Guardrails, Opening};
use healbench_record::{CellRef, Plan, RunDir, Setting};
use healbench_reports::render::{self, PlaybackOptions};
use healbench_reports::{Playback, rows_of_episodes};

use super::playback::{playback_under, playbacks};
use crate::args::ShowArgs;
use crate::error::{CliError, ExitStatus};
use crate::load::{Cast, Part, cast_of_run, one_format};
use crate::terminal::Terminal;

/// Prints the transcripts of episodes. They are played again, by the scripted agent or with the turns that the model took; that they
/// play as they were recorded is checked.
pub(crate) fn show(args: &ShowArgs, terminal: &Terminal) -> Result<ExitStatus, CliError> {
    let (run, manifest) = RunDir::open(&args.run)?;
    let there_are = match manifest.done() {
        done if done.is_empty() => "it has none".to_owned(),
        done => format!("it has those from {} to {}", done.start, done.end - 1),
    };
    let asked = chosen(args, &manifest.plan)?;
    let cast = cast_of_run(&run, manifest.plan)?;
    let there: Vec<u64> = asked.iter().filter_map(|asked| asked.episode(&cast.plan)).collect();
    let mut played = playbacks(&run, &cast, &there)?.into_iter();
    let options = PlaybackOptions { width: terminal.width(), color: terminal.colors_results(), full: args.full };
    for (index, asked) in asked.into_iter().enumerate() {
        let playback = match asked.episode(&cast.plan).and_then(|_| played.next()) {
            Some(playback) => playback,
            None => elsewhere(&run, &cast, asked),
        };
        let playback = playback.map_err(|error| match error {
            CliError::NoEpisode(episode) => CliError::NoEpisode(format!("{episode}; {there_are}")),
            error => error,
        })?;
        let gap = if index > 0 { "\n" } else { "" };
        terminal.result(&format!("{gap}{}", render::playback(&playback, options)))?;
    }
    Ok(ExitStatus::Fine)
}

/// An episode as it was asked for.
pub(super) struct Asked {
    /// Scenario, agent and trial; its setting says nothing.
    pub(super) cell: CellRef,
    /// The setting, which the plan need not have.
    pub(super) setting: Setting,
    /// The number that it was told by, under whatever setting that is.
    pub(super) number: Option<u64>,
}

impl Asked {
    /// Its number, if the plan has its setting.
    pub(super) fn episode(&self, plan: &Plan) -> Option<u64> {
        let setting = plan.settings.iter().position(|known| *known == self.setting)?;
        Some(plan.episode(CellRef { setting, ..self.cell }))
    }
}

/// Plays a scenario, agent and trial of the run under a setting that the run does not have.
pub(super) fn elsewhere(run: &RunDir, cast: &Cast, asked: Asked) -> Result<Playback, CliError> {
    let Asked { cell, setting, number } = asked;
    if let Part::Model(_) = &cast.parts[cell.agent] {
        return Err(not_asked(&cast.plan, cell, &setting));
    }
    let settings = 0..cast.plan.settings.len();
    let episodes = settings.map(|setting| cast.plan.episode(CellRef { setting, ..cell })).collect();
    let recorded = rows_of_episodes(run, &episodes)?;
    if let Some(number) = number.filter(|number| !recorded.contains_key(number)) {
        return Err(CliError::NoEpisode(number.to_string()));
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

/// What was asked for: episodes by number, or the first one that fits the options.
fn chosen(args: &ShowArgs, plan: &Plan) -> Result<Vec<Asked>, CliError> {
    let guardrails = args.guardrails.as_deref().map(one_set).transpose()?;
    let format = args.format.as_deref();
    let numbered = |episode: &u64| {
        let cell = plan.cell(*episode);
        let cell = cell.ok_or_else(|| CliError::NoEpisode(format!("{episode} of {}", plan.len())))?;
        let setting = setting(plan, Some(&plan.settings[cell.setting]), guardrails, format)?;
        Ok(Asked { cell, setting, number: Some(*episode) })
    };
    if !args.episodes.is_empty() {
        return args.episodes.iter().map(numbered).collect();
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
    Ok(vec![Asked { cell, setting: setting(plan, None, guardrails, format)?, number: None }])
}

fn one_set(word: &str) -> Result<Guardrails, CliError> {
    match word.contains(',') || Guardrails::sweep(word).is_some() {
        true => Err(CliError::OneOnly { option: "--guardrails", word: word.to_owned() }),
        false => Ok(word.parse()?),
    }
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
