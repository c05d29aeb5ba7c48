//! The hash with which a manifest ends.

use healbench_core::fingerprint;

/// The line of a manifest with its hash, which covers all bytes before it. `head -n -2 manifest.json | sha256sum` prints
/// the same.
fn manifest_end(text: &str) -> String {
    format!("  \"digest\": \"{}\"\n}}\n", fingerprint(text.as_bytes()))
}

/// Adds its hash to the JSON of a manifest.
pub(crate) fn seal_manifest(json: &str) -> String {
    let open = json.trim_end().trim_end_matches('}').trim_end();
    let text = format!("{open},\n");
    let end = manifest_end(&text);
    text + &end
}

/// Returns true if a text is the output of [`seal_manifest`].
pub(crate) fn is_sealed(text: &[u8]) -> bool {
    let Ok(text) = str::from_utf8(text) else { return false };
    let length = manifest_end("").len();
    let at = text.len().checked_sub(length).filter(|at| text.is_char_boundary(*at));
    at.is_some_and(|at| manifest_end(&text[..at]) == text[at..])
}
