//! `plan --detect`.

use serde_json::Value;

use super::*;

fn sizes(sandbox: &Sandbox, args: &[&str]) -> Value {
    let out = sandbox.ok(&[&["plan", "--detect=5points", "--output=json"], args].concat()).out;
    serde_json::from_str(&out).unwrap()
}

#[test]
fn a_plan_says_how_many_scenarios_would_settle_a_difference() {
    let sandbox = Sandbox::new();
    let args = ["plan", "quickstart", "--detect", "5points", "--trials", "5"];
    insta::assert_snapshot!("sample_sizes", sandbox.ok(&args).out);
    let found = sizes(&sandbox, &["quickstart", "--trials=5"]);
    assert_eq!((&found["detect"], &found["power"]), (&0.05.into(), &0.8.into()));
    assert_eq!((&found["plan"]["trials"], &found["fewest_scenarios"]), (&5.into(), &59.into()));
    let [gate, comparison] = [0, 1].map(|index| &found["questions"][index]);
    assert_eq!((&gate["decision"], &comparison["decision"]), (&"gate_passes".into(), &"comparison_shows".into()));
    // The gate's own search finds the same 274 pairs.
    assert_eq!(gate["columns"][0]["needed"][0]["scenarios"], 274);
    assert_eq!(gate["columns"][0]["needed"][0]["episodes"], 548);
    assert_eq!(gate["columns"][0]["icc"], Value::Null);
    // More trials of the same scenarios cost more episodes.
    let episodes = |trials: usize| gate["columns"][3]["needed"][trials]["episodes"].as_u64().unwrap();
    assert!(episodes(0) < episodes(1) && episodes(1) < episodes(3), "{gate}");
    // With fewer than 59 scenarios no gate on other scenarios passes.
    assert_eq!(gate["columns"][1]["plan_power"], 0.0);
    assert!(comparison["columns"][1]["plan_power"].as_f64().unwrap() > 0.0);
}

#[test]
fn a_difference_is_written_in_points_or_as_a_share() {
    let sandbox = Sandbox::new();
    let plan = |detect: &str| sandbox.start(&["plan", "quickstart", "--detect", detect]);
    let expected = plan("5points").out;
    for same in ["5 points", "5pp", "5 pp", "0.05"] {
        assert_eq!(plan(same).out, expected, "{same}");
    }
    for (bad, problem) in [
        ("5%", "a rate differs by points"),
        ("5", "below 100 points"),
        ("0points", "above 0"),
        ("100points", "not a number of points"),
        ("five", "write `5points`, `5pp` or `0.05`"),
    ] {
        let result = plan(bad);
        assert!(result.code == Some(2) && result.err.contains(problem), "{bad}: {}", result.err);
    }
    for bad in [["--power", "100%"], ["--power", "0"], ["--icc", "1.5"], ["--discordance", "x"]] {
        let result = sandbox.start(&[&["plan", "--detect=5pp"], &bad[..]].concat());
        assert!(result.code == Some(2) && result.err.contains("it has to be"), "{bad:?}: {}", result.err);
    }
    let without = sandbox.start(&["plan", "--power=90%"]);
    assert!(without.code == Some(2) && without.err.contains("--detect"), "{}", without.err);
}

#[test]
fn discordance_and_correlation_are_measured_in_a_run() {
    let sandbox = Sandbox::new();
    sandbox.ok(&["run", "quickstart", "--agent=scripted:blind,scripted:typical", "--trials=5", "--out=measured", "-q"]);
    let found = sizes(&sandbox, &["quickstart", "--from=measured", "--agent=scripted:typical"]);
    let assumptions = &found["assumptions"];
    assert_eq!(assumptions["measured"]["agent"], "scripted:typical");
    let icc = assumptions["icc"][0].as_f64().unwrap();
    assert!(icc > 0.1 && icc < 1.0, "{assumptions}");
    assert_eq!(
        sizes(&sandbox, &["quickstart", "--from=measured", "--agent=scripted:blind"])["assumptions"]["measured"]["agent"],
        "scripted:blind"
    );
    let shown: Vec<&str> =
        assumptions["measured"]["conditions"].as_array().unwrap().iter().filter_map(Value::as_str).collect();
    let turned =
        sizes(&sandbox, &["quickstart", "--from=measured", "--agent=scripted:typical", "--pair", shown[1], shown[0]]);
    assert_eq!(turned["assumptions"]["discordance"], assumptions["discordance"]);
    let unknown = sandbox.start(&["plan", "--detect=5pp", "--from=measured", "--pair", shown[0], "nothing"]);
    assert!(unknown.code == Some(2) && unknown.err.contains("nothing"), "{}", unknown.err);
    // Both numbers are those of the comparison.
    let matrix = sandbox.ok(&["compare", "measured", "--by=condition", "--output=json"]).out;
    let matrix: Value = serde_json::from_str(&matrix).unwrap();
    let cells = matrix["columns"].as_array().unwrap().iter().flat_map(|column| column["cells"].as_array().unwrap());
    let differences = cells.flat_map(|cell| cell["differences"].as_array().unwrap());
    let known = |difference: &Value| {
        let count = |key: &str| difference[key].as_f64().unwrap();
        let discordance = (count("more") + count("fewer")) / count("pairs");
        difference["icc"] == assumptions["icc"][0] && assumptions["discordance"] == discordance
    };
    assert!(differences.into_iter().any(known), "{assumptions}");
    let one = sandbox.start(&[
        "run",
        "quickstart",
        "--guardrails=all",
        "--format=fusion-xml",
        "--trials=1",
        "--out=one",
        "-q",
    ]);
    assert_eq!(one.code, Some(0), "{}", one.err);
    let refused = sandbox.start(&["plan", "--detect=5pp", "--from=one"]);
    assert!(refused.code == Some(2) && refused.err.contains("conditions"), "{}", refused.err);
    let conflict = sandbox.start(&["plan", "--detect=5pp", "--from=one", "--icc=0.5"]);
    assert_eq!(conflict.code, Some(2), "{}", conflict.err);
}
