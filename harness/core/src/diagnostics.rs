//! Words for answers that a server, and not its model, made what they are. An episode has one for each such answer.

/// The answer was cut by a limit on output.
pub const CUT: &str = "cut";
/// The answer has neither text nor calls.
pub const EMPTY: &str = "empty";
/// Calls are in the text of the answer: the server did not read them.
pub const CALLS_IN_TEXT: &str = "calls_in_text";
/// The server could not read a call that its model wrote, and did not return it, or returned it without a name.
pub const UNPARSED: &str = "unparsed";
/// The calls were in another choice of the answer, and were taken from there.
pub const OTHER_CHOICE: &str = "other_choice";
/// The server counted far fewer tokens than were sent.
pub const FEW_TOKENS: &str = "few_tokens";
/// No answer of an agent with native tools has a call. A report finds it in all rows of a run; no row has this word.
pub const NO_CALLS: &str = "no_calls";
/// Before the name of another model than was asked for, which answered.
pub const OTHER_MODEL: &str = "model ";
/// Before the change of a request without which the server refuses it.
pub const REQUEST: &str = "request ";

/// Returns a sentence without its end about `count` answers with this word.
pub fn sentence(word: &str, count: u64) -> String {
    let answers = if count == 1 { "1 answer".to_owned() } else { format!("{count} answers") };
    let (was, has) = if count == 1 { ("was", "has") } else { ("were", "have") };
    if let Some(model) = word.strip_prefix(OTHER_MODEL) {
        return format!("{answers} came from another model, `{}`", model.replace('`', "'"));
    }
    if let Some(change) = word.strip_prefix(REQUEST) {
        return format!("for {answers}, {change}, as the server wants it");
    }
    match word {
        CUT => format!("{answers} {was} cut by a limit on output"),
        EMPTY => format!("{answers} {was} empty"),
        CALLS_IN_TEXT => format!(
            "{answers} {has} calls in the text, which the server did not read: turn its tool call parser on, or set `tools = \"prompt\"`"
        ),
        UNPARSED => format!("in {answers} the model began a call that the server could not read"),
        OTHER_CHOICE => format!("{answers} had the calls in another choice, where they were taken from"),
        FEW_TOKENS => format!(
            "for {answers} the server counted far fewer tokens than were sent: it may cut them to the context of the server (`num_ctx`)"
        ),
        NO_CALLS => format!(
            "none of {answers} has a tool call: does the chat template of the server know tools? `tools = \"prompt\"` does without"
        ),
        _ => format!("{answers}: {word}"),
    }
}
