//! The hashes of a run's files. They are in the manifest, and the manifest ends with a hash of itself.
//!
//! A run is read after its files were compared with them, so a flipped bit never reaches a report. What is left out:
//!
//! - the lock file and the progress, which say nothing about results;
//! - the journal, which grows until the run ends: its lines have checksums;
//! - the frames of a run in progress, which do not exist yet.
//!
//! A file that was removed is not damaged: what needs it says that it is missing.

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;
use std::sync::Mutex;
use std::sync::PoisonError;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::{fs, io};

use healbench_files::fingerprint_file;
use serde::{Deserialize, Serialize};

use crate::directory::{LOCKFILE, io_error};
use crate::{RunDir, RunDirError, RunManifest, RunStatus};

/// The size and hash of a file.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct FileDigest {
    pub bytes: u64,
    /// The SHA-256, in hexadecimal.
    pub sha256: String,
}

/// The state of the files of a run whose hashes match.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum VerifiedFiles {
    /// They are those of the manifest.
    Current,
    /// Some were replaced by the next ones, but the process was killed before it had written the manifest for them. They
    /// agree on the episodes that the manifest counts as done.
    PartlyReplaced,
}

/// The files with the results of a run, each written under another name first.
const RESULT_FILES: [&str; 4] = ["calls.parquet", "episodes.parquet", "responses.parquet", "transcripts.jsonl.zst"];

/// The extension of files that are not complete.
const PARTIAL: &str = ".part";

impl RunManifest {
    /// Returns the names of the files with a hash.
    fn listed_files(&self) -> BTreeSet<&str> {
        self.files.keys().chain(self.replacing.keys()).map(String::as_str).collect()
    }

    /// Returns the first listed file that no run has, such as one outside of its directory.
    pub(crate) fn foreign_file(&self) -> Option<&str> {
        let is_text = |name: &str| name.strip_prefix("scenarios/").is_some_and(|name| !name.contains(['/', '\\']));
        let is_known = |name: &&str| RESULT_FILES.contains(name) || *name == LOCKFILE || is_text(name);
        self.listed_files().into_iter().find(|name| !is_known(name))
    }

    /// Counts the replaced files as the current ones. The caller has renamed them.
    pub fn files_were_replaced(&mut self) {
        for (name, mut digests) in std::mem::take(&mut self.replacing) {
            self.files.extend(digests.pop().map(|digest| (name, digest)));
        }
    }
}

impl RunDir {
    /// Compares all files of a run with the hashes in its manifest.
    ///
    /// # Errors
    /// [`RunDirError::Damaged`], [`RunDirError::Io`].
    pub fn verify(&self, manifest: &RunManifest) -> Result<VerifiedFiles, RunDirError> {
        if manifest.status != RunStatus::Running {
            self.check_listed(manifest)?;
        }
        self.compare(manifest, &manifest.listed_files())
    }

    /// Returns true if the files of a run may no longer be those that were compared when it was opened with this manifest. A manifest is
    /// replaced before files are, so what was read before this returned false is of one state.
    pub fn was_replaced(&self, manifest: &RunManifest) -> bool {
        match RunDir::open_any(self.path()) {
            Ok((_, now)) if now == *manifest => {
                !manifest.replacing.is_empty() && !matches!(self.verify(manifest), Ok(VerifiedFiles::Current))
            }
            _ => true,
        }
    }

    /// Compares the frame of episodes with its hash.
    ///
    /// # Errors
    /// As [`RunDir::verify`].
    pub fn verify_episodes(&self, manifest: &RunManifest) -> Result<VerifiedFiles, RunDirError> {
        self.compare(manifest, &BTreeSet::from(["episodes.parquet"]))
    }

    /// Compares files with their hashes in the manifest.
    fn compare(&self, manifest: &RunManifest, names: &BTreeSet<&str>) -> Result<VerifiedFiles, RunDirError> {
        let current = |name: &str| manifest.files.get(name);
        let next = |name: &str| manifest.replacing.get(name).into_iter().flatten();
        let damaged = |name: &str, reason: String| RunDirError::Damaged { path: self.path().join(name), reason };
        // A file of another size need not be read.
        for name in names {
            let Ok(found) = fs::metadata(self.path().join(name)) else { continue };
            if !found.is_file() {
                return Err(damaged(name, "it is not a regular file".to_owned()));
            }
            let bytes = found.len();
            if current(name).into_iter().chain(next(name)).all(|digest| digest.bytes != bytes) {
                let expected = current(name).map_or(String::new(), |digest| format!(", and had {}", digest.bytes));
                return Err(damaged(name, format!("it has {bytes} bytes{expected}")));
            }
        }
        let mut state = VerifiedFiles::Current;
        for (name, found) in self.digests(names, "") {
            // The file does not exist.
            let Some(found) = found? else { continue };
            if current(name) == Some(&found) {
                continue;
            }
            if next(name).all(|digest| *digest != found) {
                return Err(damaged(name, "its SHA-256 is not that in manifest.json".to_owned()));
            }
            state = VerifiedFiles::PartlyReplaced;
        }
        Ok(state)
    }

