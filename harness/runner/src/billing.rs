//! Counts what an agent's turns are billed for.

use healbench_core::BilledTokens;

/// The tokens of a conversation, and those billed so far.
#[derive(Debug, Default)]
pub(crate) struct Billing {
    conversation: u64,
    /// The tokens of the responses at the end of the conversation that no turn has received.
    new_responses: u64,
    /// True if the current turn is billed: one of the opening is not.
    is_billed: bool,
    billed: BilledTokens,
}

impl Billing {
    /// Starts a conversation with a prompt of this many tokens.
    pub(crate) fn new(prompt: u32) -> Billing {
        Billing { conversation: prompt.into(), ..Billing::default() }
    }

    /// Returns the tokens of the conversation so far, without the preamble.
    pub(crate) fn conversation(&self) -> u64 {
        self.conversation
    }

    /// Begins a turn that is no request: the responses are sent with the next one that is.
    pub(crate) fn begin_unbilled_turn(&mut self) {
        self.is_billed = false;
    }

    /// Begins a turn, with which the preamble and the conversation are sent as far as they fit into the context window.
    pub(crate) fn begin_turn(&mut self, preamble: u32, window: Option<u64>) {
        let all = u64::from(preamble) + self.conversation;
        // The end of the conversation does not fit, where the new responses are.
        let cut = window.map_or(0, |window| all.saturating_sub(window));
        self.billed.input += all - cut;
        self.billed.unsent += cut.min(self.new_responses);
        self.is_billed = true;
        self.new_responses = 0;
    }

    /// Adds a text of the agent to its turn and to the conversation.
    pub(crate) fn add_output(&mut self, tokens: u32) {
        self.add_dropped_output(tokens);
        self.conversation += u64::from(tokens);
    }

    /// Adds a text of the agent to its turn only.
    pub(crate) fn add_dropped_output(&mut self, tokens: u32) {
        self.billed.output += if self.is_billed { u64::from(tokens) } else { 0 };
    }

    /// Adds a response to the conversation.
    pub(crate) fn add_response(&mut self, tokens: u32) {
        self.conversation += u64::from(tokens);
        self.new_responses += u64::from(tokens);
    }

    /// Returns the tokens of an episode that has no further turn.
    pub(crate) fn finish(&self) -> BilledTokens {
        BilledTokens { unsent: self.billed.unsent + self.new_responses, ..self.billed }
    }
}
