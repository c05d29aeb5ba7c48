//! Floating-point numbers as formatted by other languages.

use std::ops::Range;

/// Formats the shortest digits that parse to `value`: without an exponent if the exponent is in `plain`, or else like
/// `1.5e-07`, with at least `width` digits of exponent.
pub(super) fn shortest(value: f64, plain: Range<i32>, width: usize) -> String {
    let scientific = format!("{value:e}");
    let Some((digits, exponent)) = scientific.split_once('e') else { return scientific };
    match exponent.parse::<i32>() {
        Ok(exponent) if !plain.contains(&exponent) => {
            let sign = if exponent < 0 { '-' } else { '+' };
            format!("{digits}e{sign}{:0width$}", exponent.abs())
        }
        _ => value.to_string(),
    }
}
