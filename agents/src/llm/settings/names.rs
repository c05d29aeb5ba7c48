//! Names: which are fit for files and terminals, which look like secrets, and which was probably meant.

/// At most this many names are listed; a list of hundreds tells less than none.
const MAX_LISTED: usize = 24;

/// What secrets of well-known services begin with.
const SECRET_PREFIXES: [&str; 15] = [
    "sk-",
    "sk_",
    "AIza",
    "gsk_",
    "xai-",
    "hf_",
    "pplx-",
    "nvapi-",
    "ghp_",
    "github_pat_",
    "r8_",
    "AKIA",
    "ya29.",
    "eyJ",
    "AQ.",
];

/// Shorter words are no secrets, whatever they begin with.
const MIN_SECRET_CHARS: usize = 20;

/// Whether a text holds a secret, as far as its look tells.
pub(super) fn looks_like_secret(text: &str) -> bool {
    let text = text.trim();
    let is_inside = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.');
    let is_secret =
        |word: &str| word.len() >= MIN_SECRET_CHARS && SECRET_PREFIXES.iter().any(|start| word.starts_with(start));
    ["sk-", "AIza", "Bearer ", "-----BEGIN"].iter().any(|start| text.starts_with(start))
        || text.split(|c| !is_inside(c)).any(is_secret)
}

/// Whether a name may stand in file names and on terminals.
pub(super) fn is_name(name: &str) -> bool {
    !name.trim().is_empty() && name.trim() == name && !name.chars().any(is_unprintable)
}

/// Characters that steer a terminal, or turn the direction of what follows.
fn is_unprintable(c: char) -> bool {
    c.is_control() || matches!(c, '\u{2028}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
}

/// A word that a user wrote, fit for a terminal.
pub(super) fn printable(word: &str) -> String {
    word.chars().flat_map(|c| if is_unprintable(c) { c.escape_unicode().collect() } else { vec![c] }).collect()
}

/// What was probably meant by an unknown word, and what there is.
pub(super) fn hint<'a>(word: &str, known: impl IntoIterator<Item = &'a str>) -> String {
    let known: Vec<&str> = known.into_iter().collect();
    let listed = list(&known);
    match nearest(word, &known) {
        Some(name) => format!("did you mean `{}`? Known: {listed}", printable(name)),
        None => format!("known: {listed}"),
    }
}

/// The names in backticks, with commas.
pub(super) fn list(known: &[&str]) -> String {
    let mut listed: Vec<String> = known.iter().take(MAX_LISTED).map(|name| format!("`{}`", printable(name))).collect();
    if known.len() > MAX_LISTED {
        listed.push(format!("and {} more", known.len() - MAX_LISTED));
    }
    listed.join(", ")
}

fn nearest<'a>(word: &str, known: &[&'a str]) -> Option<&'a str> {
    let lower = word.to_lowercase();
    let near = |name: &&'a str| {
        let distance = strsim::damerau_levenshtein(&lower, &name.to_lowercase());
        let allowed = (word.chars().count().max(name.chars().count()) / 3).max(1);
        (distance <= allowed).then_some((distance, *name))
    };
    known.iter().filter_map(near).min().map(|(_, name)| name)
}
