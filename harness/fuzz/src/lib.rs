//! Code shared by the fuzz targets: the oracle of the engine's property tests, and how bytes become its texts.

use arbitrary::Arbitrary;
use healbench_core::ErrorFormat;

#[allow(dead_code)]
#[path = "../../engine/tests/engine/oracle.rs"]
mod oracle;

/// Texts from outside, as the fuzzer makes them.
#[derive(Debug, Arbitrary)]
pub struct Input {
    name: String,
    prose: String,
    field: String,
    extra: String,
    option: String,
    value: String,
    previous: String,
}

/// Holds a renderer against the oracle.
pub fn render(format: &ErrorFormat, input: Input) {
    let Input { name, prose, field, extra, option, value, previous } = input;
    // Names that the oracle's own tools use mean something else there.
    let ours = ["action", "age", "list"];
    if [&field, &extra, &previous].into_iter().any(|name| ours.contains(&name.as_str()))
        || field == extra
        || name == "failing"
    {
        return;
    }
    oracle::check_all(format, &oracle::Texts { name, prose, field, extra, option, value, previous });
}
