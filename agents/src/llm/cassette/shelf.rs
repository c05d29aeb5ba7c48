//! What a folder holds.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

use rustc_hash::FxHashMap;

use super::error::io_error;
use super::line::Line;
use super::part::PartText;
use super::tape::{Loose, Tape};
use super::{CassetteError, ENDING, Key, Recorded};
use crate::llm::Api;

/// All recordings of a folder, those that a killed process left among them.
#[derive(Debug, Default)]
pub(super) struct Shelf {
    /// In the order of APIs and names.
    pub(super) tapes: Vec<Tape>,
    index: FxHashMap<Key, (usize, usize)>,
}

/// The files in a folder, sorted.
pub(super) fn files(dir: &Path) -> Result<Vec<PathBuf>, CassetteError> {
    let mut found = Vec::new();
    for entry in fs::read_dir(dir).map_err(io_error("read", dir))? {
        found.push(entry.map_err(io_error("read", dir))?.path());
    }
    found.sort();
    Ok(found)
}

impl Shelf {
    /// Reads a folder, with these part files merged into what it has. Says which tapes are no longer as their files are.
    pub(super) fn read(dir: &Path, parts: &[PathBuf]) -> Result<(Shelf, Vec<usize>), CassetteError> {
        // Parts come first: one that is gone by now has been merged into a file that is yet to be read.
        let texts: Vec<PartText> =
            parts.iter().filter_map(|path| PartText::read(path).transpose()).collect::<Result<_, _>>()?;
        let mut tapes = Vec::new();
        for path in files(dir)? {
            if path.to_string_lossy().ends_with(ENDING) {
                tapes.push(Tape::read(&path)?);
            }
        }
        let mut shelf = Shelf::of(tapes);
        let changed = shelf.merge(&texts)?;
        Ok((shelf, changed))
    }

    pub(super) fn of(mut tapes: Vec<Tape>) -> Shelf {
        tapes.sort_by(|a, b| (a.api, &a.model).cmp(&(b.api, &b.model)));
        let mut index = FxHashMap::default();
        for (number, tape) in tapes.iter().enumerate() {
            for (line, key) in tape.keys().enumerate() {
                index.entry(key).or_insert((number, line));
            }
        }
        Shelf { tapes, index }
    }

    /// What is there already stays: of two answers to one request, the first is kept.
    fn merge(&mut self, texts: &[PartText]) -> Result<Vec<usize>, CassetteError> {
        let mut new: BTreeMap<(Api, String), BTreeMap<Key, Loose<'_>>> = BTreeMap::new();
        for text in texts {
            for line in text.lines()? {
                let key = line.loose.line.key;
                if !self.index.contains_key(&key) {
                    new.entry((line.api, line.model)).or_default().entry(key).or_insert(line.loose);
                }
            }
        }
        let names: BTreeSet<(Api, String)> = new.keys().cloned().collect();
        let mut tapes = std::mem::take(&mut self.tapes);
        for ((api, model), loose) in new {
            let loose: Vec<Loose<'_>> = loose.into_values().collect();
            match tapes.iter_mut().find(|tape| tape.api == api && tape.model == model) {
                Some(tape) => *tape = tape.with(loose),
                None => tapes.push(Tape::new(api, &model).with(loose)),
            }
        }
        *self = Shelf::of(tapes);
        let is_new = |tape: &Tape| names.contains(&(tape.api, tape.model.clone()));
        Ok((0..self.tapes.len()).filter(|index| is_new(&self.tapes[*index])).collect())
    }

    pub(super) fn is_empty(&self) -> bool {
        self.tapes.is_empty()
    }

    pub(super) fn has(&self, key: Key) -> bool {
        self.index.contains_key(&key)
    }

    pub(super) fn get(&self, key: Key) -> Option<Recorded> {
        let (tape, line) = self.index.get(&key)?;
        Line::parse(self.tapes.get(*tape)?.line(*line))?.answer()
    }

    pub(super) fn tape_of(&self, key: Key) -> Option<&Tape> {
        self.tapes.get(self.index.get(&key)?.0)
    }

    /// Every key, in the order of files and lines.
    pub(super) fn keys(&self) -> impl Iterator<Item = Key> + '_ {
        self.tapes.iter().flat_map(Tape::keys)
    }
}
