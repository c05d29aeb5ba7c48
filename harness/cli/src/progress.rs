//! Reports the progress of a run: a bar on a terminal, otherwise periodic lines, and `progress.json` for other processes.

mod beacon;
mod state;
mod throttle;

use std::sync::mpsc::{RecvTimeoutError, Sender, channel};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use healbench_render::progress as format_progress;
use healbench_store::{EpisodeResult, Progress, RunDir, ServerWait};
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};

use crate::clock::since_1970;
use crate::terminal::Terminal;
pub(crate) use beacon::{Beacon, BeaconFile};
pub(crate) use state::ProgressState;
use throttle::Throttle;

/// Reports the progress of a run until it is dropped.
pub(crate) struct RunProgress {
    reporter: Arc<ProgressReporter>,
    ticker: Option<(Sender<()>, JoinHandle<()>)>,
}

/// The largest terminal width at which the bar is left out in favor of the text.
const MAX_WIDTH_WITHOUT_BAR: usize = 110;
/// The width of the bar and the space after it.
const BAR_COLUMNS: usize = 21;
/// Time between two plain lines.
const LINE_INTERVAL: Duration = Duration::from_secs(5);
/// Time between two updates of `progress.json`, and between two checks of the clock.
const TICK_INTERVAL: Duration = Duration::from_secs(1);
/// Time between two updates of `progress.json` while no episode finishes. Other machines tell from its age that the run is active.
const HEARTBEAT_INTERVAL: Duration = Duration::from_secs(30);

struct ProgressReporter {
    terminal: Terminal,
    bar: Option<ProgressBar>,
    run: RunDir,
    state: Mutex<ProgressState>,
    beacon: Option<Beacon>,
    waits: ServerWaits,
}

/// Returns the servers that requests wait for at the moment.
pub(crate) type ServerWaits = Box<dyn Fn() -> Vec<ServerWait> + Send + Sync>;

impl RunProgress {
    /// Starts reporting from an initial state.
    pub(crate) fn start(
        terminal: &Terminal,
        run: &RunDir,
        state: ProgressState,
        beacon: Option<Beacon>,
        waits: ServerWaits,
    ) -> RunProgress {
        let bar = terminal.draws_progress().then(|| {
            let bar = ProgressBar::with_draw_target(Some(state.total()), ProgressDrawTarget::stderr());
            // On a narrow terminal the text replaces the bar. The templates are constants; if a future version of the
            // library rejects one, the default style is used.
            let style = ProgressStyle::with_template(match terminal.progress_width() {
                ..=MAX_WIDTH_WITHOUT_BAR => "{wide_msg}",
                _ => "{bar:20} {wide_msg}",
            });
            bar.set_style(style.unwrap_or_else(|_| ProgressStyle::default_bar()));
            bar
        });
        let reporter =
            ProgressReporter { terminal: *terminal, bar, run: run.clone(), state: Mutex::new(state), beacon, waits };
        reporter.draw(&reporter.lock());
        let reporter = Arc::new(reporter);
        RunProgress { ticker: Some(spawn_ticker(Arc::clone(&reporter))), reporter }
    }

    /// Adds finished episodes.
    pub(crate) fn add_finished(&self, results: &[EpisodeResult]) {
        let mut state = self.reporter.lock();
        for result in results {
            state.add_finished(&result.episode);
        }
        self.reporter.draw(&state);
    }
}

impl Drop for RunProgress {
    /// Removes the bar and the file.
    fn drop(&mut self) {
        if let Some((stop, thread)) = self.ticker.take() {
            drop(stop);
            // A panic of the thread was already reported and must not end the program.
            let _ = thread.join();
        }
        if let Some(bar) = &self.reporter.bar {
            bar.finish_and_clear();
        }
        // If the file cannot be removed, readers see from the lock that the run has ended.
        let _ = self.reporter.run.remove_progress();
    }
}

impl ProgressReporter {
    fn lock(&self) -> MutexGuard<'_, ProgressState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn snapshot(&self, state: &ProgressState, now: Instant, unix_seconds: u64) -> Progress {
        Progress { waits: (self.waits)(), ..state.snapshot(now, unix_seconds) }
    }

    fn draw(&self, state: &ProgressState) {
        if let Some(bar) = &self.bar {
            // Set the text first, because either call draws.
            let text = format_progress(&self.snapshot(state, Instant::now(), 0));
            let width = self.terminal.progress_width();
            let columns = if width > MAX_WIDTH_WITHOUT_BAR { width - BAR_COLUMNS } else { width };
            bar.set_message(console::truncate_str(&text, columns, "…").into_owned());
            bar.set_position(state.done());
        }
    }
}

/// Starts the thread that updates the display while no episode finishes, since episodes may take minutes.
fn spawn_ticker(reporter: Arc<ProgressReporter>) -> (Sender<()>, JoinHandle<()>) {
    let (stop, stopped) = channel::<()>();
    let thread = std::thread::spawn(move || {
        let mut line_throttle = Throttle::new(LINE_INTERVAL, Instant::now());
        let mut heartbeat = Throttle::new(HEARTBEAT_INTERVAL, Instant::now());
        let (mut last_written, mut reported) = (None, false);
        loop {
            let now = Instant::now();
            let snapshot = {
                let state = reporter.lock();
                reporter.draw(&state);
                reporter.snapshot(&state, now, since_1970().as_secs())
            };
            if reporter.bar.is_none() && line_throttle.is_due(now) {
                reporter.terminal.note(&format!("finished {}", format_progress(&snapshot)));
            }
            let is_alive = heartbeat.is_due(now);
            if let Some(beacon) = reporter.beacon.as_ref().filter(|_| is_alive || last_written.is_none()) {
                // Only `healbench status` misses it.
                let _ = beacon.write(&snapshot);
            }
            let written = Some((snapshot.done, snapshot.waits.is_empty()));
            if is_alive || last_written != written {
                last_written = written;
                if let Err(error) = reporter.run.write_progress(&snapshot)
                    && !std::mem::replace(&mut reported, true)
                {
                    reporter.terminal.note(&format!("cannot save the progress of the run: {error}"));
                }
            }
            if stopped.recv_timeout(TICK_INTERVAL) != Err(RecvTimeoutError::Timeout) {
                return;
            }
        }
    });
    (stop, thread)
}
