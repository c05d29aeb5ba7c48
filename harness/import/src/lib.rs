//! Logs of agents as conversations.
//!
//! [`import`] reads files in the forms of [`SOURCES`] and passes their conversations on, one by one. Of the input it holds one
//! conversation at a time, of at most 64 MiB.

mod conversation;
mod draft;
mod error;
mod head;
mod input;
mod log;
mod mask;
mod options;
mod problem;
mod redact;
mod repair;
mod rows;
mod sink;
mod sources;
mod split;
mod suggest;
mod summary;

use std::cell::RefCell;
use std::ops::ControlFlow;
use std::path::PathBuf;
use std::rc::Rc;

pub use conversation::{Call, CallResult, Conversation, ErrorSource, Event, Tool, Turn};
pub use error::ImportError;
pub use options::{NamePattern, Options, Router};
pub use problem::{Position, Problem, ProblemKind, Problems};
pub use rows::{OBSERVED, Rows};
pub use sources::{SOURCES, Source};
pub use summary::{Counts, FileRead, ModelCounts, Summary};

use crate::error::Stop;
use crate::sink::Sink;

/// Reads the logs at `paths` and passes their conversations to `receive`, in the order of the files, until it breaks. A path is a file, a
/// folder, which is searched for logs, or `-` for standard input. `progress` is told the bytes that were read, and those of all files, if
/// that is known.
///
/// # Errors
/// A path cannot be read, a named file is a log of no source, or, if the import is strict, a part of a log is lost.
pub fn import(
    paths: &[PathBuf],
    options: &Options,
    receive: &mut dyn FnMut(Conversation) -> ControlFlow<()>,
    progress: &mut dyn FnMut(u64, Option<u64>),
) -> Result<Summary, ImportError> {
    if let Some(name) = &options.source {
        sources::by_name(name)?;
    }
    let input::AllFound { files, unreadable, repeated } = input::find(paths)?;
    let total = files.iter().map(|file| file.bytes).sum();
    let progress = Rc::new(RefCell::new(input::Progress { tell: progress, read: 0, total }));
    let mut sink = Sink::new(options, receive);
    let unreadable = unreadable.into_iter().map(|(folder, error)| (folder, ProblemKind::Broken, error.to_string()));
    let repeated = repeated.into_iter().map(|name| (name, ProblemKind::Repeated, String::new()));
    for (name, kind, detail) in unreadable.chain(repeated) {
        if let Err(Stop::Error(error)) = sink.problem_of(&name, kind, detail) {
            return Err(error);
        }
    }
    for file in &files {
        match input::read_found(file, &progress, &mut sink) {
            Ok(()) => {}
            Err(Stop::Enough) => {
                sink.summary.is_stopped = true;
                break;
            }
            Err(Stop::Error(error)) => return Err(error),
            Err(Stop::Io(source)) => return Err(ImportError::Read { file: file.name.clone(), source }),
        }
    }
    Ok(sink.finish())
}
