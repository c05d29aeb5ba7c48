//! The levels of content: the same facts in every error format.
//!
//! A [`Statement`] holds the facts of one level, and each format only lays them out. [`Content::Native`] is not rendered here.

mod filler;
mod forms;
mod statement;

use healbench_core::Content;

pub(super) use self::statement::{Finding, Statement};
use super::{FormatRenderer, RenderInput};

/// A level of content other than [`Content::Native`], and the tokens by which a placebo is measured.
#[derive(Debug, Clone, Copy)]
pub(crate) struct ContentLevel {
    pub(crate) content: Content,
    pub(crate) count_tokens: fn(&str) -> u32,
}

impl ContentLevel {
    /// Returns true if texts state the contract's changes, which are advice.
    pub(crate) fn shows_advice(self) -> bool {
        matches!(self.content, Content::NextStep | Content::Example)
    }

    /// Renders the facts of this level in a format.
    pub(crate) fn render(self, renderer: &FormatRenderer, input: &RenderInput<'_>) -> String {
        let render = |statement: &Statement<'_>| match renderer {
            FormatRenderer::BuiltIn(entry) => forms::render(&entry.format, statement, input),
            FormatRenderer::Template(template) => template.render_statement(statement, input),
        };
        let statement = Statement::new(input, self.content);
        if self.content != Content::Placebo {
            return render(&statement);
        }
        let length = (self.count_tokens)(&render(&Statement::new(input, Content::NextStep)));
        let with_filler = |parts: usize| {
            let filler = filler::filler(input, parts);
            let text = render(&Statement { advice: filler.into_iter().collect(), ..statement.clone() });
            let tokens = (self.count_tokens)(&text);
            (tokens.abs_diff(length), tokens, text)
        };
        // A part of the filler is one token, and what surrounds the filler is some more.
        let one = with_filler(1);
        let estimate = (1 + length as usize).saturating_sub(one.1 as usize);
        let mut best = with_filler(0);
        for parts in NEARBY.iter().filter_map(|offset| estimate.checked_add_signed(*offset)) {
            if best.0 == 0 {
                break;
            }
            let (difference, tokens, text) = with_filler(parts);
            if difference < best.0 {
                best = (difference, tokens, text);
            }
        }
        best.2
    }
}

/// The numbers of parts to try, as differences to the estimate: a quote or a line break after the filler may share a token
/// with its full stop.
const NEARBY: [isize; 9] = [0, -1, 1, -2, 2, -3, 3, -4, 4];
