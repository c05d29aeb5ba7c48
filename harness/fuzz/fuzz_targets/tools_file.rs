#![no_main]

use healbench_scenarios::load_tools_str;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|text: &str| {
    if let Err(diagnostics) = load_tools_str("fuzz", text) {
        assert!(!diagnostics.is_empty());
    }
});
