//! Warnings for the mistakes of a step that are made in one call.

use super::*;

const LAB: &str = r#"
id: lab/sample
title: A sample is released before it was spun
task: {prompt: Get the sample of Okafor analysed., max_calls: 14}
tools:
  lab:
    description: Samples.
    actions:
      list: {description: List., input: {properties: {patient: {type: string}}}, handler: {select: samples}, read_only: true}
      spin:
        description: Spin.
        input: {properties: {id: {type: string}, rpm: {type: integer}, tube: {enum: [serum, edta]}}, required: [id, rpm, tube]}
        rules: [{deny: {when: {rpm: {not: {row: speed}}}, code: WRONG_SPEED, message: "Spin it at {row.speed}."}}]
        handler: {update: samples, except: [rpm, tube], set: {state: spun}}
      release:
        description: Release.
        input: {properties: {id: {type: string}, tube: {type: string}}, required: [id]}
        rules: [{deny: {when: {row: {state: {not: spun}}}, code: WRONG_STATE, message: "It is {row.state}.", recovery: Call lab.spin first.}}]
        handler: {update: samples, except: [tube], set: {state: released}}
world: {samples: {rows: [{id: S-301, patient: Okafor, state: registered, speed: 3000}]}}
expect: [{row: {in: samples, where: {id: S-301, state: spun}}}]
script:
  - call: {tool: lab, action: spin, arguments: {id: S-301, rpm: 3000, tube: serum}}
    find: {id: {column: id, matching: {patient: Okafor}}}
    mistakes: []
"#;

const FIND: &str = "    find: {id: {column: id, matching: {patient: Okafor}}}\n";
/// Returns the warnings for the mistakes, each after the rest of the line from where it points.
fn warnings(text: &str, mistakes: &str) -> Vec<(String, String)> {
    let text = text.replacen("mistakes: []", mistakes, 1);
    let warnings = scenario(&text).findings().warnings.into_iter();
    let rest = |line: usize, column: usize| text.lines().nth(line - 1).unwrap()[column - 1..].to_owned();
    warnings.map(|one| (rest(one.line, one.column), one.message)).collect()
}

/// Asserts that there is one warning, at what begins so.
fn assert_warned(text: &str, mistakes: &str, at: &str, message: &str) {
    let found = warnings(text, mistakes);
    let is_meant = |(rest, said): &(String, String)| rest.starts_with(at) && said.starts_with(message);
    assert!(found.len() == 1 && found.iter().all(is_meant), "{mistakes}: {found:?}");
}

/// Another mistake of the step is refused first, and hides that nobody can repair this one.
#[test]
fn each_mistake_is_judged_with_the_others_repaired() {
    let lost = "no simulated reader finds the right `id` after this mistake";
    let without = LAB.replace(FIND, "    optional: false\n");
    for (list, marked) in [
        ("mistakes: [unknown_id]", "mistakes"),
        ("mistakes: [{kind: wrong_enum, field: tube}, unknown_id]", "unknown_id"),
        ("mistakes: [{kind: other_tool, value: lab.release}, unknown_id]", "unknown_id"),
        ("draw: {count: 2, from: [{kind: wrong_enum, field: tube}, unknown_id]}", "unknown_id"),
    ] {
        assert_warned(&without, list, marked, lost);
        assert!(warnings(LAB, list).is_empty(), "{list}");
        assert!(warnings(&format!("{without}tags: [control]\n"), list).is_empty(), "{list}");
    }
    let speed = "{kind: stale_value, field: rpm, value: 2500}";
    let slow = LAB.replace("when: {rpm: {not: {row: speed}}}", "when: {rpm: {greater: 9000}}");
    let both = format!("mistakes: [{speed}, {{kind: wrong_enum, field: tube}}]");
    assert_warned(&slow, &both, speed, "nothing refuses this mistake: {\"name\":\"lab\"");
    assert!(warnings(&format!("{slow}tags: [control]\n"), &both).is_empty());
}

#[test]
fn a_mistake_that_no_error_tells_of_is_warned_about() {
    let speed = "{kind: stale_value, field: rpm, value: 2500}";
    let other = "{kind: other_tool, value: lab.release}";
    let missing = "{kind: missing, field: rpm}";
    let old = "{kind: old_tool_name, value: probes}";
    let release = "`lab.release`, which does not take the argument";
    for (first, second, marked, to) in [
        (speed, other, speed, release),
        (other, missing, missing, release),
        (old, speed, speed, "`probes`, which is no tool"),
    ] {
        let message = format!("no error of the mistaken call tells of this mistake: the call goes to {to}");
        assert_warned(LAB, &format!("mistakes: [{first}, {second}]"), marked, &message);
    }
    // The action that is called takes the argument, or refuses one that no action has; or the call goes to the right action.
    for (first, second) in [
        (other, "{kind: wrong_type, field: tube}"),
        (other, "{kind: hallucinated_field, field: priority}"),
        (other, "{kind: misspelled_field, field: rpm}"),
        ("misspelled_action", speed),
        (speed, "unknown_id"),
    ] {
        let found = warnings(LAB, &format!("mistakes: [{first}, {second}]"));
        assert!(found.is_empty(), "{first}, {second}: {found:?}");
    }
}
