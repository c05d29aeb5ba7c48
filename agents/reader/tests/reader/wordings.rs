//! Wordings of what an argument has to be. Each is read after the name of the argument, as a sentence about it, and alone, where only one
//! argument was sent.

use healbench_reader::reading::predict;
use serde_json::{Value, json};

/// Returns the remedies of a text for the only argument `summary`, as `kind value`.
fn remedies(text: &str, sent: &Value) -> Vec<String> {
    let record = json!({
        "id": "x", "tool": "t", "schema": {"properties": {"summary": {}}}, "arguments": {"summary": sent}, "text": text, "is_error": true,
    });
    let prediction = predict(&record).unwrap();
    let about = |remedy: &&Value| remedy["field"].as_str().is_some_and(|field| field.starts_with("summary"));
    let shown = |remedy: &Value| {
        let value = remedy["value"].as_str().map_or_else(|| remedy["value"].to_string(), str::to_owned);
        format!("{} {value}", remedy["kind"].as_str().unwrap_or_default())
    };
    prediction["remedies"].as_array().unwrap().iter().filter(about).map(shown).collect()
}

/// Asserts what wordings say, in each of their forms.
fn assert_said(expected: &str, sent: &Value, wordings: &[&str]) {
    for wording in wordings {
        let capital = wording[..1].to_uppercase() + &wording[1..];
        for text in [format!("summary: {wording}"), format!("Invalid summary: {wording}."), capital] {
            assert_eq!(remedies(&text, sent), [expected], "{text}");
        }
    }
}

#[test]
fn limits_have_many_wordings() {
    let long = json!("x".repeat(21));
    let at_most_20 = [
        "no longer than 20 characters",
        "must not be longer than 20 characters",
        "20 characters max",
        "limit is 20 characters",
        "got 21 characters, limit 20",
        "too long: 21 > 20",
        "up to twenty characters",
        "may have 20 characters at the most",
        "max. 20",
        "exceeds 20 characters",
        "cannot exceed 20 characters",
        "length must be 20 or less",
        "longer than 20 characters",
        "too long (21 > 20)",
    ];
    assert_said("bound <=20", &long, &at_most_20);
    assert_said("bound <21", &long, &["must be shorter than 21 characters"]);
    let at_least_3 = [
        "needs 3 or more characters",
        "use three or more characters",
        "must have 3+ characters",
        "length must be 3 or more",
        "too short, 3 characters minimum",
        "too short: 1 < 3",
        "has fewer than 3 characters",
        "must not be shorter than 3 characters",
    ];
    assert_said("bound >=3", &json!("x"), &at_least_3);
    assert_said("bound >2", &json!("x"), &["must be longer than 2 characters"]);
    let at_most_100 = [
        "value must be 100 or less",
        "must be lower or equal to 100",
        "can be 100 at most",
        "is capped at 100",
        "the largest value allowed is 100",
        "must be one hundred or less",
        "500 > 100",
        "is greater than the maximum of 100",
        "must be no higher than 100",
    ];
    assert_said("bound <=100", &json!(500), &at_most_100);
    let at_least_5 = [
        "must be 5 or more",
        "must be 5 or greater",
        "5 is the smallest value",
        "starts at 5",
        "the lower limit is 5",
        "must be larger than or equal to 5",
    ];
    assert_said("bound >=5", &json!(1), &at_least_5);
    assert_said("bound >=2", &json!(["a"]), &["needs two or more entries", "must contain at least 2 items"]);
    assert_said("bound <=2", &json!(["a", "b", "c"]), &["3 items, limit 2", "two entries at most"]);
}

#[test]
fn other_numbers_are_no_limits() {
    for text in [
        "One or more arguments are invalid.",
        "Two or more users have this name.",
        "Connection timeout to https://example.com/search?q=x&limit=5",
        "No more than 5 requests per minute.",
        "The limit of 100 requests per hour was exceeded.",
        "Error 422: it must lie after the start.",
        "Dial +49 30 123456 for help.",
        "1 + 1 failed",
        "DirectX 12+ is not installed.",
        "500 is not available.",
    ] {
        assert_eq!(remedies(text, &json!(500)), Vec::<String>::new(), "{text}");
    }
}

/// A comparison with the value that was sent says the reverse of what is wanted.
#[test]
fn a_comparison_is_a_fact_or_a_demand() {
    for (text, sent, expected) in [
        ("summary: 0 is less than 1", 0, "bound >=1"),
        ("summary must be less than 1", 0, "bound <1"),
        ("summary: a value less than 1 is required", 0, "bound <1"),
        ("summary > 5", 3, "bound >5"),
        ("0 is less than the minimum of 1", 0, "bound >=1"),
        ("-1 is less than or equal to the minimum of 0", -1, "bound >=0"),
        ("Ensure this value is less than or equal to 40.", 30, "bound <=40"),
        ("Too small: expected number to be >=3 at limit", 1, "bound >=3"),
        ("summary > 5", 7, "bound >5"),
    ] {
        assert_eq!(remedies(text, &json!(sent)), [expected], "{text}");
    }
}

