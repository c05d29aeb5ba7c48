//! The filler of a placebo: sentences that say nothing about the call or its tool.

use std::collections::BTreeSet;

use serde_json::Value;

use crate::render::RenderInput;

/// The sentences. Each word and each full stop is one token.
const SENTENCES: [&str; 16] = [
    "We are sorry about this",
    "Thank you very much",
    "Please stay calm",
    "Such things happen every now and then",
    "Nobody likes them",
    "We hope you had a good morning",
    "Have a nice day anyway",
    "The weather was fine yesterday",
    "Birds were singing outside",
    "People often laugh together",
    "Music makes them happy",
    "Some prefer tea",
    "Others drink coffee instead",
    "Winter can be quite cold",
    "Summer feels much warmer",
    "We really appreciate your patience",
];

/// Words without meaning of their own, which may stand in a schema's descriptions too.
const FUNCTION_WORDS: [&str; 22] = [
    "a", "about", "are", "be", "can", "every", "had", "have", "now", "and", "of", "others", "some", "such", "the",
    "them", "then", "this", "was", "we", "were", "you",
];

/// Returns this number of words and full stops of sentences without a word of the action's schema; `None` for none.
pub(super) fn filler(input: &RenderInput<'_>, count: usize) -> Option<String> {
    if count == 0 {
        return None;
    }
    let mut used = BTreeSet::new();
    if let Some(action) = input.action {
        collect(&action.schema, &mut used);
        push_words(&action.description, &mut used);
    }
    let is_free = |sentence: &&&str| {
        let mut own = BTreeSet::new();
        push_words(sentence, &mut own);
        own.iter().all(|word| FUNCTION_WORDS.contains(&word.as_str()) || !used.contains(word))
    };
    let free: Vec<&str> = SENTENCES.iter().filter(is_free).copied().collect();
    let parts = free.iter().flat_map(|sentence| sentence.split_inclusive(' ').chain(["."])).cycle().take(count);
    let text = parts.fold(String::new(), |out, part| match out.ends_with('.') {
        true => out + " " + part,
        false => out + part,
    });
    let text = text.trim_end();
    (!text.is_empty()).then(|| text.to_owned())
}

/// Adds the words of a schema: keywords, names and values.
fn collect(schema: &Value, words: &mut BTreeSet<String>) {
    match schema {
        Value::String(text) => push_words(text, words),
        Value::Array(items) => items.iter().for_each(|item| collect(item, words)),
        Value::Object(members) => members.iter().for_each(|(name, value)| {
            push_words(name, words);
            collect(value, words);
        }),
        _ => {}
    }
}

fn push_words(text: &str, words: &mut BTreeSet<String>) {
    words.extend(text.split(|c: char| !c.is_alphanumeric()).filter(|word| !word.is_empty()).map(str::to_lowercase));
}
