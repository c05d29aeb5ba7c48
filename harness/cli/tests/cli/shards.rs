//! Tests that a plan gives the same rows however it is split into shards.

use super::*;

const AXES: [&str; 8] = [
    "--trials",
    "3",
    "--guardrails",
    "full",
    "--agent",
    "scripted:typical,scripted:careless",
    "--format",
    "fusion-text",
];

fn record_run<'a>(sandbox: &Sandbox, out: &'a str, more: &[&'a str]) -> PathBuf {
    let args: Vec<&str> =
        ["run", "quickstart", "--out", out].into_iter().chain(AXES).chain(more.iter().copied()).collect();
    sandbox.ok(&args);
    sandbox.path(out)
}

fn same_files(a: &Path, b: &Path) -> bool {
    ["calls.parquet", "episodes.parquet", "responses.parquet"]
        .iter()
        .all(|name| std::fs::read(a.join(name)).unwrap() == std::fs::read(b.join(name)).unwrap())
}

#[test]
fn merged_shards_equal_the_run_byte_for_byte() {
    let sandbox = Sandbox::new();
    let whole = record_run(&sandbox, "whole", &["-j", "1"]);
    for of in [2, 3] {
        let names: Vec<String> = (1..=of).map(|index| format!("part-{index}-of-{of}")).collect();
        for (index, name) in (1..=of).zip(&names) {
            record_run(&sandbox, name, &["-j", "2", "--shard", &format!("{index}/{of}")]);
        }
        // The shards may be merged in any order.
        let out = format!("together-{of}");
        let args: Vec<&str> =
            ["merge", "--out", &out].into_iter().chain(names.iter().rev().map(String::as_str)).collect();
        let merged = sandbox.ok(&args);
        assert!(same_files(&whole, &sandbox.path(&out)), "{of}");
        let times = |run: &str| healbench_store::RunDir::open(&sandbox.path(run)).unwrap().1.times().unwrap();
        let shards: Vec<_> = names.iter().map(|name| times(name)).collect();
        let started = shards.iter().map(|shard| &shard.started).min().unwrap();
        let finished = shards.iter().map(|shard| &shard.finished).max().unwrap();
        assert!(times(&out).started == *started && times(&out).finished == *finished && started <= finished);
        let report = |run: &str| sandbox.ok(&["report", run, "--output=json"]).out;
        assert_eq!(report("whole"), report(&out));
        assert!(merged.out.contains("episodes"), "{}", merged.out);
        // Transcripts can be shown for the merged run and for a shard.
        sandbox.ok(&["show", &out, "700"]);
    }
    assert!(same_files(&whole, &record_run(&sandbox, "again", &["-j", "2"])));
}

#[test]
fn neither_locale_nor_environment_changes_a_row() {
    let sandbox = Sandbox::new();
    let plain = record_run(&sandbox, "plain", &["-j", "1"]);
    let mut command = sandbox.command(&["run", "quickstart", "--out", "elsewhere", "-j", "2"]);
    command.args(AXES).envs([
        ("LC_ALL", "tr_TR.UTF-8"),
        ("LANG", "de_DE.UTF-8"),
        ("TZ", "Pacific/Chatham"),
        ("HOME", "/nonexistent"),
        ("COLUMNS", "40"),
        ("RAYON_NUM_THREADS", "1"),
        ("POLARS_MAX_THREADS", "1"),
    ]);
    let result = CommandResult::new(command.output().unwrap());
    assert_eq!(result.code, Some(0), "{}", result.err);
    assert!(same_files(&plain, &sandbox.path("elsewhere")));
}

#[test]
fn a_shard_is_reported_and_resumed_as_what_it_is() {
    let sandbox = Sandbox::new();
    let result = sandbox.ok(&["run", "quickstart", "--trials", "1", "--shard", "1/2", "--out", "part"]);
    assert!(result.out.contains("96 of 180 episodes"), "{}", result.out);
    assert!(result.out.contains("Partial run: this is shard 1/2 of a run"), "{}", result.out);
    sandbox.ok(&["run", "--resume", "part"]);
    std::fs::remove_file(sandbox.path("part/calls.parquet")).unwrap();
    sandbox.ok(&["run", "--resume", "part"]);
    assert!(sandbox.ok(&["report", "part"]).out.contains("96 of 180 episodes"));
}

