//! Recognizes by its structure a text that shows what was found or done, whatever words stand in it: records, a listing, a report, a dialog,
//! a page. A complaint about a call has none of these structures.

use serde_json::Value;

use super::plain::shape;
use super::words::COMPLAINTS;

/// More lines are not looked at, which bounds the time.
const MAX_LINES: usize = 60;
/// Words at the beginning of a line that is part of an error, before a colon.
const LABELS: [&str; 14] = [
    "error", "errors", "fatal", "hint", "detail", "details", "message", "code", "cause", "reason", "status", "note",
    "help", "warning",
];
/// Nouns for what is wrong. A number of them is no result.
const WRONGS: [&str; 8] = ["error", "problem", "issue", "violation", "failure", "invalid", "missing", "validation"];
/// Words in parentheses at the end of a complaint: "(max 40)", "(line 3)".
const REMARKS: [&str; 14] = [
    "max", "min", "maximum", "minimum", "at", "limit", "got", "received", "was", "sent", "line", "code", "current",
    "up",
];

/// Returns true if the structure of a text in answer to a call shows that it tells what was found or done. `is_field` is true for the name
/// of an argument.
pub(super) fn is_content(text: &str, sent: &Value, is_field: impl Fn(&str) -> bool) -> bool {
    let text = text.trim();
    // What calls itself an error is none.
    let head = text.split([' ', ':', '\n']).next().unwrap_or_default();
    let is_error =
        !head.starts_with('<') && head.len() >= 5 && head.as_bytes()[head.len() - 5..].eq_ignore_ascii_case(b"error");
    if text.starts_with('{') || text.is_empty() || is_error {
        return false;
    }
    let lines: Vec<&str> = text.lines().map(str::trim).filter(|line| !line.is_empty()).take(MAX_LINES).collect();
    let first = lines[0];
    if lines.len() > 1
        && (are_records(&lines)
            || are_entries(&lines)
            || is_below_title(&lines, sent)
            || first.starts_with("$ ")
            || are_numbered(&lines, sent, &is_field)
            || are_said(&lines, &is_field))
    {
        return true;
    }
    counts_its_items(&lines, &is_field)
        || is_tally(&lines)
        || is_summary(first)
        || is_page(text)
        || lists_many_statuses(text)
        || is_signature(first, sent)
        || lists_versions(first)
        || is_dialog(text)
        || is_record(text, sent)
}

/// Returns true if every line begins with a mark of the same form, but for one line below several: `OPS-12 …`, `evt_1 …`, `[warn] …`,
/// `10:02 …`, `03 Mar 09:12 …`, `lena 10:02: …`, `src/x.ts(4,7): …`.
fn are_records(lines: &[&str]) -> bool {
    let Some(mark) = mark_of(lines[0]) else { return false };
    let same = lines.iter().take_while(|line| mark_of(line).as_ref() == Some(&mark)).count();
    same == lines.len() || same > 1 && same + 1 == lines.len() && !complains(lines[same])
}

/// Returns the form of what identifies a record at the beginning of a line.
fn mark_of(line: &str) -> Option<String> {
    let line = line.trim_start_matches(['-', '*', '•', ' ']);
    let mut words = line.split_whitespace();
    let first = words.next()?;
    let second = words.next().unwrap_or_default();
    if let Some(level) = line.strip_prefix('[') {
        let level = level.split(']').next()?;
        return Some(if level.chars().all(char::is_alphabetic) { "[".to_owned() } else { shape(level) });
    }
    let has_digit = |word: &str| word.bytes().any(|byte| byte.is_ascii_digit());
    if !has_digit(first) {
        return is_time(second).then(|| "name at a time".to_owned());
    }
    if first.bytes().all(|byte| byte.is_ascii_digit()) {
        let is_month = second.len() >= 3 && second.chars().all(char::is_alphabetic);
        let is_date = is_month && words.next().is_some_and(has_digit);
        return is_date.then(|| "date".to_owned());
    }
    // Numbers of a list, paths of arguments and codes of errors are none.
    let is_number = first.trim_end_matches(['.', ')', ':']).bytes().all(|byte| byte.is_ascii_digit());
    let is_path = first.contains('[') || first.starts_with('$') || has_index(first);
    let letters = first.trim_start_matches(|c: char| !c.is_alphanumeric()).to_ascii_lowercase();
    let is_code = letters.starts_with("err") || letters.starts_with('e') && has_digit(letters.get(1..2)?);
    (!is_number && !is_path && !is_code).then(|| shape(first))
}

