//! Rates and intervals as texts.

use healbench_analysis::statistics::Interval;
use healbench_analysis::{Rate, Unit, known_count};
pub(crate) use healbench_text::{
    UNKNOWN, amount, count, money, p_value, part_of, percent, percent_digits, pluralize, points, signed_amount,
};
use healbench_text::{bound_digits, signed_digits};

/// A rate as a percentage.
pub(crate) fn rate_percent(rate: Rate) -> String {
    rate.rate.map_or(UNKNOWN.to_owned(), percent)
}

/// An interval of a share: `[36, 46]`, in percent.
pub(crate) fn percent_interval(interval: Interval) -> String {
    format!("[{}, {}]", percent_digits(interval.lower), percent_digits(interval.upper))
}

/// An interval of a difference between two shares: `[40, 52]`, in percentage points. An end near 0 keeps its sign: `[-5, 0.04]`.
pub(crate) fn points_interval(interval: Interval) -> String {
    let end = |end: f64| if end.abs() < 0.001 { bound_digits(end * 100.0) } else { signed_digits(end) };
    format!("[{}, {}]", end(interval.lower), end(interval.upper))
}

/// A quotient of counts of any magnitude: `2.1`, `85`, `8,120`, `1.2M`.
pub(crate) fn rate_decimal(rate: Rate) -> String {
    match rate.rate {
        None => UNKNOWN.to_owned(),
        Some(value) if value < 99.95 => format!("{value:.1}"),
        Some(value) => amount(value),
    }
}

/// A quotient of tokens as a whole number: `8,120`; from 100,000 on in thousands, `231k`, and then in millions, `1.2M`.
pub(crate) fn rate_amount(rate: Rate) -> String {
    rate.rate.map_or(UNKNOWN.to_owned(), amount)
}

/// Formats a metric of a row in its unit.
pub(crate) fn metric_value(unit: Unit, rate: Rate) -> String {
    match unit {
        Unit::Percent => rate_percent(rate),
        Unit::Decimal => rate_decimal(rate),
        Unit::Amount => rate_amount(rate),
        Unit::Count => known_count(rate).map_or(UNKNOWN.to_owned(), count),
    }
}

/// An interval of such a difference: `[-1,500, 20]`.
pub(crate) fn amount_interval(interval: Interval) -> String {
    format!("[{}, {}]", bound_digits(interval.lower), bound_digits(interval.upper))
}

/// A mean of milliseconds in seconds: `2.4`.
pub(crate) fn seconds(milliseconds: Rate) -> String {
    milliseconds.rate.map_or(UNKNOWN.to_owned(), |mean| format!("{:.1}", mean / 1000.0))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn intervals_and_quotients() {
        assert_eq!(points_interval(Interval { lower: -0.031, upper: 0.12 }), "[-3, 12]");
        assert_eq!(points_interval(Interval { lower: -0.0004, upper: 0.0 }), "[-0.04, 0]");
        assert_eq!(points_interval(Interval { lower: 0.000_999, upper: 0.9999 }), "[0.1, >99.9]");
        assert_eq!(amount_interval(Interval { lower: -1500.2, upper: 0.25 }), "[-1,500, 0.2]");
        assert_eq!(amount_interval(Interval { lower: -0.043, upper: 0.0007 }), "[-0.04, 0.0007]");
        assert_eq!(
            (rate_decimal(Rate::of(21, 10)), rate_decimal(Rate::of(81_200, 10))),
            ("2.1".into(), "8,120".into())
        );
        assert_eq!((rate_amount(Rate::of(5, 0)), rate_amount(Rate::of(1_234_567, 1))), ("—".into(), "1.2M".into()));
        assert_eq!(
            (rate_decimal(Rate::of(9_996, 100)), rate_amount(Rate::of(9_999_999, 10))),
            ("100".into(), "1.0M".into())
        );
    }
}
