//! Numbers as texts, for all outputs.

/// The text shown for an unknown number.
pub const UNKNOWN: &str = "—";

/// `12,345`.
pub fn count(count: u64) -> String {
    let digits = count.to_string();
    let mut out = String::with_capacity(digits.len() + digits.len() / 3);
    for (index, digit) in digits.chars().enumerate() {
        if index > 0 && (digits.len() - index).is_multiple_of(3) {
            out.push(',');
        }
        out.push(digit);
    }
    out
}

/// `1 episode`, `2 episodes`.
pub fn pluralize(count: u64, noun: &str) -> String {
    let plural = if count == 1 { "" } else { "s" };
    format!("{} {noun}{plural}", self::count(count))
}

/// `1 of 2 episodes`, `3 of 1,200 episodes`: the noun agrees with the whole, and a verb that follows with the part (see [`agree`]).
pub fn part_of(part: u64, whole: u64, noun: &str) -> String {
    format!("{} of {}", self::count(part), pluralize(whole, noun))
}

/// Returns the word that agrees with a count: `was` or `were`.
pub fn agree<'t>(count: u64, one: &'t str, several: &'t str) -> &'t str {
    if count == 1 { one } else { several }
}

/// `once`, `3 times`.
pub fn times(count: u64) -> String {
    if count == 1 { "once".to_owned() } else { pluralize(count, "time") }
}

/// A share as a percentage: `46%`. Below 1 and above 99 with one decimal, so that `0%` and `100%` are exact.
pub fn percent(share: f64) -> String {
    format!("{}%", percent_digits(share))
}

/// A difference between two shares in percentage points, without the unit: `+46`, `-3`, `+0.4`.
pub fn points(difference: f64) -> String {
    with_plus(difference, signed_digits(difference))
}

/// A p-value: `0.031`, `<0.001`.
pub fn p_value(p: Option<f64>) -> String {
    match p {
        None => UNKNOWN.to_owned(),
        Some(p) if p < 0.001 => "<0.001".to_owned(),
        Some(p) => format!("{p:.3}"),
    }
}

/// A difference between two means of counts: `+12`, `-1,234`, `+0.4`.
pub fn signed_amount(difference: f64) -> String {
    with_plus(difference, amount_digits(difference))
}

/// Formats an end of an interval, however small.
pub fn bound_digits(end: f64) -> String {
    match end.abs() {
        size if size > 0.0 && size < 0.05 => {
            let places = (-size.log10()).ceil().min(9.0) as usize;
            format!("{end:.places$}")
        }
        _ => amount_digits(end),
    }
}

fn amount_digits(difference: f64) -> String {
    let digits = match difference.abs() {
        0.0 => "0".to_owned(),
        size if size < 0.05 => "<0.1".to_owned(),
        size if size < 9.95 => format!("{size:.1}"),
        size => amount(size),
    };
    with_minus(difference, digits)
}

/// Adds a plus to the digits of a number above 0: `+46`, `<+0.1`.
fn with_plus(number: f64, digits: String) -> String {
    match digits.split_at_checked(1) {
        _ if number <= 0.0 => digits,
        Some((bound @ ("<" | ">"), size)) => format!("{bound}+{size}"),
        _ => format!("+{digits}"),
    }
}

/// Adds a minus to the digits of the size of a number below 0: `-3`, `>-0.1`.
fn with_minus(number: f64, digits: String) -> String {
    match digits.split_at_checked(1) {
        _ if number >= 0.0 => digits,
        Some(("<", size)) => format!(">-{size}"),
        Some((">", size)) => format!("<-{size}"),
        _ => format!("-{digits}"),
    }
}

/// A number of any magnitude, at least 0: `85`, `8,120`, `231k`, `1.2M`.
pub fn amount(value: f64) -> String {
    match value {
        _ if value < 99_999.5 => count(value.round() as u64),
        _ if value < 999_500.0 => format!("{}k", count((value / 1e3).round() as u64)),
        _ => format!("{:.1}M", value / 1e6),
    }
}

/// US dollars: `12.30`, `0.041`, `0.00052`.
pub fn money(usd: f64) -> String {
    match usd {
        _ if usd <= 0.0 => "0".to_owned(),
        _ if usd >= 0.995 => format!("{usd:.2}"),
        _ => {
            // At least two significant digits, or three decimals.
            let zeros = (-usd.log10()).floor().max(0.0) as usize;
            format!("{usd:.*}", (zeros + 2).max(3))
        }
    }
}

/// A difference between two shares in percentage points, with a sign only if it is negative: `46`, `-3`.
pub fn signed_digits(difference: f64) -> String {
    with_minus(difference, percent_digits(difference.abs()))
}

/// A share in percent, without the sign: only exactly 0 and 1 are `0` and `100`.
pub fn percent_digits(share: f64) -> String {
    let percent = share * 100.0;
    if percent <= 0.0 || percent >= 100.0 {
        return format!("{percent:.0}");
    }
    if percent < 0.1 {
        return "<0.1".to_owned();
    }
    if percent > 99.9 {
        // 99.95 would round to 100.0.
        return if percent < 99.95 { "99.9" } else { ">99.9" }.to_owned();
    }
    let digits = if (1.0..=99.0).contains(&percent) { format!("{percent:.0}") } else { format!("{percent:.1}") };
    digits.strip_suffix(".0").map(str::to_owned).unwrap_or(digits)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dollars() {
        let table =
            [(0.0, "0"), (12.3, "12.30"), (1.0, "1.00"), (0.5, "0.500"), (0.0412, "0.041"), (0.000523, "0.00052")];
        for (usd, text) in table {
            assert_eq!(money(usd), text);
        }
    }

    #[test]
    fn percentages_never_round_to_a_certainty() {
        let table = [
            (0.0, "0%"),
            (1e-9, "<0.1%"),
            (0.001, "0.1%"),
            (0.0042, "0.4%"),
            (0.00999, "1%"),
            (0.01, "1%"),
            (0.354, "35%"),
            (0.99, "99%"),
            (0.9904, "99%"),
            (0.995, "99.5%"),
            (0.999, "99.9%"),
            (0.9994, "99.9%"),
            (0.9999, ">99.9%"),
            (1.0, "100%"),
        ];
        for (share, text) in table {
            assert_eq!(percent(share), text, "{share}");
        }
    }

    #[test]
    fn differences_keep_their_sign() {
        let table = [(0.0, "0"), (0.464, "+46"), (-0.032, "-3"), (0.004, "+0.4"), (-0.00001, ">-0.1"), (1.0, "+100")];
        for (difference, text) in table {
            assert_eq!(points(difference), text, "{difference}");
        }
    }

    #[test]
    fn changes_keep_their_sign() {
        let table = [
            (0.0, "0"),
            (0.04, "<+0.1"),
            (-0.04, ">-0.1"),
            (-0.4, "-0.4"),
            (9.94, "+9.9"),
            (9.96, "+10"),
            (-1234.4, "-1,234"),
            (2e6, "+2.0M"),
        ];
        for (difference, text) in table {
            assert_eq!(signed_amount(difference), text, "{difference}");
        }
    }

    #[test]
    fn counts() {
        let table = [(0, "0"), (999, "999"), (1000, "1,000"), (1_234_567, "1,234,567")];
        for (number, text) in table {
            assert_eq!(count(number), text);
        }
        assert_eq!((pluralize(1, "trial"), pluralize(2340, "episode")), ("1 trial".into(), "2,340 episodes".into()));
    }
}
