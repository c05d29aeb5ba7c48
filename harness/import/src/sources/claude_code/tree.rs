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
/// user, was continued later.
pub(super) fn alternatives(lines: &[Numbered<Line>]) -> Vec<bool> {
    let uuids = lines.iter().enumerate().filter_map(|(at, line)| Some((line.line.uuid.as_deref()?, at)));
    let index: HashMap<&str, usize> = uuids.collect();
    // A parent that stands after its child would make a circle possible.
    let parent = |at: usize| {
        let parent = lines[at].line.parent_uuid.as_deref()?;
        index.get(parent).copied().filter(|parent| *parent < at)
    };
    // The last line below each line.
    let mut last: Vec<usize> = (0..lines.len()).collect();
    for at in (0..lines.len()).rev() {
        if let Some(parent) = parent(at) {
            last[parent] = last[parent].max(last[at]);
        }
    }
    // The text below each parent that was continued last. Texts without a parent begin a session or continue a compacted one.
    let mut continued: HashMap<usize, usize> = HashMap::new();
    let is_text = |at: &usize| lines[*at].line.is_user_text() && lines[*at].line.is_meta != Some(true);
    for at in (0..lines.len()).filter(is_text) {
        if let Some(parent) = parent(at) {
            let best = continued.entry(parent).or_insert(at);
            if last[at] > last[*best] {
                *best = at;
            }
        }
    }
    let mut is_left_out = vec![false; lines.len()];
    for at in 0..lines.len() {
        let Some(parent) = parent(at) else { continue };
        let is_given_up = is_text(&at) && continued.get(&parent).is_some_and(|best| *best != at);
        is_left_out[at] = is_left_out[parent] || is_given_up;
    }
    is_left_out
}
