//! The delay before the next attempt.

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant, SystemTime};

use reqwest::header::{HeaderMap, HeaderName, HeaderValue};
use serde_json::Value;

use super::LONGEST_WAIT;
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

/// Returns the delay that the server requests, in the first of these that it sent: the header `retry-after-ms`, or
/// `retry-after` in seconds or as a date; Google's `RetryInfo`; a sentence such as "try again in 20s"; the headers that
/// say when a limit that is used up starts anew. With `is_limited`, a limit is used up although none says so.
pub(super) fn requested_wait(headers: &HeaderMap, body: &[u8], is_limited: bool, now: SystemTime) -> Option<Duration> {
    let header = |name: &str| headers.get(name).and_then(|value| value.to_str().ok()).map(str::trim);
    let number = |name: &str, unit: f64| header(name)?.parse().ok().map(|n: f64| n * unit).and_then(positive);
    // The server's clock may differ from this machine's.
    let now = header("date").and_then(|date| httpdate::parse_http_date(date).ok()).unwrap_or(now);
    let date = || {
        let until = httpdate::parse_http_date(header("retry-after")?).ok()?;
        until.duration_since(now).ok().filter(|wait| !wait.is_zero())
    };
    let body = String::from_utf8_lossy(body).to_lowercase();
    number("retry-after-ms", 0.001)
        .or_else(|| number("retry-after", 1.0))
        .or_else(date)
        // Gateways pass on the JSON of others as a text.
        .or_else(|| wait_in_text(&body.replace("\\n", " ").replace('\\', "")))
        .or_else(|| reset(headers, is_limited, now))
        .or_else(|| reset(&headers_in_body(&body), is_limited, now))
}

/// Returns the headers that OpenRouter passes on in the body of an error.
fn headers_in_body(body: &str) -> HeaderMap {
    let body: Value = serde_json::from_str(body).unwrap_or_default();
    let headers = body.pointer("/error/metadata/headers").and_then(Value::as_object).into_iter().flatten();
    let texts = headers.filter_map(|(name, value)| {
        let text = value.as_str().map_or_else(|| value.to_string(), str::to_owned);
        Some((name.parse::<HeaderName>().ok()?, text.parse::<HeaderValue>().ok()?))
    });
    texts.collect()
}

/// Words before a duration in an error's body, in lower case.
const WAITS: [&str; 11] = [
    // Google's RetryInfo, in a body of JSON.
    "\"retrydelay\"",
    "try again in ",
    "retry in ",
    "try again after ",
    "retry after",
    "available in ",
    "\"retry_after\"",
    "\"retryafter\"",
    "please wait ",
    "\"reset_in_seconds\"",
    "\"retry_after_seconds\"",
];

fn wait_in_text(text: &str) -> Option<Duration> {
    WAITS.iter().find_map(|words| {
        let (_, rest) = text.split_once(words)?;
        parse_duration(rest.trim_start_matches([' ', ':', '"', '~']))
    })
}

/// Parses the duration at the start of a text: `20`, `1m30.5s`, `250ms`, `2 minutes`. A number alone is in seconds.
fn parse_duration(mut text: &str) -> Option<Duration> {
    let mut seconds = None;
    loop {
        let digits = text.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(text.len());
        let Ok(number) = text[..digits].parse::<f64>() else { break };
        let rest = text[digits..].trim_start();
        let letters = rest.find(|c: char| !c.is_alphabetic()).unwrap_or(rest.len());
        let unit = match &rest[..letters] {
            "" | "s" | "sec" | "secs" | "second" | "seconds" => 1.0,
            "ms" | "milliseconds" => 0.001,
            "m" | "min" | "minute" | "minutes" => 60.0,
            "h" | "hour" | "hours" => 3600.0,
            "d" | "day" | "days" => 86_400.0,
            _ => break,
        };
        seconds = Some(seconds.unwrap_or_default() + number * unit);
        text = &rest[letters..];
    }
    seconds.and_then(positive)
}

