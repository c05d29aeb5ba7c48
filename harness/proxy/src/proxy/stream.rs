//! The two streams of lines, and who may write to them.

use std::io::{self, BufRead, Read as _, Write};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, MutexGuard};

use healbench_mcp::MAX_LINE;

use super::lock;

/// A stream to which both threads write, each line as a whole.
pub(super) struct Stream {
    /// `None` once it is closed.
    writer: Mutex<Option<Box<dyn Write + Send>>>,
    /// True once a line could not be written: nobody reads any more.
    is_broken: AtomicBool,
}

/// The stream for one line, which no other line can interrupt.
struct Line<'s>(MutexGuard<'s, Option<Box<dyn Write + Send>>>, &'s AtomicBool);

impl Line<'_> {
    fn write(&mut self, bytes: &[u8]) {
        let Some(writer) = self.0.as_mut() else { return };
        if writer.write_all(bytes).and_then(|()| writer.flush()).is_err() {
            self.1.store(true, Ordering::Release);
        }
    }
}

impl Stream {
    pub(super) fn new(writer: impl Write + Send + 'static) -> Stream {
        Stream { writer: Mutex::new(Some(Box::new(writer))), is_broken: AtomicBool::new(false) }
    }

    fn begin_line(&self) -> Line<'_> {
        Line(lock(&self.writer), &self.is_broken)
    }

    pub(super) fn write(&self, line: &[u8]) {
        self.begin_line().write(line);
    }

    pub(super) fn is_broken(&self) -> bool {
        self.is_broken.load(Ordering::Acquire)
    }

    /// Closes the stream after the line that is being written.
    pub(super) fn close(&self) {
        *lock(&self.writer) = None;
    }

    /// Closes the stream, unless a line is being written that nobody may ever read.
    pub(super) fn close_if_idle(&self) {
        if let Ok(mut writer) = self.writer.try_lock() {
            *writer = None;
        }
    }

    /// Reads lines from `source` until it ends, or `line` returns false. A line that is too long to be looked at passes to this stream in
    /// pieces, and is counted by `long`. Returns false if the source ended within a line.
    pub(super) fn read_from(
        &self,
        mut source: impl BufRead,
        mut long: impl FnMut(),
        mut line: impl FnMut(&[u8]) -> bool,
    ) -> bool {
        // Held from the first piece of a line to its end.
        let mut passing: Option<Line<'_>> = None;
        let mut is_at_end = true;
        while let Ok(Some(bytes)) = read_piece(&mut source) {
            is_at_end = bytes.last() == Some(&b'\n');
            if passing.is_none() && (is_at_end || bytes.len() < MAX_LINE) {
                // A last line may have no line break.
                if !line(&bytes) {
                    break;
                }
                continue;
            }
            let piece = passing.get_or_insert_with(|| {
                long();
                self.begin_line()
            });
            piece.write(&bytes);
            if is_at_end {
                passing = None;
            }
        }
        is_at_end
    }
}

/// Reads the next line with its line break, or the next piece of one that is too long; `None` at the end of the stream.
fn read_piece(source: &mut impl BufRead) -> io::Result<Option<Vec<u8>>> {
    let mut bytes = Vec::new();
    let limit = u64::try_from(MAX_LINE).unwrap_or(u64::MAX);
    source.by_ref().take(limit).read_until(b'\n', &mut bytes)?;
    Ok(Some(bytes).filter(|bytes| !bytes.is_empty()))
}
