//! Values of JSON texts one after the other, and lines, each within a bound.
//!
//! A text is cut into the bytes of its values before any of it is parsed. So memory is bounded by the largest value, and what is wrong
//! in one value does not touch the next.

use std::io::{self, BufRead, Read};

/// The end of a value or a line.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum End {
    /// All of it was there.
    Whole,
    /// It was passed over, because it is longer than the bound.
    TooLong,
    /// The text ended before it did.
    Missing,
}

/// A scanner of JSON values.
pub(crate) struct Scanner<R> {
    reader: R,
    /// The largest value that is kept, in bytes.
    max_bytes: usize,
}

impl<R: BufRead> Scanner<R> {
    pub(crate) fn new(reader: R, max_bytes: usize) -> Scanner<R> {
        Scanner { reader, max_bytes }
    }

    /// Returns the next byte that is no white space, and leaves it there.
    pub(crate) fn peek(&mut self) -> io::Result<Option<u8>> {
        loop {
            let chunk = self.reader.fill_buf()?;
            if chunk.is_empty() {
                return Ok(None);
            }
            if let Some(at) = chunk.iter().position(|byte| !byte.is_ascii_whitespace()) {
                let byte = chunk[at];
                self.reader.consume(at);
                return Ok(Some(byte));
            }
            let length = chunk.len();
            self.reader.consume(length);
        }
    }

    /// Consumes a byte that was peeked.
    pub(crate) fn skip_byte(&mut self) {
        self.reader.consume(1);
    }

    /// Consumes a byte if it is the next one.
    pub(crate) fn skip_if(&mut self, byte: u8) -> io::Result<bool> {
        let is_next = self.peek()? == Some(byte);
        if is_next {
            self.skip_byte();
        }
        Ok(is_next)
    }

    /// Appends the bytes of the next value to `out`, which has at most the bound then.
    pub(crate) fn value(&mut self, out: &mut Vec<u8>) -> io::Result<End> {
        self.peek()?;
        let mut nesting = Nesting::default();
        let mut is_too_long = false;
        loop {
            let chunk = self.reader.fill_buf()?;
            if chunk.is_empty() {
                return Ok(if nesting.is_scalar() { End::Whole } else { End::Missing });
            }
            let end = nesting.end_in(chunk);
            let length = end.unwrap_or(chunk.len());
            is_too_long |= out.len() + length > self.max_bytes;
            if !is_too_long {
                out.extend_from_slice(&chunk[..length]);
            }
            self.reader.consume(length);
            if end.is_some() {
                return Ok(if is_too_long { End::TooLong } else { End::Whole });
            }
        }
    }
}

/// The place in a value: how deep, and whether in a string.
#[derive(Default)]
struct Nesting {
    depth: usize,
    is_begun: bool,
    in_string: bool,
    is_escaped: bool,
}

impl Nesting {
    /// True inside of a number or a name, which the end of the text ends.
    fn is_scalar(&self) -> bool {
        self.is_begun && self.depth == 0 && !self.in_string
    }

    /// Returns the offset in `chunk` at which the value ends.
    fn end_in(&mut self, chunk: &[u8]) -> Option<usize> {
        for (at, byte) in chunk.iter().enumerate() {
            if self.in_string {
                match byte {
                    _ if self.is_escaped => self.is_escaped = false,
                    b'\\' => self.is_escaped = true,
                    b'"' => {
                        self.in_string = false;
                        if self.depth == 0 {
                            return Some(at + 1);
                        }
                    }
                    _ => {}
                }
                continue;
            }
            match byte {
                b'"' if self.is_scalar() => return Some(at),
                b'"' => self.in_string = true,
                b'{' | b'[' if self.is_scalar() => return Some(at),
                b'{' | b'[' => self.depth += 1,
                b'}' | b']' | b',' | b':' if self.depth == 0 => return Some(at),
                b'}' | b']' => {
                    self.depth -= 1;
                    if self.depth == 0 {
                        return Some(at + 1);
                    }
                }
                byte if self.depth == 0 && byte.is_ascii_whitespace() => return Some(at),
                _ => {}
            }
            self.is_begun = true;
        }
        None
    }
}

/// Reads the next line without its end into `line`, or returns `None` at the end of the text. A line that the text ends without a line
/// feed is [`End::Missing`]; it may be whole all the same.
pub(crate) fn read_line(reader: &mut impl BufRead, line: &mut Vec<u8>, max_bytes: usize) -> io::Result<Option<End>> {
    line.clear();
    let limit = u64::try_from(max_bytes).unwrap_or(u64::MAX).saturating_add(1);
    if reader.by_ref().take(limit).read_until(b'\n', line)? == 0 {
        return Ok(None);
    }
    if line.pop_if(|byte| *byte == b'\n').is_some() {
        line.pop_if(|byte| *byte == b'\r');
        return Ok(Some(End::Whole));
    }
    if line.len() <= max_bytes {
        return Ok(Some(End::Missing));
    }
    line.clear();
    reader.skip_until(b'\n')?;
    Ok(Some(End::TooLong))
}
