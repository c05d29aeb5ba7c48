//! Content in which words of errors stand: mails, programs, lists, pages and counts.

use super::words::COMPLAINTS;

/// Returns the part of a prose text in lower case in which complaints count: without what is quoted or in parentheses, without what a
/// program prints or a list shows, and without the words that something is *not* missing or wrong. Empty for a list, for code and for records
/// of many lines.
pub(super) fn own_words(lower: &str) -> String {
    let lower = without_remarks(lower);
    let lines: Vec<&str> = lower.lines().map(str::trim).filter(|line| !line.is_empty()).collect();
    let Some(first) = lines.first() else { return String::new() };
    let shows = |line: &&&str| is_item(line) || is_code(line) || is_record(line);
    let all = |is: fn(&str) -> bool| lines.len() > 1 && lines.iter().all(|line| is(line));
    if all(|line| line.starts_with('['))
        || all(|line| line.starts_with("- ["))
        || is_heading(first, &lower)
        || is_tree(&lower)
    {
        return String::new();
    }
    // Below a title stands content.
    let is_told = lines.len() == 2 && lines[1].ends_with('.');
    let is_title =
        lines.len() > 1 && !is_told && !first.ends_with(['.', ':', '!', '?', ';', ',']) && first.contains(' ');
    if is_title && !COMPLAINTS.iter().any(|words| first.contains(words)) {
        return String::new();
    }
    // A heading above a list of complaints is not one of its items, and a list may be all complaints.
    let complains = |line: &&str| COMPLAINTS.iter().any(|words| line.contains(words));
    let is_all_complaints = lines.iter().all(|line| complains(line) && !is_code(line)) && !first.starts_with('#');
    if is_all_complaints && is_item(first) && !first.starts_with(['★', '☆']) {
        return without_none(&lower);
    }
    if shows(&first) && (lines.len() > 1 || is_code(first) || first.starts_with(['★', '☆'])) {
        return String::new();
    }
    let told: Vec<&str> = lines.iter().filter(|line| !is_code(line)).copied().collect();
    without_none(&beginning(&without_quoted(&told.join("\n"))))
}

/// Returns true for what a checker prints at its end, and for counts only: "2 errors, 0 warnings", "1 failed, 11 passed", "errors: 17, hits: 3".
pub(super) fn is_report(lower: &str) -> bool {
    let is_summary = |line: &str| {
        let digits = line.bytes().take_while(u8::is_ascii_digit).count();
        if digits == 0 {
            return false;
        }
        let rest = line[digits..].trim_start();
        let found = ["error", "failed", "failure", "warning", "problem", "passed", "fehler"];
        found.iter().any(|word| rest.starts_with(word))
            && [", ", " in "].iter().any(|joint| rest.contains(joint))
            && rest.bytes().any(|byte| byte.is_ascii_digit())
    };
    let is_count = |part: &str| {
        let counted = part.rsplit_once(':').map(|(name, count)| (name.trim(), count.trim()));
        counted.is_some_and(|(name, count)| {
            let digits = count.bytes().take_while(|byte| byte.is_ascii_digit() || *byte == b'.').count();
            digits > 0 && !name.is_empty() && count[digits..].split_whitespace().count() <= 3
        })
    };
    let mut parts = lower.lines().flat_map(|line| line.split(',')).filter(|part| !part.trim().is_empty());
    lower.lines().any(|line| is_summary(line.trim()))
        || parts.next().is_some_and(is_count) && parts.next().is_some_and(is_count) && parts.all(is_count)
}

/// Returns the first sentence, and the second if the first tells a state: "The order is shipped. It cannot be changed."
pub(super) fn beginning(text: &str) -> String {
    const STATES: &[&str] = &[
        "is", "are", "was", "were", "has", "have", "had", "needs", "belongs", "ist", "hat", "sind", "est", "only",
        "you", "i",
    ];
    let ends = text.match_indices(['.', '!', '?', '\n']).filter(|(at, sign)| {
        let rest = &text[at + sign.len()..];
        *sign == "\n" || rest.is_empty() || rest.starts_with([' ', '\n'])
    });
    let mut ends = ends.map(|(at, sign)| at + sign.len());
    let first = ends.next().unwrap_or(text.len());
    let tells = text[..first].split(|c: char| !c.is_alphanumeric()).any(|word| STATES.contains(&word));
    // A long sentence that complains of nothing begins a document.
    let is_short = text[..first].split_whitespace().count() <= 8;
    let end = if tells || is_short || text[..first].trim_end().ends_with(':') { text.len() } else { first };
    text[..end].to_owned()
}

/// Returns true for the heading of a document: a few words without an end, above an empty line or a list.
fn is_heading(first: &str, lower: &str) -> bool {
    let second = lower.trim_start().lines().nth(1).map(str::trim);
    let is_above = second.is_some_and(|line| line.is_empty() || line.starts_with(['-', '*', '•']));
    let is_plain = first.split(' ').count() <= 2 && first.chars().all(|c| c.is_alphabetic() || c == ' ');
    first.starts_with("q: ") || is_above && (is_plain || first.starts_with('#'))
}

