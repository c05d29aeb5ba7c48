//! Files, folders, archives, and logs of no source.

use std::io::Write as _;
use std::ops::ControlFlow;
use std::path::PathBuf;

use healbench_import::{ImportError, Options, ProblemKind, import};
use serde_json::json;

use super::{import_files, import_paths, outline};

fn log(text: &str) -> Vec<u8> {
    json!({"messages": [{"role": "user", "content": text}, {"role": "assistant", "content": "end"}]})
        .to_string()
        .into_bytes()
}

fn gzip(bytes: &[u8]) -> Vec<u8> {
    let mut out = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    out.write_all(bytes).unwrap();
    out.finish().unwrap()
}

fn tar(files: &[(&str, Vec<u8>)]) -> Vec<u8> {
    let mut out = tar::Builder::new(Vec::new());
    for (name, bytes) in files {
        let mut header = tar::Header::new_ustar();
        header.set_size(u64::try_from(bytes.len()).unwrap());
        header.set_mode(0o644);
        out.append_data(&mut header, name, &bytes[..]).unwrap();
    }
    out.into_inner().unwrap()
}

#[test]
fn compressed_files_and_archives_are_read_in_order() {
    let packed = tar(&[("d/y.json", log("y")), ("d/readme.txt", b"hello".to_vec()), ("d/x.json.gz", gzip(&log("x")))]);
    let zstd = zstd::encode_all(&packed[..], 1).unwrap();
    let files: [(&str, &[u8]); 5] = [
        ("b.json", &log("b")),
        ("a/c.json.gz", &gzip(&log("c"))),
        ("p.tar", &packed),
        ("q.tar.zst", &zstd),
        ("notes.md", b"no log"),
    ];
    let (all, summary) = import_files(&files, &Options::default()).unwrap();
    let texts: Vec<String> = all.iter().map(|one| outline(one).lines().next().unwrap().to_owned()).collect();
    assert_eq!(texts, ["user c", "user b", "user y", "user x", "user y", "user x"]);
    let tasks: Vec<&str> = all.iter().map(|one| one.task.as_str()).collect();
    assert_eq!(tasks, ["a/c", "b", "d/y", "d/x", "q/d/y", "q/d/x"]);
    assert_eq!(all.iter().map(|one| one.origin).collect::<Vec<_>>(), [(0, 0), (1, 0), (2, 0), (2, 1), (3, 0), (3, 1)]);
    let names: Vec<&str> = summary.files.iter().map(|file| file.name.as_str()).collect();
    assert_eq!(names, ["a/c.json.gz", "b.json", "p.tar", "q.tar.zst"]);
    assert_eq!(summary.files[2].bytes, u64::try_from(packed.len()).unwrap());
}

#[test]
fn a_file_has_the_hash_of_its_bytes() {
    let bytes = b"[]\n";
    let files: [(&str, &[u8]); 2] = [("a.json", bytes), ("b.json", &log("b"))];
    let (_, summary) = import_files(&files, &Options::default()).unwrap();
    // printf '[]\n' | sha256sum
    assert_eq!(summary.files[0].sha256, "37517e5f3dc66819f61f5a7bb8ace1921282415f10551d2defa5c3eb0985b570");
}

#[test]
fn a_log_of_no_source_names_what_is_missing() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("x.json");
    std::fs::write(&path, json!({"suite_name": "s", "user_task_id": "u"}).to_string()).unwrap();
    let error = import_paths(std::slice::from_ref(&path), &Options::default()).unwrap_err().to_string();
    assert!(
        error.starts_with("x.json is a log of no known source: a log of agentdojo has `messages`; a log of "),
        "{error}"
    );
    assert!(error.contains("--source (agentdojo, tau2, inspect"), "{error}");
    for (text, expected) in [
        ("plain text", "x.json is a log of no known source: it is no JSON"),
        ("{\"a\": 1}", "x.json is a log of no known source: it has no messages"),
    ] {
        std::fs::write(&path, text).unwrap();
        let error = import_paths(std::slice::from_ref(&path), &Options::default()).unwrap_err();
        assert_eq!(error.to_string(), expected);
    }
    // In a folder it is one of many files.
    let files: [(&str, &[u8]); 2] = [("x.json", b"{\"a\": 1}"), ("y.json", &log("y"))];
    let (all, summary) = import_files(&files, &Options::default()).unwrap();
    assert_eq!((all.len(), summary.problems.counts[&ProblemKind::UnknownFile]), (1, 1));
}

#[test]
fn a_log_of_another_source_than_the_named_one_is_no_conversation() {
    let options = |name: &str| Options { source: Some(name.to_owned()), ..Options::default() };
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("x.json");
    std::fs::write(&path, log("a")).unwrap();
    let error = import_paths(std::slice::from_ref(&path), &options("codex")).unwrap_err().to_string();
    assert!(
        error.starts_with("x.json is no log of codex, which has `payload`: leave --source out, or name"),
        "{error}"
    );
    let (all, summary) = import_files(&[("x.json", &log("a"))], &options("codex")).unwrap();
    assert_eq!((all.len(), summary.problems.counts[&ProblemKind::UnknownFile]), (0, 1));
    let empty = br#"{"messages": [{"role": "system", "content": "be brief"}]}"#;
    let (all, summary) = import_files(&[("x.json", empty)], &options("openai-chat")).unwrap();
    assert_eq!((all.len(), summary.problems.counts[&ProblemKind::Empty]), (0, 1));
}

