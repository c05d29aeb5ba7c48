//! How many requests and episodes are under way at once, as the server bears it.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use super::Connections;

/// How long the limit does not grow after the server was overloaded.
const COOLDOWN: Duration = Duration::from_secs(15);
/// How soon a wait notices that everything is to stop.
pub(super) const STOP_POLL: Duration = Duration::from_millis(50);

/// The places of an endpoint: as many as its limit, which follows what the server bears.
#[derive(Debug)]
pub struct Slots {
    state: Mutex<State>,
    request_freed: Condvar,
    episode_freed: Condvar,
}

#[derive(Debug)]
struct State {
    ramp: Ramp,
    requests: u32,
    episodes: u32,
}

/// How an attempt at a request ended, as far as the limit is concerned.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Load {
    /// The server answered.
    Borne,
    /// It is too much for the server, which may have said how long to stay away.
    Overload(Option<Duration>),
    /// It failed for another reason.
    Failed,
}

impl Slots {
    /// Slots with these limits. Limits that contradict each other are put in order: `min` is at least 1, `max` at least `min`.
    pub fn new(connections: Connections) -> Slots {
        let state = State { ramp: Ramp::new(connections), requests: 0, episodes: 0 };
        Slots { state: Mutex::new(state), request_freed: Condvar::new(), episode_freed: Condvar::new() }
    }

    /// How many requests may be under way at the moment.
    pub fn limit(&self) -> u32 {
        self.lock().ramp.limit
    }

    /// How many requests are under way.
    pub fn in_use(&self) -> u32 {
        self.lock().requests
    }

    /// How many episodes are in play.
    pub fn episodes(&self) -> u32 {
        self.lock().episodes
    }

    /// Waits until fewer episodes are in play than requests may be under way, so that a run that is killed loses little.
    /// `None` when `stop` is raised.
    pub fn enter_episode(self: &Arc<Slots>, stop: &AtomicBool) -> Option<EpisodeSlot> {
        let full = |state: &State| (state.episodes >= state.ramp.limit).then_some(STOP_POLL);
        self.wait(&self.episode_freed, stop, full)?.episodes += 1;
        Some(EpisodeSlot { slots: Arc::clone(self) })
    }

    /// Waits for a place for one attempt at a request. `None` when `stop` is raised.
    pub(super) fn enter_request(&self, stop: &AtomicBool) -> Option<RequestSlot<'_>> {
        let full = |state: &State| match state.ramp.pause(Instant::now()) {
            Some(pause) => Some(pause.min(STOP_POLL)),
            None => (state.requests >= state.ramp.limit).then_some(STOP_POLL),
        };
        self.wait(&self.request_freed, stop, full)?.requests += 1;
        Some(RequestSlot { slots: self, load: Load::Failed })
    }

    /// Waits while `full` says how long to wait.
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

/// The place of an episode in play, free again when this is dropped.
#[derive(Debug)]
#[must_use]
pub struct EpisodeSlot {
    slots: Arc<Slots>,
}

impl Drop for EpisodeSlot {
    fn drop(&mut self) {
        self.slots.lock().episodes -= 1;
        self.slots.episode_freed.notify_one();
    }
}

/// The place of an attempt at a request, free again when this is dropped.
#[derive(Debug)]
pub(super) struct RequestSlot<'a> {
    slots: &'a Slots,
    load: Load,
}

impl RequestSlot<'_> {
    /// Frees the place and tells how the attempt ended.
    pub(super) fn leave(mut self, load: Load) {
        self.load = load;
    }
}

impl Drop for RequestSlot<'_> {
    fn drop(&mut self) {
        let mut state = self.slots.lock();
        state.requests -= 1;
        let before = state.ramp.limit;
        state.ramp.ended(self.load, Instant::now());
        let grew = state.ramp.limit > before;
        drop(state);
        if grew {
            self.slots.request_freed.notify_all();
            self.slots.episode_freed.notify_all();
        } else {
            self.slots.request_freed.notify_one();
        }
    }
}

/// The limit itself: what happened goes in, with the time at which it did.
#[derive(Debug)]
struct Ramp {
    limit: u32,
    min: u32,
    max: u32,
    /// Until the first overload the limit doubles.
    slow_start: bool,
    /// Answers in a row since the limit changed.
    streak: u32,
    cooldown_until: Option<Instant>,
    paused_until: Option<Instant>,
}

impl Ramp {
    fn new(connections: Connections) -> Ramp {
        let min = connections.min.max(1);
        let max = connections.max.max(min);
        let limit = connections.start.clamp(min, max);
        Ramp { limit, min, max, slow_start: true, streak: 0, cooldown_until: None, paused_until: None }
    }

    /// How long no request may be made.
    fn pause(&self, now: Instant) -> Option<Duration> {
        self.paused_until.map(|until| until.saturating_duration_since(now)).filter(|left| !left.is_zero())
    }

    fn ended(&mut self, load: Load, now: Instant) {
        match load {
            Load::Borne => self.borne(now),
            Load::Failed => self.streak = 0,
            Load::Overload(pause) => self.overloaded(pause, now),
        }
    }

