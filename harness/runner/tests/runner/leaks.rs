//! The audit of leaks finds planted ones.

use healbench_core::Seed;
use healbench_runner::{LeakKind, LeakMatch, LeakPlace, audit_leaks};
use healbench_scenarios::{Syntax, load_str, load_suite};
use serde_json::json;

/// A scenario in which no text gives an expected value. Each test plants one leak.
const CLEAN: &str = r#"
id: kiln
title: A kiln
task:
  prompt: Fire the vase of Ilse Brandt with the glaze that her order names. It is urgent.
  max_calls: 8
tools:
  kiln:
    description: The kiln of a pottery.
    actions:
      fire:
        description: Plan a firing.
        input:
          properties:
            piece: {type: string, pattern: "^P-[0-9]+$", description: The number of the piece.}
            glaze: {type: string, minLength: 3}
            cone: {enum: [low, mid, high]}
            slow: {type: boolean}
          required: [piece, glaze, cone, slow]
        handler: {insert: firings}
        rules:
          - allow:
              argument: glaze
              options: [celadon, tenmoku, shino]
              otherwise: {code: NO_GLAZE, message: "There is no such glaze.", recovery: "Look at the order."}
      pieces:
        description: List pieces.
        read_only: true
        input: {properties: {owner: {type: string}}}
        handler: {select: pieces}
world:
  firings: {}
  pieces:
    rows:
      - {id: P-7, owner: Ilse Brandt, order: tenmoku}
expect:
  - row: {in: firings, where: {piece: P-7, glaze: tenmoku, cone: high, slow: false}}
script:
  - call: {tool: kiln, action: pieces, arguments: {owner: Ilse Brandt}}
  - call: {tool: kiln, action: fire, arguments: {piece: P-7, glaze: tenmoku, cone: high, slow: false}}
    find: {piece: {column: id, matching: {owner: Ilse Brandt}}}
    draw:
      count: 2
      from: [{kind: wrong_enum, field: glaze, value: raku}, {kind: missing, field: cone}, {kind: missing, field: slow}]
"#;

fn audit(text: &str) -> Vec<LeakMatch> {
    let scenario = load_str("kiln.yaml", text, Syntax::Yaml).unwrap();
    audit_leaks(&scenario, Seed(1), 20).unwrap().matches
}

fn leaks(matches: &[LeakMatch]) -> Vec<(LeakPlace, &str, &serde_json::Value, f64)> {
    let leaks = matches.iter().filter(|found| found.kind == LeakKind::Leak);
    let mut leaks: Vec<_> =
        leaks.map(|found| (found.place, found.argument.as_str(), &found.value, found.chance)).collect();
    leaks.dedup();
    leaks
}

/// Replaces a part of [`CLEAN`], which must be there.
fn planted(from: &str, to: &str) -> Vec<LeakMatch> {
    assert!(CLEAN.contains(from));
    audit(&CLEAN.replace(from, to))
}

#[test]
fn without_a_planted_leak_there_are_only_chance_matches() {
    let matches = audit(CLEAN);
    assert_eq!(leaks(&matches), []);
    // Lists of options give the right one with the probability of a guess.
    let chance: Vec<_> = matches.iter().filter(|found| found.kind == LeakKind::Chance).collect();
    assert!(chance.iter().any(|found| found.argument == "cone" && found.place == LeakPlace::Error), "{matches:#?}");
    assert!(chance.iter().all(|found| found.chance == 1.0), "{chance:#?}");
}

#[test]
fn a_leak_in_the_prompt_is_found() {
    let found = planted("the vase of Ilse Brandt", "the vase of Ilse Brandt (P-7)");
    assert_eq!(leaks(&found), [(LeakPlace::Prompt, "piece", &json!("P-7"), 0.0)]);
    // The fact of a task is none, but an argument that is written as in a call is.
    let found = planted("It is urgent", "The cone is high, and it is urgent");
    assert_eq!(leaks(&found), []);
    assert!(found.iter().any(|found| found.kind == LeakKind::Task && found.argument == "cone"));
    let found = planted("It is urgent", "It is urgent, with cone=high");
    assert_eq!(leaks(&found), [(LeakPlace::Prompt, "cone", &json!("high"), 1.0 / 3.0)]);
}

#[test]
fn a_leak_in_a_tool_text_is_found() {
    let found = planted("The number of the piece.", "The number of the piece. Vases need cone high.");
    let expected = [(LeakPlace::Tools, "cone", &json!("high"), 1.0 / 3.0)];
    assert_eq!(leaks(&found)[0], expected[0]);
    let found = planted("slow: {type: boolean}", "slow: {type: boolean, default: false}");
    // One of two values is half a leak.
    assert!(leaks(&found).contains(&(LeakPlace::Tools, "slow", &json!(false), 0.5)), "{found:#?}");
    let at = found.iter().find(|found| found.place == LeakPlace::Tools).unwrap();
    assert_eq!(at.location.as_deref(), Some("kiln.fire.slow.default"));
}

