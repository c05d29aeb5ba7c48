//! Changes files as damage and malice do; the same seed makes the same change.

/// Texts that mean something in one of the formats.
const TOKENS: [&str; 44] = [
    "null",
    "true",
    "~",
    "0",
    "-1",
    "1e999",
    "-0.0",
    "NaN",
    ".inf",
    "99999999999999999999",
    "-9223372036854775808",
    "18446744073709551616",
    "0.1e-400",
    "4294967296",
    "65536",
    "{",
    "}",
    "[",
    "]",
    "{}",
    "[]",
    "\"",
    "'",
    ",",
    ":",
    "\n",
    "\n  - ",
    "&a ",
    "*a",
    "<<: ",
    "!!binary ",
    "? ",
    "|\n",
    "\u{fffe}",
    "\0",
    "\u{feff}",
    "\u{202e}",
    "\\ud800",
    "\r",
    "$ref",
    "{{",
    "%}",
    "9999-12-31T23:59:60Z",
    "\u{1b}[31m",
];

/// A source of changes.
pub(super) struct Mutator {
    state: u64,
    /// The size up to which a part is repeated, in bytes.
    most: usize,
}

impl Mutator {
    pub(super) fn new(seed: u64, most: usize) -> Mutator {
        Mutator { state: seed.wrapping_mul(0x9e37_79b9_7f4a_7c15), most }
    }

    /// Returns the next number, by splitmix64.
    fn next(&mut self) -> u64 {
        self.state = self.state.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.state;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    /// Returns a number below `n`, or 0.
    fn below(&mut self, n: usize) -> usize {
        (self.next() % n.max(1) as u64) as usize
    }

    fn range(&mut self, bytes: &[u8], most: usize) -> std::ops::Range<usize> {
        let start = self.below(bytes.len() + 1);
        start..(start + self.below(most) + 1).min(bytes.len())
    }

    /// Returns one of the seeds with some changes.
    pub(super) fn change(&mut self, seeds: &[Vec<u8>]) -> Vec<u8> {
        let mut bytes = seeds[self.below(seeds.len())].clone();
        for _ in 0..=self.below(4) {
            self.change_once(&mut bytes, seeds);
        }
        bytes
    }

    fn change_once(&mut self, bytes: &mut Vec<u8>, seeds: &[Vec<u8>]) {
        match self.below(16) {
            0 => bytes.truncate(self.below(bytes.len() + 1)),
            1 => {
                let (at, bit) = (self.below(bytes.len()), self.below(8));
                if let Some(byte) = bytes.get_mut(at) {
                    *byte ^= 1 << bit;
                }
            }
            2 => {
                let (at, new) = (self.below(bytes.len()), self.below(256) as u8);
                if let Some(byte) = bytes.get_mut(at) {
                    *byte = new;
                }
            }
            3 => drop(bytes.drain(self.range(bytes, 200))),
            4 => {
                let range = self.range(bytes, 200);
                let part = bytes[range].to_vec();
                insert(bytes, self.below(usize::MAX), &part);
            }
            5 => {
                let range = self.range(bytes, 60);
                let part = bytes[range.clone()].to_vec();
                let times = self.below(self.most / part.len().max(1));
                insert(bytes, range.end, &part.repeat(times));
            }
            6 => {
                let other = &seeds[self.below(seeds.len())];
                let part = other[self.range(other, 400)].to_vec();
                insert(bytes, self.below(usize::MAX), &part);
            }
            7 | 8 => {
                let token = TOKENS[self.below(TOKENS.len())];
                insert(bytes, self.below(usize::MAX), token.as_bytes());
            }
            9 | 10 => self.replace(bytes, |byte| byte.is_ascii_digit()),
            11 | 12 => self.replace(bytes, |byte| byte.is_ascii_alphanumeric() || *byte == b'_'),
            13 => {
                let mut lines: Vec<&[u8]> = bytes.split_inclusive(|byte| *byte == b'\n').collect();
                let (a, b) = (self.below(lines.len()), self.below(lines.len()));
                match self.below(3) {
                    _ if lines.is_empty() => {}
                    0 => lines.swap(a, b),
                    1 => drop(lines.remove(a)),
                    _ => lines.insert(b, lines[a]),
                }
                *bytes = lines.concat();
            }
            14 => {
                let (open, close) = [("[", "]"), ("{\"a\":", "}"), ("(", ")"), ("- ", "")][self.below(4)];
                let (depth, at) = (self.below(self.most / 8), self.below(usize::MAX));
                insert(bytes, at, format!("{}{}", open.repeat(depth), close.repeat(depth)).as_bytes());
            }
            _ => {
                let long = ["x", "\"", "é", "0", " ", "\n"][self.below(6)].repeat(self.below(self.most));
                insert(bytes, self.below(usize::MAX), long.as_bytes());
            }
        }
    }

    /// Replaces a word by a token, or by another word of the file.
    fn replace(&mut self, bytes: &mut Vec<u8>, is_part: impl Fn(&u8) -> bool + Copy) {
        let places = [self.below(bytes.len()), self.below(bytes.len())];
        let word = |from: usize| {
            let start = from + bytes[from..].iter().position(is_part)?;
            let length = bytes[start..].iter().position(|byte| !is_part(byte)).unwrap_or(bytes.len() - start);
            Some(start..start + length)
        };
        let (Some(place), Some(other)) = (word(places[0]), word(places[1])) else { return };
        let new = match self.below(2) {
            0 => TOKENS[self.below(TOKENS.len())].as_bytes().to_vec(),
            _ => bytes[other].to_vec(),
        };
        bytes.splice(place, new);
    }
}

fn insert(bytes: &mut Vec<u8>, at: usize, part: &[u8]) {
    let at = at % (bytes.len() + 1);
    bytes.splice(at..at, part.iter().copied());
}
