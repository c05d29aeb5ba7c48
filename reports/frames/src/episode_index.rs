//! The episodes of a run as a compact table in memory, with the filters of a list of episodes.
//!
//! Scenario, agent, condition and trial of an episode follow from its number and the plan, so a run of a million episodes takes
//! about 40 MB. Error classes and the texts of responses are read from the other frames when a filter needs them.

use std::collections::HashSet;

use healbench_analysis::{EpisodeFilter, FAILURE, FilteredEpisodes, IndexedEpisode};
use healbench_core::{CellRef, Outcome, Plan};
use healbench_store::RunDir;

use crate::columns::{
    BILLED_INPUT_TOKENS, BILLED_OUTPUT_TOKENS, CALLS, ColumnType, EPISODE, ERROR_CLASS, ERRORS, OUTCOME, RESPONSE_HASH,
    Text, U32, U64, read,
};
use crate::episodes::BATCH_ROWS;
use crate::frames::{FrameError, RowRange, convert, for_each_response, read_frame, row_ranges};

/// The episodes of a run, in the order of the plan.
#[derive(Debug, Default)]
pub struct EpisodeIndex {
    episodes: Vec<u64>,
    outcomes: Vec<Outcome>,
    calls: Vec<u32>,
    errors: Vec<u32>,
    billed_tokens: Vec<Option<u64>>,
}

/// A set of rows of an index, one bit each.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EpisodeSet(Vec<u64>);

impl EpisodeSet {
    fn empty(rows: usize) -> EpisodeSet {
        EpisodeSet(vec![0; rows.div_ceil(64)])
    }

    fn insert(&mut self, row: usize) {
        self.0[row / 64] |= 1 << (row % 64);
    }

    fn contains(&self, row: usize) -> bool {
        self.0.get(row / 64).is_some_and(|bits| bits & (1 << (row % 64)) != 0)
    }
}

impl EpisodeIndex {
    /// Reads the index of a run, a row group at a time.
    ///
    /// # Errors
    /// As [`read_episodes`](crate::read_episodes); [`FrameError::Unordered`] for a file not written by healbench.
    pub fn read(run: &RunDir) -> Result<EpisodeIndex, FrameError> {
        let path = run.episodes_path();
        let columns = [
            (EPISODE, U64::data_type as fn() -> _),
            (OUTCOME, Text::data_type),
            (CALLS, U32::data_type),
            (ERRORS, U32::data_type),
            (BILLED_INPUT_TOKENS, U64::data_type),
            (BILLED_OUTPUT_TOKENS, U64::data_type),
        ];
        let mut index = EpisodeIndex::default();
        for rows in row_ranges(&path, BATCH_ROWS)? {
            let frame = read_frame(&path, &columns, RowRange::Rows(rows))?;
            index.episodes.extend(read::<U64>(&path, &frame, EPISODE)?);
            index.outcomes.extend(convert::outcomes(&path, &frame)?);
            index.calls.extend(read::<U32>(&path, &frame, CALLS)?);
            index.errors.extend(read::<U32>(&path, &frame, ERRORS)?);
            let input = read::<Option<U64>>(&path, &frame, BILLED_INPUT_TOKENS)?;
            let output = read::<Option<U64>>(&path, &frame, BILLED_OUTPUT_TOKENS)?;
            let billed = input.into_iter().zip(output).map(|(input, output)| Some(input? + output?));
            index.billed_tokens.extend(billed);
        }
        match index.episodes.windows(2).find(|pair| pair[0] >= pair[1]) {
            Some(pair) => Err(FrameError::Unordered { path, episode: pair[1] }),
            None => Ok(index),
        }
    }

    /// Returns the number of episodes.
    pub fn len(&self) -> usize {
        self.episodes.len()
    }

    /// Returns true if the run has no episode.
    pub fn is_empty(&self) -> bool {
        self.episodes.is_empty()
    }

    fn row(&self, row: usize) -> IndexedEpisode {
        IndexedEpisode {
            episode: self.episodes[row],
            outcome: self.outcomes[row],
            calls: self.calls[row],
            errors: self.errors[row],
            billed_tokens: self.billed_tokens[row],
        }
    }

    fn row_of(&self, episode: u64) -> Option<usize> {
        self.episodes.binary_search(&episode).ok()
    }

    /// Returns the episodes with a call of this error class.
    ///
    /// # Errors
    /// As [`read_calls`](crate::read_calls).
    pub fn with_error_class(&self, run: &RunDir, class: &str) -> Result<EpisodeSet, FrameError> {
        let path = run.calls_path();
        let mut found = EpisodeSet::empty(self.len());
        let columns = [(EPISODE, U64::data_type as fn() -> _), (ERROR_CLASS, Text::data_type)];
        for rows in row_ranges(&path, BATCH_ROWS)? {
            let frame = read_frame(&path, &columns, RowRange::Rows(rows))?;
            let episodes = read::<U64>(&path, &frame, EPISODE)?;
            let classes = read::<Option<Text>>(&path, &frame, ERROR_CLASS)?;
            self.insert_all(&mut found, episodes.into_iter().zip(classes).filter(|(_, known)| *known == Some(class)));
        }
        Ok(found)
    }

