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
        "may have 20 characters at most",
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
        "500 is not available.",
    ] {
        assert_eq!(remedies(text, &json!(500)), Vec::<String>::new(), "{text}");
    }
}

/// What a comparison says of the value that was sent is not what is wanted, and the reverse.
#[test]
fn a_comparison_is_a_fact_or_a_demand() {
    for (text, sent, expected) in [
        ("summary: 0 is less than 1", 0, "bound >=1"),
        ("summary must be less than 1", 0, "bound <1"),
        ("summary: a value less than 1 is required", 0, "bound <1"),
        ("summary > 5", 3, "bound >5"),
        ("summary > 5", 7, "bound >5"),
    ] {
        assert_eq!(remedies(text, &json!(sent)), [expected], "{text}");
    }
}
