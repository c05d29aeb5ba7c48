//! A run of the current format, as an earlier program wrote it. `docs/stability.md` promises that it can be read as long as
//! the format has its number, and says how to write it again with another.

use std::collections::BTreeSet;

use healbench_store::{FORMAT_VERSION, RunDir};
use serde_json::Value;

use super::*;

/// A simulated reader, and a model whose recordings were replayed.
fn stored() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("tests/fixtures/run-format-{FORMAT_VERSION}"))
}

/// Returns the paths of all keys of a JSON document. Items of lists share their paths.
fn key_paths(value: &Value, path: &str, found: &mut BTreeSet<String>) {
    match value {
        Value::Object(object) => {
            for (key, value) in object {
                let path = format!("{path}/{key}");
                key_paths(value, &path, found);
                found.insert(path);
            }
        }
        Value::Array(items) => items.iter().for_each(|item| key_paths(item, path, found)),
        _ => {}
    }
}

fn manifest_keys(run: &Path) -> BTreeSet<String> {
    let manifest = std::fs::read_to_string(run.join("manifest.json")).unwrap();
    let mut found = BTreeSet::new();
    key_paths(&serde_json::from_str(&manifest).unwrap(), "", &mut found);
    found
}

/// Returns the columns that the metadata of a Parquet file describe.
fn described_columns(file: &Path) -> BTreeSet<String> {
    const KEY: &[u8] = b"healbench.column.";
    let bytes = std::fs::read(file).unwrap();
    let keys = (0..bytes.len()).filter(|start| bytes[*start..].starts_with(KEY)).map(|start| start + KEY.len());
    let name = |start: usize| {
        let name = bytes[start..].iter().take_while(|byte| byte.is_ascii_alphanumeric() || **byte == b'_');
        name.map(|byte| char::from(*byte)).collect()
    };
    keys.map(name).collect()
}

fn file_names(run: &Path) -> BTreeSet<String> {
    let (_, manifest) = RunDir::open(run).unwrap();
    manifest.files.keys().map(ToString::to_string).collect()
}

#[test]
fn every_command_reads_it() {
    let sandbox = Sandbox::new();
    let stored = stored().display().to_string();
    let report: Value = serde_json::from_str(&sandbox.ok(&["report", &stored, "--output=json"]).out).unwrap();
    assert_eq!(report["totals"]["episodes"], 8, "{}", report["totals"]);
    assert_eq!(report["agents"].as_array().map(Vec::len), Some(2));
    sandbox.ok(&["report", &stored, "--output", "html=page.html"]);
    sandbox.ok(&["compare", &stored, "--by", "condition"]);
    sandbox.ok(&["compare", &stored, &stored]);
    sandbox.ok(&["bless", &stored, "--out", "baseline.toml"]);
    sandbox.ok(&["gate", "baseline.toml", &stored]);
    sandbox.ok(&["gate", &stored, &stored]);
    let (run, manifest) = RunDir::open(Path::new(&stored)).unwrap();
    let rows = healbench_frames::rows_of_episodes(&run, &(0..manifest.plan.len()).collect()).unwrap();
    assert_eq!(rows.len(), 8);
    // Transcripts of models are stored; those of simulated readers are made anew by the program.
    let of_model = (0..8).find(|episode| manifest.plan.cell(*episode).is_some_and(|cell| cell.agent == 1)).unwrap();
    sandbox.ok(&["show", &stored, &of_model.to_string()]);
}

#[test]
fn a_run_of_today_has_the_same_files_keys_and_columns() {
    let sandbox = Sandbox::new();
    let repository = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let out = sandbox.path("now");
    let mut args: Vec<&str> = include_str!("../fixtures/run").split_whitespace().collect();
    let out_text = out.display().to_string();
    args.extend(["--quiet", "--out", &out_text]);
    let result = CommandResult::new(sandbox.command(&args).current_dir(repository).output().unwrap());
    assert_eq!(result.code, Some(0), "{}", result.err);
    assert_eq!(file_names(&out), file_names(&stored()));
    let mut expected = manifest_keys(&stored());
    expected.extend(["/reader", "/plan/scenarios/worlds"].map(str::to_owned));
    assert_eq!(manifest_keys(&out), expected);
    for file in ["calls", "episodes", "responses"] {
        let columns = |run: &Path| described_columns(&run.join(format!("{file}.parquet")));
        assert!(columns(&out).len() >= 3, "{file}: {:?}", columns(&out));
        // What was added to the format since is null in the stored run.
        let added: &[&str] = match file {
            "episodes" => &["diagnostics"],
            "calls" => &["next_attempt"],
            _ => &[],
        };
        let expected: BTreeSet<String> =
            columns(&stored()).into_iter().chain(added.iter().map(ToString::to_string)).collect();
        assert_eq!(columns(&out), expected, "{file}");
    }
}

#[test]
fn a_gate_accepts_the_policy_of_the_documents() {
    let page = include_str!("../../../../docs/ci.md");
    let policy = page.split_once("This policy uses every key:").unwrap().1.split_once("```toml\n").unwrap().1;
    let sandbox = Sandbox::new();
    sandbox.write("policy.toml", policy.split_once("```").unwrap().0);
    let stored = stored().display().to_string();
    let result = sandbox.start(&["gate", &stored, &stored, "--policy", "policy.toml"]);
    // The cells that it requires are not in this run.
    assert_eq!(result.code, Some(4), "{} {}", result.out, result.err);
    assert!(result.out.starts_with("MISSING"), "{} {}", result.out, result.err);
}
