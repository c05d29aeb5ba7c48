//! Ranges, ticks and number formats of axes.

use std::ops::Range;

use plotters::coord::ranged1d::{KeyPointHint, NoDefaultFormatting, Ranged, ValueFormatter};

#[derive(Clone, Debug)]
pub(super) struct Axis {
    pub(super) low: f64,
    pub(super) high: f64,
    /// The positions and labels of the ticks.
    pub(super) ticks: Vec<(f64, String)>,
    /// True if grid lines are drawn at the ticks.
    pub(super) grid: bool,
}

impl Axis {
    /// An axis from `low` to `high`, extended to round numbers, with about `count` steps.
    pub(super) fn linear(low: f64, high: f64, count: i32) -> Axis {
        // A range of almost equal ends cannot be divided.
        let near = 1e-9 * low.abs().max(1.0);
        let high = if high - low > near { high } else { low + near.max(1.0) };
        let step = round_step((high - low) / f64::from(count.max(1)));
        let (first, last) = ((low / step).floor(), (high / step).ceil());
        // A step is at least a hundredth of the axis.
        let steps = (last - first).clamp(1.0, 100.0) as u32;
        let at: Vec<f64> = (0..=steps).map(|index| (first + f64::from(index)) * step).collect();
        let labels = format_ticks(&at, step);
        Axis { low: first * step, high: last * step, ticks: at.into_iter().zip(labels).collect(), grid: true }
    }

    /// Adds a sign to positive labels, for differences.
    pub(super) fn signed(mut self) -> Axis {
        for (at, label) in &mut self.ticks {
            if *at > 0.0 {
                label.insert(0, '+');
            }
        }
        self
    }
}

impl Ranged for Axis {
    type FormatOption = NoDefaultFormatting;
    type ValueType = f64;

    fn map(&self, value: &f64, (from, to): (i32, i32)) -> i32 {
        let share = (value - self.low) / (self.high - self.low);
        from + (share * f64::from(to - from)).round() as i32
    }

    fn key_points<Hint: KeyPointHint>(&self, hint: Hint) -> Vec<f64> {
        // Plotters asks a second time for minor grid lines.
        if hint.weight().allow_light_points() { Vec::new() } else { self.ticks.iter().map(|(at, _)| *at).collect() }
    }

    fn range(&self) -> Range<f64> {
        self.low..self.high
    }
}

impl ValueFormatter<f64> for Axis {
    fn format_ext(&self, value: &f64) -> String {
        let tick = self.ticks.iter().find(|(at, _)| at.total_cmp(value).is_eq());
        tick.map(|(_, label)| label.clone()).unwrap_or_default()
    }
}

/// Rounds up to the next of 1, 2, 5, 10 and so on.
fn round_step(step: f64) -> f64 {
    let power = 10f64.powi(step.log10().floor() as i32);
    let factor = [1.0, 2.0, 5.0].into_iter().find(|factor| factor * power >= step * 0.999).unwrap_or(10.0);
    factor * power
}

/// Formats the numbers of one axis in the same unit and with the same number of decimals.
fn format_ticks(values: &[f64], step: f64) -> Vec<String> {
    let largest = values.iter().fold(0.0, |largest: f64, value| largest.max(value.abs()));
    let (unit, name) = match largest {
        1e7.. => (1e6, "M"),
        1e4.. => (1e3, "k"),
        _ => (1.0, ""),
    };
    let decimals = (-(step / unit).log10().floor()).clamp(0.0, 9.0) as usize;
    let write = |value: &f64| {
        // A sum of steps may end at a tiny negative number instead of 0.
        let value = if value.abs() < step / 1e6 { 0.0 } else { *value };
        let name = if value == 0.0 { "" } else { name };
        format!("{}{name}", group_thousands(&format!("{:.decimals$}", value / unit)))
    };
    values.iter().map(write).collect()
}

/// Inserts the comma in `1234`, the only length that needs one in any unit.
fn group_thousands(number: &str) -> String {
    let (sign, digits) = number.split_at(usize::from(number.starts_with('-')));
    match digits.len() {
        4.. if !digits.contains('.') => {
            let (left, right) = digits.split_at(digits.len() - 3);
            format!("{sign}{left},{right}")
        }
        _ => number.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::Axis;

    fn tick_labels(axis: Axis) -> Vec<String> {
        axis.ticks.into_iter().map(|(_, label)| label).collect()
    }

    #[test]
    fn round_numbers() {
        assert_eq!(tick_labels(Axis::linear(-3.0, 73.0, 5).signed()), ["-20", "0", "+20", "+40", "+60", "+80"]);
        assert_eq!(tick_labels(Axis::linear(0.0, 0.31, 4)), ["0.0", "0.1", "0.2", "0.3", "0.4"]);
        assert_eq!(tick_labels(Axis::linear(0.0, 7_400.0, 4)), ["0", "2,000", "4,000", "6,000", "8,000"]);
        assert_eq!(tick_labels(Axis::linear(0.0, 41_000.0, 3)), ["0", "20k", "40k", "60k"]);
        assert_eq!(tick_labels(Axis::linear(5.0, 5.0, 2)), ["5.0", "5.5", "6.0"]);
    }
}
