use serde_json::json;

use super::*;

const KEY: &str = "sk-Ab/9+z=\"q%25%e";

impl Secrets {
    fn redact_all(&self, text: &str) -> String {
        let mut value = Value::from(text);
        self.redact_json(&mut value, None).unwrap();
        value.as_str().unwrap().to_owned()
    }
}

fn secrets() -> Secrets {
    let mut secrets = Secrets::default();
    secrets.add(&format!("Bearer {KEY}"));
    secrets
}

#[test]
fn a_key_is_found_however_it_is_spelled() {
    for text in [
        KEY.to_owned(),
        KEY.to_lowercase(),
        "sk-Ab%2F9%2Bz%3D%22q%2525%25e".to_owned(),
        "sk%2dAb%2f9+z=%22q%2525%25e".to_owned(),
        "%73%6b-Ab/9+z=\"q%25%e".to_owned(),
        r#"sk-Ab\/9+z=\"q%25%e"#.to_owned(),
        r#"\u0073k-Ab\/9+z=\"q%25%e"#.to_owned(),
    ] {
        assert_eq!(secrets().redact(&format!("«{text}» said «{text}»")), "«[key]» said «[key]»", "{text}");
    }
}

#[test]
fn a_key_in_base64_is_found_at_every_alignment() {
    use base64::Engine as _;
    use base64::engine::general_purpose::{STANDARD, STANDARD_NO_PAD, URL_SAFE, URL_SAFE_NO_PAD};
    // With these bytes, both alphabets have characters of their own in the text.
    const KEY: &str = "sk-~~~???>>>Ab/9+z";
    let mut secrets = Secrets::default();
    secrets.add(KEY);
    for before in ["", "a", "ab", "abc", "Bearer "] {
        for after in ["", "x", "xy", "xyz"] {
            let text = format!("{before}{KEY}{after}");
            for engine in [STANDARD, STANDARD_NO_PAD, URL_SAFE, URL_SAFE_NO_PAD] {
                let encoded = engine.encode(&text);
                let wrapped: String = encoded.chars().flat_map(|c| ['\n', c]).collect();
                for spelled in [encoded.clone(), encoded.replace('=', "%3D").replace('/', "\\/"), wrapped] {
                    let clean = secrets.redact_all(&spelled);
                    assert!(clean.contains(REDACTED), "{spelled}");
                    // The rest must not decode to any byte of the key.
                    let rest: String = clean.replace(REDACTED, "").split_whitespace().collect();
                    let rest = rest.replace("%3D", "").replace('=', "");
                    let surrounding = engine.encode(before).len() + engine.encode(after).len() + 2;
                    assert!(rest.len() <= surrounding, "{clean} of {spelled}");
                }
            }
        }
    }
}

#[test]
fn a_key_is_found_between_blanks_and_escapes() {
    let hex: String = KEY.bytes().map(|byte| format!("{byte:02X}")).collect();
    let between = |separator: &str| KEY.chars().map(|c| format!("{c}{separator}")).collect::<String>();
    let escaped = |escape: &dyn Fn(u32) -> String| KEY.chars().map(|c| escape(u32::from(c))).collect::<String>();
    let spelled = [
        " ",
        "\n",
        "\t  ",
        "\u{200b}",
        "\u{a0}",
        "\u{ad}",
        "\u{feff}\u{2060}",
        "\\n",
        "\\u200B",
        "%20",
        "%E2%80%8b",
        "&nbsp;",
        "&#8203;",
        "-",
        " - ",
        "_",
        "\u{1b}[31m",
        "\\u001b[0;1m",
        "\\\\n",
        "\\\\u200b",
    ]
    .map(between);
    let escapes = [
        escaped(&|c| format!("%{c:02x}")),
        escaped(&|c| format!("%{c:02X}")),
        escaped(&|c| format!("\\u{c:04X}")),
        escaped(&|c| format!("\\u{{{c:x}}}")),
        escaped(&|c| format!("\\x{c:02x}")),
        escaped(&|c| format!("&#{c};")),
        escaped(&|c| format!("&#x{c:X};")),
        escaped(&|c| format!("%{c:02x}\n")),
        escaped(&|c| format!("\\\\u{c:04x}")),
        serde_json::to_string(&serde_json::to_string(KEY).unwrap())
            .unwrap()
            .replace("\"\\\"", "")
            .replace("\\\"\"", ""),
    ];
    for text in spelled.into_iter().chain(escapes).chain([hex.clone(), hex.to_lowercase()]) {
        let clean = secrets().redact_all(&format!("«{text}»"));
        let rest = clean.strip_prefix("«[key]").unwrap_or_else(|| panic!("{clean} of {text}"));
        // Only the separator after the last character may be left.
        assert!(rest.len() < 16 && !rest.contains("5e"), "{clean} of {text}");
    }
}

