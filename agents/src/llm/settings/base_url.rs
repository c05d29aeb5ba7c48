//! Validation of base URLs.

use std::net::IpAddr;

use reqwest::Url;

/// Returns a base URL in normal form without a trailing slash, or the problem with it.
pub(super) fn normalize(text: &str) -> Result<String, &'static str> {
    let is_plain = !text.chars().any(|c| c.is_whitespace() || c.is_control());
    let url = Url::parse(text).ok().filter(|_| is_plain).ok_or("is not a URL, such as `http://127.0.0.1:8080/v1`")?;
    if !matches!(url.scheme(), "http" | "https") || url.host_str().is_none() {
        return Err("has to be an `http` or `https` URL");
    }
    if !url.username().is_empty() || url.password().is_some() {
        return Err("holds credentials, which are not shown: they belong into `key_env` or `headers_env`");
    }
    if url.query().is_some() || url.fragment().is_some() {
        return Err("must not have a query or a fragment; what stands there is not shown");
    }
    Ok(url.as_str().trim_end_matches('/').to_owned())
}

/// Returns true if a base URL refers to this machine.
pub(super) fn is_loopback(base_url: &str) -> bool {
    let Some(host) = Url::parse(base_url).ok().and_then(|url| url.host_str().map(str::to_owned)) else { return false };
    let address = host.trim_start_matches('[').trim_end_matches(']').parse::<IpAddr>();
    host == "localhost" || host.ends_with(".localhost") || address.is_ok_and(|address| address.is_loopback())
}
