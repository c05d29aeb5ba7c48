//! Paired rounds of the engine: `cargo bench --bench paired -- --out FILE [--rounds N]` measures every pair and writes
//! the file for `healbench gate --perf`. A relative FILE is resolved in the workspace. With `--slow PAIR`, the
//! candidate of that pair does a fifth more work, which the gate must detect.

#![allow(clippy::print_stdout, clippy::print_stderr)]

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use healbench_benches::pairs::pairs;
use healbench_benches::rounds::{Pair, ROUNDS, measure, paired_run};
use healbench_store::{MIN_ROUNDS, PairRounds};

#[derive(Default)]
struct Args {
    out: Option<PathBuf>,
    rounds: Option<usize>,
    slow: Option<String>,
    /// True if cargo started the bench to measure, and not only to check that it runs.
    bench: bool,
}

fn main() -> ExitCode {
    let run = || -> Result<(), String> {
        let args = args()?;
        let smoke_run = !args.bench && args.out.is_none();
        let rounds = args.rounds.unwrap_or(if smoke_run { 3 } else { ROUNDS });
        let out = args.out.map(|out| resolve_out(&out, args.bench)).transpose()?;
        let run = paired_run(measure(&slowed(pairs(), args.slow.as_deref())?, rounds));
        print!("{}", table(&run.pairs));
        let Some(out) = out else { return Ok(()) };
        run.write(&out).map_err(|error| error.to_string())?;
        eprintln!("rounds: {}", out.display());
        Ok(())
    };
    run().map_or_else(
        |error| {
            eprintln!("error: {error}");
            ExitCode::FAILURE
        },
        |()| ExitCode::SUCCESS,
    )
}

/// Returns the path of the output file. It is checked before measuring, which takes minutes.
///
/// Cargo starts a bench in the folder of its package; paths are relative to the workspace instead.
fn resolve_out(out: &Path, by_cargo: bool) -> Result<PathBuf, String> {
    let workspace = Path::new(env!("CARGO_MANIFEST_DIR")).parent().filter(|_| by_cargo);
    let out = workspace.map_or_else(|| out.to_owned(), |workspace| workspace.join(out));
    let folder = out.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
    if !folder.is_dir() {
        return Err(format!("`--out {}`: there is no folder `{}`; make it first", out.display(), folder.display()));
    }
    if out.is_dir() {
        return Err(format!("`--out {}`: it is a folder; name a file in it", out.display()));
    }
    Ok(out)
}

/// Slows down the candidate of the pair named `slow`.
fn slowed(pairs: Vec<Pair>, slow: Option<&str>) -> Result<Vec<Pair>, String> {
    if let Some(name) = slow
        && !pairs.iter().any(|pair| pair.name == name)
    {
        let names: Vec<&str> = pairs.iter().map(|pair| pair.name.as_str()).collect();
        return Err(format!("there is no pair `{name}`: {}", names.join("; ")));
    }
    let slowed = |pair: Pair| match slow {
        Some(name) if name == pair.name => Pair { candidate: pair.candidate.slowed(), ..pair },
        _ => pair,
    };
    Ok(pairs.into_iter().map(slowed).collect())
}

fn args() -> Result<Args, String> {
    let mut args = Args::default();
    let mut raw_args = std::env::args_os().skip(1);
    while let Some(arg) = raw_args.next() {
        let mut value = || raw_args.next().ok_or_else(|| format!("`{}` needs a value", arg.display()));
        match arg.to_str() {
            Some("--bench") => args.bench = true,
            Some("--out") => args.out = Some(value()?.into()),
            Some("--slow") => args.slow = Some(value()?.to_string_lossy().into_owned()),
            Some("--rounds") => {
                let rounds = value()?;
                let number = rounds.to_str().and_then(|rounds| rounds.parse().ok());
                args.rounds = Some(number.filter(|rounds| *rounds >= MIN_ROUNDS).ok_or_else(|| {
                    format!("`--rounds {}`: it has to be a number, {MIN_ROUNDS} or more", rounds.display())
                })?);
            }
            _ => return Err(format!("`{}` is not known here: --out FILE, --rounds N, --slow PAIR", arg.display())),
        }
    }
    Ok(args)
}

/// Prints medians and quartiles for information. The gate does not use them.
fn table(pairs: &[PairRounds]) -> String {
    let width = pairs.iter().map(|pair| pair.name.len()).max().unwrap_or(0);
    let mut out = format!("{:width$}  median ratio  half of the rounds\n", "pair");
    for pair in pairs {
        let mut ratios: Vec<f64> = pair.log_ratios().into_iter().map(f64::exp).collect();
        ratios.sort_by(f64::total_cmp);
        let at = |quarter: usize| ratios[(ratios.len() - 1) * quarter / 4];
        let (name, middle, low, high) = (&pair.name, at(2), at(1), at(3));
        out.push_str(&format!("{name:width$}        {middle:.4}  [{low:.4}, {high:.4}]\n"));
    }
    out
}