#[test]
fn a_key_with_other_letters_is_found() {
    let secrets = |key: &str| {
        let mut secrets = Secrets::default();
        secrets.add(key);
        secrets
    };
    for text in [
        "passwortü99",
        "PASSWORTÜ99",
        "passwort\\u00fc99",
        "passwort\\u00FC99",
        "passwort&#252;99",
        "p-a-s-s-w-o-r-t-ü-9-9",
    ] {
        assert_eq!(secrets("passwortü99").mask(&format!("login of {text} failed")), "login of [key] failed");
    }
    // A beginning may end within a letter of another word.
    assert_eq!(secrets("passwortü").mask("passwortö"), "[key]");
    let key = "Qw3rTy7uIoPz9XcV";
    for text in ["Qw3r' + 'Ty7uIoPz9XcV", "**Qw3r**Ty7uIoPz9XcV", "Qw3rTy7u\\\nIoPz9XcV", "[\"Q\",\"w3rTy7uIoPz9XcV\"]"]
    {
        let clean = secrets(key).mask(text);
        assert!(clean.contains(REDACTED) && !clean.contains("XcV"), "{clean} of {text}");
    }
    assert_eq!(secrets("a/b?c=d&e/f").mask("a%252Fb%253fc%253Dd%2526e%252Ff"), REDACTED);
}

#[test]
fn redacting_takes_time_in_proportion_to_the_text() {
    let key = "sk-proj-".to_owned() + &"a1B2c3D4".repeat(20);
    let mut secrets = Secrets::default();
    secrets.add(&key);
    // Texts of which many positions look like the beginning of the key, with many readings.
    let half = &key[..key.len() / 2 - 1];
    let near = [
        half.repeat(20_000),
        "s   k   ".repeat(200_000),
        format!("s{}", " ".repeat(300)).repeat(5_000),
        "%73%6b".repeat(200_000),
        "\\u0073".repeat(200_000),
    ];
    for text in near {
        let started = std::time::Instant::now();
        secrets.redact_all(&text);
        // About a second for 1 MB without a limit on the work at each position would be hours at 16 MB.
        assert!(started.elapsed().as_secs() < 20, "{:?} for {} bytes", started.elapsed(), text.len());
    }
}

#[test]
fn what_breaks_off_in_a_key_is_cut_as_well() {
    assert_eq!(secrets().redact("wrong: Bearer sk-Ab/"), "wrong: Bearer [key]");
    assert_eq!(secrets().redact("wrong: sk-Ab/9+z…"), "wrong: [key]…");
    assert_eq!(secrets().redact("sk-A is how keys begin"), "sk-A is how keys begin");
}

#[test]
fn a_word_is_no_secret() {
    let mut secrets = Secrets::default();
    secrets.add("ollama");
    assert_eq!(secrets.redact("ollama is busy"), "ollama is busy");
}

