//! Caches of computed reports and outcome counts.

use std::collections::{BTreeMap, VecDeque};
use std::fs;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::SystemTime;

use healbench_record::{Outcome, RunDir, RunDirError, RunManifest, VerifiedFiles};
use healbench_reports::{Report, count_outcomes};

use crate::error::CliError;

/// Identifies the state of a run by the modification time and size of its manifest, which is the last file written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct CacheKey(Option<SystemTime>, u64);

impl CacheKey {
    pub(super) fn from_run(run: &RunDir) -> CacheKey {
        let metadata = fs::metadata(run.path().join("manifest.json")).ok();
        let modified = metadata.as_ref().and_then(|metadata| metadata.modified().ok());
        CacheKey(modified, metadata.map_or(0, |metadata| metadata.len()))
    }
}

/// The report of a run and its page.
pub(super) struct CachedReport {
    pub(super) report: Report,
    pub(super) page: String,
}

/// The number of cached reports.
const CAPACITY: usize = 8;

/// The most recently used reports.
#[derive(Default)]
pub(super) struct ReportCache {
    entries: Mutex<VecDeque<Arc<CacheEntry>>>,
}

/// A cached report. The thread that computes it holds the lock, so that others wait instead of computing it again.
struct CacheEntry {
    name: String,
    key: CacheKey,
    report: Mutex<Option<Arc<CachedReport>>>,
}

impl ReportCache {
    /// Returns the report of a run, computing it with `make` if needed. Errors are not cached.
    pub(super) fn get<E>(
        &self,
        name: &str,
        key: CacheKey,
        make: impl FnOnce() -> Result<CachedReport, E>,
    ) -> Result<Arc<CachedReport>, E> {
        let entry = self.entry(name, key);
        let mut slot = lock(&entry.report);
        if let Some(cached) = &*slot {
            return Ok(Arc::clone(cached));
        }
        let cached = Arc::new(make()?);
        *slot = Some(Arc::clone(&cached));
        Ok(cached)
    }

    fn entry(&self, name: &str, key: CacheKey) -> Arc<CacheEntry> {
        let mut entries = lock(&self.entries);
        let known = entries.iter().position(|entry| entry.name == name && entry.key == key);
        let entry = known
            .and_then(|index| entries.remove(index))
            .unwrap_or_else(|| Arc::new(CacheEntry { name: name.to_owned(), key, report: Mutex::default() }));
        // Reports of older states of the run are never used again.
        entries.retain(|other| other.name != name);
        entries.push_front(Arc::clone(&entry));
        entries.truncate(CAPACITY);
        entry
    }
}

/// The numbers of episodes by outcome, for the list of runs.
#[derive(Default)]
pub(super) struct OutcomeCache {
    entries: Mutex<BTreeMap<String, (CacheKey, OutcomeCounts)>>,
}

type OutcomeCounts = BTreeMap<Outcome, u64>;

impl OutcomeCache {
    /// Returns the number of episodes of a run by outcome.
    pub(super) fn get(&self, name: &str, run: &RunDir, manifest: &RunManifest) -> Result<OutcomeCounts, CliError> {
        let key = CacheKey::from_run(run);
        if let Some((_, counts)) = lock(&self.entries).get(name).filter(|(known, _)| *known == key) {
            return Ok(counts.clone());
        }
        if run.verify_episodes(manifest)? == VerifiedFiles::PartlyReplaced {
            return Err(RunDirError::Incomplete(run.path().to_owned()).into());
        }
        let counts = count_outcomes(run)?;
        lock(&self.entries).insert(name.to_owned(), (key, counts.clone()));
        Ok(counts)
    }

    /// Removes runs that no longer exist.
    pub(super) fn retain(&self, exists: impl Fn(&str) -> bool) {
        lock(&self.entries).retain(|name, _| exists(name));
    }
}

/// The runs whose files were compared with their hashes, so that a request does not read all of them again.
#[derive(Default)]
pub(super) struct VerifiedRuns {
    entries: Mutex<BTreeMap<PathBuf, FileStamps>>,
}

/// The size and modification time of each file of a run.
type FileStamps = Vec<Option<(u64, Option<SystemTime>)>>;

/// The number of runs that are remembered.
const VERIFIED_CAPACITY: usize = 1024;

impl VerifiedRuns {
    /// Compares the files of a run with their hashes, unless they are as they were at the last time.
    pub(super) fn check(&self, run: &RunDir, manifest: &RunManifest) -> Result<VerifiedFiles, RunDirError> {
        let stamp = |path: PathBuf| fs::metadata(path).ok().map(|found| (found.len(), found.modified().ok()));
        let stamps = || -> FileStamps {
            let files = manifest.files.keys().map(|name| run.path().join(name));
            files.chain([run.path().join("manifest.json"), run.responses_path()]).map(stamp).collect()
        };
        // Before reading: if a file changes while it is read, the next request reads it again.
        let before = stamps();
        if lock(&self.entries).get(run.path()) == Some(&before) {
            return Ok(VerifiedFiles::Current);
        }
        let files = run.verify(manifest)?;
        let mut entries = lock(&self.entries);
        if entries.len() >= VERIFIED_CAPACITY {
            entries.clear();
        }
        if files == VerifiedFiles::Current {
            entries.insert(run.path().to_owned(), before);
        }
        Ok(files)
    }
}

