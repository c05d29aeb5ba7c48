//! The time of day, as files and pages have it.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use jiff::Timestamp;

/// Returns the time in the format of [`Timestamp::strftime`].
pub(crate) fn timestamp(format: &str) -> String {
    timestamp_at(SystemTime::now(), format)
}

fn timestamp_at(time: SystemTime, format: &str) -> String {
    // A clock may be set beyond the year 9999, the last that a timestamp has.
    Timestamp::try_from(time).unwrap_or(Timestamp::MAX).strftime(format).to_string()
}

/// Returns the time since 1970; nothing before.
pub(crate) fn since_1970() -> Duration {
    SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default()
}

/// Returns true if a time can be in the head of an HTTP answer, which libraries write from the clock.
pub(crate) fn has_http_date(time: SystemTime) -> bool {
    time >= UNIX_EPOCH && Timestamp::try_from(time).is_ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_clock_has_a_timestamp() {
        let at = |seconds: u64| timestamp_at(UNIX_EPOCH + Duration::from_secs(seconds), "%Y-%m-%dT%H:%M:%SZ");
        assert_eq!(at(0), "1970-01-01T00:00:00Z");
        for beyond in [253_402_300_800, 1 << 40, i64::MAX as u64] {
            assert!(at(beyond).starts_with("9999-12-30T"), "{}", at(beyond));
            assert!(!has_http_date(UNIX_EPOCH + Duration::from_secs(beyond)));
        }
        assert!(has_http_date(SystemTime::now()) && !has_http_date(UNIX_EPOCH - Duration::from_secs(1)));
        assert_eq!(timestamp_at(UNIX_EPOCH - Duration::from_secs(86_400), "%Y-%m-%d"), "1969-12-31");
    }
}
