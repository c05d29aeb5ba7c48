//! The transcript of a replayed episode, step by step, as plain data. The replay builds it and renderers display it.
//!
//! Texts are stored unchanged and may contain anything; renderers escape them.

mod difference;

use healbench_core::{CallRecord, Outcome};
use serde::Serialize;
use serde_json::Value;

pub use difference::{ArgumentChange, JsonSpan, SpanChange, diff_arguments, unchanged_spans};

use crate::condition::ShownCondition;

#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Transcript {
    /// The index of the episode in the run; null if the run does not have the replayed condition.
    pub episode: Option<u64>,
    pub scenario: String,
    /// The scenario's description; may be empty.
    pub description: String,
    /// The title of the agent's rows.
    pub agent: String,
    #[serde(flatten)]
    pub condition: ShownCondition,
    /// The trial, from 0.
    pub trial: u32,
    pub prompt: String,
    /// The steps, in order.
    pub steps: Vec<TranscriptStep>,
    /// The outcome of the episode.
    pub outcome: Outcome,
    pub calls: u32,
    /// Descriptions of the expectations that do not hold at the end.
    pub unmet: Vec<String>,
}

/// A step of an episode.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum TranscriptStep {
    /// The agent waited in simulated time.
    Wait {
        /// The duration in seconds.
        seconds: u32,
    },
    /// The agent wrote a text, alone or together with the calls that follow.
    Message(String),
    /// The user of a trace wrote a text.
    User(String),
    /// A tool was called.
    Call(Box<CallStep>),
    /// The agent claimed that the task is complete.
    Done(String),
    /// The model answered without a call; the text may be empty.
    Answer(String),
    /// A turn ended before it was complete.
    Incomplete(String),
    /// The agent gave up.
    GiveUp(String),
    /// The model or its provider refused to answer.
    Refused(String),
    /// The agent failed, for this reason.
    Failed(String),
    /// What an agent program did besides calling the tools.
    Program(String),
}

/// A call and its response.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct CallStep {
    /// The recorded row of the call.
    pub row: CallRecord,
    /// True if the call is part of the opening: it appears in the conversation as the model's own, but the model did
    /// not write it.
    pub opening: bool,
    /// The tool as the agent named it.
    pub tool: String,
    /// The arguments as compact JSON, as sent, split at the boundaries of changes.
    pub arguments: Vec<JsonSpan>,
    /// The number of the call that the arguments are compared with; null if no earlier call has the same target.
    pub compared_with: Option<u32>,
    /// The differences from that call's arguments.
    pub changes: Vec<ArgumentChange>,
    /// The response that the agent received.
    pub response: String,
    /// True if the user of a trace refused the call, and the response only says so.
    pub refused: bool,
    /// True if the next call changes what the call had sent, or succeeds: the agent did something with the response.
    pub acted_on: bool,
}

/// Notes of each call what the agent did next. Steps that are made one by one do not know it.
pub fn note_reactions(steps: &mut [TranscriptStep]) {
    let mut next: Option<(bool, Option<u32>)> = None;
    for step in steps.iter_mut().rev() {
        let TranscriptStep::Call(call) = step else { continue };
        let changed = |compared: Option<u32>| compared == Some(call.row.call);
        call.acted_on = next.is_some_and(|(succeeds, compared)| succeeds || changed(compared));
        let compared = call.compared_with.filter(|_| !call.changes.is_empty());
        next = Some((!call.row.is_error && !call.refused, compared));
    }
}

/// A call of an episode, in the form used to compare calls.
#[derive(Debug, Clone, PartialEq)]
pub struct SentCall {
    pub arguments: Value,
    /// The recorded row of the call, with its error chain.
    pub row: CallRecord,
}

impl CallStep {
    /// Builds the step of a call that follows the `earlier` calls of its episode.
    pub fn new(earlier: &[SentCall], call: &SentCall, opening: bool, response: String) -> CallStep {
        let reference = reference_call(earlier, &call.row);
        let (arguments, changes) = match reference {
            Some(reference) => diff_arguments(&reference.arguments, &call.arguments),
            None => (unchanged_spans(&call.arguments), Vec::new()),
        };
        CallStep {
            row: call.row.clone(),
            opening,
            tool: call.row.tool.to_string(),
            arguments,
            compared_with: reference.map(|reference| reference.row.call),
            changes,
            response,
            refused: false,
            acted_on: false,
        }
    }
}

