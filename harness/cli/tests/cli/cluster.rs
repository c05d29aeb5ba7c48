//! Tests of runs that are spread over machines: status, partial merges, scratch folders and the scripts of schedulers.

use super::*;

const SHARD: [&str; 5] = ["run", "hostile", "--trials", "4", "--quiet"];

/// Runs a shard into `shards/NAME`.
fn run_shard(sandbox: &Sandbox, name: &str, shard: &str, more: &[&str]) {
    let out = format!("shards/{name}");
    let args: Vec<&str> =
        SHARD.into_iter().chain(["--shard", shard, "--out", &out]).chain(more.iter().copied()).collect();
    sandbox.ok(&args);
}

fn same_rows(sandbox: &Sandbox, a: &str, b: &str) -> bool {
    ["calls.parquet", "episodes.parquet", "responses.parquet"].iter().all(|name| {
        std::fs::read(sandbox.path(a).join(name)).unwrap() == std::fs::read(sandbox.path(b).join(name)).unwrap()
    })
}

#[test]
fn the_status_names_every_shard_that_is_not_complete() {
    let sandbox = Sandbox::new();
    let status = |more: &[&str]| {
        let args: Vec<&str> = ["status", "shards", "--shards", "6"].into_iter().chain(more.iter().copied()).collect();
        sandbox.start(&args)
    };
    std::fs::create_dir(sandbox.path("shards")).unwrap();
    let before = status(&["--todo"]);
    assert_eq!((before.code, before.out.as_str()), (Some(4), "1-6\n"), "{}", before.err);
    run_shard(&sandbox, "shard-1-of-6", "1/6", &[]);
    run_shard(&sandbox, "shard-2-of-6", "2/6", &[]);
    run_shard(&sandbox, "shard-3-of-6", "3/6", &["--seed", "9"]);
    run_shard(&sandbox, "shard-4-of-6", "2/6", &[]);
    run_shard(&sandbox, "shard-5-of-6", "5/6", &[]);
    std::fs::write(sandbox.path("shards/shard-5-of-6/episodes.parquet"), "no parquet").unwrap();
    let half = status(&[]);
    assert_eq!(half.code, Some(4), "{}", half.err);
    // The size of the file before it was damaged is left out.
    let shown = half.out.lines().map(|line| line.split_once(", and had ").map_or(line, |(start, _)| start));
    insta::assert_snapshot!(shown.collect::<Vec<_>>().join("\n"));
    assert_eq!(status(&["--todo"]).out, "3-6\n");
    let json: serde_json::Value = serde_json::from_str(&status(&["--output=json"]).out).unwrap();
    assert_eq!((&json["shards"], &json["missing"]), (&6.into(), &serde_json::json!([3, 4, 5, 6])));
    assert_eq!(sandbox.start(&["status", "shards", "--shards", "7"]).code, Some(4));

    // Neither a duplicate nor a foreign shard is left out of a partial merge: somebody has to look.
    let refused = sandbox.start(&["merge", "shards", "--partial", "--out", "all"]);
    assert_eq!(refused.code, Some(4));
    assert!(refused.err.contains("shard-4-of-6") && refused.err.contains("shard-3-of-6"), "{}", refused.err);
    for name in ["shard-3-of-6", "shard-4-of-6", "shard-5-of-6"] {
        std::fs::remove_dir_all(sandbox.path("shards").join(name)).unwrap();
    }
    for number in 3..=6 {
        run_shard(&sandbox, &format!("shard-{number}-of-6"), &format!("{number}/6"), &[]);
    }
    let complete = sandbox.ok(&["status", "shards"]);
    assert!(complete.out.contains("complete     6 of 6 shards"), "{}", complete.out);
    sandbox.ok(&["merge", "shards", "--out", "all", "--on-complete", "echo \"$HEALBENCH_RUN\" > copied"]);
    sandbox.ok(&SHARD.into_iter().chain(["--out", "whole"]).collect::<Vec<_>>());
    assert!(same_rows(&sandbox, "all", "whole"));
    let copied = std::fs::read_to_string(sandbox.path("copied")).unwrap();
    assert!(copied.trim().ends_with("/all"), "{copied}");
}

#[test]
#[cfg(unix)]
fn the_status_names_what_a_killed_process_left() {
    use std::fs::{File, create_dir_all};
    use std::time::{Duration, SystemTime};

    let sandbox = Sandbox::new();
    run_shard(&sandbox, "one", "1/1", &[]);
    let names = [".two.healbench-a.part", ".two.healbench-a.old", ".healbench-7-0.part", "two.part"];
    let hour_ago = SystemTime::now() - Duration::from_secs(3600);
    for name in names {
        let folder = sandbox.path("shards").join(name);
        create_dir_all(&folder).unwrap();
        for path in [folder.join("calls.parquet"), folder] {
            let file =
                if path.extension().is_some_and(|e| e == "parquet") { File::create(&path) } else { File::open(&path) };
            file.unwrap().set_modified(hour_ago).unwrap();
        }
    }
    let shown = sandbox.start(&["status", "shards"]).out;
    let expected = "left over    3, of killed processes; delete them\n  shards/.healbench-7-0.part\n  \
                    shards/.two.healbench-a.old\n  shards/.two.healbench-a.part\n";
    assert!(shown.contains(expected), "{shown}");
    // Somebody writes to this one.
    std::fs::write(sandbox.path("shards/.two.healbench-a.part/calls.parquet"), "").unwrap();
    let json: serde_json::Value =
        serde_json::from_str(&sandbox.start(&["status", "shards", "--output=json"]).out).unwrap();
    assert_eq!(json["leftovers"], serde_json::json!(["shards/.healbench-7-0.part", "shards/.two.healbench-a.old"]));
}

