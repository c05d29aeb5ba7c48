//! A tool whose base call was sent, by which the answers to its wrong calls are judged.

use healbench_core::ToolSpec;
use healbench_mcp::ToolDefinition;
use healbench_reader::reading::Statement;
use serde_json::Value;

use crate::answer::Answer;
use crate::kinds::ProbeKind;
use crate::likeness::{names_value, without_values};
use crate::probes::Draft;
use crate::readers::{names_field, reports_error, split_at_lines, warns};
use crate::report::{AnswerKind, BaseState};

/// The facts of a tool once its base call was sent.
pub(crate) struct Subject<'t> {
    pub(crate) definition: &'t ToolDefinition,
    pub(crate) spec: &'t ToolSpec,
    pub(crate) schema: &'t Value,
    pub(crate) base: &'t Value,
    /// The first answer to the base call.
    pub(crate) first: Option<&'t Answer>,
    pub(crate) state: BaseState,
    /// The texts with which the base call is refused when it is sent again, without what was sent: what it creates exists then, or what it
    /// changes is gone.
    pub(crate) again: Vec<String>,
    pub(crate) statements: Vec<Statement>,
    /// The tool, and then all others of the server.
    pub(crate) tools: Vec<ToolSpec>,
}

impl Subject<'_> {
    /// Returns the text of a refused base call, without what was sent.
    pub(crate) fn refusal(&self) -> Option<String> {
        let is_refused = matches!(self.state, BaseState::Refused | BaseState::RefusedSoftly);
        self.first.filter(|_| is_refused).map(|answer| without_values(&answer.text, self.base))
    }

    /// Classifies the answer to a probe.
    pub(crate) fn judge(&self, draft: &Draft, answer: &Answer, found: &[Statement]) -> AnswerKind {
        let always = self.first.filter(|_| self.state == BaseState::Accepted);
        let kind = answer.kind(always.map(|answer| answer.hash.as_str()));
        if let Some(refusal) = self.refusal() {
            let is_answered = kind.is_refusal() || kind.is_accepted();
            // What the right call waits for in vain, a wrong one may.
            if kind == AnswerKind::Slow || is_answered && refusal == without_values(&answer.text, &draft.arguments) {
                return AnswerKind::Environment;
            }
            // A notice before or after the refusal that the right call gets, too.
            let refused = self.first.map(|answer| answer.text.as_str());
            if is_answered
                && warns(&answer.text, refused, draft, self.spec, found)
                && refused.is_some_and(|refused| split_at_lines(&answer.text, refused).is_some())
            {
                return AnswerKind::Warned;
            }
        }
        // A call that says what the right one says when it comes again was read as the right one. One that somebody declares may be about it.
        let is_again = || {
            let text = without_values(&answer.text, &draft.arguments);
            let is_like_base = draft.kind != ProbeKind::Declared && (names_value(&text) || !lacks_field(draft.kind));
            is_like_base && self.again.contains(&text)
        };
        if kind.is_refusal() && is_again() {
            return AnswerKind::Environment;
        }
        if kind != AnswerKind::AcceptedOther {
            return kind;
        }
        let base_text = self.first.map(|answer| answer.text.as_str());
        let is_wrong = draft.invalid || draft.kind == ProbeKind::Declared;
        if warns(&answer.text, base_text, draft, self.spec, found) {
            AnswerKind::Warned
        } else if reports_error(answer, self.spec, &draft.arguments)
            || is_wrong && found.iter().any(|one| !self.statements.contains(one) && names_field(&answer.text, one))
        {
            AnswerKind::SoftError
        } else {
            kind
        }
    }
}

/// Returns true for a mistake by which a required field is missing.
pub(crate) fn lacks_field(kind: ProbeKind) -> bool {
    matches!(kind, ProbeKind::Missing | ProbeKind::MisspelledRequired)
}
