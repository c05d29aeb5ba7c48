//! The file of a scenario.

use std::sync::Arc;

use healbench_core::fingerprint;

use crate::locate::{Document, Syntax, parse, syntax_of};
use crate::variants::places_of;

/// The file of a scenario.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Source {
    /// The path as given, or `built-in:` followed by the path in the suite.
    pub path: String,
    pub text: String,
    /// `yaml`, `yml` or `json`.
    pub extension: String,
    /// The hash of the text, and of the tools of a server: see [`hash`](Source::hash).
    pub sha256: String,
    /// The file of which this is a variant; `None` for a file that is one scenario.
    pub(crate) variant: Option<VariantSource>,
}

/// A file with several variants, and the name of one of them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct VariantSource {
    pub(crate) name: String,
    pub(crate) path: Arc<str>,
    pub(crate) text: Arc<str>,
    pub(crate) syntax: Syntax,
}

impl Source {
    /// Returns the path and the text of the file as its author wrote it: with all variants, if the scenario is one.
    pub fn written(&self) -> (&str, &str) {
        match &self.variant {
            Some(file) => (&*file.path, &*file.text),
            None => (&*self.path, &*self.text),
        }
    }

    /// Returns the SHA-256 hash of the text of a scenario, followed by that of the tools of its server, in hexadecimal.
    pub fn hash(text: &str, tools: Option<&str>) -> String {
        match tools {
            None => fingerprint(text.as_bytes()),
            Some(tools) => fingerprint([text, "\0", tools].concat().as_bytes()),
        }
    }

    /// Returns the parsed text of a scenario.
    pub(crate) fn document(&self) -> Option<Document<'_>> {
        let syntax = syntax_of(&self.extension).unwrap_or(Syntax::Yaml);
        parse(&self.path, &self.text, syntax).ok()
    }

    /// Returns the parsed text of the file as its author wrote it, with the places of the scenario's values.
    pub(crate) fn author_document(&self) -> Option<Document<'_>> {
        let Some(file) = &self.variant else { return self.document() };
        let mut document = parse(&file.path, &file.text, file.syntax).ok()?;
        document.places = places_of(&document, &file.name);
        Some(document)
    }
}
