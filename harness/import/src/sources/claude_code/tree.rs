//! The tree of a session's lines.

use std::collections::{BTreeMap, HashMap};

use super::Line;
use crate::sources::sessions::Numbered;

/// The lines of a conversation.
pub(super) struct Chain {
    /// The name of a side chain; `None` for the session itself.
    pub(super) name: Option<String>,
    pub(super) lines: Vec<Numbered<Line>>,
}

/// Divides lines into those of the session and those of each side chain, which is the agent or the tree that they belong to.
pub(super) fn side_chains(lines: Vec<Numbered<Line>>) -> Vec<Chain> {
    let mut names: HashMap<String, String> = HashMap::new();
    let mut main = Vec::new();
    let mut side: BTreeMap<u64, Chain> = BTreeMap::new();
    let mut first_lines: HashMap<String, u64> = HashMap::new();
    for line in lines {
        if line.line.is_sidechain != Some(true) && line.line.parent_tool_use_id.is_none() {
            main.push(line);
            continue;
        }
        let uuid = line.line.uuid.clone().unwrap_or_default();
        let parent = line.line.parent_uuid.as_ref().and_then(|parent| names.get(parent)).cloned();
        let agent = line.line.agent_id.as_ref().or(line.line.parent_tool_use_id.as_ref());
        let name = agent.cloned().or(parent).unwrap_or_else(|| uuid.clone());
        names.insert(uuid, name.clone());
        let first = *first_lines.entry(name.clone()).or_insert(line.number);
        side.entry(first).or_insert_with(|| Chain { name: Some(name), lines: Vec::new() }).lines.push(line);
    }
    let mut all = Vec::new();
    if !main.is_empty() {
        all.push(Chain { name: None, lines: main });
    }
    all.extend(side.into_values());
    all
}

/// Returns for each line whether it is on a branch that the user gave up: below a text of the user whose sibling, also a text of the
/// user, was continued later; or below an answer beside another one that was.
pub(super) fn alternatives(lines: &[Numbered<Line>]) -> Vec<bool> {
    let uuids = lines.iter().enumerate().filter_map(|(at, line)| Some((line.line.uuid.as_deref()?, at)));
    let index: HashMap<&str, usize> = uuids.collect();
    // A parent that stands after its child would make a circle possible.
    let parent = |at: usize| {
        let parent = lines[at].line.parent_uuid.as_deref()?;
        index.get(parent).copied().filter(|parent| *parent < at)
    };
    let message = |at: usize| lines[at].line.alternative().unwrap_or_default();
    // The last line below each line.
    let mut last: Vec<usize> = (0..lines.len()).collect();
    for at in (0..lines.len()).rev() {
        if let Some(parent) = parent(at) {
            last[parent] = last[parent].max(last[at]);
        }
    }
    // The text, and the answer, below each parent that was continued last. Texts without a parent begin a session or continue a compacted
    // one.
    let mut continued: HashMap<(usize, bool), usize> = HashMap::new();
    let place = |at: usize| Some((parent(at)?, lines[at].line.alternative()?.is_empty()));
    for at in 0..lines.len() {
        if let Some(place) = place(at) {
            let best = continued.entry(place).or_insert(at);
            if last[at] > last[*best] {
                *best = at;
            }
        }
    }
    let mut is_left_out = vec![false; lines.len()];
    for at in 0..lines.len() {
        let Some(parent) = parent(at) else { continue };
        let best = place(at).and_then(|place| continued.get(&place).copied());
        // The parts of a message may have the same parent.
        let is_part = |best: usize| at == best || !message(at).is_empty() && message(at) == message(best);
        let is_given_up = best.is_some_and(|best| !is_part(best));
        is_left_out[at] = is_left_out[parent] || is_given_up;
    }
    is_left_out
}
