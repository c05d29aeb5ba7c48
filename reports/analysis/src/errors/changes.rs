//! The error texts that two traces have in common, side by side.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::Serialize;

use super::{ErrorCounts, ErrorText, ErrorTexts, TaskRate};
use crate::statistics::Interval;

/// The error texts of two traces. Texts were not assigned at random, so a difference says nothing about their effect.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct ErrorChanges {
    /// The confidence of every interval: 0.95.
    pub confidence: f64,
    /// All errors of both.
    pub totals: ErrorChange,
    /// The texts that both have, by tool and template, those with the most wasted tokens in both together first.
    pub texts: Vec<TextChange>,
    /// The texts that only the first has.
    pub only_before: u64,
    /// The texts that only the second has.
    pub only_after: u64,
}

/// The errors of a tool with texts of one kind in two traces.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct TextChange {
    /// The tool as the agent named it.
    pub tool: String,
    /// The text without what differs from call to call.
    pub template: String,
    /// The counts.
    #[serde(flatten)]
    pub change: ErrorChange,
}

/// Counts of two traces.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct ErrorChange {
    /// Those of the first.
    pub before: ErrorCounts,
    /// Those of the second.
    pub after: ErrorCounts,
    /// The difference of the shares repaired next; null if one is not known.
    pub repaired_next: Option<ShareDifference>,
}

/// A difference between two shares.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, JsonSchema)]
pub struct ShareDifference {
    /// The second share minus the first.
    pub difference: f64,
    /// Its interval; null below 10 tasks in one of both.
    pub interval: Option<Interval>,
}

/// Compares the error texts of two traces.
pub fn error_changes(before: &ErrorTexts, after: &ErrorTexts) -> ErrorChanges {
    let by_name = |texts: &'_ ErrorTexts| -> BTreeMap<(String, String), ErrorCounts> {
        let named = |text: &ErrorText| Some(((text.tool.clone(), text.template.clone()?), text.counts.clone()));
        texts.texts.iter().filter_map(named).collect()
    };
    let (mut first, second) = (by_name(before), by_name(after));
    let mut texts = Vec::new();
    let mut only_after = 0;
    for ((tool, template), counts) in second {
        match first.remove(&(tool.clone(), template.clone())) {
            Some(known) => texts.push(TextChange { tool, template, change: ErrorChange::of(known, counts) }),
            None => only_after += 1,
        }
    }
    // Texts that are equal in this are in the order of their names.
    let wasted = |text: &TextChange| text.change.before.wasted_tokens + text.change.after.wasted_tokens;
    texts.sort_by_key(|text| std::cmp::Reverse(wasted(text)));
    ErrorChanges {
        confidence: before.confidence,
        totals: ErrorChange::of(before.totals.clone(), after.totals.clone()),
        texts,
        only_before: first.len() as u64,
        only_after,
    }
}

impl ErrorChange {
    fn of(before: ErrorCounts, after: ErrorCounts) -> ErrorChange {
        let repaired_next = difference(before.repaired_next, after.repaired_next);
        ErrorChange { before, after, repaired_next }
    }
}

/// Returns the difference of two shares of different tasks, with an interval from those of both: Zou and Donner, "Construction of
/// confidence limits about effect measures", Statistics in Medicine 27 (2008), equation 4.
fn difference(before: TaskRate, after: TaskRate) -> Option<ShareDifference> {
    let (first, second) = (before.rate.rate?, after.rate.rate?);
    let difference = second - first;
    let interval = before.interval.zip(after.interval).map(|(before, after)| Interval {
        lower: difference - (second - after.lower).hypot(before.upper - first),
        upper: difference + (after.upper - second).hypot(first - before.lower),
    });
    Some(ShareDifference { difference, interval })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rate::Rate;
    use crate::statistics::wilson;

    /// Newcombe, "Interval estimation for the difference between independent proportions", Statistics in Medicine 17 (1998), table II,
    /// case (a), method 10: 56/70 and 48/80.
    #[test]
    fn the_interval_is_that_of_newcombe_for_intervals_of_wilson() {
        let of = |part, all| TaskRate { rate: Rate::of(part, all), interval: wilson(part, all, 0.95) };
        let unknown = |part, all| TaskRate { rate: Rate::of(part, all), interval: None };
        let (first, second) = (of(48, 80), of(56, 70));
        let found = difference(first, second).unwrap();
        assert!((found.difference - 0.2).abs() < 1e-12);
        let interval = found.interval.unwrap();
        assert!((interval.lower - 0.0524).abs() < 1e-4 && (interval.upper - 0.3339).abs() < 1e-4, "{interval:?}");
        assert_eq!(difference(first, unknown(1, 2)).unwrap().interval, None);
        assert_eq!(difference(first, unknown(0, 0)), None);
    }
}
