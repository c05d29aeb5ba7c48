//! Limits on concurrent requests and episodes, adapted to the server's load.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use super::Connections;

/// The time after an overload during which the limit does not grow.
const COOLDOWN: Duration = Duration::from_secs(15);
/// The longest time until a waiting thread notices the stop flag.
pub(super) const STOP_POLL: Duration = Duration::from_millis(50);

/// Limits the concurrent requests and episodes of one endpoint. The limit grows while requests succeed and shrinks when
/// the server is overloaded.
#[derive(Debug)]
pub struct ConcurrencyLimiter {
    state: Mutex<State>,
    request_freed: Condvar,
    episode_freed: Condvar,
}

#[derive(Debug)]
struct State {
    adaptive: AdaptiveLimit,
    requests: u32,
    episodes: u32,
}

/// The outcome of one attempt at a request, as far as the limit is concerned.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum LoadSignal {
    Answered,
    /// The server is overloaded and may have requested a pause of this length.
    Overload(Option<Duration>),
    /// The attempt failed for another reason.
    Failed,
}

impl ConcurrencyLimiter {
    /// Creates a limiter. Contradictory limits are corrected: `min` is at least 1, `max` at least `min`.
    pub fn new(connections: Connections) -> ConcurrencyLimiter {
        let state = State { adaptive: AdaptiveLimit::new(connections), requests: 0, episodes: 0 };
        ConcurrencyLimiter { state: Mutex::new(state), request_freed: Condvar::new(), episode_freed: Condvar::new() }
    }

    /// Returns the number of requests that may run at once.
    pub fn limit(&self) -> u32 {
        self.lock().adaptive.limit
    }

    /// Returns the number of requests in progress.
    pub fn in_use(&self) -> u32 {
        self.lock().requests
    }

    /// Returns the number of episodes in progress.
    pub fn episodes(&self) -> u32 {
        self.lock().episodes
    }

    /// Waits until fewer episodes are in progress than the limit on requests, so that a killed run loses few started
    /// episodes. Returns `None` when `stop` is set.
    pub fn acquire_episode(self: &Arc<ConcurrencyLimiter>, stop: &AtomicBool) -> Option<EpisodePermit> {
        let full = |state: &State| (state.episodes >= state.adaptive.limit).then_some(STOP_POLL);
        self.wait(&self.episode_freed, stop, full)?.episodes += 1;
        Some(EpisodePermit { limiter: Arc::clone(self) })
    }

    /// Waits for a permit for one attempt at a request. Returns `None` when `stop` is set.
    pub(super) fn acquire_request(&self, stop: &AtomicBool) -> Option<RequestPermit<'_>> {
        let full = |state: &State| match state.adaptive.pause(Instant::now()) {
            Some(pause) => Some(pause.min(STOP_POLL)),
            None => (state.requests >= state.adaptive.limit).then_some(STOP_POLL),
        };
        self.wait(&self.request_freed, stop, full)?.requests += 1;
        Some(RequestPermit { limiter: self, signal: LoadSignal::Failed })
    }

    /// Waits while `full` returns a duration, at most that long before it is called again. Returns `None` when `stop`
    /// is set.
    fn wait(
        &self,
        freed: &Condvar,
        stop: &AtomicBool,
        full: impl Fn(&State) -> Option<Duration>,
    ) -> Option<MutexGuard<'_, State>> {
        let mut state = self.lock();
        loop {
            if stop.load(Ordering::Relaxed) {
                return None;
            }
            let Some(pause) = full(&state) else { return Some(state) };
            state = freed.wait_timeout(state, pause).unwrap_or_else(PoisonError::into_inner).0;
        }
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The permit of an episode in progress, released on drop.
#[derive(Debug)]
#[must_use]
pub struct EpisodePermit {
    limiter: Arc<ConcurrencyLimiter>,
}

impl Drop for EpisodePermit {
    fn drop(&mut self) {
        self.limiter.lock().episodes -= 1;
        self.limiter.episode_freed.notify_one();
    }
}

/// The permit of an attempt at a request, released on drop.
#[derive(Debug)]
pub(super) struct RequestPermit<'a> {
    limiter: &'a ConcurrencyLimiter,
    signal: LoadSignal,
}

