//! The forms of a report, as a user asks for them.

use std::fs;

use super::*;
use crate::interrupted::interrupt;

const SMALL: [&str; 6] = ["--trials", "2", "--agent", "scripted:typical", "--format", "fusion-xml"];

/// A place with a small run named `run`.
fn place() -> Place {
    let place = Place::new();
    place.ok(&[&["run", "--out", "run"], &SMALL[..]].concat());
    place
}

fn names(place: &Place) -> Vec<String> {
    let entries = fs::read_dir(place.dir.path()).unwrap();
    let mut names: Vec<String> = entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
    names.sort();
    names
}

#[test]
fn forms_exclude_each_other() {
    let place = place();
    let forms: [&[&str]; 4] = [&["--html", "page.html"], &["--markdown"], &["--csv"], &["--json"]];
    let refused = |words: &[&str]| {
        let ended = place.start(words);
        assert_eq!((ended.code, ended.out.as_str()), (Some(2), ""), "{words:?}");
        assert!(ended.err.contains("cannot be used with"), "{words:?}: {}", ended.err);
    };
    for (index, form) in forms.iter().enumerate() {
        for other in &forms[index + 1..] {
            refused(&[&["report", "run"], *form, other].concat());
        }
        if index != 2 {
            refused(&[&["report", "run", "--by-scenario"], *form].concat());
        }
    }
    refused(&["compare", "run", "run", "--html", "page.html", "--json"]);
    refused(&["compare", "run", "--by", "agent", "--html", "page.html"]);
    assert_eq!(names(&place), ["run"]);
}

#[test]
fn every_form_is_the_same_each_time() {
    let place = place();
    for form in [&["--html", "-"][..], &["--markdown"], &["--csv"], &["--csv", "--by-scenario"], &["--json"], &[]] {
        let words = [&["report", "run"], form].concat();
        let [first, second] = [place.ok(&words), place.ok(&words)];
        assert!(first.out == second.out, "{form:?}");
        assert_eq!(first.err, "", "{form:?}");
        assert!(first.out.ends_with('\n') || form == ["--html", "-"], "{form:?}");
    }
    let compared = ["compare", "run", "run", "--html", "-"];
    assert!(place.ok(&compared).out == place.ok(&compared).out);
    assert_eq!(names(&place), ["run"]);
}

#[test]
fn a_page_goes_to_a_file_or_to_standard_output() {
    let place = place();
    let printed = place.ok(&["report", "run", "--html", "-"]);
    assert!(printed.out.starts_with("<!DOCTYPE html>") && printed.out.ends_with("</html>"), "{}", printed.out);
    let written = place.ok(&["report", "run", "--html", "page.html"]);
    assert_eq!((written.out.as_str(), written.err.as_str()), ("", "page: page.html\n"));
    assert!(fs::read_to_string(place.path("page.html")).unwrap() == printed.out);
    // What is there is replaced, and a folder that is missing is made.
    place.write("page.html", "old");
    place.ok(&["report", "run", "--html", "page.html", "--quiet"]);
    place.ok(&["compare", "run", "run", "--html", "new/folder/page.html"]);
    assert!(fs::read_to_string(place.path("page.html")).unwrap() == printed.out);
    assert!(fs::read_to_string(place.path("new/folder/page.html")).unwrap().contains("No metric differs"));
    assert_eq!(names(&place), ["new", "page.html", "run"]);
}

#[test]
fn a_page_that_cannot_be_written_leaves_nothing_behind() {
    let place = place();
    fs::create_dir(place.path("folder")).unwrap();
    place.write("folder/precious", "mine");
    place.write("file", "mine");
    for (file, named) in [("folder", "`folder`"), ("file/page.html", "`file/page.html`"), ("", "")] {
        for words in [["report", "run", "--html", file].as_slice(), &["compare", "run", "run", "--html", file]] {
            let ended = place.start(words);
            assert_eq!((ended.code, ended.out.as_str()), (Some(2), ""), "{words:?}");
            assert!(ended.err.starts_with("error: ") && ended.err.contains(named), "{words:?}: {}", ended.err);
        }
    }
    assert_eq!(names(&place), ["file", "folder", "run"]);
    assert_eq!(fs::read_dir(place.path("folder")).unwrap().count(), 1);
    assert_eq!(fs::read_to_string(place.path("file")).unwrap(), "mine");
}

/// A limit on the size of files stands in for a full disk.
#[cfg(target_os = "linux")]
#[test]
fn a_full_disk_leaves_the_page_that_was_there() {
    let place = place();
    place.write("page.html", "old");
    let program = env!("CARGO_BIN_EXE_healbench");
    let script = format!("trap '' XFSZ; ulimit -f 8; exec {program} report run --html page.html");
    let output = Command::new("bash").args(["-c", &script]).current_dir(place.dir.path()).output().unwrap();
    let ended = Ended::of(output);
    assert_eq!(ended.code, Some(2), "{}", ended.err);
    assert!(ended.err.contains("cannot write `page.html`"), "{}", ended.err);
    assert_eq!(fs::read_to_string(place.path("page.html")).unwrap(), "old");
    assert_eq!(names(&place), ["page.html", "run"]);
}

