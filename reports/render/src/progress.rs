//! Formats the progress of a run in the same words for a terminal, a log and a page.

use healbench_store::Progress;
use healbench_text::plain_text;

use super::number::{count, money, part_of, rate_percent};
use healbench_analysis::Rate;

/// `12% · 12 of 100 episodes · 4.0/s · 22 s left · 75% success · ≥ $0.12 · 3 lost`, without unknown parts.
pub fn progress(progress: &Progress) -> String {
    let Progress { done, total, .. } = progress;
    // Rounded down, so that 100% means that all are done.
    let share = (100 * done).checked_div(*total).map(|percent| format!("{percent}%"));
    let mut parts: Vec<String> = share.into_iter().collect();
    parts.push(part_of(*done, *total, "episode"));
    parts.extend(progress.per_second.map(throughput));
    parts.extend(progress.eta_s.map(|left| format!("{} left", duration(left))));
    let failed: u64 = progress.failures.values().sum();
    let lost: u64 = progress.failures.iter().filter(|(outcome, _)| !outcome.is_scored()).map(|(_, lost)| lost).sum();
    let success = Rate::of(done.saturating_sub(failed), done.saturating_sub(lost));
    parts.extend(success.rate.map(|_| format!("{} success", rate_percent(success))));
    parts.extend(spending(progress));
    parts.extend((lost > 0).then(|| format!("{} lost", count(lost))));
    parts.extend(progress.waits.iter().map(|wait| {
        let left = duration(wait.seconds as f64);
        plain_text(&format!("waits {left} for the server of {} ({})", wait.agent, wait.reason)).into_owned()
    }));
    parts.join(" · ")
}

/// Episodes per unit of time: `85/s`, `12/min`, `3/h`.
pub fn throughput(per_second: f64) -> String {
    let (amount, unit) = match per_second {
        _ if per_second >= 1.0 => (per_second, "s"),
        _ if per_second >= 1.0 / 60.0 => (per_second * 60.0, "min"),
        _ => (per_second * 3600.0, "h"),
    };
    match amount {
        _ if amount < 9.95 => format!("{amount:.1}/{unit}"),
        _ => format!("{}/{unit}", count(amount.round() as u64)),
    }
}

/// A duration in seconds: `0 s`, `45 s`, `3 min 20 s`, `2 h 5 min`, `4 d 2 h`.
pub fn duration(seconds: f64) -> String {
    // The cast saturates.
    let seconds = seconds.max(0.0).round() as u64;
    let two = |large: u64, unit: &str, small: u64, part: &str| match small {
        0 => format!("{} {unit}", count(large)),
        _ => format!("{} {unit} {small} {part}", count(large)),
    };
    match seconds {
        0..60 => format!("{seconds} s"),
        60..3_600 => two(seconds / 60, "min", seconds % 60, "s"),
        3_600..86_400 => two(seconds / 3_600, "h", seconds % 3_600 / 60, "min"),
        _ => two(seconds / 86_400, "d", seconds % 86_400 / 3_600, "h"),
    }
}

/// The cost of models so far: `$0.12`, `≥ $0.12`, `cost unknown`; `None` if no model is paid, or no request was sent
/// yet.
pub fn spending(progress: &Progress) -> Option<String> {
    match (progress.usd, progress.usd_at_least) {
        (Some(usd), _) => Some(format!("${}", money(usd))),
        (None, Some(usd)) if usd > 0.0 => Some(format!("≥ ${}", money(usd))),
        (None, Some(_)) => Some("cost unknown".to_owned()),
        (None, None) => None,
    }
}

/// The number of episodes by outcome other than success: `3 failed`, `1 lost`.
pub fn failures(progress: &Progress) -> Vec<String> {
    progress.failures.iter().map(|(outcome, number)| format!("{} {}", count(*number), outcome.words())).collect()
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use healbench_core::Outcome;
    use healbench_store::ServerWait;

    use super::*;

    #[test]
    fn unknown_values_are_left_out() {
        let mut state = Progress {
            done: 0,
            total: 1_200,
            per_second: None,
            eta_s: None,
            usd: None,
            usd_at_least: None,
            failures: BTreeMap::new(),
            waits: Vec::new(),
            updated_unix_s: 0,
        };
        assert_eq!(progress(&state), "0% · 0 of 1,200 episodes");
        state.usd_at_least = Some(0.0);
        assert_eq!(progress(&state), "0% · 0 of 1,200 episodes · cost unknown");
        state.usd_at_least = Some(0.5);
        (state.per_second, state.eta_s) = (Some(0.25), Some(200.4));
        state.failures = BTreeMap::from([(Outcome::Limit, 1), (Outcome::TaskFail, 1_000)]);
        assert_eq!(progress(&state), "0% · 0 of 1,200 episodes · 15/min · 3 min 20 s left · ≥ $0.500");
        state.done = 1_199;
        state.failures.insert(Outcome::Infra, 99);
        assert_eq!(
            progress(&state),
            "99% · 1,199 of 1,200 episodes · 15/min · 3 min 20 s left · 9% success · ≥ $0.500 · 99 lost"
        );
        state.waits = vec![ServerWait { agent: "model:a".to_owned(), seconds: 61, reason: "HTTP 429".to_owned() }];
        let text = progress(&state);
        assert!(text.ends_with("99 lost · waits 1 min 1 s for the server of model:a (HTTP 429)"), "{text}");
        state.usd = Some(0.0);
        assert_eq!(spending(&state).as_deref(), Some("$0"));
    }

    #[test]
    fn durations_and_throughputs() {
        let throughputs = [(12_345.6, "12,346/s"), (9.96, "10/s"), (1.0, "1.0/s"), (0.999, "60/min"), (0.001, "3.6/h")];
        for (per_second, text) in throughputs {
            assert_eq!(throughput(per_second), text, "{per_second}");
        }
        let times = [
            (-1.0, "0 s"),
            (59.6, "1 min"),
            (7_260.0, "2 h 1 min"),
            (7_200.0, "2 h"),
            (90_000.0, "1 d 1 h"),
            (1e12, "11,574,074 d 1 h"),
        ];
        for (seconds, text) in times {
            assert_eq!(duration(seconds), text, "{seconds}");
        }
    }
}
