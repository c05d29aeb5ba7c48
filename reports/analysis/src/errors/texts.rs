//! The texts of failed calls, masked.

use std::collections::hash_map::DefaultHasher;
use std::collections::{HashMap, HashSet};
use std::hash::{Hash, Hasher as _};

use healbench_core::CallRecord;
use healbench_text::template;

use crate::report_error::ReportError;
use crate::run_rows::RunRows;

/// The largest number of masked texts, and of calls, that are kept for calls that repeat others.
const MAX_KEPT: usize = 1 << 14;

/// The message of a text, of which its template is made.
struct Message {
    text: String,
    /// True if it is one line, and all that was sent.
    is_whole: bool,
}

pub(super) struct Texts {
    /// The messages by the hash of the response.
    messages: HashMap<u64, Message>,
    /// Masked texts, by the response and a hash of the arguments.
    masked: HashMap<(u64, u64), String>,
    /// Hashes of tools and arguments whose names are known.
    seen: HashSet<u64>,
    /// Those of all calls.
    names: template::Names,
}

impl Texts {
    /// Reads the texts of a run's errors; those of a trace without the wrapping of clients.
    ///
    /// # Errors
    /// [`ReportError::Rows`] if they cannot be read.
    pub(super) fn read(run: &dyn RunRows, is_trace: bool) -> Result<Texts, ReportError> {
        let mut messages = HashMap::new();
        run.for_each_error_response(&mut |response| {
            let unwrapped = response.unguarded_text.clone().filter(|_| is_trace);
            let text = unwrapped.unwrap_or_else(|| response.text());
            let message = template::message(&text);
            let is_whole = message == text.trim() && !message.contains('\n') && message.len() <= template::MAX_CHARS;
            messages.insert(response.response_hash, Message { text: message, is_whole });
        })?;
        Ok(Texts { messages, masked: HashMap::new(), seen: HashSet::new(), names: template::Names::default() })
    }

    /// Adds the names of a call's arguments, and of the fields that its response names.
    pub(super) fn add_names(&mut self, call: &CallRecord) {
        let key = hash_of(&(&call.tool, &call.arguments, &call.named_fields));
        if self.seen.contains(&key) {
            return;
        }
        if self.seen.len() == MAX_KEPT {
            self.seen.clear();
        }
        self.seen.insert(key);
        for field in call.named_fields.iter().flat_map(|fields| fields.iter()) {
            self.names.add_name(&call.tool, field);
        }
        self.names.add(&call.tool, &serde_json::from_str(&call.arguments).unwrap_or_default());
    }

    /// Returns true if the template of a failed call's text is all that was sent.
    pub(super) fn is_whole(&self, call: &CallRecord) -> bool {
        self.messages.get(&call.response_hash).is_none_or(|message| message.is_whole)
    }

    /// Returns the text of a failed call after the first step of masking; `None` if the run does not store it.
    pub(super) fn masked(&mut self, call: &CallRecord) -> Option<String> {
        let message = &self.messages.get(&call.response_hash)?.text;
        let key = (call.response_hash, hash_of(&call.arguments));
        if let Some(masked) = self.masked.get(&key) {
            return Some(masked.clone());
        }
        let masked = template::mask(message, &template::sent_values(&call.arguments, message));
        if self.masked.len() == MAX_KEPT {
            self.masked.clear();
        }
        self.masked.insert(key, masked.clone());
        Some(masked)
    }

    /// Returns the template of a masked text of a tool.
    pub(super) fn template(&self, tool: &str, masked: &str) -> String {
        template::finish(masked, |word| self.names.has(tool, word))
    }
}

fn hash_of(value: &impl Hash) -> u64 {
    let mut hasher = DefaultHasher::new();
    value.hash(&mut hasher);
    hasher.finish()
}
