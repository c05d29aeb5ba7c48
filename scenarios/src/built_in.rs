use include_dir::{Dir, include_dir};

/// The files of the built-in suites.
pub(crate) static SUITES: Dir<'_> = include_dir!("$CARGO_MANIFEST_DIR/suites");

/// Returns the names of the built-in suites, sorted.
pub fn built_in_suites() -> Vec<&'static str> {
    let mut names: Vec<&str> = SUITES.dirs().filter_map(|dir| dir.path().to_str()).collect();
    names.sort_unstable();
    names
}
