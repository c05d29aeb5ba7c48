//! An axis of differences in points, and the marks on it: a difference with its interval. Several marks share one axis.

use maud::{Markup, html};

use crate::number::points;
use healbench_analysis::Verdict;
use healbench_analysis::statistics::Interval;

/// The ends of an axis, as shares of one.
#[derive(Debug, Clone, Copy)]
pub(super) struct Axis {
    low: f64,
    high: f64,
}

impl Axis {
    /// Returns the axis of differences and their intervals, zero included.
    pub(super) fn of(differences: impl Iterator<Item = (Option<f64>, Option<Interval>)>) -> Axis {
        let ends = differences.flat_map(|(difference, interval)| {
            let interval = interval.map(|interval| [interval.lower, interval.upper]);
            difference.into_iter().chain(interval.into_iter().flatten())
        });
        let (low, high) = ends.fold((0.0, 0.0), |(low, high): (f64, f64), end| (low.min(end), high.max(end)));
        let margin = ((high - low) * 0.04).max(0.005);
        Axis { low: low - margin, high: high + margin }
    }

    /// Renders a difference as a dot, filled if it is clear, and the interval as a line, in the color of an agent. The
    /// numbers stand beside it.
    pub(super) fn mark(
        self,
        difference: Option<f64>,
        interval: Option<Interval>,
        verdict: Verdict,
        agent: usize,
    ) -> Markup {
        let color = format!("a{}", agent % 8);
        let is_clear = verdict == Verdict::Clear;
        html! {
            span.line aria-hidden="true" {
                span.zero style={ "left:" (self.place(0.0)) } {}
                @if let Some(Interval { lower, upper, .. }) = interval {
                    span class={ "range " (color) } style={ "left:" (self.place(lower)) ";right:" (self.place_from_right(upper)) } {}
                }
                @if let Some(difference) = difference {
                    span class={ "dot " (color) @if !is_clear { " hollow" } } style={ "left:" (self.place(difference)) } {}
                }
            }
        }
    }

    /// Renders the labels of zero and of the end that is farther from it.
    pub(super) fn scale(self) -> Markup {
        let end = if self.high >= -self.low { self.high } else { self.low };
        html! {
            // The style shows the labels: they are no part of the text.
            span.line.scale aria-hidden="true" {
                span.label data-label="0" style={ "left:" (self.place(0.0)) } {}
                @if end > 0.0 { span.label.last data-label=(points(end)) style="right:0" {} }
                @else { span.label.first data-label=(points(end)) style="left:0" {} }
            }
        }
    }

    /// Returns the distance of a value from the left end, as a CSS length.
    fn place(self, value: f64) -> String {
        format!("{:.1}%", 100.0 * (value - self.low) / (self.high - self.low))
    }

    fn place_from_right(self, value: f64) -> String {
        format!("{:.1}%", 100.0 * (self.high - value) / (self.high - self.low))
    }
}
