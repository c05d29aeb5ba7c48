//! Combines folders of recordings, such as those of the shards of a run.

use std::path::Path;

use super::journal::Journal;
use super::{Cassette, CassetteError};

/// Adds the recordings of several folders to another, which is created if necessary. Of two responses to one request the first is
/// kept. Returns the number of requests with another response in a later folder.
///
/// # Errors
/// Returns a [`CassetteError`] if a folder cannot be read, or recorded a model of the same name from another server.
pub fn merge_cassettes<P: AsRef<Path>>(folders: &[P], out: &Path) -> Result<u64, CassetteError> {
    // Check all folders before the first is copied.
    let mut sources: Vec<Cassette> = Vec::new();
    for folder in folders {
        sources.push(Cassette::open(folder.as_ref())?);
    }
    let merged = Cassette::open_or_create(out)?;
    let mut conflicts = 0;
    for source in &sources {
        for (name, base_url) in source.servers()? {
            merged.bind_name(&name, &base_url)?;
        }
        for record in source.state().sorted() {
            let mut state = merged.state();
            match state.records.get(&record.key()) {
                Some(known) => conflicts += u64::from(known.response != record.response),
                None => {
                    state.journal.iter_mut().try_for_each(|journal: &mut Journal| journal.append(&record.line()))?;
                    state.add((*record).clone());
                }
            }
        }
    }
    merged.finish()?;
    Ok(conflicts)
}

#[cfg(test)]
mod tests {
    use std::path::PathBuf;
    use std::sync::atomic::AtomicBool;

    use serde_json::json;

    use super::*;
    use crate::llm::Api;
    use crate::llm::cassette::{RecordedResponse, Request, Reservation};

    fn record(folder: &Path, server: &str, trial: u32, answer: &str) {
        let cassette = Cassette::open_or_create(folder).unwrap();
        cassette.bind(Api::OpenaiChat, "m", server).unwrap();
        let request = Request { api: Api::OpenaiChat, model: "m", trial, body: &json!({"model": "m"}) };
        match cassette.get_or_reserve(&request, &AtomicBool::new(false)).unwrap() {
            Reservation::Reserved(pending) => pending
                .put(RecordedResponse {
                    body: json!({"text": answer}),
                    latency_ms: 1,
                    recorded_on: "2026-01-01".to_owned(),
                })
                .unwrap(),
            Reservation::Recorded(_) => panic!("recorded already"),
        }
        cassette.finish().unwrap();
    }

    #[test]
    fn recordings_are_combined_and_conflicts_counted() {
        let dir = tempfile::tempdir().unwrap();
        let folder = |name: &str| dir.path().join(name);
        record(&folder("a"), "http://one/v1", 0, "first");
        record(&folder("b"), "http://one/v1", 1, "second");
        record(&folder("c"), "http://one/v1", 0, "other");
        assert_eq!(merge_cassettes(&[folder("a"), folder("b")], &folder("ab")).unwrap(), 0);
        assert_eq!(merge_cassettes(&[folder("b"), folder("a")], &folder("ba")).unwrap(), 0);
        let files = |name: &str| {
            let entries = std::fs::read_dir(folder(name)).unwrap();
            let mut files: Vec<(PathBuf, Vec<u8>)> = entries
                .map(|entry| entry.unwrap().path())
                .map(|path| (PathBuf::from(path.file_name().unwrap()), std::fs::read(path).unwrap()))
                .collect();
            files.sort();
            files
        };
        assert!(files("ab") == files("ba") && files("ab").len() == 2);
        assert_eq!(merge_cassettes(&[folder("ab"), folder("c")], &folder("abc")).unwrap(), 1);
        assert!(files("abc") == files("ab"));

        record(&folder("elsewhere"), "http://two/v1", 2, "third");
        let error = merge_cassettes(&[folder("a"), folder("elsewhere")], &folder("mixed")).unwrap_err();
        assert!(matches!(error, CassetteError::OtherServer { .. }), "{error}");
        let error = merge_cassettes(&[folder("nowhere")], &folder("none")).unwrap_err();
        assert!(matches!(error, CassetteError::Missing(_)) && !folder("none").exists(), "{error}");
    }
}
