//! Sessions in lines, which may stand between those of other sessions.

use std::collections::{BTreeMap, HashSet};

use serde::Deserialize;

use super::documents::{MAX_BYTES, tell_repair};
use crate::error::Stop;
use crate::log::{LogText, RECORDED};
use crate::problem::{Position, ProblemKind};
use crate::repair;
use crate::sink::Sink;
use crate::split::{self, End};

/// A line with its number.
pub(crate) struct Numbered<L> {
    pub(crate) number: u64,
    pub(crate) line: L,
}

/// A session whose lines are all there.
pub(crate) struct Session<L> {
    pub(crate) lines: Vec<Numbered<L>>,
    /// True if the log ends in the middle of its last line.
    pub(crate) is_cut_off: bool,
}

/// A session that may go on. Its lines are texts, since their values need several times the memory.
#[derive(Default)]
struct Open {
    lines: Vec<Numbered<Box<[u8]>>>,
    is_cut_off: bool,
    bytes: usize,
    /// The number of its last line.
    last: u64,
}

impl Open {
    fn close<L: for<'a> Deserialize<'a>>(self) -> Session<L> {
        let parse = |Numbered { number, line }: Numbered<Box<[u8]>>| {
            // What was repaired has been told.
            repair::parse(&line).ok().map(|(line, _)| Numbered { number, line })
        };
        Session { lines: self.lines.into_iter().filter_map(parse).collect(), is_cut_off: self.is_cut_off }
    }

    /// Ends a session early. Of other sources than recordings, the conversation itself is counted.
    fn cut_off(&mut self, sink: &mut Sink<'_>) -> Result<(), Stop> {
        self.is_cut_off = true;
        if sink.log().source == RECORDED {
            sink.problem(ProblemKind::CutOff, Position::Line(self.last), "too many sessions are open")?;
        }
        Ok(())
    }
}

/// Reads lines, groups them by what `id_of` returns, and passes each session to `add` at the end of the log, in the order of their first
/// lines. A line without an id is left out. If the sessions that are open have more than 64 MiB together, that whose last line is oldest is
/// passed on at once.
pub(crate) fn read<L: for<'a> Deserialize<'a>>(
    mut log: LogText<'_>,
    mut id_of: impl FnMut(&L) -> Option<String>,
    add: fn(Session<L>, &mut Sink<'_>) -> Result<(), Stop>,
    sink: &mut Sink<'_>,
) -> Result<(), Stop> {
    let mut open: BTreeMap<String, Open> = BTreeMap::new();
    // The sessions that are open, by their last lines.
    let mut by_last: BTreeMap<u64, String> = BTreeMap::new();
    let mut too_long: HashSet<String> = HashSet::new();
    let (mut text, mut number, mut bytes) = (Vec::new(), 0, 0);
    let mut last_id = String::new();
    while let Some(end) = split::read_line(&mut log.bytes, &mut text, MAX_BYTES)? {
        number += 1;
        let position = Position::Line(number);
        if end == End::TooLong {
            sink.problem(ProblemKind::TooLong, position, "")?;
            continue;
        }
        if text.trim_ascii().is_empty() {
            continue;
        }
        let line: L = match parse(&text, end, position, sink)? {
            Ok(line) => line,
            Err(is_end) => {
                if let Some(session) = open.get_mut(&last_id).filter(|_| is_end) {
                    session.is_cut_off = true;
                }
                continue;
            }
        };
        let Some(id) = id_of(&line).filter(|id| !too_long.contains(id)) else { continue };
        last_id = id;
        let session = open.entry(last_id.clone()).or_default();
        session.lines.push(Numbered { number, line: text.as_slice().into() });
        session.bytes += text.len();
        bytes += text.len();
        by_last.remove(&session.last);
        session.last = number;
        if session.bytes > MAX_BYTES {
            bytes -= session.bytes;
            open.remove(&last_id);
            too_long.insert(last_id.clone());
            sink.problem(ProblemKind::TooLong, position, format!("session {last_id}"))?;
        } else {
            by_last.insert(number, last_id.clone());
        }
        if bytes > MAX_BYTES
            && let Some((_, oldest)) = by_last.pop_first()
            && let Some(mut session) = open.remove(&oldest)
        {
            bytes -= session.bytes;
            session.cut_off(sink)?;
            add(session.close(), sink)?;
        }
    }
    let mut rest: Vec<Open> = open.into_values().collect();
    rest.sort_by_key(|session| session.lines.first().map(|first| first.number));
    rest.into_iter().try_for_each(|session| add(session.close(), sink))
}

/// Parses a line. One that cannot be parsed is counted, and the error is true if the log ends in it.
fn parse<L: for<'a> Deserialize<'a>>(
    text: &[u8],
    end: End,
    position: Position,
    sink: &mut Sink<'_>,
) -> Result<Result<L, bool>, Stop> {
    match repair::parse(text) {
        Ok((line, problem)) => {
            tell_repair(problem, position, sink)?;
            Ok(Ok(line))
        }
        Err(error) => {
            let is_end = end == End::Missing;
            let kind = if is_end { ProblemKind::EndsInTheMiddle } else { ProblemKind::Broken };
            sink.problem(kind, position, repair::place_of(&error))?;
            Ok(Err(is_end))
        }
    }
}
