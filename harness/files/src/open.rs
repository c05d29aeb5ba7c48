//! Files: opened, read within bounds, and created so that their owner alone can read them.

use std::borrow::Cow;
use std::fs::{File, OpenOptions};
use std::io::{self, BufRead, Read as _};
use std::path::Path;

use healbench_core::fingerprint_reader;

/// The size up to which files that people write are read, such as scenarios, templates and settings, in bytes.
pub const MAX_WRITTEN_BYTES: u64 = 8 << 20;

/// The size up to which lists of tools, their contracts and reports of audits are read, in bytes. Their values take some 30 times as
/// much memory.
pub const MAX_LIST_BYTES: u64 = 32 << 20;

/// The size up to which the other files that programs write are read, such as baselines, in bytes.
pub const MAX_GENERATED_BYTES: u64 = 512 << 20;

/// Opens a file to read it. A named pipe would block, and a device such as `/dev/zero` has no end.
///
/// # Errors
/// Those of [`File::open`], and [`io::ErrorKind::InvalidInput`] if it is neither a regular file nor a folder, of which
/// nothing can be read anyway.
pub fn open_regular_file(path: &Path) -> io::Result<File> {
    let kind = std::fs::metadata(path)?.file_type();
    if kind.is_file() || kind.is_dir() {
        File::open(path)
    } else {
        Err(io::Error::new(io::ErrorKind::InvalidInput, "it is not a regular file"))
    }
}

/// Returns the size of a regular file and the SHA-256 of its content in lower-case hexadecimal.
///
/// # Errors
/// Those of [`open_regular_file`] and of reading.
pub fn fingerprint_file(path: &Path) -> io::Result<(u64, String)> {
    fingerprint_reader(&mut open_regular_file(path)?)
}

/// Reads a regular file of at most `most` bytes.
///
/// # Errors
/// Those of [`open_regular_file`], and [`io::ErrorKind::FileTooLarge`].
pub fn read_file(path: &Path, most: u64) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    // A file may grow while it is read.
    open_regular_file(path)?.take(most + 1).read_to_end(&mut bytes)?;
    if bytes.len() as u64 > most {
        let message = format!("it has more than {} MiB, the most that is read", most >> 20);
        return Err(io::Error::new(io::ErrorKind::FileTooLarge, message));
    }
    Ok(bytes)
}

/// Reads a regular file of UTF-8 of at most `most` bytes, as [`normal_text`].
///
/// # Errors
/// Those of [`read_stored_text`].
pub fn read_text_file(path: &Path, most: u64) -> io::Result<String> {
    read_stored_text(path, most).map(|text| normal_text(&text).into_owned())
}

/// Reads a regular file of UTF-8 of at most `most` bytes as it is. Hashes of files that a run stores are those of their bytes.
///
/// # Errors
/// Those of [`read_file`], and [`io::ErrorKind::InvalidData`] if it is not UTF-8.
pub fn read_stored_text(path: &Path, most: u64) -> io::Result<String> {
    let bytes = read_file(path, most)?;
    String::from_utf8(bytes)
        .map_err(|_| io::Error::new(io::ErrorKind::InvalidData, "stream did not contain valid UTF-8"))
}

/// Returns a text without a byte order mark, and with `\n` as its line ends. Editors and git on Windows change both, and a text is the
/// same with and without them.
pub fn normal_text(text: &str) -> Cow<'_, str> {
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    if text.contains("\r\n") { text.replace("\r\n", "\n").into() } else { text.into() }
}

/// Replaces `line` by the next line of `most` bytes at most, with its line break, and returns its length; 0 at the end. An end
/// without a line break ends a line.
///
/// # Errors
/// Those of the stream, and [`io::ErrorKind::FileTooLarge`]. A small compressed file may have a line of any length.
pub fn read_bounded_line(source: &mut impl BufRead, line: &mut Vec<u8>, most: u64) -> io::Result<usize> {
    line.clear();
    let length = source.take(most + 1).read_until(b'\n', line)?;
    if length as u64 > most {
        let message = format!("it is longer than {} MiB", most >> 20);
        return Err(io::Error::new(io::ErrorKind::FileTooLarge, message));
    }
    Ok(length)
}

/// Returns options for a file that only its owner may read if it is created, since texts of servers and models are in it.
pub fn private_file() -> OpenOptions {
    let mut options = OpenOptions::new();
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    options
}

/// Creates a private file in a folder that may come from elsewhere. What has its name is removed first: a link would lead the
/// writer to another file, and a named pipe would block it.
///
/// # Errors
/// Those of [`File::create_new`] and [`std::fs::remove_file`].
pub fn create_own_file(path: &Path) -> io::Result<File> {
    match std::fs::remove_file(path) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
        _ => {}
    }
    private_file().write(true).create_new(true).open(path)
}

/// Checks that a path, if anything has it, is a regular file itself, which can be written to.
///
/// # Errors
/// Those of [`std::fs::symlink_metadata`], and [`io::ErrorKind::InvalidInput`].
pub fn check_own_file(path: &Path) -> io::Result<()> {
    match std::fs::symlink_metadata(path) {
        Ok(found) if found.is_file() => Ok(()),
        Ok(_) => Err(io::Error::new(io::ErrorKind::InvalidInput, "it is not a regular file")),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
        Err(error) => Err(error),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_has_a_bound_and_none_of_the_line_before() {
        let (mut source, mut line) = (&b"one\n\nthree"[..], Vec::new());
        let mut lines = Vec::new();
        while read_bounded_line(&mut source, &mut line, 5).unwrap() > 0 {
            lines.push(String::from_utf8(line.clone()).unwrap());
        }
        assert_eq!(lines, ["one\n", "\n", "three"]);
        for (text, most, fits) in [("12345", 5, true), ("1234\n", 5, true), ("12345\n", 5, false), ("123456", 5, false)]
        {
            let read = read_bounded_line(&mut text.as_bytes(), &mut line, most);
            assert_eq!(read.is_ok(), fits, "{text:?}");
            assert!(read.is_ok() || read.unwrap_err().kind() == io::ErrorKind::FileTooLarge);
        }
        let mut endless = io::BufReader::new(io::repeat(b'x'));
        assert!(read_bounded_line(&mut endless, &mut line, 1 << 20).is_err());
        assert!(line.len() <= (1 << 20) + 1);
    }
}
