//! Commands to copy: what is in a report leads to what lies behind it.

use super::plain_text;
use crate::comparison::Flip;

/// The word as a shell takes it.
pub fn shell_quote(word: &str) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || "-_./:=,+@%".contains(c);
    if !word.is_empty() && word.chars().all(plain) {
        word.to_owned()
    } else {
        format!("'{}'", word.replace('\'', r"'\''"))
    }
}

/// The command that shows the transcript of an episode, safe to show.
pub(super) fn show_command(run: &str, episode: u64) -> String {
    format!("healbench show {} {episode}", plain_text(&shell_quote(run)))
}

/// The commands for both episodes of a flip, the candidate's first: it is the one that is asked about.
pub(super) fn show_flip_commands(base: &str, candidate: &str, flip: &Flip) -> [String; 2] {
    [show_command(candidate, flip.candidate_episode), show_command(base, flip.base_episode)]
}
