//! The attempts to make a failed call succeed, and the agent's next move. One function for the episodes of a run
//! and for recorded conversations.

use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::{CallRecord, ErrorClass, NamedEntry};

/// The kind of an agent's next turn after an error.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[expect(missing_docs, reason = "the registry describes them")]
pub enum Move {
    Changed,
    Repeated,
    OtherTool,
    Stopped,
    CutOff,
}

/// All moves: each with its name in columns and documents, and a sentence.
#[rustfmt::skip]
pub const MOVES: [NamedEntry<Move>; 5] = [
    NamedEntry { value: Move::Changed, name: "changed", summary: "The same tool and action with other arguments, or with an action if that was missing or unknown." },
    NamedEntry { value: Move::Repeated, name: "repeated", summary: "The same call with equal arguments." },
    NamedEntry { value: Move::OtherTool, name: "other_tool", summary: "Calls of other tools or actions only." },
    NamedEntry { value: Move::Stopped, name: "stopped", summary: "No call." },
    NamedEntry { value: Move::CutOff, name: "cut_off", summary: "Nothing follows, or the user came first: not scored." },
];

impl Move {
    /// Returns the name used in columns and documents.
    pub fn name(self) -> &'static str {
        MOVES.iter().find(|entry| entry.value == self).map_or("", |entry| entry.name)
    }

    /// Returns the move with this name.
    pub fn from_name(name: &str) -> Option<Move> {
        MOVES.iter().find(|entry| entry.name == name).map(|entry| entry.value)
    }
}

/// The attempts and the turn that followed a failed call.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Aftermath {
    /// The agent's next turn.
    pub next_move: Move,
    /// The number of the call that tries this one again.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub next_attempt: Option<u32>,
    /// True if the next attempt shares under a fifth of the words of the smaller of both calls: probably another errand.
    pub elsewhere: bool,
    /// True if an attempt followed within three turns after one with calls of other tools only.
    pub came_back: bool,
    /// True if a message of the user followed before any other call.
    pub user_replied: bool,
}

/// A place in a conversation beyond which nothing is tried again: an answer without a call, or a message of the user.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Break {
    /// The first turn after it, or the turn that is the answer.
    pub turn: u32,
    /// True for a message of the user.
    pub by_user: bool,
}

/// Facts about an episode beside its calls.
#[derive(Debug, Clone, Copy, Default)]
pub struct Surroundings<'a> {
    /// The places beyond which nothing is tried again, in their order.
    pub breaks: &'a [Break],
    /// The turns with calls that are not among the rows, in their order.
    pub left_out: &'a [u32],
    /// True if the record ends before the agent did.
    pub is_cut_off: bool,
}

/// The number of turns after one with calls of other tools within which an agent comes back.
const COMES_BACK_WITHIN: u32 = 3;

/// The most calls of a turn that are compared with a failed call.
const MAX_COMPARED: usize = 1000;

/// Sets `aftermath` and `attempt_of` of the calls of an episode, which are in their order. Without turns, as those of a program, each call
/// counts as a turn.
///
/// The next attempt of a failed call is in the first later turn with a call of its tool and action, before the next break (a call without an
/// action, or with one that the tool does not have, may be tried again with any): the call with equal arguments, else the one whose values share most words with it, else the first. An attempt of several calls is that of the first.
pub fn follow(calls: &mut [CallRecord], around: Surroundings<'_>) {
    if !calls.iter().any(|call| call.is_error) {
        return;
    }
    let turns: Vec<u32> = calls.iter().map(|call| call.turn.unwrap_or(call.call)).collect();
    let mut words = Words(vec![None; calls.len()]);
    for at in 0..calls.len() {
        if !calls[at].is_error {
            continue;
        }
        let ending = Ending::of(turns[at], &turns[at..], around);
        let next = ending.may_try_again.then(|| next_attempt(calls, &turns, at, ending.end, &mut words)).flatten();
        calls[at].aftermath = Some(aftermath(calls, &turns, at, ending, next));
        if let Some((next, _)) = next {
            let of = calls[at].call;
            calls[next].attempt_of.get_or_insert(of);
        }
    }
}

