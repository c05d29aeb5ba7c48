//! The bytes of logs: files, folders and standard input, uncompressed and unpacked as they are read.

mod bounded;
mod meter;
mod walk;

use std::cell::RefCell;
use std::fs::File;
use std::io::{self, BufReader, Cursor, Read};
use std::rc::Rc;

use self::bounded::{Bound, Bounded};
use self::meter::Meter;
pub(crate) use self::meter::Progress;
pub(crate) use self::walk::{AllFound, Found, find};
use crate::error::{ImportError, Stop};
use crate::head::Outline;
use crate::log::{Bytes, Log, LogText};
use crate::problem::ProblemKind;
use crate::sink::Sink;
use crate::sources::{self, Source};
use crate::summary::FileRead;

/// The size of a buffer between a file and its reader.
const BUFFER_BYTES: usize = 128 * 1024;
/// The part of a log by which its source is recognized.
const HEAD_BYTES: u64 = 256 * 1024;
/// The part of a file by which its compression is recognized.
const MARK_BYTES: u64 = 512;
/// Compressed files and archives inside of each other that are read.
const MAX_LAYERS: usize = 4;
/// The position of the mark of a tar archive.
const TAR_MARK: std::ops::Range<usize> = 257..262;
/// The mark of UTF-8 at the beginning of a text.
const BYTE_ORDER_MARK: &[u8] = b"\xef\xbb\xbf";

/// A place in the input.
#[derive(Debug, Clone, Copy)]
struct Place<'a> {
    /// The position of the file.
    file: usize,
    /// The name of the log.
    name: &'a str,
    /// The archive that it is in.
    archive: Option<&'a str>,
    /// The name of the folder of the path that was given.
    folder: &'a str,
    /// True if it was named, and not found in a folder or an archive.
    is_named: bool,
}

impl Place<'_> {
    /// Returns its name for problems, with that of its archive.
    fn full_name(&self) -> String {
        self.archive.map_or_else(|| self.name.to_owned(), |archive| format!("{archive}: {}", self.name))
    }

    /// Returns the log in this place.
    fn log(&self, source: &'static str) -> Log {
        let (archive, folder) = (self.archive.map(str::to_owned), self.folder.to_owned());
        let mut log = Log::new(source, self.file, self.name);
        (log.archive, log.folder) = (archive, folder);
        log
    }
}

/// Reads a file that was found. One in a folder that cannot be read is a problem.
pub(crate) fn read_found(found: &Found, progress: &Rc<RefCell<Progress<'_>>>, sink: &mut Sink<'_>) -> Result<(), Stop> {
    match read_file(found, progress, sink) {
        Err(Stop::Error(ImportError::Read { file, source })) if !found.is_named => {
            sink.problem_of(&file, ProblemKind::Broken, source.to_string())
        }
        read => read,
    }
}

fn read_file(found: &Found, progress: &Rc<RefCell<Progress<'_>>>, sink: &mut Sink<'_>) -> Result<(), Stop> {
    let file = sink.summary.files.len();
    sink.summary.files.push(FileRead { name: found.name.clone(), ..FileRead::default() });
    let read_error = |source| Stop::Error(ImportError::Read { file: found.name.clone(), source });
    let place = Place { file, name: &found.name, archive: None, folder: &found.folder, is_named: found.is_named };
    let source: Box<dyn Read> = match &found.path {
        Some(path) => Box::new(File::open(path).map_err(read_error)?),
        None => Box::new(io::stdin()),
    };
    let mut meter = Meter::new(source, Rc::clone(progress));
    let read = match &found.path {
        Some(path) if is_zip(path).map_err(read_error)? => {
            let zip = File::open(path).map_err(read_error)?;
            match &sink.options.source {
                Some(name) if name != sources::EVAL => {
                    chosen_source(&Outline::default(), true, place, sink).map(|_| ())
                }
                _ => sources::read_eval(zip, place.log(sources::EVAL), found.is_named, sink),
            }
        }
        _ => {
            let bytes = Box::new(BufReader::with_capacity(BUFFER_BYTES, meter.clone()));
            read_layers(bytes, place, 0, sink)
        }
    };
    read.map_err(|stop| match stop {
        Stop::Io(error) => read_error(error),
        other => other,
    })?;
    io::copy(&mut meter, &mut io::sink()).map_err(read_error)?;
    let read = &mut sink.summary.files[file];
    (read.bytes, read.sha256) = meter.finish();
    Ok(())
}

