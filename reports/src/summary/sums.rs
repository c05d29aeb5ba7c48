//! What episodes add up to.

use healbench_record::{EpisodeRecord, ModelUsage, Outcome};

use super::block::EpisodeValues;

/// What the scored episodes of a cell, or of several, add up to; the first four count all episodes.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub(super) struct Sums {
    pub(super) episodes: u64,
    pub(super) infra: u64,
    pub(super) config: u64,
    pub(super) scored: u64,
    pub(super) successes: u64,
    pub(super) false_successes: u64,
    pub(super) scheduled: u64,
    pub(super) scheduled_successes: u64,
    pub(super) stuck: u64,
    /// Episodes whose first call was the agent's own.
    pub(super) first_calls: u64,
    pub(super) first_call_successes: u64,
    pub(super) calls: u64,
    pub(super) calls_of_successes: u64,
    pub(super) perfect_calls: u64,
    pub(super) perfect_calls_of_successes: u64,
    pub(super) calls_after_error: u64,
    pub(super) repeated_calls: u64,
    pub(super) chains: u64,
    pub(super) errors_fixed: u64,
    pub(super) hinted_calls: u64,
    pub(super) hints_followed: u64,
    pub(super) leaked_fields: u64,
    pub(super) prose_tokens: u64,
    /// Of calls, responses and prose.
    pub(super) tokens: u64,
    pub(super) wasted_tokens: u64,
    pub(super) guardrail_tokens: u64,
    pub(super) models: ModelSums,
}

/// What the scored episodes of models add up to.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub(super) struct ModelSums {
    pub(super) episodes: u64,
    pub(super) turns: u64,
    pub(super) latency_ms: u64,
    /// Input and output tokens that the provider counted, or where it did not, healbench did.
    pub(super) input: u64,
    pub(super) output: u64,
    /// Of the episodes that the provider counted: its counts, and those of healbench.
    pub(super) provider: [u64; 2],
    pub(super) bpe: [u64; 2],
    /// Of the episodes whose provider tells of reading from a cache, of writing to one, of reasoning: what it is a part of, and it.
    pub(super) cache_read: [u64; 2],
    pub(super) cache_write: [u64; 2],
    pub(super) reasoning: [u64; 2],
    pub(super) usd: f64,
    /// Episodes whose cost is not known.
    pub(super) unpriced: u64,
}

impl ModelSums {
    fn add_episode(&mut self, model: &ModelUsage) {
        self.episodes += 1;
        self.turns += u64::from(model.turns);
        self.latency_ms += model.latency_ms;
        match model.usage {
            Some(usage) => {
                self.input += usage.input;
                self.output += usage.output;
                self.provider = [self.provider[0] + usage.input, self.provider[1] + usage.output];
                self.bpe = [self.bpe[0] + model.bpe_input, self.bpe[1] + model.bpe_output];
                let parts = [
                    (&mut self.cache_read, usage.cache_read, usage.input),
                    (&mut self.cache_write, usage.cache_write, usage.input),
                    (&mut self.reasoning, usage.reasoning, usage.output),
                ];
                for (sums, part, whole) in parts {
                    if let Some(part) = part {
                        *sums = [sums[0] + part, sums[1] + whole];
                    }
                }
            }
            None => {
                self.input += model.bpe_input;
                self.output += model.bpe_output;
            }
        }
        match model.usd {
            Some(usd) => self.usd += usd,
            // Nothing was asked: that is known to cost nothing.
            None if model.turns == 0 => {}
            None => self.unpriced += 1,
        }
    }

