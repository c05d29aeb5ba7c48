//! Tests of the shipped profiles, and of invalid profiles.

use healbench_reader::{
    Profile, ProfileError, fitted_profiles, shipped_profile, shipped_profile_file, shipped_profiles,
};

const TYPICAL: &str = include_str!("../../profiles/typical.toml");

#[test]
fn every_shipped_profile_reads() {
    let names = || shipped_profiles().chain(fitted_profiles());
    let profiles: Vec<_> = names().map(|name| shipped_profile(name).unwrap().spec(name).settings).collect();
    assert_eq!(profiles.len(), 10);
    for (index, profile) in profiles.iter().enumerate() {
        assert!(!profiles[..index].contains(profile), "two profiles are the same");
    }
    assert_eq!(shipped_profile("typical").unwrap().spec("typical").to_string(), "scripted:typical");
}

#[test]
fn an_unknown_name_lists_the_known_ones() {
    let Err(ProfileError::Unknown { name, known }) = shipped_profile("perfekt") else { panic!() };
    assert_eq!(
        (name.as_str(), known.as_slice()),
        ("perfekt", shipped_profiles().chain(fitted_profiles()).collect::<Vec<&str>>().as_slice())
    );
}

#[test]
fn a_profile_with_the_name_of_a_model_has_enough_tasks() {
    for name in fitted_profiles() {
        let file = shipped_profile_file(name).unwrap();
        let fitted = file.fitted.clone().unwrap();
        assert!(fitted.agents.len() > 1 || fitted.tasks >= 15, "{name}: {fitted:?}");
        let spec = file.spec(name);
        assert_eq!((spec.fitted(), Profile::from_spec(&spec)), (Some(fitted), Some(file.profile)));
    }
    assert!(shipped_profiles().all(|name| shipped_profile_file(name).unwrap().fitted.is_none()));
}

#[test]
fn mistakes_are_named_with_file_key_and_line() {
    let error = |text: &str| {
        let error = Profile::from_toml("my.toml", text).unwrap_err();
        format!("{error}; {}", error.help)
    };
    let line = |needle: &str| 1 + TYPICAL.lines().position(|line| line.starts_with(needle)).unwrap();
    let high = TYPICAL.replace("delay = 0.85", "delay = 1.5");
    assert_eq!(
        error(&high),
        format!(
            "my.toml:{}:9: `uptake.delay` is 1.5, which is out of range; it has to be a number from 0 to 1",
            line("delay")
        )
    );
    let nan = TYPICAL.replace("repeat = 0.5", "repeat = nan");
    assert!(error(&nan).starts_with(&format!("my.toml:{}:10: `repeat` is nan", line("repeat"))), "{}", error(&nan));
    let unknown = TYPICAL.replace("guess = 0.2", "guess = 0.2\nguesses = 0.2");
    let message = error(&unknown);
    assert!(
        message.starts_with(&format!(
            "my.toml:{}:1: unknown key `guesses`; did you mean `guess`? Known: ",
            line("guess") + 1
        )),
        "{message}"
    );
    let missing = TYPICAL.replace("patience = 6", "");
    assert!(error(&missing).contains("`patience` is missing; it is a whole number"), "{}", error(&missing));
}

#[test]
fn the_settings_of_an_agent_give_back_its_profile() {
    let spec = |text: &str| Profile::from_toml("x.toml", text).unwrap().spec("x");
    assert_eq!(spec(TYPICAL), spec(&format!("# another comment\n{TYPICAL}")));
    assert_ne!(spec(TYPICAL), spec(&TYPICAL.replace("repeat = 0.5", "repeat = 0.51")));
    assert_eq!(Profile::from_spec(&spec(TYPICAL)), Some(Profile::from_toml("x.toml", TYPICAL).unwrap()));
    let mut invalid = spec(TYPICAL);
    invalid.settings["guess"] = serde_json::json!(1.5);
    assert_eq!(Profile::from_spec(&invalid), None);
}
