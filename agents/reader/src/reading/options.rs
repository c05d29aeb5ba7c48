//! Statements about the valid values of an argument.

use serde_json::Value;

use super::characters::are_kinds;
use super::lists::{List, is_file_end, list_at, sentence};
use super::mentions::{Sign, is_same_word};
use super::patterns::{is_format, json_type, only_type};
use super::sent_paths::path_of_value;
use super::statement_reader::{PhraseContext, StatementReader, owned_items};
use super::tokens::{Token, TokenKind};
use super::{ExpectedFormat, Fault, Statement};
use crate::paths;

impl StatementReader<'_> {
    /// Reads a phrase that a type, a list of values or a format follows.
    pub(super) fn read_expected_value(&mut self, context: &PhraseContext<'_>) {
        let tokens = context.tokens;
        let next = context.next;
        let list = list_at(tokens, next);
        if !self.read_wrong_type(context) && !self.read_expected_characters(context) {
            let is_advice = ["use", "provide"].iter().any(|word| tokens[context.at].is_word(word));
            let only = list.items.len() == 1;
            let set = tokens.get(next).filter(|word| word.is_word("in")).and_then(|_| tokens.get(next + 1));
            if set.is_some_and(|bracket| bracket.is_symbol("([{")) {
                self.read_options(&list_at(tokens, next + 1), context);
            } else if list.quoted && only && is_advice {
                // One value is advice, which `read_order` reads.
            } else if list.quoted && !(only && is_format(list.items[0])) {
                self.read_options(&list, context);
            } else if !only && (is_list_of_words(&list) || is_choice(tokens, next, list.items.len())) {
                // "expected C or K", "expected 20 | 32"
                self.read_options(&list, context);
            } else if !self.read_format(context) && !self.read_only(context) {
                // "must be in 18 to 20"
                self.read_between(context);
                self.read_refused_value(context);
            }
        }
    }

    /// Reads "ORD-99 is not an order".
    fn read_refused_value(&mut self, context: &PhraseContext<'_>) {
        let tokens = context.tokens;
        if !tokens[context.at..context.next].iter().any(|token| token.is_word("not")) {
            return;
        }
        let said = self.mentions_in(tokens, sentence(tokens, context.at));
        let subject = said.iter().rev().find(|mention| mention.end <= context.at && context.at - mention.end <= 1);
        if let Some(field) = subject.filter(|mention| mention.sign == Sign::Value).map(|mention| mention.path.clone()) {
            self.note_fault(Some(field), Fault::Invalid);
        }
    }

    /// Reads a phrase that a list of valid values follows.
    pub(super) fn read_announced_options(&mut self, context: &PhraseContext<'_>) {
        let tokens = context.tokens;
        let next = context.next;
        // `valid options for 'currency': …` names the field after the words.
        if let [of, name, colon, ..] = &tokens[next..]
            && of.is_word("for")
            && colon.is_symbol(":")
            && let Some(field) = self.vocabulary.field_path(name.text)
        {
            let list = list_at(tokens, next + 2);
            if !list.items.is_empty() {
                self.push(Statement::Options { field, values: owned_items(&list) });
            }
            return;
        }
        // `choose 'currency' from …` names it between the words.
        if let [name, from, ..] = &tokens[next..]
            && ["from", "among", "between"].iter().any(|word| from.is_word(word))
            && let Some(field) = self.vocabulary.field_path(name.text)
        {
            let list = list_at(tokens, next + 1);
            if !list.items.is_empty() {
                self.push(Statement::Options { field, values: owned_items(&list) });
            }
            return;
        }
        let list = list_at(tokens, next);
        // "one of the values accepted for Enum class: [full, part]"
        let range = sentence(tokens, context.at);
        let colon = tokens[next..range.end].iter().take(8).position(|token| token.is_symbol(":"));
        let list = match colon.filter(|_| list.items.is_empty()) {
            Some(colon) => list_at(tokens, next + colon),
            None => list,
        };
        if list.items.is_empty() && tokens[next - 1].is_word("of") {
            // "one of your verified numbers" does not say which.
            self.read_fault(Fault::Invalid, context);
        } else if list.quoted
            || list.announced
            || list.items.len() > 1
            || list.items.iter().any(|item| is_file_end(item))
        {
            self.read_options(&list, context);
        }
    }

    /// Reads a phrase that a format's name follows, or a plural and its values.
    pub(super) fn read_valid(&mut self, context: &PhraseContext<'_>) {
        let tokens = context.tokens;
        let next = context.next;
        // "the lowest allowed value is 5"
        const EXTREMES: [&str; 6] = ["lowest", "highest", "smallest", "largest", "minimum", "maximum"];
        let before = context.at.checked_sub(1).map(|before| &tokens[before]);
        if before.is_some_and(|before| EXTREMES.iter().any(|word| before.is_word(word))) {
            return;
        }
        let named = self.read_format(context) || self.read_wrong_type(context);
        let noun = usize::from(!tokens.get(next).is_some_and(|token| token.is_symbol(":")));
        let introduces =
            |token: &Token<'_>| token.is_symbol(":") || ["are", "include", "is"].iter().any(|word| token.is_word(word));
        if !named && tokens.get(next + noun).is_some_and(introduces) {
            let list = list_at(tokens, next + noun);
            match tokens[next..next + noun].first().and_then(|word| self.vocabulary.field_of_plural(word.text)) {
                Some(field) if !list.items.is_empty() => {
                    self.push(Statement::Options { field, values: owned_items(&list) });
                }
                _ => self.read_options(&list, context),
            }
        }
    }

    pub(super) fn read_options(&mut self, list: &List<'_>, context: &PhraseContext<'_>) {
        // "the valid range is 20-32"
        let is_number = |text: &str| text.parse::<f64>().is_ok();
        if let [only] = list.items[..]
            && only.split_once('-').is_some_and(|(low, high)| is_number(low) && is_number(high))
        {
            return;
        }
        if list.items.is_empty() {
            // "must be one of the allowed values" does not say which.
            return self.read_fault(Fault::Invalid, context);
        }
        if are_kinds(&list.items) {
            // "only letters and digits" is read as such.
            return;
        }
        // "must be true or false"
        if !list.quoted
            && let [one, other] = list.items.as_slice()
            && one.eq_ignore_ascii_case("true")
            && other.eq_ignore_ascii_case("false")
        {
            return self.push_type("boolean", context);
        }
        // `one of "string, null"` says a type.
        if let [only] = list.items.as_slice()
            && only.contains(',')
            && only_type(only).is_some()
        {
            return;
        }
        let is_sent = |item: &&str| path_of_value(self.sent, item).is_some();
        if list.items.iter().all(|item| self.vocabulary.resolve_action(item).is_some())
            || list.items.iter().all(is_sent)
        {
            return;
        }
        // "Send either page or cursor": arguments, of which one is too many.
        let fields: Vec<Option<String>> = list.items.iter().map(|item| self.vocabulary.field_path(item)).collect();
        let is_sent = |field: &Option<String>| field.as_ref().is_some_and(|field| self.sent.get(field).is_some());
        if fields.len() == 2 && fields[0] != fields[1] && fields.iter().all(is_sent) {
            return self.read_exclusive(context);
        }
        let own = context.segment.subject.is_some_and(|subject| subject.known);
        // Do not identify the field by a sent value: the values in this sentence are the valid ones.
        let named = || self.field_by_name(context).or_else(|| self.field_named_before(context));
        let before = sentence(context.tokens, context.at).start..context.at;
        // "available: true" is data.
        let is_list = list.quoted || list.items.len() > 1;
        let sole = || self.sole_field().filter(|_| is_list);
        let field = if own { self.subfield(context, before) } else { named() };
        let field = field.or_else(|| self.named_field(context)).or_else(sole);
        let are_file_ends = list.items.iter().all(|item| is_file_end(item));
        let field = if are_file_ends { field.or_else(|| self.file_sent()) } else { field };
        let is_of_file = |field: &String| {
            let sent = paths::get(self.original, field).and_then(Value::as_str);
            let says_file =
                |token: &Token<'_>| ["file", "files", "extension", "extensions"].iter().any(|word| token.is_word(word));
            sent.is_none_or(|sent| sent.rfind('.').is_some_and(|dot| dot > 0))
                || context.tokens[sentence(context.tokens, context.at)].iter().any(says_file)
        };
        if let Some(field) = &field
            && (are_file_ends && is_of_file(field) || self.is_file_type(field, context))
        {
            let pattern = format!(
                "\\.(?:{})$",
                list.items.iter().map(|item| regex::escape(item.trim_start_matches('.'))).collect::<Vec<_>>().join("|")
            );
            let expected = ExpectedFormat::Pattern(pattern);
            return self.push(Statement::Format { field: field.clone(), expected });
        }
        let discriminator = field.as_deref().is_some_and(|field| self.vocabulary.is_discriminator(field));
        if discriminator
            || (!own
                && (list.announced || list.items.len() > 1)
                && list.items.iter().all(|item| self.vocabulary.is_action(item)))
        {
            self.push_actions(list);
        } else if let Some(field) = field
            && !self.are_arguments(&list.items, &field, context)
        {
            self.push(Statement::Options { field, values: owned_items(list) });
        }
    }

    /// Reads "Served zones: L1, L2" as the valid values of `zone`, and "no such table: x. Tables: a, b" as those of what was not found.
    pub(super) fn read_plural(&mut self, tokens: &[Token<'_>], at: usize) {
        if tokens[at].kind != TokenKind::Word || !tokens.get(at + 1).is_some_and(|next| next.is_symbol(":")) {
            return;
        }
        let list = list_at(tokens, at + 1);
        let is_other = |item: &&str| {
            self.path_sent(item).is_none()
                && self.vocabulary.field_path(item).is_none()
                && self.vocabulary.resolve_action(item).is_none()
        };
        let of_missing = || {
            let is_missing = self.faults.iter().any(|(_, fault)| *fault == Fault::NotFound);
            let is_named =
                |token: &Token<'_>| !token.is_word(tokens[at].text) && is_same_word(tokens[at].text, token.text);
            let is_it = is_missing && tokens[..at].iter().any(is_named);
            is_it.then(|| self.last_fault().or_else(|| self.sole_field())).flatten()
        };
        if list.items.len() > 1
            && !are_kinds(&list.items)
            && list.items.iter().all(is_other)
            && let Some(field) = self.vocabulary.field_of_plural(tokens[at].text).or_else(of_missing)
            && paths::get(self.sent, &field).is_some_and(|sent| !sent.is_array() && !sent.is_object())
        {
            let values = list.items.iter().map(|item| self.in_place(&field, item)).collect();
            self.push(Statement::Options { field, values });
        }
    }

    /// Returns what the value of a field would be with this for its part at fault, or this if there is no such part.
    pub(super) fn in_place(&self, field: &str, item: &str) -> String {
        let whole = paths::get(self.original, field).and_then(Value::as_str);
        let replaced = self.part.as_ref().zip(whole).filter(|(part, whole)| whole.contains(part.as_str()));
        replaced.map_or_else(|| item.to_owned(), |(part, whole)| whole.replacen(part.as_str(), item, 1))
    }

    /// Returns true for a list of arguments that has the field itself: "It takes `id` and `reason`".
    fn are_arguments(&self, items: &[&str], field: &str, context: &PhraseContext<'_>) -> bool {
        let verb = &context.tokens[context.at];
        let is_of_tool = ["takes", "accepts", "expects", "wants"].iter().any(|word| verb.is_word(word));
        let paths: Vec<Option<String>> = items.iter().map(|item| self.vocabulary.field_path(item)).collect();
        let is_own = |path: &Option<String>| path.as_deref() == Some(field);
        paths.iter().all(is_own) || is_of_tool && paths.iter().any(is_own) && paths.iter().all(Option::is_some)
    }

    /// Returns the only argument that was sent with a name in capitals, as those of methods are.
    fn field_of_names(&self) -> Option<String> {
        let sent = self.original.as_object()?.iter();
        let mut named = sent.filter(|(_, value)| value.as_str().is_some_and(is_upper_name));
        let (name, _) = named.next()?;
        named.next().is_none().then(|| name.clone())
    }

    /// Reads what kinds of files are wanted: "must be an Excel file (.xlsx, .xls)".
    pub(super) fn read_file_ends(&mut self, context: &PhraseContext<'_>) {
        let range = sentence(context.tokens, context.at);
        let before = &context.tokens[range.start..context.at];
        let is_word = |words: &[&str]| before.iter().any(|token| words.iter().any(|word| token.is_word(word)));
        let list = list_at(context.tokens, context.next);
        let sent =
            self.file_sent().and_then(|field| paths::get(self.original, &field)?.as_str().map(str::to_lowercase));
        let is_sent = |item: &&str| sent.as_deref().is_some_and(|sent| sent.ends_with(&item.to_lowercase()));
        if is_word(&["must", "should", "expected", "only", "needs", "has"])
            && !is_word(&["not", "no", "cannot"])
            && !list.items.is_empty()
            && list.items.iter().all(|item| is_file_end(item))
            && !list.items.iter().any(is_sent)
        {
            self.read_options(&list, context);
        }
    }

    /// Returns the only argument that was sent with the name of a file.
    fn file_sent(&self) -> Option<String> {
        let end = |text: &str| text.rsplit_once('.').map(|(_, end)| format!(".{end}"));
        let is_file = |value: &Value| value.as_str().and_then(end).is_some_and(|end| is_file_end(&end));
        let mut named = self.original.as_object()?.iter().filter(|(_, value)| is_file(value));
        let (name, _) = named.next()?;
        named.next().is_none().then(|| name.clone())
    }

    /// Returns true if the text before a phrase shows the end of a file's name that was sent: "Unsupported file type .bmp".
    fn is_file_type(&self, field: &str, context: &PhraseContext<'_>) -> bool {
        let sent = paths::get(self.original, field).and_then(Value::as_str);
        let end = sent.and_then(|sent| sent.rsplit_once('.')).filter(|(_, end)| !end.is_empty() && end.len() <= 5);
        end.is_some_and(|(_, end)| {
            context.tokens[..context.at]
                .iter()
                .any(|token| token.text.strip_prefix('.').is_some_and(|shown| shown.eq_ignore_ascii_case(end)))
        })
    }

    /// Reads "Only SELECT queries are allowed" as a description of the right value, and "Only GET and POST are supported" as options.
    pub(super) fn read_only(&mut self, context: &PhraseContext<'_>) -> bool {
        let rest = &context.tokens[context.next..sentence(context.tokens, context.at).end];
        // What is written so stands for itself.
        let is_literal = |token: &Token<'_>| {
            let is_name = token.text.len() > 1
                && token.text.bytes().any(|byte| byte.is_ascii_uppercase())
                && !token.text.bytes().any(|byte| byte.is_ascii_lowercase());
            token.kind == TokenKind::Quoted || token.kind == TokenKind::Word && (is_name || token.text.starts_with('.'))
        };
        let is_joint = |token: &Token<'_>| token.is_symbol(",/|") || token.is_word("and") || token.is_word("or");
        let list: Vec<&Token<'_>> = rest.iter().take_while(|token| is_literal(token) || is_joint(token)).collect();
        let verb = rest.iter().skip(list.len()).take(3).position(|token| token.is_word("is") || token.is_word("are"));
        let is_allowed = verb.and_then(|verb| rest.get(list.len() + verb + 1)).is_some_and(|token| {
            ["allowed", "supported", "accepted", "permitted"].iter().any(|word| token.is_word(word))
        });
        let is_only = context.tokens[context.at].is_word("only") && !list.is_empty() && is_allowed;
        if !is_only {
            return false;
        }
        let values: Vec<String> =
            list.iter().filter(|token| is_literal(token)).map(|token| token.text.to_owned()).collect();
        let field = self.field(context);
        let Some(field) = field.or_else(|| self.field_of_names()) else { return false };
        let is_name = paths::get(self.original, &field).and_then(Value::as_str).is_some_and(is_upper_name);
        if verb == Some(0) && values.len() > 1 || is_name && values.iter().all(|value| is_upper_name(value)) {
            self.push(Statement::Options { field, values });
        } else {
            self.note_stated(field, None);
        }
        true
    }
}

/// Returns true for a name in capitals: `GET`.
fn is_upper_name(text: &str) -> bool {
    text.len() > 1 && text.bytes().all(|byte| byte.is_ascii_uppercase() || byte == b'_')
}

/// Returns true for a list of at least two values without quotes, which says no type and no comparison.
pub(super) fn is_list_of_words(list: &List<'_>) -> bool {
    const COMPARISONS: [&str; 12] =
        ["more", "less", "greater", "fewer", "above", "below", "higher", "lower", "longer", "shorter", "equal", "null"];
    let is_value = |item: &&str| {
        json_type(item).is_none() && !is_format(item) && item.parse::<f64>().is_err() && !COMPARISONS.contains(item)
    };
    list.items.len() > 1 && list.items.iter().all(is_value)
}

/// Returns true if this number of items at `at` are separated by bars.
fn is_choice(tokens: &[Token<'_>], at: usize, items: usize) -> bool {
    let bars = tokens.iter().skip(at + 1).step_by(2).take(items.saturating_sub(1));
    items > 1 && bars.filter(|bar| bar.is_symbol("|")).count() == items - 1
}
