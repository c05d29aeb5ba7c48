//! Floating-point numbers as other languages print them.

use std::ops::Range;

/// The shortest digits that read back as `value`: plain while the exponent is in `plain`, else as in `1.5e-07`, with at least
/// `width` digits of exponent.
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
