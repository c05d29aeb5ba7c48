//! Sums over episodes.

use healbench_core::{BilledTokens, EndedBy, EpisodeRecord, ModelUsage, Outcome};

use crate::metric::{ROW_METRICS, RowMetric, RowMetrics};
use crate::rate::Rate;

/// The values of an episode that pairs need.
#[derive(Debug, Clone, Copy)]
pub(super) struct EpisodeValues {
    pub(super) outcome: Outcome,
    pub(super) scored: bool,
    pub(super) success: bool,
    pub(super) failed_call: bool,
    pub(super) calls: u32,
    /// The tokens; `None` if the agent's turns are not known.
    pub(super) spent: Option<Spent>,
    /// The tokens of every turn as the provider counted them.
    pub(super) provider: Option<u64>,
    pub(super) schedule_hash: u64,
}

/// The tokens of an episode.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Spent {
    pub(super) tokens: u64,
    pub(super) billed: u64,
}

impl EpisodeValues {
    /// Returns true if both have the same trial schedule and exactly one of them succeeded.
    pub(super) fn flips(&self, other: &EpisodeValues) -> bool {
        self.scored && other.scored && self.schedule_hash == other.schedule_hash && self.success != other.success
    }
}

/// Sums over the scored episodes of one or more cells. `episodes`, `infra` and `config` count all episodes.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub(super) struct Sums {
    pub(super) episodes: u64,
    pub(super) infra: u64,
    pub(super) config: u64,
    pub(super) scored: u64,
    pub(super) too_long: u64,
    /// The numerator and the denominator of each entry of [`ROW_METRICS`].
    metrics: [[u64; 2]; ROW_METRICS.len()],
    pub(super) models: ModelSums,
}

/// Sums over the scored episodes of model agents.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub(super) struct ModelSums {
    pub(super) episodes: u64,
    /// The episodes whose turns are known.
    pub(super) turn_episodes: u64,
    pub(super) turns: u64,
    pub(super) latency_ms: u64,
    /// The episodes whose tokens are known.
    pub(super) token_episodes: u64,
    /// Input and output tokens, as counted by the provider if it counts them and otherwise by healbench.
    pub(super) input: u64,
    pub(super) output: u64,
    /// For episodes that the provider counted: the provider's count and healbench's count.
    pub(super) provider: [u64; 2],
    pub(super) bpe: [u64; 2],
    /// For episodes whose provider reports cache reads, cache writes or reasoning: the total and that part of it.
    pub(super) cache_read: [u64; 2],
    pub(super) cache_write: [u64; 2],
    pub(super) reasoning: [u64; 2],
    pub(super) usd: f64,
    /// The number of episodes with unknown cost.
    pub(super) unpriced: u64,
}

impl ModelSums {
    fn add_episode(&mut self, model: &ModelUsage, billed: Option<&BilledTokens>) {
        self.episodes += 1;
        self.turn_episodes += u64::from(model.turns.is_some());
        self.turns += model.turns.map_or(0, u64::from);
        self.latency_ms += model.latency_ms.unwrap_or_default();
        self.token_episodes += u64::from(model.usage.is_some() || billed.is_some());
        match model.usage {
            Some(usage) => {
                self.input += usage.input;
                self.output += usage.output;
                if let Some(billed) = billed {
                    self.provider = [self.provider[0] + usage.input, self.provider[1] + usage.output];
                    self.bpe = [self.bpe[0] + billed.input, self.bpe[1] + billed.output];
                }
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
                self.input += billed.map_or(0, |billed| billed.input);
                self.output += billed.map_or(0, |billed| billed.output);
            }
        }
        match model.usd {
            Some(usd) => self.usd += usd,
            // Without a request the cost is known to be 0.
            None if model.turns == Some(0) => {}
            None => self.unpriced += 1,
        }
    }

