//! Compiles and renders templates, in this process or in another one.
//!
//! minijinja limits the instructions of a template, and not its values: a single instruction can ask for any amount of memory,
//! time or stack. A program that has to survive its templates sets a [`TemplateHost`], which passes requests on to a process that
//! answers them with a [`TemplateServer`] and may be ended.

use std::borrow::Cow;
use std::io;
use std::sync::OnceLock;

use healbench_core::TemplateSource;
use minijinja::value::Serde;
use minijinja::{Environment, Error, ErrorKind, UndefinedBehavior};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::{single_line, xml_attribute, xml_text};

/// The error for an invalid template.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, thiserror::Error)]
#[error("template `{file}`, line {line}: {message}")]
pub struct TemplateError {
    /// The path as given.
    pub file: String,
    /// The line, from 1.
    pub line: usize,
    /// The problem on that line.
    pub message: String,
}

/// The variables that a template may use.
pub(super) const VARIABLES: [&str; 16] = [
    "kind",
    "code",
    "tool",
    "action",
    "description",
    "message",
    "field",
    "severity",
    "recovery",
    "available",
    "details",
    "retry_after",
    "issues",
    "arguments",
    "schema",
    "contract_changes",
];

/// The maximum number of instructions for one text; stops endless loops.
const FUEL: u64 = 200_000;
/// The maximum size of a text in bytes.
const MAX_TEXT: usize = 1 << 20;
/// The name of the only template in the environment.
const NAME: &str = "template";

/// A process that compiles and renders templates.
pub trait TemplateHost: Send + Sync {
    /// Returns the answer of a [`TemplateServer`] to a request, or the reason why there is none. Requests and answers are single
    /// lines.
    ///
    /// # Errors
    /// The reason, for people.
    fn ask(&self, request: &str) -> Result<String, String>;
}

static HOST: OnceLock<Box<dyn TemplateHost>> = OnceLock::new();

/// Compiles and renders all templates of this process by `host` from now on. Only the first host is used.
pub fn set_template_host(host: Box<dyn TemplateHost>) {
    let _ = HOST.set(host);
}

#[derive(Serialize, Deserialize)]
struct Request<'a, Context> {
    source: Cow<'a, TemplateSource>,
    /// The variables; null to compile only.
    context: Option<Context>,
}

#[derive(Serialize, Deserialize)]
enum Answer {
    Compiled { renders_contract_changes: bool },
    Rendered(String),
    Failed(TemplateError),
}

/// A compiled template.
#[derive(Debug)]
pub(super) struct Renderer {
    /// `None` if another process renders it.
    environment: Option<Environment<'static>>,
    source: TemplateSource,
    /// True if the template shows contract changes itself.
    pub(super) renders_contract_changes: bool,
}

impl Renderer {
    pub(super) fn compile(source: &TemplateSource) -> Result<Renderer, TemplateError> {
        let Some(host) = HOST.get() else { return Renderer::compile_here(source) };
        match ask::<Value>(&**host, source, None)? {
            Answer::Compiled { renders_contract_changes } => {
                Ok(Renderer { environment: None, source: source.clone(), renders_contract_changes })
            }
            Answer::Rendered(_) => Err(no_answer(source)),
            Answer::Failed(error) => Err(error),
        }
    }

    fn compile_here(source: &TemplateSource) -> Result<Renderer, TemplateError> {
        let mut environment = Environment::new();
        environment.set_fuel(Some(FUEL));
        // Absent facts and their members are undefined instead of an error.
        environment.set_undefined_behavior(UndefinedBehavior::Chainable);
        environment.add_filter("xml", |text: &str| xml_text(text).into_owned());
        environment.add_filter("xml_attribute", |text: &str| xml_attribute(text).into_owned());
        environment.add_filter("line", |text: &str| single_line(text).into_owned());
        let failed = |error: &Error| failed(source, error);
        environment.add_template_owned(NAME, source.text.clone()).map_err(|error| failed(&error))?;
        let named = environment.get_template(NAME).map_err(|error| failed(&error))?.undeclared_variables(false);
        let known =
            |name: &&String| VARIABLES.contains(&name.as_str()) || environment.globals().any(|(g, _)| g == *name);
        if let Some(unknown) = named.iter().filter(|name| !known(name)).min() {
            let line = source.text.lines().position(|line| line.contains(unknown.as_str())).map_or(1, |at| at + 1);
            let message = format!("unknown variable `{unknown}`; known: {}", VARIABLES.join(", "));
            return Err(TemplateError { file: source.file.clone(), line, message });
        }
        let renders_contract_changes = named.contains("contract_changes");
        Ok(Renderer { environment: Some(environment), source: source.clone(), renders_contract_changes })
    }

