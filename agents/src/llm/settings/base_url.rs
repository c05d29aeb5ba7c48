//! Validation of base URLs.

use reqwest::Url;

/// Stands in a base URL for the name of the machine that the run is on.
pub(in crate::llm) const HOST: &str = "{host}";
/// Replaces [`HOST`] while a URL is checked, since braces cannot be in the name of a host.
const SOME_HOST: &str = "healbench-host.invalid";

/// Returns a base URL in normal form without a trailing slash, or the problem with it and help.
pub(super) fn normalize(text: &str) -> Result<String, (&'static str, &'static str)> {
    const EXAMPLE: &str = "write one such as `http://127.0.0.1:8080/v1`";
    let is_plain = !text.chars().any(|c| c.is_whitespace() || c.is_control());
    let url = Url::parse(&text.replace(HOST, SOME_HOST)).ok().filter(|_| is_plain).ok_or(("is not a URL", EXAMPLE))?;
    if !matches!(url.scheme(), "http" | "https") || url.host_str().is_none() {
        return Err(("has to be an `http` or `https` URL", EXAMPLE));
    }
    if !url.username().is_empty() || url.password().is_some() {
        return Err(("holds credentials, which are not shown", "they belong into `key_env` or `headers_env`"));
    }
    if url.query().is_some() || url.fragment().is_some() {
        return Err(("has a query or a fragment, which is not shown", EXAMPLE));
    }
    Ok(url.as_str().trim_end_matches('/').replace(SOME_HOST, HOST))
}