/// A pipe or a device is written to; it is not replaced by a file.
#[cfg(target_os = "linux")]
#[test]
fn what_is_no_file_is_not_replaced() {
    let place = place();
    let page = place.ok(&["report", "run", "--html", "-"]).out;
    let program = env!("CARGO_BIN_EXE_healbench");
    let script =
        format!("mkfifo pipe; timeout 60 cat pipe > read & {program} report run --html pipe; wait; test -p pipe");
    let output = Command::new("bash").args(["-c", &script]).current_dir(place.dir.path()).output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    assert!(fs::read_to_string(place.path("read")).unwrap() == page);
    // A link stays one.
    place.write("target.html", "old");
    std::os::unix::fs::symlink("target.html", place.path("link.html")).unwrap();
    place.ok(&["report", "run", "--html", "link.html"]);
    assert!(fs::symlink_metadata(place.path("link.html")).unwrap().is_symlink());
    assert!(fs::read_to_string(place.path("target.html")).unwrap() == page);
}

#[test]
fn a_report_that_fails_leaves_the_page_that_was_there() {
    let place = place();
    place.write("page.html", "old");
    let calls = fs::read(place.path("run/calls.parquet")).unwrap();
    let damaged = [&calls[..calls.len() / 2], b"PAR1 this is no frame PAR1"];
    for bytes in damaged {
        fs::write(place.path("run/calls.parquet"), bytes).unwrap();
        for form in [&["--html", "page.html"][..], &["--html", "-"], &["--markdown"], &["--csv"], &["--json"]] {
            let ended = place.start(&[&["report", "run"], form].concat());
            assert_eq!((ended.code, ended.out.as_str()), (Some(2), ""), "{form:?}");
            assert!(ended.err.starts_with("error: `run/calls.parquet`"), "{form:?}: {}", ended.err);
        }
    }
    // A comparison needs no calls.
    fs::write(place.path("run/episodes.parquet"), damaged[1]).unwrap();
    let ended = place.start(&["compare", "run", "run", "--html", "page.html"]);
    assert!(ended.code == Some(2) && ended.err.contains("run/episodes.parquet"), "{}", ended.err);
    assert_eq!(fs::read_to_string(place.path("page.html")).unwrap(), "old");
    assert_eq!(names(&place), ["page.html", "run"]);
}

#[test]
fn csv_has_a_line_for_each_row_or_scenario() {
    let place = place();
    let lines = |words: &[&str]| {
        let text = place.ok(&[&["report", "run", "--csv"], words].concat()).out;
        let mut reader = csv::Reader::from_reader(text.as_bytes());
        let heads: Vec<String> = reader.headers().unwrap().iter().map(str::to_owned).collect();
        (heads, reader.records().map(Result::unwrap).collect::<Vec<_>>())
    };
    let (heads, rows) = lines(&[]);
    assert_eq!(rows.len(), 2);
    assert!(heads.starts_with(&["agent", "agent_kind"].map(str::to_owned)) && heads.contains(&"success".to_owned()));
    let (heads, rows) = lines(&["--by-scenario"]);
    let scenario = heads.iter().position(|head| head == "scenario").unwrap();
    let scenarios: std::collections::BTreeSet<&str> = rows.iter().map(|row| &row[scenario]).collect();
    assert_eq!(rows.len(), 2 * scenarios.len());
    assert!(scenarios.iter().all(|id| id.starts_with("quickstart/")), "{scenarios:?}");
}

#[test]
fn a_page_without_scenarios_says_why_it_has_no_transcripts() {
    let place = place();
    let whole = place.ok(&["report", "run", "--html", "-"]).out;
    assert!(whole.matches("class=\"transcript\"").count() > 10 && !whole.contains("is not shown"), "{whole}");
    fs::remove_dir_all(place.path("run/scenarios")).unwrap();
    let page = place.ok(&["report", "run", "--html", "-"]).out;
    assert!(!page.contains("class=\"transcript\""), "{page}");
    assert!(page.matches(" is not shown: ").count() > 10 && page.contains("run/scenarios/"), "{page}");
    // The numbers are the same.
    let table = |page: &str| page.split("id=\"rates\"").nth(1).unwrap().split("</table>").next().unwrap().to_owned();
    assert_eq!(table(&page), table(&whole));
}

#[test]
fn a_transcript_that_plays_otherwise_is_not_shown() {
    let place = place();
    let texts = fs::read_dir(place.path("run/scenarios")).unwrap().map(|entry| entry.unwrap().path());
    let changed = texts.min().unwrap();
    let text = fs::read_to_string(&changed).unwrap();
    fs::write(&changed, format!("{text}\n# changed\n")).unwrap();
    let page = place.ok(&["report", "run", "--html", "-"]).out;
    assert!(!page.contains("class=\"transcript\""), "{page}");
    assert!(page.contains("is not the one that was played"), "{page}");
}

#[cfg(unix)]
#[test]
fn a_page_of_an_interrupted_run_says_so() {
    let place = Place::new();
    let words = ["run", "--out", "run", "--trials", "120", "--agent", "scripted:typical,scripted:careful"];
    assert_eq!(interrupt(&place, &words).code, Some(130));
    let page = place.ok(&["report", "run", "--html", "-"]).out;
    assert!(page.contains("The run was interrupted: ") && page.contains("class=\"transcript\""));
    let markdown = place.ok(&["report", "run", "--markdown"]).out;
    let head = markdown.lines().next().unwrap();
    assert!(head.contains(" of ") && head.contains("episodes"), "{head}");
    for form in ["--csv", "--json"] {
        place.ok(&["report", "run", form]);
    }
}

#[test]
fn a_page_of_a_shard_says_so() {
    let place = Place::new();
    place.ok(&[&["run", "--out", "part", "--shard", "2/3"], &SMALL[..]].concat());
    let page = place.ok(&["report", "part", "--html", "-"]).out;
    assert!(page.contains("this is shard 2/3 of a run") && page.contains("class=\"transcript\""), "{page}");
    let markdown = place.ok(&["report", "part", "--markdown"]).out;
    assert!(markdown.lines().next().unwrap().contains(" of "), "{markdown}");
}