/// The end of what follows a failed call.
#[derive(Debug, Clone, Copy)]
struct Ending {
    /// The next turn with a call.
    next_turn: Option<u32>,
    /// The first turn beyond the next break.
    end: u32,
    /// False if a break comes before the next turn.
    may_try_again: bool,
    /// The move if nothing may be tried again.
    last_move: Move,
    user_replied: bool,
}

impl Ending {
    /// `later` are the turns of the failed call and of those after it.
    fn of(turn: u32, later: &[u32], around: Surroundings<'_>) -> Ending {
        let left_out = around.left_out.partition_point(|other| *other <= turn);
        let others = [later.iter().copied().find(|next| *next > turn), around.left_out.get(left_out).copied()];
        let next_turn = others.into_iter().flatten().min();
        let breaks = &around.breaks[around.breaks.partition_point(|end| end.turn <= turn)..];
        let is_before_next = |end: &&Break| next_turn.is_none_or(|next| end.turn <= next);
        let first = breaks.first().filter(is_before_next);
        Ending {
            next_turn,
            end: breaks.first().map_or(u32::MAX, |end| end.turn),
            may_try_again: first.is_none() && next_turn.is_some(),
            last_move: match first {
                Some(Break { by_user: true, .. }) => Move::CutOff,
                None if around.is_cut_off => Move::CutOff,
                _ => Move::Stopped,
            },
            user_replied: breaks.iter().take_while(is_before_next).any(|end| end.by_user),
        }
    }
}

fn aftermath(
    calls: &[CallRecord],
    turns: &[u32],
    at: usize,
    ending: Ending,
    next: Option<(usize, Shared)>,
) -> Aftermath {
    let made = |next: usize| match () {
        () if Some(turns[next]) != ending.next_turn => Move::OtherTool,
        () if calls[next].arguments == calls[at].arguments => Move::Repeated,
        () => Move::Changed,
    };
    let next_move = match next {
        Some((next, _)) => made(next),
        None if ending.may_try_again => Move::OtherTool,
        None => ending.last_move,
    };
    let turns_later = next.zip(ending.next_turn).map(|((next, _), next_turn)| turns[next] - next_turn);
    Aftermath {
        next_move,
        next_attempt: next.map(|(next, _)| calls[next].call),
        elsewhere: next.is_some_and(|(_, shared)| shared.smaller > 0 && shared.words * 5 < shared.smaller),
        came_back: next_move == Move::OtherTool && turns_later.is_some_and(|later| later <= COMES_BACK_WITHIN),
        user_replied: ending.user_replied,
    }
}

/// Returns the index of the next attempt of a failed call before the turn `end`, and the words that both share.
fn next_attempt(
    calls: &[CallRecord],
    turns: &[u32],
    at: usize,
    end: u32,
    words: &mut Words,
) -> Option<(usize, Shared)> {
    let failed = &calls[at];
    let had_action = failed.error_class.as_ref().is_none_or(ErrorClass::is_routed);
    let is_again = |later: &usize| {
        turns[*later] > turns[at]
            && turns[*later] < end
            && calls[*later].tool == failed.tool
            && (calls[*later].action == failed.action || !had_action)
    };
    let first = (at + 1..calls.len()).find(is_again)?;
    let same_turn = || (first..calls.len()).take_while(|later| turns[*later] == turns[first]).filter(is_again);
    if let Some(equal) = same_turn().find(|later| calls[*later].arguments == failed.arguments) {
        return Some((equal, words.shared(calls, at, equal)));
    }
    let mut best = (first, words.shared(calls, at, first));
    for later in same_turn().take(MAX_COMPARED).skip(1) {
        let shared = words.shared(calls, at, later);
        if shared.words > best.1.words {
            best = (later, shared);
        }
    }
    Some(best)
}

/// The words of calls, by their index, as far as they were needed.
struct Words(Vec<Option<BTreeSet<String>>>);

impl Words {
    fn shared(&mut self, calls: &[CallRecord], one: usize, other: usize) -> Shared {
        for at in [one, other] {
            self.0[at].get_or_insert_with(|| words_of(&calls[at].arguments));
        }
        match (&self.0[one], &self.0[other]) {
            (Some(one), Some(other)) => {
                Shared { words: one.intersection(other).count(), smaller: one.len().min(other.len()) }
            }
            _ => Shared { words: 0, smaller: 0 },
        }
    }
}