/// Returns the earlier call with the same target as `call` whose response the agent had seen. Within an error chain
/// this is the previous call of the chain, even if the agent made lookups in between; otherwise it is the call directly
/// before, if it has the same tool and action.
fn reference_call<'a>(earlier: &'a [SentCall], call: &CallRecord) -> Option<&'a SentCall> {
    // The calls of a turn are not told the answers of each other. Without turns, a call is taken for one of its own.
    let mut seen = earlier.iter().rev().filter(|sent| call.turn.is_none() || sent.row.turn < call.turn);
    let before = seen.clone().next()?;
    let same = before.row.tool == call.tool && before.row.action == call.action;
    let chained = seen.find(|sent| call.chain.is_some() && sent.row.chain == call.chain);
    chained.or_else(|| Some(before).filter(|_| same))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn sent(call: u32, turn: u32, name: &str, chain: Option<u32>) -> SentCall {
        let (tool, action) = name.split_once('.').unwrap();
        let row = CallRecord {
            call,
            turn: Some(turn),
            tool: tool.into(),
            action: Some(action.into()),
            chain,
            ..CallRecord::default()
        };
        SentCall { arguments: json!({"action": action, "n": call}), row }
    }

    /// Returns the number of the call that the last call is compared with. The calls are one in a turn.
    fn compared(calls: &[(&str, Option<u32>)]) -> Option<u32> {
        let mut numbered = (1..).zip(calls).map(|(n, (name, chain))| sent(n, n, name, *chain)).collect::<Vec<_>>();
        let last = numbered.pop().unwrap();
        CallStep::new(&numbered, &last, false, String::new()).compared_with
    }

    #[test]
    fn a_call_is_compared_with_the_one_before_it_in_its_chain() {
        assert_eq!(compared(&[("a.set", Some(1)), ("a.set", Some(1))]), Some(1));
        // A call that reached no action is fixed by one that does.
        assert_eq!(compared(&[("a.seet", Some(1)), ("a.set", Some(1))]), Some(1));
        assert_eq!(compared(&[("a.set", Some(1)), ("a.list", None), ("a.set", Some(1))]), Some(1));
        assert_eq!(compared(&[("a.set", Some(1)), ("b.set", Some(2)), ("a.set", Some(1))]), Some(1));
    }

    #[test]
    fn outside_of_chains_only_the_same_action_right_before_counts() {
        assert_eq!(compared(&[("a.list", None)]), None);
        assert_eq!(compared(&[("a.list", None), ("a.list", None)]), Some(1));
        assert_eq!(compared(&[("a.list", None), ("a.list", Some(1))]), Some(1));
        assert_eq!(compared(&[("a.list", None), ("a.get", None), ("a.list", None)]), None);
        assert_eq!(compared(&[("a.set", Some(1)), ("a.list", None)]), None);
        assert_eq!(compared(&[("a.list", None), ("b.list", None)]), None);
    }

    #[test]
    fn a_call_is_acted_on_where_the_next_one_changes_it_or_succeeds() {
        // Each call with its number as an argument, or the same ones, and whether it fails.
        let acted_on = |made: &[(u32, bool)]| -> Vec<bool> {
            let mut calls: Vec<SentCall> = Vec::new();
            let mut steps: Vec<TranscriptStep> = Vec::new();
            for (n, (argument, fails)) in (1..).zip(made) {
                let mut call = sent(n, n, "a.set", Some(1));
                (call.arguments, call.row.is_error) = (json!({"n": argument}), *fails);
                steps.push(TranscriptStep::Call(Box::new(CallStep::new(&calls, &call, false, String::new()))));
                steps.push(TranscriptStep::Wait { seconds: 1 });
                calls.push(call);
            }
            note_reactions(&mut steps);
            let calls = steps.iter().filter_map(|step| match step {
                TranscriptStep::Call(call) => Some(call.acted_on),
                _ => None,
            });
            calls.collect()
        };
        assert_eq!(acted_on(&[(1, true), (2, true), (2, true)]), [true, false, false]);
        assert_eq!(acted_on(&[(1, true), (1, false)]), [true, false]);
        assert_eq!(acted_on(&[(1, true)]), [false]);
    }

    #[test]
    fn calls_of_one_turn_are_not_compared_with_each_other() {
        let first = sent(1, 1, "a.set", Some(1));
        let compared = |call: SentCall| CallStep::new(std::slice::from_ref(&first), &call, false, String::new());
        assert_eq!(compared(sent(2, 1, "a.set", Some(1))).compared_with, None);
        assert_eq!(compared(sent(2, 2, "a.set", Some(1))).compared_with, Some(1));
    }
}
