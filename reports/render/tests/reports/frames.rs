use std::collections::BTreeSet;
use std::fs;

use healbench_core::{EpisodeRecord, Plan, Records, ResponseRecord};
use healbench_frames::{
    FrameError, FrameWriter, columns, episode_rows, read_calls, read_episodes, read_responses, rows_of_episodes,
};
use healbench_store::{EpisodeResult, RunDir};
use polars::prelude::{CompatLevel, DataFrame, SchemaExt as _};
use polars_io::SerReader as _;
use polars_io::parquet::read::ParquetReader;
use polars_parquet::write::schema_to_metadata_key;

use crate::sample::{empty_run, plan, records, run_with};

fn frames(run: &RunDir) -> (DataFrame, DataFrame) {
    (read_episodes(run).unwrap(), read_calls(run).unwrap())
}

fn parts(run: &RunDir) -> Vec<String> {
    let files = fs::read_dir(run.path()).unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap());
    files.filter(|name| name.ends_with(".part")).collect()
}

/// Returns the first `episodes` episodes and their calls.
fn first(records: &Records, episodes: u64) -> Records {
    Records {
        episodes: records.episodes.iter().filter(|row| row.episode < episodes).cloned().collect(),
        calls: records.calls.iter().filter(|row| row.episode < episodes).cloned().collect(),
    }
}

/// Returns the episodes after the first `episodes`, and their calls.
fn after(records: &Records, episodes: u64) -> Records {
    Records {
        episodes: records.episodes.iter().filter(|row| row.episode >= episodes).cloned().collect(),
        calls: records.calls.iter().filter(|row| row.episode >= episodes).cloned().collect(),
    }
}

#[test]
fn every_row_reads_back_as_it_was() {
    let plan = plan(4);
    let records = records(&plan);
    let (_folder, run) = run_with(&plan, &records);
    for row in &records.episodes {
        let (found, calls) = episode_rows(&run, row.episode).unwrap().unwrap();
        assert_eq!(&found, row);
        let expected: Vec<_> = records.calls.iter().filter(|call| call.episode == row.episode).cloned().collect();
        assert_eq!(calls, expected);
    }
    assert!(episode_rows(&run, plan.len()).unwrap().is_none());
}

#[test]
fn the_episodes_frame_names_the_cell() {
    let plan = plan(2);
    let (_folder, run) = run_with(&plan, &records(&plan));
    let (episodes, _) = frames(&run);
    let text = |column: &str, row: usize| episodes.column(column).unwrap().str().unwrap().get(row).unwrap().to_owned();
    let last = episodes.height() - 1;
    assert_eq!(text(columns::SCENARIO, last), "control/nothing-wrong");
    assert_eq!(text(columns::AGENT, last), "openai:gpt-5-mini");
    assert_eq!(text(columns::AGENT_KIND, last), "llm");
    assert_eq!(text(columns::GUARDRAILS, last), "strict+healing");
    assert_eq!(text(columns::FORMAT, last), "fusion-text");
    assert_eq!(text(columns::CONDITION, last), "strict+healing fusion-text");
    assert_eq!(text(columns::UNDECLARED, last), "reject");
    assert_eq!(text(columns::UNDECLARED, 0), "pass");
    assert_eq!(text(columns::CONTENT, last), "native");
    assert_eq!(text(columns::CLIENT, last), "raw");
    assert_eq!(text(columns::ENVIRONMENT, last), "simulator");
    assert_eq!(episodes.column(columns::SERVER).unwrap().null_count(), episodes.height());
    assert_eq!(text(columns::CLUSTER, last), "control/nothing-wrong");
    let clusters = episodes.column(columns::CLUSTER).unwrap().n_unique().unwrap();
    assert_eq!((clusters, plan.scenarios.len()), (2, 3));
    assert_eq!(episodes.column(columns::TRIAL).unwrap().u32().unwrap().get(last), Some(1));
}

