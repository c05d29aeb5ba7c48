//! Tests of charts as a browser parses them.

mod colors;
mod css;
mod edge_cases;
mod sample;
mod svg;

use std::collections::BTreeSet;

use roxmltree::Node;

use self::svg::{assert_inside_view_box, elements, number, parse_chart, size, texts};
use super::{
    Caption, ChartError, Curves, Forest, ForestRow, Panel, Scatter, Stacks, curves, forest, scatter, stacks, text,
};

/// The widths at which a page draws each chart.
const WIDTHS: [u32; 2] = [720, 340];

/// Repeated five times, this is wider than any available space.
const LONG_NAME: &str = "a name of two hundred characters, in words ";

/// One chart of each kind.
#[derive(Debug)]
struct Charts {
    forest: Forest,
    curves: Curves,
    scatter: Scatter,
    stacks: Stacks,
}

impl Charts {
    fn sample() -> Charts {
        let (forest, curves) = (sample::forest(), sample::curves());
        Charts { forest, curves, scatter: sample::scatter(10), stacks: sample::stacks() }
    }

    fn captions(&mut self) -> [&mut Caption; 4] {
        let Charts { forest, curves, scatter, stacks } = self;
        [&mut forest.caption, &mut curves.caption, &mut scatter.caption, &mut stacks.caption]
    }

    /// Replaces all texts by `text`.
    fn with_all_names(mut self, text: &str) -> Charts {
        for caption in self.captions() {
            caption.title = text.to_owned();
            caption.description = text.to_owned();
            caption.id.push_str(text);
        }
        let Charts { forest, curves, scatter, stacks } = &mut self;
        let mut names = vec![&mut forest.axis, &mut curves.x_title, &mut curves.y_title, &mut scatter.x_title];
        names.extend([&mut scatter.y_title, &mut scatter.filled, &mut scatter.hollow]);
        names.extend([&mut stacks.x_title, &mut stacks.y_title]);
        for row in &mut forest.rows {
            match row {
                ForestRow::Heading(heading) => names.push(heading),
                ForestRow::Effect { label, text, .. } => names.extend([label, text]),
            }
        }
        names.extend(curves.series.iter_mut().map(|curve| &mut curve.label));
        names.extend(scatter.points.iter_mut().map(|point| &mut point.label));
        names.extend(&mut scatter.groups);
        names.extend(stacks.kinds.iter_mut().map(|kind| &mut kind.label));
        for Panel { title, bars, .. } in &mut stacks.panels {
            names.push(title);
            names.extend(bars.iter_mut().map(|bar| &mut bar.label));
        }
        for name in names {
            text.clone_into(name);
        }
        self
    }

    fn draw(&self, width: u32) -> [Option<String>; 4] {
        let drawn = |chart: Result<Option<String>, ChartError>| chart.expect("a chart is drawn");
        [
            drawn(forest(&self.forest, width)),
            drawn(curves(&self.curves, width)),
            drawn(scatter(&self.scatter, width)),
            drawn(stacks(&self.stacks, width)),
        ]
    }

    /// Draws all charts at both widths, as in one page.
    fn page(&self) -> Vec<String> {
        WIDTHS.into_iter().flat_map(|width| self.draw(width)).map(|chart| chart.expect("there is something")).collect()
    }
}

#[test]
fn a_chart_has_a_name_and_a_description() {
    let mut charts = Charts::sample();
    let captions = charts.captions().map(|caption| caption.clone());
    for (svg, caption) in charts.page().iter().zip(captions.iter().cycle()) {
        let document = parse_chart(svg);
        let root = document.root_element();
        let referenced_text = |attribute| {
            let id = root.attribute(attribute).expect("it refers to something");
            document.descendants().find(|node| node.attribute("id") == Some(id)).and_then(|node| node.text())
        };
        assert_eq!(root.attribute("role"), Some("group"), "it has marks that can have the focus");
        assert_eq!(referenced_text("aria-labelledby"), Some(caption.title.as_str()));
        assert_eq!(referenced_text("aria-describedby"), Some(caption.description.as_str()));
        let (width, height) = size(&document);
        assert_eq!(root.attribute("viewBox"), Some(format!("0 0 {width} {height}").as_str()));
    }
}

