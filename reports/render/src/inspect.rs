//! Logs in the format of Inspect (inspect_ai): one for each agent and condition, with a sample for each episode.
//!
//! The format is that of `inspect_ai.log.EvalLog`, version 2, as JSON. A scenario is a sample and a trial an epoch.

use healbench_core::EpisodeRecord;
use healbench_store::RunManifest;
use serde_json::{Map, Value, json};

use super::labels::condition_label;
use healbench_analysis::{AgentReport, CallStep, Report, ReportRow, RowMetric, Transcript, TranscriptStep};
use healbench_text::shell_quote;

/// The version of the format.
const VERSION: u32 = 2;
/// The name of the score.
const SCORE: &str = "success";

/// Returns everything of a log but its samples, which belong under the key `samples`.
pub fn inspect_log(
    report: &Report,
    manifest: &RunManifest,
    agent: &AgentReport,
    row: &ReportRow,
) -> Map<String, Value> {
    let condition = condition_label(&row.condition);
    let suite = report.suite.as_deref().unwrap_or("suites");
    let task = format!("{suite}: {condition}");
    let id = format!("{}-{}-{}", manifest.started, agent.title, row.condition.label());
    let success = row.rate(RowMetric::Success);
    // The standard error over all episodes, as Inspect's `stderr` is.
    let stderr =
        success.rate.filter(|_| row.scored > 1).map(|rate| (rate * (1.0 - rate) / (row.scored - 1) as f64).sqrt());
    let metric =
        |name: &str, value: Option<f64>| value.map(|value| (name.to_owned(), json!({"name": name, "value": value})));
    let metrics: Map<String, Value> =
        [metric("accuracy", success.rate), metric("stderr", stderr)].into_iter().flatten().collect();
    let score = json!({
        "name": SCORE,
        "scorer": "healbench",
        "scored_samples": row.scored,
        // Lost samples have an error, and Inspect counts those as not completed.
        "unscored_samples": 0,
        "metrics": metrics,
    });
    let is_complete = report.totals.episodes == report.planned;
    let mut log = Map::new();
    log.insert("version".to_owned(), json!(VERSION));
    log.insert("status".to_owned(), json!(if is_complete { "success" } else { "cancelled" }));
    log.insert(
        "eval".to_owned(),
        json!({
            "eval_id": id,
            "run_id": manifest.started,
            "task_id": id,
            "created": manifest.started,
            "task": task,
            "dataset": {"name": suite, "samples": report.scenarios.len(), "sample_ids": report.scenarios},
            "model": agent.title,
            "config": {"epochs": report.trials},
            "packages": {"healbench": manifest.healbench},
            "metadata": {
                "condition": row.condition.label(),
                "guardrails": row.condition.guardrails().to_string(),
                "format": row.condition.format().to_string(),
                "seed": report.seed.0,
                "tokenizer": report.tokenizer,
                "server": report.server,
                "command": manifest.command,
                "success_interval": row.success_interval,
                "answer": report.answer,
            },
        }),
    );
    log.insert("plan".to_owned(), json!({"name": "healbench", "steps": []}));
    log.insert(
        "results".to_owned(),
        json!({
            "total_samples": report.scenarios.len() as u64 * u64::from(report.trials),
            "completed_samples": row.scored,
            "logged_samples": row.episodes,
            "scores": [score],
        }),
    );
    let completed = manifest.finished.as_deref().unwrap_or(&manifest.started);
    log.insert("stats".to_owned(), json!({"started_at": manifest.started, "completed_at": completed}));
    log
}

/// Returns the sample of an episode. `run` is the name of the run in commands, and `started` its start.
pub fn inspect_sample(transcript: &Transcript, row: &EpisodeRecord, run: &str, started: &str) -> Value {
    let mut messages = messages(transcript);
    identify(&mut messages, "id", &format!("{started}-{}-message", row.episode));
    let last = messages.iter().rev().find(|message| message["role"] == "assistant").cloned();
    let is_scored = row.outcome.is_scored();
    let unmet = transcript.unmet.join("\n");
    let mut sample = json!({
        "id": transcript.scenario,
        "epoch": transcript.trial + 1,
        "input": transcript.prompt,
        "target": "all expectations of the scenario hold",
        "messages": messages,
        "metadata": {
            "description": transcript.description,
            "episode": row.episode,
            "outcome": row.outcome.name(),
            "ended_by": row.ended_by.name(),
            "calls": row.calls,
            "errors": row.counts.errors,
            "error_chains": row.counts.chains,
            "errors_fixed": row.counts.errors_fixed,
            "wrong_repairs": row.counts.wrong_repairs,
            "billed_input_tokens": row.billed.map(|billed| billed.input),
            "billed_output_tokens": row.billed.map(|billed| billed.output),
            "schedule": row.schedule_hash,
            "unmet": transcript.unmet,
            "show": format!("healbench show {} {}", shell_quote(run), row.episode),
        },
    });
    if let Some(message) = last {
        let stop = if message["tool_calls"].is_null() { "stop" } else { "tool_calls" };
        sample["output"] = json!({"model": transcript.agent, "choices": [{"message": message, "stop_reason": stop}]});
    }
    if row.outcome == healbench_core::Outcome::Limit {
        // Inspect's own kinds of limits are of other units.
        sample["limit"] = json!({"type": "custom", "limit": row.calls});
    }
    if is_scored {
        let value = if row.outcome == healbench_core::Outcome::Success { "C" } else { "I" };
        sample["scores"] = json!({SCORE: {"value": value, "answer": row.outcome.name(), "explanation": unmet}});
    } else {
        let message = failure(transcript).unwrap_or_else(|| row.outcome.name().to_owned());
        sample["error"] = json!({"message": message, "traceback": "", "traceback_ansi": ""});
    }
    let mut events = events(&sample, transcript, started);
    identify(&mut events, "uuid", &format!("{started}-{}-event", row.episode));
    sample["events"] = events.into();
    if let Some((usage, model)) = row.model.as_ref().and_then(|model| Some((model.usage?, model))) {
        sample["model_usage"] = json!({transcript.agent.clone(): {
            "input_tokens": usage.input,
            "output_tokens": usage.output,
            "total_tokens": usage.input + usage.output,
            "input_tokens_cache_read": usage.cache_read,
            "input_tokens_cache_write": usage.cache_write,
            "reasoning_tokens": usage.reasoning,
            "total_cost": model.usd,
        }});
    }
    sample
}

