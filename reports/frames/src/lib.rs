//! The frames of a run: their columns, how they are written and read. The only crate of the program that links Polars.

pub mod columns;
mod episode_index;
mod episodes;
mod frames;
mod run_totals;

pub use episode_index::{EpisodeIndex, EpisodeSet};
pub use episodes::{Rows, for_each_episode};
pub use frames::{
    ClosedFrames, FrameError, FrameWriter, MAX_RESPONSE_BYTES, count_outcomes, episode_rows, is_decoding, read_calls,
    read_episodes, read_responses, rows_of_episodes,
};
pub use run_totals::{RunTotals, run_totals};
