use std::borrow::Cow;
use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

/// The error for an unknown name on an axis.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("unknown {axis} `{word}`")]
pub struct AxisError {
    /// The axis, such as `guardrail` or `error format`.
    pub axis: &'static str,
    /// The unknown name.
    pub word: String,
    /// The valid names.
    pub known: Vec<String>,
}

impl AxisError {
    pub(crate) fn new(axis: &'static str, word: &str, known: impl Iterator<Item = &'static str>) -> AxisError {
        AxisError { axis, word: word.to_owned(), known: known.map(str::to_owned).collect() }
    }
}

/// One guardrail of the engine.
#[derive(Debug, Clone, Copy)]
pub struct GuardrailEntry {
    /// The name in plans, columns and documents.
    pub name: &'static str,
    /// A sentence that says what the engine does if the guardrail is on.
    pub summary: &'static str,
    field: fn(&mut Guardrails) -> &mut bool,
}

/// All guardrails, in the order of their [bits](Guardrails::bits).
#[rustfmt::skip]
pub const GUARDRAILS: [GuardrailEntry; 4] = [
    GuardrailEntry { name: "strict", summary: "Rejects undeclared fields and names each of them.", field: |set| &mut set.strict },
    GuardrailEntry { name: "healing", summary: "Renders failures in the error format instead of as one bare line.", field: |set| &mut set.healing },
    GuardrailEntry { name: "truncation", summary: "Cuts lists at the presenter's limit and appends how to see the rest.", field: |set| &mut set.truncation },
    GuardrailEntry { name: "contract", summary: "Adds the changes of the tool's contract to validation failures.", field: |set| &mut set.contract },
];

/// The guardrails that are on. [`GUARDRAILS`] describes each field.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(into = "String", try_from = "String")]
#[expect(missing_docs, reason = "the registry describes them")]
pub struct Guardrails {
    pub strict: bool,
    pub healing: bool,
    pub truncation: bool,
    pub contract: bool,
}

impl Guardrails {
    /// No guardrail is on.
    pub const NONE: Guardrails = Guardrails { strict: false, healing: false, truncation: false, contract: false };
    /// All guardrails are on.
    pub const ALL: Guardrails = Guardrails { strict: true, healing: true, truncation: true, contract: true };
    /// The number of sets.
    pub const SETS: usize = 1 << GUARDRAILS.len();

    /// Returns the set as an index below [`SETS`](Guardrails::SETS). The first guardrail of [`GUARDRAILS`] is the lowest bit.
    pub fn bits(mut self) -> usize {
        (0..GUARDRAILS.len()).filter(|bit| *(GUARDRAILS[*bit].field)(&mut self)).map(|bit| 1 << bit).sum()
    }

    /// Returns the set with these [`bits`](Guardrails::bits). Ignores higher bits.
    pub fn from_bits(bits: usize) -> Guardrails {
        let mut set = Guardrails::NONE;
        for (bit, entry) in GUARDRAILS.iter().enumerate() {
            *(entry.field)(&mut set) = bits & (1 << bit) != 0;
        }
        set
    }

    /// Returns all sets, by their bits.
    pub fn sets() -> impl DoubleEndedIterator<Item = Guardrails> {
        (0..Self::SETS).map(Guardrails::from_bits)
    }

    /// Returns the sets of a sweep: `full` (all), `one-out` (all guardrails, then each one off), `one-in` (none, then each one on).
    /// Returns `None` for any other word.
    pub fn sweep(word: &str) -> Option<Vec<Guardrails>> {
        let with_singles = |first: usize| {
            let singles = (0..GUARDRAILS.len()).map(move |bit| first ^ 1 << bit);
            Some(std::iter::once(first).chain(singles).map(Guardrails::from_bits).collect())
        };
        match word {
            "full" => Some(Self::sets().collect()),
            "one-out" => with_singles(Self::SETS - 1),
            "one-in" => with_singles(0),
            _ => None,
        }
    }
}

impl fmt::Display for Guardrails {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            Guardrails::NONE => f.write_str("none"),
            Guardrails::ALL => f.write_str("all"),
            mut set => {
                let on = GUARDRAILS.iter().filter(|entry| *(entry.field)(&mut set));
                f.write_str(&on.map(|entry| entry.name).collect::<Vec<_>>().join("+"))
            }
        }
    }
}

impl FromStr for Guardrails {
    type Err = AxisError;

