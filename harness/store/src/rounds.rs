//! The file of paired rounds: times of two workloads, measured alternately within one process.
//!
//! The file contains only times. Statistics and verdicts are computed by its readers.

use std::collections::BTreeSet;
use std::fs;
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

/// The version of the file's format.
pub const ROUNDS_VERSION: u32 = 2;

/// The minimum number of rounds in a pair.
pub const MIN_ROUNDS: usize = 501;

/// All measurements of one process.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct PairedRun {
    /// The [`ROUNDS_VERSION`] of the program that wrote the file.
    pub format_version: u32,
    /// The version of healbench that was measured.
    pub healbench: String,
    /// The measured git revision; null if unknown.
    pub revision: Option<String>,
    /// The processor's model; null if the system does not report it.
    pub cpu: Option<String>,
    /// True if the code was optimized.
    pub optimized: bool,
    /// The target duration of an epoch in nanoseconds.
    pub epoch_ns: u64,
    /// The pairs, in the order of the program.
    pub pairs: Vec<PairRounds>,
}

/// The purpose of a pair.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum PairRole {
    /// The same workload twice: any difference is measurement noise.
    Control,
    /// Two workloads that are claimed to take the same time.
    Equal,
    /// A workload relative to one that never changes, to be compared with an earlier ratio on the same machine.
    ReferenceWorkload,
}

/// The rounds of one pair.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct PairRounds {
    /// The pair's name, unique in the run.
    pub name: String,
    pub role: PairRole,
    /// The description of A.
    pub reference: String,
    /// The description of B.
    pub candidate: String,
    /// The number of executions of A and B in an epoch.
    pub iterations: [u32; 2],
    /// The durations of the epochs A, B, B and A in nanoseconds, for each round.
    pub rounds: Vec<[u64; 4]>,
}

/// The reason why a file of paired rounds cannot be read or written.
#[derive(Debug, thiserror::Error)]
pub enum RoundsError {
    /// The file does not exist.
    #[error("there is no file `{}`", .0.display())]
    Missing(PathBuf),
    /// A file system operation failed.
    #[error("cannot {operation} `{}`: {source}", path.display())]
    Io {
        /// `read` or `write`.
        operation: &'static str,
        path: PathBuf,
        source: io::Error,
    },
    /// The file does not contain paired rounds, or is damaged.
    #[error("`{}` has no paired rounds of healbench: {reason}", path.display())]
    Invalid { path: PathBuf, reason: String },
    /// The file was written by a newer or an older program.
    #[error("`{}` has paired rounds of format {found}; this program reads {ROUNDS_VERSION}", path.display())]
    UnsupportedVersion {
        path: PathBuf,
        /// The version in the file.
        found: u64,
    },
}

impl PairedRun {
    /// Reads a file and checks that all ratios can be computed.
    ///
    /// # Errors
    /// Every variant of [`RoundsError`].
    pub fn read(path: &Path) -> Result<PairedRun, RoundsError> {
        let text = match healbench_files::read_file(path, healbench_files::MAX_GENERATED_BYTES) {
            Ok(text) => text,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Err(RoundsError::Missing(path.into())),
            Err(source) => return Err(RoundsError::Io { operation: "read", path: path.into(), source }),
        };
        let invalid = |reason: String| RoundsError::Invalid { path: path.into(), reason };
        // Check the version first: a newer file may have another shape.
        let value: serde_json::Value = serde_json::from_slice(&text).map_err(|error| invalid(error.to_string()))?;
        match value.get("format_version").and_then(serde_json::Value::as_u64) {
            None => return Err(invalid("it has no `format_version`".to_owned())),
            Some(found) if found == u64::from(ROUNDS_VERSION) => {}
            Some(found) => return Err(RoundsError::UnsupportedVersion { path: path.into(), found }),
        }
        let run: PairedRun = serde_json::from_value(value).map_err(|error| invalid(error.to_string()))?;
        run.check().map_err(invalid)?;
        Ok(run)
    }

