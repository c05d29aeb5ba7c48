//! Refusals that begin while a tool is audited, and are about no call: a limit of calls, an expired session, a network that is away.

use healbench_reader::reading::Statement;
use serde_json::Value;

use crate::answer::Answer;
use crate::audit::{AuditError, Auditor, Called};
use crate::likeness::without_values;
use crate::probes::Draft;
use crate::readers::{finds_field, is_transient, reports_error};
use crate::report::{AnswerKind, Probe};
use crate::subject::Subject;

/// The most texts of a tool of which it is found out whether they are about the call. Each costs two calls.
const MAX_CHECKS: usize = 6;

/// The texts of a tool's refusals, without what was sent.
pub(crate) struct Outages {
    /// Those that the base call got at the beginning.
    given: Vec<String>,
    /// Those of wrong calls, and the field that each was about.
    seen: Vec<(String, String)>,
    /// Those that stay when the base call is accepted: they are about the call.
    own: Vec<String>,
    /// Those that are about no call.
    lost: Vec<String>,
    checks: usize,
}

/// The reach of a refused call.
pub(crate) enum Reach {
    Tool,
    Nothing,
    /// It reached the tool when it was sent once more.
    Later(Box<Answer>),
}

impl Outages {
    pub(crate) fn new(answers: &[Answer], base: &Value) -> Outages {
        let given = answers.iter().map(|answer| without_values(&answer.text, base)).collect();
        Outages { given, seen: Vec::new(), own: Vec::new(), lost: Vec::new(), checks: 0 }
    }

    /// Returns true if a refusal may be about no call: the reader calls it temporary, or another wrong call got it and it does not tell them
    /// apart.
    fn is_suspect(&mut self, text: &str, draft: &Draft, is_general: bool, is_temporary: bool) -> bool {
        if self.given.iter().chain(&self.own).any(|known| known == text) || self.checks >= MAX_CHECKS {
            return false;
        }
        let is_repeated = self.seen.iter().any(|(known, path)| known == text && (is_general || *path != draft.path));
        self.seen.push((text.to_owned(), draft.path.clone()));
        is_repeated || is_temporary
    }

    /// Removes the points of the calls whose refusals turned out to be about no call.
    pub(crate) fn lose(&self, probes: &mut [Probe]) {
        for probe in probes.iter_mut().filter(|probe| may_be_lost(probe.answer)) {
            let text = probe.text.as_ref().map(|text| without_values(text, &probe.arguments));
            if text.is_some_and(|text| self.lost.contains(&text)) {
                probe.answer = AnswerKind::Environment;
                (probe.field, probe.remedy, probe.repaired, probe.points) = (None, None, None, None);
            }
        }
    }
}

/// Returns true for an answer that says that the call was not done.
pub(crate) fn may_be_lost(answer: AnswerKind) -> bool {
    answer.is_refusal() || answer == AnswerKind::SoftError
}

impl Auditor<'_, '_> {
    /// Finds out whether a refused call reached its tool. If its text may be about no call, the base call is sent again, and if that is
    /// answered as before, the refused call once more.
    pub(crate) fn reach(
        &mut self,
        subject: &Subject<'_>,
        outages: &mut Outages,
        draft: &Draft,
        arguments: &Value,
        answer: &Answer,
        found: &[Statement],
    ) -> Result<Reach, AuditError> {
        let (tool, base) = (subject.spec, subject.base);
        let text = without_values(&answer.text, arguments);
        if outages.lost.contains(&text) {
            return Ok(Reach::Nothing);
        }
        let is_about_none = found.iter().all(|statement| statement.field().is_none());
        let is_general = is_about_none && finds_field(draft, &answer.text, found) != Some(true);
        let is_temporary = is_about_none && is_transient(&answer.text, tool, arguments);
        if !outages.is_suspect(&text, draft, is_general, is_temporary) {
            return Ok(Reach::Tool);
        }
        outages.checks += 1;
        let Called::Answered(again) = self.call(&tool.name, base)? else { return Ok(Reach::Tool) };
        let is_refused = again.is_refusal() || reports_error(&again, tool, base);
        let base_text = without_values(&again.text, base);
        if is_refused && base_text == text {
            outages.lost.push(text);
            return Ok(Reach::Nothing);
        }
        if !again.slow
            && (!is_refused || outages.given.contains(&base_text))
            && let Called::Answered(second) = self.call(&tool.name, arguments)?
            && !second.slow
            && without_values(&second.text, arguments) != text
        {
            outages.lost.push(text);
            return Ok(Reach::Later(second));
        }
        outages.own.push(text);
        Ok(Reach::Tool)
    }
}
