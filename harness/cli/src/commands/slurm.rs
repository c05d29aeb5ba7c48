//! Writes the scripts of a Slurm job array. They need neither accounting nor anything else than `sbatch`: which shards are still to be
//! run follows from the directories of the shards.

use std::fs;
use std::path::{Path, PathBuf};

use clap::CommandFactory as _;
use healbench_text::{plain_text, shell_quote};

use super::shards::shard_name;
use crate::args::{Arguments, Command, ShardCount, SlurmArgs};
use crate::error::{CliError, ExitStatus};
use crate::load::build_run_spec;
use crate::output::write_atomically;
use crate::run_config;
use crate::shard_sizes::shard_sizes;
use crate::terminal::Terminal;

/// The seconds before the time limit at which a shard is told to stop.
const GRACE_S: u32 = 120;
/// The largest index of an array in Slurm's default configuration (`MaxArraySize`).
const DEFAULT_MAX_INDEX: u32 = 1000;

/// Options of `run` that the scripts set.
const OWN_OPTIONS: [(&str, &str); 7] = [
    ("shard", "the scripts number the shards"),
    ("out", "shards are in DIR/shards"),
    ("resume", "the scripts resume shards by themselves"),
    ("scratch", "write it before `--`"),
    ("on_complete", "write it before `--`, to run after the merge"),
    ("record", "write it before `--`, which gives each shard a folder and merges them"),
    ("jobs", "write `--cpus` before `--`"),
];

/// Writes `submit`, `shard.sbatch` and `merge.sbatch`.
pub(crate) fn slurm(args: &SlurmArgs, terminal: &Terminal) -> Result<ExitStatus, CliError> {
    let words: Vec<String> =
        ["healbench", "run"].iter().map(ToString::to_string).chain(args.run.iter().cloned()).collect();
    let matches = Arguments::command()
        .try_get_matches_from(&words)
        .map_err(|error| CliError::new(format_args!("the arguments after `--`: {}", error.to_string().trim_end())))?;
    let given = matches.subcommand_matches("run");
    for (option, reason) in OWN_OPTIONS {
        let source = given.and_then(|given| given.value_source(option));
        if source == Some(clap::parser::ValueSource::CommandLine) {
            let option = option.replace('_', "-");
            return Err(CliError::new(format_args!("`--{option}` cannot be given to the shards")).help(reason));
        }
    }
    let resolved = run_config::resolve(matches, words.iter().map(Into::into).collect())?;
    let Command::Run(run) = &crate::parse(&resolved.matches).command else {
        return Err(CliError::new("the arguments after `--` are not arguments of `healbench run`"));
    };
    let run_spec = build_run_spec(&run.axes, run.replay.is_some(), terminal)?;
    let has_models = run_spec.plan.agents.iter().any(|agent| agent.opening.is_some());
    if args.record && !has_models {
        terminal.note("the plan has no model: there is nothing to record");
    }
    let count = match args.shards {
        ShardCount::Of(count) => count,
        ShardCount::Auto => {
            let sizes = shard_sizes(&run_spec, args.shards, Some(args.time), args.pilot.as_deref(), args.cpus)?;
            terminal.note(sizes.lines().trim_end());
            sizes.count
        }
    };
    if count > DEFAULT_MAX_INDEX {
        terminal.warn(&format!("{count} shards need a Slurm with `MaxArraySize` above {count}; its default is 1001"));
    }
    let dir = std::path::absolute(&args.dir).map_err(|source| CliError::write(&args.dir, &source))?;
    if dir.join("submit").exists() {
        return Err(CliError::new(format_args!("`{}` has scripts already", args.dir.display()))
            .help("continue with its `submit`, or choose another folder"));
    }
    for folder in ["shards", "logs"] {
        let folder = dir.join(folder);
        fs::create_dir_all(&folder).map_err(|source| CliError::write(&folder, &source))?;
    }
    let scripts = Scripts::new(args, dir, count, args.record && has_models)?;
    write_scripts(&scripts)?;
    let dir = shell_quote(&args.dir.to_string_lossy());
    terminal.result(&format!(
        "{count} shards; submit them, and later those that did not end, with {dir}/submit\n\
         status: healbench status {dir}/shards --shards {count}\n"
    ))?;
    Ok(ExitStatus::Success)
}

fn write_scripts(scripts: &Scripts<'_>) -> Result<(), CliError> {
    for (name, text) in
        [("shard.sbatch", scripts.shard()), ("merge.sbatch", scripts.merge()), ("submit", scripts.submit())]
    {
        let path = scripts.dir.join(name);
        write_atomically(&path, &text)?;
        #[cfg(unix)]
        {
            use std::os::unix::fs::PermissionsExt as _;
            fs::set_permissions(&path, fs::Permissions::from_mode(0o755))
                .map_err(|source| CliError::write(&path, &source))?;
        }
    }
    Ok(())
}

struct Scripts<'a> {
    args: &'a SlurmArgs,
    dir: PathBuf,
    count: u32,
    records: bool,
    /// The working directory, to which paths in the arguments are relative.
    folder: String,
    program: String,
}

