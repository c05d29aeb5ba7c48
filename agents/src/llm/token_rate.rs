//! A limit on the tokens of the requests that are sent within any minute.

use std::collections::VecDeque;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use super::limiter::STOP_POLL;

/// The time for which a request counts.
const WINDOW: Duration = Duration::from_secs(60);
/// The bytes of a request's body for which one token is expected until the server has counted. English in JSON has about four.
const BYTES_PER_TOKEN: u64 = 3;
/// The tokens that are expected of an answer that the request does not limit.
const UNLIMITED_ANSWER: u64 = 4096;

/// The most tokens that one request counts, whatever a server says.
const MAX_TOKENS: u64 = 1 << 40;

/// The limit of one endpoint, used by many threads at once.
#[derive(Debug)]
pub(super) struct TokenRate {
    /// Held while waiting, so that a long request is not passed by short ones forever.
    turn: Mutex<()>,
    window: Mutex<Window>,
    waiting: AtomicUsize,
}

impl TokenRate {
    /// Creates a limit of `per_minute` tokens.
    pub(super) fn new(per_minute: u64) -> TokenRate {
        let window = Window { limit: per_minute, sent: VecDeque::new(), total: 0, next: 0 };
        TokenRate { turn: Mutex::new(()), window: Mutex::new(window), waiting: AtomicUsize::new(0) }
    }

    /// Returns the tokens that a request is expected to take, from the size of its body and the limit on its answer.
    pub(super) fn expected(body_bytes: usize, max_output: Option<u64>) -> u64 {
        (body_bytes as u64).div_ceil(BYTES_PER_TOKEN).saturating_add(max_output.unwrap_or(UNLIMITED_ANSWER))
    }

    /// Returns the tokens of a request that the server refused: those of its body.
    pub(super) fn refused(body_bytes: usize) -> u64 {
        TokenRate::expected(body_bytes, Some(0))
    }

    /// Waits until a request with this number of tokens may be sent, and counts it. Returns `None` when `stop` is set.
    pub(super) fn acquire(&self, tokens: u64, stop: &AtomicBool) -> Option<Sent> {
        self.waiting.fetch_add(1, Ordering::Relaxed);
        let sent = self.wait(tokens, stop);
        self.waiting.fetch_sub(1, Ordering::Relaxed);
        sent
    }

    /// Returns the number of requests that wait.
    pub(super) fn waiting(&self) -> usize {
        self.waiting.load(Ordering::Relaxed)
    }

    fn wait(&self, tokens: u64, stop: &AtomicBool) -> Option<Sent> {
        let _turn = self.turn.lock().unwrap_or_else(PoisonError::into_inner);
        while !stop.load(Ordering::Relaxed) {
            let pause = match self.window().reserve(tokens, Instant::now()) {
                Ok(sent) => return Some(sent),
                Err(pause) => pause,
            };
            std::thread::sleep(pause.min(STOP_POLL));
        }
        None
    }

    /// Replaces the expected tokens of a request by what it took.
    pub(super) fn settle(&self, sent: Sent, tokens: u64) {
        self.window().settle(sent, tokens);
    }

    fn window(&self) -> MutexGuard<'_, Window> {
        self.window.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A request that was counted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[must_use]
pub(super) struct Sent(u64);

/// The requests of the last minute. It reads no clock: every event is recorded with its time.
#[derive(Debug)]
struct Window {
    limit: u64,
    /// Numbers, times and tokens, in the order of sending.
    sent: VecDeque<(u64, Instant, u64)>,
    /// The sum of the tokens.
    total: u64,
    next: u64,
}

impl Window {
    /// Counts a request that is sent now, or returns the time after which it fits. One that never fits is sent alone.
    fn reserve(&mut self, tokens: u64, now: Instant) -> Result<Sent, Duration> {
        while let Some((_, at, old)) = self.sent.front().copied()
            && now.saturating_duration_since(at) >= WINDOW
        {
            self.sent.pop_front();
            self.total -= old;
        }
        let tokens = tokens.min(MAX_TOKENS);
        let mut left = self.total;
        let mut fits_at = None;
        for (_, at, old) in &self.sent {
            if left + tokens <= self.limit {
                break;
            }
            left -= old;
            fits_at = Some(*at + WINDOW);
        }
        if let Some(time) = fits_at {
            return Err(time.saturating_duration_since(now));
        }
        let sent = Sent(self.next);
        self.sent.push_back((self.next, now, tokens));
        self.total += tokens;
        self.next += 1;
        Ok(sent)
    }

    fn settle(&mut self, sent: Sent, tokens: u64) {
        let tokens = tokens.min(MAX_TOKENS);
        if let Ok(position) = self.sent.binary_search_by_key(&sent.0, |(number, _, _)| *number) {
            let counted = &mut self.sent[position].2;
            self.total = self.total - *counted + tokens;
            *counted = tokens;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn window(limit: u64) -> Window {
        TokenRate::new(limit).window.into_inner().unwrap()
    }

    #[test]
    fn no_minute_has_more_tokens_than_the_limit() {
        let start = Instant::now();
        let mut window = window(1000);
        // Requests of many sizes, as fast as they are let in.
        let (mut now, mut sent) = (start, Vec::new());
        for number in 0..500_u64 {
            let tokens = 1 + number * 37 % 400;
            while let Err(pause) = window.reserve(tokens, now) {
                assert!(!pause.is_zero() && pause <= WINDOW);
                now += pause;
            }
            sent.push((now, tokens));
            now += Duration::from_millis(number * 13 % 700);
        }
        for (end, _) in &sent {
            let within = sent.iter().filter(|(at, _)| at <= end && end.duration_since(*at) < WINDOW);
            let total: u64 = within.map(|(_, tokens)| tokens).sum();
            assert!(total <= 1000, "{total}");
        }
        // And the limit is used: half of it at least, whatever the sizes.
        let all: u64 = sent.iter().map(|(_, tokens)| tokens).sum();
        let minutes = now.duration_since(start).as_secs_f64() / 60.0;
        assert!(all as f64 / minutes > 500.0, "{all} tokens in {minutes} minutes");
    }

    #[test]
    fn a_request_waits_until_enough_older_ones_are_a_minute_old() {
        let start = Instant::now();
        let mut window = window(100);
        let second = Duration::from_secs(1);
        for number in 0..3 {
            let _ = window.reserve(30, start + number * second).unwrap();
        }
        assert_eq!(window.reserve(40, start + 3 * second), Err(57 * second));
        assert_eq!(window.reserve(80, start + 3 * second), Err(59 * second));
        assert_eq!(window.reserve(40, start + 60 * second), Ok(Sent(3)));
    }

    #[test]
    fn what_a_request_took_replaces_what_was_expected() {
        let now = Instant::now();
        let mut window = window(100);
        let first = window.reserve(90, now).unwrap();
        assert_eq!(window.reserve(20, now), Err(WINDOW));
        window.settle(first, 10);
        let second = window.reserve(90, now).unwrap();
        window.settle(second, 95);
        assert_eq!((window.total, window.reserve(1, now)), (105, Err(WINDOW)));
        // One that left the window counts no longer.
        assert!(window.reserve(1, now + WINDOW).is_ok());
        window.settle(first, 1000);
        assert_eq!(window.total, 1);
    }

    #[test]
    fn a_request_that_never_fits_is_sent_alone() {
        let now = Instant::now();
        let mut window = window(100);
        let _ = window.reserve(500, now).unwrap();
        assert_eq!(window.reserve(500, now), Err(WINDOW));
        assert!(window.reserve(500, now + WINDOW).is_ok());
    }
}