    fn add(&mut self, other: &ModelSums) {
        let ModelSums {
            episodes,
            turn_episodes,
            turns,
            latency_ms,
            token_episodes,
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
        self.turn_episodes += turn_episodes;
        self.turns += turns;
        self.latency_ms += latency_ms;
        self.token_episodes += token_episodes;
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
    pub(super) fn add_episode(&mut self, row: &EpisodeRecord) {
        self.episodes += 1;
        self.infra += u64::from(row.outcome == Outcome::Infra);
        self.config += u64::from(row.outcome == Outcome::Config);
        if !row.outcome.is_scored() {
            return;
        }
        self.scored += 1;
        self.too_long += u64::from(row.ended_by == EndedBy::TooLong);
        for (sums, entry) in self.metrics.iter_mut().zip(&ROW_METRICS) {
            *sums = [sums[0] + (entry.numerator)(row), sums[1] + (entry.denominator)(row)];
        }
        if let Some(model) = &row.model {
            self.models.add_episode(model, row.billed.as_ref());
        }
    }

    pub(super) fn add(&mut self, other: &Sums) {
        self.episodes += other.episodes;
        self.infra += other.infra;
        self.config += other.config;
        self.scored += other.scored;
        self.too_long += other.too_long;
        for (sums, other) in self.metrics.iter_mut().zip(other.metrics) {
            *sums = [sums[0] + other[0], sums[1] + other[1]];
        }
        self.models.add(&other.models);
    }

    pub(super) fn metrics(&self) -> RowMetrics {
        RowMetrics::new(&self.metrics)
    }

    pub(super) fn rate(&self, metric: RowMetric) -> Rate {
        let [numerator, denominator] = self.metrics[metric as usize];
        Rate::of(numerator, denominator)
    }

    pub(super) fn successes(&self) -> u64 {
        self.metrics[RowMetric::Success as usize][0]
    }
}

/// The pairs of a cell's episodes with those of the same trials in another condition, usually the reference condition.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct PairSums {
    pub(super) pairs: u64,
    pub(super) gains: u64,
    pub(super) losses: u64,
    pub(super) unmatched: u64,
    /// Successes in this cell and in the other condition.
    pub(super) successes: [u64; 2],
    /// The pairs whose tokens are known, and their successes in the same order.
    pub(super) measured: u64,
    pub(super) measured_successes: [u64; 2],
    /// Tokens, in the same order.
    pub(super) tokens: [u64; 2],
    /// Billed tokens, in the same order.
    pub(super) billed: [u64; 2],
    /// The pairs of which the provider counted both, and its counts, in the same order.
    pub(super) counted: u64,
    pub(super) provider: [u64; 2],
    /// Calls, in the same order.
    pub(super) calls: [u64; 2],
}

impl PairSums {
    /// Adds a pair: the episode of the cell and the one in the other condition.
    pub(super) fn add_pair(&mut self, here: &EpisodeValues, there: &EpisodeValues) {
        self.pairs += 1;
        self.gains += u64::from(here.success && !there.success);
        self.losses += u64::from(!here.success && there.success);
        for (side, values) in [here, there].into_iter().enumerate() {
            self.successes[side] += u64::from(values.success);
            self.calls[side] += u64::from(values.calls);
        }
        if let (Some(_), Some(_)) = (here.spent, there.spent) {
            self.measured += 1;
            for (side, values) in [here, there].into_iter().enumerate() {
                self.measured_successes[side] += u64::from(values.success);
                self.tokens[side] += values.spent.map_or(0, |spent| spent.tokens);
                self.billed[side] += values.spent.map_or(0, |spent| spent.billed);
            }
        }
        if let (Some(here), Some(there)) = (here.provider, there.provider) {
            self.counted += 1;
            self.provider = [self.provider[0] + here, self.provider[1] + there];
        }
    }

    pub(super) fn add(&mut self, other: &PairSums) {
        self.pairs += other.pairs;
        self.gains += other.gains;
        self.losses += other.losses;
        self.unmatched += other.unmatched;
        self.counted += other.counted;
        self.measured += other.measured;
        for side in 0..2 {
            self.successes[side] += other.successes[side];
            self.measured_successes[side] += other.measured_successes[side];
            self.tokens[side] += other.tokens[side];
            self.billed[side] += other.billed[side];
            self.provider[side] += other.provider[side];
            self.calls[side] += other.calls[side];
        }
    }
}
