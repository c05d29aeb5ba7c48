//! Snapshot tests of diagnostics as shown to the author of a scenario file.

use std::collections::BTreeMap;

use healbench_scenarios::{Syntax, load_str, render_diagnostics};

fn rendered(text: &str, color: bool) -> String {
    let diagnostics = load_str("broken.yaml", text, Syntax::Yaml).unwrap_err();
    render_diagnostics(&diagnostics, &BTreeMap::from([("broken.yaml".to_owned(), text.to_owned())]), color)
}

#[test]
fn all_problems_of_a_file_are_reported_at_once() {
    insta::assert_snapshot!(rendered(include_str!("../broken/many-problems.yaml"), false), @"
    error: `billing/new currency` cannot be an id
     --> broken.yaml:1:5
      |
    1 | id: billing/new currency
      |     ^^^^^^^^^^^^^^^^^^^^
      |
      = help: an id is words of letters, digits, `-`, `_` and `.`, joined by `/`: `billing/new-currency`

    error: unknown key `titel`
     --> broken.yaml:2:1
      |
    2 | titel: An invoice
      | ^^^^^
      |
      = help: `title` is given already; remove this one

    error: `max_calls` must be at least 1
     --> broken.yaml:6:14
      |
    6 |   max_calls: 0
      |              ^

    error: unknown type `strin`
      --> broken.yaml:14:30
       |
    14 |             customer: {type: strin, minLength: 1}
       |                              ^^^^^
       |
       = help: did you mean `string`? Known: `string`, `integer`, `number`, `boolean`, `array`, `object`, `null`

    error: duplicate key `status`
      --> broken.yaml:21:13
       |
    21 |             status: {enum: [open]}
       |             ^^^^^^
       |
       = help: a key may stand once in its mapping; remove one of them

    error: unknown property `curency`
      --> broken.yaml:22:32
       |
    22 |           required: [customer, curency]
       |                                ^^^^^^^
       |
       = help: known: `customer`, `status`

    error: unknown table `invoice`
      --> broken.yaml:23:27
       |
    23 |         handler: {insert: invoice}
       |                           ^^^^^^^
       |
       = help: did you mean `invoices`?

    error: the input schema declares no argument `custmer`
      --> broken.yaml:25:50
       |
    25 |           - missing: {table: invoices, argument: custmer}
       |                                                  ^^^^^^^
       |
       = help: did you mean `customer`? Known: `customer`, `status`

    error: only one of `deny`, `conflict` may be given
      --> broken.yaml:26:36
       |
    26 |           - {deny: {message: No.}, conflict: {table: invoices, fields: [customer]}}
       |                                    ^^^^^^^^

    error: unknown key `presentr`
      --> broken.yaml:30:9
       |
    30 |         presentr: {agent_limit: 5}
       |         ^^^^^^^^
       |
       = help: did you mean `presenter`?

    error: unknown action of `billing`: `creat`
      --> broken.yaml:32:17
       |
    32 |       actions: {creat: {name: make}}
       |                 ^^^^^
       |
       = help: did you mean `create`? Known: `create`, `add`, `drop`

    error: `count` must be at most 1000000
      --> broken.yaml:34:41
       |
    34 |   invoices: {key: id, generate: {count: 2000000, fields: {amount: {range: [900, 100]}, id: {sequence: INV}}}}
       |                                         ^^^^^^^

    error: the range [900, 100] is empty
      --> broken.yaml:34:68
       |
    34 |   invoices: {key: id, generate: {count: 2000000, fields: {amount: {range: [900, 100]}, id: {sequence: INV}}}}
       |                                                                    ^^^^^
       |
       = help: a range is [lowest, highest]: [100, 900]

    error: `INV` does not number the rows
      --> broken.yaml:34:103
       |
    34 |   invoices: {key: id, generate: {count: 2000000, fields: {amount: {range: [900, 100]}, id: {sequence: INV}}}}
       |                                                                                                       ^^^
       |
       = help: write the row's number once, as `{n}` or with leading zeros as `{n:04}`

    error: `rolle` must be a mapping, and this is a text
      --> broken.yaml:35:10
       |
    35 |   rolle: admin
       |          ^^^^^
       |
       = help: did you mean `role`? Every other key is a table

    error: unknown kind of fault `rate_limit`
      --> broken.yaml:37:12
       |
    37 |   - {kind: rate_limit, on: billing.add}
       |            ^^^^^^^^^^
       |
       = help: did you mean `rate_limited`? Known: `rate_limited`, `timeout`, `busy`, `internal`, `stack_trace`, `not_an_error`, `protocol_error`, `timeout_after`, `no_op`, `stale`, `cut`, `corrupt`

    error: unknown action `billing.crate`
      --> broken.yaml:38:22
       |
    38 |   - {kind: busy, on: billing.crate}
       |                      ^^^^^^^^^^^^^
       |
       = help: did you mean `billing.create`? Known: `billing.create`, `billing.add`, `billing.drop`

    error: unknown table `invoces`
      --> broken.yaml:40:15
       |
    40 |   - row: {in: invoces, where: {customer: Acme}}
       |               ^^^^^^^
       |
       = help: did you mean `invoices`?

    error: `stops` can only be true
      --> broken.yaml:41:12
       |
    41 |   - stops: false
       |            ^^^^^
       |
       = help: leave it out: an agent that can do the task is not expected to stop

    error: exactly one of `row`, `no_row`, `count`, `unchanged`, `verified`, `result`, `command`, `called`, `not_called`, `at_most`, `in_order`, `answer`, `any_of`, `stops` is needed
      --> broken.yaml:42:5
       |
    42 |   - {}
       |     ^

    error: unknown tool `biling`
      --> broken.yaml:44:18
       |
    44 |   - call: {tool: biling, action: add, arguments: {}}
       |                  ^^^^^^
       |
       = help: did you mean `billing`?

    error: the call has no argument `customr` to find
      --> broken.yaml:46:12
       |
    46 |     find: {customr: {column: id, matching: {customer: Acme}}}
       |            ^^^^^^^
       |
       = help: did you mean `customer`? Known: `customer`, `colour`

    error: unknown kind of mistake `wrong_enm`
      --> broken.yaml:47:16
       |
    47 |     mistakes: [wrong_enm]
       |                ^^^^^^^^^
       |
       = help: did you mean `wrong_enum`? Known: `missing`, `wrong_type`, `wrong_enum`, `out_of_range`, `bad_format`, `hallucinated_field`, `misspelled_field`, `misspelled_action`, `missing_discriminator`, `unknown_id`, `unfiltered_list`, `stale_contract`, `missing_all`, `missing_longest`, `json_text`, `broken_json`, `comma_text`, `single_item`, `null_value`, `number_text`, `other_tool`, `old_tool_name`, `other_kind_id`, `previous_value`, `other_row_value`, `stale_value`, `double_submission`

    error: unknown key `feild`
      --> broken.yaml:49:69
       |
    49 |     mistakes: [{kind: wrong_enum, field: customer}, {kind: missing, feild: customer}, unknown_id]
       |                                                                     ^^^^^
       |
       = help: did you mean `field`?
    ");
}

#[test]
fn wide_and_tabbed_lines_keep_their_caret() {
    insta::assert_snapshot!(rendered("id: x\ntitle: \"東京 und Ümläute\"\ntags: [\"東京\",\t7]\n", false), @r#"
    error: exactly one of `tools`, `server` is needed
     --> broken.yaml:1:1
      |
    1 | id: x
      | ^

    error: missing key `expect`
     --> broken.yaml:1:1
      |
    1 | id: x
      | ^
      |
      = help: `expect`: The expectations, all of which must hold when the agent declares the task complete.

    error: missing key `script`
     --> broken.yaml:1:1
      |
    1 | id: x
      | ^
      |
      = help: `script`: The calls of a perfect agent, in order, with the mistakes that a simulated reader makes first.

    error: missing key `task`
     --> broken.yaml:1:1
      |
    1 | id: x
      | ^
      |
      = help: `task`: The task of the agent.

    error: this must be a text, and this is a number
     --> broken.yaml:3:14
      |
    3 | tags: ["東京",    7]
      |                   ^
      |
      = help: put it in quotes: "7"
    "#);
}

#[test]
fn a_source_cannot_write_to_the_terminal() {
    for text in ["id: x\n\"ti\\e[31mtle\": 1 # \u{202e}\n", "id: \u{9b}31m\n", "id: \u{1b}[31m\n", "\u{0}"] {
        let output = rendered(text, false);
        assert!(!output.chars().any(|c| c.is_control() && c != '\n') && !output.contains('\u{202e}'), "{output:?}");
    }
    let output = rendered("\"ti\\e[31mtle\": 1\n", false);
    assert!(output.contains("unknown key `ti\\u{1b}[31mtle`"), "{output}");
}

#[test]
fn color_changes_nothing_but_color() {
    let text = include_str!("../broken/many-problems.yaml");
    let colored = rendered(text, true);
    assert!(colored.contains("\u{1b}["));
    let mut plain = String::new();
    let mut rest = colored.as_str();
    while let Some((before, after)) = rest.split_once('\u{1b}') {
        plain.push_str(before);
        rest = after.split_once('m').unwrap().1;
    }
    plain.push_str(rest);
    assert_eq!(plain, rendered(text, false));
}

#[test]
fn a_diagnostic_without_its_source_keeps_its_position() {
    let diagnostics = load_str("gone.yaml", "- x", Syntax::Yaml).unwrap_err();
    let output = render_diagnostics(&diagnostics, &BTreeMap::new(), false);
    assert!(output.contains("gone.yaml:1:1"), "{output}");
}