    /// Renders the template with these variables.
    pub(super) fn render(&self, context: &impl Serialize) -> Result<String, TemplateError> {
        match (&self.environment, HOST.get()) {
            (Some(environment), _) => {
                let mut text = BoundedText(Vec::new());
                let template = environment.get_template(NAME).map_err(|error| failed(&self.source, &error))?;
                template.render_captured_to(Serde(context), &mut text).map_err(|error| failed(&self.source, &error))?;
                String::from_utf8(text.0).map_err(|_| no_answer(&self.source))
            }
            (None, Some(host)) => match ask(&**host, &self.source, Some(context))? {
                Answer::Rendered(text) => Ok(text),
                Answer::Compiled { .. } => Err(no_answer(&self.source)),
                Answer::Failed(error) => Err(error),
            },
            (None, None) => Err(no_answer(&self.source)),
        }
    }

    /// Returns the path of the template, as given.
    pub(super) fn file(&self) -> &str {
        &self.source.file
    }
}

/// A text that is written up to its limit.
struct BoundedText(Vec<u8>);

impl io::Write for BoundedText {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        if self.0.len() + bytes.len() > MAX_TEXT {
            return Err(io::ErrorKind::FileTooLarge.into());
        }
        self.0.extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

fn failed(source: &TemplateSource, error: &Error) -> TemplateError {
    let message = match error.kind() {
        ErrorKind::WriteFailure => format!("its text has more than {} MiB", MAX_TEXT >> 20),
        kind => single_line(&error.detail().map_or_else(|| kind.to_string(), str::to_owned)).into_owned(),
    };
    TemplateError { file: source.file.clone(), line: error.line().unwrap_or(1), message }
}

fn no_answer(source: &TemplateSource) -> TemplateError {
    TemplateError { file: source.file.clone(), line: 1, message: "its process gives no answer".to_owned() }
}

fn ask<Context: Serialize>(
    host: &dyn TemplateHost,
    source: &TemplateSource,
    context: Option<&Context>,
) -> Result<Answer, TemplateError> {
    let failed = |message| TemplateError { file: source.file.clone(), line: 1, message };
    let request = Request { source: Cow::Borrowed(source), context };
    let request = serde_json::to_string(&request).map_err(|error| failed(error.to_string()))?;
    let answer = host.ask(&request).map_err(failed)?;
    serde_json::from_str(&answer).map_err(|_| no_answer(source))
}

/// The compiled templates that a server keeps. A run has few.
const MAX_COMPILED: usize = 16;

/// Answers the requests of a [`TemplateHost`].
#[derive(Debug, Default)]
pub struct TemplateServer {
    compiled: Vec<Renderer>,
}

impl TemplateServer {
    /// Returns the answer to a request, without line breaks.
    pub fn answer(&mut self, request: &str) -> String {
        let answer = self.answer_request(request).unwrap_or_else(Answer::Failed);
        serde_json::to_string(&answer).unwrap_or_default()
    }

    fn answer_request(&mut self, request: &str) -> Result<Answer, TemplateError> {
        let Request { source, context } = serde_json::from_str::<Request<'_, Value>>(request).map_err(|error| {
            TemplateError { file: String::new(), line: 1, message: format!("its variables cannot be read: {error}") }
        })?;
        let renderer = self.compiled(&source)?;
        match &context {
            None => Ok(Answer::Compiled { renders_contract_changes: renderer.renders_contract_changes }),
            Some(context) => renderer.render(context).map(Answer::Rendered),
        }
    }

    fn compiled(&mut self, source: &TemplateSource) -> Result<&Renderer, TemplateError> {
        let position = match self.compiled.iter().position(|renderer| renderer.source == *source) {
            Some(position) => position,
            None => {
                let renderer = Renderer::compile_here(source)?;
                self.compiled.truncate(MAX_COMPILED - 1);
                self.compiled.insert(0, renderer);
                0
            }
        };
        Ok(&self.compiled[position])
    }
}
