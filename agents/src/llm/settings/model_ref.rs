//! Model references: the values of `--agent`.

use std::collections::BTreeMap;

use healbench_files::{hint, is_name, list, printable};
use healbench_text::looks_like_secret;

use super::{ModelTable, defaults};
use crate::llm::{Api, Model, PriceTable};

/// The target of a model reference.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ModelRef<'a> {
    /// A model of a provider, with the default settings.
    Provider(Api, &'a str),
    /// A `[model.NAME]` table of the settings file.
    Table(&'a str),
}

impl<'a> ModelRef<'a> {
    /// Parses a reference. Does not check that the table exists.
    ///
    /// # Errors
    /// Returns a [`ModelRefError`] that names the accepted forms.
    pub fn parse(model_ref: &'a str) -> Result<ModelRef<'a>, ModelRefError> {
        let (provider, name) = model_ref.split_once(':').unwrap_or((model_ref, ""));
        if looks_like_secret(provider) || looks_like_secret(name) {
            return Err(ModelRefError::Secret);
        }
        if !model_ref.contains(':') {
            return Err(ModelRefError::NoProvider {
                model_ref: printable(model_ref),
                accepted_forms: accepted_forms(),
            });
        }
        let api = Api::all().find(|api| api.entry().prefix == provider);
        if api.is_none() && provider != TABLE_PREFIX {
            let known = Api::all().map(|api| api.entry().prefix).chain([TABLE_PREFIX]);
            return Err(ModelRefError::UnknownProvider { provider: printable(provider), hint: hint(provider, known) });
        }
        if !is_name(name) {
            return Err(ModelRefError::BadName { provider: provider.to_owned() });
        }
        Ok(api.map_or(ModelRef::Table(name), |api| ModelRef::Provider(api, name)))
    }
}

/// The prefix of references to `[model.NAME]` tables.
const TABLE_PREFIX: &str = "model";

/// An invalid model reference.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ModelRefError {
    /// The reference has no colon.
    #[error("`{model_ref}` does not say who has the model: write {accepted_forms}")]
    NoProvider { model_ref: String, accepted_forms: String },
    /// The prefix before the colon is unknown.
    #[error("unknown provider `{provider}`; {hint}")]
    UnknownProvider {
        provider: String,
        /// The prefix that was probably meant, and the known ones.
        hint: String,
    },
    /// The text after the colon is not a valid name.
    #[error("what follows `{provider}:` {}; {}", super::NOT_A_NAME, super::NAME_HELP)]
    BadName { provider: String },
    /// The reference looks like a secret.
    #[error("the name of a model looks like a secret, and is not shown; a key belongs into an environment variable")]
    Secret,
    /// No table has this name.
    #[error("there is no table `[model.{name}]`; {hint}")]
    UnknownTable {
        name: String,
        /// The name that was probably meant, and the known ones.
        hint: String,
    },
}

/// Returns the model for a reference: `openai:MODEL`, `openai-responses:MODEL`, `anthropic:MODEL` and `gemini:MODEL`
/// use the defaults, `model:NAME` uses the settings of its table. If the table gives no price, it is looked up in
/// `prices`, unless the base URL is not the provider's own.
///
/// # Errors
/// Returns a [`ModelRefError`] that names the accepted forms.
pub fn resolve_model(
    model_ref: &str,
    tables: &BTreeMap<String, ModelTable>,
    prices: &PriceTable,
) -> Result<Model, ModelRefError> {
    let mut model = match ModelRef::parse(model_ref)? {
        ModelRef::Provider(api, name) => defaults(api, name, api.default_base_url().to_owned()),
        ModelRef::Table(name) => tables.get(name).ok_or_else(|| unknown_table(name, tables))?.model.clone(),
    };
    if model.price.is_none() && model.base_url == model.api.default_base_url() {
        model.price = prices.price(model.api, &model.model);
    }
    Ok(model)
}

fn accepted_forms() -> String {
    let providers: Vec<String> = Api::all().map(|api| format!("{}:MODEL", api.entry().prefix)).collect();
    let accepted_forms: Vec<&str> = providers.iter().map(String::as_str).chain(["model:NAME"]).collect();
    list(&accepted_forms)
}

fn unknown_table(name: &str, tables: &BTreeMap<String, ModelTable>) -> ModelRefError {
    let hint = match tables.is_empty() {
        true => "there are no tables of models: write one into `healbench.toml`".to_owned(),
        false => hint(name, tables.keys().map(String::as_str)),
    };
    ModelRefError::UnknownTable { name: printable(name), hint }
}
