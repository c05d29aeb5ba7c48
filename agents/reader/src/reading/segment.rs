//! A piece of a text, with the field that it is about.

/// A line, an attribute's value or a JSON value, with the scopes around it.
pub(super) struct Segment<'t> {
    /// The field that the text is about.
    pub(super) subject: Option<&'t Subject>,
    /// The name of the innermost element or JSON key around the text; empty if there is none.
    pub(super) label: &'t str,
    /// The name of the next enclosing element or JSON key, such as `available_actions` for the label `action`; empty if
    /// there is none.
    pub(super) outer_label: &'t str,
    pub(super) text: &'t str,
    /// True for the value of an attribute, which names something but advises nothing.
    pub(super) attribute: bool,
}

/// The field that a scope names.
#[derive(Debug, Clone)]
pub(super) struct Subject {
    /// The path of a known field, or the name as written.
    pub(super) name: String,
    pub(super) known: bool,
}
