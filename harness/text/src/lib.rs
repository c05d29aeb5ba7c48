//! Texts: escapes of what is shown, numbers, columns on a terminal, the masking of secrets, templates of error texts, and the comparison of
//! names.

mod display;
mod layout;
mod number;
mod printable;
mod secrets;
mod shell;
mod similar;
pub mod template;

pub use display::{escape_markdown, is_unsafe, plain_text, xml_text};
pub use layout::{Paint, StyledSpan, Table, TableCell, TableLine, wrap};
pub use number::{
    UNKNOWN, agree, amount, bound_digits, count, money, p_value, part_of, percent, percent_digits, pluralize, points,
    signed_amount, signed_digits, times,
};
pub use printable::is_unprintable;
pub use secrets::{
    Secrets, TimeLimitExceeded, keep_public, keep_secret, keep_variable, looks_like_secret, names_secret, secrets,
    secrets_in_url,
};
pub use shell::shell_quote;
pub use similar::{compared_part, name_words, nearest_name, resemblance};
