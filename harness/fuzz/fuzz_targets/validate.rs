#![no_main]

use healbench_engine::validate;
use libfuzzer_sys::fuzz_target;
use serde_json::Value;

// A schema and arguments, one on each line. Finding the issues ends, whatever the schema, with at most 100 and the mark at
// their end.
fuzz_target!(|text: &str| {
    let Some((schema, arguments)) = text.split_once('\n') else { return };
    let (Ok(schema), Ok(arguments)) = (serde_json::from_str::<Value>(schema), serde_json::from_str(arguments)) else {
        return;
    };
    if let Ok(issues) = validate(&schema, &arguments) {
        assert!(issues.len() <= 101);
    }
});
