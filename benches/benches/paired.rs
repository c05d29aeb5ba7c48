//! Paired rounds of the engine: `cargo bench --bench paired -- --out FILE [--rounds N]` measures every pair and writes the file
//! from which `healbench gate --perf` decides. With `--slow PAIR` that pair's candidate does a fifth more, which a gate has to find.

#![allow(clippy::print_stdout, clippy::print_stderr)]

use std::path::PathBuf;
use std::process::ExitCode;

use healbench_benches::pairs::pairs;
use healbench_benches::rounds::{FEWEST_ROUNDS, Pair, ROUNDS, measure, paired_run};
use healbench_record::PairRounds;

#[derive(Default)]
struct Args {
    out: Option<PathBuf>,
    rounds: Option<usize>,
    slow: Option<String>,
    /// Whether cargo started it to measure, and not only to see that it runs.
    bench: bool,
}

fn main() -> ExitCode {
    let run = || -> Result<(), String> {
        let args = args()?;
        let to_see_that_it_runs = !args.bench && args.out.is_none();
        let rounds = args.rounds.unwrap_or(if to_see_that_it_runs { 3 } else { ROUNDS });
        let run = paired_run(measure(&slowed(pairs(), args.slow.as_deref())?, rounds));
        print!("{}", table(&run.pairs));
        args.out.map_or(Ok(()), |out| run.write(&out).map_err(|error| error.to_string()))
    };
    run().map_or_else(
        |error| {
            eprintln!("error: {error}");
            ExitCode::FAILURE
        },
        |()| ExitCode::SUCCESS,
    )
}

/// The pairs, one of them with a slower candidate.
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
    let mut words = std::env::args_os().skip(1);
    while let Some(word) = words.next() {
        let mut value = || words.next().ok_or_else(|| format!("`{}` needs a value", word.display()));
        match word.to_str() {
            Some("--bench") => args.bench = true,
            Some("--out") => args.out = Some(value()?.into()),
            Some("--slow") => args.slow = Some(value()?.to_string_lossy().into_owned()),
            Some("--rounds") => {
                let rounds = value()?;
                let number = rounds.to_str().and_then(|rounds| rounds.parse().ok());
                args.rounds = Some(number.filter(|rounds| *rounds >= FEWEST_ROUNDS).ok_or_else(|| {
                    format!("`--rounds {}`: it has to be a number, {FEWEST_ROUNDS} or more", rounds.display())
                })?);
            }
            _ => return Err(format!("`{}` is not known here: --out FILE, --rounds N, --slow PAIR", word.display())),
        }
    }
    Ok(args)
}

/// Medians and quartiles: to look at, not to decide by.
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
