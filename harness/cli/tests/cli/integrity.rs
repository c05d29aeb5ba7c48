//! Damaged files of a run, and runs that were killed while their files were replaced.

use std::fs;

use healbench_store::{RunDir, VerifiedFiles};

use super::*;

/// Returns all files of a run with hashes in its manifest, and the manifest.
fn checked_files(run: &Path) -> Vec<PathBuf> {
    let (_, manifest) = RunDir::open_any(run).unwrap();
    manifest.files.keys().map(|name| run.join(name)).chain([run.join("manifest.json")]).collect()
}

/// Copies a run.
fn copy(from: &Path, to: &Path) {
    fs::create_dir_all(to.join("scenarios")).unwrap();
    for file in checked_files(from) {
        fs::copy(&file, to.join(file.strip_prefix(from).unwrap())).unwrap();
    }
}

/// The next number of a fixed sequence.
fn next(state: &mut u64) -> usize {
    *state ^= *state << 13;
    *state ^= *state >> 7;
    *state ^= *state << 17;
    (*state >> 11) as usize
}

/// Creates equal runs `a` and `b`, the shards of a run, and a run on a server.
fn runs() -> Sandbox {
    let sandbox = Sandbox::new();
    let run = |out: &'static str, agent: &'static str, more: &[&'static str]| {
        sandbox.ok(&[&["run", "quickstart", "--trials=2", "--quiet", "--agent", agent, "--out", out], more].concat());
    };
    run("a", "scripted:typical", &[]);
    run("b", "scripted:typical", &[]);
    run("shard", "scripted:typical", &["--shard=1/2"]);
    run("other", "scripted:typical", &["--shard=2/2"]);
    runs_on_servers::write_run(&sandbox, "server", 2);
    sandbox
}

/// Flips single bits in all files of runs, and asserts that each command then prints the same as before or that the file is
/// damaged.
fn flip_bits(flips: usize) {
    let sandbox = runs();
    let commands: &[(&str, &[&[&str]])] = &[
        (
            "a",
            &[
                &["report", "a"],
                &["gate", "b", "a"],
                &["compare", "a", "--by", "condition"],
                &["gate", "a", "b"],
                &["show", "a", "7"],
                &["bless", "a", "--out", "baseline.toml"],
                &["run", "--resume", "a"],
                &["report", "a", "--output=json"],
            ],
        ),
        ("shard", &[&["merge", "shard", "other", "--out", "merged"], &["report", "shard"]]),
        ("server", &[&["show", "server", "0"], &["report", "server", "--output=json"]]),
    ];
    let start = |args: &[&str]| {
        let result = sandbox.start(args);
        // What a command writes.
        let _ = (fs::remove_file(sandbox.path("baseline.toml")), fs::remove_dir_all(sandbox.path("merged")));
        result
    };
    let (mut state, mut damaged, mut all) = (0x9e37_79b9_7f4a_7c15, 0, 0);
    for (run, commands) in commands {
        let share = if *run == "a" { flips - flips / 2 } else { flips / 4 };
        let undamaged: Vec<CommandResult> = commands.iter().map(|args| start(args)).collect();
        let files = checked_files(&sandbox.path(run));
        assert!(files.len() > 4);
        for flip in 0..share {
            let file = &files[flip % files.len()];
            let bytes = fs::read(file).unwrap();
            let bit = next(&mut state) % (bytes.len() * 8);
            let mut flipped = bytes.clone();
            flipped[bit / 8] ^= 1 << (bit % 8);
            fs::write(file, flipped).unwrap();
            let index = next(&mut state) % commands.len();
            let (args, expected) = (commands[index], &undamaged[index]);
            let found = start(args);
            let name = file.strip_prefix(sandbox.dir.path()).unwrap().display().to_string();
            let context = format!("bit {bit} of {name}, {args:?}: {:?} {}", found.code, found.err);
            if (found.code, &found.out) != (expected.code, &expected.out) {
                assert_eq!((found.code, found.out.as_str()), (Some(4), ""), "{context}");
                assert!(found.err.starts_with(&format!("error: `{name}` is damaged: ")), "{context}");
                assert_eq!(found.err.lines().count(), 2, "{context}");
                damaged += 1;
            }
            all += 1;
            fs::write(file, bytes).unwrap();
        }
        let again: Vec<CommandResult> = commands.iter().map(|args| start(args)).collect();
        assert!(again.iter().zip(&undamaged).all(|(a, b)| (a.code, &a.out) == (b.code, &b.out)), "{run} was changed");
    }
    // Every command compares all files.
    assert_eq!((damaged, all), (flips, flips));
}

#[test]
fn a_flipped_bit_is_found_by_every_command() {
    flip_bits(60);
}

#[test]
#[ignore = "takes minutes: the same with 500 bits"]
fn five_hundred_flipped_bits_are_found() {
    flip_bits(500);
}

