//! "Did you mean" suggestions for unknown names.

use healbench_text::{name_words, nearest_name};

/// The most names listed in a message: all that the language itself has in one place.
const MAX_LISTED: usize = 30;

/// Returns advice for an unknown `word`: the most similar known name and a list of all. Returns `None` if no names are
/// known.
pub(crate) fn help<'a>(word: &str, known: impl IntoIterator<Item = &'a str>) -> Option<String> {
    let known: Vec<&str> = known.into_iter().collect();
    if known.is_empty() {
        return None;
    }
    let all_listed = list(&known);
    Some(match nearest_name(word, known.iter().copied()) {
        Some(name) if known.len() == 1 => format!("did you mean `{name}`?"),
        Some(name) => format!("did you mean `{name}`? Known: {all_listed}"),
        None => format!("known: {all_listed}"),
    })
}

/// Like [`help`], for the names of the language itself, whose words mean something: without a similar name, those are suggested that end in the
/// same word as `word`, or else begin with it.
pub(crate) fn help_by_words<'a>(word: &str, known: impl IntoIterator<Item = &'a str>) -> Option<String> {
    let known: Vec<&str> = known.into_iter().collect();
    let words = name_words(word);
    let sharing = |end: fn(&[String]) -> Option<&String>| -> Vec<&str> {
        known.iter().copied().filter(|name| end(&name_words(name)) == end(&words)).collect()
    };
    let mut near = sharing(<[String]>::last);
    if near.is_empty() {
        near = sharing(<[String]>::first);
    }
    if near.is_empty() || nearest_name(word, known.iter().copied()).is_some() {
        return help(word, known);
    }
    let near: Vec<String> = near.iter().map(|name| format!("`{name}`")).collect();
    Some(format!("did you mean {}? Known: {}", near.join(" or "), list(&known)))
}

/// Returns the question for the most similar of many names, to be followed by other advice; empty if none is similar.
pub(crate) fn nearest<'a>(word: &str, known: impl IntoIterator<Item = &'a str>) -> String {
    nearest_name(word, known).map_or_else(String::new, |name| format!("did you mean `{name}`? "))
}

/// Lists names in backticks, separated by commas.
pub(crate) fn list(names: &[&str]) -> String {
    let mut listed: Vec<String> = names.iter().take(MAX_LISTED).map(|name| format!("`{name}`")).collect();
    if names.len() > MAX_LISTED {
        listed.push(format!("and {} more", names.len() - MAX_LISTED));
    }
    listed.join(", ")
}