    /// Parses `none`, `all`, or guardrail names joined by `+` in any order.
    fn from_str(text: &str) -> Result<Guardrails, AxisError> {
        match text {
            "none" => return Ok(Guardrails::NONE),
            "all" => return Ok(Guardrails::ALL),
            _ => {}
        }
        let mut set = Guardrails::NONE;
        for word in text.split('+') {
            let Some(entry) = GUARDRAILS.iter().find(|entry| entry.name == word) else {
                // `none` and `all` cannot be combined with others.
                let sets: &[&str] = if text.contains('+') { &[] } else { &["none", "all"] };
                let known = sets.iter().copied().chain(GUARDRAILS.iter().map(|entry| entry.name));
                return Err(AxisError::new("guardrail", word, known));
            };
            *(entry.field)(&mut set) = true;
        }
        Ok(set)
    }
}

impl From<Guardrails> for String {
    fn from(guardrails: Guardrails) -> String {
        guardrails.to_string()
    }
}

impl TryFrom<String> for Guardrails {
    type Error = AxisError;

    fn try_from(text: String) -> Result<Guardrails, AxisError> {
        text.parse()
    }
}

/// The format in which failures are written for the agent.
///
/// With `healing` off the format has no effect, and the plan keeps one cell whose format is [`ErrorFormat::Bare`].
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
#[expect(missing_docs, reason = "the registry describes them")]
pub enum ErrorFormat {
    /// One line, as a server without error handling sends it. Used when `healing` is off; cannot be selected.
    Bare,
    FusionXml,
    /// Fusion's text format: `⚠️ VALIDATION FAILED`, `[NOT_FOUND] …`.
    FusionText,
    LlmFriendly,
    LlmFriendlyJson,
    ZodLines,
    ZodInline,
    ZodJson,
    Pydantic,
    #[serde(rename = "fastmcp")]
    FastMcp,
    #[serde(rename = "jsonschema")]
    JsonSchema,
    Serde,
    ToolFailure,
    ProblemJson,
    /// A template of the user.
    Template(TemplateSource),
}

/// A built-in error format.
#[derive(Debug)]
pub struct FormatEntry {
    /// The format.
    pub format: ErrorFormat,
    /// The name in plans, columns and documents.
    pub name: &'static str,
    /// A sentence that says which software writes such errors and what they contain.
    pub summary: &'static str,
    /// True if servers send it, or did, and it says no more than they do.
    pub is_of_servers: bool,
}

const fn format_entry(format: ErrorFormat, name: &'static str, summary: &'static str) -> FormatEntry {
    FormatEntry { format, name, summary, is_of_servers: false }
}

const fn of_servers(format: ErrorFormat, name: &'static str, summary: &'static str) -> FormatEntry {
    FormatEntry { format, name, summary, is_of_servers: true }
}

/// The built-in error formats. `bare` is the first, and the only one that a plan cannot ask for by name.
#[rustfmt::skip]
pub static FORMATS: [FormatEntry; 14] = [
    format_entry(ErrorFormat::Bare, "bare", "One line without details; what remains when `healing` is off."),
    format_entry(ErrorFormat::FusionXml, "fusion-xml", "MCP Fusion: `<validation_error>` and `<tool_error>` with each field and how to recover."),
    format_entry(ErrorFormat::FusionText, "fusion-text", "MCP Fusion: the same as lines of text."),
    format_entry(ErrorFormat::LlmFriendly, "llm-friendly", "Markdown with the issues, their fixes, the tool's schema and a valid example."),
    format_entry(ErrorFormat::LlmFriendlyJson, "llm-friendly-json", "The content of `llm-friendly` as one JSON object."),
    of_servers(ErrorFormat::ZodLines, "zod-lines", "The issues of zod, a line each, as servers on MCP's TypeScript SDK 1.30 to 1.32 send them."),
    of_servers(ErrorFormat::ZodInline, "zod-inline", "The issues of zod in one line, as servers on MCP's TypeScript SDK 2 send them."),
    of_servers(ErrorFormat::ZodJson, "zod-json", "The issues of zod as JSON, as servers on MCP's TypeScript SDK up to 1.29 send them."),
    of_servers(ErrorFormat::Pydantic, "pydantic", "The errors of pydantic, as servers on MCP's Python SDK send them."),
    of_servers(ErrorFormat::FastMcp, "fastmcp", "The errors of pydantic, as servers on FastMCP 4 send them."),
    of_servers(ErrorFormat::JsonSchema, "jsonschema", "One error of Python's jsonschema, as servers on the low-level API of MCP's Python SDK 1 send it."),
    of_servers(ErrorFormat::Serde, "serde", "The first error of serde, as servers in Rust send it."),
    format_entry(ErrorFormat::ProblemJson, "problem-json", "Problem details of RFC 9457."),
    format_entry(ErrorFormat::ToolFailure, "tool-failure", "`zod-lines`, and the class, code and guidance of MCP's proposal SEP-3313."),
];

