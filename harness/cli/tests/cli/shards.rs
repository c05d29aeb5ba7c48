//! The same plan leaves the same rows however it is played.

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

fn play<'a>(place: &Place, out: &'a str, more: &[&'a str]) -> PathBuf {
    let words: Vec<&str> = ["run", "--out", out].into_iter().chain(AXES).chain(more.iter().copied()).collect();
    place.ok(&words);
    place.path(out)
}

fn same_files(a: &Path, b: &Path) -> bool {
    ["calls.parquet", "episodes.parquet"]
        .iter()
        .all(|name| std::fs::read(a.join(name)).unwrap() == std::fs::read(b.join(name)).unwrap())
}

#[test]
fn shards_put_together_are_the_whole_run_to_the_byte() {
    let place = Place::new();
    let whole = play(&place, "whole", &["-j", "1"]);
    for of in [2, 3] {
        let names: Vec<String> = (1..=of).map(|index| format!("part-{index}-of-{of}")).collect();
        for (index, name) in (1..=of).zip(&names) {
            play(&place, name, &["-j", "2", "--shard", &format!("{index}/{of}")]);
        }
        // In any order.
        let out = format!("together-{of}");
        let words: Vec<&str> =
            ["merge", "--out", &out].into_iter().chain(names.iter().rev().map(String::as_str)).collect();
        let merged = place.ok(&words);
        assert!(same_files(&whole, &place.path(&out)), "{of}");
        let report = |run: &str| place.ok(&["report", run, "--json"]).out;
        assert_eq!(report("whole"), report(&out));
        assert!(merged.out.contains("episodes"), "{}", merged.out);
        // A transcript can be shown of what was put together, and of a part.
        place.ok(&["show", &out, "700"]);
    }
    assert!(same_files(&whole, &play(&place, "again", &["-j", "2"])));
}

#[test]
fn neither_locale_nor_environment_moves_a_row() {
    let place = Place::new();
    let plain = play(&place, "plain", &["-j", "1"]);
    let mut command = place.command(&["run", "--out", "elsewhere", "-j", "2"]);
    command.args(AXES).envs([
        ("LC_ALL", "tr_TR.UTF-8"),
        ("LANG", "de_DE.UTF-8"),
        ("TZ", "Pacific/Chatham"),
        ("HOME", "/nonexistent"),
        ("COLUMNS", "40"),
        ("RAYON_NUM_THREADS", "1"),
        ("POLARS_MAX_THREADS", "1"),
    ]);
    let ended = Ended::of(command.output().unwrap());
    assert_eq!(ended.code, Some(0), "{}", ended.err);
    assert!(same_files(&plain, &place.path("elsewhere")));
}

#[test]
fn a_shard_is_reported_and_resumed_as_what_it_is() {
    let place = Place::new();
    let ended = place.ok(&["run", "--trials", "1", "--shard", "1/2", "--out", "part"]);
    assert!(ended.out.contains("67 of 135 episodes"), "{}", ended.out);
    assert!(ended.out.contains("A part: this is shard 1/2 of a run"), "{}", ended.out);
    place.ok(&["run", "--resume", "part"]);
    std::fs::remove_file(place.path("part/calls.parquet")).unwrap();
    place.ok(&["run", "--resume", "part"]);
    assert!(place.ok(&["report", "part"]).out.contains("67 of 135 episodes"));
}

