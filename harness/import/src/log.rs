//! Logs: their names and their texts.

use std::collections::BTreeSet;
use std::io::BufRead;

/// The source of the proxy's sessions, which never have the last answer of a model.
pub(crate) const RECORDED: &str = "healbench";

/// A log that is read: a file, or one in an archive.
#[derive(Debug, Clone, Default)]
pub(crate) struct Log {
    /// The source.
    pub(crate) source: &'static str,
    /// The file that it is in.
    pub(crate) file: usize,
    /// Its name, relative to the path that was given.
    pub(crate) name: String,
    /// The archive that it is in.
    pub(crate) archive: Option<String>,
    /// The name of the folder of the path that was given.
    pub(crate) folder: String,
    /// The number of its conversations so far.
    pub(crate) conversations: usize,
    /// The details of problems that were told and are not told again.
    pub(crate) told: BTreeSet<&'static str>,
}

impl Log {
    pub(crate) fn new(source: &'static str, file: usize, name: &str) -> Log {
        Log { source, file, name: name.to_owned(), ..Log::default() }
    }

    /// Returns its name for problems, with that of its archive.
    pub(crate) fn full_name(&self) -> String {
        self.archive.as_ref().map_or_else(|| self.name.clone(), |archive| format!("{archive}: {}", self.name))
    }

    /// Returns what tells it from other logs with its name: its archive, or the folder that it was found in.
    pub(crate) fn parent(&self) -> &str {
        self.archive.as_deref().map_or(&self.folder, stem)
    }
}

/// The bytes of a log.
pub(crate) type Bytes<'a> = Box<dyn BufRead + 'a>;

/// A log that was recognized.
pub(crate) struct LogText<'a> {
    pub(crate) bytes: Bytes<'a>,
    /// True if it has a value a line.
    pub(crate) is_lines: bool,
}

/// Returns the name of a file without the endings.
pub(crate) fn stem(name: &str) -> &str {
    const ENDINGS: [&str; 9] = ["zst", "gz", "json", "jsonl", "ndjson", "eval", "tar", "tgz", "tzst"];
    let (folder, file) = name.rfind('/').map_or(("", name), |at| name.split_at(at + 1));
    let mut stem = file;
    while let Some((before, end)) = stem.rsplit_once('.') {
        if before.is_empty() || !ENDINGS.contains(&end) {
            break;
        }
        stem = before;
    }
    &name[..folder.len() + stem.len()]
}