/// An error format of the user. Its text is part of it, so that a plan holds everything that a run depends on.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TemplateSource {
    /// The path of the file, as given after `template:`.
    pub file: String,
    /// The file's contents: a minijinja template.
    pub text: String,
}

impl ErrorFormat {
    /// Returns the entries of the formats that a plan can ask for by name.
    pub fn named() -> impl Iterator<Item = &'static FormatEntry> {
        FORMATS.iter().filter(|entry| entry.format != ErrorFormat::Bare)
    }

    /// Returns the name in plans, columns and documents: `fusion-xml`, `template:FILE`.
    pub fn name(&self) -> Cow<'static, str> {
        match self {
            ErrorFormat::Template(template) => Cow::Owned(format!("template:{}", template.file)),
            _ => FORMATS.iter().find(|entry| entry.format == *self).map_or("", |entry| entry.name).into(),
        }
    }
}

impl fmt::Display for ErrorFormat {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(&self.name())
    }
}

impl FromStr for ErrorFormat {
    type Err = AxisError;

    /// Parses one of the names of [`ErrorFormat::named`]. Templates are not parsed here, because their files must be
    /// read.
    fn from_str(text: &str) -> Result<ErrorFormat, AxisError> {
        let entry = Self::named().find(|entry| entry.name == text);
        let unknown = || AxisError::new("error format", text, Self::named().map(|entry| entry.name));
        entry.map(|entry| entry.format.clone()).ok_or_else(unknown)
    }
}

/// The kind of an agent. Results of a simulated reader say nothing about a real model, so every row carries the kind.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum AgentKind {
    /// A simulated reader: a profile of probabilities that reads response texts.
    Scripted,
    /// A language model.
    Llm,
    /// The recorded answers of a language model.
    Replay,
    /// A program with a model and a client of its own, which calls the tools by MCP.
    Program,
    /// An agent whose conversations another program recorded.
    Trace,
}

impl AgentKind {
    /// Returns the name used in columns and documents.
    pub fn name(self) -> &'static str {
        match self {
            AgentKind::Scripted => "scripted",
            AgentKind::Llm => "llm",
            AgentKind::Replay => "replay",
            AgentKind::Program => "program",
            AgentKind::Trace => "trace",
        }
    }

    /// Returns true if equal episodes have equal rows on an environment that is deterministic.
    pub fn is_deterministic(self) -> bool {
        matches!(self, AgentKind::Scripted | AgentKind::Replay)
    }

    /// Returns the last part of the titles of such agents, which tells a replay from a live model.
    pub fn title_suffix(self) -> Option<&'static str> {
        (self == AgentKind::Replay).then_some("replayed")
    }
}

/// The way in which an episode of a model agent begins.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Opening {
    /// The episode starts with the scheduled mistake as the model's own first call, so that every model and format gets
    /// the same error.
    Seeded,
    /// The model makes its own first call, and may make no mistake.
    Natural,
}

impl Opening {
    /// All openings, in the order used in documents.
    pub const ALL: [Opening; 2] = [Opening::Seeded, Opening::Natural];

    /// Returns the name used in plans, columns and documents.
    pub fn name(self) -> &'static str {
        match self {
            Opening::Seeded => "seeded",
            Opening::Natural => "natural",
        }
    }
}

impl FromStr for Opening {
    type Err = AxisError;

    fn from_str(text: &str) -> Result<Opening, AxisError> {
        Self::ALL
            .into_iter()
            .find(|opening| opening.name() == text)
            .ok_or_else(|| AxisError::new("opening", text, Self::ALL.into_iter().map(Opening::name)))
    }
}

/// The way in which a model receives the list of tools.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum ToolsMode {
    /// In the tools field of the API. Providers may then constrain the answer to the schema, which hides schema errors.
    Native,
    /// In the system text; a call is a JSON object in the answer.
    Prompt,
}

impl ToolsMode {
    /// All modes, in the order used in documents.
    pub const ALL: [ToolsMode; 2] = [ToolsMode::Native, ToolsMode::Prompt];

    /// Returns the name used in settings, columns and documents.
    pub fn name(self) -> &'static str {
        match self {
            ToolsMode::Native => "native",
            ToolsMode::Prompt => "prompt",
        }
    }
}

