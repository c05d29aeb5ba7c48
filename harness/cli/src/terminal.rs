//! The one way to the terminal: results to stdout, everything else to stderr.
#![allow(clippy::print_stdout, clippy::print_stderr)]

use std::io::{self, IsTerminal as _, Write as _};

use crate::args::{ColorChoice, GlobalArgs};
use crate::error::CliError;

/// How to print.
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
        let interactive = io::stderr().is_terminal() && std::env::var_os("CI").is_none();
        Terminal {
            color_out: color(io::stdout().is_terminal()),
            color_err: color(io::stderr().is_terminal()),
            quiet: args.quiet,
            progress: interactive && !args.quiet,
        }
    }

    /// Whether results are coloured.
    pub(crate) fn colors_results(&self) -> bool {
        self.color_out
    }

    /// Whether messages are coloured.
    pub(crate) fn colors_messages(&self) -> bool {
        self.color_err
    }

    /// Whether a moving bar may be drawn; plain lines otherwise.
    pub(crate) fn draws_progress(&self) -> bool {
        self.progress
    }

    /// The width for results: the terminal's, within what reads well; 80 elsewhere.
    pub(crate) fn width(&self) -> usize {
        let terminal = io::stdout().is_terminal().then(console_width).flatten();
        terminal.unwrap_or(80).clamp(60, 140)
    }

    /// The columns that a moving line may take.
    pub(crate) fn progress_width(&self) -> usize {
        console::Term::stderr().size_checked().map_or(80, |(_, columns)| usize::from(columns))
    }

    /// Prints a result. A reader that has gone away is no error.
    pub(crate) fn result(&self, text: &str) -> Result<(), CliError> {
        let mut out = io::stdout().lock();
        match out.write_all(text.as_bytes()).and_then(|()| out.flush()) {
            Err(error) if error.kind() != io::ErrorKind::BrokenPipe => Err(CliError::Stdout(error)),
            _ => Ok(()),
        }
    }

    /// Prints many results, buffered.
    pub(crate) fn results(&self) -> Results {
        Results { out: io::BufWriter::with_capacity(1 << 16, io::stdout().lock()), closed: false }
    }

    /// Prints a line for a person who watches.
    pub(crate) fn note(&self, text: &str) {
        if !self.quiet {
            let _ = writeln!(io::stderr().lock(), "{text}");
        }
    }

    /// Prints a line that nobody may miss.
    pub(crate) fn important(&self, text: &str) {
        let _ = writeln!(io::stderr().lock(), "{text}");
    }

    /// Prints an error with its way out.
    pub(crate) fn error(&self, error: &CliError) {
        let mut err = io::stderr().lock();
        if let CliError::Diagnostics(text) = error {
            let _ = err.write_all(text.as_bytes());
            return;
        }
        let (red, cyan, reset) =
            if self.color_err { ("\u{1b}[1;31m", "\u{1b}[36m", "\u{1b}[0m") } else { ("", "", "") };
        let _ = writeln!(err, "{red}error{reset}: {error}");
        if let Some(hint) = error.hint() {
            let _ = writeln!(err, "{cyan}help{reset}: {hint}");
        }
    }
}

/// Results that are printed one after the other.
pub(crate) struct Results {
    out: io::BufWriter<io::StdoutLock<'static>>,
    /// The reader has gone away, which is no error.
    closed: bool,
}

impl Results {
    /// Prints a result; false when nobody reads any more.
    pub(crate) fn print(&mut self, text: &str) -> Result<bool, CliError> {
        let written = self.out.write_all(text.as_bytes());
        self.check(written)
    }

    /// Hands over what is buffered.
    pub(crate) fn flush(&mut self) -> Result<bool, CliError> {
        let written = self.out.flush();
        self.check(written)
    }

    fn check(&mut self, written: io::Result<()>) -> Result<bool, CliError> {
        match written {
            Err(error) if error.kind() != io::ErrorKind::BrokenPipe => Err(CliError::Stdout(error)),
            result => {
                self.closed |= result.is_err();
                Ok(!self.closed)
            }
        }
    }
}

fn console_width() -> Option<usize> {
    let (_, columns) = console::Term::stdout().size_checked()?;
    Some(usize::from(columns))
}
