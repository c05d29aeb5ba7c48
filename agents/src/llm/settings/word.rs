//! A word of `--agent`.

use std::collections::BTreeMap;

use super::names::{hint, is_name, list, looks_secret, shown};
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
const TABLE: &str = "model";

/// A word that means no model.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum WordError {
    /// There is no colon in it.
    #[error("`{word}` does not say who has the model: write {forms}")]
    NoProvider {
        /// The word.
        word: String,
        /// The forms that there are.
        forms: String,
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
/// [`WordError`], which says what would be understood.
pub fn resolve(word: &str, tables: &BTreeMap<String, ModelTable>, prices: &PriceTable) -> Result<Model, WordError> {
    let (provider, name) = word.split_once(':').unwrap_or((word, ""));
    if looks_secret(provider) || looks_secret(name) {
        return Err(WordError::Secret);
    }
    if !word.contains(':') {
        return Err(WordError::NoProvider { word: shown(word), forms: forms() });
    }
    let api = PROVIDERS.iter().find(|(known, _)| *known == provider).map(|(_, api)| *api);
    if api.is_none() && provider != TABLE {
        let known = PROVIDERS.iter().map(|(known, _)| *known).chain([TABLE]);
        return Err(WordError::UnknownProvider { provider: shown(provider), hint: hint(provider, known) });
    }
    if !is_name(name) {
        return Err(WordError::BadName { provider: provider.to_owned() });
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

fn forms() -> String {
    let providers: Vec<String> = PROVIDERS.iter().map(|(known, _)| format!("{known}:MODEL")).collect();
    let forms: Vec<&str> = providers.iter().map(String::as_str).chain(["model:NAME"]).collect();
    list(&forms)
}

fn unknown_table(name: &str, tables: &BTreeMap<String, ModelTable>) -> WordError {
    let hint = match tables.is_empty() {
        true => "there are no tables of models: write one into `healbench.toml`".to_owned(),
        false => hint(name, tables.keys().map(String::as_str)),
    };
    WordError::UnknownTable { name: shown(name), hint }
}
