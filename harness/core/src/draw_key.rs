//! The keys of random draws.

use std::fmt;

use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

/// The seed of a run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Seed(pub u64);

impl fmt::Display for Seed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// The key of random draws: the run's seed and, depending on the use, scenario and trial. Nothing else may enter the
/// key, or cells that are compared would not get the same mistakes and faults.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct DrawKey([u8; 32]);

impl DrawKey {
    /// Returns the key of draws made once per run: the resamples of its report.
    pub fn of_run(seed: Seed) -> DrawKey {
        DrawKey(hash(&[b"run", &seed.0.to_le_bytes()]))
    }

    /// Returns the key of draws shared by all trials of a scenario: its generated data.
    pub fn of_scenario(seed: Seed, scenario: &str) -> DrawKey {
        DrawKey(hash(&[b"scenario", &seed.0.to_le_bytes(), scenario.as_bytes()]))
    }

    /// Returns the key of draws that differ between trials: mistakes, and an agent's own draws.
    pub fn of_trial(seed: Seed, scenario: &str, trial: u32) -> DrawKey {
        DrawKey(hash(&[b"trial", &seed.0.to_le_bytes(), scenario.as_bytes(), &trial.to_le_bytes()]))
    }

    /// Returns the seed of the stream of draws for the `n`-th use of `purpose`.
    pub(crate) fn stream_seed(&self, purpose: &str, n: u64) -> [u8; 32] {
        hash(&[b"draws", &self.0, purpose.as_bytes(), &n.to_le_bytes()])
    }
}

/// Returns the SHA-256 of length-prefixed parts, so that different lists of parts cannot concatenate to the same input.
fn hash(parts: &[&[u8]]) -> [u8; 32] {
    let mut hasher = Sha256::new();
    for part in parts {
        hasher.update((part.len() as u64).to_le_bytes());
        hasher.update(part);
    }
    hasher.finalize().into()
}
