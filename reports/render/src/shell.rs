//! Shell commands for the user to copy.

use healbench_analysis::Flip;
use healbench_text::{plain_text, shell_quote};

/// Returns the command that shows the transcript of an episode, escaped for display.
pub(super) fn show_command(run: &str, episode: u64) -> String {
    format!("healbench show {} {episode}", plain_text(&shell_quote(run)))
}

/// Returns the commands for both episodes of a flip, the candidate's first.
pub(super) fn show_flip_commands(base: &str, candidate: &str, flip: &Flip) -> [String; 2] {
    [show_command(candidate, flip.candidate_episode), show_command(base, flip.base_episode)]
}
