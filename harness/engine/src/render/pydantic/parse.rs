//! Messages of the parsers behind pydantic about invalid strings. They are only called for strings that JSON Schema
//! rejects; if a parser would accept such a string, its closest message is used.

use std::collections::BTreeSet;

/// Returns the error of pydantic's URL parser.
pub(super) fn url_error(text: &str) -> &'static str {
    const NO_SCHEME: &str = "relative URL without a base";
    const BAD_HOST: &str = "invalid international domain name";
    if text.is_empty() {
        return "input is empty";
    }
    let Some((scheme, rest)) = text.split_once(':') else { return NO_SCHEME };
    let is_scheme_char = |c: char| c.is_ascii_alphanumeric() || matches!(c, '+' | '-' | '.');
    if !scheme.starts_with(|c: char| c.is_ascii_alphabetic()) || !scheme.chars().all(is_scheme_char) {
        return NO_SCHEME;
    }
    if !matches!(scheme.to_ascii_lowercase().as_str(), "http" | "https" | "ws" | "wss" | "ftp") {
        return "invalid domain character";
    }
    let authority = rest.trim_start_matches(['/', '\\']).split(['/', '\\', '?', '#']).next().unwrap_or_default();
    let host_and_port = authority.rsplit_once('@').map_or(authority, |(_, after)| after);
    if host_and_port.starts_with('[') {
        return "invalid IPv6 address";
    }
    let (host, port) = host_and_port.split_once(':').unwrap_or((host_and_port, ""));
    if host.is_empty() {
        "empty host"
    } else if host.split('.').all(|part| !part.is_empty() && part.bytes().all(|byte| byte.is_ascii_digit())) {
        "invalid IPv4 address"
    } else if !port.is_empty() && port.parse::<u16>().is_err() {
        "invalid port number"
    } else {
        BAD_HOST
    }
}

/// Returns the error of pydantic's UUID parser.
pub(super) fn uuid_error(text: &str) -> String {
    const GROUPS: [usize; 5] = [8, 4, 4, 4, 12];
    const MAX_LENGTH: usize = 45;
    let lengths: Vec<usize> = text.split('-').map(str::len).collect();
    let bad = text.char_indices().find(|(_, c)| !c.is_ascii_hexdigit() && *c != '-');
    match bad {
        _ if text.len() > MAX_LENGTH => format!("invalid length: found {}", text.len()),
        Some((at, bad)) => format!("invalid character: found `{bad}` at {at}"),
        None if lengths.len() == 1 && text.len() != 36 => format!("invalid length: found {}", text.len()),
        None if lengths.len() != GROUPS.len() => format!("invalid group count: expected 5, found {}", lengths.len()),
        None => {
            let wrong = lengths.iter().zip(GROUPS).position(|(found, expected)| *found != expected).unwrap_or(4);
            let (found, expected) = (lengths[wrong], GROUPS[wrong]);
            format!("invalid group length in group {wrong}: expected {expected}, found {found}")
        }
    }
}

/// Returns true if pydantic would parse the string as a value of the JSON type.
pub(super) fn parses_as(text: &str, name: &str) -> bool {
    const BOOLEANS: [&str; 12] = ["0", "1", "f", "false", "n", "no", "off", "on", "t", "true", "y", "yes"];
    let text = text.trim();
    match name {
        "integer" => {
            let integer = text.split_once('.').filter(|(_, zeros)| zeros.bytes().all(|byte| byte == b'0'));
            let digits = integer.map_or(text, |(integer, _)| integer);
            let digits = digits.strip_prefix(['+', '-']).unwrap_or(digits);
            !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit())
        }
        "number" => text.parse::<f64>().is_ok(),
        "boolean" => BOOLEANS.contains(&text.to_ascii_lowercase().as_str()),
        _ => false,
    }
}

/// Returns the error of pydantic's date parser; `None` if the string is a timestamp or a date with a time.
pub(super) fn date_error(text: &str) -> Option<&'static str> {
    // A number is a timestamp.
    if text.parse::<f64>().is_ok() && text.bytes().all(|byte| byte.is_ascii_digit() || matches!(byte, b'.' | b'-')) {
        return None;
    }
    parse_date_time(text.as_bytes()).err()
}