/// Returns true for a path with an index: `items.0.name`.
fn has_index(word: &str) -> bool {
    let parts: Vec<&str> = word.trim_end_matches(':').split('.').collect();
    parts.len() > 2 && parts[1..parts.len() - 1].iter().any(|part| part.bytes().all(|byte| byte.is_ascii_digit()))
}

fn is_time(word: &str) -> bool {
    let word = word.trim_end_matches([':', ',', ')']);
    let parts: Vec<&str> = word.split(':').collect();
    parts.len() > 1 && parts.iter().all(|part| part.len() == 2 && part.bytes().all(|byte| byte.is_ascii_digit()))
}

fn complains(line: &str) -> bool {
    let lower = line.to_lowercase();
    COMPLAINTS.iter().any(|words| lower.contains(words))
}

/// Returns true if every line ends with a kind of thing and its number: "404 Not Found (page 771)".
fn are_entries(lines: &[&str]) -> bool {
    let kind = |line: &str| {
        let (_, inner) = line.strip_suffix(')')?.rsplit_once('(')?;
        let (kind, number) = inner.split_once(' ')?;
        let is_kind = kind.chars().all(char::is_alphabetic) && !REMARKS.contains(&kind.to_lowercase().as_str());
        (is_kind && number.bytes().any(|byte| byte.is_ascii_digit()) && !number.contains(' ')).then(|| kind.to_owned())
    };
    let first = kind(lines[0]);
    first.is_some() && lines.iter().all(|line| kind(line) == first)
}

/// Returns true if the first line is all the name of what was asked for, or a heading.
fn is_below_title(lines: &[&str], sent: &Value) -> bool {
    let title = lines[0].trim_start_matches('#').trim().trim_end_matches(':');
    let is_heading = lines[0].starts_with('#') && lines[0].trim_start_matches('#').starts_with(' ');
    let is_asked =
        |value: &Value| value.as_str().is_some_and(|sent| sent.len() > 2 && sent.eq_ignore_ascii_case(title));
    is_heading && !complains(title) && !title.to_lowercase().contains("error")
        || sent.as_object().is_some_and(|sent| sent.values().any(is_asked))
}

/// Returns true for a numbered list without a heading that names and shows nothing of the call.
fn are_numbered(lines: &[&str], sent: &Value, is_field: impl Fn(&str) -> bool) -> bool {
    let is_item = |(index, line): (usize, &&str)| {
        let digits = line.bytes().take_while(u8::is_ascii_digit).count();
        line[..digits].parse() == Ok(index + 1) && line[digits..].starts_with([')', '.'])
    };
    let Some(sent) = sent.as_object().filter(|sent| !sent.is_empty()) else { return false };
    // "1. Email is invalid" complains whatever the argument is called.
    let is_short_complaint = |line: &&str| {
        let verbs = [" is ", " are ", " must ", " has "];
        complains(line) && line.split_whitespace().count() <= 6 && verbs.iter().any(|verb| line.contains(verb))
    };
    if !lines.iter().enumerate().all(is_item) || lines.iter().all(is_short_complaint) || names_any(lines, is_field) {
        return false;
    }
    let text = lines.join("\n").to_lowercase();
    let is_told = |word: &str| word.len() > 2 && text.contains(&word.to_lowercase());
    !sent.iter().any(|(name, value)| is_told(name) || value.as_str().is_some_and(is_told))
}

/// Returns true if a word of the lines is the name of an argument.
fn names_any(lines: &[&str], is_field: impl Fn(&str) -> bool) -> bool {
    let mut words = lines.iter().flat_map(|line| line.split(|c: char| !c.is_alphanumeric() && c != '_'));
    words.any(|word| word.len() > 2 && is_field(word))
}

/// Returns true if every line is what somebody says to others.
fn are_said(lines: &[&str], is_field: impl Fn(&str) -> bool) -> bool {
    let is_said = |line: &&str| {
        line.split_once(": ").is_some_and(|(name, _)| {
            name.chars().all(char::is_alphabetic) && !LABELS.contains(&name.to_lowercase().as_str()) && !is_field(name)
        })
    };
    let addresses = |line: &&str| {
        let lower = line.to_lowercase();
        let has_word = |word: &str| lower.split(|c: char| !c.is_alphanumeric()).any(|other| other == word);
        lower.contains('?') || ["i", "you", "we", "thanks"].iter().any(|word| has_word(word))
    };
    lines.iter().all(is_said) && lines.iter().any(addresses)
}

