//! Tests that write rows to real files, read them back, and compute and render reports.

// Clippy recognizes only functions marked `#[test]` as tests, not the helpers that they share.
#![allow(clippy::unwrap_used)]

#[path = "reports/ablation.rs"]
mod ablation;
#[path = "reports/answer.rs"]
mod answer;
#[path = "reports/clustered.rs"]
mod clustered;
#[path = "reports/comparison.rs"]
mod comparison;
#[path = "reports/copies.rs"]
mod copies;
#[path = "reports/episode_index.rs"]
mod episode_index;
#[path = "reports/frames.rs"]
mod frames;
#[path = "reports/gate.rs"]
mod gate;
#[path = "reports/gate_markdown.rs"]
mod gate_markdown;
#[path = "reports/gate_pairs.rs"]
mod gate_pairs;
#[path = "reports/gate_questions.rs"]
mod gate_questions;
#[path = "reports/gate_renderers.rs"]
mod gate_renderers;
#[path = "reports/headline.rs"]
mod headline;
#[path = "reports/hostile.rs"]
mod hostile;
#[path = "reports/inspect.rs"]
mod inspect;
#[path = "reports/interaction.rs"]
mod interaction;
#[path = "reports/non_inferiority.rs"]
mod non_inferiority;
#[path = "reports/numbers.rs"]
mod numbers;
#[path = "reports/operating_characteristics.rs"]
mod operating_characteristics;
#[path = "reports/page_integrity.rs"]
mod page_integrity;
#[path = "reports/pages.rs"]
mod pages;
#[path = "reports/power.rs"]
mod power;
#[path = "reports/renderers.rs"]
mod renderers;
#[path = "reports/renderers_heat.rs"]
mod renderers_heat;
#[path = "reports/renderers_page.rs"]
mod renderers_page;
#[path = "reports/renderers_text.rs"]
mod renderers_text;
#[path = "reports/rendering.rs"]
mod rendering;
#[path = "reports/run_apart.rs"]
mod run_apart;
#[path = "reports/run_pairs.rs"]
mod run_pairs;
#[path = "reports/sample.rs"]
mod sample;
#[path = "reports/schema.rs"]
mod schema;
#[path = "reports/selection.rs"]
mod selection;
#[path = "reports/statistics.rs"]
mod statistics;
#[path = "reports/summary.rs"]
mod summary;
#[path = "reports/summary_pairs.rs"]
mod summary_pairs;
#[path = "reports/transcript.rs"]
mod transcript;
