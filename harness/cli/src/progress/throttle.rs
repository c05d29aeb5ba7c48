use std::time::{Duration, Instant};

/// Limits how often something happens.
pub(super) struct Throttle {
    length: Duration,
    last: Instant,
}

impl Throttle {
    /// Creates a throttle whose first interval starts at `now`.
    pub(super) fn new(length: Duration, now: Instant) -> Throttle {
        Throttle { length, last: now }
    }

    /// Returns true if the interval has passed, and starts a new one.
    pub(super) fn is_due(&mut self, now: Instant) -> bool {
        let due = now.duration_since(self.last) >= self.length;
        if due {
            self.last = now;
        }
        due
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_is_due_once_per_interval() {
        let started = Instant::now();
        let mut throttle = Throttle::new(Duration::from_secs(5), started);
        let due: Vec<u64> =
            (0..=20).step_by(2).filter(|second| throttle.is_due(started + Duration::from_secs(*second))).collect();
        assert_eq!(due, [6, 12, 18]);
    }
}
