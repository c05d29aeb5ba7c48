//! Recordings after a killed process, and damaged files.

use std::fs;

use healbench_agents::llm::cassette::{Cassette, CassetteError};
use healbench_files::{checked_members, line_with_checksum};
use tempfile::tempdir;

use crate::llm_cassette::*;

#[test]
fn a_killed_process_loses_nothing() {
    let all = conversations();
    let whole = tempdir().unwrap();
    record(whole.path(), &all);

    let dir = tempdir().unwrap();
    record(dir.path(), &all[..5]);
    let killed = Cassette::open_or_create(dir.path()).unwrap();
    all[5..15].iter().for_each(|(fixture, recorded)| put(&killed, fixture, recorded));
    drop(killed);
    // As if the process were killed while writing the last line.
    let path = dir.path().join("journal.jsonl");
    let text = fs::read(&path).unwrap();
    fs::write(&path, &text[..text.len() - 9]).unwrap();

    let replay = Cassette::open(dir.path()).unwrap();
    for (index, (fixture, recorded)) in all.iter().enumerate() {
        assert_eq!(replay.get(&fixture.request()).as_ref(), (index < 14).then_some(recorded), "{index}");
    }
    let next = Cassette::open_or_create(dir.path()).unwrap();
    all[14..].iter().for_each(|(fixture, recorded)| put(&next, fixture, recorded));
    assert_eq!(names(dir.path()).len(), 3, "two files and the journal");
    // As if the process were killed after the files were written, and before the journal was removed.
    let journal = fs::read(&path).unwrap();
    next.finish().unwrap();
    assert_eq!(files(dir.path()), files(whole.path()));
    fs::write(&path, journal).unwrap();
    Cassette::open_or_create(dir.path()).unwrap().finish().unwrap();
    assert_eq!(files(dir.path()), files(whole.path()));
}

#[test]
fn a_kill_loses_only_the_unfinished_recording() {
    let dir = tempdir().unwrap();
    let all = &conversations()[..2];
    let killed = Cassette::open_or_create(dir.path()).unwrap();
    all.iter().for_each(|(fixture, recorded)| put(&killed, fixture, recorded));
    drop(killed);
    let path = dir.path().join("journal.jsonl");
    let journal = fs::read(&path).unwrap();
    let ends: Vec<usize> = journal.iter().enumerate().filter(|(_, byte)| **byte == b'\n').map(|(end, _)| end).collect();
    for length in 0..=journal.len() {
        fs::write(&path, &journal[..length]).unwrap();
        let next = Cassette::open_or_create(dir.path()).unwrap();
        let complete = ends.iter().skip(1).filter(|end| **end < length).count();
        for (index, (fixture, recorded)) in all.iter().enumerate() {
            let known = next.get(&fixture.request());
            assert_eq!(known.as_ref(), (index < complete).then_some(recorded), "{length} bytes");
            if known.is_none() {
                put(&next, fixture, recorded);
            }
        }
        drop(next);
        assert_eq!(fs::read(&path).unwrap(), journal, "after {length} bytes");
    }
}

#[test]
fn a_file_that_is_not_as_it_was_written_is_an_error() {
    let dir = tempdir().unwrap();
    let all: Vec<_> = conversations().into_iter().filter(|(fixture, _)| fixture.model == "gpt-x").collect();
    record(dir.path(), &all);
    let file = dir.path().join("openai-chat-gpt-x.jsonl.zst");
    let packed = fs::read(&file).unwrap();
    let text = String::from_utf8(zstd::decode_all(packed.as_slice()).unwrap()).unwrap();
    let after = |packed: &[u8]| {
        fs::write(&file, packed).unwrap();
        error(dir.path())
    };
    let line =
        |line: u32, reason: &str| format!("`DIR/openai-chat-gpt-x.jsonl.zst`, line {line}, is damaged: {reason}");
    for bytes in [&packed[..packed.len() - 3], b"", b"version https://git-lfs.github.com/spec/v1\n"] {
        let message = after(bytes);
        assert!(message.contains(" is damaged: it cannot be read: "), "{message}");
    }

    let edited = |from: &str, to: &str| {
        let edited = text.replacen(from, to, 1);
        assert_ne!(edited, text, "{from}");
        after(&zstd::encode_all(edited.as_bytes(), 1).unwrap())
    };
    assert_eq!(
        edited("{\"healbench_cassette\":2", "{\"healbench_cassette\":1"),
        "`DIR/openai-chat-gpt-x.jsonl.zst` has format 1 of recordings; this program reads 2"
    );
    let foreign = "`DIR/openai-chat-gpt-x.jsonl.zst` is no file of recordings: its first line is no header of one";
    assert_eq!(edited("healbench_cassette", "vcr"), foreign);
    assert_eq!(after(&zstd::encode_all(&b"notes"[..], 1).unwrap()), foreign);
    for from in ["\"latency_ms\":1", "answer 0 1", "\"messages\":", "said 00", "\"api\":\"openai"] {
        assert_eq!(
            edited(from, &from.replace('a', "b").replace("\":1", "\":2")),
            line(2, "its checksum does not match")
        );
    }
    assert_eq!(edited("answer 2 5", "answer 2 6"), line(12, "its checksum does not match"));
    assert_eq!(edited("{\"checksum\":", "{\"sum\":"), line(2, "it is not a recording"));
    assert_eq!(
        after(&zstd::encode_all(text.trim_end().as_bytes(), 1).unwrap()),
        line(13, "it is incomplete, or the file holds more than 256 MiB")
    );
    // Without the damaged line, the rest can be read.
    let rest: Vec<&str> = text.lines().enumerate().filter(|(index, _)| *index != 4).map(|(_, line)| line).collect();
    fs::write(&file, zstd::encode_all(format!("{}\n", rest.join("\n")).as_bytes(), 1).unwrap()).unwrap();
    assert_eq!(Cassette::open(dir.path()).unwrap().entries()[0].entries.len(), all.len() - 1);

    fs::rename(&file, dir.path().join("openai-chat-gpt-y.jsonl.zst")).unwrap();
    assert_eq!(
        error(dir.path()),
        "`DIR/openai-chat-gpt-y.jsonl.zst` would have to be named `openai-chat-gpt-x.jsonl.zst`"
    );
    fs::remove_file(dir.path().join("openai-chat-gpt-y.jsonl.zst")).unwrap();
    fs::write(dir.path().join("journal.jsonl"), "{\"healbench_cassette\":2}\n{}\n").unwrap();
    assert_eq!(error(dir.path()), "`DIR/journal.jsonl`, line 2, is damaged: it is not a recording");
    assert!(matches!(Cassette::open_or_create(dir.path()), Err(CassetteError::Damaged { line: 2, .. })));
    fs::write(dir.path().join("journal.jsonl"), "{\"healbench_cassette\":3}\n").unwrap();
    assert_eq!(error(dir.path()), "`DIR/journal.jsonl` has format 3 of recordings; this program reads 2");
    fs::write(dir.path().join("journal.jsonl"), "of something else").unwrap();
    assert!(matches!(Cassette::open_or_create(dir.path()), Err(CassetteError::Foreign(_))));
    assert_eq!(fs::read(dir.path().join("journal.jsonl")).unwrap(), b"of something else");
}

