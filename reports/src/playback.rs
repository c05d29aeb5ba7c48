//! An episode that was played again, step by step, for a person to read. Plain data: whoever plays makes it, and renderers show it.
//!
//! Texts are as they were said. They may hold anything; renderers make them safe to show.

mod difference;

use healbench_protocol::{ErrorFormat, Guardrails};
use healbench_record::{CallRecord, Outcome};
use serde::Serialize;
use serde_json::Value;

pub use difference::{Change, Mark, Piece, differences, unmarked};

use crate::summary::by_name;

/// An episode that was played again.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Playback {
    /// The episode's number in the run; null when it was played under a setting that the run does not have.
    pub episode: Option<u64>,
    /// The scenario's id.
    pub scenario: String,
    /// What the scenario says of itself; it may be nothing.
    pub description: String,
    /// The agent's title.
    pub agent: String,
    /// The guardrails in force.
    pub guardrails: Guardrails,
    /// How failures were written; its name in JSON.
    #[serde(serialize_with = "by_name")]
    pub format: ErrorFormat,
    /// The trial, from 0.
    pub trial: u32,
    /// The task, in words.
    pub prompt: String,
    /// What happened, in its order.
    pub steps: Vec<Step>,
    /// How it ended.
    pub outcome: Outcome,
    /// Calls made.
    pub calls: u32,
    /// The expectations that do not hold in the end, in words.
    pub unmet: Vec<String>,
}

/// Something that happened in an episode.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Step {
    /// The agent waited in the world's own time.
    Waits {
        /// How long.
        seconds: u32,
    },
    /// The agent said something, alone or beside the calls that follow.
    Says(String),
    /// A tool was called.
    Call(Box<CallStep>),
    /// The agent said that the task is complete.
    Done(String),
    /// A model stopped calling and answered in words; there may be none.
    Answers(String),
    /// A turn broke off before it was whole.
    BrokenOff(String),
    /// The agent said that it cannot complete the task.
    GivesUp(String),
    /// The agent itself failed, for this reason.
    Failed(String),
}

/// A call, and what came back.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct CallStep {
    /// What the run records of it.
    pub row: CallRecord,
    /// Whether it is the scheduled opening: it stands in the conversation as the model's own, and the model was not asked.
    pub opening: bool,
    /// The tool as the agent named it.
    pub tool: String,
    /// The arguments as compact JSON, as they were sent, cut where marks begin and end.
    pub arguments: Vec<Piece>,
    /// The number of the call that the arguments are compared with; null when no earlier one was about the same thing.
    pub compared_with: Option<u32>,
    /// What differs from the arguments of that call.
    pub changes: Vec<Change>,
    /// The response as the agent saw it.
    pub response: String,
}

/// An earlier call of an episode, which later ones may be compared with.
#[derive(Debug, Clone, PartialEq)]
pub struct Sent {
    /// Its arguments.
    pub arguments: Value,
    /// What the run records of it.
    pub row: CallRecord,
}

impl CallStep {
    /// The step of the call that follows the `earlier` ones of its episode.
    pub fn new(earlier: &[Sent], call: &Sent, opening: bool, response: String) -> CallStep {
        let reference = reference(earlier, &call.row);
        let (arguments, changes) = match reference {
            Some(reference) => differences(&reference.arguments, &call.arguments),
            None => (unmarked(&call.arguments), Vec::new()),
        };
        CallStep {
            row: call.row.clone(),
            opening,
            tool: call.row.tool.to_string(),
            arguments,
            compared_with: reference.map(|reference| reference.row.call),
            changes,
            response,
        }
    }
}

/// The earlier call that is about the same thing as `call`: one of the same tool, whose response the agent had seen.
///
/// In the turn before it, that is the latest failed call with the same action, or else the latest failed one, for a retry may choose
/// another action; or else the latest with the same action. When none is, but the latest call with the same action failed, it is that
/// one: an agent that looks something up comes back to it.
fn reference<'a>(earlier: &'a [Sent], call: &CallRecord) -> Option<&'a Sent> {
    let seen = || earlier.iter().rev().filter(|sent| sent.row.turn < call.turn);
    let turn = seen().next()?.row.turn;
    let same_tool = || seen().filter(|sent| sent.row.tool == call.tool);
    let before = || same_tool().filter(|sent| sent.row.turn == turn);
    let same_action = |sent: &&Sent| sent.row.action == call.action;
    let failed = |sent: &&Sent| sent.row.is_error;
    before()
        .filter(failed)
        .find(same_action)
        .or_else(|| before().find(failed))
        .or_else(|| before().find(same_action))
        .or_else(|| same_tool().find(same_action).filter(failed))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn sent(call: u32, turn: u32, tool: &str, action: &str, is_error: bool) -> Sent {
        let row = CallRecord {
            call,
            turn,
            tool: tool.into(),
            action: Some(action.into()),
            is_error,
            ..CallRecord::default()
        };
        Sent { arguments: json!({"action": action, "n": call}), row }
    }

    /// The number of the call that the last of these is compared with.
    fn compared(mut calls: Vec<Sent>) -> Option<u32> {
        let last = calls.pop().unwrap();
        CallStep::new(&calls, &last, false, String::new()).compared_with
    }

    #[test]
    fn a_call_is_compared_with_the_one_that_it_mends() {
        let failed = sent(1, 1, "tickets", "update", true);
        let fine = sent(1, 1, "tickets", "update", false);
        assert_eq!(compared(vec![sent(1, 1, "tickets", "list", false)]), None);
        assert_eq!(compared(vec![failed.clone(), sent(2, 2, "tickets", "update", false)]), Some(1));
        assert_eq!(compared(vec![fine.clone(), sent(2, 2, "tickets", "update", false)]), Some(1));
        // A failure may be mended by another action; a success is over.
        assert_eq!(compared(vec![failed.clone(), sent(2, 2, "tickets", "close", false)]), Some(1));
        assert_eq!(compared(vec![fine, sent(2, 2, "tickets", "close", false)]), None);
        assert_eq!(compared(vec![failed, sent(2, 2, "users", "update", false)]), None);
    }

    #[test]
    fn a_failure_waits_for_what_was_looked_up() {
        let looked_up = |is_error| {
            compared(vec![
                sent(1, 1, "tickets", "update", is_error),
                sent(2, 2, "tickets", "list", false),
                sent(3, 3, "tickets", "update", false),
            ])
        };
        assert_eq!((looked_up(true), looked_up(false)), (Some(1), None));
    }

    #[test]
    fn calls_of_one_turn_know_nothing_of_each_other() {
        let pair =
            |second_failed| vec![sent(1, 1, "tickets", "update", true), sent(2, 1, "tickets", "update", second_failed)];
        assert_eq!(compared(pair(false)), None);
        let after = |second_failed| [pair(second_failed), vec![sent(3, 2, "tickets", "update", false)]].concat();
        assert_eq!((compared(after(false)), compared(after(true))), (Some(1), Some(2)));
    }
}
