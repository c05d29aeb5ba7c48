//! Logs that are made to break or to stall an import.

use std::fmt::Write as _;

use healbench_import::{Options, ProblemKind};
use serde_json::{Value, json};

use super::{import_files, outline, read};

const MIB: usize = 1024 * 1024;

fn sample(sample: &Value) -> String {
    json!({"version": 2, "status": "success", "eval": {"task": "t", "model": "m"}, "samples": [sample]}).to_string()
}

#[test]
fn a_message_that_is_no_object_has_no_usage() {
    let event =
        json!({"event": "model", "output": {"choices": [{"message": {"id": ""}}], "usage": {"input_tokens": 1}}});
    let log = sample(&json!({"id": "1", "epoch": 1, "events": [event], "messages": [
        "text", 7, {"role": "user", "content": "go"}, {"role": "assistant", "content": "end"}]}));
    assert_eq!(outline(&read("a.json", &log, &[])[0]), "user go\nturn end\n");
}

#[test]
fn attached_texts_count_as_part_of_a_sample() {
    let message = json!({"role": "user", "content": "attachment://h"});
    let log =
        sample(&json!({"id": "1", "epoch": 1, "attachments": {"h": "x".repeat(MIB)}, "messages": vec![message; 70]}));
    assert!(read("a.json", &log, &[ProblemKind::TooLong]).is_empty());
}

#[test]
fn tokens_may_be_as_many_as_there_are_numbers() {
    let usage = json!({"input_tokens": u64::MAX, "cache_read_input_tokens": 1, "output_tokens": 1});
    let log = json!({"messages": [{"role": "user", "content": "go"}, {"role": "assistant", "content": "end", "usage": usage}]});
    assert_eq!(outline(&read("a.json", &log.to_string(), &[])[0]), format!("user go\nturn {}/1 end\n", u64::MAX));
    let line = |kind: &str, part: Value| format!("{}\n", json!({"type": kind, "sessionID": "s", "part": part}));
    let tokens = json!({"input": u64::MAX, "output": u64::MAX, "reasoning": 1, "cache": {"read": 1, "write": 1}});
    let log = line("text", json!({"text": "end"})) + &line("step_finish", json!({"tokens": tokens}));
    assert_eq!(outline(&read("o.jsonl", &log, &[])[0]), format!("turn {0}/{0} end\n", u64::MAX));
}

#[test]
fn names_of_passwords_one_after_the_other_take_no_memory() {
    let log = json!({"messages": [{"role": "user", "content": "1password:".repeat(MIB / 4)}, {"role": "assistant", "content": "end"}]});
    assert_eq!(read("a.json", &log.to_string(), &[]).len(), 1);
}

#[test]
fn many_credentials_are_found_at_once() {
    let mut text = String::new();
    for n in 0..20_000 {
        write!(text, "DB_PASSWORD=hunter{n:06}x ").unwrap();
    }
    let log =
        json!({"messages": [{"role": "user", "content": text.repeat(8)}, {"role": "assistant", "content": "end"}]});
    let outline = outline(&read("a.json", &log.to_string(), &[])[0]);
    assert!(!outline.contains("hunter") && outline.contains("DB_PASSWORD=[key 20000]"));
}

#[test]
fn the_name_of_a_file_in_an_archive_is_bounded() {
    let mut archive = tar::Builder::new(Vec::new());
    let log =
        json!({"messages": [{"role": "user", "content": "a"}, {"role": "assistant", "content": "end"}]}).to_string();
    let header = |kind: tar::EntryType, size: usize| {
        let mut header = tar::Header::new_gnu();
        header.set_entry_type(kind);
        header.set_size(u64::try_from(size).unwrap());
        header
    };
    let mut add =
        |name: &str, mut header: tar::Header, bytes: &[u8]| archive.append_data(&mut header, name, bytes).unwrap();
    let large = vec![b' '; 3 * MIB];
    add("a.json", header(tar::EntryType::Regular, log.len()), log.as_bytes());
    add("large.txt", header(tar::EntryType::Regular, large.len()), &large);
    add("b.json", header(tar::EntryType::Regular, log.len()), log.as_bytes());
    add("long", header(tar::EntryType::GNULongName, large.len()), &large);
    add("c.json", header(tar::EntryType::Regular, log.len()), log.as_bytes());
    let packed = archive.into_inner().unwrap();
    let (all, summary) = import_files(&[("p.tar", &packed)], &Options::default()).unwrap();
    assert_eq!(all.len(), 2);
    assert_eq!(summary.problems.listed[0].kind, ProblemKind::EndsInTheMiddle);
}
