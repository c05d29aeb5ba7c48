//! Transcripts of the episodes of a run. Those of models and servers are read from its files; scripted episodes of the
//! simulator are run again.

use std::collections::{BTreeMap, BTreeSet};

use healbench_agents::llm::ModelRef;
use healbench_analysis::{CallStep, SentCall, ShownCondition, Transcript, TranscriptStep, note_reactions};
use healbench_core::{
    CallRecord, CellRef, Condition, EnvironmentKind, EpisodeRecord, ErrorFormat, Origin, Plan, ProgramReport,
    RecordedTurn, RecordedTurns, ResponseRecord, Turn,
};
use healbench_frames::{MAX_RESPONSE_BYTES, read_responses, rows_of_episodes};
use healbench_reader::soft_errors::{refusal, unwrap};
use healbench_runner::{EpisodeEvent, Replayer};
use healbench_store::{RunDir, read_recorded_turns_of};
use healbench_text::{plain_text, pluralize, shell_quote};
use serde_json::Value;

use crate::error::{CliError, ErrorKind};
use crate::load::ModelSource;
use crate::run_spec::{AgentConfig, RunSpec};

/// The row of an episode and the rows of its calls.
type EpisodeRows = (EpisodeRecord, Vec<CallRecord>);

/// Returns the transcripts of these episodes of a run in their order. An episode that is run again is checked against the
/// recorded rows; one that differs or is missing is an error at its position.
///
/// The rows of all episodes are read in one pass.
pub(crate) fn transcripts(
    run: &RunDir,
    run_spec: &RunSpec,
    episodes: &[u64],
) -> Result<Vec<Result<Transcript, CliError>>, CliError> {
    let mut transcripts = Vec::new();
    each_transcript(run, run_spec, episodes, &mut |_, transcript| {
        transcripts.push(transcript);
        true
    })?;
    Ok(transcripts)
}

/// Passes on one transcript after another, since responses may be large, until `visit` returns false.
pub(crate) fn each_transcript(
    run: &RunDir,
    run_spec: &RunSpec,
    episodes: &[u64],
    visit: &mut dyn FnMut(u64, Result<Transcript, CliError>) -> bool,
) -> Result<(), CliError> {
    let requested: BTreeSet<u64> = episodes.iter().copied().collect();
    let recorded = rows_of_episodes(run, &requested)?;
    let simulated = run_spec.plan.environment.kind == EnvironmentKind::Simulator;
    let has_turns = |(row, _): &EpisodeRows| row.model.is_some() || !simulated;
    let with_turns: BTreeSet<u64> =
        recorded.iter().filter(|(_, rows)| has_turns(rows)).map(|(episode, _)| *episode).collect();
    let all_turns = read_recorded_turns_of(run, &with_turns)?;
    let calls = recorded.iter().filter(|(episode, _)| with_turns.contains(episode)).flat_map(|(_, (_, calls))| calls);
    let responses = read_responses(run, &calls.map(|call| call.response_hash).collect())?;
    let mut replayer = Replayer::new(&run_spec.plan, &run_spec.scenarios);
    let mut replay = |episode: u64| {
        let recorded = recorded.get(&episode).ok_or_else(|| CliError::not_run(episode))?;
        let recorded_turns = all_turns.get(&episode);
        if has_turns(recorded) {
            let turns = recorded_turns.ok_or_else(|| {
                CliError::new(format_args!("the run has no transcript of episode {episode}")).kind(ErrorKind::NotFound)
            })?;
            let is_stored = recorded.1.iter().all(|call| responses.contains_key(&call.response_hash));
            // The simulator can give a response again that was not stored.
            if is_stored || !simulated {
                let cell = run_spec.plan.cell(episode).ok_or_else(|| CliError::no_episode(episode))?;
                let transcript = TranscriptBuilder::stored(turns, &recorded.1, &responses);
                let task = Task::of(run_spec, cell, Some(turns));
                let transcript = transcript.transcript(task, &run_spec.plan, cell, recorded);
                return Ok(Transcript { episode: Some(episode), ..transcript });
            }
        }
        let (transcript, rows) = replay(&mut replayer, run_spec, &run_spec.plan, episode, recorded_turns)?;
        if rows != *recorded {
            return Err(CliError::replay_differs(episode));
        }
        Ok(Transcript { episode: Some(episode), ..transcript })
    };
    for episode in episodes {
        if !visit(*episode, replay(*episode)) {
            break;
        }
    }
    Ok(())
}