    /// Rejects files that a run without them would not read.
    fn check_listed(&self, manifest: &RunManifest) -> Result<(), RunDirError> {
        for name in RESULT_FILES.iter().copied().chain([LOCKFILE]) {
            let is_listed = manifest.files.contains_key(name) || manifest.replacing.contains_key(name);
            let path = self.path().join(name);
            if !is_listed && path.exists() {
                return Err(RunDirError::Damaged { path, reason: "manifest.json does not list it".to_owned() });
            }
        }
        Ok(())
    }

    /// Writes the hashes of complete files that are about to be renamed into the manifest, whose status stays. If the
    /// process is killed between the renames, the manifest knows both the old and the new files.
    ///
    /// # Errors
    /// [`RunDirError::Io`].
    pub fn announce_replacement(&self, manifest: &mut RunManifest) -> Result<(), RunDirError> {
        for (name, digest) in self.digests(&RESULT_FILES.into(), PARTIAL) {
            if let Some(digest) = digest? {
                manifest.replacing.entry(name.to_owned()).or_default().push(digest);
            }
        }
        self.write_manifest(manifest)
    }

    /// Adds the hashes of the existing files with results to the manifest, without writing it.
    ///
    /// # Errors
    /// [`RunDirError::Io`].
    pub fn add_result_files(&self, manifest: &mut RunManifest) -> Result<(), RunDirError> {
        for (name, digest) in self.digests(&RESULT_FILES.into(), "") {
            manifest.files.extend(digest?.map(|digest| (name.to_owned(), digest)));
        }
        Ok(())
    }

    /// Hashes files on several threads. Returns `None` for a file that does not exist.
    fn digests<'a>(
        &self,
        names: &BTreeSet<&'a str>,
        suffix: &str,
    ) -> BTreeMap<&'a str, Result<Option<FileDigest>, RunDirError>> {
        let names: Vec<&str> = names.iter().copied().collect();
        let threads = std::thread::available_parallelism().map_or(1, usize::from).min(names.len());
        let (next, found) = (AtomicUsize::new(0), Mutex::new(BTreeMap::new()));
        let hash = || {
            while let Some(name) = names.get(next.fetch_add(1, Ordering::Relaxed)) {
                let digest = digest(self.path().join(format!("{name}{suffix}")));
                found.lock().unwrap_or_else(PoisonError::into_inner).insert(*name, digest);
            }
        };
        std::thread::scope(|scope| {
            (1..threads).for_each(|_| drop(scope.spawn(hash)));
            hash();
        });
        found.into_inner().unwrap_or_else(PoisonError::into_inner)
    }
}

