//! Profiles: the probabilities and limits that define a scripted agent.

use healbench_core::{AgentKind, AgentSpec, FITTED, Fitted, Moves};
use healbench_files::{ConfigError, Document, Table};
use serde::{Deserialize, Serialize};

use crate::moves::parse_moves;

/// The settings of a scripted agent. Probabilities lie in `[0, 1]`.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Profile {
    /// The probability of following a statement, by kind. Uptake is Lyster and Ranta's term for what a learner does with
    /// corrective feedback.
    pub uptake: Uptake,
    /// The probability of repeating the call if no statement was followed.
    pub repeat: f64,
    /// The probability of a random change if the call is not repeated.
    pub guess: f64,
    /// The probability of writing a wrong value into a field that a statement is followed for.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub wrong_value: f64,
    /// The probability of taking a wrong action where a statement about actions is followed.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub wrong_action: f64,
    /// The probability of a turn with only text before a call.
    pub chatter: f64,
    /// The maximum number of fields repaired between two calls.
    pub fixes_per_turn: u32,
    /// The number of failed attempts at a step after which the agent gives up.
    pub patience: u32,
    /// The number of tokens that the agent can read in an episode, estimated as one token for every four bytes, rounded
    /// up.
    pub context_window: u64,
    /// The moves after errors, in a profile of the kind `moves`; it takes up all that a text says.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub moves: Option<Moves>,
}

/// A profile as a file holds it.
#[derive(Debug, Clone, PartialEq)]
pub struct ProfileFile {
    /// The numbers.
    pub profile: Profile,
    /// The logs or runs that they were fitted to; `None` if they were not fitted.
    pub fitted: Option<Fitted>,
}