#[test]
fn ids_are_unique_in_a_page() {
    let mut ids = BTreeSet::new();
    for svg in Charts::sample().page() {
        let document = parse_chart(&svg);
        let own: Vec<&str> = document.descendants().filter_map(|node| node.attribute("id")).collect();
        let fills = document.descendants().filter_map(|node| node.attribute("fill"));
        for reference in fills.filter_map(|fill| fill.strip_prefix("url(#")?.strip_suffix(')')) {
            assert!(own.contains(&reference), "{reference} is not in its chart, which may be shown alone");
        }
        for id in own {
            assert!(ids.insert(id.to_owned()), "{id} occurs twice");
        }
    }
    assert!(ids.iter().any(|id| id.contains("-h")), "there are hatches: {ids:?}");
}

#[test]
fn names_are_text() {
    let hostile = "<script>&amp;\"'\n\u{1b}]]><!-- opacity=\"1\" stroke=\"none\"";
    let shown = "<script>&amp;\"' \u{fffd}]]><!-- opacity=\"1\" stroke=\"none\"";
    for (index, svg) in Charts::sample().with_all_names(hostile).page().iter().enumerate() {
        let document = parse_chart(svg);
        for element in ["title", "desc"] {
            assert_eq!(elements(&document, element).next().and_then(|node| node.text()), Some(shown));
        }
        let texts = texts(&document);
        let whole = |text: &String| shown.starts_with(text.trim_end_matches('…').trim_end());
        assert!(texts.iter().filter(|text| text.contains("script")).count() > 2, "chart {index}: {texts:?}");
        assert!(texts.iter().filter(|text| text.contains("script")).all(whole), "chart {index}: {texts:?}");
    }
}

#[test]
fn long_names_are_cut() {
    for long in [LONG_NAME.repeat(5), "W".repeat(200)] {
        for svg in Charts::sample().with_all_names(&long).page() {
            let document = parse_chart(&svg);
            assert_inside_view_box(&document);
            assert!(texts(&document).iter().any(|text| text.ends_with('…')), "{svg}");
        }
    }
}

#[test]
fn everything_lies_within() {
    for rows in [1, 10, 50, 900] {
        for svg in (Charts { scatter: sample::scatter(rows), ..Charts::sample() }).page() {
            assert_inside_view_box(&parse_chart(&svg));
        }
    }
}

/// Returns the names of the marks that can have the focus.
fn marks(svg: &str) -> Vec<String> {
    let document = parse_chart(svg);
    let marks = document.descendants().filter(|node| node.attribute("class") == Some("mark"));
    marks.map(|mark| mark.attribute("aria-label").expect("a mark has a name").to_owned()).collect()
}

#[test]
fn marks_say_their_values() {
    let charts = Charts::sample();
    for width in WIDTHS {
        let [forest, curves, scatter, stacks] = charts.draw(width).map(|svg| marks(&svg.expect("it is drawn")));
        assert_eq!(scatter, charts.scatter.points.iter().map(|point| point.text.clone()).collect::<Vec<_>>());
        assert_eq!(forest.len(), 6, "an effect without an estimate has no mark");
        assert!(forest.contains(&"healing: +64 [55, 73]".to_owned()), "{forest:?}");
        assert!(curves.contains(&"typical, all: 88% within 2".to_owned()), "{curves:?}");
        assert_eq!(stacks.len(), 26, "one for each bar");
        assert!(stacks[12].starts_with("none, call 13+: 120 ok, "), "{}", stacks[12]);
    }
}

#[test]
fn the_same_numbers_draw_the_same_bytes() {
    assert_eq!(Charts::sample().page(), Charts::sample().page());
}

#[test]
fn charts_are_small() {
    for (svg, limit) in Charts::sample().page().iter().map(|svg| (svg, 26_000)) {
        assert!(svg.len() < limit, "{} bytes: {}", svg.len(), &svg[..200]);
    }
    for width in WIDTHS {
        let svg = scatter(&sample::scatter(900), width).unwrap().unwrap();
        assert!(svg.len() < 150_000, "{} bytes", svg.len());
    }
}

/// Returns the shape at the height of a row, found by the row's name.
fn marker_shape(svg: &str, row: &str) -> &'static str {
    let document = parse_chart(svg);
    let label = elements(&document, "text").find(|node| node.text().is_some_and(|text| text.trim() == row));
    let y = number(label.unwrap_or_else(|| panic!("{row} is not in {svg}")), "y");
    let in_row = |node: &Node<'_, '_>| match node.tag_name().name() {
        "circle" => (number(*node, "cy") - y).abs() < 12,
        _ => {
            let points = node.attribute("points").unwrap_or_default().split_whitespace();
            let heights: Vec<i32> = points.map(|point| point.split_once(',').unwrap().1.parse().unwrap()).collect();
            (heights.iter().sum::<i32>() / heights.len() as i32 - y).abs() < 12
        }
    };
    match (
        elements(&document, "circle").any(|node| in_row(&node)),
        elements(&document, "polygon").any(|node| in_row(&node)),
    ) {
        (true, false) => "circle",
        (false, true) => "diamond",
        (false, false) => "nothing",
        (true, true) => "both",
    }
}

