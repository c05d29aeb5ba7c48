use healbench_core::{ProgramReport, Usage};
use serde_json::Value;

/// Adds a report of tokens, with the names that OpenAI, Anthropic or the Agent Client Protocol give them. Reports that
/// lack the count of input or of output are ignored.
pub(super) fn add_usage(report: &mut ProgramReport, usage: &Value) {
    let count = |names: &[&str]| names.iter().find_map(|name| usage[*name].as_u64());
    let input = count(&["input_tokens", "inputTokens", "prompt_tokens"]);
    let output = count(&["output_tokens", "outputTokens", "completion_tokens"]);
    let (Some(input), Some(output)) = (input, output) else { return };
    let known = report.usage.get_or_insert(Usage { cache_read: Some(0), reasoning: Some(0), ..Usage::default() });
    let add = |sum: Option<u64>, more: Option<u64>| Some(sum?.saturating_add(more?));
    *known = Usage {
        input: known.input.saturating_add(input),
        output: known.output.saturating_add(output),
        cache_read: add(known.cache_read, count(&["cached_input_tokens", "cachedReadTokens"])),
        cache_write: None,
        reasoning: add(known.reasoning, count(&["reasoning_output_tokens", "thoughtTokens"])),
    };
}
