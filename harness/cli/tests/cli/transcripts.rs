use super::*;

#[test]
fn a_transcript_shows_what_was_sent_and_what_came_back() {
    let place = Place::new();
    place.ok(&["run", "--out", "run", "--trials", "2"]);
    let shown = place.ok(&["show", "run", "--scenario", "unknown-id", "--agent", "perfect", "--guardrails", "all"]);
    insta::assert_snapshot!(shown.out);
    let by_number = place.ok(&["show", "run", "0"]);
    let by_name = place.ok(&["show", "run"]);
    assert_eq!(by_number.out, by_name.out);
    let past_the_end = place.start(&["show", "run", "100000"]);
    assert_eq!(past_the_end.code, Some(2));
    assert!(past_the_end.err.contains("no such episode"), "{}", past_the_end.err);
}

#[test]
fn a_scenario_cannot_write_to_the_terminal() {
    let place = Place::new();
    place.write(
        "hostile.yaml",
        r#"
id: demo/hostile
title: "\e[31mred\e[0m"
description: "\e]0;owned\a \u202Eevil"
task: {prompt: "Make a note.\e[2J", max_calls: 4}
tools:
  notes:
    description: Keep notes.
    actions:
      create:
        input: {properties: {text: {type: string}, kind: {enum: ["a\e[31m"]}}, required: [text]}
        handler: {insert: notes}
world:
  notes: {key: id, rows: [{id: "\e[1m", text: "x\u001b[31m\u202E"}]}
expect:
  - row: {in: notes, where: {text: "\e[31mhello\u202E"}}
script:
  - call: {tool: notes, action: create, arguments: {text: "\e[31mhello\u202E"}}
    mistakes: [hallucinated_field]
"#,
    );
    place.ok(&["run", "hostile.yaml", "--out", "run", "--trials", "1"]);
    for words in [["show", "run", "8"].as_slice(), &["report", "run", "--by-scenario"], &["plan", "hostile.yaml"]] {
        let out = place.ok(words).out;
        let raw = |c: char| (c.is_control() && c != '\n') || c == '\u{202e}';
        assert!(!out.contains(raw), "{words:?}: {out:?}");
    }
}
