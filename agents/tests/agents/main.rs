//! Tests of the agents through their public interface: requests, answers and turns.
// Clippy allows `unwrap` only inside of test functions, and not in what they share.
#![allow(clippy::unwrap_used)]

mod api_fixtures;
mod hostile_server;
mod llm_anthropic;
mod llm_cassette;
mod llm_cassette_damage;
mod llm_cassette_miss;
mod llm_endpoint;
mod llm_gemini;
mod llm_limits;
mod llm_openai;
mod llm_preflight;
mod llm_prices;
mod llm_refusals;
mod llm_server_kinds;
mod llm_settings;
mod llm_settings_numbers;
mod llm_unusual_answers;