/// Returns true for keys above indented ones.
fn is_tree(lower: &str) -> bool {
    let mut lines = lower.lines();
    let is_key = |line: &str| line.ends_with(':') && !line.contains(' ') && !line.contains("error");
    lines.next().is_some_and(is_key) && lines.next().is_some_and(|next| next.starts_with("  ") && next.contains(':'))
}

/// Returns true for an item of a list that is numbered, ticked or rated: `1. …`, `[2] …`, `#412 …`, `- [ ] …`, `★★☆ …`.
fn is_item(line: &str) -> bool {
    let digits = |text: &str| text.bytes().take_while(u8::is_ascii_digit).count();
    let numbered = digits(line);
    let rest = &line[numbered..];
    numbered > 0 && numbered <= 3 && (rest.starts_with(". ") || rest.starts_with(") "))
        || line.strip_prefix('[').is_some_and(|rest| digits(rest) > 0 && rest[digits(rest)..].starts_with("] "))
        || line.strip_prefix('#').is_some_and(|rest| digits(rest) > 0 && rest[digits(rest)..].starts_with(' '))
        || line.starts_with("- [")
        || line.starts_with(['★', '☆'])
}

/// Returns true for a line of a program, a patch, or what searching files prints.
fn is_code(line: &str) -> bool {
    // Words of English are code only with its signs.
    const WORDS: &[&str] = &[
        "raise ",
        "throw ",
        "return ",
        "echo ",
        "import ",
        "from ",
        "class ",
        "let ",
        "else ",
        "function ",
        "assert ",
        "const ",
        "var ",
        "if ",
    ];
    const BEGINNINGS: &[&str] = &[
        "console.", "print(", "printf(", "//", "/*", "#include", "def ", "fn ", "func ", "}", "+ ", "@@", "--- ",
        "+++ ", "#!", "diff --", "expect(", "<!--",
    ];
    let has_signs = || {
        line.contains(['(', '=', '{'])
            || line.ends_with([';', ':'])
            || line.starts_with("from ") && line.contains(" import ")
    };
    if WORDS.iter().any(|word| line.starts_with(word)) && has_signs() {
        return true;
    }
    const PARTS: &[&str] =
        &["throw new ", "raise valueerror", "console.error", "return -1", " || echo ", "*/", "();", ") {", "=> {"];
    BEGINNINGS.iter().any(|beginning| line.starts_with(beginning))
        || PARTS.iter().any(|part| line.contains(part))
        || line.ends_with(['{', ';'])
        || is_place_of_match(line)
}

/// Returns true for a match in a file as searching prints it: "src/check.py:14: …".
fn is_place_of_match(line: &str) -> bool {
    let Some((path, rest)) = line.split_once(':') else { return false };
    let digits = rest.bytes().take_while(u8::is_ascii_digit).count();
    let is_path = !path.contains(' ') && path.contains('.') && !path.ends_with('.');
    is_path && digits > 0 && rest[digits..].starts_with(':') && !rest[digits + 1..].trim_start().starts_with("error")
}

/// Returns true for what a compiler says of a place in a file: "src/main.c:4:9: …".
pub(super) fn is_diagnostic(text: &str) -> bool {
    let place = text.split(' ').next().unwrap_or_default();
    let mut parts = place.trim_end_matches(':').split(':');
    let is_path = parts.next().is_some_and(|path| path.contains('.') && !path.is_empty());
    let numbers =
        parts.clone().filter(|part| !part.is_empty() && part.bytes().all(|byte| byte.is_ascii_digit())).count();
    is_path && place.ends_with(':') && numbers == 2 && parts.count() == 2
}

/// Returns true for a record of a log: it begins with a time or a severity in brackets.
fn is_record(line: &str) -> bool {
    let bytes = line.as_bytes();
    if bytes.len() > 6
        && bytes[2] == b':'
        && bytes[5] == b' '
        && [0, 1, 3, 4].iter().all(|at| bytes[*at].is_ascii_digit())
    {
        return true;
    }
    let is_time = line.len() > 8 && line.bytes().take(8).all(|byte| byte.is_ascii_digit() || b":/-".contains(&byte));
    is_time && line.contains([':', '/'])
}

/// Removes the remarks of a page.
fn without_remarks(text: &str) -> String {
    let mut parts = text.split("<!--");
    let first = parts.next().unwrap_or_default().to_owned();
    parts.fold(first, |out, part| out + part.split_once("-->").map_or("", |(_, rest)| rest))
}