/// Returns true if a text says how many things it lists, and lists as many: "inbox (3): a | b | c", "2 recipes:" above two lines.
fn counts_its_items(lines: &[&str], is_field: impl Fn(&str) -> bool) -> bool {
    let Some((head, rest)) = lines[0].split_once(':') else { return false };
    if !head.bytes().any(|byte| byte.is_ascii_digit()) {
        return false;
    }
    let counted = head.split(|c: char| !c.is_ascii_digit()).filter_map(|digits| digits.parse::<usize>().ok());
    let lower = head.to_lowercase();
    if WRONGS.iter().any(|wrong| lower.contains(wrong)) {
        return false;
    }
    let items = if rest.trim().is_empty() {
        if names_any(lines, is_field) {
            return false;
        }
        lines.len() - 1
    } else {
        let parts = |sign: char| rest.split(sign).filter(|part| !part.trim().is_empty()).count();
        parts('|').max(parts(';'))
    };
    items > 1 && counted.into_iter().any(|count| count == items)
}

/// Returns true if a text only counts: "delivered 401, failed 3, rejected 1".
fn is_tally(lines: &[&str]) -> bool {
    let is_count = |part: &&str| {
        if !part.trim_end_matches(['.', '%']).ends_with(|c: char| c.is_ascii_digit()) {
            return false;
        }
        let mut words = part.split_whitespace().collect::<Vec<_>>();
        let last = words.pop().unwrap_or_default().trim_end_matches(['.', '%']);
        let is_word = |word: &&str| word.chars().all(char::is_alphabetic);
        last.parse::<f64>().is_ok() && (1..=3).contains(&words.len()) && words.iter().all(is_word)
    };
    let mut parts = lines.iter().flat_map(|line| line.split(", "));
    let mut is_next_count = || parts.next().is_some_and(|part| is_count(&part));
    is_next_count() && is_next_count() && is_next_count() && parts.all(|part| is_count(&part))
}

/// Returns true if a line begins with how much was done: "41 links checked.", "Imported 118 rows, …", "118 of 120 rows taken".
fn is_summary(first: &str) -> bool {
    const CHECKED: [&str; 9] =
        ["checked", "scanned", "tested", "processed", "analyzed", "reviewed", "compared", "inspected", "visited"];
    const DONE: [&str; 14] = [
        "taken",
        "imported",
        "processed",
        "done",
        "updated",
        "saved",
        "copied",
        "delivered",
        "written",
        "loaded",
        "migrated",
        "synced",
        "accepted",
        "exported",
    ];
    let sentence = first.split(['.', '!', ';']).next().unwrap_or_default();
    let begins = first.starts_with(|c: char| c.is_ascii_digit())
        || first.split(' ').next().is_some_and(|word| word.ends_with('d'));
    if !(begins || sentence.contains(" of ")) || !sentence.bytes().any(|byte| byte.is_ascii_digit()) {
        return false;
    }
    let sentence = sentence.to_lowercase();
    let words: Vec<&str> = sentence.split([' ', ',', ':']).filter(|word| !word.is_empty()).collect();
    let is_number = |word: &&str| word.parse::<u64>().is_ok_and(|number| number > 0);
    let is_checked = words.len() <= 5
        && words.first().is_some_and(is_number)
        && words.last().is_some_and(|last| CHECKED.contains(last));
    let is_done = words.len() > 2 && DONE.contains(&words[0]) && is_number(&words[1]);
    let is_part = words
        .windows(5)
        .any(|five| is_number(&five[0]) && five[1] == "of" && is_number(&five[2]) && DONE.contains(&five[4]));
    is_checked || is_done || is_part
}

/// Returns true for a page with a heading that is no error: its title is one of many, or complains of nothing.
fn is_page(text: &str) -> bool {
    if !text.starts_with('<') {
        return false;
    }
    let lower = text.to_lowercase();
    let Some((_, rest)) = lower.split_once("<h1>").filter(|(before, _)| before.trim_start().is_empty()) else {
        return false;
    };
    let Some((title, rest)) = rest.split_once("</h1>") else { return false };
    let words: Vec<&str> = title.split_whitespace().collect();
    let is_of_many = words.len() == 2 && words[1].ends_with('s');
    let is_told = complains(title) || title.starts_with(|c: char| c.is_ascii_digit()) || words == ["error"];
    rest.contains('<') && (is_of_many || !is_told)
}