/// Ignores poisoning: an entry that a panicking thread left incomplete is computed again.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use healbench_record::{RunDir, RunManifest};
    use healbench_reports::{FrameWriter, Scope, summarize};
    use std::cell::Cell;

    use super::*;

    /// Returns the manifest of a run without episodes.
    fn manifest() -> RunManifest {
        serde_json::from_value(serde_json::json!({
            "format_version": healbench_record::FORMAT_VERSION, "healbench": "", "revision": null, "command": "",
            "started": "", "tokenizer": "", "status": "complete", "episodes_done": 0,
            "plan": {"seed": 1, "trials": 1, "environment": {"kind": "simulator", "server": null}, "agents": [], "conditions": [], "scenarios": []},
        }))
        .unwrap()
    }

    /// Returns the report of an empty plan, counting the calls.
    fn cached_report(count: &Cell<u32>) -> Result<CachedReport, ()> {
        count.set(count.get() + 1);
        let folder = tempfile::tempdir().unwrap();
        let mut manifest = manifest();
        let path: PathBuf = folder.path().join("run");
        let run = RunDir::create(&path, &mut manifest, &[], None).unwrap().publish().unwrap().0;
        FrameWriter::create(&run, &manifest.plan).unwrap().finish().unwrap();
        let report = summarize(&run, &manifest, Scope::Tables).unwrap();
        Ok(CachedReport { report, page: count.get().to_string() })
    }

    #[test]
    fn a_report_is_computed_once_until_its_run_changes() {
        let (cache, count) = (ReportCache::default(), Cell::new(0));
        let now = SystemTime::now();
        let get = |name: &str, key| cache.get(name, key, || cached_report(&count)).unwrap().page.clone();
        let (old, new) = (CacheKey(Some(now), 10), CacheKey(Some(now), 11));
        assert_eq!([get("a", old), get("b", old), get("a", old), get("b", old)], ["1", "2", "1", "2"]);
        assert_eq!([get("a", new), get("a", new)], ["3", "3"]);
        // The report of the earlier state was removed.
        assert_eq!(cache.entries.lock().unwrap().len(), 2);
        for index in 0..CAPACITY - 1 {
            get(&format!("other {index}"), old);
        }
        assert_eq!(cache.entries.lock().unwrap().len(), CAPACITY);
        assert_eq!((get("a", new).as_str(), count.get()), ("3", 10));
        assert_eq!(get("b", old), "11", "the one that nobody looked at for longest went");
    }

    #[test]
    fn files_are_hashed_again_only_after_they_changed() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("run");
        let mut manifest = manifest();
        let run = RunDir::create(&path, &mut manifest, &[], None).unwrap().publish().unwrap().0;
        FrameWriter::create(&run, &manifest.plan).unwrap().finish().unwrap();
        run.add_result_files(&mut manifest).unwrap();
        let verified = VerifiedRuns::default();
        let check = || verified.check(&run, &manifest);
        let set_time = |time: SystemTime| {
            let file = fs::File::options().append(true).open(run.calls_path()).unwrap();
            file.set_modified(time).unwrap();
        };
        let time = SystemTime::UNIX_EPOCH + std::time::Duration::from_secs(1_000_000_000);
        set_time(time);
        assert_eq!(check().unwrap(), VerifiedFiles::Current);
        let mut bytes = fs::read(run.calls_path()).unwrap();
        bytes[10] ^= 1;
        fs::write(run.calls_path(), bytes).unwrap();
        // With the size and the time of before, the file is not read.
        set_time(time);
        assert_eq!(check().unwrap(), VerifiedFiles::Current);
        set_time(time + std::time::Duration::from_nanos(1_000));
        for _ in 0..2 {
            assert!(matches!(check(), Err(RunDirError::Damaged { path, .. }) if path == run.calls_path()));
        }
    }

    #[test]
    fn an_error_is_not_cached() {
        let (cache, count) = (ReportCache::default(), Cell::new(0));
        assert!(cache.get("a", CacheKey(None, 1), || Err::<CachedReport, ()>(())).is_err());
        assert!(cache.get("a", CacheKey(None, 1), || cached_report(&count)).is_ok());
    }

    #[test]
    fn concurrent_requests_share_one_report() {
        let (cache, count) = (ReportCache::default(), std::sync::atomic::AtomicU32::new(0));
        std::thread::scope(|scope| {
            for _ in 0..4 {
                scope.spawn(|| {
                    cache.get("a", CacheKey(None, 1), || {
                        count.fetch_add(1, std::sync::atomic::Ordering::SeqCst);
                        std::thread::sleep(std::time::Duration::from_millis(50));
                        cached_report(&Cell::new(0))
                    })
                });
            }
        });
        assert_eq!(count.into_inner(), 1);
    }
}
