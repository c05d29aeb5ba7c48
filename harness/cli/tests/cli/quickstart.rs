use serde_json::Value;

use super::*;

/// Returns the rows of the report: agent, condition, and the row itself.
fn rows(report: &Value) -> Vec<(String, String, Value)> {
    let text = |value: &Value| value.as_str().unwrap().to_owned();
    let agents = report["agents"].as_array().unwrap().iter();
    agents
        .flat_map(|agent| {
            let name = text(&agent["agent"]);
            let rows = agent["rows"].as_array().unwrap().clone();
            rows.into_iter().map(move |row| (name.clone(), text(&row["condition"]), row))
        })
        .collect()
}

/// Returns the number of successes of a row in one scenario.
fn successes(row: &Value, scenario: &str) -> u64 {
    let scenarios = row["scenarios"].as_array().unwrap();
    let found = scenarios.iter().find(|entry| entry["scenario"] == format!("quickstart/{scenario}")).unwrap();
    found["success"]["numerator"].as_u64().unwrap()
}

#[test]
fn the_first_command_measures_the_guardrails() {
    let sandbox = Sandbox::new();
    let result = sandbox.ok(&["run", "quickstart", "--out", "run"]);
    assert!(result.out.lines().all(|line| line.chars().count() <= 100), "{}", result.out);
    // Readers that were fitted to logs come first.
    assert!(result.out.contains("scripted:persistent") && result.out.contains("\nscripted:yielding"), "{}", result.out);
    assert!(result.err.contains("healbench report run"), "{}", result.err);

    let report: Value = serde_json::from_str(&sandbox.ok(&["report", "run", "--output=json"]).out).unwrap();
    let rows = rows(&report);
    assert_eq!(rows.len(), 12, "three agents under four conditions");
    assert_eq!(report["reference"], "sdk-typescript");
    let row = |agent: &str, condition: &str| {
        let of = |row: &&(String, String, Value)| row.0 == agent && row.1 == condition;
        &rows.iter().find(of).unwrap().2
    };
    let [bare, sdk, recovery, fusion] = ["bare", "sdk-typescript", "sdk-typescript+recovery", "fusion"]
        .map(|condition| row("scripted:perfect", condition));
    assert!(sdk["vs_reference"].is_null());
    assert!(bare["vs_reference"]["interval"]["upper"].as_f64().unwrap() < 0.0, "{bare}");
    let recovered = |row: &Value| row["episode_recovery"]["rate"].as_f64().unwrap();
    assert!(recovered(bare) < recovered(sdk) && recovered(sdk) <= recovered(recovery));
    assert!(recovered(recovery) < recovered(fusion));
    for control in ["control-nothing-wrong", "control-unmendable"] {
        assert_eq!(successes(fusion, control), successes(bare, control), "{control}");
    }
    // An agent that follows every hint succeeds everywhere.
    assert_eq!(row("scripted:perfect", "fusion")["success"]["rate"], 1.0);
}

#[test]
fn the_same_plan_gives_the_same_rows() {
    let sandbox = Sandbox::new();
    let axes = ["--trials", "3", "--guardrails", "full", "--agent", "scripted:typical"];
    let run = |name: &str, jobs: &str| {
        let mut args = vec!["run", "quickstart", "--out", name, "-j", jobs];
        args.extend(axes);
        sandbox.ok(&args);
    };
    run("one", "1");
    run("two", "2");
    run("seven", "7");
    run("again", "2");
    for other in ["two", "seven", "again"] {
        assert!(same_frames(&sandbox.path("one"), &sandbox.path(other)), "{other}");
    }
    let mut args = vec!["run", "quickstart", "--out", "other-seed", "--seed", "2"];
    args.extend(axes);
    sandbox.ok(&args);
    assert!(!same_frames(&sandbox.path("one"), &sandbox.path("other-seed")));
}

#[test]
fn locale_and_environment_do_not_matter() {
    let sandbox = Sandbox::new();
    sandbox.ok(&["run", "quickstart", "--out", "plain", "--trials", "2"]);
    let mut command = sandbox.command(&["run", "quickstart", "--out", "foreign", "--trials", "2"]);
    command.env("LC_ALL", "de_DE.UTF-8").env("LANG", "tr_TR.UTF-8").env("TZ", "Asia/Kathmandu").env("COLUMNS", "20");
    let result = CommandResult::new(command.output().unwrap());
    assert_eq!(result.code, Some(0), "{}", result.err);
    assert!(same_frames(&sandbox.path("plain"), &sandbox.path("foreign")));
}

#[test]
fn every_cell_of_a_scenario_meets_the_same_schedules() {
    use healbench_store::RunDir;
    let sandbox = Sandbox::new();
    sandbox.ok(&[
        "run",
        "quickstart",
        "--out",
        "run",
        "--trials",
        "3",
        "--guardrails",
        "one-in",
        "--agent",
        "scripted:blind,scripted:perfect",
    ]);
    let (run, manifest) = RunDir::open(&sandbox.path("run")).unwrap();
    let plan = manifest.plan;
    let frame = healbench_frames::read_episodes(&run).unwrap();
    let hashes: Vec<&str> = frame.column("schedule_hash").unwrap().str().unwrap().iter().flatten().collect();
    assert_eq!(hashes.len() as u64, plan.len());
    let mut schedules = std::collections::BTreeMap::new();
    for (episode, hash) in hashes.into_iter().enumerate() {
        let cell = plan.cell(episode as u64).unwrap();
        let first = schedules.entry((cell.scenario, cell.trial)).or_insert(hash);
        assert_eq!(*first, hash, "episode {episode}");
    }
    assert_eq!(schedules.len(), plan.scenarios.len() * 3);
}

#[test]
fn a_plan_runs_nothing() {
    let sandbox = Sandbox::new();
    let result = sandbox.ok(&["plan", "quickstart", "--trials", "5", "--guardrails", "none,strict+healing"]);
    insta::assert_snapshot!(result.out);
    assert!(!sandbox.path("runs").exists());
}