/// The words that two calls share.
#[derive(Debug, Clone, Copy)]
struct Shared {
    words: usize,
    /// The words of the call that has fewer.
    smaller: usize,
}

/// Returns the words of the values of arguments: runs of letters and digits in lower case.
fn words_of(arguments: &str) -> BTreeSet<String> {
    fn add(value: &Value, words: &mut BTreeSet<String>) {
        let text = match value {
            Value::Object(map) => return map.values().for_each(|value| add(value, words)),
            Value::Array(values) => return values.iter().for_each(|value| add(value, words)),
            Value::String(text) => text.to_lowercase(),
            Value::Null => return,
            scalar => scalar.to_string(),
        };
        let runs = text.split(|character: char| !character.is_alphanumeric());
        words.extend(runs.filter(|word| !word.is_empty()).map(str::to_owned));
    }
    let mut words = BTreeSet::new();
    // Rows hold canonical JSON.
    if let Ok(value) = serde_json::from_str(arguments) {
        add(&value, &mut words);
    }
    words
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns calls written as `TURN TOOL ARGUMENTS [!]`, with `!` for those that failed.
    fn calls(lines: &[&str]) -> Vec<CallRecord> {
        let call = |(at, line): (usize, &&str)| {
            let (line, is_error) = line.strip_suffix(" !").map_or((*line, false), |line| (line, true));
            let mut parts = line.splitn(3, ' ');
            let turn = parts.next().and_then(|turn| turn.parse().ok());
            let tool = parts.next().unwrap_or_default().into();
            let arguments = parts.next().unwrap_or("{}").into();
            CallRecord { call: at as u32 + 1, turn, tool, arguments, is_error, ..CallRecord::default() }
        };
        lines.iter().enumerate().map(call).collect()
    }

    /// Returns the moves and next attempts of the failed calls.
    fn followed(lines: &[&str], breaks: &[Break], is_cut_off: bool) -> Vec<(&'static str, Option<u32>)> {
        let mut calls = calls(lines);
        follow(&mut calls, Surroundings { breaks, is_cut_off, ..Surroundings::default() });
        calls.iter().filter_map(|call| Some((call.aftermath?.next_move.name(), call.aftermath?.next_attempt))).collect()
    }

    #[test]
    fn the_next_turn_is_the_move() {
        let changed = [r#"1 a {"x":1} !"#, r#"2 a {"x":2}"#];
        assert_eq!(followed(&changed, &[], false), [("changed", Some(2))]);
        let repeated = [r#"1 a {"x":1} !"#, r#"2 a {"x":1} !"#];
        assert_eq!(followed(&repeated, &[], false), [("repeated", Some(2)), ("stopped", None)]);
        assert_eq!(followed(&repeated, &[], true)[1], ("cut_off", None));
        let other = ["1 a {} !", "2 b {}", "3 a {}"];
        assert_eq!(followed(&other, &[], false), [("other_tool", Some(3))]);
    }

    #[test]
    fn an_action_that_was_missing_or_unknown_is_tried_again_with_another() {
        let next = |action: Option<&str>, error_class: Option<ErrorClass>| {
            let mut calls = calls(&["1 a {} !", r#"2 a {"action":"list"}"#]);
            calls[0].action = action.map(Into::into);
            calls[0].error_class = error_class;
            calls[1].action = Some("list".into());
            follow(&mut calls, Surroundings::default());
            calls[0].aftermath.unwrap().next_move.name()
        };
        assert_eq!(next(None, Some(ErrorClass::MissingDiscriminator)), "changed");
        assert_eq!(next(Some("lst"), Some(ErrorClass::UnknownAction)), "changed");
        assert_eq!(next(Some("get"), Some(ErrorClass::Validation)), "other_tool");
    }

    #[test]
    fn calls_that_are_left_out_are_calls_of_other_tools() {
        let left_out = |lines: &[&str]| {
            let mut rows = calls(lines);
            follow(&mut rows, Surroundings { left_out: &[2], ..Surroundings::default() });
            let aftermath = rows[0].aftermath.unwrap();
            (aftermath.next_move.name(), aftermath.next_attempt, aftermath.came_back)
        };
        assert_eq!(left_out(&["1 a {} !", "3 a {}"]), ("other_tool", Some(2), true));
        assert_eq!(left_out(&["1 a {} !"]), ("other_tool", None, false));
        assert_eq!(left_out(&["1 a {} !", "2 a {}"]), ("repeated", Some(2), false));
    }

    #[test]
    fn an_answer_and_the_user_end_a_chain() {
        let lines = ["1 a {} !", "3 a {}"];
        let answer = Break { turn: 2, by_user: false };
        let user = Break { turn: 3, by_user: true };
        assert_eq!(followed(&lines, &[answer, user], false), [("stopped", None)]);
        let interrupted = Break { turn: 2, by_user: true };
        assert_eq!(followed(&lines, &[interrupted], false), [("cut_off", None)]);
        let mut rows = calls(&lines);
        follow(&mut rows, Surroundings { breaks: &[answer, user], ..Surroundings::default() });
        assert!(rows[0].aftermath.unwrap().user_replied);
        follow(&mut rows, Surroundings { breaks: &[answer], ..Surroundings::default() });
        assert!(!rows[0].aftermath.unwrap().user_replied);
        // A break after the next turn takes nothing away.
        assert_eq!(followed(&["1 a {} !", "2 a {}"], &[user], false), [("repeated", Some(2))]);
    }

    #[test]
    fn of_several_calls_the_most_similar_is_the_attempt() {
        let lines = [
            r#"1 a {"city":"Rome","day":"May 1"} !"#,
            r#"1 a {"city":"Oslo","day":"May 2"} !"#,
            r#"2 a {"city":"Oslo","day":"June 2"}"#,
            r#"2 a {"city":"Rome","day":"June 1"}"#,
        ];
        assert_eq!(followed(&lines, &[], false), [("changed", Some(4)), ("changed", Some(3))]);
        // A call that repeats one word and nothing else is less similar than one that repeats three among others.
        let more = [
            r#"1 a {"q":"hiking trip","from":"Mark"} !"#,
            r#"2 a {"from":"Mark"}"#,
            r#"2 a {"q":"hiking trip","from":"Mark Smith"}"#,
        ];
        assert_eq!(followed(&more, &[], false), [("changed", Some(3))]);
        // An equal call goes before a similar one, and one call may answer several.
        let equal = [r#"1 a {"x":"p q"} !"#, r#"1 a {"x":"q"} !"#, r#"2 a {"x":"q"}"#, r#"2 b {"x":"q"}"#];
        let mut rows = calls(&equal);
        follow(&mut rows, Surroundings::default());
        let next: Vec<_> = rows.iter().map(|row| row.aftermath.and_then(|aftermath| aftermath.next_attempt)).collect();
        assert_eq!(next, [Some(3), Some(3), None, None]);
        assert_eq!(rows[2].attempt_of, Some(1));
    }

    #[test]
    fn calls_with_few_common_words_are_another_errand() {
        let lines = |next: &str| {
            let mut rows = calls(&[r#"1 a {"q":"red green blue cyan pink grey"} !"#, next]);
            follow(&mut rows, Surroundings::default());
            rows[0].aftermath.unwrap().elsewhere
        };
        assert!(lines(r#"2 a {"q":"one two three four five six"}"#));
        assert!(lines(r#"2 a {"q":"RED two three four five six"}"#));
        assert!(!lines(r#"2 a {"q":"RED two three four"}"#));
        assert!(!lines(r"2 a {}"), "a call without values is compared with nothing");
    }

    #[test]
    fn coming_back_takes_at_most_three_turns_more() {
        let back = |turn: u32| {
            let mut rows = calls(&["1 a {} !", "2 b {}", &format!("{turn} a {{}}")]);
            follow(&mut rows, Surroundings::default());
            rows[0].aftermath.unwrap().came_back
        };
        assert!(back(3) && back(5) && !back(6));
    }
}
