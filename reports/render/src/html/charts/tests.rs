//! Tests of charts as a browser parses them.

mod colors;
mod css;
mod edge_cases;
mod sample;
mod svg;

use std::collections::BTreeSet;

use roxmltree::Node;

use self::sample::sample;
use self::svg::{assert_inside_view_box, elements, number, parse_chart, size, texts};
use super::{Forest, ForestRow, forest, text};

/// The widths at which a page draws each chart.
const WIDTHS: [u32; 2] = [720, 340];

/// Repeated five times, this is wider than any available space.
const LONG_NAME: &str = "a name of two hundred characters, in words ";

/// Replaces all texts by `text`.
fn with_all_names(mut data: Forest, text: &str) -> Forest {
    data.caption.id.push_str(text);
    let mut names = vec![&mut data.caption.title, &mut data.caption.description, &mut data.axis];
    for row in &mut data.rows {
        match row {
            ForestRow::Heading(heading) => names.push(heading),
            ForestRow::Effect { label, text, .. } => names.extend([label, text]),
        }
    }
    for name in names {
        text.clone_into(name);
    }
    data
}

/// Draws the chart at both widths, as in one page; at none if there is nothing to draw.
fn page(data: &Forest) -> Vec<String> {
    WIDTHS.into_iter().filter_map(|width| forest(data, width).expect("a chart is drawn")).collect()
}

#[test]
fn a_chart_has_a_name_and_a_description() {
    let data = sample();
    for svg in page(&data) {
        let document = parse_chart(&svg);
        let root = document.root_element();
        let referenced_text = |attribute| {
            let id = root.attribute(attribute).expect("it refers to something");
            document.descendants().find(|node| node.attribute("id") == Some(id)).and_then(|node| node.text())
        };
        assert_eq!(root.attribute("role"), Some("group"), "it has marks that can have the focus");
        assert_eq!(referenced_text("aria-labelledby"), Some(data.caption.title.as_str()));
        assert_eq!(referenced_text("aria-describedby"), Some(data.caption.description.as_str()));
        let (width, height) = size(&document);
        assert_eq!(root.attribute("viewBox"), Some(format!("0 0 {width} {height}").as_str()));
    }
}

#[test]
fn ids_are_unique_in_a_page() {
    let mut ids = BTreeSet::new();
    for svg in page(&sample()) {
        let document = parse_chart(&svg);
        let own: Vec<&str> = document.descendants().filter_map(|node| node.attribute("id")).collect();
        for id in own {
            assert!(ids.insert(id.to_owned()), "{id} occurs twice");
        }
    }
}

#[test]
fn names_are_text() {
    let hostile = "<script>&amp;\"'\n\u{1b}]]><!-- opacity=\"1\" stroke=\"none\"";
    let shown = "<script>&amp;\"' \u{fffd}]]><!-- opacity=\"1\" stroke=\"none\"";
    for svg in page(&with_all_names(sample(), hostile)) {
        let document = parse_chart(&svg);
        for element in ["title", "desc"] {
            assert_eq!(elements(&document, element).next().and_then(|node| node.text()), Some(shown));
        }
        let texts = texts(&document);
        let whole = |text: &String| shown.starts_with(text.trim_end_matches('…').trim_end());
        assert!(texts.iter().filter(|text| text.contains("script")).count() > 2, "{texts:?}");
        assert!(texts.iter().filter(|text| text.contains("script")).all(whole), "{texts:?}");
    }
}

#[test]
fn long_names_are_cut() {
    for long in [LONG_NAME.repeat(5), "W".repeat(200)] {
        for svg in page(&with_all_names(sample(), &long)) {
            let document = parse_chart(&svg);
            assert_inside_view_box(&document);
            assert!(texts(&document).iter().any(|text| text.ends_with('…')), "{svg}");
        }
    }
}

#[test]
fn everything_lies_within() {
    for svg in page(&sample()) {
        assert_inside_view_box(&parse_chart(&svg));
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
    for svg in page(&sample()) {
        let marks = marks(&svg);
        assert_eq!(marks.len(), 13, "an effect without an estimate has no mark");
        assert!(marks.contains(&"healing: +64 [55, 73]".to_owned()), "{marks:?}");
    }
}

#[test]
fn the_same_numbers_draw_the_same_bytes() {
    assert_eq!(page(&sample()), page(&sample()));
}

#[test]
fn charts_are_small() {
    for svg in page(&sample()) {
        assert!(svg.len() < 26_000, "{} bytes: {}", svg.len(), &svg[..200]);
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
fn a_clear_effect_has_its_own_shape() {
    let mut data = sample();
    let touching = |label: &str, interval| ForestRow::Effect {
        label: label.into(),
        estimate: Some(1.0),
        interval: Some(interval),
        is_clear: false,
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