impl RequestPermit<'_> {
    /// Releases the permit and records the outcome of the attempt.
    pub(super) fn release(mut self, signal: LoadSignal) {
        self.signal = signal;
    }
}

impl Drop for RequestPermit<'_> {
    fn drop(&mut self) {
        let mut state = self.limiter.lock();
        state.requests -= 1;
        let before = state.adaptive.limit;
        state.adaptive.record(self.signal, Instant::now());
        let grew = state.adaptive.limit > before;
        drop(state);
        if grew {
            self.limiter.request_freed.notify_all();
            self.limiter.episode_freed.notify_all();
        } else {
            self.limiter.request_freed.notify_one();
        }
    }
}

/// The limit's state machine. It reads no clock: every event is recorded with its time.
#[derive(Debug)]
struct AdaptiveLimit {
    limit: u32,
    min: u32,
    max: u32,
    /// True until the first overload. During slow start the limit doubles.
    slow_start: bool,
    /// The number of successive answers since the limit last changed.
    streak: u32,
    cooldown_until: Option<Instant>,
    paused_until: Option<Instant>,
}

impl AdaptiveLimit {
    fn new(connections: Connections) -> AdaptiveLimit {
        let min = connections.min.max(1);
        let max = connections.max.max(min);
        let limit = connections.start.clamp(min, max);
        AdaptiveLimit { limit, min, max, slow_start: true, streak: 0, cooldown_until: None, paused_until: None }
    }

    /// Returns the time until requests may be sent again, if they are paused.
    fn pause(&self, now: Instant) -> Option<Duration> {
        self.paused_until.map(|until| until.saturating_duration_since(now)).filter(|left| !left.is_zero())
    }

    fn record(&mut self, signal: LoadSignal, now: Instant) {
        match signal {
            LoadSignal::Answered => self.record_answer(now),
            LoadSignal::Failed => self.streak = 0,
            LoadSignal::Overload(pause) => self.record_overload(pause, now),
        }
    }

    fn record_answer(&mut self, now: Instant) {
        if self.is_cooling(now) {
            return;
        }
        self.streak += 1;
        if self.streak >= self.limit {
            self.streak = 0;
            let grown = if self.slow_start { self.limit.saturating_mul(2) } else { self.limit.saturating_add(1) };
            self.limit = grown.min(self.max);
        }
    }

    fn record_overload(&mut self, pause: Option<Duration>, now: Instant) {
        self.streak = 0;
        self.slow_start = false;
        if let Some(until) = pause.and_then(|pause| now.checked_add(pause)) {
            self.paused_until = self.paused_until.max(Some(until));
        }
        // Concurrent requests fail together, so overloads during the cooldown count once.
        if !self.is_cooling(now) {
            self.limit = (u64::from(self.limit) * 4 / 5).max(u64::from(self.min)) as u32;
            self.cooldown_until = Some(now + COOLDOWN);
        }
    }

