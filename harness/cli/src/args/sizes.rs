//! The options of `plan --detect`.

use super::Output;
use super::forms::TextForm;
use std::path::PathBuf;

use clap::Args;
use healbench_analysis::gate::Margin;

/// The difference to detect, and the assumptions about the pairs.
#[derive(Debug, Args)]
pub(crate) struct SizeArgs {
    /// Print how many scenarios and trials would settle a difference of success rates: `5points`, `5pp` or `0.05`.
    #[arg(long, value_name = "POINTS", value_parser = parse_detect)]
    pub(crate) detect: Option<f64>,
    /// The required probability of settling it.
    #[arg(long, value_name = "SHARE", default_value = "80%", value_parser = parse_power, requires = "detect")]
    pub(crate) power: f64,
    /// The expected share of pairs that differ when there is no difference.
    #[arg(long, value_name = "SHARE", default_value = "10%", value_parser = parse_share, requires = "detect")]
    pub(crate) discordance: f64,
    /// Intraclass correlations: how alike the differences of a scenario's trials are, from 0 to 1.
    #[arg(long, value_name = "LIST", value_delimiter = ',', default_value = "0,0.3,0.6,0.85", value_parser = parse_share, requires = "detect")]
    pub(crate) icc: Vec<f64>,
    /// Measure discordance and correlation in this run, between the two conditions of its headline.
    #[arg(long, value_name = "RUN", value_parser = crate::run_name::run_name(), requires = "detect", conflicts_with_all = ["discordance", "icc"])]
    pub(crate) from: Option<PathBuf>,
    /// Measure them between these two conditions of the run instead.
    #[arg(long, num_args = 2, value_names = ["REFERENCE", "CONDITION"], requires = "from")]
    pub(crate) pair: Option<Vec<String>>,
    /// The form to print or to write to a file: terminal, json. May be repeated [default: terminal]
    #[arg(long, value_name = "FORM[=FILE]", requires = "detect")]
    pub(crate) output: Vec<Output<TextForm>>,
}

fn parse_detect(text: &str) -> Result<f64, String> {
    let help = "write `5points`, `5pp` or `0.05`";
    let points = text.trim_end().strip_suffix("pp").map(|number| format!("{number}points"));
    let share = match points.as_deref().unwrap_or(text).parse::<Margin>() {
        Ok(Margin::Points(share) | Margin::Amount(share)) if share > 0.0 && share < 1.0 => share,
        Ok(Margin::Percent(_)) => return Err(format!("a rate differs by points, not by percent; {help}")),
        Ok(_) => return Err(format!("it has to be above 0 and below 100 points; {help}")),
        Err(_) => return Err(format!("it is not a number of points; {help}")),
    };
    Ok(share)
}

fn parse_share(text: &str) -> Result<f64, String> {
    let number = |text: &str| text.trim().parse::<f64>().ok();
    let share = match text.trim().strip_suffix('%') {
        Some(percent) => number(percent).map(|percent| percent / 100.0),
        None => number(text),
    };
    share
        .filter(|share| (0.0..=1.0).contains(share))
        .ok_or_else(|| "it has to be within 0 and 1, or 0% and 100%".to_owned())
}

fn parse_power(text: &str) -> Result<f64, String> {
    let is_inside = |power: &f64| *power > 0.0 && *power < 1.0;
    parse_share(text).ok().filter(is_inside).ok_or_else(|| "it has to be between 0 and 1, such as `80%`".to_owned())
}