fn digest(path: PathBuf) -> Result<Option<FileDigest>, RunDirError> {
    match fingerprint_file(&path) {
        Ok((bytes, sha256)) => Ok(Some(FileDigest { bytes, sha256 })),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(io_error("read", &path)(error)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::seal::is_sealed;

    fn run() -> (tempfile::TempDir, RunDir, RunManifest) {
        let mut manifest: RunManifest = serde_json::from_value(serde_json::json!({
            "format_version": crate::FORMAT_VERSION, "healbench": "", "revision": null, "command": "é", "started": "",
            "tokenizer": "", "status": "complete", "episodes_done": 0,
            "plan": {"seed": 1, "trials": 1, "order": "product", "environment": {"kind": "simulator", "server": null}, "agents": [],
                "conditions": [], "scenarios": []},
        }))
        .unwrap();
        let folder = tempfile::tempdir().unwrap();
        let scenario =
            crate::StoredScenario { id: "a/b", extension: "yaml", text: "id: a/b", server_tools: Some("[]") };
        let new = RunDir::create(&folder.path().join("run"), &mut manifest, &[scenario], Some("lock")).unwrap();
        for name in RESULT_FILES {
            fs::write(new.run().path().join(name), name).unwrap();
        }
        new.run().add_result_files(&mut manifest).unwrap();
        new.run().write_manifest(&manifest).unwrap();
        let (run, _) = new.publish().unwrap();
        (folder, run, manifest)
    }

    #[test]
    fn a_flipped_bit_of_the_manifest_is_damage() {
        let (_folder, run, manifest) = run();
        let (_, opened) = RunDir::open(run.path()).unwrap();
        assert_eq!(opened, manifest);
        let path = run.path().join("manifest.json");
        let text = fs::read(&path).unwrap();
        for bit in 0..text.len() * 8 {
            let mut flipped = text.clone();
            flipped[bit / 8] ^= 1 << (bit % 8);
            assert!(!is_sealed(&flipped), "bit {bit}");
            // Opening it takes longer.
            if bit % 17 == 0 {
                fs::write(&path, flipped).unwrap();
                let opened = RunDir::open_any(run.path());
                assert!(matches!(opened, Err(RunDirError::Damaged { .. })), "bit {bit}: {opened:?}");
            }
        }
        assert!(is_sealed(&text) && !is_sealed(b"") && !is_sealed(&text[1..]) && !is_sealed(&text[..text.len() - 1]));
    }

    #[test]
    fn every_file_has_a_hash() {
        let (_folder, run, mut manifest) = run();
        let names: Vec<&str> = manifest.files.keys().map(String::as_str).collect();
        let texts = ["scenarios/000-a-b.tools.json", "scenarios/000-a-b.yaml"];
        let expected = ["calls.parquet", LOCKFILE, "episodes.parquet", "responses.parquet"];
        assert_eq!(names, [&expected[..], &texts, &["transcripts.jsonl.zst"]].concat());
        assert_eq!(run.verify(&manifest).unwrap(), VerifiedFiles::Current);
        for name in manifest.files.keys() {
            let path = run.path().join(name);
            let bytes = fs::read(&path).unwrap();
            let mut changes = vec![bytes.clone(), [&bytes[..], b"x"].concat(), bytes[1..].to_vec()];
            changes[0][0] ^= 1;
            for changed in changes {
                fs::write(&path, changed).unwrap();
                let error = run.verify(&manifest).unwrap_err();
                assert!(matches!(&error, RunDirError::Damaged { path: found, .. } if *found == path), "{error}");
            }
            fs::remove_file(&path).unwrap();
            assert_eq!(run.verify(&manifest).unwrap(), VerifiedFiles::Current, "a missing file is not damaged");
            fs::write(&path, bytes).unwrap();
        }
        // Files that the run does not have.
        manifest.files.remove(LOCKFILE);
        assert!(run.verify(&manifest).unwrap_err().to_string().ends_with("manifest.json does not list it"));
        let digest = manifest.files["calls.parquet"].clone();
        for foreign in ["/dev/zero", "../x", "scenarios/../../x", "journal.jsonl"] {
            let mut manifest = manifest.clone();
            manifest.files.insert(foreign.to_owned(), digest.clone());
            assert_eq!(manifest.foreign_file(), Some(foreign));
        }
    }

    #[test]
    fn files_that_are_replaced_while_they_are_read_are_noticed() {
        let (_folder, run, opened) = run();
        assert!(!run.was_replaced(&opened));
        // The next files are announced, some of them renamed, and all.
        for name in ["calls.parquet", "episodes.parquet"] {
            fs::write(run.path().join(format!("{name}.part")), "next").unwrap();
        }
        let mut announced = opened.clone();
        run.announce_replacement(&mut announced).unwrap();
        assert!(run.was_replaced(&opened) && !run.was_replaced(&announced));
        for name in ["calls.parquet", "episodes.parquet"] {
            fs::rename(run.path().join(format!("{name}.part")), run.path().join(name)).unwrap();
            assert!(run.was_replaced(&opened) && run.was_replaced(&announced), "{name}");
        }
        announced.files_were_replaced();
        run.write_manifest(&announced).unwrap();
        assert!(!run.was_replaced(&announced));
    }

    #[test]
    fn an_unpublished_run_leaves_nothing() {
        let (folder, run, mut manifest) = run();
        let names = || fs::read_dir(folder.path()).unwrap().count();
        let exists = RunDir::create(run.path(), &mut manifest, &[], None);
        assert!(matches!(exists, Err(RunDirError::Exists(_))));
        let other = folder.path().join("other");
        let new = RunDir::create(&other, &mut manifest, &[], None).unwrap();
        assert_eq!(names(), 2);
        // Another process was faster.
        fs::create_dir(&other).unwrap();
        assert!(matches!(new.publish(), Err(RunDirError::Exists(_))));
        assert_eq!(names(), 2);
        fs::remove_dir(&other).unwrap();
        let (published, lock) = RunDir::create(&other, &mut manifest, &[], None).unwrap().publish().unwrap();
        assert!(published.is_locked());
        drop(lock);
        assert!(!published.is_locked());
        assert_eq!(names(), 2);
    }
}
