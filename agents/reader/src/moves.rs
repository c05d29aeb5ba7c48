//! The shares of moves in a profile file.

use healbench_core::{ERROR_KINDS, Moves, Shares};
use healbench_files::{ConfigError, Table};

use crate::profile::is_probability;

const KEYS: [&str; 4] = ["right_told", "right_untold", "repeat_again", "later_stop"];

pub(crate) fn parse_moves(table: &Table<'_>) -> Result<Moves, ConfigError> {
    let known: Vec<&str> = KEYS.into_iter().chain(ERROR_KINDS.iter().map(|entry| entry.name)).collect();
    table.deny_unknown(&known)?;
    let probability =
        |key| table.require(key, "it is a number from 0 to 1")?.number(is_probability, "a number from 0 to 1");
    let mut shares = [Shares::default(); ERROR_KINDS.len()];
    for (share, entry) in shares.iter_mut().zip(&ERROR_KINDS) {
        *share = parse_shares(&table.require(entry.name, "it is a table with the shares of moves")?.table()?)?;
    }
    Ok(Moves {
        shares,
        right_told: probability("right_told")?,
        right_untold: probability("right_untold")?,
        repeat_again: probability("repeat_again")?,
        later_stop: table
            .require("later_stop", "it is a factor of odds")?
            .number(|factor| factor >= 0.0 && factor.is_finite(), "a number from 0 on")?,
    })
}

fn parse_shares(table: &Table<'_>) -> Result<Shares, ConfigError> {
    table.deny_unknown(&["changed", "repeated", "other_tool"])?;
    let share = |key| table.require(key, "it is a share from 0 to 1")?.number(is_probability, "a number from 0 to 1");
    let shares = Shares { changed: share("changed")?, repeated: share("repeated")?, other_tool: share("other_tool")? };
    if shares.is_valid() {
        return Ok(shares);
    }
    Err(table.error("the shares add up to more than 1", "what is left of 1 is the share of stopping"))
}
