//! What was computed and may be asked for again.

use std::collections::{BTreeMap, VecDeque};
use std::fs;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::SystemTime;

use healbench_record::{Outcome, RunDir};
use healbench_reports::{FrameError, Report, count_outcomes};

/// By which a run is known to be the same as before: when its manifest was written, and how long that is. The manifest is the last file
/// that is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Stamp(Option<SystemTime>, u64);

impl Stamp {
    pub(super) fn of(run: &RunDir) -> Stamp {
        let metadata = fs::metadata(run.path().join("manifest.json")).ok();
        let modified = metadata.as_ref().and_then(|metadata| metadata.modified().ok());
        Stamp(modified, metadata.map_or(0, |metadata| metadata.len()))
    }
}

/// What is made of a run.
pub(super) struct Whole {
    pub(super) report: Report,
    pub(super) page: String,
}

/// Reports that stay.
const KEPT: usize = 8;

/// The reports of the runs that were looked at last.
#[derive(Default)]
pub(super) struct Shelf {
    places: Mutex<VecDeque<Arc<Place>>>,
}

/// Whoever makes a report holds its place, so that others wait for it instead of making it too.
struct Place {
    name: String,
    stamp: Stamp,
    made: Mutex<Option<Arc<Whole>>>,
}

impl Shelf {
    /// What was made of this run, or what `make` makes of it. An error is not kept.
    pub(super) fn get<E>(
        &self,
        name: &str,
        stamp: Stamp,
        make: impl FnOnce() -> Result<Whole, E>,
    ) -> Result<Arc<Whole>, E> {
        let place = self.place(name, stamp);
        let mut made = hold(&place.made);
        if let Some(whole) = &*made {
            return Ok(Arc::clone(whole));
        }
        let whole = Arc::new(make()?);
        *made = Some(Arc::clone(&whole));
        Ok(whole)
    }

    fn place(&self, name: &str, stamp: Stamp) -> Arc<Place> {
        let mut places = hold(&self.places);
        let known = places.iter().position(|place| place.name == name && place.stamp == stamp);
        let place = known
            .and_then(|index| places.remove(index))
            .unwrap_or_else(|| Arc::new(Place { name: name.to_owned(), stamp, made: Mutex::default() }));
        // What an older state of the run was is of no use any more.
        places.retain(|other| other.name != name);
        places.push_front(Arc::clone(&place));
        places.truncate(KEPT);
        place
    }
}

/// How the episodes of runs ended, as the list shows it.
#[derive(Default)]
pub(super) struct Counts {
    known: Mutex<BTreeMap<String, (Stamp, Ended)>>,
}

/// How many episodes ended how.
type Ended = BTreeMap<Outcome, u64>;

impl Counts {
    /// How the episodes of a run ended.
    pub(super) fn get(&self, name: &str, run: &RunDir) -> Result<Ended, FrameError> {
        let stamp = Stamp::of(run);
        if let Some((_, counts)) = hold(&self.known).get(name).filter(|(known, _)| *known == stamp) {
            return Ok(counts.clone());
        }
        let counts = count_outcomes(run)?;
        hold(&self.known).insert(name.to_owned(), (stamp, counts.clone()));
        Ok(counts)
    }

    /// Forgets runs that are not there any more.
    pub(super) fn keep(&self, is_there: impl Fn(&str) -> bool) {
        hold(&self.known).retain(|name, _| is_there(name));
    }
}

/// What a thread that panicked left half done is made anew.
fn hold<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;
    use std::path::PathBuf;

    use healbench_record::{RunDir, RunManifest};
    use healbench_reports::{FrameWriter, Scope, summarise};

    use super::*;

    /// The report of a plan without episodes, and of a run that is called so.
    fn whole(made: &Cell<u32>) -> Result<Whole, ()> {
        made.set(made.get() + 1);
        let folder = tempfile::tempdir().unwrap();
        let manifest: RunManifest = serde_json::from_value(serde_json::json!({
            "format_version": healbench_record::FORMAT_VERSION, "healbench": "", "revision": null, "command": "",
            "started": "", "tokenizer": "", "status": "complete", "episodes_done": 0,
            "plan": {"seed": 1, "trials": 1, "agents": [], "conditions": [], "scenarios": []},
        }))
        .unwrap();
        let path: PathBuf = folder.path().join("run");
        let run = RunDir::create(&path, &manifest, &[]).unwrap();
        FrameWriter::create(&run, &manifest.plan).unwrap().finish().unwrap();
        let report = summarise(&run, &manifest, Scope::Tables).unwrap();
        Ok(Whole { report, page: made.get().to_string() })
    }

    #[test]
    fn a_report_is_made_once_until_its_run_changes() {
        let (shelf, made) = (Shelf::default(), Cell::new(0));
        let now = SystemTime::now();
        let get = |name: &str, stamp| shelf.get(name, stamp, || whole(&made)).unwrap().page.clone();
        let (old, new) = (Stamp(Some(now), 10), Stamp(Some(now), 11));
        assert_eq!([get("a", old), get("b", old), get("a", old), get("b", old)], ["1", "2", "1", "2"]);
        assert_eq!([get("a", new), get("a", new)], ["3", "3"]);
        // What it was before is gone.
        assert_eq!(shelf.places.lock().unwrap().len(), 2);
        for index in 0..KEPT - 1 {
            get(&format!("other {index}"), old);
        }
        assert_eq!(shelf.places.lock().unwrap().len(), KEPT);
        assert_eq!((get("a", new).as_str(), made.get()), ("3", 10));
        assert_eq!(get("b", old), "11", "the one that nobody looked at for longest went");
    }

    #[test]
    fn an_error_is_not_kept() {
        let (shelf, made) = (Shelf::default(), Cell::new(0));
        assert!(shelf.get("a", Stamp(None, 1), || Err::<Whole, ()>(())).is_err());
        assert!(shelf.get("a", Stamp(None, 1), || whole(&made)).is_ok());
    }

    #[test]
    fn who_comes_second_waits_for_the_first() {
        let (shelf, made) = (Shelf::default(), std::sync::atomic::AtomicU32::new(0));
        std::thread::scope(|scope| {
            for _ in 0..4 {
                scope.spawn(|| {
                    shelf.get("a", Stamp(None, 1), || {
                        made.fetch_add(1, std::sync::atomic::Ordering::SeqCst);
                        std::thread::sleep(std::time::Duration::from_millis(50));
                        whole(&Cell::new(0))
                    })
                });
            }
        });
        assert_eq!(made.into_inner(), 1);
    }
}
