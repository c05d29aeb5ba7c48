//! How far a run is: a bar on a terminal, a line now and then elsewhere.

use std::time::{Duration, Instant};

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};

use crate::terminal::Terminal;

/// Tells of progress on stderr.
pub(crate) struct Progress<'a> {
    terminal: &'a Terminal,
    bar: Option<ProgressBar>,
    total: u64,
    last: Instant,
}

/// Time between two plain lines.
const PAUSE: Duration = Duration::from_secs(5);

impl<'a> Progress<'a> {
    /// Begins at `done` of `total` episodes.
    pub(crate) fn start(terminal: &'a Terminal, done: u64, total: u64) -> Progress<'a> {
        let bar = terminal.draws_progress().then(|| {
            let bar = ProgressBar::with_draw_target(Some(total), ProgressDrawTarget::stderr()).with_position(done);
            let style =
                ProgressStyle::with_template("{bar:30} {human_pos}/{human_len} episodes, {per_sec}, {eta} left");
            // The template is a constant; if a library's update ever refuses it, the default style serves.
            bar.set_style(style.unwrap_or_else(|_| ProgressStyle::default_bar()));
            bar
        });
        Progress { terminal, bar, total, last: Instant::now() }
    }

    /// So many episodes are done.
    pub(crate) fn set(&mut self, done: u64) {
        match &self.bar {
            Some(bar) => bar.set_position(done),
            None if self.last.elapsed() >= PAUSE => {
                self.last = Instant::now();
                self.terminal.note(&format!("played {done} of {} episodes", self.total));
            }
            None => {}
        }
    }

    /// The bar goes, whatever comes after it.
    pub(crate) fn finish(&self) {
        if let Some(bar) = &self.bar {
            bar.finish_and_clear();
        }
    }
}