#[test]
fn shards_that_do_not_belong_together_are_refused() {
    let sandbox = Sandbox::new();
    let part = |name: &str, more: &[&str]| {
        let args: Vec<&str> =
            ["run", "quickstart", "--trials", "1", "--out", name].into_iter().chain(more.iter().copied()).collect();
        sandbox.ok(&args);
    };
    part("one", &["--shard", "1/2"]);
    part("two", &["--shard", "2/2"]);
    part("other", &["--shard", "2/2", "--seed", "2"]);
    part("third", &["--shard", "2/3"]);
    part("whole", &[]);
    std::fs::create_dir(sandbox.path("shard-2-of-2")).unwrap();
    let cases: [&[&str]; 8] = [
        &["one"],
        &["one", "other", "one", "third"],
        &["one", "shard-2-of-2"],
        &["one", "one", "two"],
        &["one", "other"],
        &["one", "third"],
        &["one", "whole"],
        &["one", "nowhere"],
    ];
    let shown: Vec<String> = cases
        .iter()
        .map(|runs| {
            let args: Vec<&str> = ["merge", "--out", "all"].into_iter().chain(runs.iter().copied()).collect();
            let result = sandbox.start(&args);
            assert_eq!((result.code, result.out.as_str()), (Some(4), ""), "{args:?}");
            assert!(!sandbox.path("all").exists());
            format!("$ healbench {}\n{}", args.join(" "), result.err)
        })
        .collect();
    insta::assert_snapshot!(shown.join("\n"));
    for arg in ["0/2", "3/2", "half"] {
        let result = sandbox.start(&["run", "quickstart", "--shard", arg]);
        assert_eq!(result.code, Some(2), "{}", result.err);
        assert!(result.err.contains("is no shard"), "{}", result.err);
    }
}

#[test]
fn a_shard_with_other_rows_or_texts_is_refused() {
    let sandbox = Sandbox::new();
    for part in ["1/2", "2/2"] {
        let out = format!("part-{}", &part[..1]);
        sandbox.ok(&["run", "hostile", "--trials", "2", "--shard", part, "--out", &out]);
    }
    let refused = |what: &str| {
        let result = sandbox.start(&["merge", "part-1", "part-2", "--out", "all"]);
        assert_eq!(result.code, Some(2), "{what}: {}", result.err);
        assert!(!sandbox.path("all").exists(), "{what}");
        result.err
    };
    let calls = std::fs::read(sandbox.path("part-2/calls.parquet")).unwrap();
    std::fs::copy(sandbox.path("part-1/calls.parquet"), sandbox.path("part-2/calls.parquet")).unwrap();
    accept_files(&sandbox.path("part-2"));
    assert!(refused("foreign calls").contains("holds 0 calls of its episodes"));
    std::fs::write(sandbox.path("part-2/calls.parquet"), calls).unwrap();

    let text = std::fs::read_dir(sandbox.path("part-2/scenarios")).unwrap().next().unwrap().unwrap().path();
    let known = std::fs::read_to_string(&text).unwrap();
    std::fs::write(&text, format!("{known}# changed")).unwrap();
    accept_files(&sandbox.path("part-2"));
    assert!(refused("another text").contains("is not the one that was run"));
    std::fs::write(&text, known).unwrap();
    accept_files(&sandbox.path("part-2"));
    sandbox.ok(&["merge", "part-1", "part-2", "--out", "all"]);

    // A report also rejects frames that do not belong together.
    std::fs::copy(sandbox.path("part-1/calls.parquet"), sandbox.path("all/calls.parquet")).unwrap();
    accept_files(&sandbox.path("all"));
    let result = sandbox.start(&["report", "all"]);
    assert!(result.code == Some(2) && result.err.contains("calls of its episodes, which made"), "{}", result.err);
}

/// The schedule of a trial must be the same in every cell of a scenario, or cells could not be compared.
#[test]
fn the_frames_show_the_same_schedule_in_every_cell() {
    use std::collections::BTreeMap;

    use healbench_frames::columns::{SCENARIO, SCHEDULE_HASH, SCHEDULED, TRIAL};

    let sandbox = Sandbox::new();
    sandbox.ok(&[
        "run",
        "quickstart",
        "hostile",
        "--out",
        "run",
        "--trials",
        "4",
        "--guardrails",
        "full",
        "--format",
        "fusion-xml",
        "--agent",
        "scripted",
    ]);
    let (run, _) = healbench_store::RunDir::open(&sandbox.path("run")).unwrap();
    let frame = healbench_frames::read_episodes(&run).unwrap();
    let text = |name: &str| frame.column(name).unwrap().str().unwrap();
    let (scenarios, hashes) = (text(SCENARIO), text(SCHEDULE_HASH));
    let (trials, scheduled) =
        (frame.column(TRIAL).unwrap().u32().unwrap(), frame.column(SCHEDULED).unwrap().bool().unwrap());
    let mut seen: BTreeMap<(&str, u32), (&str, bool, u32)> = BTreeMap::new();
    for row in 0..frame.height() {
        let key = (scenarios.get(row).unwrap(), trials.get(row).unwrap());
        let found = (hashes.get(row).unwrap(), scheduled.get(row).unwrap());
        let known = seen.entry(key).or_insert((found.0, found.1, 0));
        assert_eq!((known.0, known.1), found, "{key:?}");
        known.2 += 1;
    }
    // All guardrail sets for five agents.
    assert!(seen.values().all(|(_, _, cells)| *cells == 5 * 16), "{seen:?}");
    let drawn = |scenario: &str| {
        let mine = seen.iter().filter(|((id, _), _)| *id == scenario).map(|(_, (hash, ..))| *hash);
        mine.collect::<std::collections::BTreeSet<_>>().len()
    };
    assert_eq!(drawn("quickstart/several-at-once"), 4, "trials differ in what is drawn");
}
