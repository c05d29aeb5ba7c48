use std::collections::BTreeSet;

use healbench_core::Seed;
use healbench_scenarios::{Syntax, load_str};

use crate::{CHANGE_CALL, mistakes_yaml, quickstart, scenario};

#[test]
fn schedules_are_deterministic() {
    for scenario in quickstart() {
        let again = scenario.clone();
        let (world, same) = (scenario.world(Seed(5), 0), again.world(Seed(5), 0));
        assert_eq!(world, same);
        // Other seeds and trials in between have no effect: draws do not share a stream.
        again.schedule(Seed(6), 3, &again.world(Seed(6), 0));
        for trial in [0, 1, 17] {
            assert_eq!(scenario.schedule(Seed(5), trial, &world), again.schedule(Seed(5), trial, &same));
        }
    }
}

#[test]
fn trials_differ_in_mistakes_and_seeds_in_data() {
    let scenario = scenario(&mistakes_yaml(&format!("{CHANGE_CALL}\n    mistakes: [wrong_type]")));
    let world = scenario.world(Seed(1), 0);
    let hashes: BTreeSet<String> = (0..50).map(|trial| scenario.schedule(Seed(1), trial, &world).hash).collect();
    assert!(hashes.len() > 5, "{}", hashes.len());
    let other = scenario.world(Seed(2), 0);
    assert_ne!(world, other);
    // The hash includes the data: without mistakes it is the same for all trials of a seed, but not for all seeds.
    let plain = crate::scenario(&mistakes_yaml(CHANGE_CALL));
    let hash = |seed, trial, world| plain.schedule(seed, trial, world).hash;
    assert_eq!(hash(Seed(1), 0, &world), hash(Seed(1), 1, &world));
    assert_ne!(hash(Seed(1), 0, &world), hash(Seed(2), 0, &other));
}

/// Twenty trials of a list that was drawn once show one place in it twenty times.
#[test]
fn worlds_are_drawn_by_trial_unless_they_are_fixed() {
    let text = mistakes_yaml(CHANGE_CALL);
    let drawn = scenario(&text);
    assert_eq!(drawn.worlds(), 32);
    let states: Vec<_> = (0..drawn.worlds()).map(|number| drawn.world(Seed(1), number)).collect();
    let hashes: BTreeSet<String> = states.iter().map(|state| drawn.schedule(Seed(1), 0, state).hash).collect();
    assert_eq!(hashes.len(), 32, "the hash includes the data");
    let first = states[0].clone();
    assert_eq!(drawn.schedule(Seed(1), 0, &first).hash, drawn.schedule(Seed(1), 0, &drawn.world(Seed(1), 0)).hash);
    let fixed = scenario(&text.replace("world:", "world:\n  fixed: true"));
    assert_eq!((fixed.worlds(), fixed.world(Seed(1), 0)), (1, first));
    // Nothing is drawn where all rows are written.
    let written = quickstart().into_iter().find(|scenario| scenario.id == "quickstart/bad-date").unwrap();
    assert_eq!(written.worlds(), 1);
}

#[test]
fn a_scenario_that_is_renamed_keeps_its_draws() {
    let text = mistakes_yaml(&format!("{CHANGE_CALL}\n    mistakes: [wrong_type]"));
    let named = |id: &str| text.replace("id: lab/mistakes\n", &format!("id: {id}\n"));
    let (before, after) = (scenario(&text), scenario(&named("lab/slips\nrenamed_from: lab/mistakes")));
    let former = after.renamed_from.clone().unwrap();
    assert_eq!((&*former.id, &former.sha256), ("lab/mistakes", &before.source.sha256));
    for number in [0, 3] {
        let world = before.world(Seed(1), number);
        assert_eq!(after.world(Seed(1), number), world);
        assert_eq!(after.schedule(Seed(1), 5, &world), before.schedule(Seed(1), 5, &world));
    }
    assert_ne!(scenario(&named("lab/slips")).world(Seed(1), 0), before.world(Seed(1), 0));
    // A file that was changed besides is not the one of before.
    let changed = named("lab/slips\nrenamed_from: lab/mistakes").replace("title: Everything", "title: All");
    assert_ne!(scenario(&changed).renamed_from.unwrap().sha256, before.source.sha256);
    let found = load_str("x.yaml", &named("lab/slips\nrenamed_from: lab/slips"), Syntax::Yaml).unwrap_err();
    assert_eq!(found[0].message, "this is the id that the scenario has");
}

