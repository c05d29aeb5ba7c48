//! Typos, synonyms and number words: plausible wrong spellings.

/// Returns typos and alternative spellings of a name, none equal to it.
pub(super) fn typos(word: &str) -> Vec<String> {
    let letters: Vec<char> = word.chars().collect();
    let mut out: Vec<String> = Vec::new();
    for index in 0..letters.len() {
        let mut dropped = letters.clone();
        dropped.remove(index);
        out.push(dropped.iter().collect());
        let mut doubled = letters.clone();
        doubled.insert(index, letters[index]);
        out.push(doubled.iter().collect());
        if index + 1 < letters.len() {
            let mut swapped = letters.clone();
            swapped.swap(index, index + 1);
            out.push(swapped.iter().collect());
        }
    }
    out.push(camel_case(word));
    out.push(format!("{word}s"));
    out.sort();
    out.dedup();
    out.retain(|typo| typo != word && !typo.is_empty());
    out
}

/// Converts `due_date` to `dueDate`, as an agent used to another naming convention might write it.
fn camel_case(word: &str) -> String {
    let mut out = String::with_capacity(word.len());
    let mut upper = false;
    for letter in word.chars() {
        match letter {
            '_' => upper = true,
            letter if upper => {
                out.extend(letter.to_uppercase());
                upper = false;
            }
            letter => out.push(letter),
        }
    }
    out
}

/// Groups of words that are used for one another. Any word of a group may replace any other.
const SYNONYMS: [&[&str]; 21] = [
    &["draft", "new", "pending", "unsent", "preliminary"],
    &["open", "todo", "new", "active", "unresolved"],
    &["in_progress", "doing", "started", "wip", "ongoing"],
    &["done", "completed", "closed", "finished", "resolved"],
    &["closed", "done", "resolved", "completed", "archived"],
    &["archived", "closed", "inactive", "retired"],
    &["active", "enabled", "live", "open"],
    &["blocked", "on_hold", "stuck", "waiting"],
    &["urgent", "critical", "highest", "p0", "asap"],
    &["high", "important", "major", "p1"],
    &["normal", "medium", "default", "p2"],
    &["medium", "normal", "moderate", "p2"],
    &["low", "minor", "trivial", "p3"],
    &["usd", "us dollar", "dollars", "$"],
    &["eur", "euro", "euros", "€"],
    &["gbp", "pound", "pounds", "£"],
    &["production", "prod", "live"],
    &["staging", "stage", "preprod", "test"],
    &["admin", "administrator", "owner", "superuser"],
    &["member", "user", "contributor", "editor"],
    &["viewer", "read_only", "guest", "reader"],
];

/// Returns plausible wrong words for `word`: other case, other separators, near synonyms. None is equal to it.
pub(super) fn lookalikes(word: &str) -> Vec<String> {
    let lower = word.to_lowercase();
    let mut out = vec![lower.clone(), word.to_uppercase(), capitalize(&lower)];
    for (from, to) in [("_", " "), ("_", "-"), ("-", "_"), (" ", "_")] {
        out.push(word.replace(from, to));
    }
    for line in SYNONYMS {
        if line.contains(&lower.as_str()) {
            out.extend(line.iter().map(|synonym| (*synonym).to_owned()));
        }
    }
    let mut unique = Vec::with_capacity(out.len());
    for candidate in out {
        if candidate != word && !unique.contains(&candidate) {
            unique.push(candidate);
        }
    }
    unique
}

fn capitalize(word: &str) -> String {
    let mut letters = word.chars();
    letters.next().map_or_else(String::new, |first| first.to_uppercase().chain(letters).collect())
}

const ONES: [&str; 20] = [
    "zero",
    "one",
    "two",
    "three",
    "four",
    "five",
    "six",
    "seven",
    "eight",
    "nine",
    "ten",
    "eleven",
    "twelve",
    "thirteen",
    "fourteen",
    "fifteen",
    "sixteen",
    "seventeen",
    "eighteen",
    "nineteen",
];
const TENS: [&str; 10] = ["", "", "twenty", "thirty", "forty", "fifty", "sixty", "seventy", "eighty", "ninety"];

/// Formats an integer in English words: 45000 is `forty five thousand`.
pub(super) fn number_words(n: u64) -> String {
    let large = |unit: u64, name: &str| {
        let rest = n % unit;
        let head = format!("{} {name}", number_words(n / unit));
        if rest == 0 { head } else { format!("{head} {}", number_words(rest)) }
    };
    match n {
        0..20 => ONES[n as usize].to_owned(),
        20..100 if n.is_multiple_of(10) => TENS[(n / 10) as usize].to_owned(),
        20..100 => format!("{} {}", TENS[(n / 10) as usize], ONES[(n % 10) as usize]),
        100..1_000 => large(100, "hundred"),
        1_000..1_000_000 => large(1_000, "thousand"),
        1_000_000..1_000_000_000 => large(1_000_000, "million"),
        _ => large(1_000_000_000, "billion"),
    }
}
