//! The diagnostics of an agent: the words in its rows, and one that only all of its rows show.

use std::collections::BTreeMap;

use healbench_core::diagnostics::NO_CALLS;
use healbench_core::{AgentSpec, EndedBy, EpisodeRecord, Outcome, ToolsMode};

use super::Diagnostic;

/// The fewest failed episodes of an agent without any call that are reported.
const MIN_FAILED: u64 = 3;

/// Counts over the episodes of an agent, of any outcome.
#[derive(Default)]
pub(super) struct AnswerCounts {
    /// The answers with each word of [`healbench_core::diagnostics`].
    by_word: BTreeMap<String, u64>,
    /// The calls of the model, without those of a seeded opening.
    calls: u64,
    /// The episodes that ended with an answer in words.
    in_words: u64,
    /// Those of them that failed. Where stopping is right, an answer without a call says nothing about a server.
    failed: u64,
}

impl AnswerCounts {
    pub(super) fn add(&mut self, row: &EpisodeRecord) {
        let Some(model) = &row.model else { return };
        for word in &model.diagnostics {
            *self.by_word.entry(word.clone()).or_default() += 1;
        }
        self.calls += u64::from(row.calls.saturating_sub(model.opening_calls));
        if row.ended_by == EndedBy::Answer {
            self.in_words += 1;
            self.failed += u64::from(row.outcome != Outcome::Success);
        }
    }

    /// Returns the diagnostics of the agent, in the order of their words.
    pub(super) fn diagnostics(&self, agent: &AgentSpec) -> Vec<Diagnostic> {
        let mut by_word = self.by_word.clone();
        if agent.tools == Some(ToolsMode::Native) && self.calls == 0 && self.failed >= MIN_FAILED {
            by_word.insert(NO_CALLS.to_owned(), self.in_words);
        }
        by_word.into_iter().map(|(word, answers)| Diagnostic { word, answers }).collect()
    }
}
