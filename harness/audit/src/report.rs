//! The result of an audit, which every output shows.

use healbench_text::Secrets;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::kinds::ProbeKind;

/// The name of the definitions that a report follows.
pub(crate) const FORMAT: &str = "audit-score/2";

/// The audit of a server.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct AuditReport {
    /// The definitions that the report follows: `audit-score/2`.
    pub format: String,
    /// The server.
    pub server: ServerSeen,
    /// The limit of a call in seconds.
    pub call_timeout_s: f64,
    /// True if tools that may write were called as well.
    pub writes_allowed: bool,
    /// How many tools were audited, and why the others were not.
    pub counts: Counts,
    /// The mean over the tools that have a score, from 0 to 100; null if none has.
    pub score: Option<f64>,
    /// What is behind the score.
    pub scored: Scored,
    /// The calls that reached no tool; null if all reached one.
    pub environment: Option<Environment>,
    /// The errors that their texts let a reader repair.
    pub answer: RepairAnswer,
    /// The means over the probes of each kind, over all tools.
    pub kinds: Vec<KindScore>,
    /// The tools that were audited, in the order of the server.
    pub tools: Vec<ToolAudit>,
    /// The tools that were not called, in the order of the server.
    pub uncalled: Vec<Uncalled>,
    /// The texts of refusals, with everything that varies replaced, the worst first.
    pub templates: Vec<Template>,
    /// The findings, the most severe first.
    pub findings: Vec<Finding>,
    /// What else is to be known, in sentences.
    pub notes: Vec<String>,
}

impl AuditReport {
    /// Replaces secrets in all that a server said, and in the calls, whose values may come from its answers.
    pub(crate) fn mask(&mut self, secrets: &Secrets) {
        if secrets.is_empty() {
            return;
        }
        let text = |text: &mut String| *text = secrets.mask(text);
        let value = |value: &mut Value| secrets.mask_json(value);
        self.notes.iter_mut().for_each(text);
        self.environment.iter_mut().for_each(|environment| text(&mut environment.reason));
        self.findings.iter_mut().for_each(|finding| text(&mut finding.example));
        for template in &mut self.templates {
            text(&mut template.text);
            text(&mut template.example);
            value(&mut template.arguments);
            template.better.iter_mut().for_each(|better| text(&mut better.text));
            template.formats.iter_mut().for_each(|format| text(&mut format.text));
        }
        for tool in &mut self.tools {
            if let Some(base) = &mut tool.base {
                value(&mut base.arguments);
                base.text.iter_mut().for_each(text);
            }
            for probe in &mut tool.probes {
                value(&mut probe.arguments);
                probe.intended.iter_mut().for_each(value);
                probe.text.iter_mut().for_each(text);
            }
        }
    }
}

/// The reason why a report cannot be read.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ReportError {
    /// It is no report.
    #[error("it is no audit: {0}")]
    Invalid(String),
    /// Its scores follow other definitions.
    #[error("its format is `{0}`, and this version compares with `{FORMAT}`")]
    OtherFormat(String),
}

impl AuditReport {
    /// Reads a report from JSON.
    ///
    /// # Errors
    /// [`ReportError`].
    pub fn parse(text: &str) -> Result<AuditReport, ReportError> {
        let value: Value = serde_json::from_str(text).map_err(|error| ReportError::Invalid(error.to_string()))?;
        match value["format"].as_str() {
            Some(FORMAT) => serde_json::from_value(value).map_err(|error| ReportError::Invalid(error.to_string())),
            Some(other) => Err(ReportError::OtherFormat(healbench_text::plain_text(other).into_owned())),
            None => Err(ReportError::Invalid("it has no `format`".to_owned())),
        }
    }
}

/// What a server says of itself.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ServerSeen {
    /// Its name; null if it does not say.
    pub name: Option<String>,
    /// Its version; null if it does not say.
    pub version: Option<String>,
    /// The revision of MCP.
    pub revision: String,
}

/// The number of tools in each state.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Counts {
    /// The tools that the server lists.
    pub tools: usize,
    /// Those that were audited.
    pub audited: usize,
    /// Those that were not called: they are not known to be read-only.
    pub not_read_only: usize,
    /// Those that were not called because others were asked for.
    pub not_asked_for: usize,
    /// Those that were not called because there are too many.
    pub too_many: usize,
    /// Those whose base call the server refused. They are audited.
    pub base_refused: usize,
}

/// The numbers behind a score.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Scored {
    /// The tools with a score.
    pub tools: usize,
    /// The probes with points.
    pub probes: usize,
    /// The kinds of these.
    pub kinds: usize,
}

