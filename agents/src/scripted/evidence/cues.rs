//! The phrases that say what a sentence is about.
//!
//! They are ordinary English of error messages, collected from the words that schema validators, web frameworks and tool
//! servers use. None belongs to one format.

use std::sync::LazyLock;

use super::tokens::{Kind, Token};

/// What a phrase announces.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Cue {
    /// A field is not there.
    Missing,
    /// The same, but only if a name follows at once: `add the "action" field`.
    MissingNamed,
    /// A type or, where quoted values follow, a list of options.
    Expected,
    /// A list of valid values.
    Options,
    /// `valid`: a format's name, or `valid statuses: a, b`.
    Valid,
    AtLeast,
    Above,
    AtMost,
    Below,
    Between,
    MultipleOf,
    /// A format's name follows.
    Invalid,
    /// A format's name stands before or after.
    Format,
    /// The words are a format themselves.
    FormatItself,
    Pattern,
    Unrecognised,
    /// Names of fields whose values are in use follow.
    TakenNamed,
    /// The value of a field is in use.
    Taken,
    Actions,
    /// Another action follows.
    Call,
    /// A number of seconds follows.
    Delay,
    Transient,
    Stop,
    Truncated,
    /// A field of a cut answer, and by how much to raise it, follow.
    Page,
    /// Says nothing; stands here so that a shorter phrase inside of it is not heard.
    Nothing,
}