#[test]
fn messages_are_short_and_visible() {
    assert_eq!(secrets().redact("\u{1b}[31mred\nline\u{202e}\u{200b}"), r"\u{1b}[31mred\nline\u{202e}\u{200b}");
    let long = secrets().redact(&"ä".repeat(5000));
    assert_eq!(long.chars().count(), 301);
    // A key that spans the limit is replaced before the text is truncated.
    let across = secrets().redact(&format!("{}{KEY}", "x".repeat(296)));
    assert_eq!(across, format!("{}[key…", "x".repeat(296)));
}

#[test]
fn json_is_redacted_in_values_and_names() {
    let mut value = json!({"a": [KEY, {"b": format!("x{KEY}x")}], KEY: 1, "c": "sk-Ab/"});
    secrets().redact_json(&mut value, None).unwrap();
    assert_eq!(value.to_string(), r#"{"a":["[key]",{"b":"x[key]x"}],"[key]":1,"c":"sk-Ab/"}"#);
}

#[test]
fn a_number_that_is_a_secret_is_replaced_as_a_whole() {
    let mut secrets = Secrets::default();
    secrets.add("8675309000");
    let mut value = json!({"id": 8_675_309_000_i64, "other": 86_753_090_001_i64});
    secrets.mask_json(&mut value);
    assert_eq!(value.to_string(), r#"{"id":"[key]","other":86753090001}"#);
}

#[test]
fn the_value_of_a_variable_is_searched_by_what_it_is() {
    let of = |name: &str, value: &str| {
        let mut secrets = Secrets::default();
        secrets.add_variable(name, value);
        secrets
    };
    // A short one only if its name says so, and as a word.
    assert_eq!(of("DB_PASS", "h0rse").mask("h0rse, h0rses, (h0rse)"), "[key], h0rses, ([key])");
    assert_eq!(of("PORT", "8080").mask("port 8080"), "port 8080");
    assert_eq!(of("TOKEN", "abc").mask("abc"), "abc");
    // Lines of a longer one, and the password of an address.
    let pem = "-----BEGIN KEY-----\nMIIEvAIBADANBgkqhkiG\n9w0BAQEFAASCBKYwggSi\n-----END KEY-----";
    assert_eq!(of("PEM", pem).mask("line 2: 9w0BAQEFAASCBKYwggSi"), "line 2: [key]");
    let database = of("DATABASE_URL", "postgres://ann:h0rse-battery@db:5432/shop");
    assert_eq!(database.mask("login of ann with h0rse-battery failed"), "login of ann with [key] failed");
    assert_eq!(database.mask("postgres://ann:h0rse-battery@db:5432/shop is down"), "[key] is down");
    // A folder that exists is no secret.
    let folder = std::env::temp_dir().to_string_lossy().into_owned();
    assert!(of("DATA_KEY_DIR", &folder).is_empty());
}

#[test]
fn the_secrets_of_the_process_grow() {
    keep_secret("a-secret-of-the-process");
    keep_variable("OTHER", "another-secret-of-it");
    keep_secret("a-secret-of-the-process");
    assert_eq!(super::secrets().mask("a-secret-of-the-process another-secret-of-it"), "[key] [key]");
}

#[test]
fn what_is_public_is_no_secret() {
    let mut secrets = secrets();
    secrets.add("Organization");
    secrets.add_word("path");
    let public = ["organization", "path", "other"].map(str::to_owned);
    assert_eq!(secrets.mask("organization: path"), "[key]: [key]");
    secrets.release(public.into());
    secrets.add("organization");
    assert_eq!(secrets.mask(&format!("organization: path of {KEY}")), "organization: path of [key]");
    // What is no name stays secret whoever publishes it.
    keep_secret("published-secret-9");
    keep_public(["published-secret-9"]);
    assert_eq!(super::secrets().mask("published-secret-9"), "[key]");
}

#[test]
fn secrets_do_not_print() {
    assert_eq!(format!("{:?}", secrets()), "[key]");
}
