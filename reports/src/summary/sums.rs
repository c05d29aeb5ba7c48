//! What episodes add up to.

use healbench_record::{EpisodeRecord, Outcome};

use super::block::Slot;

/// What the scored episodes of a cell, or of several, add up to; the first four count all episodes.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Sums {
    pub(super) episodes: u64,
    pub(super) infra: u64,
    pub(super) config: u64,
    pub(super) scored: u64,
    pub(super) successes: u64,
    pub(super) false_successes: u64,
    pub(super) scheduled: u64,
    pub(super) scheduled_successes: u64,
    pub(super) spirals: u64,
    pub(super) first_calls_ok: u64,
    pub(super) calls: u64,
    pub(super) calls_of_successes: u64,
    pub(super) perfect_calls: u64,
    pub(super) perfect_calls_of_successes: u64,
    pub(super) calls_after_error: u64,
    pub(super) repeated_calls: u64,
    pub(super) chains: u64,
    pub(super) chains_fixed: u64,
    pub(super) hinted_calls: u64,
    pub(super) hints_taken: u64,
    pub(super) leaked_fields: u64,
    pub(super) prose_tokens: u64,
    /// Of calls, responses and prose.
    pub(super) tokens: u64,
    pub(super) wasted_tokens: u64,
    pub(super) guardrail_tokens: u64,
}

impl Sums {
    /// Adds an episode.
    pub(super) fn add_episode(&mut self, row: &EpisodeRecord) {
        self.episodes += 1;
        self.infra += u64::from(row.outcome == Outcome::Infra);
        self.config += u64::from(row.outcome == Outcome::Config);
        if !row.outcome.is_scored() {
            return;
        }
        let success = row.outcome == Outcome::Success;
        let tally = &row.tally;
        self.scored += 1;
        self.successes += u64::from(success);
        self.false_successes += u64::from(row.outcome == Outcome::TaskFail && row.claimed_done);
        self.scheduled += u64::from(row.scheduled);
        self.scheduled_successes += u64::from(row.scheduled && success);
        self.spirals += u64::from(tally.spiral);
        self.first_calls_ok += u64::from(tally.first_call_ok);
        self.calls += u64::from(row.calls);
        self.perfect_calls += u64::from(row.perfect_calls);
        if success {
            self.calls_of_successes += u64::from(row.calls);
            self.perfect_calls_of_successes += u64::from(row.perfect_calls);
        }
        self.calls_after_error += u64::from(tally.calls_after_error);
        self.repeated_calls += u64::from(tally.repeated_calls);
        self.chains += u64::from(tally.chains);
        self.chains_fixed += u64::from(tally.chains_fixed);
        self.hinted_calls += u64::from(tally.hinted_calls);
        self.hints_taken += u64::from(tally.hints_taken);
        self.leaked_fields += tally.leaked_fields;
        self.prose_tokens += u64::from(row.prose_tokens);
        self.tokens += tokens(row);
        self.wasted_tokens += tally.wasted_tokens;
        self.guardrail_tokens += tally.guardrail_tokens;
    }

    /// Adds the sums of other episodes.
    pub(super) fn add(&mut self, other: &Sums) {
        let Sums {
            episodes,
            infra,
            config,
            scored,
            successes,
            false_successes,
            scheduled,
            scheduled_successes,
            spirals,
            first_calls_ok,
            calls,
            calls_of_successes,
            perfect_calls,
            perfect_calls_of_successes,
            calls_after_error,
            repeated_calls,
            chains,
            chains_fixed,
            hinted_calls,
            hints_taken,
            leaked_fields,
            prose_tokens,
            tokens,
            wasted_tokens,
            guardrail_tokens,
        } = other;
        self.episodes += episodes;
        self.infra += infra;
        self.config += config;
        self.scored += scored;
        self.successes += successes;
        self.false_successes += false_successes;
        self.scheduled += scheduled;
        self.scheduled_successes += scheduled_successes;
        self.spirals += spirals;
        self.first_calls_ok += first_calls_ok;
        self.calls += calls;
        self.calls_of_successes += calls_of_successes;
        self.perfect_calls += perfect_calls;
        self.perfect_calls_of_successes += perfect_calls_of_successes;
        self.calls_after_error += calls_after_error;
        self.repeated_calls += repeated_calls;
        self.chains += chains;
        self.chains_fixed += chains_fixed;
        self.hinted_calls += hinted_calls;
        self.hints_taken += hints_taken;
        self.leaked_fields += leaked_fields;
        self.prose_tokens += prose_tokens;
        self.tokens += tokens;
        self.wasted_tokens += wasted_tokens;
        self.guardrail_tokens += guardrail_tokens;
    }
}

/// Tokens of an episode: calls, responses and prose.
pub(super) fn tokens(row: &EpisodeRecord) -> u64 {
    row.tally.call_tokens + u64::from(row.prose_tokens)
}

/// How the episodes of a cell compare to those of the same trials under `none`.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Pairs {
    pub(super) pairs: u64,
    pub(super) gains: u64,
    pub(super) losses: u64,
    pub(super) unmatched: u64,
    /// Tokens of the pairs' episodes in this cell, and under `none`.
    pub(super) tokens: [u64; 2],
    /// Calls, in the same way.
    pub(super) calls: [u64; 2],
}

impl Pairs {
    /// Adds a pair: the episode of the cell, and the one under `none`.
    pub(super) fn add_pair(&mut self, here: &Slot, there: &Slot) {
        self.pairs += 1;
        self.gains += u64::from(here.success && !there.success);
        self.losses += u64::from(!here.success && there.success);
        for (side, slot) in [here, there].into_iter().enumerate() {
            self.tokens[side] += slot.tokens;
            self.calls[side] += u64::from(slot.calls);
        }
    }

    /// Adds the pairs of another cell.
    pub(super) fn add(&mut self, other: &Pairs) {
        self.pairs += other.pairs;
        self.gains += other.gains;
        self.losses += other.losses;
        self.unmatched += other.unmatched;
        for side in 0..2 {
            self.tokens[side] += other.tokens[side];
            self.calls[side] += other.calls[side];
        }
    }
}