/// pandas rejects lists of string views, which Polars records in a file by default.
#[test]
fn files_do_not_mention_string_views() {
    let plan = plan(1);
    let (_folder, run) = run_with(&plan, &records(&plan));
    let (episodes, calls) = frames(&run);
    for (path, frame) in [(run.episodes_path(), episodes), (run.calls_path(), calls)] {
        let mut reader = ParquetReader::new(fs::File::open(path).unwrap());
        let noted = reader.get_metadata().unwrap().key_value_metadata().clone().unwrap();
        let stored = reader.finish().unwrap();
        let without_views = schema_to_metadata_key(&stored.schema().to_arrow(CompatLevel::oldest()));
        assert_eq!(noted[0], without_views);
        assert!(noted[1..].iter().all(|entry| entry.key.starts_with("healbench.column.")));
        assert_eq!(noted.len(), 1 + frame.width());
    }
}

/// Writes more rows than a row group has, in writes of different sizes, and again after an interruption.
#[test]
fn files_depend_on_the_rows_alone() {
    let plan = plan(4000);
    let records = records(&plan);
    assert!(records.episodes.len() > 1 << 16 && records.calls.len() > 1 << 17, "not enough rows to be worth it");
    let (_straight, straight) = run_with(&plan, &records);

    let (_split, split) = empty_run(&plan);
    let mut writer = FrameWriter::create(&split, &plan).unwrap();
    let mut from = 0;
    for size in [1, 100, 65_000, 3_000, u64::MAX] {
        let until = plan.len().min(from + size.min(plan.len()));
        writer.write(&first(&after(&records, from), until)).unwrap();
        from = until;
    }
    writer.finish().unwrap();

    let (_resumed, resumed) = run_with(&plan, &first(&records, 70_001));
    let mut writer = FrameWriter::resume(&resumed, &plan, (0..70_000).into()).unwrap();
    assert_eq!(frames(&resumed).0.height(), 70_001, "old frames stay until the new ones are whole");
    writer.write(&after(&records, 70_000)).unwrap();
    writer.finish().unwrap();

    for run in [&split, &resumed] {
        assert!(fs::read(run.episodes_path()).unwrap() == fs::read(straight.episodes_path()).unwrap());
        assert!(fs::read(run.calls_path()).unwrap() == fs::read(straight.calls_path()).unwrap());
    }
    let (episodes, calls) = frames(&straight);
    assert_eq!((episodes.height(), calls.height()), (records.episodes.len(), records.calls.len()));
    let (row, _) = episode_rows(&straight, 70_000).unwrap().unwrap();
    assert_eq!(row, records.episodes[70_000]);

    // Requests many episodes on both sides of a row group boundary; missing ones are left out.
    let wanted = BTreeSet::from([0, 3, 65_535, 65_536, 70_000, plan.len()]);
    let found = rows_of_episodes(&straight, &wanted).unwrap();
    assert_eq!(found.len(), 5);
    for (episode, (row, calls)) in &found {
        assert_eq!(*row, records.episodes[*episode as usize]);
        let made = records.calls.iter().filter(|call| call.episode == *episode);
        assert!(made.eq(calls) && !calls.is_empty(), "{episode}");
    }
}

#[test]
fn nothing_is_there_before_finish_and_nothing_is_left_without_it() {
    let plan = plan(1);
    let (_folder, run) = empty_run(&plan);
    let mut writer = FrameWriter::create(&run, &plan).unwrap();
    writer.write(&records(&plan)).unwrap();
    assert_eq!(parts(&run).len(), 3);
    assert!(!run.calls_path().exists() && !run.episodes_path().exists());
    drop(writer);
    assert_eq!(parts(&run), Vec::<String>::new());
    assert!(!run.calls_path().exists() && !run.episodes_path().exists());

    // Dropping a resumed writer keeps the old frames.
    let (_folder, run) = run_with(&plan, &records(&plan));
    let before = fs::read(run.calls_path()).unwrap();
    drop(FrameWriter::resume(&run, &plan, (0..2).into()).unwrap());
    assert_eq!(parts(&run), Vec::<String>::new());
    assert_eq!(fs::read(run.calls_path()).unwrap(), before);
}

/// The runner sends the writer to another thread.
#[test]
fn a_writer_can_move_to_another_thread() {
    fn can_move<T: Send>(_: &T) {}
    let plan = plan(1);
    let (_folder, run) = empty_run(&plan);
    can_move(&FrameWriter::create(&run, &plan).unwrap());
}

