//! Security tests of pages: a page loads nothing from elsewhere, and its policy allows only its own script.

use std::collections::BTreeSet;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use healbench_render::html::content_security_policy;
use sha2::{Digest as _, Sha256};

use crate::hostile;
use crate::pages::{all, read};
use crate::renderers::SAMPLES;

/// Returns all kinds of pages, each with true if it is served.
fn pages() -> Vec<(String, bool)> {
    let own = SAMPLES.iter().map(|sample| (sample.page(), false));
    // Reports and comparisons exist as files and as served pages; the other pages are only served.
    let more = hostile::pages("plain words").into_iter().zip([false, true, true, true, false, true, true, true]);
    own.chain(more).collect()
}

/// Returns the content of an element.
fn inside<'a>(page: &'a str, tag: &str) -> &'a str {
    let (_, rest) = page.split_once(&format!("<{tag}>")).unwrap();
    rest.split_once(&format!("</{tag}>")).unwrap().0
}

#[test]
fn the_policy_lets_the_script_run_that_is_there_and_no_other() {
    for (page, served) in pages() {
        let policy = read(&page, |document| {
            let mut metas = all(document.root(), "meta");
            let found = metas.find(|meta| meta.attribute("http-equiv") == Some("Content-Security-Policy"));
            found.unwrap().attribute("content").unwrap().to_owned()
        });
        assert_eq!(policy, content_security_policy(served));
        let hash = STANDARD.encode(Sha256::digest(inside(&page, "script")));
        let rules: Vec<&str> = policy.split("; ").collect();
        assert!(rules.contains(&"default-src 'none'"), "{policy}");
        assert!(rules.contains(&format!("script-src 'sha256-{hash}'").as_str()), "{policy}");
        assert_eq!(rules.contains(&"connect-src 'self'"), served, "{policy}");
        assert!(!policy.contains("http") && !policy.contains('*') && !policy.contains("unsafe-eval"), "{policy}");
    }
}

#[test]
fn a_page_refers_to_nothing_elsewhere() {
    const LOADS: [&str; 10] =
        ["src", "href", "srcset", "action", "formaction", "poster", "data", "background", "ping", "cite"];
    for (page, served) in pages() {
        read(&page, |document| {
            let attributes = document.descendants().flat_map(|node| node.attributes());
            for attribute in attributes {
                let (name, value) = (attribute.name(), attribute.value());
                assert!(!name.starts_with("on"), "{name}={value}");
                let within = value.starts_with('#') || value == "data:,";
                let relative = served && !value.contains(':') && !value.starts_with("//");
                assert!(!LOADS.contains(&name) || within || relative, "{name}={value}");
                assert!(value.matches("url(").count() == value.matches("url(#").count(), "{name}={value}");
            }
            let refreshes = all(document.root(), "meta").filter(|meta| meta.attribute("http-equiv") == Some("refresh"));
            assert_eq!(refreshes.count(), 0);
        });
        let style = inside(&page, "style");
        assert!(!["url(", "@import", "http:", "https:", "//", "<"].iter().any(|word| style.contains(word)));
        let script = inside(&page, "script");
        assert!(!["http:", "https:", "import(", "eval(", "innerHTML", "</"].iter().any(|word| script.contains(word)));
    }
}

#[test]
fn every_reference_within_a_page_leads_somewhere() {
    for (page, _) in pages() {
        read(&page, |document| {
            let mut ids = BTreeSet::new();
            for id in document.descendants().filter_map(|node| node.attribute("id")) {
                assert!(ids.insert(id), "{id} is there twice");
            }
            let names = ["href", "for", "aria-labelledby", "aria-describedby", "aria-controls", "data-tools"];
            for (name, value) in document.descendants().flat_map(|node| names.map(|name| (name, node.attribute(name))))
            {
                let Some(value) = value.filter(|value| name != "href" || value.starts_with('#')) else { continue };
                for id in value.split_whitespace() {
                    assert!(ids.contains(id.trim_start_matches('#')), "{name}={value}");
                }
            }
        });
    }
}

#[test]
fn the_same_report_gives_the_same_page() {
    for sample in SAMPLES.iter() {
        assert!(sample.page() == sample.page(), "{}", sample.name);
    }
}
