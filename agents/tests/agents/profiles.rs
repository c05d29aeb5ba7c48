//! Profiles: the shipped ones, and what a user can get wrong.

use healbench_agents::scripted::{Profile, ProfileError, scripted, shipped};

const TYPICAL: &str = include_str!("../../profiles/typical.toml");

#[test]
fn every_shipped_profile_reads() {
    let digests: Vec<String> = shipped().map(|name| scripted(name).unwrap().spec(name).digest).collect();
    assert_eq!(digests.len(), 5);
    for (index, digest) in digests.iter().enumerate() {
        assert!(!digests[..index].contains(digest), "two profiles are the same");
    }
    assert_eq!(scripted("typical").unwrap().spec("typical").to_string(), "scripted:typical");
}

#[test]
fn an_unknown_name_lists_the_known_ones() {
    let Err(ProfileError::Unknown { name, known }) = scripted("perfekt") else { panic!() };
    assert_eq!(
        (name.as_str(), known.as_slice()),
        ("perfekt", ["blind", "careless", "typical", "careful", "perfect"].as_slice())
    );
}

#[test]
fn mistakes_are_named_with_file_key_and_line() {
    let error = |text: &str| Profile::from_toml("my.toml", text).unwrap_err().to_string();
    let line = |needle: &str| 1 + TYPICAL.lines().position(|line| line.starts_with(needle)).unwrap();
    let high = TYPICAL.replace("delay = 0.85", "delay = 1.5");
    assert_eq!(error(&high), format!("my.toml:{}: `uptake.delay` is 1.5, which is not between 0 and 1", line("delay")));
    let nan = TYPICAL.replace("repeat = 0.5", "repeat = nan");
    assert!(error(&nan).starts_with(&format!("my.toml:{}: `repeat` is NaN", line("repeat"))), "{}", error(&nan));
    let unknown = TYPICAL.replace("guess = 0.2", "guess = 0.2\nguesses = 0.2");
    let said = error(&unknown);
    assert!(said.starts_with(&format!("my.toml:{}: ", line("guess") + 1)) && said.contains("`guesses`"), "{said}");
    let missing = TYPICAL.replace("patience = 6", "");
    assert!(error(&missing).contains("`patience`"), "{}", error(&missing));
}

#[test]
fn the_digest_is_of_the_numbers_and_not_of_the_text() {
    let digest = |text: &str| Profile::from_toml("x.toml", text).unwrap().spec("x").digest;
    assert_eq!(digest(TYPICAL), digest(&format!("# another comment\n{TYPICAL}")));
    assert_ne!(digest(TYPICAL), digest(&TYPICAL.replace("repeat = 0.5", "repeat = 0.51")));
}