/// Returns true if three statuses of HTTP are explained.
fn lists_many_statuses(text: &str) -> bool {
    let bytes = text.as_bytes();
    let is_status = |end: usize| {
        let Some(start) = end.checked_sub(3) else { return false };
        let is_begun = start == 0 || bytes[start - 1].is_ascii_whitespace();
        is_begun && matches!(bytes[start], b'4' | b'5') && bytes[start..end].iter().all(u8::is_ascii_digit)
    };
    let count = text.match_indices(':').filter(|(end, _)| is_status(*end)).count();
    count > 2 || count > 1 && text.starts_with(['4', '5'])
}

/// Returns true for the description of a function that was asked for: "read_file(path): …".
fn is_signature(first: &str, sent: &Value) -> bool {
    let Some((name, rest)) = first.split_once('(') else { return false };
    let Some((inner, rest)) = rest.split_once(')') else { return false };
    let is_argument =
        |part: &str| part.trim().bytes().all(|byte| byte.is_ascii_alphanumeric() || b"_=:? ".contains(&byte));
    inner.split(',').all(is_argument)
        && rest.trim_start().starts_with([':', '-', '–', '—'])
        && sent.as_object().is_some_and(|sent| sent.values().any(|value| value.as_str() == Some(name)))
}

/// Returns true for a history of versions: "1.2: … 1.3: …".
fn lists_versions(first: &str) -> bool {
    let is_version = |word: &&str| {
        let word = word.trim_start_matches('v');
        word.strip_suffix(':').is_some_and(|version| {
            version.contains('.') && version.bytes().all(|byte| byte.is_ascii_digit() || byte == b'.')
        })
    };
    let mut words = first.split_whitespace();
    words.next().is_some_and(|word| is_version(&word)) && words.any(|word| is_version(&word))
}

/// Returns true if sentences begin with the names of those who speak, one of them twice: "Agent: … Customer: … Agent: …".
fn is_dialog(text: &str) -> bool {
    if !text.starts_with(char::is_uppercase) || text.matches(": ").count() < 3 {
        return false;
    }
    let mut speakers: Vec<&str> = Vec::new();
    for part in text.split(['.', '?', '!', '\n']) {
        let Some((name, said)) = part.trim().split_once(": ") else { continue };
        let is_name = name.starts_with(char::is_uppercase) && name.chars().all(char::is_alphabetic);
        if is_name && !said.is_empty() && !LABELS.contains(&name.to_lowercase().as_str()) {
            speakers.push(name);
        }
    }
    let is_again = |at: usize| speakers[..at].contains(&speakers[at]);
    speakers.len() > 2 && (0..speakers.len()).any(is_again)
}

