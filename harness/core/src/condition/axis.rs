//! The axes in which conditions differ. The command line, settings, plans, labels and comparisons loop over [`AXES`]: a new axis is a
//! field of [`AxisValues`], an entry here, and what it does to a response.

use serde::{Deserialize, Serialize};

use super::{CLIENTS, CONTENTS, Client, Content, DOMAIN_ERRORS, DomainErrors, NamedEntry, UNDECLARED, Undeclared};
use crate::{AxisError, ErrorFormat, Guardrails, TemplateSource};

/// The value of every axis.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub struct AxisValues {
    /// The error format; [`ErrorFormat::Bare`] without the guardrail `healing`.
    pub errors: ErrorFormat,
    /// The treatment of undeclared fields; [`Undeclared::Reject`] with the guardrail `strict`.
    pub undeclared: Undeclared,
    /// The facts that error texts state.
    pub content: Content,
    /// The facts that texts of domain errors state.
    pub domain_errors: DomainErrors,
    /// True if long lists are cut: the guardrail `truncation`.
    pub truncation: bool,
    /// The contract changes that errors show: the guardrail `contract`.
    pub contract: ContractChanges,
    /// The presentation of responses by the agent's client.
    pub client: Client,
}

/// The contract changes that validation failures show.
#[derive(Debug, Clone, Default, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(default)]
pub struct ContractChanges {
    /// True if they show any.
    pub shown: bool,
    /// The SHA-256 of the lockfile that contracts are compared with, in hexadecimal; null for the contracts of the scenario.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub lock: Option<String>,
    /// True to include SAFE and COSMETIC changes; null for the choice of the scenario.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub include_all_severities: Option<bool>,
    /// The most changes in one error; null for the choice of the scenario.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_deltas_per_error: Option<u16>,
}

/// One property in which conditions may differ.
pub struct Axis {
    /// The name on the command line, in plans and in settings.
    pub key: &'static str,
    /// The noun in a sentence.
    pub title: &'static str,
    /// The noun for several values.
    pub plural: &'static str,
    /// The meaning, as a sentence.
    pub summary: &'static str,
    /// The values that have a name, with a sentence each.
    pub values: fn() -> Vec<(&'static str, &'static str)>,
    /// Other values as they are written; empty if there are none.
    pub others: &'static str,
    /// The need of the axis, without which it has no effect.
    pub needs: Option<Need>,
    /// Returns the value as it is written on the command line, in labels and in documents.
    pub word: fn(&AxisValues) -> String,
    /// Returns true if the value is the default, or follows from the guardrails and the error format.
    pub follows: fn(&AxisValues) -> bool,
    pub(super) set: fn(&mut AxisValues, &str, &Files<'_>) -> Result<(), AxisValueError>,
}

/// A need of an axis, without which it has no effect.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Need {
    /// An error format other than `bare`.
    Healing,
    /// The built-in simulator, since a server decides it itself.
    Simulator,
}

/// Reads the files that values name.
pub struct Files<'f> {
    /// Returns the template of a file.
    pub template: &'f dyn Fn(&str) -> Result<TemplateSource, String>,
    /// Returns the SHA-256 of a lockfile, in hexadecimal.
    pub lock: &'f dyn Fn(&str) -> Result<String, String>,
}

impl Files<'static> {
    /// No file can be read.
    pub const NONE: Files<'static> = Files {
        template: &|_| Err("no file can be named here".to_owned()),
        lock: &|_| Err("no file can be named here".to_owned()),
    };
}

/// The error for a value that an axis does not have.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum AxisValueError {
    /// There is no such value.
    #[error(transparent)]
    Unknown(#[from] AxisError),
    /// A file cannot be read.
    #[error("{0}")]
    File(String),
}

fn named<T: Copy>(entries: &[NamedEntry<T>]) -> Vec<(&'static str, &'static str)> {
    entries.iter().map(|entry| (entry.name, entry.summary)).collect()
}

fn parse<T: Copy>(title: &'static str, word: &str, entries: &'static [NamedEntry<T>]) -> Result<T, AxisValueError> {
    let found = entries.iter().find(|entry| entry.name == word).map(|entry| entry.value);
    Ok(found.ok_or_else(|| AxisError::new(title, word, entries.iter().map(|entry| entry.name)))?)
}

