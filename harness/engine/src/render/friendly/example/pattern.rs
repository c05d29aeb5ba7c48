//! Strings that match a regular expression: the shortest match, or a longer one if a minimum length requires it.

use regex_syntax::hir::{Class, Hir, HirKind};

/// No example is generated for a pattern that requires more characters.
const MAX_LENGTH: usize = 4096;

/// Returns a string for `pattern` with at least `least` characters if the pattern can repeat. A different `variant`
/// gives a different string if the pattern has several. The caller must validate the result, because anchors and word
/// boundaries are ignored. Returns `None` for syntax that only backtracking engines support, such as look-ahead.
pub(super) fn text_matching(pattern: &str, least: usize, variant: usize) -> Option<String> {
    let hir = regex_syntax::Parser::new().parse(pattern).ok()?;
    let mut sampler = Sampler { out: String::new(), variant, chosen: 0, missing: 0 };
    sampler.visit(&hir)?;
    let found = sampler.out.chars().count();
    if found >= least {
        return Some(sampler.out);
    }
    let mut sampler = Sampler { out: String::new(), variant, chosen: 0, missing: least - found };
    sampler.visit(&hir)?;
    Some(sampler.out)
}

struct Sampler {
    out: String,
    variant: usize,
    /// The number of characters chosen from classes.
    chosen: usize,
    /// The number of characters that repetitions should add.
    missing: usize,
}

impl Sampler {
    fn visit(&mut self, hir: &Hir) -> Option<()> {
        if self.out.len() > MAX_LENGTH {
            return None;
        }
        match hir.kind() {
            HirKind::Empty | HirKind::Look(_) => {}
            HirKind::Literal(literal) => self.out.push_str(std::str::from_utf8(&literal.0).ok()?),
            HirKind::Class(class) => {
                let c = choose_char(class, self.chosen + self.variant)?;
                self.out.push(c);
                self.chosen += 1;
            }
            HirKind::Repetition(repetition) => {
                let unit = repetition.sub.properties().minimum_len().unwrap_or(1).max(1);
                let room = repetition.max.map_or(usize::MAX, |max| max.saturating_sub(repetition.min) as usize);
                let more = self.missing.div_ceil(unit).min(room);
                self.missing = self.missing.saturating_sub(more * unit);
                for _ in 0..(repetition.min as usize).saturating_add(more) {
                    self.visit(&repetition.sub)?;
                }
            }
            HirKind::Capture(capture) => self.visit(&capture.sub)?,
            HirKind::Concat(parts) => parts.iter().try_for_each(|part| self.visit(part))?,
            HirKind::Alternation(branches) => self.visit(&branches[self.variant % branches.len()])?,
        }
        Some(())
    }
}

/// Returns a readable character: one of the word `example`, a digit, or the first visible character.
fn choose_char(class: &Class, at: usize) -> Option<char> {
    let ranges: Vec<(char, char)> = match class {
        Class::Unicode(class) => class.ranges().iter().map(|range| (range.start(), range.end())).collect(),
        Class::Bytes(class) => {
            class.ranges().iter().map(|range| (char::from(range.start()), char::from(range.end()))).collect()
        }
    };
    let has = |c: &char| ranges.iter().any(|(start, end)| (start..=end).contains(&c));
    let letter = char::from(b"example"[at % 7]);
    let digit = char::from(b"1234567890"[at % 10]);
    let seen = |c: char| ranges.iter().any(|(start, end)| (*start..=*end).contains(&c)).then_some(c);
    [letter, letter.to_ascii_uppercase(), digit]
        .into_iter()
        .find(has)
        .or_else(|| ('a'..='z').chain('A'..='Z').chain('0'..='9').chain('!'..='~').find_map(seen))
        .or_else(|| ranges.first().map(|(start, _)| *start))
}
