//! Files with their size and hash, and the progress of reading them.

use std::cell::RefCell;
use std::fmt;
use std::io::{self, Read};
use std::rc::Rc;

use sha2::{Digest, Sha256};

/// The progress of an import.
pub(crate) struct Progress<'a> {
    /// Receives the bytes that were read, and those of all files; `None` if standard input is one of them.
    pub(crate) tell: &'a mut dyn FnMut(u64, Option<u64>),
    pub(crate) read: u64,
    pub(crate) total: Option<u64>,
}

/// A file, which is hashed as it is read. Clones read the same file.
#[derive(Clone)]
pub(crate) struct Meter<'a> {
    state: Rc<RefCell<State>>,
    progress: Rc<RefCell<Progress<'a>>>,
}

struct State {
    source: Box<dyn Read>,
    hash: Sha256,
    bytes: u64,
}

impl<'a> Meter<'a> {
    pub(crate) fn new(source: Box<dyn Read>, progress: Rc<RefCell<Progress<'a>>>) -> Meter<'a> {
        Meter { state: Rc::new(RefCell::new(State { source, hash: Sha256::new(), bytes: 0 })), progress }
    }

    /// Returns the number of bytes that were read, and their hash.
    pub(crate) fn finish(&self) -> (u64, String) {
        let state = self.state.borrow();
        let digest = state.hash.clone().finalize();
        (state.bytes, digest.iter().map(|byte| format!("{byte:02x}")).collect())
    }
}

impl fmt::Debug for Meter<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Meter").field("bytes", &self.state.borrow().bytes).finish_non_exhaustive()
    }
}

impl Read for Meter<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let mut state = self.state.borrow_mut();
        let length = state.source.read(buffer)?;
        state.hash.update(&buffer[..length]);
        let added = u64::try_from(length).unwrap_or(u64::MAX);
        state.bytes += added;
        let mut progress = self.progress.borrow_mut();
        progress.read += added;
        let (read, total) = (progress.read, progress.total);
        (progress.tell)(read, total);
        Ok(length)
    }
}