/// Replays episodes of a run in other conditions, which need not be in its plan. Trial schedules do not depend on the
/// condition, and this is checked against the run's rows, so an episode that the run does not have is an error at its
/// position. No requests are sent to models.
pub(crate) fn transcripts_under(
    run: &RunDir,
    run_spec: &RunSpec,
    requested: &[(CellRef, Condition)],
) -> Result<Vec<Result<Transcript, CliError>>, CliError> {
    if requested.is_empty() {
        return Ok(Vec::new());
    }
    check_reproducible(&run_spec.plan)?;
    let mut conditions: Vec<Condition> = Vec::new();
    for (_, condition) in requested {
        if !conditions.contains(condition) {
            conditions.push(condition.clone());
        }
    }
    let recorded = rows_of_episodes(run, &requested.iter().map(|(cell, _)| run_spec.plan.episode(*cell)).collect())?;
    let plan = Plan { conditions, ..run_spec.plan.clone() };
    let mut replayer = Replayer::new(&plan, &run_spec.scenarios);
    let mut replay = |(cell, condition): &(CellRef, Condition)| {
        if let AgentConfig::Model(_) = &run_spec.configs[cell.agent] {
            return Err(not_recorded(&plan, *cell, condition));
        }
        let number = run_spec.plan.episode(*cell);
        let (recorded, _) = recorded.get(&number).ok_or_else(|| CliError::not_run(number))?;
        let index = plan.find(condition).unwrap_or_default();
        let episode = plan.episode(CellRef { condition: index, ..*cell });
        let (transcript, (row, _)) = replay(&mut replayer, run_spec, &plan, episode, None)?;
        match row.schedule_hash == recorded.schedule_hash {
            true => Ok(transcript),
            false => Err(CliError::replay_differs(number)),
        }
    };
    Ok(requested.iter().map(&mut replay).collect())
}

/// Rejects a run on a server: what it would respond under other settings is not known.
fn check_reproducible(plan: &Plan) -> Result<(), CliError> {
    if plan.environment.kind == EnvironmentKind::Simulator {
        return Ok(());
    }
    if plan.is_trace() {
        return Err(CliError::new("episodes of a trace cannot be shown under other settings")
            .kind(ErrorKind::Invalid)
            .help("leave out `--guardrails`, `--format`, `--condition` and `--vary`"));
    }
    let server = plan.environment.to_string();
    Err(CliError::new(format_args!(
        "the episodes were executed on {}, which may answer differently each time, so they cannot be shown under other \
         settings",
        plain_text(&server)
    ))
    .kind(ErrorKind::Invalid)
    .help("leave out `--guardrails`, `--format`, `--condition` and `--vary`; to compare settings, name them all when running"))
}

fn not_recorded(plan: &Plan, cell: CellRef, condition: &Condition) -> CliError {
    let agent = &plan.agents[cell.agent];
    let opening = agent.opening.map(|opening| format!(" --opening {}", opening.name())).unwrap_or_default();
    let quoted = |text: &str| plain_text(&shell_quote(text)).into_owned();
    let mut options = match (&condition.name, condition.format()) {
        (Some(name), _) => format!("--condition {}", quoted(name)),
        // `--format` does not accept `bare`.
        (None, ErrorFormat::Bare) => format!("--guardrails {}", condition.guardrails()),
        (None, format) => format!("--guardrails {} --format {}", condition.guardrails(), quoted(&format.name())),
    };
    for (axis, value) in condition.variations() {
        options.push_str(&format!(" --vary {}", quoted(&format!("{}={value}", axis.key))));
    }
    // The run does not record the path of the settings file.
    let config = match ModelRef::parse(&agent.name) {
        Ok(ModelRef::Table(_)) => " --config FILE",
        Ok(ModelRef::Provider(..)) | Err(_) => "",
    };
    // Name the whole built-in suite, since its files have no paths.
    let path = plan.scenarios[cell.scenario].path.as_str();
    let scenarios = path.strip_prefix("built-in:").and_then(|path| path.split('/').next()).unwrap_or(path);
    let command = format!(
        "healbench run {}{config} --agent {}{opening} {options} --trials 1",
        quoted(scenarios),
        quoted(&agent.to_string()),
    );
    CliError::new(format_args!(
        "the run has no episode of {} under {}, and this command sends no requests to models",
        plain_text(&agent.title()),
        plain_text(&condition.title())
    ))
    .kind(ErrorKind::Invalid)
    .help(format!("run it: `{command}`"))
}

