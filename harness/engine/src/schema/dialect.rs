//! Conversion of schemas of older drafts to draft 2020-12.

use std::collections::BTreeMap;

use healbench_core::Object;
use serde_json::{Value, json};

use crate::keywords::{KeywordKind, keyword_kind};

/// Returns `schema` as a schema of draft 2020-12 without identifiers.
///
/// Converts the keywords of older drafts: tuples in `items`, `additionalItems`, `dependencies`, `$recursiveRef`, booleans
/// for `exclusiveMinimum`, `exclusiveMaximum` and `required`, and types in capitals. References to identifiers and anchors
/// become JSON pointers, not percent-encoded; of equal dynamic anchors, the outermost counts. References to the metaschema of a
/// draft become the keyword `$metaschema`. Keywords that are null are left out, except values (`const`, `default`). Keywords
/// next to `$ref` are left out if the root's `$schema` is one of draft 07 or earlier.
pub fn upgrade_schema(schema: &Value) -> Value {
    let draft = schema.get("$schema").and_then(Value::as_str).unwrap_or_default();
    let mut upgrade = Upgrade {
        root: schema,
        overrides_siblings: draft.contains("json-schema.org/draft-0"),
        resources: BTreeMap::new(),
        anchors: BTreeMap::new(),
    };
    upgrade.index(schema, "", &Base { pointer: String::new(), uri: String::new() });
    upgrade.schema(schema, &Base { pointer: String::new(), uri: String::new() })
}

struct Upgrade<'a> {
    root: &'a Value,
    /// True if `$ref` overrides the keywords next to it.
    overrides_siblings: bool,
    /// The pointers of schemas by identifier, as written and as resolved.
    resources: BTreeMap<String, String>,
    /// The pointers of schemas by the pointer of their resource and the anchor, and by the anchor alone.
    anchors: BTreeMap<String, String>,
}

/// The schema that references without an identifier refer to.
struct Base {
    pointer: String,
    uri: String,
}

