//! "Did you mean" suggestions for unknown names.

use healbench_text::nearest_name;

/// The most names listed in a message: a longer list does not help the reader.
const MAX_LISTED: usize = 12;

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
