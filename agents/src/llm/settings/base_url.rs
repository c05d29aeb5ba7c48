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
    if !is_shown(&url) {
        return Err((
            "has a query or a fragment, which is not shown",
            "only `?api-version=…` may follow on the path; a key belongs into `key_env` or `headers_env`",
        ));
    }
    let mut url = url;
    let path = url.path().trim_end_matches('/').to_owned();
    if ENDPOINTS.iter().any(|end| path.ends_with(end)) {
        return Err((
            "is the address of one endpoint",
            "leave out the last part of its path, up to what is often `/v1`",
        ));
    }
    url.set_path(&path);
    let text = url.as_str();
    Ok(text.strip_suffix('/').unwrap_or(text).replace(SOME_HOST, HOST))
}

/// The ends of paths that healbench adds by itself.
const ENDPOINTS: [&str; 6] =
    ["/chat/completions", "/completions", "/responses", "/v1/messages", "/v1/models", ":generateContent"];

/// Returns true if a URL has nothing behind its path but the version of Azure's API.
pub(in crate::llm) fn is_shown(url: &Url) -> bool {
    url.fragment().is_none() && url.query_pairs().all(|(key, _)| key == "api-version")
}
