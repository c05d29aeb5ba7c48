//! Tests with invalid, extreme and unusual numbers and names.

use proptest::collection::vec;
use proptest::prelude::*;

use super::super::{Bar, CallKind, CallStatus, Curve, Curves, ForestRow, Panel, Point};
use super::svg::{parse_chart, texts};
use super::{Charts, WIDTHS, sample};

const NOT_DRAWABLE: [f64; 4] = [f64::NAN, f64::INFINITY, f64::NEG_INFINITY, 1e300];

/// Charts without a row, a curve, a point or a bar.
fn empty() -> Charts {
    let mut charts = Charts::sample();
    charts.forest.rows.clear();
    charts.curves.series.clear();
    charts.scatter.points.clear();
    charts.stacks.panels.clear();
    charts
}

fn effect(estimate: Option<f64>, interval: Option<(f64, f64)>) -> ForestRow {
    ForestRow::Effect { label: "an effect".into(), estimate, interval, text: "known".into(), group: 0 }
}

fn curve(points: Vec<(u32, f64)>) -> Curve {
    Curve { label: "a curve".into(), group: 0, filled: true, link: None, points }
}

fn point((x, y): (f64, f64), y_interval: Option<(f64, f64)>) -> Point {
    Point { label: "a point".into(), group: 7, filled: true, x, y, y_interval, link: None, text: "a point".into() }
}

fn panel(bars: Vec<Vec<u64>>) -> Panel {
    let bar = |counts| Bar { label: "1".into(), counts };
    Panel { title: "a panel".into(), link: None, bars: bars.into_iter().map(bar).collect() }
}

/// Asserts that the SVG contains no NaN or infinite number.
fn assert_no_nan(svg: &str) {
    for text in texts(&parse_chart(svg)) {
        assert!(!text.contains("NaN") && !text.contains("inf"), "{text}");
    }
}

#[test]
fn nothing_draws_nothing() {
    let mut charts = empty();
    for width in WIDTHS {
        assert_eq!(charts.draw(width), [const { None }; 4]);
    }
    charts.forest.rows = vec![ForestRow::Heading("nothing below".into()), effect(None, None)];
    charts.curves.series = vec![curve(Vec::new())];
    charts.stacks.panels = vec![panel(Vec::new()), panel(vec![Vec::new(), vec![0, 0]])];
    for width in WIDTHS {
        assert_eq!(charts.draw(width), [const { None }; 4]);
    }
}

#[test]
fn non_finite_values_draw_nothing() {
    let mut charts = empty();
    charts.forest.rows = NOT_DRAWABLE.map(|at| effect(Some(at), Some((at, at)))).into();
    charts.curves.series = NOT_DRAWABLE.map(|at| curve(vec![(1, at)])).into();
    let points = NOT_DRAWABLE.map(|at| [point((at, 0.5), None), point((5.0, at), None)]);
    charts.scatter.points = points.into_iter().flatten().collect();
    for width in WIDTHS {
        assert_eq!(charts.draw(width), [const { None }; 4]);
    }
}

#[test]
fn non_finite_values_hide_nothing_else() {
    let mut charts = Charts::sample();
    for at in NOT_DRAWABLE {
        charts.forest.rows.extend([effect(Some(at), None), effect(Some(1.0), Some((at, at)))]);
        charts.curves.series[0].points.push((9, at));
        charts.scatter.points.extend([point((at, at), None), point((900.0, 0.5), Some((at, 0.6)))]);
    }
    for svg in charts.page() {
        assert_no_nan(&svg);
    }
}

#[test]
fn one_value_has_a_frame() {
    let mut charts = empty();
    charts.stacks.panels = vec![panel(vec![vec![1]])];
    for value in [0.0, 1.0, 0.5, -0.0] {
        charts.forest.rows = vec![effect(Some(value), None)];
        charts.curves.series = vec![curve(vec![(0, value)])];
        charts.scatter.points = vec![point((value, value), None)];
        for svg in charts.page() {
            assert_no_nan(&svg);
            let zero = |text: &String| text.starts_with('0');
            assert!(texts(&parse_chart(&svg)).iter().any(zero) || value != 0.0, "{svg}");
        }
    }
}

#[test]
fn huge_counts_are_drawn() {
    let mut charts = Charts::sample();
    charts.stacks.panels = vec![panel(vec![vec![u64::MAX; 8], vec![1; 20]])];
    charts.curves.series.push(curve(vec![(u32::MAX, 0.5)]));
    charts.page().iter().for_each(|svg| assert_no_nan(svg));
}

#[test]
fn the_ninth_curve_is_counted_and_not_drawn() {
    let mut data: Curves = sample::curves();
    data.series.extend([curve(vec![(1, 0.1)]), curve(vec![(1, 0.2)])]);
    for width in WIDTHS {
        let svg = super::curves(&data, width).unwrap().unwrap();
        assert!(texts(&parse_chart(&svg)).iter().any(|text| text == "2 more not drawn"));
    }
}

/// Any number, or a number typical of a run.
fn number() -> impl Strategy<Value = f64> {
    prop_oneof![any::<f64>(), -1.0..2.0, -100.0..100.0, 0.0..1e6, prop::sample::select(vec![0.0, 1.0, 5e-324, 9e14])]
}

fn interval() -> impl Strategy<Value = Option<(f64, f64)>> {
    prop::option::of((number(), number()))
}

prop_compose! {
    fn charts()(
        rows in vec((prop::option::of(number()), interval()), 0..12),
        series in vec(vec((prop_oneof![0..20u32, any::<u32>()], number()), 0..12), 0..12),
        points in vec(((number(), number()), interval(), any::<usize>(), any::<bool>()), 0..80),
        kinds in vec(prop::sample::select(vec![CallStatus::Ok, CallStatus::Error, CallStatus::Other]), 0..14),
        panels in vec(vec(vec(prop_oneof![0..50u64, any::<u64>()], 0..10), 0..30), 0..6),
    ) -> Charts {
        let mut charts = Charts::sample();
        charts.forest.rows = rows.into_iter().map(|(estimate, interval)| effect(estimate, interval)).collect();
        charts.curves.series = series.into_iter().map(curve).collect();
        let point_of = |(at, interval, group, filled)| Point { group, filled, ..point(at, interval) };
        charts.scatter.points = points.into_iter().map(point_of).collect();
        charts.stacks.kinds = kinds.into_iter().map(|status| CallKind { label: "a kind".into(), status }).collect();
        charts.stacks.panels = panels.into_iter().map(panel).collect();
        charts
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 128, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn any_numbers_are_drawn(charts in charts(), width in prop_oneof![Just(720), Just(340), any::<u32>()]) {
        for svg in charts.draw(width).into_iter().flatten() {
            assert_no_nan(&svg);
        }
    }

    #[test]
    fn any_names_are_text(name in prop_oneof![any::<String>(), "[<>&'\"\\]!-]{0,20}", ".{150,400}"]) {
        for svg in Charts::sample().with_all_names(&name).page() {
            parse_chart(&svg);
        }
    }
}