    /// Writes the file atomically.
    ///
    /// # Errors
    /// [`RoundsError::Io`], and [`RoundsError::Invalid`] if [`PairedRun::read`] would reject the file.
    pub fn write(&self, path: &Path) -> Result<(), RoundsError> {
        let invalid = |reason| RoundsError::Invalid { path: path.into(), reason };
        self.check().map_err(invalid)?;
        let text = serde_json::to_string(self).map_err(|error| invalid(error.to_string()))?;
        let mut partial = path.as_os_str().to_owned();
        partial.push(format!(".{}.part", std::process::id()));
        let write = || -> io::Result<()> {
            let mut out = fs::File::create(&partial)?;
            out.write_all(text.as_bytes())?;
            out.write_all(b"\n")?;
            out.sync_all()?;
            fs::rename(&partial, path)
        };
        write().inspect_err(|_| drop(fs::remove_file(&partial))).map_err(|source| RoundsError::Io {
            operation: "write",
            path: path.into(),
            source,
        })
    }

    /// Checks that all ratios can be computed and that pair names are unique.
    fn check(&self) -> Result<(), String> {
        if self.format_version != ROUNDS_VERSION {
            return Err(format!("its `format_version` is {}", self.format_version));
        }
        if self.pairs.is_empty() {
            return Err("it has no pair".to_owned());
        }
        let mut names = BTreeSet::new();
        for pair in &self.pairs {
            let name = &pair.name;
            if !names.insert(name) {
                return Err(format!("it has two pairs named {name:?}"));
            }
            if pair.iterations.contains(&0) {
                return Err(format!("the pair {name:?} has a variant with 0 iterations"));
            }
            if pair.rounds.is_empty() {
                return Err(format!("the pair {name:?} has no rounds"));
            }
            if let Some(round) = pair.rounds.iter().position(|times| times.contains(&0)) {
                return Err(format!("the pair {name:?} has an epoch of 0 ns in round {round}"));
            }
        }
        Ok(())
    }
}

