//! Recordings, runs and shards: folders of files. A file of a run is changed with its hash, as a hostile run has it.

use std::fs;
use std::path::Path;
use std::process::Command;

use healbench_agents::llm::cassette::Cassette;
use healbench_analysis::{Baseline, EpisodeFilter, Scope, Side, compare, measure_variation, summarize};
use healbench_core::fingerprint;
use healbench_files::line_with_checksum;
use healbench_frames::{EpisodeIndex, Rows};
use healbench_render as render;
use healbench_render::html::{self, RunPage};
use healbench_store::{Journal, RequestFile, RunDir, merge_manifests, survey, visit_recorded_turns};
use serde_json::Value;

use super::{fuzz_some, repository};
use crate::commands::report::page_data;
use crate::commands::shards::find_shards;

const FIXTURE: &str = "harness/cli/tests/fixtures/run-format-10";

/// Copies the files of a folder and those of its folders.
fn copy(from: &Path, to: &Path) {
    fs::create_dir_all(to).unwrap();
    for entry in fs::read_dir(from).unwrap() {
        let entry = entry.unwrap();
        match entry.path().is_dir() {
            true => copy(&entry.path(), &to.join(entry.file_name())),
            false => drop(fs::copy(entry.path(), to.join(entry.file_name())).unwrap()),
        }
    }
}

/// Writes a manifest with a hash of itself.
fn seal(run: &Path, manifest: &[u8]) {
    let text = String::from_utf8_lossy(manifest);
    let open = text.trim_end().trim_end_matches('}').trim_end();
    let text = format!("{open},\n");
    let digest = fingerprint(text.as_bytes());
    fs::write(run.join("manifest.json"), format!("{text}  \"digest\": \"{digest}\"\n}}\n")).unwrap();
}

/// Returns the manifest of a run without its hash.
fn unsealed(run: &Path) -> Value {
    let mut manifest: Value = serde_json::from_slice(&fs::read(run.join("manifest.json")).unwrap()).unwrap();
    manifest.as_object_mut().unwrap().remove("digest");
    manifest
}

/// Writes a file of a run, and its hash into the manifest.
fn replace(run: &Path, manifest: &Value, name: &str, bytes: &[u8]) {
    fs::write(run.join(name), bytes).unwrap();
    let mut manifest = manifest.clone();
    if let Some(digest) = manifest["files"].get_mut(name) {
        *digest = serde_json::json!({"bytes": bytes.len(), "sha256": fingerprint(bytes)});
    }
    seal(run, serde_json::to_string_pretty(&manifest).unwrap().as_bytes());
}

const RUN_VARIABLE: &str = "HEALBENCH_TESTED_RUN";

/// Reads the run that the variable names. It is the process of [`read_run`].
#[test]
fn reads_the_run_of_the_variable() {
    if let Some(run) = std::env::var_os(RUN_VARIABLE) {
        crate::limited::limit_memory(4 << 30).unwrap();
        crate::hide_decoder_panics();
        read_run_here(Path::new(&run));
    }
}

/// Reads everything of a run in a process with limits, as commands do: a few bytes of Parquet can ask for any amount of memory.
fn read_run(path: &Path) {
    let mut command = Command::new(std::env::current_exe().unwrap());
    command.args(["--exact", "loaders_tests::runs::reads_the_run_of_the_variable", "--nocapture"]);
    let ended = command.env(RUN_VARIABLE, path).env("RUST_BACKTRACE", "0").output().unwrap();
    let words = String::from_utf8_lossy(&ended.stderr);
    let needs_memory = ended.status.code().is_none() && words.contains("memory allocation of");
    assert!(ended.status.success() || needs_memory, "{words}");
}

fn read_run_here(path: &Path) {
    let Ok((run, manifest)) = RunDir::open(path).map_err(|error| error.to_string()) else { return };
    if let Ok(report) = summarize(&Rows(&run), &manifest, Scope::Full) {
        let _ = (render::json(&report), render::markdown(&report), render::csv(&report, true));
    }
    if let Ok((report, transcripts)) = page_data(&run, &manifest) {
        let page =
            RunPage { name: "run", manifest: &manifest, report: &report, transcripts: &transcripts, served: false };
        let _ = html::run(&page);
    }
    let _ = Baseline::from_run(&Rows(&run), &manifest, 1.0);
    if let Ok(index) = EpisodeIndex::read(&run) {
        let _ = index.filter(&manifest.plan, &EpisodeFilter::default(), &[], 0, 100);
    }
    let _ = visit_recorded_turns(&run, &mut |_| true);
    if let Ok(found) = find_shards(&[path.to_owned()]) {
        let _ = merge_manifests(survey(found), true);
    }
    let rows = Rows(&run);
    let side = || Side { name: "run", run: &rows, manifest: &manifest };
    let _ = compare(side(), side());
    let _ = measure_variation(side(), &manifest.plan, None);
}

