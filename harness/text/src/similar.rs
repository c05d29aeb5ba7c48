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

/// Returns how much two names resemble each other, up to 1 for the same words in another spelling; `None` if too little to
/// take one for the other.
pub fn resemblance(one: &str, other: &str) -> Option<f64> {
    if one.len() > MAX_COMPARED || other.len() > MAX_COMPARED {
        return None;
    }
    let (words, others) = (name_words(one), name_words(other));
    let (joined, other_joined) = (words.concat(), others.concat());
    if joined.is_empty() || other_joined.is_empty() {
        return None;
    }
    if joined == other_joined {
        return Some(1.0);
    }
    let shared = words.iter().filter(|word| others.contains(word)).count() as f64;
    let longer = words.len().max(others.len()) as f64;
    let by_words = (shared / longer >= 0.5).then_some(shared / longer);
    let distance = strsim::damerau_levenshtein(&joined, &other_joined) as f64;
    let length = joined.chars().count().max(other_joined.chars().count()) as f64;
    let by_letters = (distance <= length / 3.0).then_some(1.0 - distance / length);
    by_words.into_iter().chain(by_letters).max_by(f64::total_cmp).map(|likeness| likeness.min(0.99))
}

/// Returns the words of a name in lower case: `pageSize`, `page-size` and `PAGE_SIZE` have the same.
pub fn name_words(name: &str) -> Vec<String> {
    let letters: Vec<char> = name.chars().collect();
    let mut words = vec![String::new()];
    for (index, letter) in letters.iter().enumerate() {
        let before = index.checked_sub(1).and_then(|at| letters.get(at));
        let after = letters.get(index + 1);
        let is_hump = letter.is_uppercase()
            && before.is_some_and(|before| !before.is_uppercase() || after.is_some_and(|after| after.is_lowercase()));
        if !letter.is_alphanumeric() || is_hump {
            words.push(String::new());
        }
        if let Some(word) = words.last_mut().filter(|_| letter.is_alphanumeric()) {
            word.extend(letter.to_lowercase());
        }
    }
    words.retain(|word| !word.is_empty());
    words
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
    fn words_of_a_name_do_not_depend_on_its_spelling() {
        for name in ["pageSize", "page_size", "PAGE-SIZE", "page size", "PageSize"] {
            assert_eq!(name_words(name), ["page", "size"], "{name}");
        }
        assert_eq!(name_words("HTTPServer2Url"), ["http", "server2", "url"]);
        assert_eq!(name_words("_"), Vec::<String>::new());
    }

    #[test]
    fn names_resemble_each_other_by_words_or_by_letters() {
        for (one, other) in [("pageSize", "page_size"), ("id", "ID"), ("userId", "userid")] {
            assert_eq!(resemblance(one, other), Some(1.0), "{one}, {other}");
        }
        for (one, other) in [("entityFqn", "fqn"), ("recieved", "received"), ("work_item_id", "item_id")] {
            assert!(resemblance(one, other).is_some_and(|likeness| likeness < 1.0), "{one}, {other}");
        }
        let long = "a".repeat(1_000);
        for (one, other) in [("via", "to"), ("query", "filter"), ("_", "-"), ("", "a"), (long.as_str(), long.as_str())]
        {
            assert_eq!(resemblance(one, other), None, "{one}, {other}");
        }
        let nearest = |candidates: [&str; 2]| candidates.map(|candidate| resemblance("pageSize", candidate));
        let [close, far] = nearest(["page_size", "size"]);
        assert!(close > far);
    }

    #[test]
    fn names_of_any_length_are_compared_at_once() {
        let long = "ä".repeat(1 << 20);
        assert_eq!(nearest_name(&long, ["a", long.as_str()]), None);
        assert_eq!(nearest_name("name", [long.as_str(), "names"]), Some("names"));
        assert_eq!((compared_part(&long).len(), compared_part("short")), (256, "short"));
    }
}
