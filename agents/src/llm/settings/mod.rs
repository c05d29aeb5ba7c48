//! Resolution of model references to models with settings: those of a `[model.NAME]` table, or the defaults.

mod base_url;
mod error;
mod model_ref;
mod names;
mod table;
mod table_reader;

use std::collections::BTreeMap;
use std::io;
use std::path::Path;

use healbench_protocol::{Object, ToolsMode};
use toml::de::{DeTable, DeValue};

pub use error::{SettingsError, SettingsProblem};
pub use model_ref::{ModelRefError, resolve_model};

use super::{Api, Connections, Limits, Model, Sampling};
use error::Source;
use table_reader::TableReader;

/// The system text of models whose settings do not specify one.
pub const DEFAULT_SYSTEM_TEXT: &str = include_str!("../system.txt").trim_ascii_end();

/// The default limits on concurrent requests to a provider; [`LOOPBACK_CONNECTIONS`] are those for a server on this
/// machine.
const CONNECTIONS: Connections = Connections { start: 20, min: 10, max: 100 };
const LOOPBACK_CONNECTIONS: Connections = Connections { start: 4, min: 4, max: 4 };

const NOT_A_NAME: &str = "has to be a name: not empty, without control characters, and without blanks around it";

/// The settings in a `[model.NAME]` table.
#[derive(Debug, Clone, PartialEq)]
pub struct ModelTable {
    /// The settings. The price is null unless the table gives one.
    pub model: Model,
    /// The line of the table's name, from 1. Errors found later, such as an unset API key, are reported there.
    pub line: usize,
}

/// Parses the `[model.NAME]` tables of a file, by name, and ignores other tables. `read` reads the files they refer to.
///
/// # Errors
/// Returns the first [`SettingsError`].
pub fn parse_model_tables(
    file: &Path,
    text: &str,
    read: &dyn Fn(&Path) -> io::Result<String>,
) -> Result<BTreeMap<String, ModelTable>, SettingsError> {
    let source = Source { file: file.display().to_string(), text };
    let document = DeTable::parse(text).map_err(|error| {
        let problem = SettingsProblem::Syntax(error.message().replace('\n', " "));
        source.error(error.span().map_or(0, |span| span.start), problem)
    })?;
    let top = TableReader { source: &source, prefix: String::new(), table: document.get_ref(), start: 0 };
    let Some(tables) = top.table("model")? else { return Ok(BTreeMap::new()) };
    let mut models = BTreeMap::new();
    for (name, value) in tables.entries() {
        if names::looks_like_secret(name.text) {
            return Err(source.error(name.offset, SettingsProblem::Secret { key: "model".to_owned() }));
        }
        if !names::is_name(name.text) {
            return Err(tables.malformed(name.text, name.offset, NOT_A_NAME));
        }
        let DeValue::Table(table) = value.get_ref() else {
            return Err(tables.mistyped(name.text, value, "a table"));
        };
        let reader = TableReader { source: &source, prefix: String::new(), table, start: name.offset };
        let model = table::model(name.text, &reader, file, read)?;
        let (line, _) = super::position::line_and_column(text, name.offset);
        models.insert(name.text.to_owned(), ModelTable { model, line });
    }
    Ok(models)
}

/// Returns a model with default settings.
fn defaults(api: Api, model: &str, base_url: String) -> Model {
    let is_default_url = base_url == api.default_base_url();
    let is_local = base_url::is_loopback(&base_url);
    Model {
        api,
        model: model.to_owned(),
        key_env: is_default_url.then(|| api.default_key_env().to_owned()),
        tools: ToolsMode::Native,
        // Some compatible servers (Mistral) reject unknown keys, but local servers accept this one.
        sampling: Sampling {
            temperature: None,
            top_p: None,
            max_output_tokens: None,
            seed: is_default_url || is_local,
        },
        extra_body: Object::new(),
        headers: BTreeMap::new(),
        headers_env: BTreeMap::new(),
        system: DEFAULT_SYSTEM_TEXT.to_owned(),
        limits: Limits { timeout_s: 120, retries: 6, episode_calls: None, episode_tokens: None },
        connections: if is_local { LOOPBACK_CONNECTIONS } else { CONNECTIONS },
        price: None,
        check_model: true,
        base_url,
    }
}