/// The validator of the Go SDK says where a check failed as a path in the schema, and what was sent before what is wanted.
#[test]
fn checks_of_the_go_sdk_say_what_is_wanted() {
    let long = "x".repeat(21);
    let too_long = format!("maxLength: \"{long}\" contains 21 Unicode code points, more than 20");
    for (text, sent, expected) in [
        ("minimum: 0/1 is less than 1.000000", json!(0), "bound >=1"),
        ("maximum: 501/1 is greater than 500.000000", json!(501), "bound <=500"),
        ("exclusiveMinimum: 1/1 is less than or equal to 1.000000", json!(1), "bound >1"),
        ("multipleOf: 7/1 is not a multiple of 5.000000", json!(7), "bound multiple of 5"),
        ("minLength: \"x\" contains 1 Unicode code points, fewer than 2", json!("x"), "bound >=2"),
        (&too_long, json!(long), "bound <=20"),
        ("minItems: array length 1 is less than 2", json!(["a"]), "bound >=2"),
        ("maxItems: array length 3 is greater than 2", json!([1, 2, 3]), "bound <=2"),
        ("type: 42 has type \"integer\", want \"string\"", json!(42), "type string"),
        ("type: 42 has type \"integer\", want one of \"string, null\"", json!(42), "type string"),
        ("type: 42 has type \"integer\", want one of \"null, array\"", json!(42), "type array"),
        ("enum: z does not equal any of: [aa bb]", json!("z"), "options aa | bb"),
    ] {
        let text = format!("validating \"arguments\": validating root: validating /properties/summary: {text}");
        assert_eq!(remedies(&text, &sent), [expected], "{text}");
    }
    let text = "validating root: validating /properties/summary: validating /properties/summary/items: type: b has type \"string\", want \"integer\"";
    let record = json!({
        "id": "x", "tool": "t", "schema": {"properties": {"summary": {}}}, "arguments": {"summary": [1, "b"]}, "text": text,
    });
    assert_eq!(
        predict(&record).unwrap()["remedies"],
        json!([{"field": "summary.1", "kind": "type", "value": "integer"}])
    );
}

#[test]
fn long_lists_and_bullets_are_options() {
    let options: Vec<String> = (0..80).map(|n| format!("opt{n:03}")).collect();
    let expected = format!("options {}", options.join(" | "));
    let of_go = format!("enum: z does not equal any of: [{}]", options.join(" "));
    let bullets = format!("Invalid guide. Valid guides are:\n- {}", options.join("\n- "));
    let described =
        format!("summary must be one of:\n\n  1. {}: one of them\n\nSee the manual.", options.join(": one\n  2. "));
    for text in [of_go, bullets, described] {
        assert_eq!(remedies(&text, &json!("z")).join(";"), expected, "{text}");
    }
    let two = "Unknown summary. Available options:\n* first one\n* 'second'\n";
    assert_eq!(remedies(two, &json!("z")), ["options first one | second"]);
    for text in [
        "Valid requests name all of these:\nsummary\nother",
        "The following checks failed:\n- first\n- second",
        "Available actions:\n- first\n- second",
        "Options:\n- this is a sentence about the first of them\n- and another one",
    ] {
        let found = remedies(text, &json!("z"));
        assert!(!found.iter().any(|remedy| remedy.starts_with("options")), "{text}: {found:?}");
    }
}

#[test]
fn patterns_are_said_in_words() {
    let bad = json!("a b");
    for (expected, wordings) in [
        (
            "format ^[A-Za-z0-9\\-]*$",
            &["letters, digits and hyphens only", "only letters, digits and hyphens are allowed"][..],
        ),
        ("format ^[A-Za-z0-9]*$", &["must be alphanumeric", "may contain letters and numbers only"]),
        ("format ^[A-Za-z0-9_]*$", &["alphanumeric characters and underscores only"]),
        ("format ^[A-Za-z0-9_]+$", &["must match [A-Za-z0-9_]+"]),
        ("format ^[a-z0-9\\-]*$", &["allowed characters: a-z, 0-9, -"]),
        ("format ^[^ ]*$", &["no spaces allowed", "must not contain spaces", "spaces are not allowed"]),
        ("format kebab-case", &["should be in kebab-case"]),
        ("format ^[A-Za-z]", &["must start with a letter"]),
        ("format ^[A-Z]{3}$", &["must be 3 uppercase letters", "should be three capital letters"]),
        (
            "format ^[0-9]{6}$",
            &[
                "must be a 6-digit number",
                "must be exactly 6 digits",
                "should have six digits",
                "enter exactly 6 digits",
            ],
        ),
        ("format ^ORD\\-", &["must start with ORD-", "must have the prefix 'ORD-'"]),
        ("format ^ORD\\-[0-9]+$", &["must begin with 'ORD-' followed by digits", "should have the form ORD-<number>"]),
        ("format \\.csv$", &["must end with .csv"]),
        ("format ORD-123", &["must be of the format ORD-123", "should look like ORD-123"]),
        (
            "format owner/repo",
            &["must be in the form owner/repo", "must be given as owner/repo", "expected format: owner/repo"],
        ),
        ("format url", &["must be an absolute URL", "not a valid link"]),
        ("format ^(?:http://|https://)", &["must start with http:// or https://"]),
        ("format uuid", &["badly formed hexadecimal UUID string"]),
        ("format date", &["should be a calendar date like 2026-01-31"]),
    ] {
        assert_said(expected, &bad, wordings);
    }
}

