//! Prints the summary of logs: `cargo run -p healbench-import --example summary -- PATH...`, with `--models` also by model, and with
//! `--errors` every error with its source.
#![allow(clippy::print_stdout)]

use std::error::Error;
use std::ops::ControlFlow;
use std::path::PathBuf;
use std::time::Instant;

use healbench_import::{Conversation, Event, Options, import};

fn main() -> Result<(), Box<dyn Error>> {
    let mut options = Options::default();
    let (mut paths, mut shows_models, mut shows_errors) = (Vec::new(), false, false);
    let mut args = std::env::args().skip(1);
    while let Some(arg) = args.next() {
        match arg.as_str() {
            "--models" => shows_models = true,
            "--errors" => shows_errors = true,
            "--strict" => options.strict = true,
            "--router" => options.routers.push(args.next().ok_or("--router needs a value")?.parse()?),
            "--shell" => options.shell.push(args.next().ok_or("--shell needs a value")?.parse()?),
            "--source" => options.source = args.next(),
            path => paths.push(PathBuf::from(path)),
        }
    }
    let started = Instant::now();
    let mut clean = 0;
    let mut receive = |conversation: Conversation| {
        clean += u32::from(!conversation.tags.contains_key("attack"));
        if shows_errors {
            print_errors(&conversation);
        }
        ControlFlow::Continue(())
    };
    let summary = import(&paths, &options, &mut receive, &mut |_, _| ())?;
    for (source, counts) in &summary.sources {
        println!(
            "{source}: {} logs, {} conversations ({} with an attack), {} calls, {} results, {} errors by flag, {} by text, \
             {} shell calls, {} shell errors, {} models",
            counts.logs,
            counts.conversations,
            counts.attacks,
            counts.calls,
            counts.results,
            counts.flag_errors,
            counts.text_errors,
            counts.shell_calls,
            counts.shell_errors,
            counts.models.len()
        );
        if shows_models {
            for (model, counts) in &counts.models {
                let model = model.as_deref().unwrap_or("unknown");
                println!("MODEL\t{source}\t{model}\t{}\t{}\t{}", counts.conversations, counts.calls, counts.errors);
            }
        }
    }
    let bytes: u64 = summary.files.iter().map(|file| file.bytes).sum();
    println!("{clean} conversations without an attack, {} files, {bytes} bytes", summary.files.len());
    summary.routers.iter().for_each(|router| println!("--router {router}"));
    summary.problems.counts.iter().for_each(|(kind, count)| println!("{count} times: {}", kind.text()));
    summary.problems.listed.iter().take(5).for_each(|problem| println!("  {problem}"));
    println!("{:.2} s", started.elapsed().as_secs_f64());
    Ok(())
}

/// Prints a line of JSON for each result.
fn print_errors(conversation: &Conversation) {
    for event in &conversation.events {
        let Event::Turn(turn) = event else { continue };
        for call in &turn.calls {
            let Some(result) = &call.result else { continue };
            let error = result.error.map(|error| format!("{error:?}"));
            let line = serde_json::json!({
                "task": conversation.task, "tool": call.tool, "shell": call.is_shell, "error": error, "text": result.text,
            });
            println!("ERROR\t{line}");
        }
    }
}