#[test]
fn shards_that_do_not_belong_together_are_refused() {
    let place = Place::new();
    let part = |name: &str, more: &[&str]| {
        let words: Vec<&str> =
            ["run", "--trials", "1", "--out", name].into_iter().chain(more.iter().copied()).collect();
        place.ok(&words);
    };
    part("one", &["--shard", "1/2"]);
    part("two", &["--shard", "2/2"]);
    part("other", &["--shard", "2/2", "--seed", "2"]);
    part("third", &["--shard", "2/3"]);
    part("whole", &[]);
    let cases: [&[&str]; 6] = [
        &["one"],
        &["one", "one", "two"],
        &["one", "other"],
        &["one", "third"],
        &["one", "whole"],
        &["one", "nowhere"],
    ];
    let shown: Vec<String> = cases
        .iter()
        .map(|runs| {
            let words: Vec<&str> = ["merge", "--out", "all"].into_iter().chain(runs.iter().copied()).collect();
            let ended = place.start(&words);
            assert_eq!((ended.code, ended.out.as_str()), (Some(2), ""), "{words:?}");
            assert!(!place.path("all").exists());
            format!("$ healbench {}\n{}", words.join(" "), ended.err)
        })
        .collect();
    insta::assert_snapshot!(shown.join("\n"));
    for word in ["0/2", "3/2", "half"] {
        let ended = place.start(&["run", "--shard", word]);
        assert_eq!(ended.code, Some(2), "{}", ended.err);
        assert!(ended.err.contains("is no shard"), "{}", ended.err);
    }
}

#[test]
fn a_shard_with_other_rows_or_texts_is_refused() {
    let place = Place::new();
    for part in ["1/2", "2/2"] {
        let out = format!("part-{}", &part[..1]);
        place.ok(&["run", "controls", "--trials", "2", "--shard", part, "--out", &out]);
    }
    let refused = |what: &str| {
        let ended = place.start(&["merge", "part-1", "part-2", "--out", "all"]);
        assert_eq!(ended.code, Some(2), "{what}: {}", ended.err);
        if place.path("all").exists() {
            // What was begun does not look whole.
            assert_eq!(place.start(&["report", "all"]).code, Some(2), "{what}");
            std::fs::remove_dir_all(place.path("all")).unwrap();
        }
        ended.err
    };
    let calls = std::fs::read(place.path("part-2/calls.parquet")).unwrap();
    std::fs::copy(place.path("part-1/calls.parquet"), place.path("part-2/calls.parquet")).unwrap();
    assert!(refused("foreign calls").contains("holds 0 calls of its episodes"));
    std::fs::write(place.path("part-2/calls.parquet"), calls).unwrap();

    let text = std::fs::read_dir(place.path("part-2/scenarios")).unwrap().next().unwrap().unwrap().path();
    let known = std::fs::read_to_string(&text).unwrap();
    std::fs::write(&text, format!("{known}# changed")).unwrap();
    assert!(refused("another text").contains("is not the one that was played"));
    std::fs::write(&text, known).unwrap();
    place.ok(&["merge", "part-1", "part-2", "--out", "all"]);

    // A report does not add up what does not belong together either.
    std::fs::copy(place.path("part-1/calls.parquet"), place.path("all/calls.parquet")).unwrap();
    let ended = place.start(&["report", "all"]);
    assert!(ended.code == Some(2) && ended.err.contains("calls of its episodes, which made"), "{}", ended.err);
}

/// Every cell of a scenario meets the same difficulties in the same trial, or nothing could be compared.
#[test]
fn the_frames_show_the_same_schedule_in_every_cell() {
    use std::collections::BTreeMap;

    use healbench_reports::columns::{SCENARIO, SCHEDULE_HASH, SCHEDULED, TRIAL};

    let place = Place::new();
    place.ok(&[
        "run",
        "quickstart",
        "recovery",
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
    let (run, _) = healbench_record::RunDir::open(&place.path("run")).unwrap();
    let frame = healbench_reports::read_episodes(&run).unwrap();
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
    // All sets of guardrails, for five agents.
    assert!(seen.values().all(|(_, _, cells)| *cells == 5 * 16), "{seen:?}");
    let drawn = |scenario: &str| {
        let mine = seen.iter().filter(|((id, _), _)| *id == scenario).map(|(_, (hash, ..))| *hash);
        mine.collect::<std::collections::BTreeSet<_>>().len()
    };
    assert_eq!(drawn("quickstart/several-at-once"), 4, "trials differ in what is drawn");
}