#[test]
fn other_words_are_no_patterns() {
    for text in [
        "No numbers found.",
        "No space is left on the device.",
        "Only one letter was sent to the customer.",
        "The process must not start with this.",
        "It has to start with the first page.",
        "The format is not supported.",
        "Expected format: see the manual.",
        "The file is in read-only format.",
        "Error in step 3: 6 digits were found.",
    ] {
        let found = remedies(text, &json!("a b"));
        assert!(!found.iter().any(|remedy| remedy.starts_with("format")), "{text}: {found:?}");
    }
}

#[test]
fn types_have_many_names() {
    for (expected, wordings) in [
        ("type object", &["expected a JSON object, got string", "must be a JSON object"][..]),
        ("type array", &["expected set, received string", "expected collection", "should be iterable list"]),
        ("type boolean", &["must be yes/no boolean", "must be true or false"]),
        ("type integer", &["expected bigint, received string", "is a whole number"]),
    ] {
        assert_said(expected, &json!("hb-none"), wordings);
    }
    for (expected, text) in [
        ("type array", "json: cannot unmarshal string into Go struct field args.summary of type []string"),
        (
            "type object",
            "json: cannot unmarshal string into Go struct field Params.summary of type map[string]interface {}",
        ),
        ("type integer", "strconv.Atoi: parsing \"hb-none\": invalid syntax for summary"),
        ("type number", "strconv.ParseFloat: parsing \"hb-none\": invalid syntax"),
        ("type boolean", "strconv.ParseBool: parsing \"hb-none\": invalid syntax"),
    ] {
        assert_eq!(remedies(text, &json!("hb-none")), [expected], "{text}");
    }
    for text in ["The job is set.", "summary: 5 is a number", "summary should be set", "The collection is empty"] {
        let found = remedies(text, &json!(5));
        assert!(!found.iter().any(|remedy| remedy.starts_with("type")), "{text}: {found:?}");
    }
}

#[test]
fn what_is_empty_is_missing() {
    let texts = [
        "summary cannot be null",
        "null is not allowed",
        "should not be empty",
        "summary should not be null or undefined",
        "summary is NaN",
        "summary is not set",
        "summary: none is not an allowed value",
        "Must be non-empty",
    ];
    for (text, sent) in texts.into_iter().flat_map(|text| [(text, Value::Null), (text, json!(""))]) {
        assert_eq!(remedies(text, &sent), ["missing null"], "{text}");
    }
    // What was sent is not missing.
    for text in texts.into_iter().chain(["Cannot invoke \"x()\" because \"room\" is null"]) {
        let found = remedies(text, &json!("x"));
        assert!(!found.iter().any(|remedy| remedy.starts_with("missing")), "{text}: {found:?}");
    }
}

/// The words of a message may be names of other arguments.
#[test]
fn a_limit_is_of_the_argument_before_the_colon() {
    for (text, expected) in [
        ("limit2: Too big: expected number to be <=500", "<=500"),
        ("Too big: expected number to be <=500 at limit2", "<=500"),
        (
            "[{\"code\": \"too_big\", \"path\": [\"limit2\"], \"message\": \"Too big: expected number to be <=500\"}]",
            "<=500",
        ),
        ("limit2 must be a number less than or equal to 500", "<=500"),
    ] {
        let record = json!({
            "id": "x", "tool": "t", "schema": {"properties": {"number": {"type": "string"}, "limit2": {"type": "integer"}}},
            "arguments": {"number": "a", "limit2": 501}, "text": text, "is_error": true,
        });
        let remedies = &predict(&record).unwrap()["remedies"];
        assert_eq!(*remedies, json!([{"field": "limit2", "kind": "bound", "value": expected}]), "{text}");
    }
}

/// The words of paths in a JSON Schema may be names of arguments.
#[test]
fn an_argument_may_be_called_properties() {
    let record = |field: &str| {
        json!({
            "id": "x", "tool": "t", "is_error": true, "arguments": {field: {"stage": "qualified"}},
            "schema": {"properties": {field: {"type": "object", "properties": {"stage": {"type": "string"}}}, "stage": {"type": "string"}}},
            "text": format!("{field}.stage: Invalid option: expected one of \"lead\"|\"customer\""),
        })
    };
    for field in ["properties", "items", "changes"] {
        let remedies = &predict(&record(field)).unwrap()["remedies"];
        let expected = json!([{"field": format!("{field}.stage"), "kind": "options", "value": "lead | customer"}]);
        assert_eq!(*remedies, expected, "{field}");
    }
}
