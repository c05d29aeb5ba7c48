//! Removes orders that somebody has put into a text, and that are not the server's advice.

use std::borrow::Cow;
use std::sync::LazyLock;

use aho_corasick::{AhoCorasick, AhoCorasickBuilder};
use regex::Regex;

/// Words that address the agent instead of saying something about the call, in lower case.
const MARKERS: &[&str] = &[
    "<information>",
    "<important>",
    "<system>",
    "important message",
    "<!--",
    "ignore previous",
    "ignore all previous",
    "ignore your previous",
    "ignore the previous",
    "ignore prior",
    "ignore all prior",
    "disregard previous",
    "disregard all",
    "disregard your",
    "disregard the previous",
    "forget your instructions",
    "forget all previous",
    "new instructions:",
    "system prompt",
    "before you can solve",
    "before you solve",
    "you should immediately stop",
    "do not tell the user",
    "don't tell the user",
    "without telling the user",
    "system notice",
    "language model",
];

/// Words that address an agent: "Note to all bots", "assistant, please …", "agents should …", `"agent_instructions"`. An agent may also be a
/// record of the server, so that the word alone says nothing.
const ADDRESSES: &str = concat!(
    r"\b(?:to|for|dear|hello|hi|hey|attention|as an)\s+(?:(?:the|all|any|every|you)\s+)?(?:ai\b|llms?\b|models?\b|(?:ai |chat)?(?:agents?|assistants?|bots?)\b)",
    r"|\b(?:ai\s+)?(?:agents?|assistants?|bots?|llms?)\s+(?:please|kindly)\b",
    r"|\b(?:ai\s+)?(?:agents?|assistants?|bots?|llms?)\s+(?:must|should|shall|have to|need to)\s+(?:\w+ly\s+|first\s+|now\s+|also\s+)?",
    r"(?:call|delete|execute|forward|ignore|invoke|open|post|proceed|reply|run|send|tell|transfer|use)\b",
    r"|\b(?:assistants?|chatbots?|bots?|llm|ai)\s*[,:]\s",
    r"|\bai agent",
    r"|\b(?:agent|assistant|model|llm|bot|ai)_(?:instructions?|notes?|prompts?|messages?)\b",
);

/// Parts of words, one of which is in each marker and address. They are found much faster than a pattern is, and most texts have none.
const PARTS: [&str; 22] = [
    "agent",
    "assistant",
    "bot",
    "llm",
    " ai",
    "ai,",
    "ai:",
    "ai_",
    "model",
    "ignore",
    "disregard",
    "forget",
    "instruct",
    "system",
    "immediately",
    "tell the user",
    "telling",
    "\nai",
    "before you",
    "important",
    "information>",
    "<!--",
];

/// Returns the text without the elements, or else the rest of the text, in which an agent is addressed.
pub(super) fn without_orders<'t>(text: &'t str) -> Cow<'t, str> {
    static MARKED: LazyLock<Option<Regex>> = LazyLock::new(|| {
        let pattern = MARKERS.iter().map(|marker| regex::escape(marker)).collect::<Vec<_>>().join("|");
        Regex::new(&format!("(?-i:\\bSYSTEM:)|(?i-u:{pattern}|{ADDRESSES})")).ok()
    });
    static PREFILTER: LazyLock<Option<AhoCorasick>> =
        LazyLock::new(|| AhoCorasickBuilder::new().ascii_case_insensitive(true).build(PARTS).ok());
    if PREFILTER.as_ref().is_some_and(|parts| !parts.is_match(text)) {
        return Cow::Borrowed(text);
    }
    let Some(found) = MARKED.as_ref().and_then(|marked| marked.find(text)) else { return Cow::Borrowed(text) };
    let at = found.start();
    // Lower case has the same length in ASCII, and the markers are ASCII.
    let lower = text.to_ascii_lowercase();
    // The element that holds the marker, or the sentence in which it stands.
    let open = lower[..=at].rfind('<').filter(|open| !lower[*open..at].contains(">\n\n"));
    let element = open.and_then(|open| {
        let name_end = lower[open + 1..].find(|c: char| !c.is_ascii_alphanumeric() && c != '_')?;
        let name = &lower[open + 1..open + 1 + name_end];
        let close = lower[at..].find(&format!("</{name}>")).filter(|_| !name.is_empty())?;
        Some((open, at + close + name.len() + 3))
    });
    let sentence = lower[..at].rfind(['.', '\n', '!', '?', '>']).map_or(0, |end| end + 1);
    let (from, to) = element.unwrap_or((sentence, text.len()));
    Cow::Owned(format!("{} {}", &text[..from], without_orders(&text[to..])))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_marker_has_a_part_that_is_searched_first() {
        for marker in MARKERS {
            assert!(PARTS.iter().any(|part| marker.contains(part)), "{marker}");
        }
        for address in ["AI, ", "an ai ", "Attention all LLMs", "to the models", "Bots: ", "ai_notes", "any chatbot"] {
            assert!(PARTS.iter().any(|part| address.to_lowercase().contains(part)), "{address}");
        }
    }
}
