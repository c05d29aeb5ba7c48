use healbench_protocol::{Claim, Measure, Span};

use super::Reading;
use crate::file::{ClaimFile, SpanFile};
use crate::locate::child;

/// A number that is claimed is no larger: nothing is counted that would come near it.
const LARGEST: f64 = 1e15;

/// How far from a number that is meant roughly another one still is about the same.
const ROUGHLY: f64 = 0.2;

pub(super) fn read(reading: &mut Reading<'_>) -> Option<Vec<Claim>> {
    let pointers = reading.items("/claims");
    let claims: Vec<Option<Claim>> = pointers.iter().map(|pointer| claim(reading, pointer)).collect();
    claims.into_iter().collect()
}

fn claim(reading: &mut Reading<'_>, pointer: &str) -> Option<Claim> {
    let file: ClaimFile = reading.section(pointer)?;
    let measure = measure(reading, pointer, &file)?;
    let without = span(reading, &child(pointer, "without"), file.without)?;
    let with = span(reading, &child(pointer, "with"), file.with)?;
    Some(Claim { says: file.says, measure, without, with })
}

fn measure(reading: &mut Reading<'_>, pointer: &str, file: &ClaimFile) -> Option<Measure> {
    let priced = file.measure == "response_usd";
    match file.usd_per_million_tokens {
        None if priced => {
            reading.at_value(pointer, "`response_usd` needs `usd_per_million_tokens`", None);
            return None;
        }
        Some(_) if !priced => {
            let key = child(pointer, "usd_per_million_tokens");
            reading.at_key(&key, format!("`{}` has no price", file.measure), "only `response_usd` has one".to_owned());
            return None;
        }
        _ => {}
    }
    match file.measure.as_str() {
        "calls" => Some(Measure::Calls),
        "retries" => Some(Measure::Retries),
        "repeated_calls" => Some(Measure::RepeatedCalls),
        "response_tokens" => Some(Measure::ResponseTokens),
        "response_usd" => file.usd_per_million_tokens.map(Measure::ResponseUsd),
        // Not in the schema's list, so it is reported already.
        _ => None,
    }
}

/// The outer `None` is a problem, which is noted.
fn span(reading: &mut Reading<'_>, pointer: &str, file: Option<SpanFile>) -> Option<Option<Span>> {
    let Some(file) = file else { return Some(None) };
    if let Some(number) = [file.about, file.from, file.to].into_iter().flatten().find(|number| *number > LARGEST) {
        reading.at_value(pointer, format!("{number:e} is more than can be counted"), None);
        return None;
    }
    match (file.about, file.from, file.to) {
        (Some(about), None, None) => Some(Some(Span { from: about * (1.0 - ROUGHLY), to: about * (1.0 + ROUGHLY) })),
        (None, Some(from), Some(to)) if from <= to => Some(Some(Span { from, to })),
        (None, Some(from), Some(to)) => {
            reading.at_value(pointer, format!("no number is from {from} to {to}"), None);
            None
        }
        _ => {
            reading.at_value(pointer, "a claimed number is `about` one, or `from` one `to` another", None);
            None
        }
    }
}