impl PairRounds {
    /// Returns, for each round, the logarithm of B's time per iteration over A's: half of `ln(b1 * b2 / (a1 * a2))`, in
    /// which a linear drift within the round cancels out.
    pub fn log_ratios(&self) -> Vec<f64> {
        let [a, b] = self.iterations.map(f64::from);
        let of_iterations = (b / a).ln();
        let log_ratio = |times: &[u64; 4]| {
            let [a1, b1, b2, a2] = times.map(|ns| (ns as f64).ln());
            (b1 + b2 - a1 - a2) / 2.0 - of_iterations
        };
        self.rounds.iter().map(log_ratio).collect()
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    fn run() -> PairedRun {
        let pair = |name: &str, role| PairRounds {
            name: name.to_owned(),
            role,
            reference: "a".to_owned(),
            candidate: "b".to_owned(),
            iterations: [10, 20],
            rounds: vec![[50_000, 101_000, 99_000, 50_500], [49_000, 100_000, 100_000, 51_000]],
        };
        PairedRun {
            format_version: ROUNDS_VERSION,
            healbench: "0.1.0".to_owned(),
            revision: None,
            cpu: Some("a processor".to_owned()),
            optimized: true,
            epoch_ns: 50_000,
            pairs: vec![pair("same", PairRole::Control), pair("other", PairRole::ReferenceWorkload)],
        }
    }

    /// Returns the error for a valid file after one change.
    fn error_after(change: impl Fn(&mut Value)) -> String {
        let mut value = serde_json::to_value(run()).unwrap();
        change(&mut value);
        error_for_text(&value.to_string())
    }

    fn error_for_text(text: &str) -> String {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("rounds.json");
        fs::write(&file, text).unwrap();
        let error = PairedRun::read(&file).unwrap_err();
        assert!(matches!(error, RoundsError::Invalid { .. } | RoundsError::UnsupportedVersion { .. }));
        error.to_string().replace(&file.display().to_string(), "FILE")
    }

    #[test]
    fn a_paired_run_round_trips() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("rounds.json");
        fs::write(&file, "of yesterday").unwrap();
        run().write(&file).unwrap();
        assert_eq!(PairedRun::read(&file).unwrap(), run());
        // No temporary file remains.
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1);
        let value: Value = serde_json::from_slice(&fs::read(&file).unwrap()).unwrap();
        assert_eq!(value["pairs"][0]["role"], "control");
        assert_eq!(value["revision"], Value::Null);
    }

    #[test]
    fn a_bad_file_is_refused_with_its_reason() {
        let first = |value: &mut Value, field: &str, to: Value| value["pairs"][0][field] = to;
        let of = "`FILE` has no paired rounds of healbench: ";
        for (message, reason) in [
            (error_after(|run| first(run, "rounds", json!([]))), "the pair \"same\" has no rounds"),
            (
                error_after(|run| first(run, "rounds", json!([[1, 1, 1, 1], [1, 1, 0, 1]]))),
                "the pair \"same\" has an epoch of 0 ns in round 1",
            ),
            (
                error_after(|run| first(run, "iterations", json!([0, 1]))),
                "the pair \"same\" has a variant with 0 iterations",
            ),
            (error_after(|run| first(run, "name", json!("other"))), "it has two pairs named \"other\""),
            (error_after(|run| run["pairs"] = json!([])), "it has no pair"),
            (error_after(|run| run["format_version"] = Value::Null), "it has no `format_version`"),
            (
                error_after(|run| first(run, "rounds", json!([[1, 1, 1]]))),
                "invalid length 3, expected an array of length 4",
            ),
            (
                error_after(|run| first(run, "role", json!("else"))),
                "unknown variant `else`, expected one of `control`, `equal`, `reference_workload`",
            ),
        ] {
            assert_eq!(message, format!("{of}{reason}"));
        }
        let whole = serde_json::to_string(&run()).unwrap();
        let message = error_for_text(&whole[..whole.len() / 2]);
        assert!(message.starts_with(of) && message.contains("EOF while parsing"), "{message}");
        let message = error_after(|run| run["format_version"] = json!(5_000_000_000_u64));
        assert_eq!(message, "`FILE` has paired rounds of format 5000000000; this program reads 2");
        let message = error_after(|run| run["format_version"] = json!(1));
        assert_eq!(message, "`FILE` has paired rounds of format 1; this program reads 2");
    }

    #[test]
    fn a_file_that_is_not_there_is_missing_and_a_folder_cannot_be_read() {
        let folder = tempfile::tempdir().unwrap();
        assert!(matches!(PairedRun::read(&folder.path().join("none")), Err(RoundsError::Missing(_))));
        assert!(matches!(PairedRun::read(folder.path()), Err(RoundsError::Io { operation: "read", .. })));
        let nowhere = folder.path().join("none").join("rounds.json");
        assert!(matches!(run().write(&nowhere), Err(RoundsError::Io { operation: "write", .. })));
    }

    #[test]
    fn an_invalid_run_is_not_written() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("rounds.json");
        let mut bad = run();
        bad.pairs[1].rounds[0][3] = 0;
        assert!(matches!(bad.write(&file), Err(RoundsError::Invalid { .. })));
        assert!(!file.exists());
    }

    #[test]
    fn a_ratio_is_of_one_iteration_and_of_both_halves_of_a_round() {
        let mut pair = run().pairs.remove(0);
        // Twice the iterations in twice the time are equally fast.
        pair.rounds = vec![[100, 200, 200, 100], [100, 100, 100, 100], [100, 400, 100, 100]];
        let ratios: Vec<f64> = pair.log_ratios().into_iter().map(f64::exp).collect();
        for (ratio, expected) in ratios.iter().zip([1.0, 0.5, 1.0]) {
            assert!((ratio - expected).abs() < 1e-12, "{ratios:?}");
        }
    }
}
