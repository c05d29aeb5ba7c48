//! Texts that are shown: escapes, the comparison of names, and the masking of secrets.

#![warn(missing_docs)]

mod display;
mod printable;
mod secrets;
mod similar;

pub use display::{escape_markdown, is_unsafe, plain_text, xml_text};
pub use printable::is_unprintable;
pub use secrets::{
    Secrets, TimeLimitExceeded, keep_secret, keep_variable, looks_like_secret, names_secret, secrets, secrets_in_url,
};
pub use similar::{compared_part, nearest_name};