/// Replaces what is quoted by blanks, where more than one word is. Quotes around one word name it.
fn without_quoted(text: &str) -> String {
    const PAIRS: &[(char, char)] =
        &[('"', '"'), ('“', '”'), ('„', '“'), ('«', '»'), ('`', '`'), ('\'', '\''), ('(', ')')];
    // What is all in parentheses is said.
    if text.starts_with('(') {
        return text.to_owned();
    }
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find(|c| PAIRS.iter().any(|(open, _)| *open == c)) {
        let open = rest[at..].chars().next().unwrap_or(' ');
        let close = PAIRS.iter().find(|(one, _)| *one == open).map_or(open, |(_, close)| *close);
        let inner = &rest[at + open.len_utf8()..];
        // An apostrophe opens nothing within a word.
        let is_in_word = open == '\'' && rest[..at].ends_with(char::is_alphanumeric);
        let end = inner.find(close).filter(|end| {
            let quoted = &inner[..*end];
            !is_in_word && quoted.contains(' ') && !quoted.contains('\n')
        });
        match end {
            Some(end) => {
                out.push_str(&rest[..at]);
                out.push(' ');
                rest = &inner[end + close.len_utf8()..];
            }
            None => {
                out.push_str(&rest[..at + open.len_utf8()]);
                rest = inner;
            }
        }
    }
    out + rest
}

/// Removes what is said not to be the case: "0 failed", "no errors", "nothing is missing", "none are missing", "never fails".
fn without_none(text: &str) -> String {
    const NONE: &[&str] = &["0", "no", "none", "nothing", "never", "without", "zero", "keine", "keinen", "kein"];
    const STATES: &[&str] = &[
        "error",
        "errors",
        "failure",
        "failures",
        "failed",
        "fail",
        "fails",
        "missing",
        "invalid",
        "wrong",
        "rejected",
        "refused",
        "denied",
        "conflict",
        "conflicts",
        "timeouts",
        "unexpected",
        "warnings",
        "fehler",
        "expired",
    ];
    let is_word = |word: &str, list: &[&str]| list.contains(&word.trim_matches(|c: char| !c.is_alphanumeric()));
    // A sign ends what a negation is about.
    let none_before = |before: &[&str]| {
        let near = before.iter().rev().take(3).take_while(|word| !word.trim_end().ends_with([':', ',', ';', '.']));
        near.into_iter().position(|word| is_word(word.trim(), NONE)).map(|distance| before.len() - 1 - distance)
    };
    let mut words: Vec<&str> = text.split_inclusive([' ', '\n']).collect();
    for at in 0..words.len() {
        let word = words[at].trim();
        // "0 blocked, 3 failed"
        let is_counted = at > 0
            && words[at - 1].trim().bytes().all(|byte| byte.is_ascii_digit())
            && !words[at - 1].trim().is_empty();
        if is_word(word, STATES) && is_counted {
            words[at] = " ";
        } else if is_word(word, STATES)
            && let Some(none) = none_before(&words[..at])
        {
            (words[none], words[at]) = (" ", " ");
        }
    }
    words.concat()
}

/// Returns true for a mail: with a head, or signed.
pub(super) fn is_mail(lower: &str) -> bool {
    let ends = ["best,", "best regards", "kind regards", "regards", "cheers,", "yours"];
    let is_signed = |line: &str| ends.iter().any(|words| line.starts_with(words));
    lower.starts_with("from:") && lower.contains("\nsubject:") || lower.lines().skip(1).any(is_signed)
}

/// Returns true if a text in lower case is a mail, a log, a table, a page, or a list of what was found.
pub(super) fn is_document(lower: &str) -> bool {
    const BEGINNINGS: &[&str] = &[
        "contents of ",
        "content of ",
        "results for",
        "search results",
        "found ",
        "process started",
        "showing ",
        "here ",
        "successfully",
        "note:",
        "release notes",
        "# ",
        "dear ",
        "subject:",
        "def ",
        "ticket ",
        "hi ",
        "hi,",
        "hi!",
        "hello",
    ];
    let first = lower.lines().next().unwrap_or_default();
    let is_result = |line: &str| line.starts_with(|c: char| c.is_ascii_digit()) && line.contains(" passed");
    let is_summary = first.contains(" passed") || first.contains("no matches found") || lower.lines().any(is_result);
    let is_dated = |line: &&str| {
        line.get(..4).is_some_and(|year| year.bytes().all(|byte| byte.is_ascii_digit())) && line[4..].starts_with('-')
    };
    let lines = lower.lines().filter(|line| !line.trim().is_empty()).count();
    // The line below the heads of a table, or the count of its rows.
    let is_rule =
        |line: &str| line.matches('-').count() > 3 && line.chars().all(|c| matches!(c, '-' | '+' | '|' | ' ' | '='));
    let has_rows = lines > 2 && (lower.lines().skip(1).take(2).any(is_rule) || lower.ends_with(" rows)"));
    let is_log = lines > 2 && lower.lines().filter(is_dated).count() * 2 > lines;
    let cells = |line: &str| line.matches([',', '|']).count();
    let is_table = lines > 1 && first.trim().split("  ").filter(|cell| !cell.is_empty()).count() > 2
        || lines > 2 && !first.contains([' ', ':', '.']) && cells(first) > 0
        || lines > 1
            && first.starts_with('|')
            && lower.lines().all(|line| line.trim().is_empty() || line.starts_with('|'));
    has_rows
        || is_mail(lower)
        || is_summary
        || is_log
        || is_table
        || BEGINNINGS.iter().any(|word| first.starts_with(word))
        || lower.contains("successfully")
}