/// One agent of a plan.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct AgentSpec {
    /// The kind of agent.
    pub kind: AgentKind,
    /// For a simulated reader, the name of its profile without the prefix `scripted:`; for a model, the name as
    /// requested: `openai:gpt-5-mini`, `model:NAME`; for a program, its name without the prefix `agent:`.
    pub name: String,
    /// The opening of its episodes; null for a simulated reader.
    #[serde(default)]
    pub opening: Option<Opening>,
    /// The tools mode; null for a simulated reader and for a program.
    #[serde(default)]
    pub tools: Option<ToolsMode>,
    /// Everything that determines the agent's behavior, as plain data: for a simulated reader, its profile; for a model,
    /// all settings except its API key.
    pub settings: serde_json::Value,
}

/// The identity of an agent within a plan. A live model and its replay have the same one.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct AgentId {
    /// The name as on the command line: `scripted:typical`, `openai:gpt-5-mini`.
    pub name: String,
    /// The opening of its episodes; `None` for a simulated reader.
    pub opening: Option<Opening>,
    /// The tools mode; `None` for a simulated reader.
    pub tools: Option<ToolsMode>,
}

impl AgentId {
    /// Returns the parts of the title: name, opening and tools mode, as far as there are any.
    pub fn title_parts(&self) -> Vec<&str> {
        let details = [self.opening.map(Opening::name), self.tools.map(ToolsMode::name)];
        std::iter::once(self.name.as_str()).chain(details.into_iter().flatten()).collect()
    }

    /// Returns true if `text` is the name or the title.
    pub fn is_named(&self, text: &str) -> bool {
        text == self.name || text == self.to_string()
    }
}

impl fmt::Display for AgentId {
    /// Formats the title: `openai:gpt-5-mini · seeded · native`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(&self.title_parts().join(TITLE_SEPARATOR))
    }
}

/// The part of an agent's name before the name of a program.
pub const PROGRAM_PREFIX: &str = "agent";

/// The setting of a model, and the part of its title.
const DETERMINISTIC: &str = "deterministic";

/// The text between the parts of a title.
const TITLE_SEPARATOR: &str = " · ";

impl AgentSpec {
    /// Returns the identity within the plan.
    pub fn id(&self) -> AgentId {
        AgentId { name: self.to_string(), opening: self.opening, tools: self.tools }
    }

    /// Returns true for a model that its settings declare deterministic: equal requests have equal answers, so that trials
    /// of a scenario with the same schedule are copies.
    pub fn is_deterministic(&self) -> bool {
        self.opening.is_some() && self.settings.get(DETERMINISTIC).is_some_and(|declared| declared == true)
    }

    /// Returns the heading of this agent's rows, unique within a plan: `openai:gpt-5-mini · seeded · native`, with
    /// `deterministic` for a model that is declared so, and `replayed` for a replay.
    pub fn title(&self) -> String {
        let id = self.id();
        let mut parts = id.title_parts();
        parts.extend(self.is_deterministic().then_some(DETERMINISTIC));
        parts.extend(self.kind.title_suffix());
        parts.join(TITLE_SEPARATOR)
    }
}

impl fmt::Display for AgentSpec {
    /// Formats the name: `scripted:typical`, `openai:gpt-5-mini`. A model and its replay have the same name.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.kind {
            AgentKind::Scripted => write!(f, "{}:{}", self.kind.name(), self.name),
            AgentKind::Program => write!(f, "{PROGRAM_PREFIX}:{}", self.name),
            AgentKind::Llm | AgentKind::Replay | AgentKind::Trace => f.write_str(&self.name),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_guardrail_set_reads_back() {
        for bits in 0..16 {
            let set = Guardrails::from_bits(bits);
            assert_eq!(set.to_string().parse(), Ok(set));
        }
        assert_eq!("healing+strict".parse(), Ok(Guardrails::from_bits(3)));
    }

    #[test]
    fn an_unknown_guardrail_names_the_known_ones() {
        let error = "strict+heeling".parse::<Guardrails>().unwrap_err();
        assert_eq!(error.word, "heeling");
        assert!(error.known.contains(&"healing".to_owned()));
    }

    #[test]
    fn sweeps() {
        let names = |word| Guardrails::sweep(word).unwrap().iter().map(Guardrails::to_string).collect::<Vec<_>>();
        assert_eq!(names("one-in"), ["none", "strict", "healing", "truncation", "contract"]);
        assert_eq!(names("one-out")[1], "healing+truncation+contract");
        assert_eq!(names("full").len(), 16);
        assert_eq!(Guardrails::sweep("all"), None);
    }

    #[test]
    fn names_of_formats_parse_but_bare() {
        assert!("bare".parse::<ErrorFormat>().is_err());
        for entry in ErrorFormat::named() {
            assert_eq!(entry.name.parse(), Ok(entry.format.clone()));
            assert_eq!(serde_json::to_value(&entry.format).unwrap(), entry.name);
        }
    }
}
