//! Tools that may have another name: a guess from their schemas and descriptions.

use std::collections::BTreeSet;

use healbench_core::Object;
use healbench_text::{name_words, resemblance};
use serde_json::Value;

use super::ToolContract;
use super::readable::readable_schema;

/// The least share of fields, and of words of the descriptions, that two tools have in common if one may be the other.
const MIN_SHARED: f64 = 0.75;

/// The features by which a tool is recognized.
struct Features<'a> {
    name: &'a str,
    /// The fields with their types, and the actions behind a discriminator.
    fields: BTreeSet<String>,
    /// The words of the descriptions.
    words: BTreeSet<String>,
}

/// Returns the removed tools that are nearly equal to an added one, as pairs of names; each tool is in one pair at most.
pub(super) fn renamed_tools<'a>(removed: &[&'a ToolContract], added: &[&'a ToolContract]) -> Vec<(&'a str, &'a str)> {
    let [removed, added] = [removed, added].map(|tools| tools.iter().map(|tool| features(tool)).collect::<Vec<_>>());
    let mut pairs: Vec<(f64, &str, &str)> = Vec::new();
    for old in &removed {
        pairs.extend(added.iter().filter_map(|new| Some((likeness(old, new)?, old.name, new.name))));
    }
    best_pairs(pairs)
}

/// Returns pairs of names, the most alike first, in which each name stands once at most.
pub(super) fn best_pairs<'a>(mut pairs: Vec<(f64, &'a str, &'a str)>) -> Vec<(&'a str, &'a str)> {
    pairs.sort_by(|a, b| b.0.total_cmp(&a.0).then_with(|| (a.1, a.2).cmp(&(b.1, b.2))));
    let mut best: Vec<(&str, &str)> = Vec::new();
    for (_, from, to) in pairs {
        if best.iter().all(|(known, other)| *known != from && *other != to) {
            best.push((from, to));
        }
    }
    best
}

/// Returns the previous contract with the name of the current one for the only action of a tool without a discriminator: it is named like
/// the tool.
pub(super) fn with_action_of(previous: &ToolContract, current: &ToolContract) -> ToolContract {
    let mut previous = previous.clone();
    let has_actions = previous.surface.discriminator.is_some() || current.surface.discriminator.is_some();
    if let (false, Some(name)) = (has_actions, current.surface.actions.keys().next()) {
        previous.surface.actions = std::mem::take(&mut previous.surface.actions)
            .into_values()
            .take(1)
            .map(|action| (name.clone(), action))
            .collect();
        previous.behavior.presenters = std::mem::take(&mut previous.behavior.presenters)
            .into_values()
            .take(1)
            .map(|presenter| (name.clone(), presenter))
            .collect();
    }
    previous
}

fn features(tool: &ToolContract) -> Features<'_> {
    let surface = &tool.surface;
    let mut fields = BTreeSet::new();
    let mut words = words_of(&surface.description);
    for (name, action) in &surface.actions {
        let action_name = if surface.discriminator.is_some() { name.as_str() } else { "" };
        if !action_name.is_empty() {
            fields.insert(action_name.to_owned());
        }
        words.extend(words_of(&action.description));
        let properties = action.input_schema["properties"].as_object().into_iter().flat_map(Object::iter);
        // `pageSize` and `page_size` are one field.
        let field = |(field, schema): (&String, &Value)| {
            format!("{action_name}.{}: {}", name_words(field).concat(), readable_schema(schema))
        };
        fields.extend(properties.map(field));
    }
    Features { name: &surface.name, fields, words }
}

fn words_of(text: &str) -> BTreeSet<String> {
    text.split(|letter: char| !letter.is_alphanumeric())
        .filter(|word| !word.is_empty())
        .map(str::to_lowercase)
        .collect()
}

/// Returns how alike two tools are; `None` if too little to take one for the other.
fn likeness(old: &Features<'_>, new: &Features<'_>) -> Option<f64> {
    let names = resemblance(old.name, new.name);
    let fields = shared(&old.fields, &new.fields);
    // Tools without fields are alike by their descriptions only, and those without a description by their fields and names.
    let words = shared(&old.words, &new.words);
    let is_undescribed = old.words.is_empty() && new.words.is_empty();
    let is_recognizable = !is_undescribed || !old.fields.is_empty() && names.is_some();
    let is_alike = is_recognizable && fields >= MIN_SHARED && words >= MIN_SHARED;
    is_alike.then(|| fields + words + names.unwrap_or_default())
}

/// Returns the share of all elements that both sets have; 1 for two empty sets.
fn shared(one: &BTreeSet<String>, other: &BTreeSet<String>) -> f64 {
    match one.union(other).count() {
        0 => 1.0,
        all => one.intersection(other).count() as f64 / all as f64,
    }
}
