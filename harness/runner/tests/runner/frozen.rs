//! What is hashed or keyed, as it was when runs were first stored. Another value here means that stored runs, baselines and
//! recordings no longer fit, so no change of names or of structure may move one.

use std::path::PathBuf;

use healbench_agents::scripted::{scripted, shipped};
use healbench_protocol::{DrawKey, Seed, canonical_json, fingerprint};
use healbench_scenarios::load_suite;

#[test]
fn schedules() {
    let folder = PathBuf::from(concat!(env!("CARGO_MANIFEST_DIR"), "/../../scenarios/suites/recovery"));
    let scenarios = load_suite(&[folder]).unwrap();
    let hashes: Vec<String> = scenarios
        .iter()
        .take(5)
        .map(|scenario| format!("{} {}", scenario.id, scenario.schedule(Seed(7), 2, &scenario.world(Seed(7))).hash))
        .collect();
    assert_eq!(hashes, SCHEDULES);
}

#[test]
fn draws() {
    let purposes = [
        "mistake",
        "model",
        "bootstrap",
        "table/users",
        "agent/uptake/options/status",
        "agent/uptake/delay/",
        "agent/guess",
        "agent/guess/what",
    ];
    let key = DrawKey::of_trial(Seed(7), "quickstart/wrong-enum", 2);
    let drawn: Vec<u64> = purposes.iter().map(|purpose| key.draws(purpose, 1).bits()).collect();
    assert_eq!(drawn, DRAWS);
}

#[test]
fn settings_of_profiles() {
    let hashes: Vec<String> = shipped()
        .map(|(name, profile)| {
    XX
            format!("{name} {}", &fingerprint(canonical_json(&settings).as_bytes())[..16])
        })
        .collect();
    assert_eq!(hashes, SETTINGS);
}

const SCHEDULES: [&str; 5] = [""; 5];
const DRAWS: [u64; 8] = [0; 8];
const SETTINGS: [&str; 5] = [""; 5];
