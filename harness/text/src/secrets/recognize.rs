//! Recognizes secrets: by the names of values, by well-known prefixes, and in URLs.

/// The words in the name of a value that say that it is a secret.
const SECRET_NAMES: [&str; 10] =
    ["key", "pass", "pwd", "pin", "auth", "authorization", "credential", "credentials", "signature", "sig"];
/// The last words of names whose value is none all the same.
const NOT_SECRET_NAMES: [&str; 8] = ["file", "path", "dir", "env", "name", "sock", "type", "url"];
/// The first and the last words of names of numbers of tokens.
const NUMBER_STARTS: [&str; 4] = ["max", "min", "total", "num"];
const NUMBER_ENDS: [&str; 6] = ["count", "limit", "budget", "usage", "length", "size"];
/// The ends of words that say the same.
const SECRET_NAME_ENDS: [&str; 6] = ["apikey", "token", "secret", "password", "passwd", "passphrase"];

/// The prefixes of the secrets of well-known services.
const SECRET_PREFIXES: [&str; 15] = [
    "sk-",
    "sk_",
    "AIza",
    "gsk_",
    "xai-",
    "hf_",
    "pplx-",
    "nvapi-",
    "ghp_",
    "github_pat_",
    "r8_",
    "AKIA",
    "ya29.",
    "eyJ",
    "AQ.",
];
/// Shorter words are not secrets, regardless of their prefix.
const MIN_PREFIXED_CHARS: usize = 20;

/// Returns true if a text appears to contain a secret.
pub fn looks_like_secret(text: &str) -> bool {
    let text = text.trim();
    let is_inside = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.');
    let is_secret =
        |word: &str| word.len() >= MIN_PREFIXED_CHARS && SECRET_PREFIXES.iter().any(|start| word.starts_with(start));
    ["sk-", "AIza", "Bearer ", "-----BEGIN"].iter().any(|start| text.starts_with(start))
        || text.split(|c| !is_inside(c)).any(is_secret)
}

/// Returns true if a name, such as that of a variable or of a parameter of a URL, says that its value is a secret: `apiKey` and
/// `API_KEY` do, `monkey` and `max_tokens` do not.
pub fn names_secret(name: &str) -> bool {
    let mut words = vec![String::new()];
    let mut before_is_lower = false;
    for c in name.chars() {
        if !c.is_alphanumeric() || (c.is_uppercase() && before_is_lower) {
            words.push(String::new());
        }
        before_is_lower = c.is_lowercase() || c.is_numeric();
        if let Some(word) = words.last_mut().filter(|_| c.is_alphanumeric()) {
            word.extend(c.to_lowercase());
        }
    }
    let is_secret =
        |word: &String| SECRET_NAMES.contains(&word.as_str()) || SECRET_NAME_ENDS.iter().any(|end| word.ends_with(end));
    let is_one_of = |word: Option<&String>, known: &[&str]| word.is_some_and(|word| known.contains(&word.as_str()));
    // `token_limit` is a number, and `MAX_API_KEY` a key.
    let is_number = (is_one_of(words.first(), &NUMBER_STARTS) || is_one_of(words.last(), &NUMBER_ENDS))
        && words.iter().filter(|word| is_secret(word)).all(|word| word == "token");
    !is_one_of(words.last(), &NOT_SECRET_NAMES) && !is_number && words.iter().any(is_secret)
}

/// Returns the parts of a URL that are secrets: a password, and the values of parameters that are called or look like one.
pub fn secrets_in_url(url: &str) -> Vec<&str> {
    let mut found: Vec<&str> = password_of_url(url).into_iter().collect();
    let after = url.split_once(['?', '#']).map_or("", |(_, after)| after);
    let parameters = after.split(['&', ';', '?', '#']).filter_map(|parameter| parameter.split_once('='));
    found.extend(parameters.filter(|(name, value)| names_secret(name) && !value.is_empty()).map(|(_, value)| value));
    found.extend(url.split(['/', '?', '#', '&', ';', '=']).filter(|part| looks_like_secret(part)));
    found
}

/// Returns the password in a URL of any scheme.
pub(super) fn password_of_url(text: &str) -> Option<&str> {
    let (_, rest) = text.split_once("://")?;
    let authority = rest.split(['/', '?', '#']).next()?;
    let (user, _) = authority.rsplit_once('@')?;
    user.split_once(':').map(|(_, password)| password)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn secrets_in_urls_are_found() {
        for (url, expected) in [
            ("https://a.example/mcp?key=abc", vec!["abc"]),
            ("https://a.example/mcp?q=1&tavilyApiKey=tvly-1#token=x", vec!["tvly-1", "x"]),
            ("https://ann:h0rse@a.example/mcp", vec!["h0rse"]),
            ("https://a.example/sk-0123456789abcdef0123/mcp", vec!["sk-0123456789abcdef0123"]),
            ("https://a.example/mcp?page=2", vec![]),
        ] {
            assert_eq!(secrets_in_url(url), expected, "{url}");
        }
    }

    #[test]
    fn names_of_secrets_are_known() {
        for name in ["API_KEY", "apiKey", "tavilyApiKey", "key", "GITHUB_TOKEN", "access_token", "PGPASSWORD", "X-Auth"]
        {
            assert!(names_secret(name), "{name}");
        }
        let counts = ["MAX_TOKENS", "max_token", "token_count", "inputTokenCount", "token_limit"];
        for name in ["monkey", "author", "PORT", "KEY_FILE", "token_env", "keyboard", "q", ""].into_iter().chain(counts)
        {
            assert!(!names_secret(name), "{name}");
        }
    }
}