fn fuzz_file_of_run(loader: &str, name: &str) {
    let folder = tempfile::tempdir().unwrap();
    let run = folder.path().join("run");
    copy(&repository().join(FIXTURE), &run);
    let manifest = unsealed(&run);
    let seed = fs::read(run.join(name)).unwrap();
    fuzz_some(loader, &[seed], 12, |bytes| {
        replace(&run, &manifest, name, bytes);
        read_run(&run);
    });
}

#[test]
fn manifests() {
    let folder = tempfile::tempdir().unwrap();
    let run = folder.path().join("run");
    copy(&repository().join(FIXTURE), &run);
    let seed = serde_json::to_vec_pretty(&unsealed(&run)).unwrap();
    fuzz_some("manifests", &[seed], 12, |bytes| {
        seal(&run, bytes);
        read_run(&run);
    });
}

#[test]
fn episodes() {
    fuzz_file_of_run("episodes", "episodes.parquet");
}

#[test]
fn calls() {
    fuzz_file_of_run("calls-of-runs", "calls.parquet");
}

#[test]
fn responses() {
    fuzz_file_of_run("responses", "responses.parquet");
}

#[test]
fn scenarios_of_runs() {
    fuzz_file_of_run("scenarios-of-runs", "scenarios/000-quickstart-missing-field.yaml");
}

/// Packs lines, and leaves some bytes as they are.
fn packed(bytes: &[u8]) -> Vec<u8> {
    match bytes.first() {
        Some(first) if first % 8 == 0 => bytes.to_vec(),
        _ => zstd::encode_all(bytes, 1).unwrap(),
    }
}

#[test]
fn transcripts() {
    let folder = tempfile::tempdir().unwrap();
    let run = folder.path().join("run");
    copy(&repository().join(FIXTURE), &run);
    let manifest = unsealed(&run);
    let name = "transcripts.jsonl.zst";
    let compressed = fs::read(run.join(name)).unwrap();
    let seeds = [zstd::decode_all(compressed.as_slice()).unwrap(), compressed];
    fuzz_some("transcripts", &seeds, 12, |bytes| {
        replace(&run, &manifest, name, &packed(bytes));
        read_run(&run);
    });
}

/// Gives every line the checksum that it should have.
fn with_checksums(text: &[u8]) -> Vec<u8> {
    let line = |line: &[u8]| {
        let text = String::from_utf8_lossy(line);
        match text.strip_prefix(r#"{"checksum":""#).and_then(|rest| rest.split_once(r#"","#)) {
            Some((_, members)) => line_with_checksum(members).into_bytes(),
            None => [line, b"\n"].concat(),
        }
    };
    let mut out: Vec<u8> = text.split(|byte| *byte == b'\n').flat_map(line).collect();
    out.pop();
    out
}

#[test]
fn journals_and_requests() {
    let folder = tempfile::tempdir().unwrap();
    let run = folder.path().join("run");
    copy(&repository().join(FIXTURE), &run);
    let (opened, _) = RunDir::open(&run).unwrap();
    let usage = r#""usage":{"input":3,"output":4,"cache_read":null,"cache_write":null,"reasoning":null}"#;
    let id = r#""id":{"episode":1,"turn":0},"key":"k""#;
    let lines = [
        format!(r#""reserved":{{{id},{usage}}}}}"#),
        format!(r#""answered":{{{id},{usage},"latency_ms":5,"body":{{"a":1}},"lost_answers":0}}}}"#),
        format!(r#""lost":{{"agent":0,{usage}}}}}"#),
    ];
    let seed: String = lines.iter().map(|members| line_with_checksum(members)).collect();
    fuzz_some("journals", &[seed.into_bytes()], 100, |bytes| {
        fs::write(opened.requests_path(), with_checksums(bytes)).unwrap();
        fs::write(opened.journal_path(), with_checksums(bytes)).unwrap();
        let _ = Journal::open(&opened, &mut |_, _| ()).map_err(|error| error.to_string());
        let _ = RequestFile::open_existing(&opened, &mut |_, _| ()).map_err(|error| error.to_string());
    });
}

#[test]
fn recordings() {
    let folder = tempfile::tempdir().unwrap();
    let cassettes = repository().join("agents/e2e/cassettes");
    let name = "openai-chat-smollm2-135m-instruct.jsonl.zst";
    let text = zstd::decode_all(fs::File::open(cassettes.join(name)).unwrap()).unwrap();
    let lines = text.split_inclusive(|byte| *byte == b'\n').take(4).collect::<Vec<_>>().concat();
    let journal = folder.path().join("journal.jsonl");
    let seeds = [lines.clone(), zstd::encode_all(lines.as_slice(), 1).unwrap()];
    fuzz_some("recordings", &seeds, 40, |bytes| {
        fs::write(folder.path().join(name), packed(&with_checksums(bytes))).unwrap();
        for has_journal in [false, true] {
            match has_journal {
                true => fs::write(&journal, with_checksums(bytes)).unwrap(),
                false => drop(fs::remove_file(&journal)),
            }
            if let Ok(cassette) = Cassette::open(folder.path()).map_err(|error| error.to_string()) {
                for entry in cassette.entries().iter().flat_map(|recordings| &recordings.entries) {
                    let _ = cassette.exchange(entry.key);
                }
            }
        }
    });
}
