//! Imports of small logs in the form of each source, and of broken ones.

#![allow(clippy::unwrap_used)]

mod damage;
mod errors;
mod files;
mod hostile;
mod pairing;
mod programs;
mod repeats;
mod routers;
mod rows;
mod secrets;
mod sources;

use std::fmt::Write as _;
use std::fs;
use std::ops::ControlFlow;
use std::path::PathBuf;

use healbench_import::{Conversation, ErrorSource, Event, ImportError, Options, ProblemKind, Summary, import};
use serde_json::Value;

/// Imports a folder with these files.
fn import_files(files: &[(&str, &[u8])], options: &Options) -> Result<(Vec<Conversation>, Summary), ImportError> {
    let folder = tempfile::tempdir().unwrap();
    for (name, bytes) in files {
        let path = folder.path().join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, bytes).unwrap();
    }
    import_paths(&[folder.path().to_owned()], options)
}

fn import_paths(paths: &[PathBuf], options: &Options) -> Result<(Vec<Conversation>, Summary), ImportError> {
    let mut all = Vec::new();
    let mut receive = |conversation| {
        all.push(conversation);
        ControlFlow::Continue(())
    };
    let summary = import(paths, options, &mut receive, &mut |_, _| ())?;
    Ok((all, summary))
}

/// Reads one file, which must have no problem but those that are named.
fn read(name: &str, text: &str, problems: &[ProblemKind]) -> Vec<Conversation> {
    let (all, summary) = import_files(&[(name, text.as_bytes())], &Options::default()).unwrap();
    let kinds: Vec<ProblemKind> = summary.problems.counts.keys().copied().collect();
    assert_eq!(kinds, problems, "{:?}", summary.problems.listed);
    all
}

fn lines(values: &[Value]) -> String {
    values.iter().map(|value| format!("{value}\n")).collect()
}

/// Returns a conversation as text: `user`, `turn` and `call` lines.
fn outline(conversation: &Conversation) -> String {
    let mut out = String::new();
    for event in &conversation.events {
        match event {
            Event::User { text } => writeln!(out, "user {text}").unwrap(),
            Event::Turn(turn) => {
                let usage = turn.usage.map_or_else(String::new, |(sent, received)| format!(" {sent}/{received}"));
                writeln!(out, "turn{usage} {}", turn.text).unwrap();
                for call in &turn.calls {
                    let shell = if call.is_shell { "$" } else { "" };
                    let result = call.result.as_ref().map_or_else(
                        || "nothing".to_owned(),
                        |result| {
                            let error = match result.error {
                                Some(ErrorSource::Flag) => "flag ",
                                Some(ErrorSource::Text) => "text ",
                                None => "",
                            };
                            format!("{error}{}", result.text)
                        },
                    );
                    writeln!(out, "call {shell}{}{} -> {result}", call.tool, call.arguments).unwrap();
                }
            }
        }
    }
    out
}