    fn is_cooling(&self, now: Instant) -> bool {
        self.cooldown_until.is_some_and(|until| now < until)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn adaptive(start: u32, min: u32, max: u32) -> AdaptiveLimit {
        AdaptiveLimit::new(Connections { start, min, max })
    }

    fn record_answers(adaptive: &mut AdaptiveLimit, times: u32, now: Instant) {
        (0..times).for_each(|_| adaptive.record(LoadSignal::Answered, now));
    }

    #[test]
    fn the_limit_doubles_after_as_many_answers_as_it_is() {
        let now = Instant::now();
        let mut adaptive = adaptive(20, 10, 100);
        record_answers(&mut adaptive, 19, now);
        assert_eq!(adaptive.limit, 20);
        record_answers(&mut adaptive, 1, now);
        assert_eq!(adaptive.limit, 40);
        record_answers(&mut adaptive, 40, now);
        assert_eq!(adaptive.limit, 80);
        record_answers(&mut adaptive, 80, now);
        assert_eq!(adaptive.limit, 100);
        record_answers(&mut adaptive, 1000, now);
        assert_eq!(adaptive.limit, 100);
    }

    #[test]
    fn only_answers_in_a_row_count() {
        let now = Instant::now();
        let mut adaptive = adaptive(4, 1, 100);
        record_answers(&mut adaptive, 3, now);
        adaptive.record(LoadSignal::Failed, now);
        record_answers(&mut adaptive, 3, now);
        assert_eq!(adaptive.limit, 4);
        record_answers(&mut adaptive, 1, now);
        assert_eq!(adaptive.limit, 8);
    }

    #[test]
    fn an_overload_cuts_once_per_cooldown_and_ends_the_doubling() {
        let start = Instant::now();
        let mut adaptive = adaptive(20, 10, 100);
        (0..5).for_each(|_| adaptive.record(LoadSignal::Overload(None), start));
        assert_eq!(adaptive.limit, 16);
        record_answers(&mut adaptive, 100, start + Duration::from_secs(14));
        assert_eq!(adaptive.limit, 16);
        let later = start + COOLDOWN;
        record_answers(&mut adaptive, 16, later);
        assert_eq!(adaptive.limit, 17);
        adaptive.record(LoadSignal::Overload(None), later);
        assert_eq!(adaptive.limit, 13);
        adaptive.record(LoadSignal::Overload(None), later + COOLDOWN);
        assert_eq!(adaptive.limit, 10);
        adaptive.record(LoadSignal::Overload(None), later + COOLDOWN * 2);
        assert_eq!(adaptive.limit, 10);
    }

    #[test]
    fn a_limit_of_one_stays_one_and_odd_limits_are_put_in_order() {
        let now = Instant::now();
        let mut one = adaptive(0, 0, 0);
        assert_eq!((one.limit, one.min, one.max), (1, 1, 1));
        one.record(LoadSignal::Overload(None), now);
        assert_eq!(one.limit, 1);
        let odd = adaptive(5, 30, 10);
        assert_eq!((odd.limit, odd.min, odd.max), (30, 30, 30));
    }

    #[test]
    fn the_longest_pause_holds() {
        let now = Instant::now();
        let mut adaptive = adaptive(20, 10, 100);
        assert_eq!(adaptive.pause(now), None);
        adaptive.record(LoadSignal::Overload(Some(Duration::from_secs(30))), now);
        adaptive.record(LoadSignal::Overload(Some(Duration::from_secs(10))), now);
        adaptive.record(LoadSignal::Overload(None), now);
        assert_eq!(adaptive.pause(now), Some(Duration::from_secs(30)));
        assert_eq!(adaptive.pause(now + Duration::from_secs(30)), None);
    }

    #[test]
    fn no_more_requests_and_episodes_are_let_in_than_the_limit() {
        let limiter = Arc::new(ConcurrencyLimiter::new(Connections { start: 2, min: 1, max: 2 }));
        let stop = AtomicBool::new(false);
        let highest = Mutex::new((0, 0));
        std::thread::scope(|scope| {
            for _ in 0..16 {
                scope.spawn(|| {
                    for _ in 0..20 {
                        let _episode = limiter.acquire_episode(&stop).unwrap();
                        let request = limiter.acquire_request(&stop).unwrap();
                        let mut highest = highest.lock().unwrap();
                        *highest = (highest.0.max(limiter.in_use()), highest.1.max(limiter.episodes()));
                        drop(highest);
                        std::thread::yield_now();
                        request.release(LoadSignal::Answered);
                    }
                });
            }
        });
        assert_eq!(*highest.lock().unwrap(), (2, 2));
        assert_eq!((limiter.in_use(), limiter.episodes()), (0, 0));
    }

    #[test]
    fn a_stop_ends_every_wait() {
        let limiter = Arc::new(ConcurrencyLimiter::new(Connections { start: 1, min: 1, max: 1 }));
        let stop = AtomicBool::new(false);
        let _episode = limiter.acquire_episode(&stop).unwrap();
        limiter.acquire_request(&stop).unwrap().release(LoadSignal::Overload(Some(Duration::from_secs(60))));
        let started = Instant::now();
        std::thread::scope(|scope| {
            let episode = scope.spawn(|| limiter.acquire_episode(&stop).is_none());
            let request = scope.spawn(|| limiter.acquire_request(&stop).is_none());
            std::thread::sleep(Duration::from_millis(20));
            stop.store(true, Ordering::Relaxed);
            assert!(episode.join().unwrap() && request.join().unwrap());
        });
        // The wait that the overload asks for is not made.
        assert!(started.elapsed() < Duration::from_secs(60));
    }
}