/// Returns true for a zip file. A pipe is none, and loses what is read here.
fn is_zip(path: &std::path::Path) -> io::Result<bool> {
    if !path.is_file() {
        return Ok(false);
    }
    let mut mark = Vec::new();
    File::open(path)?.take(4).read_to_end(&mut mark)?;
    Ok(mark == b"PK\x03\x04")
}

/// Reads bytes that may be compressed or an archive.
fn read_layers(mut bytes: Bytes<'_>, place: Place<'_>, layer: usize, sink: &mut Sink<'_>) -> Result<(), Stop> {
    let mut mark = Vec::new();
    bytes.by_ref().take(MARK_BYTES).read_to_end(&mut mark)?;
    let is_gzip = mark.starts_with(&[0x1f, 0x8b]);
    let is_zstd = mark.starts_with(&[0x28, 0xb5, 0x2f, 0xfd]);
    let is_tar = mark.get(TAR_MARK).is_some_and(|mark| mark == b"ustar");
    let is_zip = mark.starts_with(b"PK\x03\x04");
    let bytes: Bytes<'_> = Box::new(Cursor::new(mark).chain(bytes));
    if layer >= MAX_LAYERS {
        return sink.problem_of(&place.full_name(), ProblemKind::UnknownFile, "archives in archives");
    }
    if is_zip {
        let error = ImportError::ZipInStream { file: place.full_name() };
        return leave_out(error.to_string(), error, place, sink);
    }
    if is_tar {
        return read_tar(bytes, place, layer + 1, sink);
    }
    if !is_gzip && !is_zstd {
        return read_log(bytes, place, sink);
    }
    let decoder: Box<dyn Read + '_> = if is_gzip {
        Box::new(flate2::bufread::MultiGzDecoder::new(bytes))
    } else {
        Box::new(zstd::Decoder::with_buffer(bytes)?)
    };
    let damage = Rc::new(RefCell::new(None));
    let tolerant = Tolerant { inner: decoder, damage: Rc::clone(&damage) };
    read_layers(Box::new(BufReader::with_capacity(BUFFER_BYTES, tolerant)), place, layer + 1, sink)?;
    match damage.take() {
        Some(problem) => sink.problem_of(&place.full_name(), ProblemKind::EndsInTheMiddle, problem),
        None => Ok(()),
    }
}

/// A decoder whose text ends where it is damaged.
struct Tolerant<'a> {
    inner: Box<dyn Read + 'a>,
    damage: Rc<RefCell<Option<String>>>,
}

impl Read for Tolerant<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        if self.damage.borrow().is_some() {
            return Ok(0);
        }
        self.inner.read(buffer).or_else(|error| {
            // An error of the system says nothing about the text.
            if error.raw_os_error().is_some_and(|code| code > 0) || error.kind() == io::ErrorKind::Interrupted {
                return Err(error);
            }
            *self.damage.borrow_mut() = Some(error.to_string());
            Ok(0)
        })
    }
}