#[test]
fn frames_without_rows_are_frames() {
    let plan = plan(1);
    let (_folder, run) = run_with(&plan, &Records::default());
    let (episodes, calls) = frames(&run);
    assert_eq!((episodes.height(), calls.height()), (0, 0));
    assert!(episode_rows(&run, 0).unwrap().is_none());
    FrameWriter::resume(&run, &plan, (0..0).into()).unwrap().finish().unwrap();
}

/// Returns the results of the plan's episodes, each with a response of its own and one that all have.
fn results_with_responses(plan: &Plan) -> Vec<EpisodeResult> {
    let Records { episodes, calls } = records(plan);
    let result = |episode: EpisodeRecord| {
        let number = episode.episode;
        let mut calls: Vec<_> = calls.iter().filter(|call| call.episode == number).cloned().collect();
        for call in &mut calls {
            call.response_hash = if call.call == 1 { 7 } else { 1000 + number };
        }
        let response = |hash: u64| ResponseRecord {
            response_hash: hash,
            is_error: true,
            content: vec![format!("text {hash}"), "<b>".to_owned()],
            unguarded_text: (hash != 7).then(|| format!("Error {hash}")),
            tokens: hash as u32,
        };
        let hashes: BTreeSet<u64> = calls.iter().map(|call| call.response_hash).collect();
        EpisodeResult { episode, calls, recorded_turns: None, responses: hashes.into_iter().map(response).collect() }
    };
    episodes.into_iter().map(result).collect()
}

#[test]
fn each_response_is_stored_once_and_found_by_its_hash() {
    let plan = plan(50);
    let results = results_with_responses(&plan);
    let write = |mut writer: FrameWriter, results: &[EpisodeResult]| {
        results.iter().for_each(|result| writer.write_result(result).unwrap());
        writer.finish().unwrap();
    };
    let (_folder, run) = empty_run(&plan);
    write(FrameWriter::create(&run, &plan).unwrap(), &results);
    let hashes: BTreeSet<u64> =
        results.iter().flat_map(|result| &result.calls).map(|call| call.response_hash).collect();
    let found = read_responses(&run, &hashes).unwrap();
    for result in &results {
        for response in &result.responses {
            assert_eq!(&found[&response.response_hash], response);
        }
    }
    assert_eq!(found.len(), hashes.len());
    assert!(read_responses(&run, &BTreeSet::from([8])).unwrap().is_empty());
    let whole = fs::read(run.responses_path()).unwrap();

    // In two steps, after an interrupted finish that renamed only the new responses, and from shards.
    let half = results.len() / 2;
    let (_folder, resumed) = empty_run(&plan);
    write(FrameWriter::create(&resumed, &plan).unwrap(), &results[..half]);
    fs::write(resumed.responses_path(), &whole).unwrap();
    write(FrameWriter::resume(&resumed, &plan, (0..half as u64).into()).unwrap(), &results[half..]);
    assert!(fs::read(resumed.responses_path()).unwrap() == whole);
    let (_folder, shard) = empty_run(&plan);
    write(FrameWriter::create(&shard, &plan).unwrap(), &results[half..]);
    let (_folder, merged) = empty_run(&plan);
    let mut writer = FrameWriter::create(&merged, &plan).unwrap();
    let shards = [(&shard, (half as u64..plan.len()).into()), (&run, (0..half as u64).into())];
    writer.copy(&shards).unwrap();
    writer.finish().unwrap();
    assert!(fs::read(merged.responses_path()).unwrap() == whole);

    // A run without the file has all of its rows.
    fs::remove_file(run.responses_path()).unwrap();
    assert!(read_responses(&run, &hashes).unwrap().is_empty());
    write(FrameWriter::resume(&run, &plan, (0..half as u64).into()).unwrap(), &results[half..]);
    assert_eq!(read_episodes(&run).unwrap().height() as u64, plan.len());
}

