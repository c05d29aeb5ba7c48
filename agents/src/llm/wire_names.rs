//! Names of tools as the APIs take them, for MCP allows more characters and longer names than they do, and as servers return them.

use healbench_core::Function;

/// The longest name that all APIs take.
const LONGEST: usize = 64;

/// The functions of an episode under names that every API takes, and their own names.
#[derive(Debug, Default)]
pub(super) struct WireNames {
    /// The own name and the name in requests of each function whose names differ.
    changed: Vec<(String, String)>,
    /// The names in requests.
    sent: Vec<String>,
}

/// Names in which the templates of servers put functions: of gpt-oss and OpenAI, and of Gemini. No list of tools has them, so they are
/// not of the model.
const NAMESPACES: [&str; 3] = ["functions.", "default_api.", "default_api:"];

impl WireNames {
    /// Renames functions whose names an API may refuse. A name that is valid stays as it is.
    pub(super) fn rename(functions: &mut [Function]) -> WireNames {
        let mut changed: Vec<(String, String)> = Vec::new();
        for at in 0..functions.len() {
            let name = functions[at].name.clone();
            let valid: String = name.chars().map(|c| if is_valid(c) { c } else { '_' }).take(LONGEST).collect();
            if valid == name || name.is_empty() {
                continue;
            }
            let mut number = 1;
            let mut new = valid.clone();
            while functions.iter().any(|function| function.name == new) {
                number += 1;
                let end = format!("_{number}");
                new = format!("{}{end}", &valid[..valid.len().min(LONGEST - end.len())]);
            }
            functions[at].name.clone_from(&new);
            changed.push((name, new));
        }
        WireNames { changed, sent: functions.iter().map(|function| function.name.clone()).collect() }
    }

    /// Returns the name in requests of a function.
    pub(super) fn in_requests(&self, name: &str) -> String {
        self.changed.iter().find(|(own, _)| own == name).map_or(name, |(_, new)| new).to_owned()
    }

    /// Returns a function's own name, without what the template of a server put around it. A name that the model made up stays as it is.
    pub(super) fn own(&self, name: &str) -> String {
        let is_sent = |name: &str| self.sent.iter().any(|sent| sent == name);
        let name = Some(without_marks(name)).filter(|inner| !is_sent(name) && is_sent(inner)).unwrap_or(name);
        self.changed.iter().find(|(_, new)| new == name).map_or(name, |(own, _)| own).to_owned()
    }
}

/// Returns a name without a namespace before it and a channel behind it: `door` of `functions.door` and `door<|channel|>json`.
fn without_marks(name: &str) -> &str {
    let name = name.split_once("<|").map_or(name, |(name, _)| name).trim();
    NAMESPACES.iter().find_map(|namespace| name.strip_prefix(namespace)).unwrap_or(name)
}

fn is_valid(c: char) -> bool {
    c.is_ascii_alphanumeric() || matches!(c, '_' | '-')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_names_that_an_api_refuses_are_changed_and_none_twice_alike() {
        let long = "x".repeat(70);
        let names = ["a.b", "a_b", "a/b", "list-all", long.as_str()];
        let mut functions: Vec<Function> = names
            .iter()
            .map(|name| Function {
                name: (*name).to_owned(),
                description: String::new(),
                parameters: serde_json::json!({}),
            })
            .collect();
        let wire_names = WireNames::rename(&mut functions);
        let new: Vec<&str> = functions.iter().map(|function| function.name.as_str()).collect();
        assert_eq!(new, ["a_b_2", "a_b", "a_b_3", "list-all", &long[..64]]);
        for (own, new) in names.iter().zip(new) {
            assert_eq!((wire_names.in_requests(own), wire_names.own(new)), (new.to_owned(), (*own).to_owned()));
        }
        assert_eq!(wire_names.own("made.up"), "made.up");
        // What templates put around a name is taken away only from names that were sent.
        for marked in ["functions.list-all", "list-all<|channel|>commentary", "default_api:list-all", "functions.a_b_2"]
        {
            let own = if marked.ends_with("a_b_2") { "a.b" } else { "list-all" };
            assert_eq!(wire_names.own(marked), own, "{marked}");
        }
        for made_up in ["functions.list", "tools.list-all", "list-all.json"] {
            assert_eq!(wire_names.own(made_up), made_up);
        }
    }
}