    /// Returns the episodes with a response whose text contains `text`, in any case. Responses beyond those that a run stores
    /// are not searched.
    ///
    /// # Errors
    /// As [`read_calls`](crate::read_calls).
    pub fn with_response_text(&self, run: &RunDir, text: &str) -> Result<EpisodeSet, FrameError> {
        let wanted = text.to_lowercase();
        let mut hashes: HashSet<u64> = HashSet::new();
        for_each_response(run, &mut |response| {
            if response.content.iter().any(|block| block.to_lowercase().contains(&wanted)) {
                hashes.insert(response.response_hash);
            }
        })?;
        let mut found = EpisodeSet::empty(self.len());
        if hashes.is_empty() {
            return Ok(found);
        }
        let path = run.calls_path();
        let columns = [(EPISODE, U64::data_type as fn() -> _), (RESPONSE_HASH, U64::data_type)];
        for rows in row_ranges(&path, BATCH_ROWS)? {
            let frame = read_frame(&path, &columns, RowRange::Rows(rows))?;
            let episodes = read::<U64>(&path, &frame, EPISODE)?;
            let calls = episodes.into_iter().zip(read::<U64>(&path, &frame, RESPONSE_HASH)?);
            self.insert_all(&mut found, calls.filter(|(_, hash)| hashes.contains(hash)));
        }
        Ok(found)
    }

    /// Inserts the episodes of calls. Calls of an episode are adjacent.
    fn insert_all<T>(&self, found: &mut EpisodeSet, calls: impl Iterator<Item = (u64, T)>) {
        let mut last = None;
        for (episode, _) in calls {
            if last != Some(episode) {
                last = Some(episode);
                if let Some(row) = self.row_of(episode) {
                    found.insert(row);
                }
            }
        }
    }

    /// Returns the matches of a filter: how many there are, and those from `start` on, at most `count`. The filter's error class
    /// and text are given as `sets`.
    pub fn filter(
        &self,
        plan: &Plan,
        filter: &EpisodeFilter,
        sets: &[EpisodeSet],
        start: usize,
        count: usize,
    ) -> FilteredEpisodes {
        let cells = CellFilter::new(plan, filter);
        let (mut total, mut rows) = (0, Vec::new());
        for row in (0..self.len()).filter(|row| self.accepts(plan, &cells, sets, *row)) {
            if total >= start && rows.len() < count {
                rows.push(self.row(row));
            }
            total += 1;
        }
        FilteredEpisodes { total, rows }
    }

    /// Returns the matches before and after an episode.
    pub fn neighbors(
        &self,
        plan: &Plan,
        filter: &EpisodeFilter,
        sets: &[EpisodeSet],
        episode: u64,
    ) -> [Option<u64>; 2] {
        let cells = CellFilter::new(plan, filter);
        let before = self.episodes.partition_point(|known| *known < episode);
        let after = self.episodes.partition_point(|known| *known <= episode);
        let accepts = |row: &usize| self.accepts(plan, &cells, sets, *row);
        let previous = (0..before).rev().find(accepts);
        let next = (after..self.len()).find(accepts);
        [previous, next].map(|row| row.map(|row| self.episodes[row]))
    }

    fn accepts(&self, plan: &Plan, cells: &CellFilter, sets: &[EpisodeSet], row: usize) -> bool {
        sets.iter().all(|set| set.contains(row))
            && cells.accepts_outcome(self.outcomes[row])
            && plan.cell(self.episodes[row]).is_some_and(|cell| cells.accepts(cell))
    }
}

/// A filter with its words resolved.
struct CellFilter {
    /// By scenario, true if it is accepted; `None` for all.
    scenarios: Option<Vec<bool>>,
    agent: Option<usize>,
    condition: Option<usize>,
    outcome: String,
}

impl CellFilter {
    fn new(plan: &Plan, filter: &EpisodeFilter) -> CellFilter {
        let wanted = filter.scenario.to_lowercase();
        let scenarios = plan.scenarios.iter().map(|scenario| scenario.id.to_lowercase().contains(&wanted));
        // An index that the plan does not have accepts nothing.
        let index = |text: &str| (!text.is_empty()).then(|| text.parse().unwrap_or(usize::MAX));
        CellFilter {
            scenarios: (!wanted.is_empty()).then(|| scenarios.collect()),
            agent: index(&filter.agent),
            condition: index(&filter.condition),
            outcome: filter.outcome.clone(),
        }
    }

    fn accepts(&self, cell: CellRef) -> bool {
        self.scenarios.as_ref().is_none_or(|accepted| accepted[cell.scenario])
            && self.agent.is_none_or(|agent| agent == cell.agent)
            && self.condition.is_none_or(|condition| condition == cell.condition)
    }

    fn accepts_outcome(&self, outcome: Outcome) -> bool {
        match self.outcome.as_str() {
            "" => true,
            FAILURE => outcome.is_scored() && outcome != Outcome::Success,
            name => name == outcome.name(),
        }
    }
}
