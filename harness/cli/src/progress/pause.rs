use std::time::{Duration, Instant};

/// Lets something happen no more often than this.
pub(super) struct Pause {
    length: Duration,
    last: Instant,
}

impl Pause {
    /// Begins now.
    pub(super) fn new(length: Duration, now: Instant) -> Pause {
        Pause { length, last: now }
    }

    /// Whether enough time has passed; if so, it begins anew.
    pub(super) fn is_over(&mut self, now: Instant) -> bool {
        let over = now.duration_since(self.last) >= self.length;
        if over {
            self.last = now;
        }
        over
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_is_over_once_and_begins_anew() {
        let begun = Instant::now();
        let mut pause = Pause::new(Duration::from_secs(5), begun);
        let over: Vec<u64> =
            (0..=20).step_by(2).filter(|second| pause.is_over(begun + Duration::from_secs(*second))).collect();
        assert_eq!(over, [6, 12, 18]);
    }
}
