//! Tests of the report's output formats from the command line.

use std::fs;

use super::*;
use crate::interrupted::interrupt;

const SMALL: [&str; 6] = ["--trials", "2", "--agent", "scripted:typical", "--format", "fusion-xml"];

/// Returns a sandbox with a small run named `run`.
fn sandbox() -> Sandbox {
    let sandbox = Sandbox::new();
    sandbox.ok(&[&["run", "quickstart", "--out", "run"], &SMALL[..]].concat());
    sandbox
}

fn names(sandbox: &Sandbox) -> Vec<String> {
    let entries = fs::read_dir(sandbox.dir.path()).unwrap();
    let mut names: Vec<String> = entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
    names.sort();
    names
}

#[test]
fn several_forms_are_written_at_once() {
    let sandbox = sandbox();
    let forms = ["json", "csv", "markdown", "html"];
    let alone = forms.map(|form| sandbox.ok(&["report", "run", "--output", form]).out);
    let files = forms.map(|form| format!("{form}=new/{form}"));
    let mut args = vec!["report", "run", "--output", "terminal"];
    args.extend(files.iter().flat_map(|file| ["--output", file]));
    let printed = sandbox.ok(&args);
    assert_eq!(printed.out, sandbox.ok(&["report", "run"]).out);
    assert_eq!(printed.err, "page: new/html\n");
    for (form, alone) in forms.iter().zip(&alone) {
        assert!(fs::read_to_string(sandbox.path(&format!("new/{form}"))).unwrap() == *alone, "{form}");
    }
    let refused = |args: &[&str], reason: &str| {
        let result = sandbox.start(args);
        assert_eq!((result.code, result.out.as_str()), (Some(2), ""), "{args:?}");
        assert!(result.err.contains(reason), "{args:?}: {}", result.err);
    };
    for command in [&["report", "run"][..], &["compare", "run", "run"], &["compare", "run", "--by", "agent"]] {
        let two = ["--output", "json", "--output", "markdown=-"];
        refused(&[command, &two].concat(), "2 reports cannot all go to standard output");
        refused(&[command, &["--output", "jsno"]].concat(), "did you mean `json`?");
    }
    refused(&["report", "run", "--by-scenario", "--output", "json"], "do not apply to these forms");
    refused(&["report", "run", "--all", "--output", "csv"], "do not apply to these forms");
    refused(&["report", "run", "--output", "json=a", "--output", "inspect"], "write `--output inspect=FOLDER`");
    for (file, reason) in
        [("run/manifest.json", "a file of a run"), ("run/calls.parquet", "a file of a run"), ("run", "a folder")]
    {
        let output = format!("json=./{file}");
        refused(&["report", "run", "--output", &output], reason);
        refused(&["compare", "run", "run", "--output", &output], reason);
        refused(&["errors", "run", "--output", "csv=a", "--output", &output], reason);
    }
    for (one, other) in [("json=x/y", "csv=./x/y"), ("json=x", "inspect=x"), ("html=x/page.html", "inspect=x")] {
        refused(&["report", "run", "--output", one, "--output", other], "the output of another option");
    }
    refused(&["report", "run", "--output", "json=a", "--output", "inspect=new"], "`new` is not empty");
    assert_eq!(names(&sandbox), ["new", "run"]);
}

#[test]
fn every_renderer_is_deterministic() {
    let sandbox = sandbox();
    for renderer in [
        &["--output", "html"][..],
        &["--output=markdown"],
        &["--output=csv"],
        &["--output=csv", "--by-scenario"],
        &["--output=json"],
        &[],
    ] {
        let args = [&["report", "run"], renderer].concat();
        let [first, second] = [sandbox.ok(&args), sandbox.ok(&args)];
        assert!(first.out == second.out, "{renderer:?}");
        assert_eq!(first.err, "", "{renderer:?}");
        assert!(first.out.ends_with('\n') || renderer == ["--output", "html"], "{renderer:?}");
    }
    let compared = ["compare", "run", "run", "--output", "html"];
    assert!(sandbox.ok(&compared).out == sandbox.ok(&compared).out);
    assert_eq!(names(&sandbox), ["run"]);
}

