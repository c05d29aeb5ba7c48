//! Reads the page's colors from its style sheets.

use std::collections::BTreeMap;

use super::super::CSS;

/// The colors of one theme, by variable name.
pub(super) type Colors = BTreeMap<String, String>;

/// A CSS rule without its braces.
struct Rule {
    media: String,
    selector: String,
    declarations: Vec<(String, String)>,
}

/// The media condition and selector of dark mode: if the reader selected it by the page's switch, and below if the
/// system prefers it and the reader selected nothing.
const SWITCHED: (&str, &str) = ("", ":root[data-theme=\"dark\"]");
const PREFERRED: (&str, &str) = ("(prefers-color-scheme: dark)", ":root:not([data-theme=\"light\"])");

/// Returns the themes: light, dark by the switch, dark by the system's preference.
pub(super) fn themes() -> [Colors; 3] {
    let light = colors(("", ":root"));
    let over = |chosen| light.clone().into_iter().chain(colors(chosen)).collect();
    [light.clone(), over(SWITCHED), over(PREFERRED)]
}

fn colors((media, selector): (&str, &str)) -> Colors {
    // Rules for the medium `screen` apply like unrestricted ones.
    let medium = |rule: &Rule| rule.media.replace("@media", "").replace("screen", "").replace(" and ", "");
    let found = rules().into_iter().filter(|rule| rule.selector == selector && medium(rule).trim() == media);
    found.flat_map(|rule| rule.declarations).filter(|(name, _)| name.starts_with("--")).collect()
}

/// Returns the value that the rule `.chart [attribute="value"]` gives to `attribute`.
pub(super) fn rule(attribute: &str, value: &str) -> Option<String> {
    let selector = format!(".chart [{attribute}=\"{value}\"]");
    let found = rules().into_iter().find(|rule| rule.media.is_empty() && rule.selector == selector)?;
    found.declarations.into_iter().find(|(name, _)| name == attribute).map(|(_, value)| value)
}

/// Returns the rules of the page and of the charts.
fn rules() -> Vec<Rule> {
    let (mut rules, mut open, mut text) = (Vec::new(), Vec::new(), String::new());
    for character in without_comments(&format!("{}\n{CSS}", include_str!("../../style.css"))).chars() {
        match character {
            '{' => open.push(std::mem::take(&mut text).trim().to_owned()),
            '}' => {
                let selector = open.pop().expect("every brace closes one that is open");
                let declarations = declarations(&std::mem::take(&mut text));
                rules.push(Rule { media: open.join(" "), selector, declarations });
            }
            other => text.push(other),
        }
    }
    assert!(open.is_empty(), "{open:?} is not closed");
    rules
}

fn declarations(text: &str) -> Vec<(String, String)> {
    let parts = text.split(';').filter_map(|declaration| declaration.split_once(':'));
    parts.map(|(name, value)| (name.trim().to_owned(), value.trim().to_owned())).collect()
}

fn without_comments(css: &str) -> String {
    let mut parts = css.split("/*");
    let first = parts.next().unwrap_or_default().to_owned();
    parts.fold(first, |kept, part| kept + part.split_once("*/").expect("a comment ends").1)
}