macro_rules! uptake {
    ($($(#[$doc:meta])* $name:ident),* $(,)?) => {
        /// The probability of following each kind of statement.
        #[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
        #[serde(deny_unknown_fields)]
        pub struct Uptake { $($(#[$doc])* pub $name: f64),* }

        impl Uptake {
            fn parse(table: &Table<'_>) -> Result<Uptake, ConfigError> {
                table.deny_unknown(&[$(stringify!($name)),*])?;
                Ok(Uptake { $($name: probability(table, stringify!($name))?),* })
            }

            /// Everything that a text says is taken up.
            const ALL: Uptake = Uptake { $($name: 1.0),* };

            fn are_probabilities(&self) -> bool {
                [$(self.$name),*].iter().all(|number| is_probability(*number))
            }

            /// Returns true if no statement is ever followed.
            pub(super) fn is_zero(&self) -> bool {
                [$(self.$name),*].iter().all(|probability| *probability == 0.0)
            }
        }
    };
}

uptake! {
    /// A required field is missing; this includes the discriminator.
    missing,
    /// The type of a field.
    wrong_type,
    /// The valid values of a field, or that its value is already in use.
    options,
    /// The bounds of a field.
    bounds,
    /// The format or pattern of a field.
    format,
    /// A field is unknown to the tool.
    unrecognised,
    actions,
    /// Another action to call first.
    suggestion,
    /// A delay before the next attempt.
    delay,
    /// The failure is transient.
    transient,
    /// A retry cannot succeed.
    stop,
    /// Filters for a truncated response, or how to request the next rows.
    narrow,
    /// A change of the contract.
    contract,
    example,
}

/// A profile that cannot be used.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum ProfileError {
    /// No shipped profile has this name.
    #[error("unknown profile `{name}`")]
    Unknown { name: String, known: Vec<&'static str> },
    /// The file is not a profile.
    #[error(transparent)]
    Invalid(#[from] ConfigError),
}

const KEYS: [&str; 10] = [
    "kind",
    "uptake",
    "repeat",
    "guess",
    "wrong_value",
    "wrong_action",
    "chatter",
    "fixes_per_turn",
    "patience",
    "context_window",
];

/// The shipped profiles of uptake, the least skilled first.
const BY_SKILL: [(&str, &str); 5] = [
    ("blind", include_str!("../profiles/blind.toml")),
    ("careless", include_str!("../profiles/careless.toml")),
    ("typical", include_str!("../profiles/typical.toml")),
    ("careful", include_str!("../profiles/careful.toml")),
    ("perfect", include_str!("../profiles/perfect.toml")),
];

/// The shipped profiles of moves, which are fitted: pooled ones, and those named after a model.
const FITTED_TO_MOVES: [(&str, &str); 5] = [
    ("persistent", include_str!("../profiles/persistent.toml")),
    ("yielding", include_str!("../profiles/yielding.toml")),
    ("stuck", include_str!("../profiles/stuck.toml")),
    ("claude-sonnet-4", include_str!("../profiles/claude-sonnet-4.toml")),
    ("command-r-plus", include_str!("../profiles/command-r-plus.toml")),
];

/// Returns the numbers of the shipped profile of this name.
///
/// # Errors
/// [`ProfileError::Unknown`], which lists the shipped profiles.
pub fn shipped_profile(name: &str) -> Result<Profile, ProfileError> {
    Ok(shipped_profile_file(name)?.profile)
}

/// Returns the shipped profile of this name.
///
/// # Errors
/// [`ProfileError::Unknown`], which lists the shipped profiles.
pub fn shipped_profile_file(name: &str) -> Result<ProfileFile, ProfileError> {
    match shipped_profile_text(name) {
        Some(text) => Ok(ProfileFile::parse(&format!("{name}.toml"), text)?),
        None => {
            let known = shipped_profiles().chain(fitted_profiles()).collect();
            Err(ProfileError::Unknown { name: name.to_owned(), known })
        }
    }
}

/// Returns the text of the shipped profile of this name.
pub fn shipped_profile_text(name: &str) -> Option<&'static str> {
    BY_SKILL.iter().chain(&FITTED_TO_MOVES).find(|(shipped, _)| *shipped == name).map(|(_, text)| *text)
}

/// Returns the names of the shipped profiles of uptake, the least skilled first.
pub fn shipped_profiles() -> impl Iterator<Item = &'static str> {
    BY_SKILL.iter().map(|(name, _)| *name)
}

/// Returns the names of the shipped profiles of moves.
pub fn fitted_profiles() -> impl Iterator<Item = &'static str> {
    FITTED_TO_MOVES.iter().map(|(name, _)| *name)
}

// Serde passes a reference.
#[allow(clippy::trivially_copy_pass_by_ref)]
fn is_zero(number: &f64) -> bool {
    *number == 0.0
}

pub(crate) fn is_probability(number: f64) -> bool {
    (0.0..=1.0).contains(&number)
}

impl Profile {
    fn is_valid(&self) -> bool {
        if self.moves.is_some_and(|moves| !moves.is_valid()) {
            return false;
        }
        let own = [self.repeat, self.guess, self.wrong_value, self.wrong_action, self.chatter];
        own.into_iter().all(is_probability) && self.uptake.are_probabilities()
    }

    /// Parses a profile of uptake. Without `wrong_value` and `wrong_action`, both are 0.
    fn of_uptake(root: &Table<'_>) -> Result<Profile, ConfigError> {
        root.deny_unknown(&KEYS)?;
        let number = |key| root.require(key, "it is a whole number");
        Ok(Profile {
            uptake: Uptake::parse(
                &root.require("uptake", "it is a table with a probability for each statement")?.table()?,
            )?,
            repeat: probability(root, "repeat")?,
            guess: probability(root, "guess")?,
            wrong_value: probability_or_zero(root, "wrong_value")?,
            wrong_action: probability_or_zero(root, "wrong_action")?,
            chatter: probability(root, "chatter")?,
            fixes_per_turn: number("fixes_per_turn")?.integer_from(0)?,
            patience: number("patience")?.integer_from(0)?,
            context_window: number("context_window")?.integer(0..=u64::MAX)?,
            moves: None,
        })
    }

    /// Parses a profile of moves. Patience and fixes have no limit but that of the episode.
    fn of_moves(root: &Table<'_>) -> Result<Profile, ConfigError> {
        root.deny_unknown(&["kind", "chatter", "context_window", FITTED, "moves"])?;
        let moves = parse_moves(&root.require("moves", "it is a table with the shares of moves")?.table()?)?;
        let wrong = 1.0 - moves.right_told;
        Ok(Profile {
            uptake: Uptake::ALL,
            repeat: 0.0,
            guess: 0.0,
            wrong_value: wrong,
            wrong_action: wrong,
            chatter: probability_or_zero(root, "chatter")?,
            fixes_per_turn: u32::MAX,
            patience: u32::MAX,
            context_window: root.require("context_window", "it is a whole number")?.integer(0..=u64::MAX)?,
            moves: Some(moves),
        })
    }

    /// Parses the numbers of a profile; `file` is named in errors.
    ///
    /// # Errors
    /// Returns the first problem with its position.
    pub fn from_toml(file: &str, text: &str) -> Result<Profile, ConfigError> {
        Ok(ProfileFile::parse(file, text)?.profile)
    }

    /// Returns the specification of an agent with this profile and name.
    pub fn spec(&self, name: &str) -> AgentSpec {
        AgentSpec {
            kind: AgentKind::Scripted,
            name: name.to_owned(),
            opening: None,
            tools: None,
            // A profile contains only numbers, so serialization cannot fail.
            settings: serde_json::to_value(self).unwrap_or_default(),
        }
    }

    /// Returns the profile of an agent in a plan; `None` if its settings are not a valid profile.
    pub fn from_spec(spec: &AgentSpec) -> Option<Profile> {
        let profile: Profile = serde_json::from_value(spec.identity()).ok()?;
        // The same limits as for profile files apply.
        profile.is_valid().then_some(profile)
    }
}

impl ProfileFile {
    /// Parses a file; `file` is named in errors.
    ///
    /// # Errors
    /// Returns the first problem with its position.
    pub fn parse(file: &str, text: &str) -> Result<ProfileFile, ConfigError> {
        let document = Document::parse(file, text)?;
        let root = document.root();
        let kinds = [("uptake", false), ("moves", true)];
        if !root.get("kind").map_or(Ok(false), |kind| kind.one_of(kinds))? {
            return Ok(ProfileFile { profile: Profile::of_uptake(&root)?, fitted: None });
        }
        let profile = Profile::of_moves(&root)?;
        let fitted = root.get(FITTED).map(|table| parse_fitted(&table.table()?)).transpose()?;
        Ok(ProfileFile { profile, fitted })
    }

    /// Returns the specification of an agent with this profile and name.
    pub fn spec(&self, name: &str) -> AgentSpec {
        let mut spec = self.profile.spec(name);
        if let (Some(fitted), Some(settings)) = (&self.fitted, spec.settings.as_object_mut()) {
            settings.insert(FITTED.to_owned(), serde_json::to_value(fitted).unwrap_or_default());
        }
        spec
    }
}

fn parse_fitted(table: &Table<'_>) -> Result<Fitted, ConfigError> {
    table.deny_unknown(&["source", "agents", "tasks", "moves", "date", "verdict"])?;
    let text = |key| Ok(table.require(key, "it is a text")?.text()?.to_owned());
    let number = |key| table.require(key, "it is a whole number")?.integer(0..=u64::MAX);
    Ok(Fitted {
        source: text("source")?,
        agents: table.require("agents", "it is a list of names")?.texts()?,
        tasks: number("tasks")?,
        moves: number("moves")?,
        date: text("date")?,
        verdict: text("verdict")?,
    })
}

fn probability(table: &Table<'_>, key: &str) -> Result<f64, ConfigError> {
    table.require(key, "it is a number from 0 to 1")?.number(is_probability, "a number from 0 to 1")
}

fn probability_or_zero(table: &Table<'_>, key: &str) -> Result<f64, ConfigError> {
    if table.get(key).is_some() { probability(table, key) } else { Ok(0.0) }
}
