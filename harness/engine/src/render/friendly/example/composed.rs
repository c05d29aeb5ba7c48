//! Objects and lists, from examples of what they hold.

use serde_json::{Map, Value};

use super::super::place::Place;
use super::{Around, Examples, Shown};

/// A list that has to be longer gets no example.
const LONGEST: usize = 64;

struct Property<'s> {
    name: &'s str,
    required: bool,
    values: Vec<Value>,
}

impl<'s> Examples<'s> {
    /// Candidates with all declared properties, then with those that are required.
    pub(super) fn objects(&self, place: &Place<'s>, want: usize, shown: Shown, around: &Around<'_, 's>) -> Vec<Value> {
        let required = place.required();
        let mut properties: Vec<Property<'_>> = Vec::new();
        let undeclared = required.iter().copied().filter(|name| place.declared(name).is_none());
        for name in place.names().into_iter().chain(undeclared) {
            let property = place.declared(name).or_else(|| place.further());
            let values = match property {
                Some(property) => self.make(&property, want, shown, Some(around)),
                None => vec![Value::from("example")],
            };
            let required = required.contains(&name);
            if values.is_empty() && required {
                return Vec::new();
            }
            properties.push(Property { name, required, values });
        }
        let most = count(place.ceiling("maxProperties")).unwrap_or(usize::MAX);
        let mut out = Vec::new();
        for all in [true, false] {
            if all && shown == Shown::Required {
                continue;
            }
            for variant in 0..want {
                let optional = most.saturating_sub(required.len());
                let mut object = Map::new();
                let mut room = optional;
                for property in properties.iter().filter(|property| property.required || all) {
                    if property.values.is_empty() || (!property.required && room == 0) {
                        continue;
                    }
                    room -= usize::from(!property.required);
                    object.insert(property.name.to_owned(), property.values[variant % property.values.len()].clone());
                }
                self.fill_up(place, &mut object, all, around);
                out.push(Value::Object(object));
            }
        }
        out
    }

    /// Adds properties of free names where the count asks for it, or where the object is a map.
    fn fill_up(&self, place: &Place<'s>, object: &mut Map<String, Value>, all: bool, around: &Around<'_, 's>) {
        let least = count(place.floor("minProperties")).unwrap_or(0);
        let is_map =
            all && place.names().is_empty() && place.first("additionalProperties").is_some_and(Value::is_object);
        let wanted = least.max(usize::from(is_map)).min(LONGEST);
        let value = || match place.further() {
            Some(place) => self.make(&place, 1, Shown::Declared, Some(around)).pop(),
            None => Some(Value::from("example")),
        };
        if object.len() >= wanted {
            return;
        }
        let Some(value) = value() else { return };
        for index in 1..=LONGEST * 2 {
            if object.len() >= wanted {
                return;
            }
            let name = if index == 1 { "example".to_owned() } else { format!("example{index}") };
            object.entry(name).or_insert_with(|| value.clone());
        }
    }

    /// Candidates with one item more than none, or as many as have to be there; an empty list last.
    pub(super) fn arrays(&self, place: &Place<'s>, want: usize, around: &Around<'_, 's>) -> Vec<Value> {
        let least = count(place.floor("minItems")).unwrap_or(0);
        let most = count(place.ceiling("maxItems")).unwrap_or(usize::MAX);
        let tuple = place.each("prefixItems").filter_map(Value::as_array).map(Vec::len).max().unwrap_or(0);
        let contained = if place.has("contains") { count(place.floor("minContains")).unwrap_or(1) } else { 0 };
        let length = least.max(tuple).max(contained).max(1).min(most);
        if length > LONGEST {
            return Vec::new();
        }
        let unique = place.each("uniqueItems").any(|on| *on == true);
        let different = if unique { length + want - 1 } else { want };
        let mut columns: Vec<Vec<Value>> = Vec::new();
        // Plain items are all alike, so they are made once.
        let mut plain: Option<Vec<Value>> = None;
        for index in 0..length {
            let item = if index < contained { place.contained(index) } else { place.item(index) };
            let make = || match &item {
                Some(item) => self.make(item, different, Shown::Declared, Some(around)),
                None => (0..different)
                    .map(|n| if n == 0 { "example".into() } else { format!("example{}", n + 1).into() })
                    .collect(),
            };
            let values =
                if index < tuple || index < contained { make() } else { plain.get_or_insert_with(make).clone() };
            if values.is_empty() {
                break;
            }
            columns.push(values);
        }
        let mut out = Vec::new();
        for variant in 0..want {
            let mut items: Vec<Value> = Vec::new();
            for values in &columns {
                let pick = (0..values.len()).map(|step| &values[(variant + step) % values.len()]);
                let Some(item) = pick.into_iter().find(|item| !unique || !items.contains(item)) else { break };
                items.push(item.clone());
            }
            out.push(Value::Array(items));
        }
        out.push(Value::Array(Vec::new()));
        out
    }
}

fn count(value: Option<&Value>) -> Option<usize> {
    // Schemas may write a count as 2.0.
    value.and_then(Value::as_f64).map(|count| count as usize)
}
