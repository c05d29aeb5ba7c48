//! Episodes of a run, played again for a person to read.

use std::collections::BTreeSet;

use healbench_protocol::{ErrorFormat, Origin, Turn};
use healbench_record::{CallRecord, CellRef, EpisodeRecord, Plan, RunDir, Setting, Transcript, transcripts_of};
use healbench_reports::render::{plain_text, shell_word};
use healbench_reports::{CallStep, Playback, Sent, Step, rows_of_episodes};
use healbench_runner::{Moment, Replays};
use serde_json::Value;

use crate::error::CliError;
use crate::load::{Cast, Models, Part};

/// The rows of an episode.
type Played = (EpisodeRecord, Vec<CallRecord>);

/// Plays these episodes of a run again, in their order: a scripted agent by itself, of a model the turns that it took. Each is checked
/// to play as it was recorded; one that does not, or that the run does not have, is an error of its own.
///
/// What the run has of them is read in one pass.
pub(crate) fn playbacks(
    run: &RunDir,
    cast: &Cast,
    episodes: &[u64],
) -> Result<Vec<Result<Playback, CliError>>, CliError> {
    let mut played = Vec::new();
    each_playback(run, cast, episodes, &mut |_, playback| {
        played.push(playback);
        true
    })?;
    Ok(played)
}

/// The same, one after the other: responses may be large. Goes on as long as `give` says so.
pub(crate) fn each_playback(
    run: &RunDir,
    cast: &Cast,
    episodes: &[u64],
    give: &mut dyn FnMut(u64, Result<Playback, CliError>) -> bool,
) -> Result<(), CliError> {
    let wanted: BTreeSet<u64> = episodes.iter().copied().collect();
    let recorded = rows_of_episodes(run, &wanted)?;
    let of_models = recorded.iter().filter(|(_, (row, _))| row.model.is_some()).map(|(episode, _)| *episode);
    let transcripts = transcripts_of(run, &of_models.collect())?;
    let mut replays = Replays::new(&cast.plan, &cast.scenarios);
    let mut play = |episode: u64| {
        let recorded = recorded.get(&episode).ok_or(CliError::NotPlayed(episode))?;
        let transcript = transcripts.get(&episode);
        if recorded.0.model.is_some() && transcript.is_none() {
            return Err(CliError::NoTranscript(episode));
        }
        let (playback, played) = play(&mut replays, cast, &cast.plan, episode, transcript)?;
        if played != *recorded {
            return Err(CliError::OtherReplay(episode));
        }
        Ok(Playback { episode: Some(episode), ..playback })
    };
    for episode in episodes {
        if !give(*episode, play(*episode)) {
            break;
        }
    }
    Ok(())
}

/// Plays episodes of a run under other settings, which the run need not have. They meet what those meet, for nothing of a schedule depends
/// on the setting, and that is checked: an episode that the run does not hold is an error of its own. Models are not asked.
pub(crate) fn playbacks_under(
    run: &RunDir,
    cast: &Cast,
    asked: &[(CellRef, Setting)],
) -> Result<Vec<Result<Playback, CliError>>, CliError> {
    let mut settings: Vec<Setting> = Vec::new();
    for (_, setting) in asked {
        if !settings.contains(setting) {
            settings.push(setting.clone());
        }
    }
    let recorded = rows_of_episodes(run, &asked.iter().map(|(cell, _)| cast.plan.episode(*cell)).collect())?;
    let plan = Plan { settings, ..cast.plan.clone() };
    let mut replays = Replays::new(&plan, &cast.scenarios);
    let mut play = |(cell, setting): &(CellRef, Setting)| {
        if let Part::Model(_) = &cast.parts[cell.agent] {
            return Err(not_asked(&plan, *cell, setting));
        }
        let number = cast.plan.episode(*cell);
        let (recorded, _) = recorded.get(&number).ok_or(CliError::NotPlayed(number))?;
        let place = plan.settings.iter().position(|known| known == setting).unwrap_or_default();
        let episode = plan.episode(CellRef { setting: place, ..*cell });
        let (playback, (row, _)) = play(&mut replays, cast, &plan, episode, None)?;
        match row.schedule_hash == recorded.schedule_hash {
            true => Ok(playback),
            false => Err(CliError::OtherReplay(number)),
        }
    };
    Ok(asked.iter().map(&mut play).collect())
}

