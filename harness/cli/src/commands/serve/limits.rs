//! Limits on concurrent calls. A call counts from its arrival until it is answered. Since a call takes no time, those above a limit
//! are calls that arrived before an earlier one was looked at: how many they are depends on the machine.

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use healbench_engine::definition::Tool;
use healbench_mcp::Line;
use serde_json::Value;

/// The limited tools, and how many of their calls are not answered yet.
#[derive(Debug, Clone, Default)]
pub(super) struct Limits(Arc<HashMap<String, Limit>>);

#[derive(Debug)]
struct Limit {
    most: u32,
    unanswered: AtomicU32,
}

/// A call that counts until this is dropped.
#[derive(Debug)]
pub(super) struct Place {
    limits: Limits,
    tool: String,
    /// True if the tool had as many calls as it allows already.
    pub(super) is_too_many: bool,
}

impl Limits {
    pub(super) fn new(tools: &[Tool]) -> Limits {
        let limit = |tool: &Tool| {
            let most = tool.concurrency?;
            Some((tool.name.clone(), Limit { most, unanswered: AtomicU32::new(0) }))
        };
        Limits(Arc::new(tools.iter().filter_map(limit).collect()))
    }

    /// Counts a message if it calls a limited tool.
    pub(super) fn arrive(&self, line: &Line) -> Option<Place> {
        let Line::Bytes(bytes) = line else { return None };
        if self.0.is_empty() {
            return None;
        }
        let message: Value = serde_json::from_slice(bytes).ok()?;
        let tool = message.pointer("/params/name").filter(|_| message["method"] == "tools/call")?.as_str()?;
        let limit = self.0.get(tool)?;
        let take = |taken: u32| (taken < limit.most).then_some(taken + 1);
        let is_too_many = limit.unanswered.fetch_update(Ordering::Relaxed, Ordering::Relaxed, take).is_err();
        Some(Place { limits: self.clone(), tool: tool.to_owned(), is_too_many })
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        // A call that is one too many took no place.
        if !self.is_too_many
            && let Some(limit) = self.limits.0.get(&self.tool)
        {
            limit.unanswered.fetch_sub(1, Ordering::Relaxed);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_call_counts_until_it_is_answered() {
        let tool = |name: &str, concurrency| Tool { name: name.to_owned(), concurrency, ..Tool::default() };
        let limits = Limits::new(&[tool("slow", Some(2)), tool("fast", None)]);
        let arrive = |name: &str| {
            let message = format!("{{\"method\": \"tools/call\", \"params\": {{\"name\": \"{name}\"}}}}");
            limits.arrive(&Line::Bytes(message.into_bytes()))
        };
        let is_too_many = |place: &Option<Place>| place.as_ref().map(|place| place.is_too_many);
        let places = [arrive("slow"), arrive("slow"), arrive("slow")];
        assert_eq!(places.each_ref().map(is_too_many), [Some(false), Some(false), Some(true)]);
        assert_eq!(is_too_many(&arrive("fast")), None);
        let [first, second, third] = places;
        drop(first);
        // The refused call takes no place, and leaves none.
        let fourth = arrive("slow");
        assert_eq!(is_too_many(&fourth), Some(false));
        drop((second, third, fourth));
        assert_eq!(is_too_many(&arrive("slow")), Some(false));
    }
}
