//! Remembers pages that were made before.

use std::collections::{BTreeMap, VecDeque};
use std::fs;
use std::hash::{DefaultHasher, Hash as _, Hasher as _};
use std::io;
use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};

use healbench_core::Outcome;
use healbench_frames::count_outcomes;
use healbench_store::{RunDir, RunDirError, RunManifest, VerifiedFiles};
use serde::{Deserialize, Serialize};

use super::response::RenderedPage;
use crate::error::CliError;

/// Identifies the state of a run by the names, sizes and modification times of its files.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct CacheKey(u64);

/// The number of files in a run directory, above which nothing of the run is cached.
const MAX_FILES: usize = 10_000;

impl CacheKey {
    fn from_run(path: &Path) -> Option<CacheKey> {
        let mut stamps = Vec::new();
        for folder in [path.to_owned(), path.join("scenarios")] {
            match fs::read_dir(&folder) {
                Ok(entries) => {
                    for entry in entries {
                        let entry = entry.ok()?;
                        let metadata = fs::metadata(entry.path()).ok()?;
                        stamps.push((entry.path(), metadata.len(), metadata.modified().ok()?));
                        if stamps.len() > MAX_FILES {
                            return None;
                        }
                    }
                }
                Err(error) if error.kind() == io::ErrorKind::NotFound => {}
                Err(_) => return None,
            }
        }
        stamps.sort();
        // The processes of a server are one program, so they hash alike.
        let mut hasher = DefaultHasher::new();
        stamps.hash(&mut hasher);
        Some(CacheKey(hasher.finish()))
    }

    /// Returns the key of a run that no process is writing; the pages of others are not cached.
    pub(super) fn of_unlocked_run(path: &Path) -> Option<CacheKey> {
        if RunDir::at(path).is_locked() { None } else { CacheKey::from_run(path) }
    }
}

/// The number of cached pages.
const CAPACITY: usize = 24;

/// The most recently used pages of runs.
#[derive(Default)]
pub(super) struct PageCache {
    entries: Mutex<VecDeque<CacheEntry>>,
}

struct CacheEntry {
    run: String,
    kind: &'static str,
    key: CacheKey,
    page: Arc<RenderedPage>,
}

impl PageCache {
    /// Returns the page of this kind of a run in this state.
    pub(super) fn get(&self, run: &str, kind: &str, key: CacheKey) -> Option<Arc<RenderedPage>> {
        let mut entries = self.entries.lock().unwrap_or_else(PoisonError::into_inner);
        // Pages of another state of the run are never used again.
        entries.retain(|entry| entry.run != run || entry.key == key);
        let index = entries.iter().position(|entry| entry.run == run && entry.kind == kind)?;
        let entry = entries.remove(index)?;
        let page = Arc::clone(&entry.page);
        entries.push_front(entry);
        Some(page)
    }

    /// Stores a page.
    pub(super) fn insert(&self, run: String, kind: &'static str, key: CacheKey, page: Arc<RenderedPage>) {
        let mut entries = self.entries.lock().unwrap_or_else(PoisonError::into_inner);
        entries.push_front(CacheEntry { run, kind, key, page });
        entries.truncate(CAPACITY);
    }
}

/// The numbers of episodes by outcome of runs, by their names.
pub(super) type KnownOutcomes = BTreeMap<String, (CacheKey, BTreeMap<Outcome, u64>)>;

/// Returns the number of episodes of a run by outcome, from `known` unless the run has changed.
pub(super) fn outcomes_of(
    name: &str,
    run: &RunDir,
    manifest: &RunManifest,
    known: &mut KnownOutcomes,
) -> Result<BTreeMap<Outcome, u64>, CliError> {
    let key = CacheKey::from_run(run.path());
    if let Some((_, counts)) = known.get(name).filter(|(known, _)| Some(*known) == key) {
        return Ok(counts.clone());
    }
    if run.verify_episodes(manifest)? == VerifiedFiles::PartlyReplaced {
        return Err(RunDirError::Incomplete(run.path().to_owned()).into());
    }
    let counts = count_outcomes(run)?;
    if let Some(key) = key {
        known.insert(name.to_owned(), (key, counts.clone()));
    }
    Ok(counts)
}