    fn borne(&mut self, now: Instant) {
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

    fn overloaded(&mut self, pause: Option<Duration>, now: Instant) {
        self.streak = 0;
        self.slow_start = false;
        if let Some(until) = pause.and_then(|pause| now.checked_add(pause)) {
            self.paused_until = self.paused_until.max(Some(until));
        }
        // Requests that were under way together fail together: they count once.
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

    fn ramp(start: u32, min: u32, max: u32) -> Ramp {
        Ramp::new(Connections { start, min, max })
    }

    fn borne(ramp: &mut Ramp, times: u32, now: Instant) {
        (0..times).for_each(|_| ramp.ended(Load::Borne, now));
    }

    #[test]
    fn the_limit_doubles_after_as_many_answers_as_it_is() {
        let now = Instant::now();
        let mut ramp = ramp(20, 10, 100);
        borne(&mut ramp, 19, now);
        assert_eq!(ramp.limit, 20);
        borne(&mut ramp, 1, now);
        assert_eq!(ramp.limit, 40);
        borne(&mut ramp, 40, now);
        assert_eq!(ramp.limit, 80);
        borne(&mut ramp, 80, now);
        assert_eq!(ramp.limit, 100);
        borne(&mut ramp, 1000, now);
        assert_eq!(ramp.limit, 100);
    }

    #[test]
    fn only_answers_in_a_row_count() {
        let now = Instant::now();
        let mut ramp = ramp(4, 1, 100);
        borne(&mut ramp, 3, now);
        ramp.ended(Load::Failed, now);
        borne(&mut ramp, 3, now);
        assert_eq!(ramp.limit, 4);
        borne(&mut ramp, 1, now);
        assert_eq!(ramp.limit, 8);
    }

    #[test]
    fn an_overload_cuts_once_per_cooldown_and_ends_the_doubling() {
        let start = Instant::now();
        let mut ramp = ramp(20, 10, 100);
        (0..5).for_each(|_| ramp.ended(Load::Overload(None), start));
        assert_eq!(ramp.limit, 16);
        borne(&mut ramp, 100, start + Duration::from_secs(14));
        assert_eq!(ramp.limit, 16);
        let later = start + COOLDOWN;
        borne(&mut ramp, 16, later);
        assert_eq!(ramp.limit, 17);
        ramp.ended(Load::Overload(None), later);
        assert_eq!(ramp.limit, 13);
        ramp.ended(Load::Overload(None), later + COOLDOWN);
        assert_eq!(ramp.limit, 10);
        ramp.ended(Load::Overload(None), later + COOLDOWN * 2);
        assert_eq!(ramp.limit, 10);
    }

    #[test]
    fn a_limit_of_one_stays_one_and_odd_limits_are_put_in_order() {
        let now = Instant::now();
        let mut one = ramp(0, 0, 0);
        assert_eq!((one.limit, one.min, one.max), (1, 1, 1));
        one.ended(Load::Overload(None), now);
        assert_eq!(one.limit, 1);
        let odd = ramp(5, 30, 10);
        assert_eq!((odd.limit, odd.min, odd.max), (30, 30, 30));
    }

    #[test]
    fn the_longest_pause_holds() {
        let now = Instant::now();
        let mut ramp = ramp(20, 10, 100);
        assert_eq!(ramp.pause(now), None);
        ramp.ended(Load::Overload(Some(Duration::from_secs(30))), now);
        ramp.ended(Load::Overload(Some(Duration::from_secs(10))), now);
        ramp.ended(Load::Overload(None), now);
        assert_eq!(ramp.pause(now), Some(Duration::from_secs(30)));
        assert_eq!(ramp.pause(now + Duration::from_secs(30)), None);
    }

    #[test]
    fn no_more_requests_and_episodes_are_let_in_than_the_limit() {
        let slots = Arc::new(Slots::new(Connections { start: 2, min: 1, max: 2 }));
        let stop = AtomicBool::new(false);
        let highest = Mutex::new((0, 0));
        std::thread::scope(|scope| {
            for _ in 0..16 {
                scope.spawn(|| {
                    for _ in 0..20 {
                        let _episode = slots.enter_episode(&stop).unwrap();
                        let request = slots.enter_request(&stop).unwrap();
                        let mut highest = highest.lock().unwrap();
                        *highest = (highest.0.max(slots.in_use()), highest.1.max(slots.episodes()));
                        drop(highest);
                        std::thread::yield_now();
                        request.leave(Load::Borne);
                    }
                });
            }
        });
        assert_eq!(*highest.lock().unwrap(), (2, 2));
        assert_eq!((slots.in_use(), slots.episodes()), (0, 0));
    }

    #[test]
    fn a_stop_ends_every_wait() {
        let slots = Arc::new(Slots::new(Connections { start: 1, min: 1, max: 1 }));
        let stop = AtomicBool::new(false);
        let _episode = slots.enter_episode(&stop).unwrap();
        slots.enter_request(&stop).unwrap().leave(Load::Overload(Some(Duration::from_secs(60))));
        let started = Instant::now();
        std::thread::scope(|scope| {
            let episode = scope.spawn(|| slots.enter_episode(&stop).is_none());
            let request = scope.spawn(|| slots.enter_request(&stop).is_none());
            std::thread::sleep(Duration::from_millis(20));
            stop.store(true, Ordering::Relaxed);
            assert!(episode.join().unwrap() && request.join().unwrap());
        });
        assert!(started.elapsed() < Duration::from_secs(2));
    }
}
