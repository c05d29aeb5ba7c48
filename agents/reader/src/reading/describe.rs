//! Statements in words.

use std::fmt;

use super::{ExpectedFormat, Fault, Relation, Statement};

impl fmt::Display for Statement {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Statement::Missing { field } | Statement::MissingDiscriminator { field } => {
                write!(f, "`{field}` is missing")
            }
            Statement::WrongType { field, expected } => write!(f, "`{field}` must be of type {expected}"),
            Statement::Options { field, values } => write!(f, "`{field}` must be one of {}", values.join(", ")),
            Statement::Bound { field, relation, limit } => write!(f, "`{field}` must be {} {limit}", words(*relation)),
            Statement::Compared { field, relation, other } => {
                write!(f, "`{field}` must be {} `{other}`", words(*relation))
            }
            Statement::Format { field, expected: ExpectedFormat::Named(form) | ExpectedFormat::Pattern(form) } => {
                write!(f, "`{field}` must have the form {form}")
            }
            Statement::Unrecognized { field } => write!(f, "`{field}` must be left out"),
            Statement::Conflict { field } => write!(f, "the value of `{field}` is in use"),
            Statement::Actions { names } => write!(f, "the actions are {}", names.join(", ")),
            Statement::Suggest { tool: Some(tool), action } if tool != action => write!(f, "call {tool}.{action}"),
            Statement::Suggest { action, .. } => write!(f, "call {action}"),
            Statement::Delay { seconds } => write!(f, "wait {seconds} s"),
            Statement::Transient => f.write_str("the same call may succeed later"),
            Statement::UnknownTool => f.write_str("the tool that was called does not exist"),
            Statement::Stop => f.write_str("a retry cannot succeed"),
            Statement::Narrow { field, values } if values.is_empty() => write!(f, "filter by `{field}` for less"),
            Statement::Narrow { field, values } => write!(f, "filter by `{field}` for less: {}", values.join(", ")),
            Statement::Page { field, step } => write!(f, "add {step} to `{field}` for more"),
            Statement::Contract { fields, dropped, .. } => {
                let names: Vec<&str> = fields.iter().map(|field| field.path.as_str()).collect();
                write!(f, "the fields are now {}", names.join(", "))?;
                if dropped.is_empty() { Ok(()) } else { write!(f, ", without {}", dropped.join(", ")) }
            }
            Statement::Example { object } => {
                let names: Vec<&str> = object.keys().map(String::as_str).collect();
                write!(f, "an example has {}", names.join(", "))
            }
            Statement::Value { field, value: Some(value) } => write!(f, "`{field}` must be {value}"),
            Statement::Value { field, value: None } => {
                write!(f, "`{field}` must have another value, which is described")
            }
            Statement::Rename { field, name } => write!(f, "`{field}` is called `{name}`"),
            Statement::Lookup { field: Some(field) } => write!(f, "look up `{field}` first"),
            Statement::Lookup { field: None } => f.write_str("look something up first"),
            Statement::SearchDifferently { field: Some(field) } => write!(f, "search with another `{field}`"),
            Statement::SearchDifferently { field: None } => f.write_str("search in another way"),
            Statement::Fault { field, fault } => write!(f, "`{field}` {fault}"),
        }
    }
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Fault::Invalid => "is at fault",
            Fault::NotFound => "names something that does not exist",
            Fault::NothingFound => "finds nothing",
            Fault::State => "names something in a state that does not allow the call",
            Fault::Internal => "makes the server fail",
        })
    }
}

fn words(relation: Relation) -> &'static str {
    match relation {
        Relation::AtLeast => "at least",
        Relation::Above => "above",
        Relation::AtMost => "at most",
        Relation::Below => "below",
        Relation::MultipleOf => "a multiple of",
    }
}