#[cfg(test)]
mod tests {
    use axum::http::StatusCode;

    use super::*;

    fn page(text: &str) -> Arc<RenderedPage> {
        Arc::new(RenderedPage { status: StatusCode::OK, content_type: String::new(), text: text.to_owned() })
    }

    #[test]
    fn a_page_is_known_until_its_run_changes() {
        let cache = PageCache::default();
        let key = CacheKey;
        let get = |run: &str, kind: &str, size| cache.get(run, kind, key(size)).map(|page| page.text.clone());
        cache.insert("a".to_owned(), "page", key(1), page("a1"));
        cache.insert("a".to_owned(), "csv", key(1), page("a1 csv"));
        cache.insert("b".to_owned(), "page", key(1), page("b1"));
        assert_eq!(get("a", "page", 1).as_deref(), Some("a1"));
        assert_eq!(get("a", "csv", 1).as_deref(), Some("a1 csv"));
        assert_eq!(get("a", "json", 1), None);
        assert_eq!(get("a", "page", 2), None);
        assert_eq!(get("a", "csv", 1), None, "the pages of the earlier state were removed");
        // The least recently used page is evicted.
        for index in 0..CAPACITY - 1 {
            cache.insert(format!("other {index}"), "page", key(1), page(""));
            assert_eq!(get("b", "page", 1).as_deref(), Some("b1"));
        }
        cache.insert("last".to_owned(), "page", key(1), page(""));
        assert_eq!((get("other 0", "page", 1), get("b", "page", 1).as_deref()), (None, Some("b1")));
    }

    #[test]
    fn a_key_changes_with_every_file() {
        let folder = tempfile::tempdir().unwrap();
        fs::create_dir(folder.path().join("scenarios")).unwrap();
        for name in ["manifest.json", "calls.parquet", "scenarios/000-a.yaml"] {
            let file = folder.path().join(name);
            fs::write(&file, "one").unwrap();
            let before = CacheKey::from_run(folder.path());
            assert_eq!(CacheKey::from_run(folder.path()), before);
            let time = std::time::SystemTime::UNIX_EPOCH - std::time::Duration::from_secs(1);
            fs::File::options().append(true).open(&file).unwrap().set_modified(time).unwrap();
            let changed = CacheKey::from_run(folder.path());
            assert!(changed.is_some() && changed != before, "{name}");
            fs::remove_file(&file).unwrap();
            assert_ne!(CacheKey::from_run(folder.path()), changed);
        }
    }

    #[test]
    fn outcomes_are_read_again_when_the_run_changed() {
        let folder = tempfile::tempdir().unwrap();
        let manifest: RunManifest = serde_json::from_value(serde_json::json!({
            "format_version": healbench_store::FORMAT_VERSION, "healbench": "", "revision": null, "command": "",
            "started": "", "tokenizer": "", "status": "complete", "episodes_done": 0,
            "plan": {"seed": 1, "trials": 1, "order": "product", "environment": {"kind": "simulator", "server": null}, "agents": [], "conditions": [], "scenarios": []},
        }))
        .unwrap();
        let run = RunDir::at(folder.path());
        fs::write(folder.path().join("manifest.json"), "{}").unwrap();
        let counts = BTreeMap::from([(Outcome::Success, 3)]);
        let key = CacheKey::from_run(run.path()).unwrap();
        let mut known = KnownOutcomes::from([("run".to_owned(), (key, counts.clone()))]);
        let text = serde_json::to_string(&known).unwrap();
        assert_eq!(serde_json::from_str::<KnownOutcomes>(&text).unwrap(), known);
        assert_eq!(outcomes_of("run", &run, &manifest, &mut known).unwrap(), counts);
        fs::write(folder.path().join("manifest.json"), "{ }").unwrap();
        assert!(outcomes_of("run", &run, &manifest, &mut known).is_err(), "there are no frames to read them from");
    }
}
