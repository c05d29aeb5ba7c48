//! The only module that prints: results to stdout, everything else to stderr.
#![allow(clippy::print_stdout, clippy::print_stderr)]

use std::io::{self, IsTerminal as _, Write as _};

use crate::args::{ColorChoice, GlobalArgs};
use crate::error::{CliError, ErrorKind};
use crate::role::{Role, role};

/// The output settings.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Terminal {
    color_out: bool,
    color_err: bool,
    quiet: bool,
    progress: bool,
}

impl Terminal {
    pub(crate) fn new(args: &GlobalArgs) -> Terminal {
        let no_color = std::env::var_os("NO_COLOR").is_some_and(|value| !value.is_empty());
        let color = |is_terminal: bool| match args.color {
            ColorChoice::Always => true,
            ColorChoice::Never => false,
            ColorChoice::Auto => is_terminal && !no_color,
        };
        let errors_on_terminal = match role() {
            Role::Unlimited => io::stderr().is_terminal(),
            Role::Limited { errors_on_terminal } => errors_on_terminal,
        };
        let interactive = io::stderr().is_terminal() && std::env::var_os("CI").is_none();
        Terminal {
            color_out: color(io::stdout().is_terminal()),
            color_err: color(errors_on_terminal),
            quiet: args.quiet,
            progress: interactive && !args.quiet,
        }
    }

    pub(crate) fn colors_results(&self) -> bool {
        self.color_out
    }

    pub(crate) fn colors_messages(&self) -> bool {
        self.color_err
    }

    /// Returns true if a progress bar may be drawn; otherwise progress is printed as lines.
    pub(crate) fn draws_progress(&self) -> bool {
        self.progress
    }

    /// Returns the width for results: the terminal's width, limited for readability; 100 if there is no terminal.
    pub(crate) fn width(&self) -> usize {
        console_size().map_or(100, |(_, columns)| columns).clamp(60, 200)
    }

    /// Returns the number of lines of one screen above `below` others and the prompt; 24 if there is no terminal.
    pub(crate) fn lines(&self, below: usize) -> usize {
        console_size().map_or(24, |(rows, _)| rows.saturating_sub(1 + below).max(20))
    }

    /// Returns the columns available for the progress bar.
    pub(crate) fn progress_width(&self) -> usize {
        console::Term::stderr().size_checked().map_or(80, |(_, columns)| usize::from(columns))
    }

    /// Prints a result. A closed pipe is not an error.
    pub(crate) fn result(&self, text: &str) -> Result<(), CliError> {
        let mut out = io::stdout().lock();
        match out.write_all(text.as_bytes()).and_then(|()| out.flush()) {
            Err(error) if error.kind() != io::ErrorKind::BrokenPipe => Err(CliError::stdout(error)),
            _ => Ok(()),
        }
    }

    /// Returns a buffered writer for many results.
    pub(crate) fn result_writer(&self) -> ResultWriter {
        ResultWriter {
            out: Some(io::BufWriter::with_capacity(1 << 16, io::stdout().lock())),
            ..ResultWriter::default()
        }
    }

    /// Prints a note for interactive users.
    pub(crate) fn note(&self, text: &str) {
        if !self.quiet {
            let _ = writeln!(io::stderr().lock(), "{text}");
        }
    }

    /// Prints a warning, even with `--quiet`.
    pub(crate) fn warn(&self, text: &str) {
        let _ = writeln!(io::stderr().lock(), "{text}");
    }

    /// Prints what a process has printed on its standard error.
    pub(crate) fn errors_of_process(&self, text: &[u8]) {
        let _ = io::stderr().lock().write_all(text);
    }

    /// Prints an error with its suggested fix.
    pub(crate) fn error(&self, error: &CliError) {
        let mut err = io::stderr().lock();
        if error.kind == ErrorKind::Diagnostics {
            let _ = write!(err, "{error}");
            return;
        }
        let (red, cyan, reset) =
            if self.color_err { ("\u{1b}[1;31m", "\u{1b}[36m", "\u{1b}[0m") } else { ("", "", "") };
        let _ = writeln!(err, "{red}error{reset}: {error}");
        if let Some(help) = &error.help {
            let _ = writeln!(err, "{cyan}help{reset}: {help}");
        }
    }
}

/// A buffered writer of results, or their collector for a file.
#[derive(Default)]
pub(crate) struct ResultWriter {
    out: Option<io::BufWriter<io::StdoutLock<'static>>>,
    /// The results, where they do not go to standard output.
    pub(crate) collected: String,
    /// True if the pipe was closed, which is not an error.
    closed: bool,
}

impl ResultWriter {
    /// Prints a result. Returns false if the pipe was closed.
    pub(crate) fn print(&mut self, text: &str) -> Result<bool, CliError> {
        let written = match &mut self.out {
            Some(out) => out.write_all(text.as_bytes()),
            None => {
                self.collected.push_str(text);
                Ok(())
            }
        };
        self.check(written)
    }

    /// Flushes the buffer. Returns false if the pipe was closed.
    pub(crate) fn flush(&mut self) -> Result<bool, CliError> {
        let written = self.out.as_mut().map_or(Ok(()), io::BufWriter::flush);
        self.check(written)
    }

    fn check(&mut self, written: io::Result<()>) -> Result<bool, CliError> {
        match written {
            Err(error) if error.kind() != io::ErrorKind::BrokenPipe => Err(CliError::stdout(error)),
            result => {
                self.closed |= result.is_err();
                Ok(!self.closed)
            }
        }
    }
}

/// Returns the rows and columns of the terminal that shows results; `None` if there is none.
fn console_size() -> Option<(usize, usize)> {
    let (rows, columns) = io::stdout().is_terminal().then(|| console::Term::stdout().size_checked()).flatten()?;
    Some((usize::from(rows), usize::from(columns)))
}