const SWITCH: [NamedEntry<bool>; 2] = [
    NamedEntry { value: false, name: "off", summary: "Lists are whole." },
    NamedEntry {
        value: true,
        name: "on",
        summary: "Lists are cut at the presenter's limit, with how to see the rest.",
    },
];

/// The values of the contract axis without a file.
const CONTRACT: [(&str, &str); 5] = [
    ("off", "Errors show no changes."),
    ("on", "Validation failures show the changes of the tool's contract that callers may notice."),
    ("all-severities", "The same, with SAFE and COSMETIC changes."),
    ("severe-only", "The same, without SAFE and COSMETIC changes, whatever the scenario says."),
    ("max-deltas:N", "At most N changes in one error."),
];

/// All axes, in the order of labels.
pub static AXES: [Axis; 7] = [
    Axis {
        key: "errors",
        title: "error format",
        plural: "error formats",
        summary: "The format of failures; `bare` is the guardrail `healing` off.",
        values: || crate::FORMATS.iter().map(|entry| (entry.name, entry.summary)).collect(),
        others: "template:FILE",
        needs: None,
        word: |values| values.errors.to_string(),
        follows: |_| true,
        set: set_errors,
    },
    Axis {
        key: "undeclared",
        title: "treatment of undeclared fields",
        plural: "treatments of undeclared fields",
        summary: "What becomes of fields that an action does not declare; `reject` is the guardrail `strict`.",
        values: || named(&UNDECLARED),
        others: "",
        needs: None,
        word: |values| values.undeclared.name().to_owned(),
        follows: |values| values.undeclared == Undeclared::of(values.guardrails()),
        set: |values, word, _| {
            parse("treatment of undeclared fields", word, &UNDECLARED).map(|value| values.undeclared = value)
        },
    },
    Axis {
        key: "content",
        title: "level of content",
        plural: "levels of content",
        summary: "The facts that error texts state.",
        values: || named(&CONTENTS),
        others: "",
        needs: Some(Need::Healing),
        word: |values| values.content.name().to_owned(),
        follows: |values| values.content.is_native(),
        set: |values, word, _| parse("level of content", word, &CONTENTS).map(|value| values.content = value),
    },
    Axis {
        key: "domain_errors",
        title: "setting of domain errors",
        plural: "settings of domain errors",
        summary: "The facts that texts of domain errors state.",
        values: || named(&DOMAIN_ERRORS),
        others: "",
        needs: Some(Need::Simulator),
        word: |values| values.domain_errors.name().to_owned(),
        follows: |values| values.domain_errors.is_everything(),
        set: |values, word, _| {
            parse("setting of domain errors", word, &DOMAIN_ERRORS).map(|value| values.domain_errors = value)
        },
    },
    Axis {
        key: "truncation",
        title: "truncation",
        plural: "settings of truncation",
        summary: "The guardrail `truncation`.",
        values: || named(&SWITCH),
        others: "",
        needs: None,
        word: |values| if values.truncation { "on" } else { "off" }.to_owned(),
        follows: |_| true,
        set: |values, word, _| parse("truncation", word, &SWITCH).map(|value| values.truncation = value),
    },
    Axis {
        key: "contract",
        title: "contract changes",
        plural: "kinds of contract changes",
        summary: "The contract changes that validation failures show: the guardrail `contract`. Without it, only `on` has an effect. Values \
                  are joined by `+`, the lockfile last.",
        values: || CONTRACT.to_vec(),
        others: "lock:FILE",
        needs: None,
        word: |values| values.contract.word(),
        follows: |values| {
            values.contract == ContractChanges { shown: values.contract.shown, ..ContractChanges::default() }
        },
        set: set_contract,
    },
    Axis {
        key: "client",
        title: "client",
        plural: "clients",
        summary: "The client that presents responses to the agent.",
        values: || named(&CLIENTS),
        others: "",
        needs: None,
        word: |values| values.client.name().to_owned(),
        follows: |values| values.client.is_raw(),
        set: |values, word, _| parse("client", word, &CLIENTS).map(|value| values.client = value),
    },
];

/// Returns the axis with this key.
///
/// # Errors
/// [`AxisError`] with all keys.
pub fn axis(key: &str) -> Result<&'static Axis, AxisError> {
    let unknown = || AxisError::new("axis", key, AXES.iter().map(|axis| axis.key));
    AXES.iter().find(|axis| axis.key == key).ok_or_else(unknown)
}

