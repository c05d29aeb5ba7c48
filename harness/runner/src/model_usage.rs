use healbench_core::{ModelUsage, TurnCost, Usage};

/// Adds a turn of a model to the usage of its episode.
pub(crate) fn add_turn(model: &mut ModelUsage, cost: &TurnCost) {
    let turns = model.turns.unwrap_or_default();
    let first = turns == 0;
    model.turns = Some(turns + 1);
    model.latency_ms = Some(model.latency_ms.unwrap_or_default() + cost.latency_ms);
    // If one turn lacks the usage, that of the episode is unknown.
    model.usage = match (model.usage, cost.usage) {
        (None, usage) if first => usage,
        (Some(sum), Some(usage)) => Some(add_usage(sum, usage)),
        _ => None,
    };
    model.usd = match (model.usd, cost.usd) {
        (None, usd) if first => usd,
        (Some(sum), Some(usd)) => Some(sum + usd),
        _ => None,
    };
}

/// Adds two counts; the sum of an unknown count is unknown.
fn add_usage(a: Usage, b: Usage) -> Usage {
    let add = |a: Option<u64>, b: Option<u64>| Some(a?.saturating_add(b?));
    Usage {
        input: a.input.saturating_add(b.input),
        cache_read: add(a.cache_read, b.cache_read),
        cache_write: add(a.cache_write, b.cache_write),
        output: a.output.saturating_add(b.output),
        reasoning: add(a.reasoning, b.reasoning),
    }
}
