#![no_main]

use healbench_core::Seed;
use healbench_scenarios::{Syntax, load_str};
use libfuzzer_sys::fuzz_target;

// A scenario file is either rejected with diagnostics, or an environment and the schedule of a trial can be created
// from it.
fuzz_target!(|text: &str| {
    for syntax in [Syntax::Yaml, Syntax::Json] {
        match load_str("fuzz", text, syntax) {
            Ok(scenario) => {
                let world = scenario.world(Seed(1), 0);
                assert_eq!(scenario.schedule(Seed(1), 0, &world).hash, scenario.schedule(Seed(1), 0, &world).hash);
            }
            Err(diagnostics) => assert!(!diagnostics.is_empty()),
        }
    }
});
