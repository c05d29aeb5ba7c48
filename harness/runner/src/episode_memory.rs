//! Episodes that a thread has run. Where nothing but the decisions of draws differs between trials, an episode is run once and its rows
//! are repeated.

use std::sync::Arc;

use healbench_core::{Answers, CallRecord, Decision, DrawKey, EpisodeRecord, Question};
use healbench_scenarios::Schedule;
use rustc_hash::FxHashMap;

/// The start of an episode, on which its rows depend besides the decisions of its draws.
#[derive(Clone, PartialEq, Eq, Hash)]
pub(crate) struct StartKey {
    agent: usize,
    condition: usize,
    /// The number of the initial state.
    world: u32,
    /// The address of the schedule, which trials share.
    schedule: usize,
}

impl StartKey {
    /// The start of a cell's episode with a shared schedule, which must outlive the memory.
    pub(crate) fn new(agent: usize, condition: usize, world: u32, schedule: &Arc<Schedule>) -> StartKey {
        StartKey { agent, condition, world, schedule: Arc::as_ptr(schedule) as usize }
    }
}

/// The rows of an episode.
pub(crate) type EpisodeRows = (EpisodeRecord, Vec<CallRecord>);

/// The next question after the decisions so far, or the end.
enum Node {
    Question { stream: usize, opened: Option<(Box<str>, u64)>, question: Question, answers: Vec<(u64, Node)> },
    End(Box<EpisodeRows>),
}

/// The episodes of a scenario that a thread has run.
#[derive(Default)]
pub(crate) struct EpisodeMemory {
    scenario: usize,
    starts: FxHashMap<StartKey, Node>,
    /// The approximate size in bytes.
    bytes: usize,
}

/// The size at which the memory is cleared.
const MAX_BYTES: usize = 16 << 20;

impl EpisodeMemory {
    /// Forgets the episodes of another scenario.
    pub(crate) fn enter(&mut self, scenario: usize) {
        if self.scenario != scenario {
            self.clear();
            self.scenario = scenario;
        }
    }

    fn clear(&mut self) {
        self.starts.clear();
        self.bytes = 0;
    }

    /// Returns the rows of an episode whose draws have this key, if one with the same decisions was run.
    pub(crate) fn rows(&self, start: &StartKey, key: DrawKey, episode: u64) -> Option<EpisodeRows> {
        let mut node = self.starts.get(start)?;
        let mut answers = Answers::new(key);
        loop {
            match node {
                Node::End(rows) => {
                    let (mut row, mut calls) = (**rows).clone();
                    row.episode = episode;
                    calls.iter_mut().for_each(|call| call.episode = episode);
                    return Some((row, calls));
                }
                Node::Question { stream, opened, question, answers: known } => {
                    let answer = answers.next(*stream, opened.as_ref(), question)?;
                    node = known.iter().find_map(|(known, next)| (*known == answer).then_some(next))?;
                }
            }
        }
    }

    /// Adds the rows of an episode that was run.
    pub(crate) fn add(&mut self, start: StartKey, decisions: Vec<Decision>, rows: &EpisodeRows) {
        let size =
            size_of::<EpisodeRecord>() + size_of_val(rows.1.as_slice()) + decisions.len() * size_of::<Node>() * 2;
        if self.bytes + size > MAX_BYTES {
            self.clear();
        }
        self.bytes += size;
        let end = Node::End(Box::new(rows.clone()));
        // What is new hangs on one branch, built from its end.
        let mut rest = decisions.into_iter();
        let Some(mut node) = self.starts.get_mut(&start) else {
            self.starts.insert(start, chain(rest, end));
            return;
        };
        while let Some(decision) = rest.next() {
            let Node::Question { stream, question, answers, .. } = node else { return };
            debug_assert_eq!(
                (*stream, *question),
                (decision.stream, decision.question),
                "equal decisions, other questions"
            );
            match answers.iter().position(|(answer, _)| *answer == decision.answer) {
                Some(at) => node = &mut answers[at].1,
                None => {
                    answers.push((decision.answer, chain(rest, end)));
                    return;
                }
            }
        }
    }
}

/// Returns the nodes of an episode that no other one shares.
fn chain(decisions: impl DoubleEndedIterator<Item = Decision>, end: Node) -> Node {
    decisions.rev().fold(end, |next, Decision { stream, opened, question, answer }| Node::Question {
        stream,
        opened,
        question,
        answers: vec![(answer, next)],
    })
}
