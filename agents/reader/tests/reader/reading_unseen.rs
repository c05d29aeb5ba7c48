//! Statements in layouts and sentences that no format of the harness uses.

use crate::reading::{assert_statements, assert_statements_include, statements_of};

/// Wordings and layouts that no format of the harness uses, joined at run time.
#[test]
fn unseen_templates_are_read() {
    let missing =
        ["{f} is mandatory", "you must provide {f}", "we lack a value: `{f}` is absent", "\"{f}\" was not given"];
    let options =
        ["{f}: pick one: {a}, {b}", "'{f}' ought to be either '{a}' or '{b}'", "{f} => allowed values: [{a}|{b}]"];
    let limits = ["{f} may be no more than 120", "{f} (max 120)", "`{f}` must not exceed 120"];
    let frames =
        ["{x}", "* {x}", "!! {x} !!", "<p class=\"e\">{x}</p>", "> {x}\n> Please correct it.", "{\"oops\": \"{x}\"}"];
    let mut texts = 0;
    for frame in frames {
        let put = |wording: &str| {
            let line = wording.replace("{f}", "age").replace("{a}", "young").replace("{b}", "old");
            let line = if frame.starts_with('{') && frame.len() > 3 { line.replace('"', "\\\"") } else { line };
            frame.replace("{x}", &line)
        };
        for (wordings, expected) in [
            (&missing[..], "missing age"),
            (&options[..], "options age young|old"),
            (&limits[..], "bound age AtMost 120"),
        ] {
            for wording in wordings {
                assert_statements_include(&put(wording), &[expected]);
                texts += 1;
            }
        }
    }
    assert_eq!(texts, 60);
}

#[test]
fn the_plural_of_a_field_introduces_its_options() {
    for text in [
        "[INVALID_STATUS] Status 'doing' is not valid.\n💡 Suggestion: Valid statuses: todo, in_progress, done",
        "Status 'doing' is not valid. Valid statuses: todo, in_progress, done",
    ] {
        assert!(
            statements_of(text).contains(&"options status todo|in_progress|done".to_owned()),
            "{:?}",
            statements_of(text)
        );
    }
}

#[test]
fn bullets_under_a_heading_are_a_list_of_actions() {
    let text = "❌ Tool 'users' has no action 'creat'.\n\n## Available Actions:\n\n- create\n- list\n- billing.list\n\n## Suggestions:\n\n- wait";
    let statements = statements_of(text);
    assert!(statements.contains(&"actions create|list".to_owned()), "{statements:?}");
    assert!(statements.contains(&"suggest billing.list".to_owned()), "{statements:?}");
    assert!(!statements.iter().any(|statement| statement.contains("wait")), "{statements:?}");
}

#[test]
fn a_new_action_among_known_ones_is_an_action() {
    assert_statements("The action \"make\" does not exist.\n📋 Try: submit, list, get", &["actions submit|list|get"]);
    assert_statements("Try: list, get", &["suggest ?.list", "suggest ?.get"]);
    // Unknown names, qualified names, and a list without an introduction are not lists of new actions.
    assert_statements("Try listing, list or rest", &["suggest ?.list"]);
    assert_statements("Try: later, elsewhere", &[]);
    assert_statements("Try: billing.list, list, wait", &["suggest billing.list", "suggest ?.list"]);
}

/// A table row, a key with its line, and a sentence whose field is in the sentence before.
#[test]
fn unseen_layouts_and_wordings_are_read() {
    assert_statements("| available actions | list, create |", &["actions list|create"]);
    assert_statements("Bad `role`. Options: `a`, `b`", &["options role a|b"]);
    assert_statements("| role | \"role\" is not a legal value; choose from: \"a\", \"b\" |", &["options role a|b"]);
    assert_statements("Choose `role` from `a`, `b`", &["options role a|b"]);
    assert_statements("role accepts only 'a', 'b'", &["options role a|b"]);
    assert_statements("- field: age\n  problem: it takes integer", &["type age integer"]);
    for text in ["You forgot `role`.", "no role was given", "role cannot be empty", "Please supply a value for role."] {
        assert_statements(text, &["missing role"]);
    }
    assert_statements("drop `foo`", &["unrecognised foo"]);
}

#[test]
fn a_known_action_is_found_behind_new_ones() {
    for text in
        ["Call submit or get", "Try submit, or get", "Use submit / get", "Call 'submit' | 'get'", "Call a, b or get"]
    {
        assert_statements(text, &["suggest ?.get"]);
    }
    assert_statements("Call billing.list / get", &["suggest billing.list", "suggest ?.get"]);
    assert_statements("Call Ann or ask Bob to get it", &[]);
}

/// A line with only the end of a sentence, as in truncated texts.
#[test]
fn a_heading_without_words_is_no_heading() {
    for text in [":", "# :", "** :\n- create", "a\n:\n- billing.list"] {
        assert_statements(text, &[]);
    }
}

#[test]
fn a_negated_comparison_is_the_opposite_bound() {
    for verb in ["must", "should", "can"] {
        assert_statements(&format!("age {verb} not be less than 18"), &["bound age AtLeast 18"]);
        assert_statements(&format!("age {verb} not be below 18"), &["bound age AtLeast 18"]);
        assert_statements(&format!("age {verb} not be greater than 18"), &["bound age AtMost 18"]);
        assert_statements(&format!("age {verb} not be more than 18"), &["bound age AtMost 18"]);
        assert_statements(&format!("age {verb} not be above 18"), &["bound age AtMost 18"]);
    }
}

#[test]
fn a_field_that_has_to_be_present_is_missing() {
    for verb in ["has", "have", "needs", "need", "ought"] {
        assert_statements(&format!("age {verb} to be present"), &["missing age"]);
    }
    for verb in ["cannot", "can not", "must not"] {
        assert_statements(&format!("age {verb} be omitted"), &["missing age"]);
    }
}