impl Upgrade<'_> {
    /// Indexes the identifiers and anchors in the schema at `pointer`.
    fn index(&mut self, schema: &Value, pointer: &str, base: &Base) {
        let Some(map) = schema.as_object() else { return };
        let (resource, anchor) = identifier(map).map_or(("", ""), |id| id.split_once('#').unwrap_or((id, "")));
        let own_base =
            (!resource.is_empty()).then(|| Base { pointer: pointer.to_owned(), uri: join(&base.uri, resource) });
        if let Some(base) = &own_base {
            for name in [resource, &base.uri] {
                self.resources.entry(name.to_owned()).or_insert_with(|| pointer.to_owned());
            }
        }
        let base = own_base.as_ref().unwrap_or(base);
        let named = ["$anchor", "$dynamicAnchor"].into_iter().filter_map(|keyword| map.get(keyword)?.as_str());
        for anchor in named.chain([anchor]).filter(|anchor| !anchor.is_empty()) {
            for name in [format!("{}#{anchor}", base.pointer), anchor.to_owned()] {
                self.anchors.entry(name).or_insert_with(|| pointer.to_owned());
            }
        }
        for (keyword, value) in map {
            let at = format!("{pointer}/{keyword}");
            match (kind_of(keyword, value), value) {
                (KeywordKind::Schema, child) => self.index(child, &at, base),
                (KeywordKind::SchemaMap, Value::Object(children)) => {
                    for (name, child) in children {
                        self.index(child, &format!("{at}/{}", escape(name)), base);
                    }
                }
                (KeywordKind::SchemaList, Value::Array(children)) => {
                    for (index, child) in children.iter().enumerate() {
                        self.index(child, &format!("{at}/{index}"), base);
                    }
                }
                _ => {}
            }
        }
    }

    fn schema(&self, schema: &Value, base: &Base) -> Value {
        let Some(map) = schema.as_object() else { return schema.clone() };
        let own_base = identifier(map).and_then(|id| {
            let uri = join(&base.uri, id.split('#').next().filter(|resource| !resource.is_empty())?);
            Some(Base { pointer: self.resources.get(&uri)?.clone(), uri })
        });
        let base = own_base.as_ref().unwrap_or(base);
        let refers = map.get("$ref").is_some_and(Value::is_string);
        let mut out = Object::new();
        for (keyword, value) in map {
            let is_overridden = self.overrides_siblings && refers && !stays_beside_reference(keyword);
            if is_overridden || value.is_null() && !matches!(keyword.as_str(), "const" | "default") {
                continue;
            }
            self.keyword(keyword, value, map, base, &mut out);
        }
        require_properties(map, &mut out);
        Value::Object(out)
    }

    /// Adds the converted keyword to `out`. `map` is the schema that has it.
    fn keyword(&self, keyword: &str, value: &Value, map: &Object, base: &Base, out: &mut Object) {
        let mut insert = |keyword: &str, value: Value| drop(out.insert(keyword.to_owned(), value));
        let has_tuple = map.get("items").is_some_and(Value::is_array);
        match (keyword, value) {
            (
                "$schema" | "$id" | "id" | "$anchor" | "$dynamicAnchor" | "$vocabulary",
                Value::String(_) | Value::Object(_),
            )
            | ("$recursiveAnchor" | "required", Value::Bool(_)) => {}
            ("$ref" | "$recursiveRef" | "$dynamicRef", Value::String(reference)) => {
                let is_anchor = keyword != "$dynamicRef";
                match (self.target(reference, base, is_anchor), metaschema(reference)) {
                    (None, Some(draft)) => insert(METASCHEMA, json!(draft)),
                    (target, _) => insert("$ref", Value::String(target.unwrap_or_else(|| reference.clone()))),
                }
            }
            ("items", Value::Array(items)) if items.is_empty() => {}
            ("items", Value::Array(items)) => {
                insert("prefixItems", items.iter().map(|item| self.schema(item, base)).collect());
            }
            ("additionalItems", others) if has_tuple => insert("items", self.schema(others, base)),
            ("additionalItems", _) => {}
            ("exclusiveMinimum", Value::Bool(exclusive)) => {
                if let Some(limit) = map.get("minimum").filter(|_| *exclusive) {
                    insert("exclusiveMinimum", limit.clone());
                }
            }
            ("exclusiveMaximum", Value::Bool(exclusive)) => {
                if let Some(limit) = map.get("maximum").filter(|_| *exclusive) {
                    insert("exclusiveMaximum", limit.clone());
                }
            }
            ("minimum", _) if map.get("exclusiveMinimum") == Some(&json!(true)) => {}
            ("maximum", _) if map.get("exclusiveMaximum") == Some(&json!(true)) => {}
            ("required", Value::Array(names)) => {
                let mut distinct: Vec<Value> = Vec::new();
                names.iter().for_each(|name| {
                    if !distinct.contains(name) {
                        distinct.push(name.clone())
                    }
                });
                insert("required", Value::Array(distinct));
            }
            ("type", Value::String(name)) => insert("type", type_name(name)),
            ("type", Value::Array(names)) => {
                let name = |name: &Value| name.as_str().map_or_else(|| name.clone(), type_name);
                insert("type", names.iter().map(name).collect());
            }
            ("dependencies", Value::Object(dependencies)) => {
                for (keyword, map) in self.dependencies(dependencies, base) {
                    if !map.is_empty() {
                        insert(keyword, Value::Object(map));
                    }
                }
            }
            _ => insert(keyword, self.nested(keyword, value, base)),
        }
    }

    /// Returns the keywords that `dependencies` was split into.
    fn dependencies(&self, dependencies: &Object, base: &Base) -> [(&'static str, Object); 2] {
        let (required, schemas): (Vec<_>, Vec<_>) = dependencies.iter().partition(|(_, value)| value.is_array());
        let required = required.into_iter().map(|(name, value)| (name.clone(), value.clone())).collect();
        let schema = |(name, value): (&String, &Value)| (name.clone(), self.schema(value, base));
        [("dependentRequired", required), ("dependentSchemas", schemas.into_iter().map(schema).collect())]
    }

    /// Converts the schemas in the value of a keyword.
    fn nested(&self, keyword: &str, value: &Value, base: &Base) -> Value {
        match (keyword_kind(keyword), value) {
            (KeywordKind::Schema, child) => self.schema(child, base),
            (KeywordKind::SchemaMap, Value::Object(children)) => {
                let child = |(name, child): (&String, &Value)| (name.clone(), self.schema(child, base));
                Value::Object(children.iter().map(child).collect())
            }
            (KeywordKind::SchemaList, Value::Array(children)) => {
                children.iter().map(|child| self.schema(child, base)).collect()
            }
            _ => value.clone(),
        }
    }

    /// Returns a reference to the same schema as a pointer from the root, or `None` if it refers to nothing known. Anchors
    /// are those of the resource if `is_local`, or else the outermost.
    fn target(&self, reference: &str, base: &Base, is_local: bool) -> Option<String> {
        let (resource, fragment) = reference.split_once('#').unwrap_or((reference, ""));
        let resource = match resource {
            "" => base.pointer.as_str(),
            name => self.resources.get(name).or_else(|| self.resources.get(&join(&base.uri, name)))?,
        };
        let pointer = if fragment.is_empty() || fragment.starts_with('/') {
            // Generated identifiers like `/properties/a` are not meant as bases.
            let decoded = percent_decoded(fragment);
            let candidates =
                [&decoded, fragment].map(|fragment| [format!("{resource}{fragment}"), fragment.to_owned()]);
            candidates.into_iter().flatten().into_iter().find(|pointer| self.root.pointer(pointer).is_some())?
        } else {
            let local = self.anchors.get(&format!("{resource}#{fragment}")).filter(|_| is_local);
            local.or_else(|| self.anchors.get(fragment))?.clone()
        };
        Some(format!("#{}", self.converted_pointer(&pointer)))
    }

    /// Returns the pointer to the same schema after the conversion.
    fn converted_pointer(&self, pointer: &str) -> String {
        let mut at = Some(self.root);
        let mut out = String::new();
        for token in pointer.split('/').skip(1) {
            let has_tuple = at.and_then(|schema| schema.get("items")).is_some_and(Value::is_array);
            let converted = match token {
                "items" if has_tuple => "prefixItems",
                "additionalItems" if has_tuple => "items",
                "dependencies" => "dependentSchemas",
                other => other,
            };
            out.push_str(&format!("/{converted}"));
            at = at.and_then(|schema| schema.pointer(&format!("/{token}")));
        }
        out
    }
}

