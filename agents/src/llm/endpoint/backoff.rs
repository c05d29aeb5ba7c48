//! The delay before the next attempt.

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant, SystemTime};

use reqwest::header::HeaderMap;

use crate::llm::limiter::STOP_POLL;

const FIRST: Duration = Duration::from_millis(500);
const LONGEST: Duration = Duration::from_secs(30);

/// Returns a random delay up to a bound that doubles with each failed attempt, so that requests that failed together
/// are not retried together. `failed` is the number of earlier failed attempts.
pub(super) fn delay(failed: u32) -> Duration {
    bound(failed).mul_f64(rand::random())
}

fn bound(failed: u32) -> Duration {
    FIRST.saturating_mul(1 << failed.min(16)).min(LONGEST)
}

/// Returns the delay that the server requests: `retry-after-ms`, or `retry-after` in seconds or as a date.
pub(super) fn retry_after(headers: &HeaderMap, now: SystemTime) -> Option<Duration> {
    let text = |name: &str| headers.get(name).and_then(|value| value.to_str().ok()).map(str::trim);
    let number = |name: &str, unit: f64| text(name)?.parse().ok().map(|n: f64| n * unit).and_then(duration);
    number("retry-after-ms", 0.001).or_else(|| number("retry-after", 1.0)).or_else(|| {
        let until = httpdate::parse_http_date(text("retry-after")?).ok()?;
        until.duration_since(now).ok().filter(|wait| !wait.is_zero())
    })
}

/// Converts seconds to a duration. Returns `None` unless they are positive, and the maximum if they are too large.
fn duration(seconds: f64) -> Option<Duration> {
    (seconds > 0.0).then(|| Duration::try_from_secs_f64(seconds).unwrap_or(Duration::MAX))
}

/// Sleeps for `wait`. Returns false if `stop` is set meanwhile.
pub(super) fn sleep(wait: Duration, stop: &AtomicBool) -> bool {
    let started = Instant::now();
    loop {
        if stop.load(Ordering::Relaxed) {
            return false;
        }
        let left = wait.saturating_sub(started.elapsed());
        if left.is_zero() {
            return true;
        }
        std::thread::sleep(left.min(STOP_POLL));
    }
}

#[cfg(test)]
mod tests {
    use reqwest::header::{HeaderName, HeaderValue};

    use super::*;

    fn retry_after_of(headers: &[(&'static str, &'static str)]) -> Option<Duration> {
        let headers = headers
            .iter()
            .map(|(name, value)| (HeaderName::from_static(name), HeaderValue::from_static(value)))
            .collect();
        // 1994-11-06T08:49:37Z
        retry_after(&headers, SystemTime::UNIX_EPOCH + Duration::from_secs(784_111_777))
    }

    #[test]
    fn a_server_says_how_long_to_wait_in_several_ways() {
        let seconds = |n: f64| Some(Duration::from_secs_f64(n));
        assert_eq!(retry_after_of(&[("retry-after", "30")]), seconds(30.0));
        assert_eq!(retry_after_of(&[("retry-after", " 1.5 ")]), seconds(1.5));
        assert_eq!(retry_after_of(&[("retry-after-ms", "250"), ("retry-after", "1")]), seconds(0.25));
        assert_eq!(retry_after_of(&[("retry-after-ms", "soon"), ("retry-after", "1")]), seconds(1.0));
        assert_eq!(retry_after_of(&[("retry-after", "Sun, 06 Nov 1994 08:50:37 GMT")]), seconds(60.0));
        assert_eq!(retry_after_of(&[("retry-after", "1e300")]), Some(Duration::MAX));
    }

    #[test]
    fn what_asks_for_no_wait_is_left_to_the_back_off() {
        for value in ["0", "-1", "NaN", "", "soon", "Sun, 06 Nov 1994 08:49:37 GMT", "Sun, 06 Nov 1994 08:00:00 GMT"] {
            assert_eq!(retry_after_of(&[("retry-after", value)]), None, "{value}");
        }
        assert_eq!(retry_after_of(&[]), None);
    }

    #[test]
    fn the_back_off_doubles_up_to_a_cap() {
        let bounds: Vec<f64> = (0..9).map(|n| bound(n).as_secs_f64()).collect();
        assert_eq!(bounds, [0.5, 1.0, 2.0, 4.0, 8.0, 16.0, 30.0, 30.0, 30.0]);
        assert_eq!(bound(u32::MAX), LONGEST);
        let delays: Vec<Duration> = (0..100).map(|_| delay(3)).collect();
        assert!(delays.iter().all(|delay| *delay <= bound(3)));
        assert!(delays.iter().any(|delay| *delay < bound(2)) && delays.iter().any(|delay| *delay > bound(2)));
    }
}
