use std::borrow::Cow;
use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

/// A word on an axis that names nothing.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("unknown {axis} `{word}`")]
pub struct AxisError {
    /// `guardrail`, `error format` or `agent`.
    pub axis: &'static str,
    /// The word as it was given.
    pub word: String,
    /// The words that would do.
    pub known: Vec<String>,
}

/// Which guardrails are in force.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(into = "String", try_from = "String")]
pub struct Guardrails {
    /// Undeclared fields are rejected, each named.
    pub strict: bool,
    /// Failures are written in the error format instead of one bare line.
    pub healing: bool,
    /// Lists past the presenter's limit are cut, and a teaching block is appended.
    pub truncation: bool,
    /// Validation failures carry the changes of the contract.
    pub contract: bool,
}

impl Guardrails {
    /// All four off.
    pub const NONE: Guardrails = Guardrails { strict: false, healing: false, truncation: false, contract: false };
    /// All four on.
    pub const ALL: Guardrails = Guardrails { strict: true, healing: true, truncation: true, contract: true };

    const NAMES: [&'static str; 4] = ["strict", "healing", "truncation", "contract"];

    /// The switches as bits, `strict` the lowest: 0 to 15.
    pub fn bits(self) -> u8 {
        u8::from(self.strict)
            | u8::from(self.healing) << 1
            | u8::from(self.truncation) << 2
            | u8::from(self.contract) << 3
    }

    /// The set with these [`bits`](Guardrails::bits); higher bits are ignored.
    pub fn from_bits(bits: u8) -> Guardrails {
        Guardrails { strict: bits & 1 != 0, healing: bits & 2 != 0, truncation: bits & 4 != 0, contract: bits & 8 != 0 }
    }

    /// The sets that a sweep stands for: `full` (all 16), `one-out` (all, then each switched off), `one-in` (none, then each
    /// switched on). `None` for a word that is not a sweep.
    pub fn sweep(word: &str) -> Option<Vec<Guardrails>> {
        let singles = (0..4).map(|bit| 1 << bit);
        match word {
            "full" => Some((0..16).map(Guardrails::from_bits).collect()),
            "one-out" => {
                Some(std::iter::once(15).chain(singles.map(|bit| 15 & !bit)).map(Guardrails::from_bits).collect())
            }
            "one-in" => Some(std::iter::once(0).chain(singles).map(Guardrails::from_bits).collect()),
            _ => None,
        }
    }
}

impl fmt::Display for Guardrails {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.bits() {
            0 => f.write_str("none"),
            15 => f.write_str("all"),
            bits => {
                let on = Self::NAMES.iter().enumerate().filter(|(index, _)| bits & (1 << index) != 0);
                let names: Vec<&str> = on.map(|(_, name)| *name).collect();
                f.write_str(&names.join("+"))
            }
        }
    }
}

impl FromStr for Guardrails {
    type Err = AxisError;

    /// `none`, `all`, or switches joined by `+` in any order.
    fn from_str(text: &str) -> Result<Guardrails, AxisError> {
        match text {
            "none" => return Ok(Guardrails::NONE),
            "all" => return Ok(Guardrails::ALL),
            _ => {}
        }
        let mut bits = 0;
        for word in text.split('+') {
            let Some(index) = Self::NAMES.iter().position(|name| *name == word) else {
                // They stand alone.
                let sets: &[&str] = if text.contains('+') { &[] } else { &["none", "all"] };
                let known = sets.iter().copied().chain(Self::NAMES);
                return Err(AxisError {
                    axis: "guardrail",
                    word: word.to_owned(),
                    known: known.map(str::to_owned).collect(),
                });
            };
            bits |= 1 << index;
        }
        Ok(Guardrails::from_bits(bits))
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

/// How a failure is written for the agent.
///
/// With `healing` off it does not matter, and the plan keeps one cell whose format is [`ErrorFormat::Bare`].
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum ErrorFormat {
    /// One line, as a raw server sends it: what remains when `healing` is off. It cannot be asked for.
    Bare,
    /// `<tool_error>` and `<validation_error>`.
    FusionXml,
    /// The coaching text: `⚠️ VALIDATION FAILED`, `[NOT_FOUND] …`.
    FusionText,
    /// Markdown: issues with their fixes, the tool's schema, suggestions, a valid example.
    LlmFriendly,
    /// The same as one JSON object.
    LlmFriendlyJson,
    /// What a server on the TypeScript SDK of MCP sends: the issues of zod.
    ZodJson,
    /// What a server on the Python SDK of MCP sends: the errors of pydantic.
    Pydantic,
    /// What a server in Rust sends: the first thing that serde stumbles over.
    Serde,
    /// Problem details, RFC 9457.
    ProblemJson,
    /// The user's own.
    Template(TemplateSource),
}

/// A user's own error format. The text is a part of it, so that a plan says all that a run depends on.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TemplateSource {
    /// The file, as it was given after `template:`.
    pub file: String,
    /// What is in the file: a minijinja template.
    pub text: String,
}

impl ErrorFormat {
    /// The formats that a plan can ask for by name alone.
    pub const NAMED: [ErrorFormat; 8] = [
        ErrorFormat::FusionXml,
        ErrorFormat::FusionText,
        ErrorFormat::LlmFriendly,
        ErrorFormat::LlmFriendlyJson,
        ErrorFormat::ZodJson,
        ErrorFormat::Pydantic,
        ErrorFormat::Serde,
        ErrorFormat::ProblemJson,
    ];

