//! To come.

use super::{Told, bare_line};

pub(super) fn render(told: &Told<'_>) -> String {
    bare_line(told.failure)
}
