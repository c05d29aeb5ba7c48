//! The index of all recordings in a folder.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

use rustc_hash::FxHashMap;

use super::error::io_error;
use super::line::RecordingLine;
use super::recording_file::{FullRecording, RecordingFile};
use super::segment::Segment;
use super::{CassetteError, Key, RecordedResponse, SUFFIX};
use crate::llm::Api;

/// All recordings of a folder, including those of killed processes.
#[derive(Debug, Default)]
pub(super) struct RecordingIndex {
    /// Sorted by API and model name.
    pub(super) files: Vec<RecordingFile>,
    positions: FxHashMap<Key, (usize, usize)>,
}

/// Returns the paths in a folder, sorted.
pub(super) fn sorted_paths(dir: &Path) -> Result<Vec<PathBuf>, CassetteError> {
    let mut found = Vec::new();
    for entry in fs::read_dir(dir).map_err(io_error("read", dir))? {
        found.push(entry.map_err(io_error("read", dir))?.path());
    }
    found.sort();
    Ok(found)
}

impl RecordingIndex {
    /// Reads a folder and merges the given segment files into the result. Returns the index and the positions of the
    /// files that differ from those on disk.
    pub(super) fn read(dir: &Path, segments: &[PathBuf]) -> Result<(RecordingIndex, Vec<usize>), CassetteError> {
        // Read segments first: a segment that has disappeared by now was merged into a file that is read below.
        let texts: Vec<Segment> =
            segments.iter().filter_map(|path| Segment::read(path).transpose()).collect::<Result<_, _>>()?;
        let mut files = Vec::new();
        for path in sorted_paths(dir)? {
            if path.to_string_lossy().ends_with(SUFFIX) {
                files.push(RecordingFile::read(&path)?);
            }
        }
        let mut index = RecordingIndex::new(files);
        let changed = index.merge(&texts)?;
        Ok((index, changed))
    }

    pub(super) fn new(mut files: Vec<RecordingFile>) -> RecordingIndex {
        files.sort_by(|a, b| (a.api, &a.model).cmp(&(b.api, &b.model)));
        let mut positions = FxHashMap::default();
        for (number, file) in files.iter().enumerate() {
            for (line, key) in file.keys().enumerate() {
                positions.entry(key).or_insert((number, line));
            }
        }
        RecordingIndex { files, positions }
    }

    /// Merges segments. Of two responses to one request, the existing or first one is kept.
    fn merge(&mut self, texts: &[Segment]) -> Result<Vec<usize>, CassetteError> {
        let mut new: BTreeMap<(Api, String), BTreeMap<Key, FullRecording<'_>>> = BTreeMap::new();
        for text in texts {
            for line in text.lines()? {
                let key = line.recording.line.key;
                if !self.positions.contains_key(&key) {
                    new.entry((line.api, line.model)).or_default().entry(key).or_insert(line.recording);
                }
            }
        }
        let names: BTreeSet<(Api, String)> = new.keys().cloned().collect();
        let mut files = std::mem::take(&mut self.files);
        for ((api, model), recordings) in new {
            let recordings: Vec<FullRecording<'_>> = recordings.into_values().collect();
            match files.iter_mut().find(|file| file.api == api && file.model == model) {
                Some(file) => *file = file.merged_with(recordings),
                None => files.push(RecordingFile::new(api, &model).merged_with(recordings)),
            }
        }
        *self = RecordingIndex::new(files);
        let is_new = |file: &RecordingFile| names.contains(&(file.api, file.model.clone()));
        Ok((0..self.files.len()).filter(|number| is_new(&self.files[*number])).collect())
    }

    pub(super) fn is_empty(&self) -> bool {
        self.files.is_empty()
    }

    pub(super) fn contains(&self, key: Key) -> bool {
        self.positions.contains_key(&key)
    }

    pub(super) fn get(&self, key: Key) -> Option<RecordedResponse> {
        let (file, line) = self.positions.get(&key)?;
        RecordingLine::parse(self.files.get(*file)?.line(*line))?.recorded_response()
    }

    pub(super) fn file_of(&self, key: Key) -> Option<&RecordingFile> {
        self.files.get(self.positions.get(&key)?.0)
    }

    /// Returns every key in the order of files and lines.
    pub(super) fn keys(&self) -> impl Iterator<Item = Key> + '_ {
        self.files.iter().flat_map(RecordingFile::keys)
    }
}
