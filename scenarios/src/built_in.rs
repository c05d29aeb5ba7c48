use std::path::Path;

use include_dir::{Dir, File, include_dir};

/// The files of the built-in suites.
pub(crate) static SUITES: Dir<'_> = include_dir!("$CARGO_MANIFEST_DIR/suites");
/// Scenarios that show the language, and templates of error texts.
static EXAMPLES: [Dir<'_>; 2] =
    [include_dir!("$CARGO_MANIFEST_DIR/examples"), include_dir!("$CARGO_MANIFEST_DIR/templates")];

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

/// Returns the names of the files that [`shipped_files`] returns alone, each without its extension.
pub fn examples() -> impl Iterator<Item = &'static str> {
    EXAMPLES.iter().flat_map(Dir::files).filter_map(|file| file.path().file_stem()?.to_str())
}

/// Returns the texts of an example, of a built-in suite, or of the built-in scenario in the file `SUITE/NAME.yaml`, each with a relative path.
/// Empty for any other name.
pub fn shipped_files(name: &str) -> Vec<(&'static Path, &'static str)> {
    let example =
        EXAMPLES.iter().flat_map(Dir::files).find(|file| file.path().file_stem().is_some_and(|stem| stem == name));
    let scenario = || SUITES.get_file(format!("{name}.yaml"));
    let files: Vec<&'static File<'static>> = match example.or_else(scenario) {
        Some(file) => vec![file],
        None => SUITES.get_dir(name).into_iter().flat_map(Dir::files).collect(),
    };
    files.into_iter().filter_map(|file| Some((file.path(), file.contents_utf8()?))).collect()
}