/// Numbers messages or events under a key. Inspect's tables have a row for each, found by it.
fn identify(items: &mut [Value], key: &str, prefix: &str) {
    for (number, item) in items.iter_mut().enumerate() {
        item[key] = format!("{prefix}-{number}").into();
    }
}

/// Returns the events of a sample: its start, its calls, the conversation, and the error that it was lost to. Runs do not store when a call was made, so
/// all have the time of the run.
fn events(sample: &Value, transcript: &Transcript, started: &str) -> Vec<Value> {
    let start = json!({"id": sample["id"], "input": sample["input"], "target": sample["target"]});
    let mut events = vec![json!({"event": "sample_init", "sample": start, "state": {}})];
    events.extend(transcript.steps.iter().filter_map(|step| match step {
        TranscriptStep::Call(call) => {
            let (mut event, response) = (tool_call(call), response(call));
            event["event"] = "tool".into();
            event["result"] = response["content"].clone();
            event["error"] = response["error"].clone();
            Some(event)
        }
        _ => None,
    }));
    // Inspect's table of messages has those of such events: here a single one, with the conversation as it was at the end.
    events.push(json!({
        "event": "model",
        "model": transcript.agent,
        "input": sample["messages"],
        "tools": [],
        "tool_choice": "auto",
        "config": {},
        "output": {"model": transcript.agent, "choices": []},
    }));
    if let Some(error) = sample.get("error") {
        events.push(json!({"event": "error", "error": error}));
    }
    for event in &mut events {
        event["timestamp"] = started.into();
    }
    events
}

fn failure(transcript: &Transcript) -> Option<String> {
    transcript.steps.iter().rev().find_map(|step| match step {
        TranscriptStep::Failed(reason) => Some(reason.clone()),
        _ => None,
    })
}

/// Returns the conversation. The calls of one turn are in one message, with the text that came with them.
fn messages(transcript: &Transcript) -> Vec<Value> {
    let mut messages = vec![json!({"role": "user", "source": "input", "content": transcript.prompt})];
    let mut steps = transcript.steps.iter().peekable();
    let mut text = String::new();
    while let Some(step) = steps.next() {
        match step {
            TranscriptStep::Message(message) => match steps.peek() {
                Some(TranscriptStep::Call(_) | TranscriptStep::Wait { .. }) => text = message.clone(),
                _ => messages.push(json!({"role": "assistant", "content": message})),
            },
            TranscriptStep::User(text) => messages.push(json!({"role": "user", "content": text})),
            TranscriptStep::Wait { seconds } => {
                // Simulated time passes for the agent, which is no message of the conversation.
                let note = format!("[waits {seconds} s of simulated time]");
                text = if text.is_empty() { note } else { format!("{text}\n{note}") };
            }
            TranscriptStep::Call(first) => {
                let mut calls = vec![first];
                while let Some(TranscriptStep::Call(next)) = steps.peek() {
                    // The turns of a program are not known.
                    if first.row.turn.is_none() || next.row.turn != first.row.turn {
                        break;
                    }
                    calls.push(next);
                    steps.next();
                }
                let opening = first.opening.then(|| json!({"opening": true}));
                let tool_calls: Vec<Value> = calls.iter().map(|call| tool_call(call)).collect();
                messages.push(json!({
                    "role": "assistant",
                    "content": std::mem::take(&mut text),
                    "tool_calls": tool_calls,
                    "metadata": opening,
                }));
                messages.extend(calls.iter().map(|call| response(call)));
            }
            TranscriptStep::Done(answer)
            | TranscriptStep::Answer(answer)
            | TranscriptStep::Incomplete(answer)
            | TranscriptStep::GiveUp(answer)
            | TranscriptStep::Refused(answer)
            | TranscriptStep::Program(answer) => messages.push(json!({"role": "assistant", "content": answer})),
            TranscriptStep::Failed(_) => {}
        }
    }
    messages
}

fn call_id(call: &CallStep) -> String {
    format!("call_{}", call.row.call)
}

fn tool_call(call: &CallStep) -> Value {
    let text: String = call.arguments.iter().map(|span| span.text.as_str()).collect();
    let arguments = match serde_json::from_str(&text) {
        Ok(Value::Object(arguments)) => Value::Object(arguments),
        // Inspect's arguments are an object.
        Ok(other) => json!({"arguments": other}),
        Err(_) => json!({"arguments": text}),
    };
    json!({"id": call_id(call), "function": call.tool, "arguments": arguments, "type": "function"})
}

fn response(call: &CallStep) -> Value {
    // Inspect shows a model the message of an error, and not the content beside it.
    let error = call.row.is_error.then(|| json!({"type": "unknown", "message": call.response}));
    json!({
        "role": "tool",
        "content": call.response,
        "tool_call_id": call_id(call),
        "function": call.tool,
        "error": error,
        "metadata": {
            "error_class": call.row.error_class.as_ref().map(ToString::to_string),
            "response_tokens": call.row.response_tokens,
            "injected": call.row.injected,
            "chain": call.row.chain,
        },
    })
}