/// Reads the logs of an archive, in its order.
fn read_tar(bytes: Bytes<'_>, place: Place<'_>, layer: usize, sink: &mut Sink<'_>) -> Result<(), Stop> {
    let bound = Bound::default();
    let mut archive = tar::Archive::new(Bounded::new(bytes, bound.clone()));
    let mut entries = archive.entries()?;
    let mut end = 0;
    loop {
        bound.set(end);
        let Some(entry) = entries.next() else { return Ok(()) };
        let entry = match entry {
            Ok(entry) => entry,
            Err(error) => return sink.problem_of(&place.full_name(), ProblemKind::EndsInTheMiddle, error.to_string()),
        };
        bound.lift();
        // Of a sparse file, only the header tells how many bytes are stored.
        let is_sparse = entry.header().entry_type().is_gnu_sparse();
        let stored = if is_sparse { entry.header().entry_size()? } else { entry.size() };
        end = entry.raw_file_position().saturating_add(stored);
        let name = String::from_utf8_lossy(&entry.path_bytes()).into_owned();
        if !entry.header().entry_type().is_file() || !walk::is_log_name(&name) {
            continue;
        }
        let archive = place.full_name();
        let inner = Place { name: &name, archive: Some(&archive), is_named: false, ..place };
        let damage = Rc::new(RefCell::new(None));
        let tolerant = Tolerant { inner: Box::new(entry), damage: Rc::clone(&damage) };
        read_layers(Box::new(BufReader::with_capacity(BUFFER_BYTES, tolerant)), inner, layer, sink)?;
        if let Some(problem) = damage.take() {
            sink.problem_of(&inner.full_name(), ProblemKind::EndsInTheMiddle, problem)?;
        }
    }
}

/// Reads a log after its source is recognized.
fn read_log(mut bytes: Bytes<'_>, place: Place<'_>, sink: &mut Sink<'_>) -> Result<(), Stop> {
    let mut head = Vec::new();
    bytes.by_ref().take(HEAD_BYTES).read_to_end(&mut head)?;
    let is_whole = (head.len() as u64) < HEAD_BYTES;
    if head.starts_with(BYTE_ORDER_MARK) {
        head.drain(..BYTE_ORDER_MARK.len());
    }
    let outline = Outline::of(&head);
    if head.trim_ascii().is_empty() {
        return leave_out("it is empty", ImportError::Empty { file: place.full_name() }, place, sink);
    }
    let Some(source) = chosen_source(&outline, is_whole, place, sink)? else { return Ok(()) };
    let is_lines = walk::is_name_of_lines(place.name) || outline.has_many_values();
    let (missing, before) = (source.lacks_all(&outline), sink.told());
    sink.begin(place.log(source.name));
    (source.read)(LogText { bytes: Box::new(Cursor::new(head).chain(bytes)), is_lines }, sink)?;
    match missing.filter(|_| sink.told() == before) {
        Some(missing) => leave_out_other(source, missing, place, sink),
        None => Ok(()),
    }
}

/// Returns the source that the options name, or the one that is recognized. `is_whole` is true if nothing follows what the outline tells.
fn chosen_source(
    outline: &Outline,
    is_whole: bool,
    place: Place<'_>,
    sink: &mut Sink<'_>,
) -> Result<Option<&'static Source>, Stop> {
    if let Some(name) = &sink.options.source {
        let source = sources::by_name(name)?;
        let is_other = is_whole || sources::recognize(outline).is_ok();
        return match source.lacks_all(outline).filter(|_| is_other) {
            None => Ok(Some(source)),
            Some(missing) => leave_out_other(source, missing, place, sink).map(|()| None),
        };
    }
    let missing = match sources::recognize(outline) {
        Ok(source) => return Ok(Some(source)),
        Err(missing) => missing,
    };
    let known =
        if missing.is_near { format!(". Name its source with --source ({})", sources::names()) } else { String::new() };
    let error = ImportError::Unrecognized { file: place.full_name(), missing: format!("{}{known}", missing.text) };
    leave_out(missing.text, error, place, sink).map(|()| None)
}

/// Leaves out a log of another source than the named one.
fn leave_out_other(source: &Source, missing: String, place: Place<'_>, sink: &mut Sink<'_>) -> Result<(), Stop> {
    let (file, source_name, known) = (place.full_name(), source.name, sources::names());
    let detail = format!("a log of {source_name} has `{missing}`");
    leave_out(detail, ImportError::NotOfSource { file, source_name, missing, known }, place, sink)
}

/// Leaves out a file that is no log. One that was named ends the import.
fn leave_out(detail: impl Into<String>, error: ImportError, place: Place<'_>, sink: &mut Sink<'_>) -> Result<(), Stop> {
    if place.is_named {
        return Err(error.into());
    }
    sink.problem_of(&place.full_name(), ProblemKind::UnknownFile, detail)
}
