//! Tests with invalid, extreme and unusual numbers and names.

use proptest::collection::vec;
use proptest::prelude::*;

use super::super::{Forest, ForestRow, forest};
use super::sample::sample;
use super::svg::{parse_chart, texts};
use super::{page, with_all_names};

const NOT_DRAWABLE: [f64; 4] = [f64::NAN, f64::INFINITY, f64::NEG_INFINITY, 1e300];

fn of_rows(rows: Vec<ForestRow>) -> Forest {
    Forest { rows, ..sample() }
}

fn effect(estimate: Option<f64>, interval: Option<(f64, f64)>) -> ForestRow {
    ForestRow::Effect { label: "an effect".into(), estimate, interval, is_clear: false, text: "known".into(), group: 0 }
}

/// Asserts that the SVG contains no NaN or infinite number.
fn assert_no_nan(svg: &str) {
    for text in texts(&parse_chart(svg)) {
        assert!(!text.contains("NaN") && !text.contains("inf"), "{text}");
    }
}

#[test]
fn nothing_draws_nothing() {
    assert_eq!(page(&of_rows(Vec::new())), [""; 0]);
    let rows = vec![ForestRow::Heading("nothing below".into()), effect(None, None)];
    assert_eq!(page(&of_rows(rows)), [""; 0]);
}

#[test]
fn non_finite_values_draw_nothing() {
    let rows = NOT_DRAWABLE.map(|at| effect(Some(at), Some((at, at)))).into();
    assert_eq!(page(&of_rows(rows)), [""; 0]);
}

#[test]
fn non_finite_values_hide_nothing_else() {
    let mut data = sample();
    for at in NOT_DRAWABLE {
        data.rows.extend([effect(Some(at), None), effect(Some(1.0), Some((at, at)))]);
    }
    let drawn = page(&data);
    assert_eq!(drawn.len(), 2);
    drawn.iter().for_each(|svg| assert_no_nan(svg));
}

#[test]
fn one_value_has_a_frame() {
    for value in [0.0, 1.0, 0.5, -0.0] {
        for svg in page(&of_rows(vec![effect(Some(value), None)])) {
            assert_no_nan(&svg);
            let zero = |text: &String| text.starts_with('0');
            assert!(texts(&parse_chart(&svg)).iter().any(zero) || value != 0.0, "{svg}");
        }
    }
}

/// Any number, or a number typical of a run.
fn number() -> impl Strategy<Value = f64> {
    prop_oneof![any::<f64>(), -1.0..2.0, -100.0..100.0, 0.0..1e6, prop::sample::select(vec![0.0, 1.0, 5e-324, 9e14])]
}

fn interval() -> impl Strategy<Value = Option<(f64, f64)>> {
    prop::option::of((number(), number()))
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 128, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn any_numbers_are_drawn(
        rows in vec((prop::option::of(number()), interval()), 0..12),
        width in prop_oneof![Just(720), Just(340), any::<u32>()],
    ) {
        let rows = rows.into_iter().map(|(estimate, interval)| effect(estimate, interval)).collect();
        if let Some(svg) = forest(&of_rows(rows), width).unwrap() {
            assert_no_nan(&svg);
        }
    }

    #[test]
    fn any_names_are_text(name in prop_oneof![any::<String>(), "[<>&'\"\\]!-]{0,20}", ".{150,400}"]) {
        for svg in page(&with_all_names(sample(), &name)) {
            parse_chart(&svg);
        }
    }
}
