//! Which model is meant by a word, and with what settings: those of a `[model.NAME]` table, or the defaults.

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

/// The system text that models get when their settings name none.
pub const DEFAULT_SYSTEM_TEXT: &str = include_str!("../system.txt").trim_ascii_end();

/// How many requests are under way at once at a provider, and at a server on this machine.
const CONNECTIONS: Connections = Connections { start: 20, min: 10, max: 100 };
const LOOPBACK_CONNECTIONS: Connections = Connections { start: 4, min: 4, max: 4 };

const NOT_A_NAME: &str = "has to be a name: not empty, without control characters, and without blanks around it";

/// What a `[model.NAME]` table says.
#[derive(Debug, Clone, PartialEq)]
pub struct ModelTable {
    /// The settings. Prices are null unless the table gives them.
    pub model: Model,
    /// The line of the table's name, from 1: the place of what turns out to be wrong later, such as a key that is not set.
    pub line: usize,
}

/// Reads the `[model.NAME]` tables of a file, by name; `read` opens the files that they name. Other tables are left alone.
///
/// # Errors
/// [`SettingsError`] with the place of a mistake.
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

/// A model with the settings that nothing was said about.
fn defaults(api: Api, model: &str, base_url: String) -> Model {
    let is_default_url = base_url == api.default_base_url();
    let is_local = base_url::is_loopback(&base_url);
    Model {
        api,
        model: model.to_owned(),
        key_env: is_default_url.then(|| api.default_key_env().to_owned()),
        tools: ToolsMode::Native,
        // Some compatible servers (Mistral) refuse keys that they do not know. Those of one's own know this one.
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