#[test]
fn rows_out_of_order_are_refused() {
    let plan = plan(2);
    let records = records(&plan);
    let (_folder, run) = empty_run(&plan);
    let mut writer = FrameWriter::create(&run, &plan).unwrap();
    writer.write(&records).unwrap();
    assert!(matches!(writer.write(&first(&records, 1)), Err(FrameError::OutOfOrder { episode: 0 })));

    let mut writer = FrameWriter::create(&run, &plan).unwrap();
    let twice = Records { episodes: Vec::new(), calls: vec![records.calls[0].clone(); 2] };
    assert!(matches!(writer.write(&twice), Err(FrameError::OutOfOrder { .. })));

    let mut writer = FrameWriter::create(&run, &plan).unwrap();
    let mut strange = first(&records, 1);
    strange.episodes[0].episode = plan.len();
    assert!(matches!(writer.write(&strange), Err(FrameError::NotInPlan { episode }) if episode == plan.len()));

    let doubled = Plan { agents: vec![plan.agents[0].clone(); 2], ..plan };
    let error = FrameWriter::create(&run, &doubled).err().unwrap();
    assert_eq!(error.to_string(), "the plan has agent `scripted:typical` twice");
}

#[test]
fn a_run_with_too_few_episodes_cannot_be_resumed() {
    let plan = plan(2);
    let (_folder, run) = run_with(&plan, &first(&records(&plan), 3));
    let error = FrameWriter::resume(&run, &plan, (0..5).into()).err().unwrap();
    assert!(matches!(error, FrameError::MissingEpisodes { found: 3, expected: 5, .. }), "{error}");
    assert_eq!(parts(&run), Vec::<String>::new());
}

#[test]
fn damaged_files_are_errors() {
    let plan = plan(2);
    let (_folder, run) = run_with(&plan, &records(&plan));
    let whole = fs::read(run.episodes_path()).unwrap();
    let read = |bytes: &[u8]| {
        fs::write(run.episodes_path(), bytes).unwrap();
        read_episodes(&run).expect_err("a damaged file was read")
    };
    assert!(matches!(read(b""), FrameError::Damaged { .. }));
    assert!(matches!(read(b"episode,outcome\n0,success\n"), FrameError::Damaged { .. }));
    assert!(matches!(read(&whole[..whole.len() - 1]), FrameError::Damaged { .. }));
    assert!(matches!(read(&whole[..whole.len() / 2]), FrameError::Damaged { .. }));
    fs::remove_file(run.episodes_path()).unwrap();
    let error = read_episodes(&run).err().unwrap();
    assert!(matches!(error, FrameError::Io { operation: "read", .. }), "{error}");
}

/// Polars panics on some damaged pages. Reading a run must return an error, or values of the right type. Where a flipped bit makes a
/// count of values huge, Polars asks for as much memory and the process ends: these steps have no such byte. In a run, a changed file is
/// found by its hash first.
#[test]
fn flipped_bits_do_not_panic() {
    let plan = plan(20);
    let (_folder, run) = run_with(&plan, &records(&plan));
    let whole = fs::read(run.calls_path()).unwrap();
    let mut errors = 0;
    for at in (3..whole.len()).step_by(whole.len() / 200) {
        let mut bytes = whole.clone();
        bytes[at] ^= 1 << (at % 8);
        fs::write(run.calls_path(), bytes).unwrap();
        errors += u32::from(read_calls(&run).is_err());
    }
    assert!(errors > 20, "{errors}");
}

#[test]
fn foreign_files_are_errors() {
    let plan = plan(2);
    let (_folder, run) = run_with(&plan, &records(&plan));
    fs::copy(run.calls_path(), run.episodes_path()).unwrap();
    let error = read_episodes(&run).err().unwrap();
    assert!(matches!(error, FrameError::NoColumn { column: columns::SCENARIO, .. }), "{error}");

    let (_folder, run) = run_with(&plan, &records(&plan));
    let (mut episodes, _) = frames(&run);
    let trial = episodes.column(columns::TRIAL).unwrap().cast(&polars::prelude::DataType::String).unwrap();
    episodes.with_column(trial).unwrap();
    let file = fs::File::create(run.episodes_path()).unwrap();
    polars_io::parquet::write::ParquetWriter::new(file).finish(&mut episodes).unwrap();
    let error = read_episodes(&run).err().unwrap();
    assert!(matches!(error, FrameError::ColumnType { column: columns::TRIAL, .. }), "{error}");
}