#[test]
fn a_significant_effect_has_its_own_shape() {
    let mut data = sample::forest();
    let touching = |label: &str, interval| ForestRow::Effect {
        label: label.into(),
        estimate: Some(1.0),
        interval: Some(interval),
        text: String::new(),
        group: 0,
    };
    data.rows.extend([touching("touches", (0.0, 2.0)), touching("not a number", (f64::NAN, 2.0))]);
    for width in WIDTHS {
        let svg = forest(&data, width).unwrap().unwrap();
        let expected = [
            ("healing", "diamond"),
            ("strict × contract", "diamond"),
            ("contract", "circle"),
            ("healing × strict", "circle"),
            ("touches", "circle"),
            ("not a number", "circle"),
            ("all four", "nothing"),
        ];
        for (row, shape) in expected {
            assert_eq!(marker_shape(&svg, row), shape, "{row} at {width}");
        }
    }
}

#[test]
fn curves_are_named_where_their_names_fit() {
    let long = |index: usize| format!("model:qwen-0.5b · seeded with examples · number {index}");
    let mut data = sample::curves();
    let short = curves(&data, 720).unwrap().unwrap();
    let column = |svg: &str| {
        let document = parse_chart(svg);
        let lasts = elements(&document, "text")
            .filter(|node| number(*node, "x") > 500 && node.attribute("dy") == Some("0.5ex"));
        lasts.count()
    };
    assert_eq!(column(&short), 8, "short names stand beside the ends");
    for (index, curve) in data.series.iter_mut().enumerate() {
        curve.label = long(index);
    }
    for width in WIDTHS {
        let svg = curves(&data, width).unwrap().unwrap();
        let joined = texts(&parse_chart(&svg)).join(" ");
        for index in 0..8 {
            assert!(joined.contains(&long(index)), "{} at {width}: {joined}", long(index));
        }
        let dashes = |dash: &str| svg.matches(dash).count();
        assert_eq!(dashes("stroke-dasharray=\"2 3\""), 2, "a curve and its entry have the same dash");
    }
}

#[test]
fn points_are_named_where_there_is_room_the_best_one_first() {
    let mut data = sample::scatter(10);
    let labels = |data: &Scatter, width| {
        let texts = texts(&parse_chart(&scatter(data, width).unwrap().unwrap()));
        texts.iter().filter(|text| data.points.iter().any(|point| point.label == **text)).count()
    };
    assert_eq!(labels(&data, 720), 10);
    for point in &mut data.points {
        point.y = 0.9 + point.y / 50.0;
        point.x = 5_000.0 + point.x / 100.0;
    }
    let best = data.points.iter().max_by(|a, b| a.y.total_cmp(&b.y).then(b.x.total_cmp(&a.x))).unwrap().label.clone();
    for width in WIDTHS {
        let crowded = texts(&parse_chart(&scatter(&data, width).unwrap().unwrap()));
        assert!((1..10).contains(&labels(&data, width)) && crowded.contains(&best), "{best} in {crowded:?}");
    }
    data.points.truncate(1);
    assert_eq!(labels(&data, 340), 1);
}

#[test]
fn text_widths_are_estimated_within_a_tenth() {
    // Measured in Chromium with DejaVu Sans at 12 pixels, which is wide among the page's fonts.
    let measured = [
        ("VALIDATION_ERROR", 119.5),
        ("MISSING_DISCRIMINATOR", 152.9),
        ("interval leaves zero out", 141.3),
        ("all llm-friendly", 86.1),
        ("+64 [55, 73]", 76.7),
        ("model:qwen-0.5b", 104.9),
        ("+100", 33.0),
        ("13+", 25.3),
        ("100%", 34.3),
    ];
    for (words, pixels) in measured {
        let estimated = f64::from(text::width(words));
        assert!((pixels..pixels * 1.1).contains(&estimated), "{words}: {estimated}, not {pixels}");
    }
    assert!((160..176).contains(&text::bold_width("interval leaves zero out")));
}
