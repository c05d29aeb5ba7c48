use include_dir::{Dir, include_dir};

/// The files of the built-in suites.
pub(crate) static SUITES: Dir<'_> = include_dir!("$CARGO_MANIFEST_DIR/suites");

/// The name under which all of [`FAMILIES`] are loaded.
pub const ALL_FAMILIES: &str = "families";

/// The suites by mechanism that simulated readers play. `silent` is another one, for models and programs: readers follow its written checks.
pub const FAMILIES: [&str; 9] = [
    "domain-errors",
    "look-ups",
    "cut-lists",
    "strictness",
    "fields",
    "values",
    "contracts",
    "transient",
    "server-bugs",
];

/// Returns true for [`ALL_FAMILIES`], and for the name of a built-in suite or scenario.
pub fn is_built_in(name: &str) -> bool {
    name == ALL_FAMILIES || SUITES.get_dir(name).is_some() || SUITES.get_file(format!("{name}.yaml")).is_some()
}

/// Returns the names of the built-in suites, sorted.
pub fn built_in_suites() -> Vec<&'static str> {
    let mut names: Vec<&str> = SUITES.dirs().filter_map(|dir| dir.path().to_str()).collect();
    names.sort_unstable();
    names
}
