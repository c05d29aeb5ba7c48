//! How far a run is: a bar on a terminal, a line now and then elsewhere, the table of `--live`, and `progress.json` for whoever looks
//! from outside.

mod pause;
mod score;

use std::sync::mpsc::{RecvTimeoutError, Sender, channel};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use healbench_record::{EpisodeRecord, RunDir};
use healbench_reports::render::progress as in_words;
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};

use crate::terminal::Terminal;
use pause::Pause;
pub(crate) use score::{Score, Spent};

/// Tells how far a run is until it is dropped.
pub(crate) struct Progress {
    teller: Arc<Teller>,
    ticker: Option<(Sender<()>, JoinHandle<()>)>,
}

/// The widest terminal that has no room for a bar beside the words.
const WITHOUT_BAR: usize = 110;
/// The columns of the bar and of the blank after it.
const BAR: usize = 21;
/// Time between two plain lines.
const LINES: Duration = Duration::from_secs(5);
/// Time between two states of `progress.json`, and between two looks at the clock.
const TICK: Duration = Duration::from_secs(1);

struct Teller {
    terminal: Terminal,
    bar: Option<ProgressBar>,
    run: RunDir,
    score: Mutex<Score>,
}

impl Progress {
    /// Begins with what is known already.
    pub(crate) fn start(terminal: &Terminal, run: &RunDir, score: Score) -> Progress {
        let bar = terminal.draws_progress().then(|| {
            let bar = ProgressBar::with_draw_target(Some(score.total()), ProgressDrawTarget::stderr());
            // The words say more, where there is no room for both. The templates are constants; if a library's update ever refuses
            // one, the default style serves.
            let style = ProgressStyle::with_template(match terminal.progress_width() {
                ..=WITHOUT_BAR => "{wide_msg}",
                _ => "{bar:20} {wide_msg}",
            });
            bar.set_style(style.unwrap_or_else(|_| ProgressStyle::default_bar()));
            bar
        });
        if let Some(head) = score.head() {
            terminal.note(&head);
        }
        let teller = Teller { terminal: *terminal, bar, run: run.clone(), score: Mutex::new(score) };
        teller.draw(&teller.lock());
        let teller = Arc::new(teller);
        Progress { ticker: Some(tick(Arc::clone(&teller))), teller }
    }

    /// Episodes were played. Their cells' lines come in the order of these calls.
    pub(crate) fn played(&self, rows: &[EpisodeRecord]) {
        let mut score = self.teller.lock();
        let lines: Vec<String> = rows.iter().filter_map(|row| score.played(row)).collect();
        if !lines.is_empty() {
            let print = || self.teller.terminal.note(&lines.join("\n"));
            self.teller.bar.as_ref().map_or_else(print, |bar| bar.suspend(print));
        }
        self.teller.draw(&score);
    }
}

impl Drop for Progress {
    /// The bar and the file go, whatever comes after them.
    fn drop(&mut self) {
        if let Some((stop, thread)) = self.ticker.take() {
            drop(stop);
            // A panic there was told of; it is no reason to end here.
            let _ = thread.join();
        }
        if let Some(bar) = &self.teller.bar {
            bar.finish_and_clear();
        }
        // Whoever reads it sees by the run's lock that nobody plays any more.
        let _ = self.teller.run.remove_progress();
    }
}

impl Teller {
    fn lock(&self) -> MutexGuard<'_, Score> {
        self.score.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn draw(&self, score: &Score) {
        if let Some(bar) = &self.bar {
            // The words first: either draws.
            let words = in_words(&score.state(Instant::now(), 0));
            let width = self.terminal.progress_width();
            let room = if width > WITHOUT_BAR { width - BAR } else { width };
            bar.set_message(console::truncate_str(&words, room, "…").into_owned());
            bar.set_position(score.done());
        }
    }
}

/// Episodes may take minutes, so time does not wait for them.
fn tick(teller: Arc<Teller>) -> (Sender<()>, JoinHandle<()>) {
    let (stop, stopped) = channel::<()>();
    let thread = std::thread::spawn(move || {
        let mut lines = Pause::new(LINES, Instant::now());
        let (mut written, mut told) = (None, false);
        loop {
            let now = Instant::now();
            let state = {
                let score = teller.lock();
                teller.draw(&score);
                score.state(now, unix_seconds())
            };
            if teller.bar.is_none() && lines.is_over(now) {
                teller.terminal.note(&format!("played {}", in_words(&state)));
            }
            if written != Some(state.done) {
                written = Some(state.done);
                if let Err(error) = teller.run.write_progress(&state)
                    && !std::mem::replace(&mut told, true)
                {
                    teller.terminal.note(&format!("how far the run is cannot be written down: {error}"));
                }
            }
            if stopped.recv_timeout(TICK) != Err(RecvTimeoutError::Timeout) {
                return;
            }
        }
    });
    (stop, thread)
}

fn unix_seconds() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_secs())
}