#[test]
fn a_page_goes_to_a_file_or_to_standard_output() {
    let sandbox = sandbox();
    let printed = sandbox.ok(&["report", "run", "--output", "html"]);
    assert!(printed.out.starts_with("<!DOCTYPE html>") && printed.out.ends_with("</html>"), "{}", printed.out);
    let written = sandbox.ok(&["report", "run", "--output", "html=page.html"]);
    assert_eq!((written.out.as_str(), written.err.as_str()), ("", "page: page.html\n"));
    assert!(fs::read_to_string(sandbox.path("page.html")).unwrap() == printed.out);
    // An existing file is replaced, and a missing folder is created.
    sandbox.write("page.html", "old");
    sandbox.ok(&["report", "run", "--output", "html=page.html", "--quiet"]);
    sandbox.ok(&["compare", "run", "run", "--output", "html=new/folder/page.html"]);
    assert!(fs::read_to_string(sandbox.path("page.html")).unwrap() == printed.out);
    assert!(fs::read_to_string(sandbox.path("new/folder/page.html")).unwrap().contains("Unchanged: no metric differs"));
    assert_eq!(names(&sandbox), ["new", "page.html", "run"]);
}

#[test]
fn a_page_that_cannot_be_written_leaves_nothing_behind() {
    let sandbox = sandbox();
    fs::create_dir(sandbox.path("folder")).unwrap();
    sandbox.write("folder/precious", "mine");
    sandbox.write("file", "mine");
    for (file, named) in [("folder", "`folder`"), ("file/page.html", "`file/page.html`"), ("", "")] {
        let output = format!("--output=html={file}");
        for args in [["report", "run", output.as_str()].as_slice(), &["compare", "run", "run", &output]] {
            let result = sandbox.start(args);
            assert_eq!((result.code, result.out.as_str()), (Some(2), ""), "{args:?}");
            assert!(result.err.starts_with("error: ") && result.err.contains(named), "{args:?}: {}", result.err);
        }
    }
    assert_eq!(names(&sandbox), ["file", "folder", "run"]);
    assert_eq!(fs::read_dir(sandbox.path("folder")).unwrap().count(), 1);
    assert_eq!(fs::read_to_string(sandbox.path("file")).unwrap(), "mine");
}

/// A limit on file size simulates a full disk.
#[cfg(target_os = "linux")]
#[test]
fn a_full_disk_leaves_the_page_that_was_there() {
    let sandbox = sandbox();
    sandbox.write("page.html", "old");
    let program = env!("CARGO_BIN_EXE_healbench");
    let script = format!("trap '' XFSZ; ulimit -f 8; exec {program} report run --output html=page.html");
    let output = Command::new("bash").args(["-c", &script]).current_dir(sandbox.dir.path()).output().unwrap();
    let result = CommandResult::new(output);
    assert_eq!(result.code, Some(2), "{}", result.err);
    assert!(result.err.contains("cannot write `page.html`"), "{}", result.err);
    assert_eq!(fs::read_to_string(sandbox.path("page.html")).unwrap(), "old");
    assert_eq!(names(&sandbox), ["page.html", "run"]);
}

/// A pipe or device is written to, not replaced by a file.
#[cfg(target_os = "linux")]
#[test]
fn pipes_and_links_are_not_replaced() {
    let sandbox = sandbox();
    let page = sandbox.ok(&["report", "run", "--output", "html"]).out;
    let program = env!("CARGO_BIN_EXE_healbench");
    let script = format!(
        "mkfifo pipe; timeout 60 cat pipe > read & {program} report run --output html=pipe; wait; test -p pipe"
    );
    let output = Command::new("bash").args(["-c", &script]).current_dir(sandbox.dir.path()).output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    assert!(fs::read_to_string(sandbox.path("read")).unwrap() == page);
    // A symbolic link is kept; its target is replaced.
    sandbox.write("target.html", "old");
    std::os::unix::fs::symlink("target.html", sandbox.path("link.html")).unwrap();
    sandbox.ok(&["report", "run", "--output", "html=link.html"]);
    assert!(fs::symlink_metadata(sandbox.path("link.html")).unwrap().is_symlink());
    assert!(fs::read_to_string(sandbox.path("target.html")).unwrap() == page);
}

#[test]
fn a_report_that_fails_leaves_the_page_that_was_there() {
    let sandbox = sandbox();
    sandbox.write("page.html", "old");
    let calls = fs::read(sandbox.path("run/calls.parquet")).unwrap();
    let damaged = [&calls[..calls.len() / 2], b"PAR1 this is no frame PAR1"];
    for bytes in damaged {
        fs::write(sandbox.path("run/calls.parquet"), bytes).unwrap();
        for renderer in [
            &["--output", "html=page.html"][..],
            &["--output", "html"],
            &["--output=markdown"],
            &["--output=csv"],
            &["--output=json"],
        ] {
            let result = sandbox.start(&[&["report", "run"], renderer].concat());
            assert_eq!((result.code, result.out.as_str()), (Some(4), ""), "{renderer:?}");
            assert!(result.err.starts_with("error: `run/calls.parquet` is damaged"), "{renderer:?}: {}", result.err);
        }
    }
    fs::write(sandbox.path("run/calls.parquet"), &calls).unwrap();
    fs::write(sandbox.path("run/episodes.parquet"), damaged[1]).unwrap();
    let result = sandbox.start(&["compare", "run", "run", "--output", "html=page.html"]);
    assert!(result.code == Some(4) && result.err.contains("run/episodes.parquet` is damaged"), "{}", result.err);
    assert_eq!(fs::read_to_string(sandbox.path("page.html")).unwrap(), "old");
    assert_eq!(names(&sandbox), ["page.html", "run"]);
}

