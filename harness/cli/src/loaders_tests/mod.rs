//! Every file that healbench reads, empty, cut off at any length, and changed in many ways: it is read, or there is an error.
//!
//! A test reads some hundred files. `HEALBENCH_FUZZ_SECONDS=600 cargo test -p healbench loaders_tests -- --test-threads 1 --nocapture`
//! reads new ones for that long in each test, and prints how many there were, which of them took longest and the memory. A failure
//! names the seed and a file with the input; `HEALBENCH_FUZZ_SEED` begins with another seed.

#![allow(clippy::print_stderr, reason = "a long run says how far it came")]

mod mutator;
mod runs;
mod texts;

use std::fs;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use mutator::Mutator;

/// The root of the repository.
fn repository() -> &'static Path {
    Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/../.."))
}

/// Returns the files of a folder and those below it that have one of these extensions, sorted.
fn files(folder: &str, extensions: &[&str]) -> Vec<Vec<u8>> {
    let mut folders = vec![repository().join(folder)];
    let mut paths: Vec<PathBuf> = Vec::new();
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                folders.push(path);
            } else if path.extension().is_some_and(|found| extensions.iter().any(|known| found == *known)) {
                paths.push(path);
            }
        }
    }
    paths.sort();
    assert!(!paths.is_empty());
    paths.iter().map(|path| fs::read(path).unwrap()).collect()
}

fn number(variable: &str) -> Option<u64> {
    Some(std::env::var(variable).ok()?.parse().unwrap())
}

/// Passes seeds, parts of them and changed ones to a loader, which must not panic.
fn fuzz(loader: &str, seeds: &[Vec<u8>], load: impl Fn(&[u8])) {
    fuzz_some(loader, seeds, 300, load);
}

/// Passes fewer files to a loader that takes long; `count` of each kind.
fn fuzz_some(loader: &str, seeds: &[Vec<u8>], count: usize, load: impl Fn(&[u8])) {
    let seconds = number("HEALBENCH_FUZZ_SECONDS").map(Duration::from_secs);
    let mut run = Fuzz { loader, load, inputs: 0, slowest: (Duration::ZERO, String::new()) };
    for (index, seed) in seeds.iter().enumerate() {
        run.input(&format!("seed-{index}"), seed);
    }
    // All lengths of the smallest file, and of every file in the long run.
    let (files, most) = if seconds.is_some() { (usize::MAX, 16 << 10) } else { (1, count) };
    let mut small: Vec<&Vec<u8>> = seeds.iter().filter(|seed| !seed.is_empty()).collect();
    small.sort_by_key(|seed| seed.len());
    let started = Instant::now();
    for (index, seed) in small.into_iter().take(files).enumerate() {
        for length in (0..seed.len()).step_by(seed.len().div_ceil(most)) {
            if seconds.is_some_and(|seconds| started.elapsed() > seconds / 4) {
                break;
            }
            run.input(&format!("length-{index}-{length}"), &seed[..length]);
        }
    }
    let first = number("HEALBENCH_FUZZ_SEED").unwrap_or(1);
    for seed in first.. {
        if seconds.map_or(seed >= first + count as u64, |seconds| started.elapsed() > seconds) {
            break;
        }
        // A file of many megabytes now and then.
        let most = if seconds.is_some() && seed % 100 == 0 { 4 << 20 } else { 4 << 10 };
        run.input(&seed.to_string(), &Mutator::new(seed, most).change(seeds));
    }
    if seconds.is_some() {
        let Fuzz { inputs, slowest: (time, name), .. } = run;
        let status = fs::read_to_string("/proc/self/status").unwrap_or_default();
        let peak = status.lines().find(|line| line.starts_with("VmHWM")).unwrap_or("").to_owned();
        eprintln!("{loader}: {inputs} inputs in {:?}; slowest {time:?} ({name}); {peak}", started.elapsed());
    }
}

struct Fuzz<'l, Load> {
    loader: &'l str,
    load: Load,
    inputs: u64,
    slowest: (Duration, String),
}

impl<Load: Fn(&[u8])> Fuzz<'_, Load> {
    fn input(&mut self, name: &str, bytes: &[u8]) {
        let file = std::env::temp_dir().join(format!("healbench-fuzz-{}", self.loader));
        let is_long = std::env::var_os("HEALBENCH_FUZZ_SECONDS").is_some();
        if is_long {
            // What ends the process leaves its input.
            fs::write(&file, bytes).unwrap();
        }
        let started = Instant::now();
        let ended = catch_unwind(AssertUnwindSafe(|| (self.load)(bytes)));
        let time = started.elapsed();
        self.inputs += 1;
        if ended.is_err() {
            fs::write(&file, bytes).unwrap();
            panic!("the loader `{}` panics; seed {name}, input {}", self.loader, file.display());
        }
        if time > self.slowest.0 {
            if is_long && time > Duration::from_secs(2) {
                eprintln!("{}: seed {name} took {time:?}", self.loader);
                fs::write(file.with_extension("slow"), bytes).unwrap();
            }
            self.slowest = (time, name.to_owned());
        }
    }
}