/// Returns the error of pydantic's datetime parser and its kind: the problem of the date, if there is one. If pydantic
/// would accept the string, returns the error of a server that requires the time or the time zone.
pub(super) fn date_time_error(text: &str) -> (String, &'static str) {
    let bytes = text.as_bytes();
    match (parse_date(bytes), parse_date_time(bytes)) {
        (Err(reason), _) => {
            (format!("Input should be a valid datetime or date, {reason}"), "datetime_from_date_parsing")
        }
        (Ok(()), Err(_)) if bytes.len() > 10 => {
            (format!("Input should be a valid datetime or date, {TRAILING}"), "datetime_from_date_parsing")
        }
        (Ok(()), Err(_)) => (format!("Input should be a valid datetime, {SEPARATOR}"), "datetime_parsing"),
        (Ok(()), Ok(HasTimeZone(false))) => ("Input should have timezone info".to_owned(), "timezone_aware"),
        (Ok(()), Ok(HasTimeZone(true))) => ("Input should be a valid datetime".to_owned(), "datetime_type"),
    }
}

/// Returns the error of pydantic's time parser.
pub(super) fn time_error(text: &str) -> &'static str {
    let all = |bytes: &[u8]| parse_zone(bytes, parse_time(bytes)?);
    all(text.as_bytes()).err().unwrap_or(TRAILING)
}

const TOO_SHORT: &str = "input is too short";
const SEPARATOR: &str = "invalid datetime separator, expected `T`, `t`, `_` or space";
const TRAILING: &str = "unexpected extra characters at the end of the input";

/// True if a time has a time zone.
struct HasTimeZone(bool);

fn parse_date_time(bytes: &[u8]) -> Result<HasTimeZone, &'static str> {
    parse_date(bytes)?;
    match bytes.get(10) {
        None => return Err(TOO_SHORT),
        Some(b'T' | b't' | b' ' | b'_') => {}
        Some(_) => return Err(SEPARATOR),
    }
    let rest = &bytes[11..];
    parse_zone(rest, parse_time(rest)?)
}

fn parse_digits(bytes: &[u8], at: usize, count: usize, otherwise: &'static str) -> Result<u32, &'static str> {
    let run = bytes.get(at..at + count).filter(|run| run.iter().all(u8::is_ascii_digit)).ok_or(otherwise)?;
    Ok(run.iter().fold(0, |sum, digit| sum * 10 + u32::from(digit - b'0')))
}

/// Parses a date such as `2026-12-24` at the start.
fn parse_date(bytes: &[u8]) -> Result<(), &'static str> {
    const DASH: &str = "invalid date separator, expected `-`";
    if bytes.len() < 10 {
        return Err(TOO_SHORT);
    }
    let year = parse_digits(bytes, 0, 4, "invalid character in year")?;
    if bytes[4] != b'-' {
        return Err(DASH);
    }
    let month = parse_digits(bytes, 5, 2, "invalid character in month")?;
    if bytes[7] != b'-' {
        return Err(DASH);
    }
    let day = parse_digits(bytes, 8, 2, "invalid character in day")?;
    let leap = year % 4 == 0 && (year % 100 != 0 || year % 400 == 0);
    let last = match month {
        1 | 3 | 5 | 7 | 8 | 10 | 12 => 31,
        4 | 6 | 9 | 11 => 30,
        2 if leap => 29,
        2 => 28,
        _ => return Err("month value is outside expected range of 1-12"),
    };
    if (1..=last).contains(&day) { Ok(()) } else { Err("day value is outside expected range") }
}

/// Parses `10:00`, `10:00:00` or `10:00:00.5` at the start and returns its length.
fn parse_time(bytes: &[u8]) -> Result<usize, &'static str> {
    if bytes.len() < 5 {
        return Err(TOO_SHORT);
    }
    let hour = parse_digits(bytes, 0, 2, "invalid character in hour")?;
    if bytes[2] != b':' {
        return Err("invalid time separator, expected `:`");
    }
    let minute = parse_digits(bytes, 3, 2, "invalid character in minute")?;
    if hour > 23 {
        return Err("hour value is outside expected range of 0-23");
    }
    if minute > 59 {
        return Err("minute value is outside expected range of 0-59");
    }
    if bytes.get(5) != Some(&b':') {
        return Ok(5);
    }
    if parse_digits(bytes, 6, 2, "invalid character in second")? > 59 {
        return Err("second value is outside expected range of 0-59");
    }
    if !matches!(bytes.get(8), Some(b'.' | b',')) {
        return Ok(8);
    }
    match bytes[9..].iter().take_while(|byte| byte.is_ascii_digit()).count() {
        0 => Err("second fraction digits missing after `.`"),
        count => Ok(9 + count),
    }
}