#[test]
fn a_small_file_of_many_bytes_is_an_error() {
    use std::io::Write as _;
    let dir = tempdir().unwrap();
    let all: Vec<_> = conversations().into_iter().filter(|(fixture, _)| fixture.model == "gpt-x").take(1).collect();
    record(dir.path(), &all);
    let file = dir.path().join("openai-chat-gpt-x.jsonl.zst");
    let text = String::from_utf8(zstd::decode_all(fs::read(&file).unwrap().as_slice()).unwrap()).unwrap();
    let (header, recording) = text.split_once('\n').unwrap();
    let members = checked_members(recording.trim_end()).unwrap();
    let packed = |start: &str, part: &[u8], times: usize| {
        let mut encoder = zstd::Encoder::new(Vec::new(), 1).unwrap();
        encoder.write_all(start.as_bytes()).unwrap();
        (0..times).for_each(|_| encoder.write_all(part).unwrap());
        encoder.finish().unwrap()
    };
    let longer = line_with_checksum(&members.replacen("answer", &format!("answer {}", "said ".repeat(1 << 22)), 1));
    let (zeros, start) = (vec![0; 1 << 20], format!("{header}\n"));
    let too_long = "it cannot be read: it is longer than 128 MiB";
    for (bytes, line, reason) in [
        (packed("", &zeros, 200), 1, too_long),
        (packed(&start, &zeros, 200), 2, too_long),
        (packed(&text, &vec![b'x'; 1 << 20], 200), 3, too_long),
        (packed(&start, longer.as_bytes(), 14), 14, "it is incomplete, or the file holds more than 256 MiB"),
    ] {
        assert!(bytes.len() < 1 << 20, "{} bytes", bytes.len());
        fs::write(&file, bytes).unwrap();
        let expected = format!("`DIR/openai-chat-gpt-x.jsonl.zst`, line {line}, is damaged: {reason}");
        assert_eq!(error(dir.path()), expected);
        assert!(Cassette::open_or_create(dir.path()).is_err());
    }
    // The journal is not compressed.
    fs::remove_file(&file).unwrap();
    fs::write(dir.path().join("journal.jsonl"), [start.as_bytes(), &zeros.repeat(130)].concat()).unwrap();
    assert_eq!(error(dir.path()), format!("`DIR/journal.jsonl`, line 2, is damaged: {too_long}"));
}

#[test]
fn a_flipped_bit_is_detected_or_harmless() {
    let dir = tempdir().unwrap();
    let all: Vec<_> = conversations().into_iter().filter(|(fixture, _)| fixture.model == "gpt-x").take(3).collect();
    record(dir.path(), &all);
    let file = dir.path().join("openai-chat-gpt-x.jsonl.zst");
    let packed = fs::read(&file).unwrap();
    let mut detected = 0;
    for position in 0..packed.len() {
        let mut flipped = packed.clone();
        flipped[position] ^= 1 << (position % 8);
        fs::write(&file, &flipped).unwrap();
        match Cassette::open(dir.path()) {
            Ok(cassette) => {
                assert_eq!(cassette.entries()[0].entries.len(), all.len(), "byte {position}");
                for (fixture, recorded) in &all {
                    assert_eq!(cassette.get(&fixture.request()).as_ref(), Some(recorded), "byte {position}");
                }
            }
            Err(_) => detected += 1,
        }
    }
    assert!(detected + 2 >= packed.len(), "{detected} of {} were detected", packed.len());

    // The checksums of the recordings detect each changed byte of the text, and name the line.
    let text = zstd::decode_all(packed.as_slice()).unwrap();
    let lines: Vec<&[u8]> = text.split_inclusive(|byte| *byte == b'\n').collect();
    let start = lines[0].len() + lines[1].len();
    for position in start..start + lines[2].len() {
        let mut flipped = text.clone();
        flipped[position] ^= 1;
        fs::write(&file, zstd::encode_all(flipped.as_slice(), 1).unwrap()).unwrap();
        assert!(error(dir.path()).starts_with("`DIR/openai-chat-gpt-x.jsonl.zst`, line 3, is damaged: "), "{position}");
    }
}
