//! The columns of numbers in every table of error texts.

use healbench_analysis::{ErrorCounts, TaskRate};

use crate::number::{amount, count, rate_percent};

/// A column.
pub(crate) struct Column {
    /// The two lines of its heading.
    pub(crate) head: [&'static str; 2],
    /// Formats its value.
    pub(crate) value: fn(&ErrorCounts) -> String,
}

impl Column {
    /// Returns the heading on one line.
    pub(crate) fn title(&self) -> String {
        self.head.join(" ").trim().to_owned()
    }
}

pub(crate) const COLUMNS: [Column; 9] = [
    Column { head: ["", "chains"], value: |counts| count(counts.chains) },
    Column { head: ["", "tasks"], value: |counts| count(counts.tasks) },
    Column { head: ["failed", "calls"], value: |counts| count(counts.calls) },
    Column { head: ["wasted", "tokens"], value: |counts| amount(counts.wasted_tokens as f64) },
    Column { head: ["repaired", "next"], value: |counts| share(counts.repaired_next) },
    Column { head: ["repaired", "within 3"], value: |counts| share(counts.repaired_within_3) },
    Column { head: ["", "repeated"], value: |counts| share(counts.repeated) },
    Column { head: ["other", "tool"], value: |counts| share(counts.other_tool) },
    Column { head: ["", "stopped"], value: |counts| share(counts.stopped) },
];

/// The columns of what followed the second error of a chain.
pub(crate) const SECOND_COLUMNS: [Column; 6] = [
    Column { head: ["second", "errors"], value: |counts| count(counts.after_second.chains) },
    Column { head: ["repaired", "next"], value: |counts| share(counts.after_second.repaired_next) },
    Column { head: ["", "changed"], value: |counts| share(counts.after_second.changed) },
    Column { head: ["", "repeated"], value: |counts| share(counts.after_second.repeated) },
    Column { head: ["other", "tool"], value: |counts| share(counts.after_second.other_tool) },
    Column { head: ["", "stopped"], value: |counts| share(counts.after_second.stopped) },
];

fn share(found: TaskRate) -> String {
    rate_percent(found.rate)
}