/// Parses nothing, `Z` or `+10:00` from `at` to the end.
fn parse_zone(bytes: &[u8], at: usize) -> Result<HasTimeZone, &'static str> {
    let end = match bytes.get(at) {
        None => return Ok(HasTimeZone(false)),
        Some(b'Z' | b'z') => at + 1,
        Some(b'+' | b'-') => {
            let hours = parse_digits(bytes, at + 1, 2, "invalid timezone hour")?;
            let minutes_at = at + 3 + usize::from(bytes.get(at + 3) == Some(&b':'));
            if parse_digits(bytes, minutes_at, 2, "invalid timezone minute")? > 59 {
                return Err("timezone minute value is outside expected range of 0-59");
            }
            if hours > 23 {
                return Err("timezone offset must be less than 24 hours");
            }
            minutes_at + 2
        }
        Some(_) => return Err("invalid timezone sign"),
    };
    if end == bytes.len() { Ok(HasTimeZone(true)) } else { Err(TRAILING) }
}

/// Returns the error of pydantic's e-mail validator.
pub(super) fn email_error(text: &str) -> String {
    if text.contains(['\r', '\n']) {
        return "Carriage return and line feed characters are not allowed".to_owned();
    }
    let Some((local, domain)) = text.trim().split_once('@') else {
        return "An email address must have an @-sign.".to_owned();
    };
    if local.is_empty() {
        return "There must be something before the @-sign.".to_owned();
    }
    let is_atom_char = |c: char| c.is_ascii_alphanumeric() || !c.is_ascii() || "!#$%&'*+-/=?^_`{|}~.".contains(c);
    if let Some(bad) = invalid_chars(local, is_atom_char) {
        return format!("The email address contains invalid characters before the @-sign: {bad}.");
    }
    if let Some(reason) = edge_error(local, '.', BEFORE_AT) {
        return reason;
    }
    if domain.is_empty() {
        return "There must be something after the @-sign.".to_owned();
    }
    if domain.starts_with('[') && domain.ends_with(']') {
        return "A bracketed IP address after the @-sign is not allowed here.".to_owned();
    }
    let is_host_char = |c: char| c.is_ascii_alphanumeric() || !c.is_ascii() || matches!(c, '-' | '.');
    if let Some(bad) = invalid_chars(domain, is_host_char) {
        return format!("The part after the @-sign contains invalid characters: {bad}.");
    }
    edge_error(domain, '.', AFTER_AT).or_else(|| edge_error(domain, '-', AFTER_AT)).unwrap_or_else(|| {
        let reason = match domain {
            _ if domain.contains(".-") || domain.contains("-.") => {
                return "An email address cannot have a period and a hyphen next to each other.".to_owned();
            }
            _ if domain.contains('.') => "It is not within a valid top-level domain",
            _ => "It should have a period",
        };
        format!("The part after the @-sign is not valid. {reason}.")
    })
}

/// The messages about a punctuation mark at the start and at the end.
type EdgeMessages = [&'static str; 2];
const BEFORE_AT: EdgeMessages = ["cannot start with a {}", "cannot have a {} immediately before the @-sign"];
const AFTER_AT: EdgeMessages = ["cannot have a {} immediately after the @-sign", "cannot end with a {}"];

fn edge_error(text: &str, punctuation: char, [start, end]: EdgeMessages) -> Option<String> {
    let name = if punctuation == '.' { "period" } else { "hyphen" };
    let reason = if text.ends_with(punctuation) {
        end
    } else if text.starts_with(punctuation) {
        start
    } else if punctuation == '.' && text.contains("..") {
        "cannot have two periods in a row"
    } else {
        return None;
    };
    Some(format!("An email address {}.", reason.replace("{}", name)))
}

/// Returns each character that is not `allowed` once, as formatted by the validator.
fn invalid_chars(text: &str, allowed: impl Fn(char) -> bool) -> Option<String> {
    let shown = |c: char| match c {
        ' ' => "SPACE".to_owned(),
        '\\' => "\"\\\"".to_owned(),
        '\'' => "\"'\"".to_owned(),
        c if c.is_control() => format!("U+{:04X}", u32::from(c)),
        c => format!("'{c}'"),
    };
    let bad: BTreeSet<String> = text.chars().filter(|c| !allowed(*c)).map(shown).collect();
    (!bad.is_empty()).then(|| bad.into_iter().collect::<Vec<_>>().join(", "))
}