/// Calls that were refused as the base call of their tool was: what is wrong with them was not looked at.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Environment {
    /// The probes that were answered in another way.
    pub reached: usize,
    /// All probes.
    pub calls: usize,
    /// The text of most of these refusals, as one base call got it.
    pub reason: String,
    /// The number of texts that say something else.
    pub other_reasons: usize,
}

/// A tool that was not called.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Uncalled {
    /// The name.
    pub name: String,
    /// Arguments made from its schema; null if none could be made.
    pub arguments: Option<Value>,
}

/// The errors from which the reader `perfect` arrives at the right call.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct RepairAnswer {
    /// The scored errors that are repaired.
    pub repaired: usize,
    /// The scored errors that a reader can repair: all but those of declared calls.
    pub errors: usize,
    /// The tool of which the smallest share is repaired, of equal ones that with more errors; null if all errors are repaired.
    pub worst: Option<ToolRepairs>,
}

/// The errors of a tool.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ToolRepairs {
    /// The tool.
    pub tool: String,
    /// Its scored errors that are repaired.
    pub repaired: usize,
    /// Its scored errors that a reader can repair.
    pub errors: usize,
}

/// The mean of a kind of probe.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct KindScore {
    /// The kind.
    pub kind: ProbeKind,
    /// All probes of the kind.
    pub probes: usize,
    /// Those with points.
    pub scored: usize,
    /// Those that the server refused.
    pub refused: usize,
    /// The mean of the points; null if no probe has any.
    pub score: Option<f64>,
    /// The share of scored refusals whose text names the field, where there is one; null if there is none.
    pub field: Option<f64>,
    /// The share of scored refusals whose text states the remedy; null if there is none.
    pub remedy: Option<f64>,
    /// The share of scored refusals from which the reader arrives at the right call; null if there is none.
    pub repaired: Option<f64>,
}

/// The audit of a tool.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ToolAudit {
    /// The name.
    pub name: String,
    /// True if the server says that the tool changes nothing.
    pub read_only: bool,
    /// The base call; null if none could be made.
    pub base: Option<Base>,
    /// From 0 to 100: the mean over the kinds of its probes, of which those that fit the schema are worth as much as the others; null if
    /// no probe has points.
    pub score: Option<f64>,
    /// The probes, in the order in which they were sent.
    pub probes: Vec<Probe>,
    /// The number of probes left out: above 64, or after the server did not answer.
    pub left_out: usize,
}

/// Where the arguments of a base call come from.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum BaseSource {
    /// The calls file.
    CallsFile,
    /// The first of the schema's `examples`.
    Examples,
    /// Made from the schema. Such a call is not known to be right.
    Generated,
    /// Made from the schema, and changed as the text of a refusal said.
    Mended,
}

/// What became of a base call, which is sent twice.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum BaseState {
    /// Accepted, with the same answer.
    Accepted,
    /// Accepted, with different answers.
    Volatile,
    /// Refused.
    Refused,
    /// Refused with a text that was sent as a success.
    RefusedSoftly,
    /// Not answered in time; the tool was left alone.
    Slow,
    /// The server ended; the tool was left alone.
    Died,
    /// The server asked for something; the tool was left alone.
    Asks,
    /// The tool answers with tasks only; it was left alone.
    TaskOnly,
}

/// A call that should be right.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Base {
    /// The arguments.
    pub arguments: Value,
    /// Where they come from.
    pub source: BaseSource,
    /// What became of the call.
    pub state: BaseState,
    /// The tokens of the answer; null if there was none.
    pub tokens: Option<u32>,
    /// The bytes of the answer's text; null if there was none.
    pub bytes: Option<usize>,
    /// The hash of the answer; null if there was none.
    pub hash: Option<String>,
    /// The text of a refusal, also of one that was sent as a success; null for any other answer.
    pub text: Option<String>,
}

/// The answer to a probe.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum AnswerKind {
    /// A JSON-RPC error.
    ProtocolError,
    /// A result with `isError`.
    IsError,
    /// A success with the answer of the base call.
    AcceptedSame,
    /// Another success.
    AcceptedOther,
    /// A success that says what of the call was left aside.
    Warned,
    /// A success whose text is that of an error.
    SoftError,
    /// The answer of the refused base call, but for what was sent, be it refused from the beginning or when it was sent again: nobody looked
    /// at what is wrong.
    Environment,
    /// No answer in time.
    Slow,
    /// The server ended.
    Died,
    /// The server asked the user or the model for something.
    Asks,
}

