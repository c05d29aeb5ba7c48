//! The bytes of an archive between its files, within a bound.

use std::cell::Cell;
use std::io::{self, Read};
use std::rc::Rc;

/// The most bytes between the end of a file and the next one. Long names stand there, and are held in memory.
const MAX_BETWEEN_BYTES: u64 = 1024 * 1024;

/// The place up to which an archive may be read.
#[derive(Clone)]
pub(super) struct Bound(Rc<Cell<u64>>);

impl Default for Bound {
    fn default() -> Bound {
        Bound(Rc::new(Cell::new(u64::MAX)))
    }
}

impl Bound {
    /// Allows what belongs to the next file, after that which ends at `end`.
    pub(super) fn set(&self, end: u64) {
        self.0.set(end.saturating_add(MAX_BETWEEN_BYTES));
    }

    pub(super) fn lift(&self) {
        self.0.set(u64::MAX);
    }
}

/// A reader up to a bound.
pub(super) struct Bounded<R> {
    inner: R,
    at: u64,
    bound: Bound,
}

impl<R> Bounded<R> {
    pub(super) fn new(inner: R, bound: Bound) -> Bounded<R> {
        Bounded { inner, at: 0, bound }
    }
}

impl<R: Read> Read for Bounded<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let left = self.bound.0.get().saturating_sub(self.at);
        if left == 0 {
            return Err(io::Error::other("the name of a file is longer than 1 MiB"));
        }
        let length = buffer.len().min(usize::try_from(left).unwrap_or(usize::MAX));
        let length = self.inner.read(&mut buffer[..length])?;
        self.at += u64::try_from(length).unwrap_or(u64::MAX);
        Ok(length)
    }
}
