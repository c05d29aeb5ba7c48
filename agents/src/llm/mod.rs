//! Agents behind which a language model answers, over the API of its provider or from a recording.
//!
//! Inside there is one conversation; `api` has a file for each form in which providers want it. Nothing else knows those forms.

mod agent;
mod api;
pub mod cassette;
mod conversation;
mod endpoint;
mod model;
mod place;
mod preflight;
mod prices;
mod prompted;
mod secret;
mod settings;
mod slots;
mod tools;

pub use agent::{Line, LlmAgent, Player, opening_steps, preamble_of};
pub use api::{Api, Unreadable, Wire};
pub use conversation::{Arguments, CallResult, Conversation, Function, Message, Reply, Said, SentCall, Stop};
pub use endpoint::{Answer, AskError, Endpoint, Network, SetupError};
pub use model::{Connections, Limits, Model, Price, Sampling};
pub use preflight::{Preflight, PreflightError};
pub use prices::{PriceEntry, PriceError, PriceTable, Provider};
pub use settings::{Fault, ModelTable, SYSTEM, SettingsError, WordError, models, resolve};
pub use slots::{EpisodeSlot, Slots};
