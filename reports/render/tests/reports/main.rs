//! Tests that write rows to real files, read them back, and compute and render reports.

// Clippy recognizes only functions marked `#[test]` as tests, not the helpers that they share.
#![allow(clippy::unwrap_used)]

mod ablation;
mod answer;
mod answer_costs;
mod answer_factors;
mod answer_rates;
mod clustered;
mod comparison;
mod copies;
mod episode_index;
mod error_texts;
mod frames;
mod gate;
mod gate_causes;
mod gate_markdown;
mod gate_pairs;
mod gate_questions;
mod gate_renderers;
mod headline;
mod hostile;
mod inspect;
mod interaction;
mod non_inferiority;
mod numbers;
mod one_pair_one_statement;
mod operating_characteristics;
mod page_integrity;
mod page_questions;
mod pages;
mod power;
mod renderers;
mod renderers_heat;
mod renderers_page;
mod renderers_text;
mod rendering;
mod run_apart;
mod run_pairs;
mod sample;
mod sample_sizes;
mod schema;
mod selection;
mod slow_rows;
mod statements;
mod statistics;
mod summary;
mod summary_pairs;
mod transcript;
mod two_runs_one_statement;