#[test]
fn parts_are_merged_and_the_whole_from_parts() {
    let sandbox = Sandbox::new();
    for number in [1, 2, 4] {
        run_shard(&sandbox, &format!("shard-{number}-of-4"), &format!("{number}/4"), &[]);
    }
    let result = sandbox.start(&["merge", "shards", "--partial", "--out", "part"]);
    assert_eq!(result.code, Some(4), "{}", result.err);
    assert!(result.err.contains("partial: shards 3 of 4 are missing"), "{}", result.err);
    assert!(result.out.contains("shard 1-2,4/4 of a run"), "{}", result.out);
    let gated = sandbox.start(&["bless", "part"]);
    assert_eq!(gated.code, Some(4), "{}", gated.err);
    run_shard(&sandbox, "shard-3-of-4", "3/4", &[]);
    sandbox.ok(&["merge", "part", "shards/shard-3-of-4", "--out", "all"]);
    run_shard(&sandbox, "several", "1-2,4/4", &[]);
    assert!(same_rows(&sandbox, "part", "shards/several"));
    sandbox.ok(&SHARD.into_iter().chain(["--out", "whole"]).collect::<Vec<_>>());
    assert!(same_rows(&sandbox, "all", "whole"));
    let twice = sandbox.start(&["merge", "part", "shards/shard-3-of-4", "shards/shard-4-of-4", "--out", "again"]);
    assert!(twice.code == Some(4) && twice.err.contains("holds shard 4/4 too"), "{}", twice.err);
}