/// Returns the time until the last of the limits that are used up starts anew; if none says that it is, until the first
/// does, unless the request failed for another reason. A limit that is not used up may still be too small for the request,
/// but asks for no long wait. Limits are in pairs of headers whose names say `ratelimit` and
/// `reset` or `remaining` (OpenAI, Groq, Anthropic, Mistral, Cerebras, OpenRouter, older drafts of the IETF), and in the
/// header `ratelimit` of its newer drafts.
fn reset(headers: &HeaderMap, is_limited: bool, now: SystemTime) -> Option<Duration> {
    let header = |name: &str| headers.get(name).and_then(|value| value.to_str().ok()).map(str::trim);
    let pairs =
        headers.keys().map(HeaderName::as_str).filter(|name| name.contains("ratelimit") && name.contains("reset"));
    let pairs = pairs.filter_map(|name| Some((header(name)?, header(&name.replace("reset", "remaining")))));
    let listed = header("ratelimit").into_iter().flat_map(limits);
    let left = |remaining: Option<&str>| remaining?.parse::<f64>().ok();
    let waits: Vec<(Duration, Option<f64>)> =
        pairs.chain(listed).filter_map(|(reset, remaining)| Some((until(reset, now)?, left(remaining)))).collect();
    let used_up = waits.iter().filter(|(_, left)| *left == Some(0.0)).map(|(wait, _)| *wait).max();
    let asked = waits.iter().filter(|(wait, left)| *wait <= LONGEST_WAIT || left.is_none_or(|left| left <= 0.0));
    used_up.or_else(|| asked.map(|(wait, _)| *wait).min().filter(|_| is_limited))
}

/// Returns the times and what is left of the limits in a header `ratelimit`, such as `"default";r=0;t=30`, or
/// `limit=10, remaining=0, reset=30` in one of its drafts.
fn limits(list: &str) -> Vec<(&str, Option<&str>)> {
    let limits = if list.contains('"') { list.split(',').collect() } else { vec![list] };
    let times = limits.into_iter().filter_map(|limit| {
        let fields = limit.split([';', ',']).filter_map(|field| field.trim().split_once('='));
        let fields: Vec<(&str, &str)> = fields.collect();
        let value = |names: [&str; 2]| fields.iter().find(|(name, _)| names.contains(name)).map(|(_, value)| *value);
        Some((value(["t", "reset"])?, value(["r", "remaining"])))
    });
    times.collect()
}

/// The number from which on a time is one since 1970, in seconds or in milliseconds.
const SECONDS_SINCE_1970: f64 = 1e8;
const MILLISECONDS_SINCE_1970: f64 = 1e12;

/// Returns the time until a moment: a duration, seconds or milliseconds since 1970, or a timestamp of RFC 3339.
fn until(text: &str, now: SystemTime) -> Option<Duration> {
    let since_1970 = |seconds: f64| {
        let now = now.duration_since(SystemTime::UNIX_EPOCH).ok()?;
        positive(seconds - now.as_secs_f64())
    };
    match text.parse::<f64>() {
        Ok(number) if number >= MILLISECONDS_SINCE_1970 => since_1970(number / 1000.0),
        Ok(number) if number >= SECONDS_SINCE_1970 => since_1970(number),
        Ok(number) => positive(number),
        Err(_) => match text.parse::<jiff::Timestamp>() {
            Ok(moment) => since_1970(moment.as_duration().as_secs_f64()),
            Err(_) => parse_duration(&text.to_lowercase()),
        },
    }
}

