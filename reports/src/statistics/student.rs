use statrs::distribution::{ContinuousCDF as _, StudentsT};

use super::Interval;

/// The count, sum and sum of squares of whole numbers, without rounding.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Moments {
    /// The number of numbers.
    pub count: u64,
    pub sum: u128,
    /// The sum of their squares.
    pub squares: u128,
}

impl Moments {
    pub fn add(&mut self, number: u64) {
        self.count += 1;
        self.sum += u128::from(number);
        self.squares += u128::from(number) * u128::from(number);
    }

    /// Returns the mean; `None` without a number.
    pub fn mean(&self) -> Option<f64> {
        (self.count > 0).then(|| self.sum as f64 / self.count as f64)
    }

    /// Returns Student's interval of the mean; `None` for fewer than two numbers, and if `confidence` is not between 0
    /// and 1. If all numbers are equal, both ends are that number.
    pub fn interval(&self, confidence: f64) -> Option<Interval> {
        if self.count < 2 || !(confidence > 0.0 && confidence < 1.0) {
            return None;
        }
        let (mean, count) = (self.mean()?, self.count as f64);
        // n Σx² - (Σx)² is never negative, and exact in integers.
        let spread = (u128::from(self.count) * self.squares).saturating_sub(self.sum * self.sum);
        let error = (spread as f64 / (count * (count - 1.0)) / count).sqrt();
        let t = StudentsT::new(0.0, 1.0, count - 1.0).ok()?.inverse_cdf(0.5 + confidence / 2.0);
        Some(Interval { lower: mean - t * error, upper: mean + t * error })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(numbers: &[u64]) -> Moments {
        let mut moments = Moments::default();
        numbers.iter().for_each(|number| moments.add(*number));
        moments
    }

    #[test]
    fn intervals_are_those_of_scipy() {
        // scipy 1.17.1: stats.t.interval(0.95, n - 1, mean, s / sqrt(n)).
        let table: [(&[u64], f64, f64); 3] = [
            (&[1, 2, 3, 4, 5], 1.036_756_838_522_438, 4.963_243_161_477_562),
            (&[0, 0, 1, 7], -3.356_855_362_714_159, 7.356_855_362_714_159),
            (&[10, 12], -1.706_204_736_174_698, 23.706_204_736_174_698),
        ];
        for (numbers, lower, upper) in table {
            let found = of(numbers).interval(0.95).unwrap();
            assert!((found.lower - lower).abs() < 1e-6 && (found.upper - upper).abs() < 1e-6, "{numbers:?} {found:?}");
        }
    }

    #[test]
    fn few_numbers_have_no_interval() {
        assert_eq!((of(&[]).mean(), of(&[]).interval(0.95), of(&[3]).interval(0.95)), (None, None, None));
        assert_eq!(of(&[3, 4]).interval(1.0), None);
        let same = of(&[5_000_000; 20]).interval(0.95).unwrap();
        assert_eq!((same.lower, same.upper), (5e6, 5e6));
    }
}