#[test]
fn the_named_source_is_that_of_all_files() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.eval");
    let mut zip = zip::ZipWriter::new(std::fs::File::create(&path).unwrap());
    zip.start_file("header.json", zip::write::SimpleFileOptions::default()).unwrap();
    zip.write_all(br#"{"eval": {"task": "t", "model": "m"}}"#).unwrap();
    zip.finish().unwrap();
    let long = json!({"type": "user", "sessionId": "s", "message": {"role": "user", "content": "x".repeat(1000)}});
    std::fs::write(folder.path().join("long.jsonl"), format!("{long}\n").repeat(300)).unwrap();
    let eval = json!({"status": "success", "eval": {"task": "t", "model": "m"}, "samples": vec![long; 300]});
    std::fs::write(folder.path().join("pretty.json"), format!("{eval:#}")).unwrap();
    let options = |name: &str| Options { source: Some(name.to_owned()), ..Options::default() };
    let (all, summary) = import_paths(&[folder.path().to_owned()], &options("codex")).unwrap();
    assert!(all.is_empty());
    let told: Vec<String> = summary.problems.listed.iter().map(ToString::to_string).collect();
    let expected = ["a.eval", "long.jsonl", "pretty.json"]
        .map(|name| format!("{name}: it is a log of no known source and was left out (a log of codex has `payload`)"));
    assert_eq!(told, expected);
    let error = import_paths(std::slice::from_ref(&path), &options("codex")).unwrap_err().to_string();
    assert!(error.starts_with("a.eval is no log of codex, which has `payload`: "), "{error}");
    assert!(import_paths(&[path], &options("inspect")).unwrap().1.problems.listed.is_empty());
}

#[test]
fn a_linked_folder_is_searched_once() {
    let folder = tempfile::tempdir().unwrap();
    let (logs, other) = (folder.path().join("logs"), folder.path().join("other"));
    for path in [logs.join("a"), other.join("b")] {
        std::fs::create_dir_all(&path).unwrap();
        std::fs::write(path.join("log.json"), log("go")).unwrap();
    }
    for (target, link) in [(&other, "link"), (&other, "same"), (&logs, "a/loop")] {
        std::os::unix::fs::symlink(target, logs.join(link)).unwrap();
    }
    let (all, summary) = import_paths(std::slice::from_ref(&logs), &Options::default()).unwrap();
    assert_eq!((tasks(&all), summary.problems.listed.len()), (vec!["a/log", "link/b/log"], 0));
    let (all, summary) = import_paths(&[logs.clone(), logs], &Options::default()).unwrap();
    assert_eq!((all.len(), summary.problems.counts[&ProblemKind::Repeated]), (2, 2));
}

#[test]
fn errors_name_the_file_and_a_way_out() {
    let missing = import_paths(&[PathBuf::from("/nowhere/a.json")], &Options::default()).unwrap_err();
    assert!(missing.to_string().starts_with("cannot read /nowhere/a.json: "), "{missing}");
    let empty = import_files(&[("notes.md", b"x")], &Options::default()).unwrap_err();
    assert!(matches!(empty, ImportError::NoLog { .. }), "{empty}");
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("e.json"), "\n").unwrap();
    let blank = import_paths(&[folder.path().join("e.json")], &Options::default()).unwrap_err();
    assert_eq!(blank.to_string(), "e.json is empty: leave it out");
    let options = Options { source: Some("claude".to_owned()), ..Options::default() };
    let unknown = import_files(&[("a.json", b"{}")], &options).unwrap_err().to_string();
    assert!(unknown.starts_with("there is no source `claude`: the sources are agentdojo, "), "{unknown}");
}

#[test]
fn a_receiver_may_have_enough() {
    let folder = tempfile::tempdir().unwrap();
    for name in ["a.json", "b.json"] {
        std::fs::write(folder.path().join(name), log(name)).unwrap();
    }
    let (mut received, mut told) = (0, (0, None));
    let mut receive = |_| {
        received += 1;
        ControlFlow::Break(())
    };
    let paths = [folder.path().to_owned()];
    let summary = import(&paths, &Options::default(), &mut receive, &mut |read, total| told = (read, total)).unwrap();
    assert_eq!((received, summary.is_stopped), (1, true));
    let size = u64::try_from(log("a.json").len()).unwrap();
    assert_eq!(told, (size, Some(2 * size)));
}

/// Returns the tasks of conversations.
fn tasks(all: &[healbench_import::Conversation]) -> Vec<&str> {
    all.iter().map(|one| one.task.as_str()).collect()
}

