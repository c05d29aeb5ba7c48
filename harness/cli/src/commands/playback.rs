//! Episodes of a run, played again for a person to read.

use std::collections::BTreeSet;

use healbench_protocol::{ErrorFormat, Origin, Turn};
use healbench_record::{
    CallRecord, CellRef, Condition, EpisodeRecord, Plan, RecordedTurns, RunDir, read_recorded_turns_of,
};
use healbench_reports::render::{plain_text, shell_quote};
use healbench_reports::{CallStep, Sent, Transcript, TranscriptStep, rows_of_episodes};
use healbench_runner::{EpisodeEvent, Replayer};
use serde_json::Value;

use crate::error::CliError;
use crate::load::{Cast, Models, Part};

/// The rows of an episode.
type Played = (EpisodeRecord, Vec<CallRecord>);

/// Plays these episodes of a run again, in their order: a scripted agent by itself, of a model the turns that it took. Each is checked
/// to play as it was recorded; one that does not, or that the run does not have, is an error of its own.
///
/// What the run has of them is read in one pass.
pub(crate) fn transcripts(
    run: &RunDir,
    cast: &Cast,
    episodes: &[u64],
) -> Result<Vec<Result<Transcript, CliError>>, CliError> {
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
    give: &mut dyn FnMut(u64, Result<Transcript, CliError>) -> bool,
) -> Result<(), CliError> {
    let wanted: BTreeSet<u64> = episodes.iter().copied().collect();
    let recorded = rows_of_episodes(run, &wanted)?;
    let of_models = recorded.iter().filter(|(_, (row, _))| row.model.is_some()).map(|(episode, _)| *episode);
    let all_turns = read_recorded_turns_of(run, &of_models.collect())?;
    let mut replayer = Replayer::new(&cast.plan, &cast.scenarios);
    let mut play = |episode: u64| {
        let recorded = recorded.get(&episode).ok_or(CliError::NotPlayed(episode))?;
        let recorded_turns = all_turns.get(&episode);
        if recorded.0.model.is_some() && recorded_turns.is_none() {
            return Err(CliError::NoTranscript(episode));
        }
        let (playback, played) = play(&mut replayer, cast, &cast.plan, episode, recorded_turns)?;
        if played != *recorded {
            return Err(CliError::OtherReplay(episode));
        }
        Ok(Transcript { episode: Some(episode), ..playback })
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
    asked: &[(CellRef, Condition)],
) -> Result<Vec<Result<Transcript, CliError>>, CliError> {
    let mut conditions: Vec<Condition> = Vec::new();
    for (_, condition) in asked {
        if !conditions.contains(condition) {
            conditions.push(condition.clone());
        }
    }
    let recorded = rows_of_episodes(run, &asked.iter().map(|(cell, _)| cast.plan.episode(*cell)).collect())?;
    let plan = Plan { conditions, ..cast.plan.clone() };
    let mut replayer = Replayer::new(&plan, &cast.scenarios);
    let mut play = |(cell, condition): &(CellRef, Condition)| {
        if let Part::Model(_) = &cast.parts[cell.agent] {
            return Err(not_asked(&plan, *cell, condition));
        }
        let number = cast.plan.episode(*cell);
        let (recorded, _) = recorded.get(&number).ok_or(CliError::NotPlayed(number))?;
        let place = plan.conditions.iter().position(|known| known == condition).unwrap_or_default();
        let episode = plan.episode(CellRef { condition: place, ..*cell });
        let (playback, (row, _)) = play(&mut replayer, cast, &plan, episode, None)?;
        match row.schedule_hash == recorded.schedule_hash {
            true => Ok(playback),
            false => Err(CliError::OtherReplay(number)),
        }
    };
    Ok(asked.iter().map(&mut play).collect())
}

fn not_asked(plan: &Plan, cell: CellRef, condition: &Condition) -> CliError {
    let agent = &plan.agents[cell.agent];
    let opening = agent.opening.map(|opening| format!(" --opening {}", opening.name())).unwrap_or_default();
    let word = |text: &str| plain_text(&shell_quote(text)).into_owned();
    // It cannot be asked for.
    let format = match &condition.format {
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
        condition: format!("{}/{}", condition.guardrails, plain_text(&condition.format.name())),
        command: format!(
            "healbench run {}{config} --agent {}{opening} --guardrails {}{format} --trials 1",
            word(scenarios),
            word(&agent.to_string()),
            condition.guardrails
        ),
    }
}

/// Plays one episode of `plan`, whose agents and scenarios are those of the cast.
fn play(
    replayer: &mut Replayer<'_>,
    cast: &Cast,
    plan: &Plan,
    episode: u64,
    recorded_turns: Option<&RecordedTurns>,
) -> Result<(Transcript, Played), CliError> {
    let cell = plan.cell(episode).ok_or_else(|| CliError::NoEpisode(episode.to_string()))?;
    let make_agent = cast.make_agent(recorded_turns.map_or(Models::Absent, Models::RecordedTurns));
    let mut told = Told::default();
    let played = replayer.run(episode, &make_agent, &mut |event| told.add(event))?;
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
    TranscriptStep(TranscriptStep),
    /// A call, whose row is whole when the episode has ended.
    Call {
        arguments: Value,
        opening: bool,
        response: String,
    },
}

impl Told {
    fn add(&mut self, event: EpisodeEvent<'_>) {
        match event {
            EpisodeEvent::Turn(turn, origin) => {
                self.opening = origin == Origin::Opening;
                self.turn(turn);
            }
            EpisodeEvent::Call(call, answer, _) => self.happened.push(Happened::Call {
                arguments: call.arguments.clone(),
                opening: self.opening,
                response: answer.response.text().into_owned(),
            }),
            EpisodeEvent::Failed(error) => self.step(TranscriptStep::Failed(error.to_string())),
            EpisodeEvent::End(_, unmet) => self.unmet = unmet.to_vec(),
        }
    }

    fn turn(&mut self, turn: &Turn) {
        match turn {
            Turn::Calls { waited_s, text, .. } => {
                if !text.is_empty() {
                    self.step(TranscriptStep::Says(text.clone()));
                }
                if *waited_s > 0 {
                    self.step(TranscriptStep::Waits { seconds: *waited_s });
                }
            }
            Turn::Message { text } => self.step(TranscriptStep::Says(text.clone())),
            Turn::Done { answer } => self.step(TranscriptStep::Done(answer.clone())),
            Turn::Answer { text } => self.step(TranscriptStep::Answers(text.clone())),
            Turn::Incomplete { text } => self.step(TranscriptStep::Incomplete(text.clone())),
            Turn::GiveUp { reason } => self.step(TranscriptStep::GivesUp(reason.clone())),
        }
    }

    fn step(&mut self, step: TranscriptStep) {
        self.happened.push(Happened::TranscriptStep(step));
    }

    fn playback(self, cast: &Cast, plan: &Plan, cell: CellRef, (row, calls): &Played) -> Transcript {
        let (scenario, condition) = (&cast.scenarios[cell.scenario], &plan.conditions[cell.condition]);
        Transcript {
            episode: None,
            scenario: scenario.id.clone(),
            description: scenario.description.clone(),
            agent: plan.agents[cell.agent].title(),
            guardrails: condition.guardrails,
            format: condition.format.clone(),
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
fn steps(happened: Vec<Happened>, calls: &[CallRecord]) -> Vec<TranscriptStep> {
    let mut rows = calls.iter().cloned();
    let mut sent: Vec<Sent> = Vec::with_capacity(calls.len());
    let step = |happened| match happened {
        Happened::TranscriptStep(step) => Some(step),
        Happened::Call { arguments, opening, response } => {
            let call = Sent { arguments, row: rows.next()? };
            let step = CallStep::new(&sent, &call, opening, response);
            sent.push(call);
            Some(TranscriptStep::Call(Box::new(step)))
        }
    };
    happened.into_iter().filter_map(step).collect()
}
