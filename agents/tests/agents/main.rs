//! Tests of the agents through their public interface: texts in, evidence and turns out.
// Clippy allows `unwrap` only inside of test functions, and not in what they share.
#![allow(clippy::unwrap_used)]

mod api_fixtures;
mod evidence;
mod hostile_server;
mod llm_anthropic;
mod llm_cassette;
mod llm_endpoint;
mod llm_gemini;
mod llm_openai;
mod llm_preflight;
mod llm_prices;
mod llm_settings;
mod lookup;
mod mending;
mod play;
mod profiles;
mod properties;