#[test]
fn a_run_in_a_scratch_folder_appears_whole() {
    let sandbox = Sandbox::new();
    let with = |more: &[&'static str]| SHARD.into_iter().chain(more.iter().copied()).collect::<Vec<_>>();
    sandbox.ok(&with(&["--out", "plain"]));
    sandbox.ok(&with(&[
        "--out",
        "runs/moved",
        "--scratch",
        "scratch",
        "--on-complete",
        "test -e runs/moved/manifest.json",
    ]));
    assert!(same_rows(&sandbox, "plain", "runs/moved"));
    let names = |folder: &str| {
        let entries = std::fs::read_dir(sandbox.path(folder)).unwrap();
        entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect::<Vec<_>>()
    };
    assert_eq!((names("runs"), names("scratch")), (vec!["moved".to_owned()], vec![]));
    let failed = sandbox.start(&with(&["--out", "other", "--on-complete", "exit 3"]));
    assert_eq!(failed.code, Some(4), "{}", failed.err);
    assert!(failed.err.contains("the run is complete, but"), "{}", failed.err);
    assert!(sandbox.path("other/manifest.json").exists());
    let nowhere = sandbox.start(&with(&["--scratch", "scratch"]));
    assert!(nowhere.code == Some(2) && nowhere.err.contains("needs `--out`"), "{}", nowhere.err);
}

/// Preemption: SIGTERM leaves an interrupted run at its destination, which a later job resumes.
#[cfg(unix)]
#[test]
fn a_preempted_run_in_a_scratch_folder_is_resumed() {
    use std::time::{Duration, Instant};

    let sandbox = Sandbox::new();
    let args = ["run", "quickstart", "--trials", "150", "--agent", "scripted:typical", "--quiet"];
    let mut command = sandbox.command(&args);
    let mut child = command.args(["--out", "runs/one", "--scratch", "scratch", "-j", "1"]).spawn().unwrap();
    let beacon = sandbox.path("runs/.one.running.json");
    let started = Instant::now();
    while !beacon.exists() {
        assert!(started.elapsed() < GENEROUS, "the run does not begin");
        std::thread::sleep(Duration::from_millis(5));
    }
    let status = sandbox.start(&["status", "runs"]);
    assert!(status.code == Some(4) && status.out.contains("running      1\n  runs/one: "), "{}", status.out);
    assert!(Command::new("kill").args(["-TERM", &child.id().to_string()]).status().unwrap().success());
    assert_eq!(child.wait().unwrap().code(), Some(130));
    assert!(!beacon.exists());
    let (run, manifest) = healbench_store::RunDir::open_any(&sandbox.path("runs/one")).unwrap();
    assert!(manifest.status == healbench_store::RunStatus::Interrupted && run.has_frames());
    sandbox.ok(&["run", "--resume", "runs/one", "--scratch", "scratch", "--quiet"]);
    let whole: Vec<&str> = args.into_iter().chain(["--out", "whole"]).collect();
    sandbox.ok(&whole);
    assert!(same_rows(&sandbox, "runs/one", "whole"));
    assert_eq!(std::fs::read_dir(sandbox.path("scratch")).unwrap().count(), 0);
}

#[test]
fn the_number_of_shards_follows_from_the_time() {
    let sandbox = Sandbox::new();
    let plan = |more: &[&str]| {
        let args: Vec<&str> =
            ["plan", "hostile", "--trials", "1000000"].into_iter().chain(more.iter().copied()).collect();
        sandbox.start(&args)
    };
    let auto = plan(&["--shards", "auto", "--time", "00:01"]);
    assert_eq!(auto.code, Some(0), "{}", auto.err);
    let line = auto.out.lines().find(|line| line.starts_with("shards")).unwrap();
    let count: u64 = line.split_whitespace().nth(1).unwrap().replace(',', "").parse().unwrap();
    assert!(count > 1, "{line}");
    let more = plan(&["--shards", "auto", "--time", "00:00:30"]);
    let line = more.out.lines().find(|line| line.starts_with("shards")).unwrap();
    assert!(line.split_whitespace().nth(1).unwrap().replace(',', "").parse::<u64>().unwrap() > 1, "{line}");
    let fixed = plan(&["--shards", "7"]);
    assert!(fixed.code == Some(0) && fixed.out.contains("\nshards     7 of at most "), "{}", fixed.out);
    let untimed = plan(&["--shards", "auto"]);
    assert!(untimed.code == Some(2) && untimed.err.contains("add `--time HH:MM`"), "{}", untimed.err);
    let impossible = plan(&["--shards", "2", "--time", "00:00:01"]);
    assert!(impossible.code == Some(2) && impossible.err.contains("allow more `--time`"), "{}", impossible.err);
    for time in ["30", "00:61", "9999:00", "00:00"] {
        assert_eq!(plan(&["--shards", "auto", "--time", time]).code, Some(2), "{time}");
    }
    let model = sandbox.start(&["plan", "--agent", "openai:gpt-5-mini", "--shards", "auto", "--time", "01:00"]);
    assert!(model.code == Some(2) && model.err.contains("name that run with `--pilot`"), "{}", model.err);
}

#[cfg(unix)]
#[test]
fn a_job_array_is_written() {
    let sandbox = Sandbox::new();
    let result = sandbox.ok(&[
        "slurm",
        "it's here",
        "--shards",
        "12",
        "--max-running",
        "4",
        "--sbatch=--partition=short",
        "--scratch",
        "$TMPDIR/a\"b",
        "--on-complete",
        "echo 'done'",
        "--",
        "hostile",
        "--trials",
        "4",
    ]);
    assert!(result.out.contains("12 shards; submit them"), "{}", result.out);
    let program = env!("CARGO_BIN_EXE_healbench");
    let here = sandbox.dir.path().canonicalize().unwrap();
    let read = |name: &str| {
        let text = std::fs::read_to_string(sandbox.path("it's here").join(name)).unwrap();
        let checked = Command::new("bash").args(["-n", "-c", &text]).status().unwrap();
        assert!(checked.success(), "{name}");
        text.replace(program, "PROGRAM")
            .replace(here.to_str().unwrap(), "HERE")
            .replace(sandbox.dir.path().to_str().unwrap(), "HERE")
    };
    insta::assert_snapshot!(["submit", "shard.sbatch", "merge.sbatch"].map(read).join("\n----\n"));
    let again = sandbox.start(&["slurm", "it's here", "--shards", "2", "--", "hostile"]);
    assert!(again.code == Some(2) && again.err.contains("has scripts already"), "{}", again.err);
    for (arguments, reason) in [
        (vec!["--out", "x"], "`--out` cannot be given to the shards"),
        (vec!["--shard", "1/2"], "`--shard` cannot be given to the shards"),
        (vec!["--no-such-option"], "the arguments after `--`"),
        (vec!["no-such-suite"], "no-such-suite"),
    ] {
        let args: Vec<&str> = ["slurm", "other", "--shards", "2", "--"].into_iter().chain(arguments.clone()).collect();
        let refused = sandbox.start(&args);
        assert!(refused.code == Some(2) && refused.err.contains(reason), "{arguments:?}: {}", refused.err);
        assert!(!sandbox.path("other").exists(), "{arguments:?}");
    }
}

#[test]
fn the_manual_has_a_page_for_each_command() {
    let sandbox = Sandbox::new();
    let page = sandbox.ok(&["man"]).out;
    assert!(page.contains(".SH \"EXIT STATUS\"") && page.contains(".SH EXAMPLES"), "{page}");
    sandbox.ok(&["man", "--out", "man1"]);
    for name in ["healbench", "healbench-run", "healbench-audit", "healbench-cassette-ls"] {
        let page = std::fs::read_to_string(sandbox.path("man1").join(format!("{name}.1"))).unwrap();
        assert!(page.contains(&format!(".TH {name} 1")), "{page}");
    }
}
