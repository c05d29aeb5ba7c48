use super::*;

#[test]
fn leaks_are_listed_apart_from_matches_by_chance() {
    let sandbox = Sandbox::new();
    let shown = sandbox.ok(&["validate", "--leaks", "quickstart"]);
    insta::assert_snapshot!(shown.out);
}

#[test]
fn leaks_as_json() {
    let sandbox = Sandbox::new();
    let shown = sandbox.ok(&["validate", "--leaks", "--output", "json", "quickstart"]);
    let json: serde_json::Value = serde_json::from_str(&shown.out).unwrap();
    assert_eq!((&json["seed"], &json["trials"]), (&1.into(), &20.into()));
    let found = json["scenarios"]
        .as_array()
        .unwrap()
        .iter()
        .find(|audit| audit["scenario"] == "quickstart/wrong-type")
        .unwrap();
    let leak = found["matches"].as_array().unwrap().iter().find(|found| found["kind"] == "leak").unwrap();
    // One of two values is half a leak.
    assert_eq!((&leak["argument"], &leak["place"], &leak["chance"]), (&"notify".into(), &"error".into(), &0.5.into()));
    // The format of the output belongs to the audit.
    assert_eq!(sandbox.start(&["validate", "--output", "json", "quickstart"]).code, Some(2));
}
