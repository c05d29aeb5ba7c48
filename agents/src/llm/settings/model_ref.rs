//! A word of `--agent`.

use std::collections::BTreeMap;

use super::names::{hint, is_name, list, looks_like_secret, printable};
use super::{ModelTable, defaults};
use crate::llm::{Api, Model, PriceTable};

/// What stands before the colon, and the API that it means.
const PROVIDERS: [(&str, Api); 4] = [
    ("openai", Api::OpenaiChat),
    ("openai-responses", Api::OpenaiResponses),
    ("anthropic", Api::Anthropic),
    ("gemini", Api::Gemini),
];

/// What stands before the name of a `[model.NAME]` table.
const TABLE_PREFIX: &str = "model";

/// A word that means no model.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ModelRefError {
    /// There is no colon in it.
    #[error("`{model_ref}` does not say who has the model: write {accepted_forms}")]
    NoProvider {
        /// The word.
        model_ref: String,
        /// The forms that there are.
        accepted_forms: String,
    },
    /// What stands before the colon is not known.
    #[error("unknown provider `{provider}`; {hint}")]
    UnknownProvider {
        /// What stands before the colon.
        provider: String,
        /// What was probably meant, and what there is.
        hint: String,
    },
    /// What stands after the colon is no name.
    #[error("what follows `{provider}:` {}", super::NOT_A_NAME)]
    BadName {
        /// What stands before the colon.
        provider: String,
    },
    /// The word looks like a secret.
    #[error("the name of a model looks like a secret, and is not shown; a key belongs into an environment variable")]
    Secret,
    /// No table has this name.
    #[error("there is no table `[model.{name}]`; {hint}")]
    UnknownTable {
        /// The name.
        name: String,
        /// What was probably meant, and what there is.
        hint: String,
    },
}

/// The model that a word means: `openai:MODEL`, `openai-responses:MODEL`, `anthropic:MODEL` or `gemini:MODEL` with the
/// defaults, `model:NAME` with the settings of its table. A price that no table gives is looked up in `prices`, unless the
/// model is asked for somewhere else than at its provider.
///
/// # Errors
/// [`ModelRefError`], which says what would be understood.
pub fn resolve_model(
    model_ref: &str,
    tables: &BTreeMap<String, ModelTable>,
    prices: &PriceTable,
) -> Result<Model, ModelRefError> {
    let (provider, name) = model_ref.split_once(':').unwrap_or((model_ref, ""));
    if looks_like_secret(provider) || looks_like_secret(name) {
        return Err(ModelRefError::Secret);
    }
    if !model_ref.contains(':') {
        return Err(ModelRefError::NoProvider { model_ref: printable(model_ref), accepted_forms: accepted_forms() });
    }
    let api = PROVIDERS.iter().find(|(known, _)| *known == provider).map(|(_, api)| *api);
    if api.is_none() && provider != TABLE_PREFIX {
        let known = PROVIDERS.iter().map(|(known, _)| *known).chain([TABLE_PREFIX]);
        return Err(ModelRefError::UnknownProvider { provider: printable(provider), hint: hint(provider, known) });
    }
    if !is_name(name) {
        return Err(ModelRefError::BadName { provider: provider.to_owned() });
    }
    let mut model = match api {
        Some(api) => defaults(api, name, api.default_base_url().to_owned()),
        None => tables.get(name).ok_or_else(|| unknown_table(name, tables))?.model.clone(),
    };
    if model.price.is_none() && model.base_url == model.api.default_base_url() {
        model.price = prices.price(model.api, &model.model);
    }
    Ok(model)
}

fn accepted_forms() -> String {
    let providers: Vec<String> = PROVIDERS.iter().map(|(known, _)| format!("{known}:MODEL")).collect();
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
