//! Tests of the gate's Markdown summary.

use crate::gate_renderers::{HOSTILE, cell, changed, hostile, report, row, sample};
use healbench_analysis::gate::{Method, Verdict};
use healbench_render::gate::markdown;

#[test]
fn markdown_for_the_summary_of_a_job() {
    insta::assert_snapshot!(markdown(&sample()), @"
    ## healbench gate: ❌ **FAIL**

    worse: tokens 4,512 → 8,574 in refund-order

    Candidate runs/new against baselines/ci.txt, policy built in: 3 fail, 2 missing, 2 inconclusive, 4 pass

    | verdict | subject | metric | base → candidate | difference | why |
    |---|---|---|---|---|---|
    | ❌ FAIL | scripted:typical · all fusion-xml | tokens | 4,512 → 8,574 per episode |  | changed in 2 of 3 scenarios, for the worse |
    | ❌ FAIL | scripted:typical · all fusion-xml | rows |  |  | rows of 1 of 3 scenarios differ where no sum does |
    | ❔ MISSING | scripted:gives-up · all fusion-xml | cell |  |  | the candidate has no such cell |
    | ❔ INCONCLUSIVE | openai:gpt-5-mini · seeded · prompt · all fusion-xml | false&#95;success | 4% → 7% | +3 points, 90% &#91;-1, 8&#93; | higher by 5 points or more is neither shown nor ruled out; about 410 pairs would settle it |
    | ❔ INCONCLUSIVE | direct/direct | time |  |  | 100 rounds; at least 501 decide |
    | ❌ FAIL (advisory) | scripted:typical · all fusion-xml | calls | 3.0 → 3.1 per episode |  | changed in 1 of 3 scenarios, for the worse |
    | ❔ MISSING (advisory) | openai:gpt-5-mini · seeded · prompt · all fusion-xml | tokens |  |  | the number is not known on both sides |
    | ✅ PASS | openai:gpt-5-mini · seeded · prompt · all fusion-xml | success | 90% → 91% | +1 points, 90% &#91;-2, 4&#93; | lower by 5 points or more is ruled out |
    | ✅ PASS | direct/identity | time | 1.0000 → 1.0010 | +0.10%, 90% &#91;-0.20%, +0.30%&#93; | at most 1% slower than direct |

    <details><summary>❌ FAIL: scripted:typical · all fusion-xml · tokens</summary>

    | scenario | base → candidate, sums over trials |
    |---|---|
    | refund-order | 8,123 → 16,246 |
    | ship-late | 901 → 900 |

    ```sh
    healbench show runs/new --scenario ship-late --agent scripted:typical --guardrails all --format fusion-xml --trial 2
    ```

    </details>

    <details><summary>❌ FAIL: scripted:typical · all fusion-xml · rows</summary>

    | scenario | base → candidate |
    |---|---|
    | find-user |  |

    ```sh
    healbench show runs/new --scenario find-user --agent scripted:typical --guardrails all --format fusion-xml --trial 0
    ```

    </details>

    <details><summary>❔ INCONCLUSIVE: openai:gpt-5-mini · seeded · prompt · all fusion-xml · false&#95;success</summary>

    | scenario | base → candidate, trials in which it holds |
    |---|---|
    | refund-order | 1 → 2 |
    | only-live | 0 → 1 |

    ```sh
    healbench show runs/new --scenario refund-order --agent openai:gpt-5-mini --opening seeded --guardrails all --format fusion-xml --trial 3
    ```

    </details>

    <details><summary>❌ FAIL (advisory): scripted:typical · all fusion-xml · calls</summary>

    | scenario | base → candidate, sums over trials |
    |---|---|
    | refund-order | 9 → 10 |

    ```sh
    healbench show runs/new --scenario refund-order --agent scripted:typical --guardrails all --format fusion-xml --trial 0
    ```

    </details>

    INCONCLUSIVE: the measurement neither shows a regression nor rules one out; this is not a pass. MISSING: what one side does not have was not compared.
    ");
}

#[test]
fn markdown_of_what_passes_is_short() {
    let rows = (0..130).map(|_| row(cell("scripted:typical"), "calls", Verdict::Pass, Method::Exact, "the same"));
    insta::assert_snapshot!(markdown(&report(Verdict::Pass, rows.collect())), @"
    ## healbench gate: ✅ **PASS**

    Candidate runs/new against baselines/ci.txt, policy built in: 130 pass
    ");
}

#[test]
fn markdown_takes_nothing_from_a_name() {
    let text = markdown(&hostile(&HOSTILE));
    let mut fenced = false;
    let mut rows = 0;
    for line in text.lines() {
        if line.starts_with("```") {
            fenced = !fenced;
            assert_eq!(line, if fenced { "```sh" } else { "```" });
        } else if fenced {
            assert!(line.starts_with("healbench show "), "{line}");
        } else {
            assert!(!line.contains(['`', '*', '_', '[', ']', '\\', '~', '$']) || line.starts_with("## "), "{line}");
            assert!(!line.contains("@o") && !line.contains(" #1"), "{line}");
            let tags: Vec<&str> = line.split('<').skip(1).map(|tag| tag.split('>').next().unwrap()).collect();
            let ours = [&["details", "summary", "/summary"][..], &["/details"], &[]];
            assert!(ours.contains(&&tags[..]), "{line}");
            let cells = line.matches('|').count();
            assert!([0, 3, 7].contains(&cells), "{line}");
            rows += usize::from(cells == 7);
        }
    }
    assert_eq!(rows, 2 + HOSTILE.len());
    let told: Vec<&str> = text.lines().filter(|line| line.contains("| ❌") || line.contains("| 1 → 2")).collect();
    insta::assert_snapshot!(told.join("\n"), @r#"
    | ❌ FAIL | &#93;&#93;&#62;&#60;/failure&#62; · all fusion-xml | &#93;&#93;&#62;&#60;/failure&#62; |  |  | &#93;&#93;&#62;&#60;/failure&#62; |
    | ❌ FAIL | &#60;x a="1"&#62;&#38;amp;' · all fusion-xml | &#60;x a="1"&#62;&#38;amp;' |  |  | &#60;x a="1"&#62;&#38;amp;' |
    | ❌ FAIL | &#92;u{1b}&#91;31mred&#92;u{0}&#92;u{8}&#92;u{9b} · all fusion-xml | &#92;u{1b}&#91;31mred&#92;u{0}&#92;u{8}&#92;u{9b} |  |  | &#92;u{1b}&#91;31mred&#92;u{0}&#92;u{8}&#92;u{9b} |
    | ❌ FAIL | 🦀 &#124;a&#124;&#96;b&#96;&#92;&#124;&#42;c&#42;&#95;d&#95;&#91;e&#93;(https://f)&#126;&#126;g&#126;&#126;&#36;h&#36; · all fusion-xml | 🦀 &#124;a&#124;&#96;b&#96;&#92;&#124;&#42;c&#42;&#95;d&#95;&#91;e&#93;(https://f)&#126;&#126;g&#126;&#126;&#36;h&#36; |  |  | 🦀 &#124;a&#124;&#96;b&#96;&#92;&#124;&#42;c&#42;&#95;d&#95;&#91;e&#93;(https://f)&#126;&#126;g&#126;&#126;&#36;h&#36; |
    | ❌ FAIL | @&#8203;octocat #&#8203;1&#92;n::error::x&#92;r&#92;n&#92;r&#92;n#&#8203; head · all fusion-xml | @&#8203;octocat #&#8203;1&#92;n::error::x&#92;r&#92;n&#92;r&#92;n#&#8203; head |  |  | @&#8203;octocat #&#8203;1&#92;n::error::x&#92;r&#92;n&#92;r&#92;n#&#8203; head |
    | ❌ FAIL | &#60;/summary&#62;&#60;script&#62;&#92;n&#96;&#96;&#96;&#92;n&#124; x &#124; · all fusion-xml | &#60;/summary&#62;&#60;script&#62;&#92;n&#96;&#96;&#96;&#92;n&#124; x &#124; |  |  | &#60;/summary&#62;&#60;script&#62;&#92;n&#96;&#96;&#96;&#92;n&#124; x &#124; |
    | &#93;&#93;&#62;&#60;/failure&#62; | 1 → 2 |
    | &#60;x a="1"&#62;&#38;amp;' | 1 → 2 |
    | &#92;u{1b}&#91;31mred&#92;u{0}&#92;u{8}&#92;u{9b} | 1 → 2 |
    | 🦀 &#124;a&#124;&#96;b&#96;&#92;&#124;&#42;c&#42;&#95;d&#95;&#91;e&#93;(https://f)&#126;&#126;g&#126;&#126;&#36;h&#36; | 1 → 2 |
    | @&#8203;octocat #&#8203;1&#92;n::error::x&#92;r&#92;n&#92;r&#92;n#&#8203; head | 1 → 2 |
    | &#60;/summary&#62;&#60;script&#62;&#92;n&#96;&#96;&#96;&#92;n&#124; x &#124; | 1 → 2 |
    "#);
}

#[test]
fn markdown_stays_below_what_github_takes() {
    for name in ["x".to_owned(), "@".repeat(300)] {
        let rows = (0..5_000).map(|_| {
            let scenarios = vec![(name.as_str(), Some(1.0), Some(2.0), None); 100];
            changed(row(cell("scripted:typical"), "calls", Verdict::Fail, Method::Exact, "changed"), &scenarios)
        });
        let text = markdown(&report(Verdict::Fail, rows.collect()));
        assert!(text.len() < 1 << 20, "{} bytes", text.len());
        assert_eq!(text.lines().filter(|line| line.starts_with("| ❌")).count(), 50);
        assert!(text.contains("\nand 4,950 more rows: `--output json` has all\n"));
        let folded = text.matches("<details>").count();
        assert_eq!(text.matches("\nand 80 more\n").count(), folded);
        match name.len() {
            1 => assert_eq!((folded, text.contains("left out")), (50, false)),
            _ => assert!(text.contains(&format!("The changes of {} rows are left out", 50 - folded)) && folded > 5),
        }
    }
}
