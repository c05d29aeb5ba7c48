/// The longest name that is compared with others, in bytes. A comparison takes time and memory for each pair of characters.
const MAX_COMPARED: usize = 256;

/// Returns the known name that a name is probably meant to be: the most similar one, if it is similar enough.
pub fn nearest_name<'n>(name: &str, known: impl IntoIterator<Item = &'n str>) -> Option<&'n str> {
    if name.len() > MAX_COMPARED {
        return None;
    }
    let lower = name.to_lowercase();
    let near = |known: &'n str| {
        let distance = strsim::damerau_levenshtein(&lower, &known.to_lowercase());
        let length = name.chars().count().max(known.chars().count());
        // Names without a common character are not near.
        (distance <= (length / 3).max(1) && distance < length).then_some((distance, known))
    };
    known.into_iter().filter(|known| known.len() <= MAX_COMPARED).filter_map(near).min().map(|(_, known)| known)
}

/// Returns the part of a text that is compared with others.
pub fn compared_part(text: &str) -> &str {
    &text[..text.floor_char_boundary(MAX_COMPARED)]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_nearest_name_shares_most_with_the_given_one() {
        let known = ["create", "update", "x", "ÄRGER"];
        for (name, nearest) in [("craete", "create"), ("updates", "update"), ("ärger", "ÄRGER")] {
            assert_eq!(nearest_name(name, known), Some(nearest));
        }
        for name in ["", "delete", "y", "list"] {
            assert_eq!(nearest_name(name, known), None, "{name}");
        }
    }

    #[test]
    fn names_of_any_length_are_compared_at_once() {
        let long = "ä".repeat(1 << 20);
        assert_eq!(nearest_name(&long, ["a", long.as_str()]), None);
        assert_eq!(nearest_name("name", [long.as_str(), "names"]), Some("names"));
        assert_eq!((compared_part(&long).len(), compared_part("short")), (256, "short"));
    }
}
