//! "Did you mean": the nearest known name, and what would be valid.

/// At most this many names are listed; a list of hundreds tells less than none.
const LISTED: usize = 12;

/// The known name nearest to `word`, if it is near enough to be what was meant.
pub(crate) fn nearest<'a>(word: &str, known: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let lower = word.to_lowercase();
    let near = |name: &&str| {
        let distance = strsim::damerau_levenshtein(&lower, &name.to_lowercase());
        let allowed = (word.chars().count().max(name.chars().count()) / 3).max(1);
        (distance <= allowed).then_some(distance)
    };
    known.into_iter().filter_map(|name| near(&name).map(|d| (d, name))).min().map(|(_, name)| name)
}

/// A hint for an unknown `word`: the nearest of the known names, else all of them; `None` when there are none.
pub(crate) fn hint<'a>(word: &str, known: impl IntoIterator<Item = &'a str>) -> Option<String> {
    let known: Vec<&str> = known.into_iter().collect();
    if known.is_empty() {
        return None;
    }
    let listed = list(&known);
    Some(match nearest(word, known.iter().copied()) {
        Some(name) if known.len() == 1 => format!("did you mean `{name}`?"),
        Some(name) => format!("did you mean `{name}`? Known: {listed}"),
        None => format!("known: {listed}"),
    })
}

/// The names in backticks, with commas.
pub(crate) fn list(names: &[&str]) -> String {
    let mut shown: Vec<String> = names.iter().take(LISTED).map(|name| format!("`{name}`")).collect();
    if names.len() > LISTED {
        shown.push(format!("and {} more", names.len() - LISTED));
    }
    shown.join(", ")
}
