use std::fmt;
use std::path::PathBuf;

use healbench_core::{CallRecord, CellRef, EpisodeRecord, Plan, ResponseRecord};

use crate::report_error::ReportError;

/// The rows of a run, read in their order and without keeping them.
pub trait RunRows: fmt::Debug {
    /// Calls `add` with each episode in the order of the plan, and its cell. Returns the index after the last episode.
    ///
    /// # Errors
    /// [`ReportError::Rows`] if the rows cannot be read, [`ReportError::ForeignEpisode`] if they belong to another plan, and the errors of
    /// `add`.
    fn for_each_episode(
        &self,
        plan: &Plan,
        add: &mut dyn FnMut(CellRef, &EpisodeRecord) -> Result<(), ReportError>,
    ) -> Result<u64, ReportError>;

    /// Calls `add` with what error chains need of each call, also of those in none, and returns the number of calls. The tool is read if
    /// `with_tools`.
    ///
    /// # Errors
    /// [`ReportError::Rows`] if the rows cannot be read.
    fn for_each_call_in_chain(
        &self,
        with_tools: bool,
        add: &mut dyn FnMut(CallInChain<'_>),
    ) -> Result<u64, ReportError>;

    /// Calls `add` with each call.
    ///
    /// # Errors
    /// [`ReportError::Rows`] if the rows cannot be read, and the errors of `add`.
    fn for_each_call(&self, add: &mut dyn FnMut(CallRecord) -> Result<(), ReportError>) -> Result<(), ReportError>;

    /// Calls `add` with each stored response of a failed call.
    ///
    /// # Errors
    /// [`ReportError::Rows`] if the rows cannot be read.
    fn for_each_error_response(&self, add: &mut dyn FnMut(&ResponseRecord)) -> Result<(), ReportError>;

    /// Returns the file of the calls, for errors.
    fn calls_path(&self) -> PathBuf;
}

/// The values of a call that error chains need, as they are stored.
#[derive(Debug, Clone, Copy)]
pub struct CallInChain<'r> {
    /// The index of the episode in the plan.
    pub episode: Option<u64>,
    /// The number of the call in its episode, from 0.
    pub call: Option<u32>,
    /// The number of its error chain in the episode.
    pub chain: Option<u32>,
    /// How the chain ended, if the call is in one.
    pub chain_end: Option<&'r str>,
    /// True if the call failed.
    pub is_error: Option<bool>,
    /// The error class of a failed call.
    pub error_class: Option<&'r str>,
    /// The tool; null unless it was asked for.
    pub tool: Option<&'r str>,
}
