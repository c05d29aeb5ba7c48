//! Statements about what to call and when, rather than about arguments.

use super::Statement;
use super::bounds::number_at;
use super::clauses::is_negated;
use super::lists::{List, list_at, sentence, skip_words};
use super::phrases::Meaning;
use super::segment::Segment;
use super::statement_reader::{PhraseContext, StatementReader, owned_items};
use super::tokens::{Token, TokenKind, lex};

/// The maximum number of words between a verb that advises a call and the name of the tool.
const MAX_CALL_DISTANCE: usize = 7;

/// The maximum length of a heading.
const MAX_HEADING_BYTES: usize = 80;

/// Returns true if words say that a call should be sent again later.
fn says_to_wait(tokens: &[Token<'_>]) -> bool {
    let is_advice = |token: &Token<'_>| ["wait", "retry", "again", "later"].iter().any(|word| token.is_word(word));
    tokens.iter().any(is_advice)
}

impl StatementReader<'_> {
    /// Reads a list of actions. Qualified names (`billing.list`) are suggested calls; others are values of the discriminator.
    pub(super) fn push_actions(&mut self, list: &List<'_>) {
        let mut names = Vec::new();
        for item in &list.items {
            match self.vocabulary.resolve_action(item) {
                Some((tool, action)) => self.push(Statement::Suggest { tool: Some(tool), action }),
                None => names.push((*item).to_owned()),
            }
        }
        if !names.is_empty() {
            self.push(Statement::Actions { names });
        }
    }

    /// Reads `<action>…</action>`: a suggested call if the name is qualified, else one action of the enclosing list.
    pub(super) fn read_action_element(&mut self, segment: &Segment<'_>, text: &[Token<'_>]) {
        let [only] = text else { return };
        if let Some((tool, action)) = self.vocabulary.resolve_action(only.text) {
            self.push(Statement::Suggest { tool: Some(tool), action });
            return;
        }
        let mut outer = Vec::new();
        lex(segment.outer_label, &mut outer);
        if outer.is_empty() || !self.phrases.patterns_at(&outer, 0).any(|(pattern, _)| pattern == Meaning::Actions) {
            return;
        }
        self.push_listed_action(only.text);
    }

    /// Adds an action to the latest list of actions.
    fn push_listed_action(&mut self, name: &str) {
        let listed = self.statements.iter_mut().rev().find_map(|statement| match statement {
            Statement::Actions { names } => Some(names),
            _ => None,
        });
        match listed {
            Some(names) if names.iter().any(|known| known == name) => {}
            Some(names) => names.push(name.to_owned()),
            None => self.push(Statement::Actions { names: vec![name.to_owned()] }),
        }
    }

    /// Notes whether a heading line introduces a bulleted list of actions.
    pub(super) fn note_list_heading(&mut self, line: &str) {
        self.in_action_list = false;
        if line.len() > MAX_HEADING_BYTES || !line.ends_with(':') {
            return;
        }
        let mut tokens = Vec::new();
        lex(line.trim_start_matches(['#', '*', ' ']).trim_end_matches(':'), &mut tokens);
        self.in_action_list = self.phrases.is_phrase(&tokens, Meaning::Actions);
    }

    /// Reads a bulleted line. Returns true if it is an item of a list of actions.
    pub(super) fn read_list_item(&mut self, line: &str) -> bool {
        let mut tokens = Vec::new();
        if !self.in_action_list {
            return false;
        }
        lex(line, &mut tokens);
        let [only] = tokens.as_slice() else { return false };
        match self.vocabulary.resolve_action(only.text) {
            Some((tool, action)) => self.push(Statement::Suggest { tool: Some(tool), action }),
            None => self.push_listed_action(only.text),
        }
        true
    }

    /// Reads suggested calls: `Call billing.list first`, `Try: billing.list`.
    pub(super) fn read_call(&mut self, context: &PhraseContext<'_>) {
        let tokens = context.tokens;
        if self.read_new_action_names(context) {
            return;
        }
        let mut at = skip_words(tokens, context.next, &["the", "calling", "action", "tool", "to", "instead"], 4);
        let is_separator = |token: &Token<'_>| token.is_symbol(",/|") || token.is_word("or");
        while let Some(token) = tokens.get(at).filter(|token| matches!(token.kind, TokenKind::Word | TokenKind::Quoted))
        {
            if let Some((tool, action)) = self.vocabulary.resolve_action(token.text) {
                self.push(Statement::Suggest { tool: Some(tool), action });
            } else if ["call", "try", "run", "invoke", "use"].iter().any(|verb| tokens[context.at].is_word(verb))
                && self.vocabulary.is_action(token.text)
            {
                self.push(Statement::Suggest { tool: None, action: token.text.to_owned() });
            }
            // Skip an unknown name; a later one may be known. `, or` is two separators.
            let separators = tokens.iter().skip(at + 1).take(2).take_while(|token| is_separator(token)).count();
            if separators == 0 {
                break;
            }
            at += 1 + separators;
        }
        self.read_named_call(context);
    }

    /// Reads a call that is named later in the sentence: `take a new snapshot with browser_snapshot`.
    fn read_named_call(&mut self, context: &PhraseContext<'_>) {
        let range = sentence(context.tokens, context.at);
        if is_negated(context.tokens, &range, context.at) {
            return;
        }
        let later = context.next..range.end.min(context.next + MAX_CALL_DISTANCE);
        let is_name = |at: &usize| matches!(context.tokens[*at].kind, TokenKind::Word | TokenKind::Quoted);
        let mut named = later.filter(is_name);
        let call = named.find_map(|at| Some((at, self.vocabulary.resolve_action(context.tokens[at].text)?)));
        if let Some((at, (tool, action))) = call {
            self.push(Statement::Suggest { tool: Some(tool), action });
            self.read_delay_after(&context.tokens[..range.end], at + 1);
        }
    }

    /// Reads a delay that follows the name of a tool: "Call poll_job again in 30 seconds".
    fn read_delay_after(&mut self, tokens: &[Token<'_>], at: usize) {
        let at = skip_words(tokens, at, &["again", "only", "then", "once", "more", "about"], 3);
        let is_cue = tokens.get(at).is_some_and(|token| token.is_word("in") || token.is_word("after"));
        let Some((amount, unit)) = number_at(tokens, skip_words(tokens, at + 1, &["about", "another"], 1)) else {
            return;
        };
        let seconds = tokens.get(unit).and_then(|unit| in_seconds(amount, unit.text));
        if let Some(seconds) = seconds.filter(|_| is_cue) {
            // `as` saturates at a delay longer than any real one.
            self.push(Statement::Delay { seconds: seconds.ceil() as u32 });
        }
    }

    /// Reads `Try: reserve, return, list` with known and unknown names as the current list of actions, of which the unknown
    /// ones are new.
    fn read_new_action_names(&mut self, context: &PhraseContext<'_>) -> bool {
        let list = list_at(context.tokens, context.next);
        let known = |name: &&&str| self.vocabulary.is_action(name);
        let has_new = list.announced && (1..list.items.len()).contains(&list.items.iter().filter(known).count());
        // A qualified name of another tool is a suggestion, whatever the other items are.
        if !has_new || list.items.iter().any(|name| self.vocabulary.resolve_action(name).is_some()) {
            return false;
        }
        self.push(Statement::Actions { names: owned_items(&list) });
        true
    }

    pub(super) fn read_delay(&mut self, context: &PhraseContext<'_>) {
        let tokens = context.tokens;
        let at = skip_words(
            tokens,
            context.next,
            &["for", "in", "after", "at", "least", "about", "another", "is", "seconds"],
            4,
        );
        // "5 requests per 300 seconds" is a delay if the text says to wait.
        if tokens[context.next - 1].is_word("per") && !says_to_wait(tokens) {
            return;
        }
        let Some((amount, unit)) = number_at(tokens, at).filter(|(amount, _)| *amount >= 0.0) else {
            let again = tokens[context.at..context.next].iter().any(|token| token.is_word("again"));
            if again {
                self.push(Statement::Transient);
            }
            return;
        };
        let unit = tokens.get(unit).filter(|token| token.kind == TokenKind::Word).map_or("", |token| token.text);
        // The phrase itself may contain the unit, as in `retry_after_ms`.
        let phrase = tokens[context.at].text;
        let seconds = match unit {
            "m" | "M" => amount * 60.0,
            _ if in_seconds(amount, unit).is_none() && phrase.to_ascii_lowercase().ends_with("ms") => amount / 1000.0,
            _ => in_seconds(amount, unit).unwrap_or(amount),
        };
        // `as` saturates at `u32::MAX` seconds, longer than any real delay.
        self.push(Statement::Delay { seconds: seconds.ceil() as u32 });
    }

    pub(super) fn read_truncation(&mut self, context: &PhraseContext<'_>) {
        let tokens = context.tokens;
        if tokens[context.at].is_word("showing") {
            let numbers = tokens[context.next..].iter().take(8).filter(|token| token.kind == TokenKind::Number).count();
            if numbers < 2 {
                return;
            }
        }
        self.truncated = true;
        // Filters that the sentence itself names: `filter by status (open, paid) or customer`.
        let sentence = sentence(tokens, context.at);
        for at in context.next..sentence.end {
            if matches!(tokens[at].kind, TokenKind::Word | TokenKind::Quoted)
                && let Some(field) = self.vocabulary.field_path(tokens[at].text)
            {
                let opened = tokens.get(at + 1).is_some_and(|token| token.is_symbol("(=:"));
                let values = if opened { owned_items(&list_at(tokens, at + 1)) } else { Vec::new() };
                self.push_narrow(field, values);
            }
        }
    }

    /// Reads `raise offset by 50` and `add 50 to offset`. Ignored unless the response was truncated.
    pub(super) fn read_page(&mut self, context: &PhraseContext<'_>) {
        let tokens = context.tokens;
        let at = skip_words(tokens, context.next, &["the", "argument", "parameter", "field"], 3);
        let (Some(first), Some(preposition), true) = (tokens.get(at), tokens.get(at + 1), self.truncated) else {
            return;
        };
        let second = skip_words(tokens, at + 2, &["the", "argument", "parameter", "field"], 3);
        let Some(second) = tokens.get(second) else { return };
        let (name, amount) = match (preposition.is_word("by"), preposition.is_word("to")) {
            (true, _) => (first, second),
            (_, true) => (second, first),
            _ => return,
        };
        let step = amount.number().filter(|step| *step >= 1.0 && step.fract() == 0.0);
        if let (Some(field), Some(step)) = (self.vocabulary.field_path(name.text), step) {
            // `as` saturates at a value larger than any real list.
            self.push(Statement::Page { field, step: step as u64 });
        }
    }

    pub(super) fn push_narrow(&mut self, field: String, values: Vec<String>) {
        let known =
            self.statements.iter().any(|e| matches!(e, Statement::Narrow { field: known, .. } if *known == field));
        if !known {
            self.push(Statement::Narrow { field, values });
        }
    }
}

/// Converts an amount of a unit of time to seconds. Returns `None` for another word.
pub(super) fn in_seconds(amount: f64, unit: &str) -> Option<f64> {
    const UNITS: [(f64, &[&str]); 3] = [
        (1.0, &["s", "sec", "secs", "second", "seconds", "sekunden", "secondes", "segundos"]),
        (60.0, &["min", "mins", "minute", "minutes", "minuten", "minutos"]),
        (3600.0, &["h", "hour", "hours", "stunden", "heures", "horas"]),
    ];
    let is_unit = |words: &[&str]| words.iter().any(|word| word.eq_ignore_ascii_case(unit));
    match UNITS.iter().find(|(_, words)| is_unit(words)) {
        Some((seconds, _)) => Some(amount * seconds),
        None if is_unit(&["ms", "millisecond", "milliseconds", "msec"]) => Some(amount / 1000.0),
        None => None,
    }
}