impl<'a> Scripts<'a> {
    fn new(args: &'a SlurmArgs, dir: PathBuf, count: u32, records: bool) -> Result<Scripts<'a>, CliError> {
        let here = |source| CliError::read(Path::new("."), &source);
        let program = std::env::current_exe().map_err(here)?;
        let folder = std::env::current_dir().map_err(here)?;
        let unprintable = [&dir, &program, &folder]
            .into_iter()
            .find(|path| path.to_str().is_none_or(|text| text.chars().any(|c| c.is_control() || "%\"\\".contains(c))));
        if let Some(path) = unprintable {
            let shown = path.to_string_lossy();
            return Err(CliError::new(format_args!("`{}` cannot be used in a script", plain_text(&shown)))
                .help("choose a path without percent signs, double quotes, backslashes and control characters"));
        }
        let quoted = |path: &Path| shell_quote(&path.to_string_lossy());
        Ok(Scripts { args, count, records, folder: quoted(&folder), program: quoted(&program), dir })
    }

    fn path(&self, name: &str) -> String {
        shell_quote(&self.dir.join(name).to_string_lossy())
    }

    fn header(&self, job: &str, log: &str, lines: &[String]) -> String {
        let log = self.dir.join("logs").join(log);
        let mut header =
            format!("#!/usr/bin/env bash\n#SBATCH --job-name={job}\n#SBATCH --output=\"{}\"\n", log.display());
        for line in lines.iter().chain(&self.args.options) {
            header.push_str(&format!("#SBATCH {}\n", line.replace(['\n', '\r'], " ")));
        }
        header + "# Written by `healbench slurm`.\n"
    }

    fn program(&self) -> String {
        format!("cd {}\nhealbench=${{HEALBENCH:-{}}}\n", self.folder, self.program)
    }

    fn shard(&self) -> String {
        let lines = [
            format!("--cpus-per-task={}", self.args.cpus),
            format!("--time={}", self.args.time),
            "--requeue".to_owned(),
            "--open-mode=append".to_owned(),
            format!("--signal=B:TERM@{GRACE_S}"),
        ];
        let arguments: Vec<_> = self.args.run.iter().map(|argument| shell_quote(argument)).collect();
        let first = shard_name(1, self.count);
        // `shard-07-of-12` is also made by `printf`.
        let width = first.find("-of-").unwrap_or_default() - "shard-".len();
        let record =
            if self.records { format!(" --record {}/\"$name\"", self.path("recordings")) } else { String::new() };
        let scratch = self.args.scratch.as_ref().map(|scratch| format!(" --scratch {}", expanded(scratch)));
        format!(
            r#"{header}set -u
{program}name=$(printf 'shard-%0{width}d-of-{count}' "$SLURM_ARRAY_TASK_ID")
out={shards}/$name
if [ -e "$out" ]; then
    set -- run --resume "$out"
else
    set -- run {arguments} --shard "$SLURM_ARRAY_TASK_ID/{count}" --out "$out"{record}
fi
"$healbench" "$@" --jobs "${{SLURM_CPUS_PER_TASK:-{cpus}}}"{scratch} --quiet > /dev/null &
pid=$!
# Slurm sends SIGTERM before the time limit and when it preempts the job; healbench then saves what is finished.
stopped=
trap 'stopped=1; kill -TERM "$pid" 2> /dev/null' TERM
code=0
wait "$pid" || code=$?
while kill -0 "$pid" 2> /dev/null; do
    code=0
    wait "$pid" || code=$?
done
if [ -n "$stopped" ] && [ "$code" = 130 ]; then
    scontrol requeue "${{SLURM_ARRAY_JOB_ID}}_$SLURM_ARRAY_TASK_ID"
fi
exit "$code"
"#,
            header = self.header("healbench", "shard-%a.log", &lines),
            program = self.program(),
            count = self.count,
            shards = self.path("shards"),
            arguments = arguments.join(" "),
            cpus = self.args.cpus,
            scratch = scratch.unwrap_or_default(),
        )
    }

    fn merge(&self) -> String {
        let mut options = String::new();
        if self.records {
            options.push_str(&format!(" --recordings {}", self.path("recordings/all")));
        }
        if let Some(command) = &self.args.on_complete {
            options.push_str(&format!(" --on-complete {}", shell_quote(command)));
        }
        format!(
            r#"{header}set -u
{program}if ! "$healbench" status {shards} --shards {count}; then
    echo 'not all shards are complete; submit the others with:' {submit} >&2
    exit 4
fi
exec "$healbench" merge {shards} --out {run}{options}
"#,
            header = self.header("healbench-merge", "merge.log", &["--open-mode=append".to_owned()]),
            program = self.program(),
            shards = self.path("shards"),
            count = self.count,
            submit = self.path("submit"),
            run = self.path("run"),
        )
    }

    fn submit(&self) -> String {
        let throttle = self.args.max_running.map(|most| format!("%{most}")).unwrap_or_default();
        format!(
            r#"#!/usr/bin/env bash
# Submits the incomplete shards that are not running, and the job that merges all.
# Written by `healbench slurm`.
set -euo pipefail
{program}todo=$("$healbench" status {shards} --shards {count} --todo) || [ "$?" = 4 ]
if [ -n "$todo" ]; then
    array=$(sbatch --parsable --array="$todo{throttle}" {shard})
    sbatch --dependency="afterany:${{array%%;*}}" {merge}
else
    sbatch {merge}
fi
"#,
            program = self.program(),
            shards = self.path("shards"),
            count = self.count,
            shard = self.path("shard.sbatch"),
            merge = self.path("merge.sbatch"),
        )
    }
}

/// Quotes a text for a shell so that variables in it are expanded.
fn expanded(text: &str) -> String {
    let mut quoted = String::from("\"");
    for c in text.chars() {
        if matches!(c, '"' | '\\' | '`') {
            quoted.push('\\');
        }
        quoted.push(c);
    }
    quoted + "\""
}
