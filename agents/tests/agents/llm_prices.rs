//! Prices: the included table, names with dates, the cost of requests, and invalid tables.

use healbench_agents::llm::{Api, Price, PriceTable};
use healbench_core::{Usage, fingerprint};
use proptest::prelude::*;

const ONE: &str = r#"date = 2026-01-02
[[price]]
provider = "openai"
model = "gpt-5"
input = 1.25
cache_read = 0.125
output = 10.0
except = ["gpt-5-2025-01-01"]
source = "https://example.org/prices"
as_of = 2026-01-01
until = 2026-12-31
"#;

fn usage(input: u64, cache_read: Option<u64>, cache_write: Option<u64>, output: u64) -> Usage {
    Usage { input, cache_read, cache_write, output, reasoning: None }
}

#[test]
fn the_shipped_table_has_a_source_and_a_day_for_every_price() {
    let table = PriceTable::shipped();
    assert_eq!(table.date, "2026-11-22");
    assert_eq!(table.entries.len(), 50);
    for entry in &table.entries {
        assert!(entry.as_of <= table.date, "{entry:?}");
        assert!(entry.until.as_ref().is_none_or(|until| *until >= table.date), "{entry:?}");
        assert!(entry.price.input < entry.price.output, "{entry:?}");
        assert!(entry.price.cache_read.is_none_or(|read| read < entry.price.input), "{entry:?}");
        assert!(entry.price.cache_write.is_none_or(|write| write > entry.price.input), "{entry:?}");
    }
    assert_eq!(table.sha256(), fingerprint(include_bytes!("../../prices.toml")));
    assert_eq!(
        table.price(Api::Anthropic, "claude-sonnet-5-5"),
        Some(Price { input: 2.0, cache_read: Some(0.1), cache_write: Some(2.5), output: 10.0 })
    );
}

#[test]
fn a_table_gives_back_what_it_says() {
    let table = PriceTable::parse("mine.toml", ONE).unwrap();
    let entry = table.entry(Api::OpenaiResponses, "gpt-5").unwrap();
    let price = Price { input: 1.25, cache_read: Some(0.125), cache_write: None, output: 10.0 };
    assert_eq!((table.date.as_str(), entry.price), ("2026-01-02", price));
    assert_eq!((entry.as_of.as_str(), entry.until.as_deref()), ("2026-01-01", Some("2026-12-31")));
    assert_eq!(entry.source, "https://example.org/prices");
    assert_eq!(table.sha256(), fingerprint(ONE.as_bytes()));
    assert_eq!(PriceTable::parse("x", "date = 2026-01-02").unwrap().entries, []);
}

#[test]
fn only_a_date_may_follow_a_name() {
    let table = PriceTable::parse("mine.toml", ONE).unwrap();
    for known in ["gpt-5", "gpt-5-2025-08-07", "gpt-5-20250807"] {
        assert!(table.price(Api::OpenaiChat, known).is_some(), "{known}");
    }
    let unknown = [
        "gpt-5-mini",
        "gpt-5-mini-2025-08-07",
        "gpt-5-2025-13-07",
        "gpt-5-2025-08-32",
        "gpt-5-08-07",
        "gpt-5-2025-8-07",
        "gpt-52025-08-07",
        "gpt-5-2025-08-07-2025-08-07",
        "gpt-5-latest",
        "gpt-5-2025-01-01",
        "GPT-5",
        "gpt",
        "",
        "ü-2025-08-07",
        "gpt-5–2025-08-07",
    ];
    for unknown in unknown {
        assert_eq!(table.price(Api::OpenaiChat, unknown), None, "{unknown}");
    }
    assert_eq!(table.price(Api::Gemini, "gpt-5"), None);
    let shipped = PriceTable::shipped();
    assert_eq!(shipped.price(Api::OpenaiChat, "gpt-5-mini-2025-08-07").unwrap().input, 0.25);
    assert_eq!(shipped.price(Api::Anthropic, "claude-haiku-4-5-20251001").unwrap().output, 5.0);
    assert_eq!(shipped.price(Api::OpenaiChat, "gpt-4o-2024-11-20").unwrap().input, 2.5);
    assert_eq!(shipped.price(Api::OpenaiChat, "gpt-4o-2024-05-13"), None);
}