const PHRASES: &[(Cue, &[&str])] = &[
    (
        Cue::Missing,
        &[
            "required",
            "missing",
            "mandatory",
            "is absent",
            "forgot",
            "forgotten",
            "left out",
            "to be present",
            "has no value",
            "have no value",
            "is empty",
            "cannot be empty",
            "can not be empty",
            "must not be empty",
            "must be filled in",
            "undefined",
            "omitted",
            "not provided",
            "was not given",
            "not present",
            "must provide",
            "must be provided",
            "must be present",
            "must be given",
            "must be set",
            "must be included",
            "must include",
            "has to be given",
            "has to be present",
            "has to be provided",
            "needs to be given",
            "needs to be present",
            "needs to be provided",
            "should be present",
            "cannot be omitted",
            "can not be omitted",
            "must not be omitted",
            "lacks",
            "please provide",
            "required fields",
            "missing fields",
            "required field",
            "missing field",
            "required parameters",
            "missing parameters",
            "required parameter",
            "missing parameter",
            "required properties",
            "missing properties",
            "required property",
            "missing property",
            "required argument",
            "required arguments",
            "missing argument",
            "missing arguments",
            "missing required",
            "missing required fields",
            "missing required field",
            "missing required parameter",
            "missing required parameters",
            "missing required property",
            "missing required argument",
        ],
    ),
    (
        Cue::MissingNamed,
        &["add", "provide", "supply", "include", "specify", "set", "without", "no value for", "a value for", "no"],
    ),
    (
        Cue::Expected,
        &[
            "expected",
            "expected type",
            "expects",
            "expecting",
            "must be",
            "should be",
            "needs to be",
            "need to be",
            "has to be",
            "have to be",
            "ought to be",
            "not a",
            "not an",
            "is not",
            "not of type",
            "of type",
            "type",
            "wants",
            "wanted",
            "accepts",
            "accepts only",
            "takes",
            "takes only",
            "only",
            "can be",
            "can only be",
            "may be",
            "use",
            "provide",
            "to be",
        ],
    ),
    (
        Cue::Options,
        &[
            "one of",
            "any of",
            "valid options",
            "options",
            "valid values",
            "allowed values",
            "allowed options",
            "accepted values",
            "possible values",
            "permitted values",
            "supported values",
            "valid choices",
            "choices",
            "choose from",
            "choose between",
            "pick from",
            "pick one",
            "allowed",
            "enum",
            "either",
            "values",
            "choose",
        ],
    ),
    (Cue::Valid, &["valid", "known", "supported"]),
    (
        Cue::AtLeast,
        &[
            ">=",
            "≥",
            "at least",
            "minimum",
            "min",
            "greater than or equal to",
            "greater or equal",
            "no less than",
            "not less than",
            "no fewer than",
            "not be less than",
            "not be below",
            "min length",
            "minimum length",
            "min items",
            "minimum items",
            "minlength",
            "minitems",
            "no smaller than",
            "gte",
            "ge",
        ],
    ),
    (Cue::Above, &[">", "greater than", "more than", "above", "larger than", "higher than", "exclusiveminimum", "gt"]),
    (
        Cue::AtMost,
        &[
            "<=",
            "≤",
            "at most",
            "maximum",
            "max",
            "less than or equal to",
            "less or equal",
            "no more than",
            "not more than",
            "up to",
            "not exceed",
            "not be greater than",
            "not be more than",
            "not be above",
            "max length",
            "maximum length",
            "max items",
            "maximum items",
            "maxlength",
            "maxitems",
            "no greater than",
            "no larger than",
            "lte",
            "le",
        ],
    ),
    (
        Cue::Below,
        &["<", "less than", "below", "under", "smaller than", "fewer than", "lower than", "exclusivemaximum", "lt"],
    ),
    (Cue::Between, &["between", "in the range", "within the range", "range", "from"]),
    (Cue::MultipleOf, &["multiple of", "multipleof", "divisible by", "multiples of"]),
    (
        Cue::Invalid,
        &["invalid", "malformed", "not a valid", "is not a valid", "validation", "must be a valid", "a valid"],
    ),
    (Cue::Format, &["format", "formatted as", "formatted", "in the form", "a format", "as an", "as a"]),
    (Cue::FormatItself, &["yyyy-mm-dd", "iso 8601", "iso-8601", "rfc 3339", "rfc3339", "hh:mm", "e.164", "iso date"]),
    (Cue::Pattern, &["pattern", "regex", "regular expression", "match", "matches", "matching"]),
    (
        Cue::Unrecognised,
        &[
            "unrecognized",
            "unrecognised",
            "unrecognized_keys",
            "unknown field",
            "unknown fields",
            "unknown key",
            "unknown keys",
            "unknown property",
            "unknown parameter",
            "unknown parameters",
            "unknown argument",
            "unknown arguments",
            "unexpected field",
            "unexpected fields",
            "unexpected key",
            "unexpected keys",
            "unexpected property",
            "unexpected parameter",
            "unexpected argument",
            "unexpected keyword argument",
            "extra inputs",
            "extra input",
            "extra field",
            "extra fields",
            "extra keys",
            "extra_forbidden",
            "additional property",
            "additional properties",
            "not a known field",
            "not a known parameter",
            "not a known argument",
            "not a known property",
            "not known",
            "was unexpected",
            "no such field",
            "there is no field",
            "there is no parameter",
            "there is no argument",
            "drop",
            "no such parameter",
            "no such argument",
            "not declared",
            "undeclared",
            "undeclared field",
            "not part of the schema",
            "not in the schema",
            "is not accepted",
            "not accepted",
            "is unexpected",
            "not allowed",
            "is not allowed",
            "are not allowed",
            "not permitted",
            "is not permitted",
            "are not permitted",
            "remove",
        ],
    ),
    (
        Cue::TakenNamed,
        &[
            "already has the same",
            "already have the same",
            "exists with the same",
            "choose another",
            "pick another",
            "send another",
            "use another",
            "choose a different",
            "pick a different",
            "send a different",
            "use a different",
        ],
    ),
    (Cue::Taken, &["already taken", "already in use", "already exists", "already used"]),
    (
        Cue::Actions,
        &[
            "available_actions",
            "available actions",
            "availableactions",
            "valid actions",
            "known actions",
            "supported actions",
            "allowed actions",
            "existing actions",
            "possible actions",
            "actions",
            "suggested_actions",
            "suggested actions",
            "next_actions",
            "next actions",
            "valid_actions",
        ],
    ),
    (Cue::Call, &["call", "try", "run", "invoke", "use", "try calling", "using", "via", "see", "with"]),
    (
        Cue::Delay,
        &[
            "retry_after",
            "retry-after",
            "retry after",
            "retryafter",
            "retry_after_seconds",
            "retry_after_ms",
            "retryafterseconds",
            "retryafterms",
            "retry_in",
            "retry in",
            "try again in",
            "try again after",
            "again in",
            "again after",
            "wait",
            "wait for",
            "wait at least",
            "waiting",
            "resets in",
            "reset in",
        ],
    ),
    (
        Cue::Transient,
        &[
            "timed out",
            "timeout",
            "time out",
            "too many requests",
            "rate limit",
            "rate limited",
            "rate_limited",
            "rate limit exceeded",
            "busy",
            "server_busy",
            "temporarily",
            "temporary",
            "unavailable",
            "overloaded",
            "try again later",
            "retry later",
            "try again shortly",
            "please retry",
            "please try again",
            "transient",
            "throttled",
            "over capacity",
            "at capacity",
            "concurrency limit",
            "same call again",
            "same request again",
            "retry the same call",
            "retry the call",
            "retry the request",
        ],
    ),
    (
        Cue::Stop,
        &[
            "forbidden",
            "permission",
            "permissions",
            "not authorized",
            "not authorised",
            "unauthorized",
            "unauthorised",
            "access denied",
            "not allowed to",
            "contact an admin",
            "contact your admin",
            "contact an administrator",
            "contact your administrator",
            "contact the administrator",
            "contact support",
            "ask an admin",
            "ask an administrator",
            "only administrators",
            "only admins",
            "only an administrator",
            "only an admin",
            "cannot be undone",
            "do not retry",
            "don t retry",
            "not retry",
            "not try the same call again",
            "not send the same call again",
            "missing credentials",
            "requires the role",
            "lack the role",
        ],
    ),
    (
        Cue::Truncated,
        &[
            "truncated",
            "showing",
            "narrow",
            "narrow results",
            "narrow the results",
            "use filters",
            "filter by",
            "were omitted",
        ],
    ),
    (Cue::Page, &["add", "advance", "increase", "raise"]),
    (
        Cue::Nothing,
        &[
            "not required",
            "invalid type",
            "must not be",
            "should not be",
            "cannot be",
            "can not be",
            "required type",
            "not missing",
            "received type",
            "actual type",
            "got type",
            "sent type",
            "input type",
            "set of",
            "allowed to",
            "call the tool",
            "call this tool",
            "no missing",
            "more than one",
            "not forbidden",
        ],
    ),
];

