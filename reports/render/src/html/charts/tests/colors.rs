//! Tests of the colors in charts. Each must have a role (its use, such as text or grid), and each role a CSS variable
//! with a color in all three themes of a page: light, dark by the page's switch (`switched`), and dark by the system's
//! preference (`preferred`).

use std::collections::BTreeSet;

use plotters::style::RGBColor;

use super::super::roles::{FAINT, GRID, INK, PAPER, SERIES};
use super::css::{rule, themes};
use super::page;
use super::sample::sample;
use super::svg::parse_chart;

/// The minimum contrasts of WCAG 2.2 for graphical objects and for text.
const MARKS: f64 = 3.0;
const TEXTS: f64 = 4.5;

fn roles() -> Vec<RGBColor> {
    [INK, FAINT, GRID, PAPER].into_iter().chain(SERIES).collect()
}

/// Returns the color as charts write it, such as `#1B1F24`.
fn hex(role: RGBColor) -> String {
    format!("#{:02X}{:02X}{:02X}", role.0, role.1, role.2)
}

/// Returns the CSS variable of a role.
fn variable(role: RGBColor) -> String {
    let [fill, stroke] = ["fill", "stroke"].map(|attribute| {
        rule(attribute, &hex(role)).unwrap_or_else(|| panic!("{} has no rule for {attribute}", hex(role)))
    });
    assert_eq!(fill, stroke);
    let name = fill.strip_prefix("var(").and_then(|name| name.strip_suffix(')'));
    name.unwrap_or_else(|| panic!("{fill} is not a variable")).to_owned()
}

#[test]
fn colors_are_roles() {
    let roles: BTreeSet<String> = roles().into_iter().map(hex).collect();
    let mut seen = BTreeSet::new();
    for svg in page(&sample()) {
        let document = parse_chart(&svg);
        for attribute in document.descendants().flat_map(|node| node.attributes()) {
            match attribute.name() {
                "fill" | "stroke" => seen.insert(attribute.value().to_owned()),
                "opacity" => panic!("{attribute:?}: the color would depend on the background"),
                _ => continue,
            };
        }
    }
    seen.remove("none");
    assert_eq!(seen, roles, "what is drawn, and the roles");
}

#[test]
fn roles_have_colors_in_both_themes() {
    let [light, switched, preferred] = themes();
    assert_eq!(switched, preferred, "both dark themes have the same colors");
    assert_eq!(light.get("--paper").map(String::as_str), Some("#ffffff"));
    assert_eq!(switched.get("--paper").map(String::as_str), Some("#14171c"));
    for role in roles() {
        let name = variable(role);
        let in_light = light.get(&name).unwrap_or_else(|| panic!("{name} has no color"));
        assert_eq!(in_light.to_uppercase(), hex(role), "{name} differs from the chart's color");
        assert_ne!(Some(in_light), switched.get(&name), "{name} has no dark color");
    }
}

#[test]
fn roles_stand_out_from_the_paper() {
    for (theme, name) in themes().iter().zip(["light", "dark", "dark by preference"]) {
        let marks = SERIES.into_iter().map(|role| (role, MARKS));
        for (role, least) in marks.chain([(INK, TEXTS), (FAINT, TEXTS)]) {
            let variable = variable(role);
            let ratio = contrast_ratio(&theme[&variable], &theme["--paper"]);
            assert!(ratio >= least, "{variable} in {name}: {ratio:.2}");
        }
    }
}

#[test]
fn contrast_is_what_wcag_says() {
    assert!((contrast_ratio("#000000", "#ffffff") - 21.0).abs() < 1e-9);
    assert!((contrast_ratio("#777777", "#ffffff") - 4.48).abs() < 0.01);
}

/// Returns the contrast ratio of WCAG 2.2.
fn contrast_ratio(one: &str, other: &str) -> f64 {
    let (one, other) = (luminance(one), luminance(other));
    (one.max(other) + 0.05) / (one.min(other) + 0.05)
}

/// Returns the relative luminance of WCAG 2.2.
fn luminance(color: &str) -> f64 {
    let digits = color.strip_prefix('#').filter(|digits| digits.len() == 6);
    let value = digits.and_then(|digits| u32::from_str_radix(digits, 16).ok()).unwrap_or_else(|| panic!("{color}"));
    let channels = [value >> 16, value >> 8 & 0xff, value & 0xff].map(|channel| {
        let share = f64::from(channel) / 255.0;
        if share <= 0.04045 { share / 12.92 } else { ((share + 0.055) / 1.055).powf(2.4) }
    });
    channels.iter().zip([0.2126, 0.7152, 0.0722]).map(|(channel, weight)| channel * weight).sum()
}