/// Replays one episode of `plan`, whose agents and scenarios are those of `run_spec`.
fn replay(
    replayer: &mut Replayer<'_>,
    run_spec: &RunSpec,
    plan: &Plan,
    episode: u64,
    recorded_turns: Option<&RecordedTurns>,
) -> Result<(Transcript, EpisodeRows), CliError> {
    let cell = plan.cell(episode).ok_or_else(|| CliError::no_episode(episode))?;
    let make_agent = run_spec.make_agent(recorded_turns.map_or(ModelSource::Absent, ModelSource::RecordedTurns));
    let mut builder = TranscriptBuilder::default();
    let rows = replayer.run(episode, &make_agent, &mut |event| builder.add(event))?;
    let rows = rows.ok_or_else(|| CliError::replay_differs(episode))?;
    Ok((builder.transcript(Task::of(run_spec, cell, None), plan, cell, &rows), rows))
}

/// The texts of a task: those of its scenario, or of a trace.
struct Task<'a> {
    description: &'a str,
    prompt: &'a str,
}

impl<'a> Task<'a> {
    fn of(run_spec: &'a RunSpec, cell: CellRef, recorded: Option<&'a RecordedTurns>) -> Task<'a> {
        match run_spec.scenarios.get(cell.scenario) {
            Some(scenario) => Task { description: &scenario.description, prompt: &scenario.task.prompt },
            None => {
                let prompt = recorded.and_then(|recorded| recorded.prompt.as_deref());
                Task { description: "", prompt: prompt.unwrap_or_default() }
            }
        }
    }
}

/// Collects the events of an episode.
#[derive(Default)]
struct TranscriptBuilder {
    events: Vec<Event>,
    unmet: Vec<String>,
    /// True if the current turn is part of the opening.
    opening: bool,
}

enum Event {
    Step(TranscriptStep),
    /// A call. Its row is complete when the episode has ended.
    Call {
        arguments: Value,
        opening: bool,
        response: String,
    },
}

/// Stands for a response beyond the stored ones.
fn not_stored() -> String {
    format!("[not stored: a run stores the texts of its first {} MiB of responses]", MAX_RESPONSE_BYTES >> 20)
}

impl TranscriptBuilder {
    /// Collects the events of an episode from the files of its run.
    fn stored(
        recorded: &RecordedTurns,
        calls: &[CallRecord],
        responses: &BTreeMap<u64, ResponseRecord>,
    ) -> TranscriptBuilder {
        let mut builder = TranscriptBuilder { unmet: recorded.unmet.clone(), ..TranscriptBuilder::default() };
        let mut rows = calls.iter();
        let mut number = 0;
        for RecordedTurn { turn, origin } in &recorded.turns {
            // A text of the user is no turn.
            if let (Origin::User, Turn::Message { text }) = (origin, turn) {
                builder.step(TranscriptStep::User(text.clone()));
                continue;
            }
            number += 1;
            builder.turn(turn);
            let Turn::Calls { calls: sent, .. } = turn else { continue };
            // A turn may have more calls than were left.
            let of_turn: Vec<&CallRecord> = match origin {
                // Each call of a program is a turn, and has no number.
                Origin::Program => rows.next().into_iter().collect(),
                _ => calls.iter().filter(|row| row.turn == Some(number)).collect(),
            };
            for (call, row) in sent.iter().zip(of_turn) {
                builder.events.push(Event::Call {
                    arguments: call.arguments.clone(),
                    opening: *origin == Origin::Opening,
                    response: match row.response_hash {
                        0 => "[no result]".to_owned(),
                        hash => responses.get(&hash).map_or_else(not_stored, ResponseRecord::text),
                    },
                });
            }
        }
        if let Some(report) = &recorded.program {
            builder.step(TranscriptStep::Program(program_text(report)));
        }
        if let Some(error) = &recorded.failed {
            builder.step(TranscriptStep::Failed(error.to_string()));
        }
        builder
    }

