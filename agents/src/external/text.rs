//! The end of a text of any length, which is all that is kept of what a program says.

/// The bytes of a text that are kept.
const KEPT_BYTES: usize = 64 << 10;

/// The last [`KEPT_BYTES`] of a text.
#[derive(Default)]
pub(super) struct KeptText(String);

impl KeptText {
    /// Appends a part, and adds the number of bytes that are dropped.
    pub(super) fn push(&mut self, part: &str, dropped: &mut u64) {
        self.0.push_str(part);
        // Many bytes are moved seldom.
        if self.0.len() > 2 * KEPT_BYTES {
            self.cut(dropped);
        }
    }

    pub(super) fn clear(&mut self) {
        self.0.clear();
    }

    /// Returns the text, and adds the number of bytes that are dropped.
    pub(super) fn take(&mut self, dropped: &mut u64) -> String {
        self.cut(dropped);
        std::mem::take(&mut self.0)
    }

    fn cut(&mut self, dropped: &mut u64) {
        let cut = self.0.ceil_char_boundary(self.0.len().saturating_sub(KEPT_BYTES));
        *dropped += cut as u64;
        self.0.drain(..cut);
        self.0.shrink_to(2 * KEPT_BYTES);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_end_of_a_text_is_kept_and_the_rest_is_counted() {
        for part in ["ab", "ü€", "🙂x", &"long ".repeat(KEPT_BYTES)] {
            let (mut kept, mut whole, mut dropped) = (KeptText::default(), String::new(), 0);
            while whole.len() < 5 * KEPT_BYTES {
                kept.push(part, &mut dropped);
                whole.push_str(part);
                assert!(kept.0.len() <= 2 * KEPT_BYTES);
            }
            let text = kept.take(&mut dropped);
            assert!(whole.ends_with(&text));
            assert!((KEPT_BYTES - 3..=KEPT_BYTES).contains(&text.len()), "{}", text.len());
            assert_eq!(dropped as usize, whole.len() - text.len());
        }
        let (mut kept, mut dropped) = (KeptText::default(), 0);
        kept.push("short", &mut dropped);
        assert_eq!((kept.take(&mut dropped).as_str(), dropped), ("short", 0));
        assert_eq!(kept.take(&mut dropped), "");
    }
}