fn set_errors(values: &mut AxisValues, word: &str, files: &Files<'_>) -> Result<(), AxisValueError> {
    let errors = match (word, word.strip_prefix("template:")) {
        ("bare", _) => ErrorFormat::Bare,
        (_, Some(file)) => ErrorFormat::Template((files.template)(file).map_err(AxisValueError::File)?),
        (name, None) => name.parse().map_err(|mut error: AxisError| {
            error.known.extend(["bare", "template:FILE"].map(str::to_owned));
            error
        })?,
    };
    values.errors = errors;
    if values.errors == ErrorFormat::Bare {
        // No level has an effect.
        values.content = Content::Native;
    }
    Ok(())
}

fn set_contract(values: &mut AxisValues, word: &str, files: &Files<'_>) -> Result<(), AxisValueError> {
    let unknown = |part: &str| {
        let known = CONTRACT.iter().map(|(name, _)| *name).chain(["lock:FILE"]);
        AxisValueError::from(AxisError::new("contract changes", part, known))
    };
    let mut changes = ContractChanges { shown: word != "off", ..ContractChanges::default() };
    // A path may have any character, so it stands last.
    let (parts, lock) = match word.split_once("lock:") {
        Some((parts, file)) if parts.is_empty() || parts.ends_with('+') => (parts.trim_end_matches('+'), Some(file)),
        _ => (word, None),
    };
    for part in parts.split('+').filter(|part| !part.is_empty() && !["on", "off"].contains(&word)) {
        let is_new = match (part, part.split_once(':')) {
            ("all-severities" | "severe-only", _) => {
                changes.include_all_severities.replace(part == "all-severities").is_none()
            }
            (_, Some(("max-deltas", most))) => {
                let most: u16 = most.parse().map_err(|_| unknown(part))?;
                changes.max_deltas_per_error.replace(most).is_none()
            }
            _ => false,
        };
        if !is_new {
            return Err(unknown(part));
        }
    }
    if let Some(file) = lock {
        changes.lock = Some((files.lock)(file).map_err(AxisValueError::File)?);
    }
    // Without the guardrail nothing is shown, however it would be.
    if values.contract.shown || word == "on" {
        values.contract = changes;
    }
    Ok(())
}

impl ContractChanges {
    /// Returns `off`, `on`, or what differs from `on`, joined by `+`, with the lockfile last.
    fn word(&self) -> String {
        let [lock, changes @ ..] = self.parts();
        let parts: Vec<String> = changes.into_iter().chain([lock]).flatten().collect();
        match (self.shown, parts.is_empty()) {
            (false, _) => "off".to_owned(),
            (true, true) => "on".to_owned(),
            (true, false) => parts.join("+"),
        }
    }

    /// Returns what differs from the changes of the scenario: the lockfile, the severities and the number.
    fn parts(&self) -> [Option<String>; 3] {
        let lock = self.lock.as_ref().map(|sha256| format!("lock:{}", sha256.get(..12).unwrap_or(sha256)));
        let severities = self.include_all_severities.map(|all| match all {
            true => "all-severities".to_owned(),
            false => "severe-only".to_owned(),
        });
        [lock, severities, self.max_deltas_per_error.map(|most| format!("max-deltas:{most}"))]
    }

    /// Returns the lockfile and the changes shown, as in a label: `lock:0123456789ab all-severities max-deltas:3`; `None` for
    /// those of the scenario.
    pub fn label(&self) -> Option<String> {
        let parts: Vec<String> = self.parts().into_iter().flatten().collect();
        (!parts.is_empty()).then(|| parts.join(" "))
    }
}

impl AxisValues {
    /// Returns the values of guardrails and an error format. Everything else follows or has its default. Without `healing` the format
    /// has no effect, and is [`ErrorFormat::Bare`].
    pub fn of(guardrails: Guardrails, format: ErrorFormat) -> AxisValues {
        AxisValues {
            errors: if guardrails.healing { format } else { ErrorFormat::Bare },
            undeclared: Undeclared::of(guardrails),
            content: Content::default(),
            domain_errors: DomainErrors::default(),
            truncation: guardrails.truncation,
            contract: ContractChanges { shown: guardrails.contract, ..ContractChanges::default() },
            client: Client::default(),
        }
    }

    /// Returns the guardrails that are on.
    pub fn guardrails(&self) -> Guardrails {
        Guardrails {
            strict: self.undeclared == Undeclared::Reject,
            healing: self.errors != ErrorFormat::Bare,
            truncation: self.truncation,
            contract: self.contract.shown,
        }
    }
}
