//! The settings of models: from the `[model.NAME]` tables of a file, or defaults for a reference such as
//! `openai:gpt-5`.

mod base_url;
mod model_ref;
mod table;

use std::collections::BTreeMap;
use std::io;
use std::path::Path;

use healbench_core::DEFAULT_SYSTEM_TEXT;
use healbench_core::{Object, ToolsMode};
use healbench_files::{ConfigError, Document, is_name};
use healbench_mcp::is_loopback;
use reqwest::Url;

pub(super) use base_url::{HOST, is_shown};
pub use model_ref::{ModelRef, ModelRefError, resolve_model};
pub(super) use table::read_price;

use super::{Api, Connections, Limits, Model, Sampling};

/// The default limits on concurrent requests to a provider; [`LOOPBACK_CONNECTIONS`] are those for a server on this
/// machine.
const CONNECTIONS: Connections = Connections { start: 20, min: 10, max: 100 };
const LOOPBACK_CONNECTIONS: Connections = Connections { start: 4, min: 4, max: 4 };

const NOT_A_NAME: &str = "is not a name";
const NAME_HELP: &str = "a name is not empty, and has no control characters and no blanks around it";

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
/// Returns the first error in the file.
pub fn parse_model_tables(
    file: &Path,
    text: &str,
    read: &dyn Fn(&Path) -> io::Result<String>,
) -> Result<BTreeMap<String, ModelTable>, ConfigError> {
    let name = file.display().to_string();
    let document = Document::parse(&name, text)?;
    let Some(tables) = document.root().read("model", |value| value.table())? else { return Ok(BTreeMap::new()) };
    let mut models = BTreeMap::new();
    for entry in tables.entries() {
        if !is_name(entry.key()) {
            return Err(entry.key_error(NOT_A_NAME, NAME_HELP));
        }
        let model = table::model(entry.key(), &entry.table()?, file, read)?;
        models.insert(entry.key().to_owned(), ModelTable { model, line: entry.line() });
    }
    Ok(models)
}

/// Returns a model with default settings.
fn defaults(api: Api, model: &str, base_url: String) -> Model {
    let is_default_url = base_url == api.default_base_url();
    let is_local = Url::parse(&base_url).is_ok_and(|url| is_loopback(&url));
    Model {
        api,
        model: model.to_owned(),
        key_env: is_default_url.then(|| api.default_key_env().to_owned()),
        tools: ToolsMode::Native,
        // Some OpenAI-compatible services, such as Mistral, reject the key `seed`; local servers accept it.
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
        limits: Limits {
            timeout_s: 120,
            retries: 6,
            episode_calls: None,
            episode_tokens: None,
            tokens_per_minute: None,
        },
        connections: if is_local { LOOPBACK_CONNECTIONS } else { CONNECTIONS },
        price: None,
        check_model: true,
        deterministic: false,
        base_url,
    }
}
