//! Outputs for programs: results for code scanning, and badges.

use healbench_audit::{SourceFile, badge, sarif, svg};

use super::*;

/// The results of a rule.
fn results<'v>(log: &'v Value, rule: &str) -> Vec<&'v Value> {
    log["runs"][0]["results"].as_array().unwrap().iter().filter(|result| result["ruleId"] == rule).collect()
}

fn text(result: &Value) -> &str {
    result["message"]["text"].as_str().unwrap()
}

#[test]
fn each_text_that_lacks_something_is_a_result() {
    let report = audited("audited", &options());
    let file = SourceFile {
        path: "src/a server.js".to_owned(),
        text: "// mutters and tells\nserver.tool('mutters', run);\n".to_owned(),
    };
    let log = sarif(&report, Some(&file));
    let rules = log["runs"][0]["tool"]["driver"]["rules"].as_array().unwrap();
    let all = log["runs"][0]["results"].as_array().unwrap();
    let lacking = report.templates.iter().filter(|template| !template.lacks.is_empty()).count();
    let of_texts = all.iter().filter(|result| !result["properties"]["calls"].is_null()).count();
    assert_eq!(of_texts, lacking);
    let of_findings = report
        .findings
        .iter()
        .filter(|finding| !["soft-error", "no-field", "no-remedy"].contains(&&*finding.id))
        .count();
    assert_eq!(all.len(), lacking + of_findings);
    // The most severe first, and each with its rule.
    let order = ["error", "warning", "note"];
    let levels: Vec<usize> =
        all.iter().map(|result| order.iter().position(|level| result["level"] == **level).unwrap()).collect();
    assert!(levels.is_sorted() && (0..3).all(|level| levels.contains(&level)), "{levels:?}");
    for result in all {
        let rule = &rules[usize::try_from(result["ruleIndex"].as_u64().unwrap()).unwrap()];
        assert_eq!((&rule["id"], &rule["defaultConfiguration"]["level"]), (&result["ruleId"], &result["level"]));
        let place = &result["locations"][0]["physicalLocation"];
        assert_eq!(place["artifactLocation"]["uri"], "src/a%20server.js");
        assert!(!text(result).contains('\u{1b}'), "{result}");
    }
    let soft = results(&log, "soft-error");
    assert!(!soft.is_empty() && soft.iter().all(|result| result["level"] == "error"), "{soft:?}");
    let muttered = results(&log, "no-remedy");
    let [muttered] = &muttered[..] else { panic!("{muttered:?}") };
    let said = text(muttered);
    assert!(
        said.starts_with(
            "mutters: the text of an error lacks the field, what would be right, a way to the right call.\n"
        ) && said.contains("\nSent: {{}}\nAnswer (")
            && said.contains(", with what it lacks): MCP error -32602: Invalid params. city: Required."),
        "{said}"
    );
    let place = &muttered["locations"][0];
    assert_eq!(place["logicalLocations"][0]["name"], "mutters");
    let region = json!({"startLine": 2, "startColumn": 14, "endLine": 2, "endColumn": 21});
    assert_eq!(place["physicalLocation"]["region"], region);
    // Nothing is said of a tool that says all.
    let of_tells = all.iter().filter(|result| text(result).starts_with("tells: the text"));
    assert_eq!(of_tells.count(), 0);
}

#[test]
fn results_are_the_same_in_later_audits() {
    let schema = fields(&[("page!", "string"), ("size", "integer")]);
    let rules = |text: &str| json!([[["!page:string"], text], [["size:string"], text], [[], "ok"]]);
    let fingerprints = |tool: &str, text: &str, file: Option<&SourceFile>| -> Vec<String> {
        let log = sarif(&answering(&[(tool, schema.clone(), rules(text))], &options()), file);
        let found = results(&log, "no-remedy");
        found.iter().map(|result| result["partialFingerprints"]["primaryLocationLineHash"].to_string()).collect()
    };
    let first = fingerprints("open", "!Bad call 17", None);
    assert_eq!(first.len(), 1);
    // Another number, another place of the tool in the file.
    let moved = SourceFile { path: "server.js".to_owned(), text: "\n\n\"open\"".to_owned() };
    assert_eq!(fingerprints("open", "!Bad call 18", Some(&moved)), first);
    assert_ne!(fingerprints("open", "!Worse call", None), first);
    assert_eq!(
        sarif(&audited("unmarked", &options()), None)["runs"][0]["invocations"][0]["executionSuccessful"],
        false
    );
    // No result has the fingerprint of another, also of two findings that are alike.
    let mut report = audited("audited", &options());
    report.findings.push(report.findings[0].clone());
    let log = sarif(&report, None);
    let all = log["runs"][0]["results"].as_array().unwrap();
    let different: std::collections::BTreeSet<String> =
        all.iter().map(|result| result["partialFingerprints"].to_string()).collect();
    assert_eq!(different.len(), all.len());
}

#[test]
fn a_text_that_says_all_and_leads_nowhere_is_a_result_too() {
    let mut report = audited("audited", &options());
    let tells = report.tools.iter_mut().find(|tool| tool.name == "tells").unwrap();
    let probe = tells.probes.iter_mut().find(|probe| probe.repaired == Some(true)).unwrap();
    probe.repaired = Some(false);
    let log = sarif(&report, None);
    let found = results(&log, "no-repair");
    assert_eq!((found.len(), &found[0]["level"]), (1, &json!("warning")));
    // GitHub takes no result without a place.
    let place = &found[0]["locations"][0]["physicalLocation"];
    assert_eq!((&place["artifactLocation"]["uri"], &place["region"]["startLine"]), (&json!("tools.json"), &json!(1)));
}

#[test]
fn a_picture_of_the_score_holds_nothing_that_runs() {
    let mut report = audited("audited", &options());
    report.server.name = Some("a\"/></title><script>alert(1)</script>&\u{1b}".to_owned());
    let picture = svg(&report);
    assert!(!picture.contains("<script") && !picture.contains('\u{1b}'), "{picture}");
    let title = "of a&quot;/&gt;&lt;/title&gt;&lt;script&gt;alert(1)&lt;/script&gt;&amp;\\u{1b}";
    assert!(picture.contains(title), "{picture}");
    // Each element is closed, and nothing is loaded.
    assert_eq!(picture.matches("<g").count(), picture.matches("</g>").count());
    assert!(!picture.contains("href") && picture.matches("http").count() == 1, "{picture}");
    // The badge has nothing of the server.
    assert_eq!(badge(&report)["message"], "25.0");
    report.score = None;
    assert_eq!((&badge(&report)["message"], &badge(&report)["color"]), (&json!("no score"), &json!("#9f9f9f")));
}