#[test]
fn logs_without_tasks_have_tasks_of_their_own() {
    let folder = tempfile::tempdir().unwrap();
    let paths = ["x/a/log.json", "x/b/log.json", "y/b/log.json"].map(|name| folder.path().join(name));
    for path in &paths {
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, log("go")).unwrap();
    }
    assert_eq!(tasks(&import_paths(&paths, &Options::default()).unwrap().0), ["log", "b/log", "b/log#2"]);
    let folders = ["x", "y"].map(|name| folder.path().join(name));
    assert_eq!(tasks(&import_paths(&folders, &Options::default()).unwrap().0), ["a/log", "b/log", "y/b/log"]);
    let two = [log("a"), log("b")].join(&b'\n');
    std::fs::write(folder.path().join("x/a.jsonl"), two).unwrap();
    std::fs::write(folder.path().join("x/a/2.json"), log("c")).unwrap();
    let folders = [folder.path().join("x")];
    assert_eq!(tasks(&import_paths(&folders, &Options::default()).unwrap().0), ["a/2", "a/log", "a", "x/a/2", "b/log"]);
}

#[test]
fn a_pipe_is_read_once() {
    let folder = tempfile::tempdir().unwrap();
    let pipe = folder.path().join("pipe");
    assert!(std::process::Command::new("mkfifo").arg(&pipe).status().unwrap().success());
    let writer = std::thread::spawn({
        let pipe = pipe.clone();
        move || std::fs::write(pipe, zstd::encode_all(&log("piped")[..], 1).unwrap())
    });
    let (all, summary) = import_paths(&[pipe], &Options::default()).unwrap();
    writer.join().unwrap().unwrap();
    assert_eq!((outline(&all[0]).as_str(), summary.files[0].sha256.len()), ("user piped\nturn end\n", 64));
}

#[test]
fn a_damaged_eval_in_a_folder_is_one_of_many_files() {
    let damaged = b"PK\x03\x04 and no more";
    let files: [(&str, &[u8]); 2] = [("a.eval", damaged), ("b.json", &log("b"))];
    let (all, summary) = import_files(&files, &Options::default()).unwrap();
    assert_eq!((all.len(), summary.problems.listed.len()), (1, 1));
    let mut zip = zip::ZipWriter::new(std::io::Cursor::new(Vec::new()));
    zip.start_file("other.json", zip::write::SimpleFileOptions::default()).unwrap();
    let other = zip.finish().unwrap().into_inner();
    let files: [(&str, &[u8]); 2] = [("a.eval", &other), ("b.json", &log("b"))];
    let (all, summary) = import_files(&files, &Options::default()).unwrap();
    assert_eq!((all.len(), summary.problems.counts[&ProblemKind::UnknownFile]), (1, 1));
}

#[test]
fn only_the_ending_of_a_file_tells_that_it_has_lines() {
    let pretty = format!("{:#}", serde_json::from_slice::<serde_json::Value>(&log("go")).unwrap());
    let (all, _) = import_files(&[("old.jsonl.d/a.json", pretty.as_bytes())], &Options::default()).unwrap();
    assert_eq!(all.len(), 1);
}

#[test]
fn problems_in_an_archive_name_it() {
    let packed = tar(&[("d/y.json", b"{\"a\": 1}".to_vec()), ("z.json", log("z"))]);
    let (_, summary) = import_files(&[("logs.tar", &packed)], &Options::default()).unwrap();
    assert_eq!(summary.problems.listed[0].file, "logs.tar: d/y.json");
}

#[test]
fn recordings_without_texts_are_told_once() {
    let row = |episode: &str| json!({"episode": episode, "call": 1, "effect": "none", "tool": "a", "arguments": {}, "is_error": false});
    let calls = format!("{}\n{}\n", row("1"), row("2"));
    let files: [(&str, &[u8]); 2] =
        [("calls-1.jsonl", calls.as_bytes()), ("episodes-1.jsonl", b"{\"episode\": \"1\"}")];
    let (all, summary) = import_files(&files, &Options::default()).unwrap();
    let told: Vec<&str> = summary.problems.listed.iter().map(|problem| problem.detail.as_str()).collect();
    assert_eq!((all.len(), told), (2, vec!["recorded without --record-texts"]));
}

#[test]
fn a_folder_in_a_folder_that_cannot_be_read_is_told() {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("a.json"), log("a")).unwrap();
    // No path is as long as that of the innermost folder, which even root cannot read.
    let deep = |name: &str| (0..11).fold(folder.path().join(name), |path, _| path.join("d".repeat(200)));
    let (upper, lower) = (deep("x"), folder.path().join("y"));
    std::fs::create_dir_all(&upper).unwrap();
    std::fs::create_dir_all(deep("y")).unwrap();
    std::fs::rename(lower, upper.join("y")).unwrap();
    let paths = [folder.path().to_owned()];
    let (all, summary) = import_paths(&paths, &Options::default()).unwrap();
    assert_eq!((all.len(), summary.problems.counts[&ProblemKind::Broken]), (1, 1));
    let strict = Options { strict: true, ..Options::default() };
    assert!(matches!(import_paths(&paths, &strict).unwrap_err(), ImportError::Damage(_)));
}