#[test]
fn csv_has_a_line_for_each_row_or_scenario() {
    let sandbox = sandbox();
    let lines = |args: &[&str]| {
        let text = sandbox.ok(&[&["report", "run", "--output=csv"], args].concat()).out;
        let mut reader = csv::Reader::from_reader(text.as_bytes());
        let header: Vec<String> = reader.headers().unwrap().iter().map(str::to_owned).collect();
        (header, reader.records().map(Result::unwrap).collect::<Vec<_>>())
    };
    let (header, rows) = lines(&[]);
    assert_eq!(rows.len(), 2);
    assert!(header.starts_with(&["agent", "agent_kind"].map(str::to_owned)) && header.contains(&"success".to_owned()));
    let (header, rows) = lines(&["--by-scenario"]);
    let scenario = header.iter().position(|head| head == "scenario").unwrap();
    let scenarios: std::collections::BTreeSet<&str> = rows.iter().map(|row| &row[scenario]).collect();
    assert_eq!(rows.len(), 2 * scenarios.len());
    assert!(scenarios.iter().all(|id| id.starts_with("quickstart/")), "{scenarios:?}");
}

#[test]
fn a_page_without_scenarios_explains_missing_transcripts() {
    let sandbox = sandbox();
    let whole = sandbox.ok(&["report", "run", "--output", "html"]).out;
    assert!(whole.matches("class=\"transcript\"").count() > 10 && !whole.contains("is not shown"), "{whole}");
    fs::remove_dir_all(sandbox.path("run/scenarios")).unwrap();
    let page = sandbox.ok(&["report", "run", "--output", "html"]).out;
    assert!(!page.contains("class=\"transcript\""), "{page}");
    assert!(page.matches(" is not shown: ").count() > 10 && page.contains("run/scenarios/"), "{page}");
    // The numbers are the same.
    let table = |page: &str| page.split("id=\"rates\"").nth(1).unwrap().split("</table>").next().unwrap().to_owned();
    assert_eq!(table(&page), table(&whole));
}

#[test]
fn a_transcript_that_replays_differently_is_not_shown() {
    let sandbox = sandbox();
    let texts = fs::read_dir(sandbox.path("run/scenarios")).unwrap().map(|entry| entry.unwrap().path());
    let changed = texts.min().unwrap();
    let text = fs::read_to_string(&changed).unwrap();
    fs::write(&changed, format!("{text}\n# changed\n")).unwrap();
    accept_files(&sandbox.path("run"));
    let page = sandbox.ok(&["report", "run", "--output", "html"]).out;
    assert!(!page.contains("class=\"transcript\""), "{page}");
    assert!(page.contains("is not the one that was run"), "{page}");
}

#[cfg(unix)]
#[test]
fn a_page_of_an_interrupted_run_is_marked() {
    let sandbox = Sandbox::new();
    let conditions = ["--agent", "scripted:typical", "--condition", "sdk-typescript,fusion"];
    let args = [&["run", "quickstart", "--out", "run", "--trials", "400"][..], &conditions].concat();
    assert_eq!(interrupt(&sandbox, &args).code, Some(130));
    let page = sandbox.ok(&["report", "run", "--output", "html"]).out;
    assert!(page.contains("The run was interrupted: ") && page.contains("class=\"transcript\""));
    let markdown = sandbox.ok(&["report", "run", "--output=markdown"]).out;
    let head = markdown.lines().next().unwrap();
    assert!(head.contains(" of ") && head.contains("episodes"), "{head}");
    for renderer in ["--output=csv", "--output=json"] {
        sandbox.ok(&["report", "run", renderer]);
    }
}

#[test]
fn a_page_of_a_shard_is_marked() {
    let sandbox = Sandbox::new();
    sandbox.ok(&[&["run", "quickstart", "--out", "part", "--shard", "2/3"], &SMALL[..]].concat());
    let page = sandbox.ok(&["report", "part", "--output", "html"]).out;
    assert!(page.contains("this is shard 2/3 of a run") && page.contains("class=\"transcript\""), "{page}");
    let markdown = sandbox.ok(&["report", "part", "--output=markdown"]).out;
    assert!(markdown.lines().next().unwrap().contains(" of "), "{markdown}");
}