fn not_asked(plan: &Plan, cell: CellRef, setting: &Setting) -> CliError {
    let agent = &plan.agents[cell.agent];
    let opening = agent.opening.map(|opening| format!(" --opening {}", opening.name())).unwrap_or_default();
    let word = |text: &str| plain_text(&shell_word(text)).into_owned();
    // It cannot be asked for.
    let format = match &setting.format {
        ErrorFormat::Bare => String::new(),
        format => format!(" --format {}", word(&format.name())),
    };
    // Where its table is, the run does not say.
    let config = if agent.to_string().starts_with("model:") { " --config FILE" } else { "" };
    // A built-in suite is named as a whole.
    let path = plan.scenarios[cell.scenario].path.as_str();
    let scenarios = path.strip_prefix("built-in:").and_then(|path| path.split('/').next()).unwrap_or(path);
    CliError::NotAsked {
        agent: plain_text(&agent.title()).into_owned(),
        setting: format!("{}/{}", setting.guardrails, plain_text(&setting.format.name())),
        command: format!(
            "healbench run {}{config} --agent {}{opening} --guardrails {}{format} --trials 1",
            word(scenarios),
            word(&agent.to_string()),
            setting.guardrails
        ),
    }
}

/// Plays one episode of `plan`, whose agents and scenarios are those of the cast.
fn play(
    replays: &mut Replays<'_>,
    cast: &Cast,
    plan: &Plan,
    episode: u64,
    transcript: Option<&Transcript>,
) -> Result<(Playback, Played), CliError> {
    let cell = plan.cell(episode).ok_or_else(|| CliError::NoEpisode(episode.to_string()))?;
    let make_agent = cast.make_agent(transcript.map_or(Models::Absent, Models::Transcript));
    let mut told = Told::default();
    let played = replays.play(episode, &make_agent, &mut |moment| told.add(moment))?;
    let played = played.ok_or(CliError::OtherReplay(episode))?;
    Ok((told.playback(cast, plan, cell, &played), played))
}

/// What was told of an episode.
#[derive(Default)]
struct Told {
    happened: Vec<Happened>,
    unmet: Vec<String>,
    /// Whether the turn at hand is the scheduled opening.
    opening: bool,
}

enum Happened {
    Step(Step),
    /// A call, whose row is whole when the episode has ended.
    Call {
        arguments: Value,
        opening: bool,
        response: String,
    },
}

impl Told {
    fn add(&mut self, moment: Moment<'_>) {
        match moment {
            Moment::Turn(turn, origin) => {
                self.opening = origin == Origin::Opening;
                self.turn(turn);
            }
            Moment::Answer(call, answer, _) => self.happened.push(Happened::Call {
                arguments: call.arguments.clone(),
                opening: self.opening,
                response: answer.response.text().into_owned(),
            }),
            Moment::Failed(error) => self.step(Step::Failed(error.to_string())),
            Moment::End(_, unmet) => self.unmet = unmet.to_vec(),
        }
    }

    fn turn(&mut self, turn: &Turn) {
        match turn {
            Turn::Calls { waited_s, text, .. } => {
                if !text.is_empty() {
                    self.step(Step::Says(text.clone()));
                }
                if *waited_s > 0 {
                    self.step(Step::Waits { seconds: *waited_s });
                }
            }
            Turn::Say { text } => self.step(Step::Says(text.clone())),
            Turn::Done { answer } => self.step(Step::Done(answer.clone())),
            Turn::Answer { text } => self.step(Step::Answers(text.clone())),
            Turn::BrokenOff { text } => self.step(Step::BrokenOff(text.clone())),
            Turn::GiveUp { reason } => self.step(Step::GivesUp(reason.clone())),
        }
    }

    fn step(&mut self, step: Step) {
        self.happened.push(Happened::Step(step));
    }

    fn playback(self, cast: &Cast, plan: &Plan, cell: CellRef, (row, calls): &Played) -> Playback {
        let (scenario, setting) = (&cast.scenarios[cell.scenario], &plan.settings[cell.setting]);
        Playback {
            episode: None,
            scenario: scenario.id.clone(),
            description: scenario.description.clone(),
            agent: plan.agents[cell.agent].title(),
            guardrails: setting.guardrails,
            format: setting.format.clone(),
            trial: cell.trial,
            prompt: scenario.task.prompt.clone(),
            steps: steps(self.happened, calls),
            outcome: row.outcome,
            calls: row.calls,
            unmet: self.unmet,
        }
    }
}

/// What happened, with the rows of the calls.
fn steps(happened: Vec<Happened>, calls: &[CallRecord]) -> Vec<Step> {
    let mut rows = calls.iter().cloned();
    let mut sent: Vec<Sent> = Vec::with_capacity(calls.len());
    let step = |happened| match happened {
        Happened::Step(step) => Some(step),
        Happened::Call { arguments, opening, response } => {
            let call = Sent { arguments, row: rows.next()? };
            let step = CallStep::new(&sent, &call, opening, response);
            sent.push(call);
            Some(Step::Call(Box::new(step)))
        }
    };
    happened.into_iter().filter_map(step).collect()
}
