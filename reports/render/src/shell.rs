//! Shell commands for the user to copy.

use super::plain_text;
use healbench_analysis::Flip;

/// Quotes a word for a POSIX shell.
pub fn shell_quote(word: &str) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || "-_./:=,+@%".contains(c);
    if !word.is_empty() && word.chars().all(plain) {
        word.to_owned()
    } else {
        format!("'{}'", word.replace('\'', r"'\''"))
    }
}

/// Returns the command that shows the transcript of an episode, escaped for display.
pub(super) fn show_command(run: &str, episode: u64) -> String {
    format!("healbench show {} {episode}", plain_text(&shell_quote(run)))
}

/// Returns the commands for both episodes of a flip, the candidate's first.
pub(super) fn show_flip_commands(base: &str, candidate: &str, flip: &Flip) -> [String; 2] {
    [show_command(candidate, flip.candidate_episode), show_command(base, flip.base_episode)]
}