/// Returns the kind of the keyword's value in any draft.
fn kind_of(keyword: &str, value: &Value) -> KeywordKind {
    match keyword {
        "items" if value.is_array() => KeywordKind::SchemaList,
        "additionalItems" => KeywordKind::Schema,
        "dependencies" => KeywordKind::SchemaMap,
        other => keyword_kind(other),
    }
}

/// Adds the properties with `required: true`, as in draft 03, to `required`.
fn require_properties(map: &Object, out: &mut Object) {
    let properties = map.get("properties").and_then(Value::as_object).into_iter().flatten();
    let required = properties.filter(|(_, schema)| schema.get("required") == Some(&json!(true)));
    let names: Vec<Value> = required.map(|(name, _)| Value::from(name.as_str())).collect();
    if names.is_empty() {
        return;
    }
    if let Value::Array(known) = out.entry("required").or_insert_with(|| json!([])) {
        names.into_iter().for_each(|name| {
            if !known.contains(&name) {
                known.push(name)
            }
        });
    }
}

/// Returns true for keywords that do not constrain the value, so that a reference does not override them.
fn stays_beside_reference(keyword: &str) -> bool {
    matches!(keyword, "$ref" | "$defs" | "definitions" | "title" | "description" | "default" | "examples" | "$comment")
}

fn identifier(map: &Object) -> Option<&str> {
    map.get("$id").or_else(|| map.get("id"))?.as_str()
}

/// The keyword for values that must be schemas of a draft: `draft-07`, `2020-12`.
pub(super) const METASCHEMA: &str = "$metaschema";

/// Returns the draft of a reference to a metaschema.
fn metaschema(reference: &str) -> Option<&str> {
    let path = reference.strip_prefix("http://").or_else(|| reference.strip_prefix("https://"))?;
    let draft = path.strip_prefix("json-schema.org/")?.trim_end_matches('#').strip_suffix("/schema")?;
    Some(draft.strip_prefix("draft/").unwrap_or(draft))
}

/// Decodes a percent-encoded fragment; what is not UTF-8 stays as it is.
fn percent_decoded(fragment: &str) -> String {
    let mut bytes = Vec::with_capacity(fragment.len());
    let mut rest = fragment.as_bytes();
    while let Some((first, after)) = rest.split_first() {
        let digits = after.get(..2).filter(|_| *first == b'%').and_then(|digits| std::str::from_utf8(digits).ok());
        match digits.and_then(|digits| u8::from_str_radix(digits, 16).ok()) {
            Some(byte) => {
                bytes.push(byte);
                rest = &after[2..];
            }
            None => {
                bytes.push(*first);
                rest = after;
            }
        }
    }
    String::from_utf8(bytes).unwrap_or_else(|_| fragment.to_owned())
}

/// Resolves a URI reference without a fragment, as far as identifiers of schemas need it.
fn join(base: &str, reference: &str) -> String {
    let is_absolute = reference.contains("://") || reference.starts_with("urn:");
    let authority = base.find("://").map(|scheme| scheme + 3);
    let directory = match authority {
        _ if is_absolute => return reference.to_owned(),
        Some(start) if reference.starts_with('/') => base[start..].find('/').map_or(base, |at| &base[..start + at]),
        _ => base.rfind('/').map_or("", |at| &base[..=at]),
    };
    let mut directory = directory.to_owned();
    let mut segments: Vec<&str> = Vec::new();
    for segment in reference.split('/') {
        match segment {
            "." => {}
            ".." if segments.pop().is_none() => directory = format!("{}/", parent(&directory)),
            ".." => {}
            segment => segments.push(segment),
        }
    }
    format!("{directory}{}", segments.join("/"))
}

/// Returns the directory around a directory: `http://x/a` for `http://x/a/b/`. That of a root is the root.
fn parent(directory: &str) -> &str {
    let inner = directory.trim_end_matches('/');
    let root = directory.find("://").map_or(0, |scheme| scheme + 3);
    inner[root.min(inner.len())..].rfind('/').map_or(inner, |at| &inner[..root + at])
}

/// Returns the name of a type in lower case, if that is one of JSON Schema.
fn type_name(name: &str) -> Value {
    let lower = name.to_ascii_lowercase();
    let known = ["string", "integer", "number", "boolean", "array", "object", "null"].contains(&lower.as_str());
    Value::String(if known { lower } else { name.to_owned() })
}

fn escape(token: &str) -> String {
    token.replace('~', "~0").replace('/', "~1")
}