/// Converts seconds to a duration. Returns `None` unless they are positive, and the maximum if they are too large.
fn positive(seconds: f64) -> Option<Duration> {
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
    use super::*;

    /// The time of the tests is 1994-11-06T08:49:37Z.
    fn requested(headers: &[(&'static str, &'static str)], body: &str) -> Option<Duration> {
        let headers = headers
            .iter()
            .map(|(name, value)| (HeaderName::from_static(name), HeaderValue::from_static(value)))
            .collect();
        requested_wait(&headers, body.as_bytes(), true, SystemTime::UNIX_EPOCH + Duration::from_secs(784_111_777))
    }

    fn seconds(n: f64) -> Option<Duration> {
        Some(Duration::from_secs_f64(n))
    }

    #[test]
    fn a_server_says_how_long_to_wait_in_several_ways() {
        let table: [(&[(&str, &str)], f64); 16] = [
            (&[("retry-after", "30")], 30.0),
            (&[("retry-after", " 1.5 ")], 1.5),
            (&[("retry-after-ms", "250"), ("retry-after", "1")], 0.25),
            (&[("retry-after-ms", "soon"), ("retry-after", "1")], 1.0),
            (&[("retry-after", "Sun, 06 Nov 1994 08:50:37 GMT")], 60.0),
            // By the server's clock, which is half a minute behind.
            (&[("retry-after", "Sun, 06 Nov 1994 08:50:37 GMT"), ("date", "Sun, 06 Nov 1994 08:49:07 GMT")], 90.0),
            (&[("x-ratelimit-reset-requests", "8m20s"), ("x-ratelimit-reset-tokens", "120ms")], 0.12),
            (&[("x-ratelimit-reset-requests", "8m20s"), ("x-ratelimit-remaining-requests", "0")], 500.0),
            (&[("anthropic-ratelimit-tokens-reset", "1994-11-06T08:50:07Z")], 30.0),
            (&[("x-ratelimit-reset", "784111787")], 10.0),
            (&[("x-ratelimit-reset", "1784111777000")], 1_000_000_000.0),
            (&[("ratelimit-reset", "7")], 7.0),
            (
                &[
                    ("x-ratelimit-reset-tokens-minute", "33.5"),
                    ("x-ratelimit-remaining-tokens-minute", "0"),
                    ("x-ratelimit-reset-requests-day", "40000"),
                    ("x-ratelimit-remaining-requests-day", "900"),
                ],
                33.5,
            ),
            (&[("ratelimitbysize-reset", "34"), ("ratelimitbysize-remaining", "0")], 34.0),
            (&[("ratelimit", "\"burst\";r=5;t=2, \"daily\";r=0;t=30")], 30.0),
            (&[("ratelimit", "limit=10, remaining=0, reset=12")], 12.0),
        ];
        for (headers, expected) in table {
            assert_eq!(requested(headers, ""), seconds(expected), "{headers:?}");
        }
        assert_eq!(requested(&[("retry-after", "1e300")], ""), Some(Duration::MAX));
    }

    #[test]
    fn a_limit_that_is_not_used_up_asks_for_nothing_unless_one_is() {
        let headers = |remaining: &'static str| {
            HeaderMap::from_iter([
                (HeaderName::from_static("ratelimit-reset"), HeaderValue::from_static("3000")),
                (HeaderName::from_static("ratelimit-remaining"), HeaderValue::from_static(remaining)),
            ])
        };
        let wait = |remaining, is_limited| requested_wait(&headers(remaining), b"", is_limited, SystemTime::now());
        assert_eq!([wait("998", false), wait("998", true), wait("0", false)], [None, None, seconds(3000.0)]);
        let limits = "\"burst\";r=5;t=2, \"daily\";r=900;t=40000";
        assert_eq!(requested(&[("ratelimit", limits)], ""), seconds(2.0));
        let day = [("x-ratelimit-reset-requests", "16h"), ("x-ratelimit-remaining-requests", "17.5")];
        assert_eq!(requested(&day, ""), None);
        assert_eq!(requested(&day[..1], ""), seconds(57_600.0));
    }

    #[test]
    fn a_wait_may_be_in_the_body() {
        for (body, expected) in [
            (r#"{"error": {"details": [{"@type": "x.RetryInfo", "retryDelay": "4.250s"}]}}"#, 4.25),
            ("Rate limit reached. Please try again in 1m2.5s. Visit us.", 62.5),
            ("Please retry in 350ms", 0.35),
            ("Try again after 2 minutes.", 120.0),
            (r#"{"message": "slow down", "retry_after": 3}"#, 3.0),
            ("Rate limit of 10 per 60s exceeded. Please wait 17 seconds before retrying.", 17.0),
            ("Too many requests. Retry after: 4 seconds", 4.0),
            (r#"{"error": {"message": "limited", "reset_in_seconds": 5}}"#, 5.0),
            (r#"{"error": {"metadata": {"raw": "{\"details\": [{\"retryDelay\": \"6s\"}]}"}}}"#, 6.0),
            (
                r#"{"error": {"metadata": {"headers": {"X-RateLimit-Reset": "784111781", "X-RateLimit-Remaining": "0"}}}}"#,
                4.0,
            ),
        ] {
            assert_eq!(requested(&[], body), seconds(expected), "{body}");
        }
        assert_eq!(requested(&[("retry-after", "9")], "try again in 1s"), seconds(9.0));
        for body in ["retry in 862µs", "Please try again later", "try again in a while", "retry in 0s", "{}"] {
            assert_eq!(requested(&[], body), None, "{body}");
        }
    }

    #[test]
    fn what_asks_for_no_wait_is_left_to_the_back_off() {
        for value in ["0", "-1", "NaN", "", "soon", "Sun, 06 Nov 1994 08:49:37 GMT", "Sun, 06 Nov 1994 08:00:00 GMT"] {
            assert_eq!(requested(&[("retry-after", value)], ""), None, "{value}");
        }
        assert_eq!(requested(&[], ""), None);
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