#[test]
fn constants_of_branches_are_a_list_of_options() {
    let cone = "cone: {enum: [low, mid, high]}";
    let branches = "cone: {oneOf: [{const: low}, {const: high, default: high}]}";
    let found = planted(cone, branches);
    assert!(found.iter().all(|found| found.place != LeakPlace::Tools), "{found:#?}");
    // A single constant is no choice.
    let found = planted(cone, "cone: {anyOf: [{const: high}, {type: string}]}");
    assert!(found.iter().any(|found| found.place == LeakPlace::Tools && found.argument == "cone"), "{found:#?}");
}

#[test]
fn constants_of_a_tag_are_a_list_of_options() {
    let of = |branches: &str| {
        let text = CLEAN
            .replace("cone: {enum: [low, mid, high]}", &format!("heat: {{oneOf: [{branches}]}}"))
            .replace("required: [piece, glaze, cone, slow]", "required: [piece, glaze, heat, slow]")
            .replace("cone: high", "heat: {by: gas, bar: 7}")
            .replace("field: cone", "field: heat");
        audit(&text)
    };
    let gas = "{properties: {by: {const: gas}, bar: {type: integer, minimum: 1, maximum: 9}}, required: [by]}";
    let wood = "{properties: {by: {enum: [wood, coal]}}, required: [by]}";
    let found = of(&format!("{gas}, {wood}"));
    let place = |found: &&LeakMatch| found.place == LeakPlace::Tools && found.argument == "heat.by";
    assert_eq!(found.iter().find(place), None);
    let by: Vec<_> = found.iter().filter(|found| found.argument == "heat.by").collect();
    assert!(!by.is_empty() && by.iter().all(|found| found.possible_values == Some(3)), "{by:#?}");
    assert!(found.iter().filter(|found| found.argument == "heat.bar").all(|found| found.possible_values == Some(9)));
    // The only branch gives its constant.
    assert!(of(gas).iter().find(place).is_some());
}

#[test]
fn the_rate_of_chance_is_at_most_one() {
    // The right value is no option.
    let message = "There is no such glaze, but celadon, shino and tenmoku.";
    let text =
        CLEAN.replace("[celadon, tenmoku, shino]", "[celadon, shino]").replace("There is no such glaze.", message);
    let found = audit(&text);
    let glaze: Vec<_> = found.iter().filter(|found| found.argument == "glaze").collect();
    assert!(!glaze.is_empty() && glaze.iter().all(|found| found.chance == 1.0), "{glaze:#?}");
}

#[test]
fn empty_options_stand_nowhere() {
    let found = planted("cone: {enum: [low, mid, high]}", "cone: {enum: [high, '', ' ']}");
    let cone: Vec<_> = found.iter().filter(|found| found.argument == "cone").collect();
    assert!(!cone.is_empty() && cone.iter().all(|found| found.kind == LeakKind::Leak), "{cone:#?}");
}

#[test]
fn a_nullable_argument_has_a_finite_chance() {
    let found = planted("slow: {type: boolean}", "slow: {type: [boolean, 'null'], default: false}");
    assert!(leaks(&found).contains(&(LeakPlace::Tools, "slow", &json!(false), 1.0 / 3.0)), "{found:#?}");
}

#[test]
fn a_leak_in_an_error_text_is_found() {
    let found = planted("Look at the order.", "Send tenmoku.");
    let leaks = leaks(&found);
    assert!(!leaks.is_empty());
    for leak in leaks {
        assert_eq!(leak, (LeakPlace::Error, "glaze", &json!("tenmoku"), 1.0 / 3.0));
    }
    let formats: Vec<_> = found
        .iter()
        .filter(|found| found.kind == LeakKind::Leak)
        .map(|found| found.location.as_deref().unwrap())
        .collect();
    assert!(formats.contains(&"fusion-xml") && !formats.contains(&"bare"), "{formats:?}");
}

#[test]
fn a_value_that_the_agent_sent_is_no_leak() {
    // The field is misspelled, and its value comes back in the error.
    let text = CLEAN.split("    draw:").next().unwrap().to_owned()
        + "    mistakes: [{kind: misspelled_field, field: glaze}]\n";
    let matches = audit(&text);
    assert!(matches.iter().all(|found| found.argument != "glaze"), "{matches:#?}");
}

#[test]
fn every_built_in_suite_can_be_audited_and_twice_the_same() {
    let scenarios = load_suite(&["quickstart".into()]).unwrap();
    for scenario in &scenarios {
        let audit = || audit_leaks(scenario, Seed(1), 5).unwrap();
        assert_eq!(audit(), audit(), "{}", scenario.id);
    }
}