#[test]
fn faults_are_in_the_hash_and_count_as_scheduled() {
    let plain = scenario(&mistakes_yaml(CHANGE_CALL));
    let faulty = mistakes_yaml(CHANGE_CALL).replace("expect:", "faults: [{kind: busy, on: notes.change}]\nexpect:");
    let faulty = scenario(&faulty);
    let world = plain.world(Seed(1), 0);
    let (without, with) = (plain.schedule(Seed(1), 0, &world), faulty.schedule(Seed(1), 0, &world));
    assert!(!without.scheduled && with.scheduled);
    assert_eq!(without.script, with.script);
    assert_ne!(without.hash, with.hash);
}

/// If these values change, so do the schedules of all stored runs: the change must be intended.
#[test]
fn vectors() {
    let lines: Vec<String> = quickstart()
        .iter()
        .map(|scenario| {
            let schedule = scenario.schedule(Seed(2025), 3, &scenario.world(Seed(2025), 0));
            format!("{} {} {}", schedule.hash, scenario.id, schedule.script.steps[0].draft.arguments)
        })
        .collect();
    insta::assert_snapshot!(lines.join("\n"), @r#"
    dcab9ad39dbf518b quickstart/bad-date {"action":"request","person":"Tomas Eriksen","from":"2025-12-22","to":"end of the month","kind":"vacation"}
    d0a21cbfd2978304 quickstart/control-nothing-wrong {"action":"get","id":"SUB-0031"}
    3571192195e28bfa quickstart/control-unmendable {"action":"delete","id":"PRJ-3"}
    8d640eeb8f7935d1 quickstart/hallucinated-fields {"action":"create","name":"Warehouse Move","department":"Operations","budget":80000,"reference":"REQ-1","tags":["from-chat"]}
    19fca4e3646211fd quickstart/missing-discriminator {"name":"Ingrid Solberg","email":"ingrid@fjordfoods.example","company":"Fjord Foods"}
    ddcb82f9c1e08eab quickstart/missing-field {"action":"invite","email":"priya@northwind.example","role":"editor","team":"Data Platform"}
    05cd9e4763054c47 quickstart/misspelled-action {"action":"rollbak","service":"checkout-api","environment":"staging","version":"2025.31"}
    8c0c2fb0a3c77974 quickstart/new-required-field {"action":"create","customer":"Acme","amount_cents":45000}
    da43d860cf7bd197 quickstart/out-of-range {"action":"reserve","item":"SKU-118","order":"ORD-77","units":40,"days":0}
    60d539c2fd6b56db quickstart/oversized-list {"action":"list"}
    192e384798895ca6 quickstart/rate-limit {"action":"book","title":"Quarterly review","room":"Birch","date":"2025-10-14","start":"10:00","minutes":60}
    1b05151612e3a152 quickstart/several-at-once {"action":"open","customer":"Harbor Freight Lines","subject":"Label printer offline","priority":"p1","channel":"PHONE","affected":12,"due":"2025/09/30"}
    0cdd985c512bc767 quickstart/unknown-id {"action":"update","id":"TCK-2311","status":"resolved"}
    b8eca36d7c7ca9b5 quickstart/wrong-enum {"action":"update","id":"WEB-7","status":"archived","priority":"low"}
    47ee3c04fcfbcbab quickstart/wrong-type {"action":"refund","payment":"PAY-0012","amount_cents":4500,"notify":1}
    "#);
}

#[test]
fn generated_rows() {
    let text = mistakes_yaml(CHANGE_CALL).replace(
        "world:",
        "world:\n  extra:\n    key: no\n    key_prefix: E-\n    rows: [{no: last}]\n    generate:\n      count: 3\n      fields:\n        \
         a: {phrase: [[x, y], [z]]}\n        b: {value: null}\n        c: {range: [-2, -2]}",
    );
    let world = scenario(&text).world(Seed(2), 0);
    let rows: Vec<String> = world.tables[0].rows.iter().map(|row| serde_json::to_string(row).unwrap()).collect();
    assert_eq!(world.tables[0].name, "extra");
    insta::assert_snapshot!(rows.join("\n"), @r#"
    {"no":"E-1","a":"x z","b":null,"c":-2}
    {"no":"last"}
    {"no":"E-2","a":"y z","b":null,"c":-2}
    {"no":"E-3","a":"y z","b":null,"c":-2}
    "#);
}