/// The frames, responses and recorded turns are renamed one after the other, and then the manifest is written.
#[test]
fn a_run_killed_while_its_files_were_replaced_is_resumed() {
    let sandbox = Sandbox::new();
    let axes = ["quickstart", "--agent", "scripted:typical", "--trials", "2", "--quiet"];
    sandbox.ok(&[&["run", "quickstart", "--out", "straight"][..], &axes].concat());
    let (straight, complete) = RunDir::open(&sandbox.path("straight")).unwrap();
    // The first half of the run, as if it had been interrupted.
    copy(straight.path(), &sandbox.path("half"));
    let (half, mut interrupted) = RunDir::open(&sandbox.path("half")).unwrap();
    interrupted.status = healbench_store::RunStatus::Interrupted;
    interrupted.episodes_done = interrupted.plan.len() / 2;
    let first_episodes = interrupted.completed_episodes();
    healbench_frames::FrameWriter::resume(&half, &interrupted.plan, first_episodes).unwrap().finish().unwrap();
    half.add_result_files(&mut interrupted).unwrap();
    half.write_manifest(&interrupted).unwrap();
    let first_half = sandbox.ok(&["report", "half"]).out;
    let whole = sandbox.ok(&["report", "straight"]).out;

    let names = ["responses.parquet", "calls.parquet", "episodes.parquet"];
    for renamed in 0..=names.len() {
        let path = sandbox.path("run");
        copy(half.path(), &path);
        let (run, mut manifest) = RunDir::open_any(&path).unwrap();
        for name in names {
            fs::copy(straight.path().join(name), path.join(format!("{name}.part"))).unwrap();
        }
        run.announce_replacement(&mut manifest).unwrap();
        for name in &names[..renamed] {
            fs::rename(path.join(format!("{name}.part")), path.join(name)).unwrap();
        }
        let shown = sandbox.start(&["report", "run"]);
        if renamed == 0 {
            assert_eq!((shown.code, shown.out), (Some(0), first_half.clone()));
        } else {
            assert_eq!(shown.code, Some(2), "{}", shown.err);
            assert!(shown.err.contains("did not finish") && shown.err.contains("--resume run"), "{}", shown.err);
            assert_eq!(run.verify(&manifest).unwrap(), VerifiedFiles::PartlyReplaced);
        }
        // A bit that was flipped is still noticed.
        let calls = fs::read(run.calls_path()).unwrap();
        let mut flipped = calls.clone();
        flipped[calls.len() / 2] ^= 1;
        fs::write(run.calls_path(), flipped).unwrap();
        let shown = sandbox.start(&["run", "--resume", "run"]);
        assert!(shown.code == Some(4) && shown.err.contains("run/calls.parquet` is damaged"), "{}", shown.err);
        fs::write(run.calls_path(), calls).unwrap();

        sandbox.ok(&["run", "--resume", "run", "--quiet"]);
        assert_eq!(sandbox.ok(&["report", "run"]).out, whole);
        assert!(same_frames(&path, straight.path()));
        let (_, manifest) = RunDir::open(&path).unwrap();
        assert_eq!((&manifest.files, manifest.replacing.len()), (&complete.files, 0));
        fs::remove_dir_all(path).unwrap();
    }
}

/// A limit on file size simulates a full disk: the same writes fail.
#[cfg(target_os = "linux")]
#[test]
fn a_full_disk_at_the_start_leaves_nothing() {
    let sandbox = Sandbox::new();
    fs::create_dir(sandbox.path("runs")).unwrap();
    let program = env!("CARGO_BIN_EXE_healbench");
    let run = |blocks: &str, out: &str| {
        let args = "quickstart --quiet --trials 2 --agent scripted:perfect";
        let script = format!("trap '' XFSZ; ulimit -f {blocks}; exec {program} run {args} {out}");
        CommandResult::new(Command::new("bash").args(["-c", &script]).current_dir(sandbox.dir.path()).output().unwrap())
    };
    // No scenario fits, the second one does not fit, and the manifest does not fit.
    for (blocks, file) in [("0", "scenarios/000-"), ("1", "scenarios/"), ("8", "manifest.json")] {
        for out in ["--out runs/mine", ""] {
            let result = run(blocks, out);
            assert_eq!(result.code, Some(2), "{} {}", result.out, result.err);
            let begin = if out.is_empty() { "error: cannot write `runs/" } else { "error: cannot write `runs/mine/" };
            assert!(result.err.starts_with(begin) && result.err.contains(file), "{blocks}: {}", result.err);
            assert_eq!(fs::read_dir(sandbox.path("runs")).unwrap().count(), 0, "{blocks}");
        }
    }
    // The same command works once there is space.
    assert_eq!(run("unlimited", "--out runs/mine").code, Some(0));
    sandbox.ok(&["report", "runs/mine"]);
    assert!(run("unlimited", "--out runs/mine").err.contains("exists already"));
    let names: Vec<_> = fs::read_dir(sandbox.path("runs")).unwrap().map(|entry| entry.unwrap().file_name()).collect();
    assert_eq!(names, ["mine"]);
}

#[test]
fn a_file_that_does_not_belong_to_a_run_is_not_read() {
    let sandbox = runs();
    fs::copy(sandbox.path("server/transcripts.jsonl.zst"), sandbox.path("a/transcripts.jsonl.zst")).unwrap();
    let result = sandbox.start(&["report", "a"]);
    assert_eq!(result.code, Some(4), "{}", result.err);
    assert!(
        result.err.contains("a/transcripts.jsonl.zst` is damaged: manifest.json does not list it"),
        "{}",
        result.err
    );
    fs::remove_file(sandbox.path("a/transcripts.jsonl.zst")).unwrap();
    // Files of the user are no part of the run.
    sandbox.write("a/notes.txt", "mine");
    sandbox.ok(&["report", "a", "--output", "html=a/report.html"]);
    sandbox.ok(&["report", "a"]);
}