#[test]
fn costs_agree_with_a_calculation_by_hand() {
    let price = Price { input: 2.0, cache_read: Some(0.5), cache_write: Some(4.0), output: 8.0 };
    let bare = Price { cache_read: None, cache_write: None, ..price };
    let cases = [
        (price, usage(1_000_000, None, None, 0), 2.0),
        (price, usage(0, None, None, 250_000), 2.0),
        // 600 at 2, 300 at 0.5, 100 at 4 and 50 at 8: 1200 + 150 + 400 + 400 millionths.
        (price, usage(1000, Some(300), Some(100), 50), 0.002_15),
        // 1000 at 2 and 50 at 8.
        (bare, usage(1000, Some(300), Some(100), 50), 0.002_4),
        // More cache reads than input: 1000 at 0.5.
        (price, usage(1000, Some(5000), None, 0), 0.000_5),
        // 900 at 0.5. Only the remaining 100 are charged as cache writes, at 4.
        (price, usage(1000, Some(900), Some(900), 0), 0.000_85),
        (price, usage(0, Some(7), Some(7), 0), 0.0),
    ];
    for (price, usage, dollars) in cases {
        assert!((price.usd(&usage) - dollars).abs() < 1e-12, "{usage:?}: {} and not {dollars}", price.usd(&usage));
    }
}

#[test]
fn mistakes_are_named_with_their_place() {
    let error = |from: &str, to: &str| {
        assert!(ONE.contains(from), "{from}");
        let error = PriceTable::parse("mine.toml", &ONE.replace(from, to)).unwrap_err();
        format!("{error}; {}", error.help)
    };
    let number = "which is out of range; it has to be a finite number of at least 0";
    assert_eq!(error("input = 1.25", "input = -1.0"), format!("mine.toml:5:9: `price.input` is -1.0, {number}"));
    assert_eq!(error("0.125", "nan"), format!("mine.toml:6:14: `price.cache_read` is nan, {number}"));
    assert_eq!(error("10.0", "inf"), format!("mine.toml:7:10: `price.output` is inf, {number}"));
    assert_eq!(
        error("https:", "file:"),
        "mine.toml:9:10: `price.source` is not an address; it is the address of a page, which begins with `https://`"
    );
    assert_eq!(
        error("as_of = 2026-01-01", "as_of = 2026-01-01T10:00:00Z"),
        "mine.toml:10:9: `price.as_of` is a date or a time, which has the wrong type; it has to be a day without quotes, such as \
         2026-11-22"
    );
    assert_eq!(
        error("\"gpt-5\"", "\"\""),
        "mine.toml:4:9: `price.model` is empty; it is the provider's name for the model"
    );
    assert_eq!(
        error("\"openai\"", "\"mistral\""),
        "mine.toml:3:12: `price.provider` is `mistral`, which is not known; known: `openai`, `anthropic`, `gemini`"
    );
    let unknown = error("input =", "in =");
    assert!(unknown.starts_with("mine.toml:5:1: unknown key `price.in`; known: `provider`, `model`"), "{unknown}");
    assert_eq!(
        error("output = 10.0\n", ""),
        "mine.toml:2:1: `price.output` is missing; it is in US dollars for a million tokens"
    );
    let twice = format!("{ONE}{}", ONE.replace("date = 2026-01-02\n", ""));
    let error = PriceTable::parse("mine.toml", &twice).unwrap_err().to_string();
    assert_eq!(error, "mine.toml:12:1: `price` has two prices for `gpt-5`");
}

proptest! {
    #[test]
    fn a_cost_is_never_negative_and_never_more_than_without_a_cache(
        input in 0..10_000_000_u64,
        read in proptest::option::of(any::<u64>()),
        written in proptest::option::of(any::<u64>()),
        output in 0..1_000_000_u64,
    ) {
        let price = Price { input: 2.0, cache_read: Some(0.5), cache_write: None, output: 8.0 };
        let cost = price.usd(&usage(input, read, written, output));
        prop_assert!(cost >= 0.0);
        prop_assert!(cost <= price.usd(&usage(input, None, None, output)) + 1e-9);
    }
}