    fn add(&mut self, other: &ModelSums) {
        let ModelSums {
            episodes,
            turns,
            latency_ms,
            input,
            output,
            provider,
            bpe,
            cache_read,
            cache_write,
            reasoning,
            usd,
            unpriced,
        } = other;
        self.episodes += episodes;
        self.turns += turns;
        self.latency_ms += latency_ms;
        self.input += input;
        self.output += output;
        let pairs = [
            (&mut self.provider, provider),
            (&mut self.bpe, bpe),
            (&mut self.cache_read, cache_read),
            (&mut self.cache_write, cache_write),
            (&mut self.reasoning, reasoning),
        ];
        for (sums, other) in pairs {
            *sums = [sums[0] + other[0], sums[1] + other[1]];
        }
        self.usd += usd;
        self.unpriced += unpriced;
    }
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
        let counts = &row.counts;
        self.scored += 1;
        self.successes += u64::from(success);
        self.false_successes += u64::from(row.outcome == Outcome::TaskFail && row.claimed_done);
        self.scheduled += u64::from(row.scheduled);
        self.scheduled_successes += u64::from(row.scheduled && success);
        self.stuck += u64::from(counts.stuck);
        let own = row.model.as_ref().is_none_or(|model| model.opening_calls == 0);
        self.first_calls += u64::from(own);
        self.first_call_successes += u64::from(own && counts.first_call_success);
        if let Some(model) = &row.model {
            self.models.add_episode(model);
        }
        self.calls += u64::from(row.calls);
        self.perfect_calls += u64::from(row.perfect_calls);
        if success {
            self.calls_of_successes += u64::from(row.calls);
            self.perfect_calls_of_successes += u64::from(row.perfect_calls);
        }
        self.calls_after_error += u64::from(counts.calls_after_error);
        self.repeated_calls += u64::from(counts.repeated_calls);
        self.chains += u64::from(counts.chains);
        self.errors_fixed += u64::from(counts.errors_fixed);
        self.hinted_calls += u64::from(counts.hinted_calls);
        self.hints_followed += u64::from(counts.hints_followed);
        self.leaked_fields += counts.leaked_fields;
        self.prose_tokens += u64::from(row.prose_tokens);
        self.tokens += tokens(row);
        self.wasted_tokens += counts.wasted_tokens;
        self.guardrail_tokens += counts.guardrail_tokens;
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
            stuck,
            first_calls,
            first_call_successes,
            calls,
            calls_of_successes,
            perfect_calls,
            perfect_calls_of_successes,
            calls_after_error,
            repeated_calls,
            chains,
            errors_fixed,
            hinted_calls,
            hints_followed,
            leaked_fields,
            prose_tokens,
            tokens,
            wasted_tokens,
            guardrail_tokens,
            models,
        } = other;
        self.episodes += episodes;
        self.infra += infra;
        self.config += config;
        self.scored += scored;
        self.successes += successes;
        self.false_successes += false_successes;
        self.scheduled += scheduled;
        self.scheduled_successes += scheduled_successes;
        self.stuck += stuck;
        self.first_calls += first_calls;
        self.first_call_successes += first_call_successes;
        self.calls += calls;
        self.calls_of_successes += calls_of_successes;
        self.perfect_calls += perfect_calls;
        self.perfect_calls_of_successes += perfect_calls_of_successes;
        self.calls_after_error += calls_after_error;
        self.repeated_calls += repeated_calls;
        self.chains += chains;
        self.errors_fixed += errors_fixed;
        self.hinted_calls += hinted_calls;
        self.hints_followed += hints_followed;
        self.leaked_fields += leaked_fields;
        self.prose_tokens += prose_tokens;
        self.tokens += tokens;
        self.wasted_tokens += wasted_tokens;
        self.guardrail_tokens += guardrail_tokens;
        self.models.add(models);
    }
}

/// Tokens of an episode: calls, responses and prose.
pub(super) fn tokens(row: &EpisodeRecord) -> u64 {
    row.counts.call_tokens + u64::from(row.prose_tokens)
}

/// How the episodes of a cell compare to those of the same trials under another setting, mostly `none`.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Pairs {
    pub(super) pairs: u64,
    pub(super) gains: u64,
    pub(super) losses: u64,
    pub(super) unmatched: u64,
    /// Successes of the pairs' episodes in this cell, and under the other setting.
    pub(super) successes: [u64; 2],
    /// Tokens, in the same way.
    pub(super) tokens: [u64; 2],
    /// Calls, in the same way.
    pub(super) calls: [u64; 2],
}

impl Pairs {
    /// Adds a pair: the episode of the cell, and the one under the other setting.
    pub(super) fn add_pair(&mut self, here: &EpisodeValues, there: &EpisodeValues) {
        self.pairs += 1;
        self.gains += u64::from(here.success && !there.success);
        self.losses += u64::from(!here.success && there.success);
        for (side, slot) in [here, there].into_iter().enumerate() {
            self.successes[side] += u64::from(slot.success);
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
            self.successes[side] += other.successes[side];
            self.tokens[side] += other.tokens[side];
            self.calls[side] += other.calls[side];
        }
    }
}
