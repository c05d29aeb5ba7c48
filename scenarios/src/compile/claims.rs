use healbench_core::{Claim, Measure, Span};

use super::Compiler;
use crate::file::{ClaimFile, SpanFile};
use crate::locate::child;

/// The largest accepted number in a claim. No measure comes near it.
pub(crate) const MAX_CLAIMED: f64 = 1e15;

/// The relative tolerance of numbers given as `about`.
const ABOUT_TOLERANCE: f64 = 0.2;

pub(super) fn compile(compiler: &mut Compiler<'_>) -> Option<Vec<Claim>> {
    let pointers = compiler.items("/claims");
    let claims: Vec<Option<Claim>> = pointers.iter().map(|pointer| claim(compiler, pointer)).collect();
    claims.into_iter().collect()
}

fn claim(compiler: &mut Compiler<'_>, pointer: &str) -> Option<Claim> {
    let file: ClaimFile = compiler.section(pointer)?;
    let measure = measure(compiler, pointer, &file)?;
    let without = span(compiler, &child(pointer, "without"), file.without)?;
    let with = span(compiler, &child(pointer, "with"), file.with)?;
    Some(Claim { says: file.says, measure, without, with })
}

fn measure(compiler: &mut Compiler<'_>, pointer: &str, file: &ClaimFile) -> Option<Measure> {
    let priced = file.measure == "response_usd";
    match file.usd_per_million_tokens {
        None if priced => {
            compiler.at_value(pointer, "`response_usd` needs `usd_per_million_tokens`", None);
            return None;
        }
        Some(_) if !priced => {
            let key = child(pointer, "usd_per_million_tokens");
            compiler.at_key(&key, format!("`{}` has no price", file.measure), "only `response_usd` has one".to_owned());
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
        // Already reported: it is not in the schema's list.
        _ => None,
    }
}

/// Converts a claimed range. The outer `None` means that a problem was reported.
fn span(compiler: &mut Compiler<'_>, pointer: &str, file: Option<SpanFile>) -> Option<Option<Span>> {
    let Some(file) = file else { return Some(None) };
    if let Some(number) = [file.about, file.from, file.to].into_iter().flatten().find(|number| *number > MAX_CLAIMED) {
        compiler.at_value(pointer, format!("{number:e} is more than can be counted"), None);
        return None;
    }
    match (file.about, file.from, file.to) {
        (Some(about), None, None) => {
            Some(Some(Span { from: about * (1.0 - ABOUT_TOLERANCE), to: about * (1.0 + ABOUT_TOLERANCE) }))
        }
        (None, Some(from), Some(to)) if from <= to => Some(Some(Span { from, to })),
        (None, Some(from), Some(to)) => {
            compiler.at_value(pointer, format!("no number is from {from} to {to}"), None);
            None
        }
        _ => {
            compiler.at_value(pointer, "a claimed number is `about` one, or `from` one `to` another", None);
            None
        }
    }
}
