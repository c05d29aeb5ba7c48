//! The numbers that make one scripted agent differ from another.

use healbench_protocol::{AgentKind, AgentSpec};
use serde::{Deserialize, Serialize};
use toml::Spanned;

/// How a scripted agent reads and acts. Probabilities lie in `[0, 1]`.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Profile {
    /// How likely a hint is taken up, by kind.
    pub uptake: Uptake,
    /// How likely the same call is sent again when nothing was found to act on.
    pub repeat: f64,
    /// How likely, if it was not repeated, something is changed at random.
    pub guess: f64,
    /// How likely a turn of prose comes before a call.
    pub chatter: f64,
    /// The most fields that are mended between two calls.
    pub fixes_per_turn: u32,
    /// Failed attempts on one step after which the agent gives up.
    pub patience: u32,
    /// Tokens that the agent can read in an episode, by its own estimate: a token for every four bytes, rounded up.
    pub context_window: u64,
}

macro_rules! uptake {
    ($($(#[$doc:meta])* $name:ident),* $(,)?) => {
        /// How likely a hint of each kind is taken up.
        #[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
        #[serde(deny_unknown_fields)]
        pub struct Uptake { $($(#[$doc])* pub $name: f64),* }

        #[derive(Deserialize)]
        #[serde(deny_unknown_fields)]
        struct RawUptake { $($name: Spanned<f64>),* }

        impl RawUptake {
            fn validate(&self, source: &ProfileText<'_>) -> Result<Uptake, ProfileError> {
                Ok(Uptake { $($name: source.probability(concat!("uptake.", stringify!($name)), &self.$name)?),* })
            }
        }

        impl Uptake {
            fn are_probabilities(&self) -> bool {
                [$(self.$name),*].iter().all(|number| is_probability(*number))
            }

            /// Whether nothing is ever taken up.
            pub(super) fn is_zero(&self) -> bool {
                [$(self.$name),*].iter().all(|probability| *probability == 0.0)
            }
        }
    };
}

uptake! {
    /// A field that has to be there, the discriminator among them.
    missing,
    /// A field's type.
    wrong_type,
    /// A field's valid values, or that the value that was sent is taken.
    options,
    /// A field's limits.
    bounds,
    /// A field's format or pattern.
    format,
    /// A field that the tool does not know.
    unrecognised,
    /// The valid actions.
    actions,
    /// Another action to call first.
    suggestion,
    /// A delay before the next attempt.
    delay,
    /// That the failure will pass.
    transient,
    /// That trying again is of no use.
    stop,
    /// Filters for an answer that was cut, or how to read on in it.
    narrow,
    /// A change of the contract.
    contract,
    /// A valid example.
    example,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct RawProfile {
    uptake: RawUptake,
    repeat: Spanned<f64>,
    guess: Spanned<f64>,
    chatter: Spanned<f64>,
    fixes_per_turn: u32,
    patience: u32,
    context_window: u64,
}

/// A profile that cannot be used.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum ProfileError {
    /// No shipped profile has this name.
    #[error("unknown profile `{name}`")]
    Unknown {
        /// The name as it was given.
        name: String,
        /// The shipped profiles.
        known: Vec<&'static str>,
    },
    /// Not TOML, or a key is missing, unknown or of the wrong type.
    #[error("{file}:{line}: {message}")]
    Syntax {
        /// The file.
        file: String,
        /// The line, from 1.
        line: usize,
        /// What is wrong, with the key's name.
        message: String,
    },
    /// A number that is no probability.
    #[error("{file}:{line}: `{key}` is {value}, which is not between 0 and 1")]
    NotAProbability {
        /// The file.
        file: String,
        /// The line, from 1.
        line: usize,
        /// The key with its table.
        key: &'static str,
        /// The number.
        value: f64,
    },
}

/// The shipped profiles, the least skilled first.
const SHIPPED: [(&str, &str); 5] = [
    ("blind", include_str!("../../profiles/blind.toml")),
    ("careless", include_str!("../../profiles/careless.toml")),
    ("typical", include_str!("../../profiles/typical.toml")),
    ("careful", include_str!("../../profiles/careful.toml")),
    ("perfect", include_str!("../../profiles/perfect.toml")),
];

/// The shipped profile of this name.
///
/// # Errors
/// [`ProfileError::Unknown`], which lists the names that there are.
pub fn shipped_profile(name: &str) -> Result<Profile, ProfileError> {
    match SHIPPED.iter().find(|(shipped, _)| *shipped == name) {
        Some((_, text)) => Profile::from_toml(&format!("{name}.toml"), text),
        None => Err(ProfileError::Unknown { name: name.to_owned(), known: shipped_profiles().collect() }),
    }
}

/// The names of the shipped profiles, the least skilled first.
pub fn shipped_profiles() -> impl Iterator<Item = &'static str> {
    SHIPPED.iter().map(|(name, _)| *name)
}

fn is_probability(number: f64) -> bool {
    (0.0..=1.0).contains(&number)
}

impl Profile {
    fn is_valid(&self) -> bool {
        [self.repeat, self.guess, self.chatter].into_iter().all(is_probability) && self.uptake.are_probabilities()
    }

    /// Reads a profile; `file` is named in errors.
    ///
    /// # Errors
    /// [`ProfileError::Syntax`] for what is not a profile's TOML, [`ProfileError::NotAProbability`] for a number out of range.
    pub fn from_toml(file: &str, text: &str) -> Result<Profile, ProfileError> {
        let source = ProfileText { file, text };
        let raw: RawProfile = toml::from_str(text).map_err(|error| ProfileError::Syntax {
            file: file.to_owned(),
            line: source.line_at(error.span().map_or(0, |span| span.start)),
            message: error.message().replace('\n', " "),
        })?;
        Ok(Profile {
            uptake: raw.uptake.validate(&source)?,
            repeat: source.probability("repeat", &raw.repeat)?,
            guess: source.probability("guess", &raw.guess)?,
            chatter: source.probability("chatter", &raw.chatter)?,
            fixes_per_turn: raw.fixes_per_turn,
            patience: raw.patience,
            context_window: raw.context_window,
        })
    }

    /// The agent that this profile makes, under the name that the plan gives it.
    pub fn spec(&self, name: &str) -> AgentSpec {
        AgentSpec {
            kind: AgentKind::Scripted,
            name: name.to_owned(),
            opening: None,
            tools: None,
            // Numbers only: they cannot fail to be JSON.
            settings: serde_json::to_value(self).unwrap_or_default(),
        }
    }

    /// The profile that an agent of a plan has; `None` when its settings are not those of a profile.
    pub fn from_spec(spec: &AgentSpec) -> Option<Profile> {
        let profile: Profile = serde_json::from_value(spec.settings.clone()).ok()?;
        // What a file may not say, a manifest may not say either.
        profile.is_valid().then_some(profile)
    }
}

/// Where a profile is read from.
struct ProfileText<'t> {
    file: &'t str,
    text: &'t str,
}

impl ProfileText<'_> {
    fn line_at(&self, offset: usize) -> usize {
        1 + self.text.bytes().take(offset).filter(|byte| *byte == b'\n').count()
    }

    fn probability(&self, key: &'static str, number: &Spanned<f64>) -> Result<f64, ProfileError> {
        let value = *number.get_ref();
        if (0.0..=1.0).contains(&value) {
            return Ok(value);
        }
        let line = self.line_at(number.span().start);
        Err(ProfileError::NotAProbability { file: self.file.to_owned(), line, key, value })
    }
}
