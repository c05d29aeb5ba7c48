//! The settings file of a working directory.

use std::path::PathBuf;

/// The name of settings files.
pub(crate) const CONFIG: &str = "healbench.toml";

/// Returns the path of the nearest settings file, relative to the working directory.
pub(crate) fn nearest_config() -> Option<PathBuf> {
    let here = std::env::current_dir().ok()?;
    let levels = here.ancestors().position(|folder| folder.join(CONFIG).is_file())?;
    Some(PathBuf::from("../".repeat(levels) + CONFIG))
}