/// Phrases by the first letter and the length of their first word; within a row the longest first, so that the longest is heard.
static TABLE: LazyLock<Vec<Vec<Phrase>>> = LazyLock::new(|| {
    let mut table: Vec<Vec<Phrase>> = (0..27 * LENGTHS).map(|_| Vec::new()).collect();
    for (cue, phrases) in PHRASES {
        for phrase in *phrases {
            let words: Vec<&'static str> = phrase.split(' ').collect();
            table[row(words[0])].push(Phrase { words, cue: *cue });
        }
    }
    for row in &mut table {
        // Stable: of two cues for the same words the one that is declared first comes first.
        row.sort_by_key(|phrase| std::cmp::Reverse(phrase.words.len()));
    }
    table
});

/// Rows per first letter: longer words share the last one.
const LENGTHS: usize = 16;

struct Phrase {
    words: Vec<&'static str>,
    cue: Cue,
}

fn row(word: &str) -> usize {
    let letter = match word.bytes().next() {
        Some(first) if first.is_ascii_alphabetic() => usize::from(first.to_ascii_lowercase() - b'a'),
        _ => 26,
    };
    letter * LENGTHS + word.len().min(LENGTHS - 1)
}

/// The cues that start with the token at `at`, and how many tokens the phrase takes. Two phrases of the same words may mean two
/// things (`use 'a'`, `use billing.list`); the longest length decides, and all its cues are given.
pub(super) fn cues_at<'t>(tokens: &'t [Token<'t>], at: usize) -> impl Iterator<Item = (Cue, usize)> + 't {
    let first = tokens[at];
    let listed: &[Phrase] = match first.kind {
        Kind::Word | Kind::Mark => &TABLE[row(first.text)],
        _ => &[],
    };
    let mut longest = None;
    listed.iter().filter_map(move |phrase| {
        let length = phrase.words.len();
        if longest.is_some_and(|longest| length < longest) || at + length > tokens.len() {
            return None;
        }
        let said = tokens[at..at + length].iter().zip(&phrase.words);
        let heard = said.into_iter().all(|(token, word)| {
            matches!(token.kind, Kind::Word | Kind::Mark) && token.text.eq_ignore_ascii_case(word)
        });
        if heard {
            longest = Some(length);
        }
        heard.then_some((phrase.cue, length))
    })
}

/// The JSON type that a word names.
pub(super) fn json_type(word: &str) -> Option<&'static str> {
    const TYPES: &[(&str, &[&str])] = &[
        ("string", &["string", "str"]),
        ("number", &["number", "numeric", "float", "decimal", "double", "f64", "f32"]),
        ("integer", &["integer", "int", "i64", "u64", "i32", "u32", "u16", "u8", "usize", "i128", "whole"]),
        ("boolean", &["boolean", "bool"]),
        ("array", &["array", "list", "sequence", "tuple"]),
        ("object", &["object", "map", "dict", "dictionary", "struct"]),
        ("null", &["null"]),
    ];
    TYPES.iter().find(|(_, words)| words.iter().any(|known| known.eq_ignore_ascii_case(word))).map(|(name, _)| *name)
}

/// Whether a word names a type of whole numbers that are never negative.
pub(super) fn is_unsigned(word: &str) -> bool {
    ["u8", "u16", "u32", "u64", "u128", "usize", "uint", "unsigned"].contains(&word)
}

/// Whether a word names a way to write a value.
pub(super) fn is_format(word: &str) -> bool {
    const FORMATS: &[&str] = &[
        "email",
        "e-mail",
        "uuid",
        "guid",
        "url",
        "uri",
        "date",
        "datetime",
        "date-time",
        "time",
        "timestamp",
        "ipv4",
        "ipv6",
        "ip",
        "phone",
        "hostname",
        "iso",
        "cuid",
        "ulid",
        "base64",
        "duration",
        "iso-8601",
        "iso8601",
        "rfc3339",
        "slug",
        "regex",
        "yyyy-mm-dd",
    ];
    FORMATS.iter().any(|known| known.eq_ignore_ascii_case(word))
}
