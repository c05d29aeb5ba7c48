//! The forms of reports, for `--output FORM[=FILE]`.

use std::path::PathBuf;

use clap::ValueEnum;

/// A form of the report of a run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum ReportForm {
    Terminal,
    Json,
    Csv,
    Markdown,
    Html,
    Inspect,
}

/// A form of a comparison.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum ComparisonForm {
    Terminal,
    Json,
    Csv,
    Markdown,
    Html,
}

/// A form of a list of error texts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum ErrorForm {
    Terminal,
    Json,
    Csv,
    Markdown,
}

/// A form of a result that is either read by a person or by a program.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum TextForm {
    #[value(alias = "text")]
    Terminal,
    Json,
}

/// A format of a report, and its file (standard output if `None`, as for `-`).
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Output<R> {
    pub(crate) renderer: R,
    pub(crate) file: Option<PathBuf>,
}

impl<R: ValueEnum> std::str::FromStr for Output<R> {
    type Err = String;

    fn from_str(text: &str) -> Result<Output<R>, String> {
        let (renderer, file) = match text.split_once('=') {
            Some((_, "")) => return Err("the file has no name".to_owned()),
            Some((renderer, "-")) => (renderer, None),
            Some((renderer, file)) => (renderer, Some(PathBuf::from(file))),
            None => (text, None),
        };
        let renderer = R::from_str(renderer, false).map_err(|_| {
            let known = R::value_variants().iter().filter_map(ValueEnum::to_possible_value);
            let known: Vec<String> = known.map(|value| value.get_name().to_owned()).collect();
            format!("unknown form `{renderer}`; {}", healbench_files::hint(renderer, known.iter().map(String::as_str)))
        })?;
        Ok(Output { renderer, file })
    }
}