    /// The name in plans, columns and documents: `fusion-xml`, `template:FILE`.
    pub fn name(&self) -> Cow<'static, str> {
        Cow::Borrowed(match self {
            ErrorFormat::Bare => "bare",
            ErrorFormat::FusionXml => "fusion-xml",
            ErrorFormat::FusionText => "fusion-text",
            ErrorFormat::LlmFriendly => "llm-friendly",
            ErrorFormat::LlmFriendlyJson => "llm-friendly-json",
            ErrorFormat::ZodJson => "zod-json",
            ErrorFormat::Pydantic => "pydantic",
            ErrorFormat::Serde => "serde",
            ErrorFormat::ProblemJson => "problem-json",
            ErrorFormat::Template(template) => return Cow::Owned(format!("template:{}", template.file)),
        })
    }
}

impl fmt::Display for ErrorFormat {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(&self.name())
    }
}

impl FromStr for ErrorFormat {
    type Err = AxisError;

    /// One of [`ErrorFormat::NAMED`]; a template needs its file read by whoever may read files.
    fn from_str(text: &str) -> Result<ErrorFormat, AxisError> {
        Self::NAMED.into_iter().find(|format| format.name() == text).ok_or_else(|| AxisError {
            axis: "error format",
            word: text.to_owned(),
            known: Self::NAMED.iter().map(|format| format.name().into_owned()).collect(),
        })
    }
}

/// What plays the agent. What a scripted agent shows says nothing about a real model, so every row carries this.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum AgentKind {
    /// A profile of probabilities that reads response texts.
    Scripted,
    /// A language model.
    Llm,
    /// A language model's recorded answers.
    Replay,
}

impl AgentKind {
    /// The name in columns and documents.
    pub fn name(self) -> &'static str {
        match self {
            AgentKind::Scripted => "scripted",
            AgentKind::Llm => "llm",
            AgentKind::Replay => "replay",
        }
    }

    /// The kind that it stands for: a replay stands for the model that was asked.
    pub fn underlying(self) -> AgentKind {
        match self {
            AgentKind::Replay => AgentKind::Llm,
            kind => kind,
        }
    }
}

/// How an episode of a model begins.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Opening {
    /// The scheduled mistake has been made as the model's own first call: every model and format meets the same error.
    Seeded,
    /// The model begins by itself, and may make no mistake at all.
    Natural,
}

impl Opening {
    /// Both, in the order of documents.
    pub const ALL: [Opening; 2] = [Opening::Seeded, Opening::Natural];

    /// The name in plans, columns and documents.
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
        Self::ALL.into_iter().find(|opening| opening.name() == text).ok_or_else(|| AxisError {
            axis: "opening",
            word: text.to_owned(),
            known: Self::ALL.iter().map(|opening| opening.name().to_owned()).collect(),
        })
    }
}

/// How a model is told of the tools.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum ToolsMode {
    /// By the API's own field. Servers may then constrain the answer to the schema, which hides schema errors.
    Native,
    /// By the system text; a call is a JSON object in the answer.
    Prompt,
}

impl ToolsMode {
    /// Both, in the order of documents.
    pub const ALL: [ToolsMode; 2] = [ToolsMode::Native, ToolsMode::Prompt];

    /// The name in settings, columns and documents.
    pub fn name(self) -> &'static str {
        match self {
            ToolsMode::Native => "native",
            ToolsMode::Prompt => "prompt",
        }
    }
}

/// Names one agent of a plan.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct AgentSpec {
    /// What plays it.
    pub kind: AgentKind,
    /// Of a scripted agent its profile, without the part before the colon of `scripted:typical`; of a model what it was asked for as:
    /// `openai:gpt-5-mini`, `model:NAME`.
    pub name: String,
    /// How its episodes begin; null for a scripted agent.
    #[serde(default)]
    pub opening: Option<Opening>,
    /// How it is told of the tools; null for a scripted agent.
    #[serde(default)]
    pub tools: Option<ToolsMode>,
    /// Everything that makes this agent behave as it does, as plain data: of a scripted agent, its profile; of a model, everything but
    /// its key.
    pub settings: serde_json::Value,
}

impl AgentSpec {
    /// What its rows are headed with, which tells it from every other agent of a plan: `openai:gpt-5-mini · seeded · native`.
    pub fn title(&self) -> String {
        let name = self.to_string();
        let parts = [
            Some(name.as_str()),
            self.opening.map(Opening::name),
            self.tools.map(ToolsMode::name),
            (self.kind == AgentKind::Replay).then_some("replayed"),
        ];
        parts.into_iter().flatten().collect::<Vec<_>>().join(" · ")
    }
}

impl fmt::Display for AgentSpec {
    /// `scripted:typical`, `openai:gpt-5-mini`. A model has the same name whether it is asked or replayed.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.kind {
            AgentKind::Scripted => write!(f, "{}:{}", self.kind.name(), self.name),
            AgentKind::Llm | AgentKind::Replay => f.write_str(&self.name),
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
    fn bare_cannot_be_asked_for() {
        assert!("bare".parse::<ErrorFormat>().is_err());
        for format in ErrorFormat::NAMED {
            assert_eq!(format.name().parse(), Ok(format));
        }
    }
}
