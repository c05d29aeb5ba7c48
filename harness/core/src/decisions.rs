//! The decisions that draws make, in their order. Two episodes that begin alike and make the same decisions are equal.

use std::cell::RefCell;

use crate::draw_key::DrawKey;
use crate::moves::Shares;

/// A question that a stream of draws answers with a small number.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Question {
    /// An event with this probability: 1 if it happens, else 0.
    Chance(f64),
    /// A number below this one.
    Below(u64),
    /// The move with these shares, as its place in [`Move`](crate::Move).
    Move(Shares),
}

/// An answered question.
#[derive(Debug, Clone, PartialEq)]
pub struct Decision {
    /// The number of its stream among those that decided something, from 0.
    pub stream: usize,
    /// The purpose and the number of the stream, as in [`DrawKey::draws`]; `None` unless it is the stream's first decision.
    pub opened: Option<(Box<str>, u64)>,
    /// The question.
    pub question: Question,
    /// The answer.
    pub answer: u64,
}

/// The decisions of the streams of one key on this thread, while they are recorded.
struct Recording {
    key: DrawKey,
    decisions: Vec<Decision>,
    streams: usize,
    /// True if a number was drawn that is no answer to a question.
    has_others: bool,
}

thread_local! {
    static RECORDING: RefCell<Option<Recording>> = const { RefCell::new(None) };
}

/// The identity of a stream whose decisions are recorded.
#[derive(Debug)]
pub(crate) struct RecordedStream {
    /// The purpose and the number, until the first decision.
    source: Option<(Box<str>, u64)>,
    number: usize,
}

impl RecordedStream {
    /// Returns the identity of a new stream of `key`, if its decisions are recorded.
    pub(crate) fn new(key: &DrawKey, purpose: &str, n: u64) -> Option<Box<RecordedStream>> {
        let is_recorded = RECORDING.with_borrow(|recording| recording.as_ref().is_some_and(|one| one.key == *key));
        is_recorded.then(|| Box::new(RecordedStream { source: Some((purpose.into(), n)), number: 0 }))
    }

    pub(crate) fn decide(&mut self, question: Question, answer: u64) {
        RECORDING.with_borrow_mut(|recording| {
            let Some(recording) = recording else { return };
            let opened = self.source.take();
            if opened.is_some() {
                self.number = recording.streams;
                recording.streams += 1;
            }
            recording.decisions.push(Decision { stream: self.number, opened, question, answer });
        });
    }

    /// Notes that a number was drawn that is no answer to a question.
    pub(crate) fn draw_other(&mut self) {
        RECORDING.with_borrow_mut(|recording| _ = recording.as_mut().map(|recording| recording.has_others = true));
    }
}

/// Calls `run`, and returns the decisions that streams of `key` made meanwhile on this thread; `None` if a number was drawn that is no
/// answer to a question.
pub fn record_decisions<T>(key: DrawKey, run: impl FnOnce() -> T) -> (T, Option<Vec<Decision>>) {
    /// Ends the recording, whatever `run` does.
    struct End;
    impl Drop for End {
        fn drop(&mut self) {
            RECORDING.take();
        }
    }
    let end = End;
    RECORDING.set(Some(Recording { key, decisions: Vec::new(), streams: 0, has_others: false }));
    let result = run();
    let recording = RECORDING.take();
    drop(end);
    (result, recording.filter(|recording| !recording.has_others).map(|recording| recording.decisions))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Answers, Seed};

    fn play(key: DrawKey) -> Vec<u64> {
        let (mut first, mut second) = (key.draws("first", 0), key.draws("second", 3));
        let mut made = vec![first.below(7), u64::from(second.chance(0.4)), u64::from(first.chance(0.5))];
        if made[0] < 3 {
            made.push(second.below(100));
        }
        made.push(key.draws("first", 0).below(7));
        made
    }

    #[test]
    fn recorded_decisions_are_answered_alike() {
        for trial in 0..40 {
            let key = DrawKey::of_trial(Seed(5), "scenario", trial);
            let (made, decisions) = record_decisions(key, || play(key));
            let decisions = decisions.unwrap();
            assert_eq!(made, play(key), "recording changes nothing");
            assert_eq!(made, decisions.iter().map(|decision| decision.answer).collect::<Vec<_>>());
            assert_eq!(decisions.iter().filter(|decision| decision.opened.is_some()).count(), 3);
            let mut answers = Answers::new(key);
            for decision in &decisions {
                let answer = answers.next(decision.stream, decision.opened.as_ref(), &decision.question);
                assert_eq!(answer, Some(decision.answer));
            }
        }
    }

    #[test]
    fn other_keys_are_not_recorded_and_other_numbers_end_a_recording() {
        let key = DrawKey::of_run(Seed(1));
        let other = DrawKey::of_run(Seed(2));
        assert_eq!(record_decisions(key, || _ = play(other)).1, Some(Vec::new()));
        assert_eq!(record_decisions(key, || _ = key.draws("p", 0).unit()).1, None);
        assert_eq!(record_decisions(key, || _ = key.draws("p", 0).between(i64::MIN, i64::MAX)).1, None);
        let (_, decisions) = record_decisions(key, || key.draws("p", 0).between(3, 5));
        assert_eq!(decisions.unwrap()[0].question, Question::Below(3));
    }

    #[test]
    fn a_panic_ends_the_recording() {
        let key = DrawKey::of_run(Seed(1));
        let panicked = std::panic::catch_unwind(|| record_decisions(key, || panic!("on purpose")));
        assert!(panicked.is_err());
        assert!(RecordedStream::new(&key, "p", 0).is_none());
    }
}
