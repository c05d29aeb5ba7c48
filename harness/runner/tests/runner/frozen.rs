//! Hashed and keyed values, as of the first stored runs. A change of any of them makes stored runs, baselines and
//! recordings unusable, so no renaming or restructuring may change one.

use std::path::PathBuf;

use healbench_core::{DrawKey, Seed, canonical_json, fingerprint};
use healbench_reader::{shipped_profile, shipped_profiles};
use healbench_scenarios::load_suite;

#[test]
fn schedules() {
    let folder = PathBuf::from(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/fixtures/frozen"));
    let scenarios = load_suite(&[folder]).unwrap();
    let hashes: Vec<String> = scenarios
        .iter()
        .map(|scenario| format!("{} {}", scenario.id, scenario.schedule(Seed(7), 2, &scenario.world(Seed(7), 0)).hash))
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
        "agent/wrong_value/status",
        "agent/wrong_value/which/status",
        "agent/wrong_action/list",
        "agent/wrong_action/which/list",
    ];
    let key = DrawKey::of_trial(Seed(7), "quickstart/wrong-enum", 2);
    let drawn: Vec<u64> = purposes.iter().map(|purpose| key.draws(purpose, 1).bits()).collect();
    assert_eq!(drawn, DRAWS);
}

#[test]
fn settings_of_profiles() {
    let hashes: Vec<String> = shipped_profiles()
        .map(|name| {
            let settings = shipped_profile(name).unwrap().spec(name).settings;
            format!("{name} {}", &fingerprint(canonical_json(&settings).as_bytes())[..16])
        })
        .collect();
    assert_eq!(hashes, SETTINGS);
}

const SCHEDULES: [&str; 5] = [
    "recovery/alternative-actions 78accc51012ace1f",
    "recovery/corrective-arguments dd12f7b788d99808",
    "recovery/internal-passes fb1dd19c40beff4e",
    "recovery/missing-dependency 5d81a782f6ae55b3",
    "recovery/permission 24e253b48e88849d",
];
const DRAWS: [u64; 12] = [
    18_337_885_010_860_962_219,
    5_314_344_187_812_633_995,
    12_744_301_686_761_236_804,
    11_863_555_319_651_758_834,
    3_668_350_021_604_063_672,
    5_194_377_050_167_460_802,
    7_988_533_743_706_573_163,
    15_724_982_900_957_451_911,
    5_296_130_776_749_216_954,
    6_083_773_944_572_904_985,
    15_795_756_182_301_455_327,
    121_097_545_627_801_664,
];
const SETTINGS: [&str; 5] = [
    "blind 9c7c520caf6d2163",
    "careless 25608d16e315159d",
    "typical 7eca6663051c337f",
    "careful 5c3613ac534433eb",
    "perfect 2630a1939d7e53b2",
];
