use healbench_core::fingerprint;

/// The beginning of a line with a checksum.
const START: &str = r#"{"checksum":""#;
/// The text between the checksum and the members that it covers.
const AFTER: &str = r#"","#;
/// The number of hexadecimal digits of a checksum.
const DIGITS: usize = 8;

/// The reason why a line cannot be trusted.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum ChecksumError {
    /// The line was not written by [`line_with_checksum`], or its beginning is damaged.
    #[error("it has no checksum")]
    Missing,
    /// The line was changed.
    #[error("its checksum does not match")]
    Mismatch,
}

/// Formats a JSON object on one line, with a line break. Its first member is a checksum of the others.
///
/// `members` is the text of the object without its opening brace. It must have at least one member and no line break.
pub fn line_with_checksum(members: &str) -> String {
    format!("{START}{}{AFTER}{members}\n", checksum(members))
}

/// Returns the members of the output of [`line_with_checksum`] without its line break.
///
/// # Errors
/// [`ChecksumError`].
pub fn checked_members(line: &str) -> Result<&str, ChecksumError> {
    let stored = line.strip_prefix(START).and_then(|rest| rest.split_once(AFTER));
    let (stored, members) = stored.ok_or(ChecksumError::Missing)?;
    if stored == checksum(members) { Ok(members) } else { Err(ChecksumError::Mismatch) }
}

/// Returns the first digits of the SHA-256.
fn checksum(members: &str) -> String {
    let mut digits = fingerprint(members.as_bytes());
    digits.truncate(DIGITS);
    digits
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_flipped_bit_of_a_line_is_noticed() {
        let line = line_with_checksum(r#""episode":7,"text":"a \"quote\""}"#);
        let line = line.strip_suffix('\n').unwrap();
        assert_eq!(checked_members(line), Ok(r#""episode":7,"text":"a \"quote\""}"#));
        assert_eq!(serde_json::from_str::<serde_json::Value>(line).unwrap()["episode"], 7);
        for bit in 0..line.len() * 8 {
            let mut damaged = line.as_bytes().to_vec();
            damaged[bit / 8] ^= 1 << (bit % 8);
            let accepted = str::from_utf8(&damaged).is_ok_and(|damaged| checked_members(damaged).is_ok());
            assert!(!accepted, "bit {bit}");
        }
        assert_eq!(checked_members(r#"{"episode":7}"#), Err(ChecksumError::Missing));
    }
}
