//! Rates, and the confidence of intervals.

use healbench_core::ErrorFormat;
use schemars::JsonSchema;
use serde::{Serialize, Serializer};

/// The confidence of every interval in a report.
pub const CONFIDENCE: f64 = 0.95;

/// One count over another.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, JsonSchema)]
pub struct Rate {
    /// The number that was counted.
    pub numerator: u64,
    /// The number it is a share of, or is divided by.
    pub denominator: u64,
    /// The quotient; null when the denominator is 0.
    pub rate: Option<f64>,
}

impl Rate {
    /// Returns `numerator / denominator`.
    pub fn of(numerator: u64, denominator: u64) -> Rate {
        let rate = (denominator > 0).then(|| numerator as f64 / denominator as f64);
        Rate { numerator, denominator, rate }
    }
}

/// Serializes an error format by its name.
pub(crate) fn by_name<S: Serializer>(format: &ErrorFormat, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.collect_str(format)
}
