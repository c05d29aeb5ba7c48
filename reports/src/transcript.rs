//! An episode that was played again, step by step, for a person to read. Plain data: whoever plays makes it, and renderers show it.
//!
//! Texts are as they were said. They may hold anything; renderers make them safe to show.

mod difference;

use healbench_protocol::{ErrorFormat, Guardrails};
use healbench_record::{CallRecord, Outcome};
use serde::Serialize;
use serde_json::Value;

pub use difference::{ArgumentChange, JsonSpan, SpanChange, differences, unmarked};

use crate::summary::by_name;

/// An episode that was played again.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Transcript {
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
    pub steps: Vec<TranscriptStep>,
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
pub enum TranscriptStep {
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
    Incomplete(String),
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
    pub arguments: Vec<JsonSpan>,
    /// The number of the call that the arguments are compared with; null when no earlier one was about the same thing.
    pub compared_with: Option<u32>,
    /// What differs from the arguments of that call.
    pub changes: Vec<ArgumentChange>,
    /// The response as the agent saw it.
    pub response: String,
}

/// A call of an episode, as it is compared with others.
#[derive(Debug, Clone, PartialEq)]
pub struct Sent {
    /// Its arguments.
    pub arguments: Value,
    /// What the run records of it, with its chain.
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

/// The earlier call that is about the same thing as `call`, whose response the agent had seen: within an error chain the one before it,
/// though the agent may have looked something up in between; elsewhere the one right before, if it has the same tool and action.
fn reference<'a>(earlier: &'a [Sent], call: &CallRecord) -> Option<&'a Sent> {
    let mut seen = earlier.iter().rev().filter(|sent| sent.row.turn < call.turn);
    let before = seen.clone().next()?;
    let same = before.row.tool == call.tool && before.row.action == call.action;
    let chained = seen.find(|sent| call.chain.is_some() && sent.row.chain == call.chain);
    chained.or_else(|| Some(before).filter(|_| same))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn sent(call: u32, turn: u32, name: &str, chain: Option<u32>) -> Sent {
        let (tool, action) = name.split_once('.').unwrap();
        let row =
            CallRecord { call, turn, tool: tool.into(), action: Some(action.into()), chain, ..CallRecord::default() };
        Sent { arguments: json!({"action": action, "n": call}), row }
    }

    /// The number of the call that the last of these is compared with. They are one in a turn.
    fn compared(calls: &[(&str, Option<u32>)]) -> Option<u32> {
        let mut numbered = (1..).zip(calls).map(|(n, (name, chain))| sent(n, n, name, *chain)).collect::<Vec<_>>();
        let last = numbered.pop().unwrap();
        CallStep::new(&numbered, &last, false, String::new()).compared_with
    }

    #[test]
    fn a_call_is_compared_with_the_one_before_it_in_its_chain() {
        assert_eq!(compared(&[("a.set", Some(1)), ("a.set", Some(1))]), Some(1));
        // A call that reached no action is mended by one that does.
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
    fn calls_of_one_turn_know_nothing_of_each_other() {
        let first = sent(1, 1, "a.set", Some(1));
        let compared = |call: Sent| CallStep::new(std::slice::from_ref(&first), &call, false, String::new());
        assert_eq!(compared(sent(2, 1, "a.set", Some(1))).compared_with, None);
        assert_eq!(compared(sent(2, 2, "a.set", Some(1))).compared_with, Some(1));
    }
}
