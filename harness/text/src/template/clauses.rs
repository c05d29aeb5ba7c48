//! The clauses of a masked text, each once, on one line.

use super::MASK;

/// Returns the lines and clauses that differ, in their order. Lines are joined by `; ` unless punctuation ends them.
pub(super) fn distinct(text: &str) -> String {
    let mut known: Vec<&str> = Vec::new();
    let mut joined = String::new();
    for clause in text.lines().flat_map(clauses) {
        let clause = clause.trim();
        // The bullet of a list.
        let clause = clause.trim_start_matches(['-', '*', '•']).trim_start();
        let key = clause.trim_end_matches(['.', ';', ',', ' ']);
        if key.is_empty() || known.contains(&key) {
            continue;
        }
        known.push(key);
        // The first of several lines may follow an introduction.
        known.extend(key.rsplit_once(": ").map(|(_, end)| end));
        if !joined.is_empty() {
            let is_ended = joined.ends_with(['.', ':', ';', ',', '!', '?', '{', '[', '(']);
            joined.push_str(if is_ended { " " } else { "; " });
        }
        joined.push_str(clause);
    }
    joined.truncate(joined.trim_end_matches([';', ',', ' ']).len());
    joined
}

/// Splits a line after `; `, `. ` and `! `.
fn clauses(line: &str) -> Vec<&str> {
    let mut clauses = Vec::new();
    let mut start = 0;
    for (at, _) in line.match_indices([';', '.', '!']) {
        if line[at + 1..].starts_with(' ') {
            clauses.push(&line[start..=at]);
            start = at + 1;
        }
    }
    clauses.push(&line[start..]);
    clauses
}

/// Returns the text, or its first words with a mark if it is longer than so many characters.
pub(super) fn shorten(text: &str, max_chars: usize) -> String {
    let Some((end, _)) = text.char_indices().nth(max_chars) else { return text.to_owned() };
    let last = text[..end].char_indices().next_back().map_or(0, |(at, _)| at);
    let Some(space) = text[..last].rfind(' ').filter(|at| *at > 0) else { return format!("{}{MASK}", &text[..last]) };
    let words = text[..space].trim_end_matches([' ', ';', ',', ':', '.', '-', '&', '/', MASK]);
    format!("{words} {MASK}")
}