    fn add(&mut self, event: EpisodeEvent<'_>) {
        match event {
            EpisodeEvent::Turn(turn, origin) => {
                self.opening = origin == Origin::Opening;
                self.turn(turn);
            }
            EpisodeEvent::Call(call, answer, _) => self.events.push(Event::Call {
                arguments: call.arguments.clone(),
                opening: self.opening,
                response: answer.response.text().into_owned(),
            }),
            EpisodeEvent::Program(report) => self.step(TranscriptStep::Program(program_text(report))),
            EpisodeEvent::Failed(error) => self.step(TranscriptStep::Failed(error.to_string())),
            EpisodeEvent::End(_, unmet) => self.unmet = unmet.to_vec(),
        }
    }

    fn turn(&mut self, turn: &Turn) {
        match turn {
            Turn::Calls { waited_s, text, .. } => {
                if !text.is_empty() {
                    self.step(TranscriptStep::Message(text.clone()));
                }
                if *waited_s > 0 {
                    self.step(TranscriptStep::Wait { seconds: *waited_s });
                }
            }
            Turn::Message { text } => self.step(TranscriptStep::Message(text.clone())),
            Turn::Done { answer } => self.step(TranscriptStep::Done(answer.clone())),
            Turn::Answer { text } => self.step(TranscriptStep::Answer(text.clone())),
            Turn::Incomplete { text } | Turn::TooLong { reason: text } => {
                self.step(TranscriptStep::Incomplete(text.clone()));
            }
            Turn::GiveUp { reason } => self.step(TranscriptStep::GiveUp(reason.clone())),
            Turn::Refused { reason } => self.step(TranscriptStep::Refused(reason.clone())),
        }
    }

    fn step(&mut self, step: TranscriptStep) {
        self.events.push(Event::Step(step));
    }

    fn transcript(self, task: Task<'_>, plan: &Plan, cell: CellRef, (row, calls): &EpisodeRows) -> Transcript {
        let condition = &plan.conditions[cell.condition];
        Transcript {
            episode: None,
            scenario: plan.scenarios[cell.scenario].id.clone(),
            description: task.description.to_owned(),
            agent: plan.agents[cell.agent].title(),
            condition: ShownCondition::from(condition),
            trial: cell.trial,
            prompt: task.prompt.to_owned(),
            steps: resolve_steps(self.events, calls, plan.is_trace()),
            outcome: row.outcome,
            calls: row.calls,
            unmet: self.unmet,
        }
    }
}

/// Describes what an agent program did besides calling the tools.
fn program_text(report: &ProgramReport) -> String {
    let counts = [
        (report.connections, "session with the tools", "sessions with the tools"),
        (report.refused_connections, "session refused", "sessions refused"),
        (report.cancelled_calls, "call cancelled before it was made", "calls cancelled before they were made"),
        (report.own_tool_calls, "call of its own tools", "calls of its own tools"),
        (report.granted_permissions, "permission granted", "permissions granted"),
        (report.refused_permissions, "permission refused", "permissions refused"),
        (report.stray_lines, "line outside of its protocol", "lines outside of its protocol"),
    ];
    let counts = counts.into_iter().filter(|(count, ..)| *count > 0);
    let mut parts: Vec<String> =
        counts.map(|(count, one, many)| format!("{count} {}", if count == 1 { one } else { many })).collect();
    if report.dropped_text_bytes > 0 {
        parts.push(format!("{} of its text not kept", pluralize(report.dropped_text_bytes, "byte")));
    }
    if parts.is_empty() {
        parts.push("no session with the tools".to_owned());
    }
    parts.extend(report.exit.clone());
    parts.join(", ")
}

/// Combines events with the rows of their calls. Only the calls of a trace may have been refused by its user.
fn resolve_steps(events: Vec<Event>, calls: &[CallRecord], is_trace: bool) -> Vec<TranscriptStep> {
    let mut rows = calls.iter().cloned();
    let mut sent: Vec<SentCall> = Vec::with_capacity(calls.len());
    let step = |events| match events {
        Event::Step(step) => Some(step),
        Event::Call { arguments, opening, response } => {
            let call = SentCall { arguments, row: rows.next()? };
            let refused = is_trace && !call.row.is_error && refusal(&unwrap(&response).text).is_some();
            let step = CallStep { refused, ..CallStep::new(&sent, &call, opening, response) };
            sent.push(call);
            Some(TranscriptStep::Call(Box::new(step)))
        }
    };
    let mut steps: Vec<TranscriptStep> = events.into_iter().filter_map(step).collect();
    note_reactions(&mut steps);
    steps
}
