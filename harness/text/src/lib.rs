//! Texts: escapes of what is shown, the masking of secrets, the comparison of names, and counts of tokens.

#![warn(missing_docs)]

mod display;
mod printable;
mod secrets;
mod similar;
mod tokens;

pub use display::{escape_markdown, is_unsafe, plain_text, xml_text};
pub use printable::is_unprintable;
pub use secrets::{
    Secrets, TimeLimitExceeded, keep_secret, keep_variable, looks_like_secret, names_secret, secrets, secrets_in_url,
};
pub use similar::{compared_part, nearest_name};
pub use tokens::{TOKENIZER, TokenCounter, count_tokens, is_estimated};