impl AnswerKind {
    /// Returns the name in outputs.
    pub fn name(self) -> &'static str {
        match self {
            AnswerKind::ProtocolError => "protocol_error",
            AnswerKind::IsError => "is_error",
            AnswerKind::AcceptedSame => "accepted_same",
            AnswerKind::AcceptedOther => "accepted_other",
            AnswerKind::Warned => "warned",
            AnswerKind::SoftError => "soft_error",
            AnswerKind::Environment => "environment",
            AnswerKind::Slow => "slow",
            AnswerKind::Died => "died",
            AnswerKind::Asks => "asks",
        }
    }

    /// Returns true for an error that says that it is one.
    pub fn is_refusal(self) -> bool {
        matches!(self, AnswerKind::ProtocolError | AnswerKind::IsError)
    }

    /// Returns true for a success that does what was asked for, or what the server took it for.
    pub fn is_accepted(self) -> bool {
        matches!(self, AnswerKind::AcceptedSame | AnswerKind::AcceptedOther | AnswerKind::Warned)
    }
}

/// A call that is wrong in one respect, and its answer.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Probe {
    /// The kind.
    pub kind: ProbeKind,
    /// The dotted path of the field; empty if the probe is about no field, or about several.
    pub path: String,
    /// The arguments.
    pub arguments: Value,
    /// The call that the reader means, if that is not the base call: with a valid value of an optional field.
    pub intended: Option<Value>,
    /// True if the arguments are invalid under the schema.
    pub invalid: bool,
    /// True if the schema does not require the field.
    pub optional: bool,
    /// The answer.
    pub answer: AnswerKind,
    /// The text of a refusal, of a soft error or of a success that warns, why the server ended or gave no answer, or a refusal that began
    /// during the audit and is about no call; null for any other answer.
    pub text: Option<String>,
    /// The tokens of the text; null if there was no answer.
    pub tokens: Option<u32>,
    /// The bytes of the text; null if there was no answer.
    pub bytes: Option<usize>,
    /// The hash of the answer; null if there was none.
    pub hash: Option<String>,
    /// True if the text names the field; null if this does not apply.
    pub field: Option<bool>,
    /// True if the text states the remedy; null if this does not apply.
    pub remedy: Option<bool>,
    /// True if the reader arrives at the call that it means within three answers; null if this does not apply.
    pub repaired: Option<bool>,
    /// From 0 to 100; null if the probe is not scored.
    pub points: Option<f64>,
    /// The index of its text in `templates`; null for a text that is not kept.
    pub template: Option<usize>,
}

/// Texts that are equal but for names, values and numbers.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Template {
    /// The text, with everything that varies replaced.
    pub text: String,
    /// The name of the SDK that makes it; null if it is the server's own.
    pub sdk: Option<String>,
    /// The number of probes with it.
    pub probes: usize,
    /// The mean of their points; null if none is scored.
    pub score: Option<f64>,
    /// What is missing in it, in words.
    pub lacks: Vec<String>,
    /// The tool of the example.
    pub tool: String,
    /// The arguments of the example.
    pub arguments: Value,
    /// The text of the example.
    pub example: String,
    /// The tokens of the example.
    pub tokens: u32,
    /// The text of the example with what it lacks: what the schema says of the field, or a value that the server accepts. Null if nothing is
    /// lacking, or if the reader does not find both in it.
    #[serde(default)]
    pub better: Option<Better>,
    /// The same failure in each built-in error format.
    pub formats: Vec<FormatText>,
}

/// The text of an error with what it lacks.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Better {
    /// The tokens of the text.
    pub tokens: u32,
    /// The text.
    pub text: String,
}

/// A failure in an error format.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct FormatText {
    /// The name of the format.
    pub format: String,
    /// The tokens of the text.
    pub tokens: u32,
    /// The text.
    pub text: String,
}

/// Something that a maintainer would want to know.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Finding {
    /// The name in the table of findings.
    pub id: String,
    /// How severe it is.
    pub severity: Severity,
    /// The tool; null if it is about the server.
    pub tool: Option<String>,
    /// The number of probes or calls that show it.
    pub count: usize,
    /// The first of them, in words.
    pub example: String,
}

/// How severe a finding is, the most severe first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Severity {
    /// A wrong call does what nobody asked for, or the server does not answer.
    Error,
    /// A reader is not told what it needs.
    Warning,
    /// Worth knowing.
    Info,
}

impl Severity {
    /// Returns the name in outputs.
    pub fn name(self) -> &'static str {
        match self {
            Severity::Error => "error",
            Severity::Warning => "warning",
            Severity::Info => "info",
        }
    }
}
