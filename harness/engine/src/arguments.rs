//! The arguments of a valid call.

use std::borrow::Cow;

use healbench_core::Object;
use serde_json::Value;

use crate::progress::Now;
use crate::render::excerpt_text;

/// A view of valid arguments without the discriminator; most handlers need no owned copy.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Arguments<'a> {
    pub(crate) object: &'a Object,
    pub(crate) discriminator: Option<&'a str>,
    pub(crate) now: &'a Now,
}

impl<'a> Arguments<'a> {
    pub(crate) fn get(self, name: &str) -> Option<&'a Value> {
        self.object.get(name).filter(|_| self.discriminator != Some(name))
    }

    pub(crate) fn iter(self) -> impl Iterator<Item = (&'a String, &'a Value)> {
        self.object.iter().filter(move |(name, _)| self.discriminator != Some(name.as_str()))
    }

    pub(crate) fn to_row(self, except: &[String]) -> Object {
        let stored = self.iter().filter(|(name, _)| !except.contains(name));
        stored.map(|(name, value)| (name.clone(), value.clone())).collect()
    }
}

/// Arguments of `select` that page and order the result and are not filters.
pub(crate) const PAGING_ARGUMENTS: [&str; 3] = ["limit", "offset", "sort"];

/// Returns a sent value as it stands in messages.
pub(crate) fn shown(sent: &Value) -> String {
    let text = sent.as_str().map_or_else(|| Cow::Owned(sent.to_string()), Cow::Borrowed);
    excerpt_text(&text).into_owned()
}