/// Returns true for the record of what was asked for: its identifier, and its state with a time or with further keys: "WT-07: stopped at
/// 04:12", "PX-2219, Lyon, status: open".
fn is_record(text: &str, sent: &Value) -> bool {
    const REPAIRS: [&str; 17] = [
        "cannot",
        "can't",
        "must",
        "please",
        "should",
        "invalid",
        "not found",
        "exist",
        "no such",
        "unknown",
        "expect",
        "your",
        "not a ",
        "allowed",
        "valid",
        "error",
        "try ",
    ];
    let Some(sent) = sent.as_object() else { return false };
    let Some(end) = text.find([':', ',', '(']) else { return false };
    let head = text[..end].trim();
    let name = head.rsplit(' ').next().unwrap_or(head);
    let is_shown = |value: &Value| match value {
        Value::String(sent) => name.len() > 1 && (sent == name || name.len() > 3 && sent.contains(name)),
        Value::Number(sent) => head != name && sent.to_string() == name,
        _ => false,
    };
    if name.is_empty() || head.split(' ').count() > 2 || !sent.values().any(is_shown) {
        return false;
    }
    let rest = text[end..].to_lowercase();
    // "T1 (open): …"
    let state = rest.strip_prefix('(').and_then(|rest| rest.split_once("):"));
    if state.is_some_and(|(state, _)| state.chars().all(char::is_alphabetic)) {
        return true;
    }
    let keys = rest.matches(": ").count();
    if rest.starts_with(',') {
        return rest.matches(',').count() > 1 && keys > 0;
    }
    let is_number = |word: Option<&str>| word.is_some_and(|word| word.starts_with(|c: char| c.is_ascii_digit()));
    let mut words = rest.split_whitespace();
    let mut has_time = false;
    while let Some(word) = words.next() {
        has_time |= ["since", "at", "on", "until", "from"].contains(&word) && is_number(words.clone().next())
            || word.starts_with("20") && word.matches('-').count() == 2;
    }
    rest.starts_with(':') && (has_time || keys > 1) && !REPAIRS.iter().any(|words| rest.contains(words))
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn shows(text: &str, sent: Value) -> bool {
        is_content(text, &sent, |name| sent.get(name).is_some())
    }

    #[test]
    fn records_and_listings_are_content() {
        for text in [
            "BUG-7 Login invalid after update\nBUG-19 Export must be faster",
            "job_4 failed disk full\njob_9 denied by policy\nnext page: 2",
            "[info] started\n[error] connection refused",
            "08:15 unknown visitor\n09:40 door cannot close",
            "12 Jan 08:00 Payment rejected\n13 Jan 09:30 Payment accepted",
            "omar 14:20: is it broken?\nzoe 14:21: yes, invalid key",
            "lib/a.py(3,1): error X1: bad name\nlib/b.py(8,2): error X2: not found",
            "Missing person (case 12)\nDenied entry (case 40)",
            "$ make test\nerror: assertion failed",
            "drafts (2): Invalid offer? | You must see this",
            "3 songs:\nCan't stop\nNot found\nDenied",
            "sent 12, failed 4, not opened 7",
            "310 files scanned. 4 invalid: a.txt, b.txt",
            "Exported 40 rows, 3 failed: no address",
            "Batch 4: 70 of 75 rows imported. Row 9: weight must be positive.",
            "2.0: `a` must be set. 2.1: unknown keys are refused.",
            "Caller: it is broken. Desk: you must restart it. Caller: it cannot start.",
            "zoe: did you see it? \"invalid token\"\nomar: you must renew it",
        ] {
            assert!(shows(text, json!({"box": "drafts"})), "{text}");
        }
    }

    #[test]
    fn what_was_asked_for_is_content_below_its_name() {
        assert!(shows("create_user\n\nname (string): must be unique.", json!({"topic": "create_user"})));
        assert!(shows("## Limits\nEach page must be below 4 MB.", json!({"page": 4})));
        assert!(shows("move(from, to): from is required.", json!({"function": "move"})));
        assert!(shows("PUMP-3: stopped. Valve failed at 07:10.", json!({"pump": "PUMP-3"})));
        assert!(shows("T-8 (closed): he must not call again", json!({"ticket": "T-8"})));
        assert!(shows("LH-400, Oslo, state: cancelled (crew missing)", json!({"flight": "LH-400"})));
        assert!(shows("<h1>Lost parcels</h1><p>You must report them.</p>", json!({"page": 4})));
        assert!(shows("<h1>Error codes of the API</h1><ul><li>422: a field is missing</li></ul>", json!({"page": 4})));
        assert!(shows("1) SELECT a WHERE denied\n2) SELECT b WHERE failed", json!({"limit": 2})));
    }

    #[test]
    fn complaints_are_no_content() {
        for text in [
            "1. amount must be positive\n2. currency is required",
            "amount: you must send a number\ncurrency: is it a code?",
            "items[0].qty must be above 0\nitems[1].qty must be above 0",
            "E101 amount is missing\nE102 currency is missing",
            "2 things are left to do:\n1) give a currency\n2) amount must be an integer",
            "3 problems:\namount is missing\ncurrency is missing\nnote is too long",
            "amount is too high (max 40)\nnote is too long (max 120)",
            "fatal: no amount\nhint: did you send one?",
            "Expected 2 values, got 1",
            "<h1>404 Not Found</h1><p>The page was not found.</p>",
            "A-7: not found at 10:00",
            "# Error\nThe amount is missing.",
            "500: the server failed",
        ] {
            assert!(!shows(text, json!({"amount": "A-7", "currency": 4})), "{text}");
        }
    }
}
