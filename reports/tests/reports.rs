//! Rows through real files: written, read back, summed up, shown.

// Clippy takes only the functions marked `#[test]` for tests, not those they share.
#![allow(clippy::unwrap_used)]

#[path = "reports/ablation.rs"]
mod ablation;
#[path = "reports/comparison.rs"]
mod comparison;
#[path = "reports/forms.rs"]
mod forms;
#[path = "reports/forms_page.rs"]
mod forms_page;
#[path = "reports/forms_text.rs"]
mod forms_text;
#[path = "reports/frames.rs"]
mod frames;
#[path = "reports/gate.rs"]
mod gate;
#[path = "reports/gate_forms.rs"]
mod gate_forms;
#[path = "reports/headline.rs"]
mod headline;
#[path = "reports/hostile.rs"]
mod hostile;
#[path = "reports/non_inferiority.rs"]
mod non_inferiority;
#[path = "reports/numbers.rs"]
mod numbers;
#[path = "reports/operating.rs"]
mod operating;
#[path = "reports/page_itself.rs"]
mod page_itself;
#[path = "reports/pages.rs"]
mod pages;
#[path = "reports/rendering.rs"]
mod rendering;
#[path = "reports/sample.rs"]
mod sample;
#[path = "reports/schema.rs"]
mod schema;
#[path = "reports/statistics.rs"]
mod statistics;
#[path = "reports/summary.rs"]
mod summary;
#[path = "reports/transcript.rs"]
mod transcript;
