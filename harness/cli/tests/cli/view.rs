use std::collections::BTreeMap;
use std::net::TcpStream;
use std::time::{Duration, Instant, SystemTime};

use healbench_core::Outcome;
use healbench_store::{Progress, RunDir, RunManifest, RunStatus};
use serde_json::Value;

use super::view_server::{Server, sandbox, visible_html};
use super::*;

/// Returns every file below a folder with its modification time and content.
fn files(folder: &Path) -> BTreeMap<PathBuf, (SystemTime, Vec<u8>)> {
    let mut found = BTreeMap::new();
    let mut folders = vec![folder.to_owned()];
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap()) {
            match entry.file_type().unwrap() {
                kind if kind.is_dir() => folders.push(entry.path()),
                kind if kind.is_file() => {
                    let modified = entry.metadata().unwrap().modified().unwrap();
                    found.insert(entry.path(), (modified, std::fs::read(entry.path()).unwrap()));
                }
                _ => {}
            }
        }
    }
    found
}

fn change(run: &RunDir, change: impl FnOnce(&mut RunManifest)) {
    let (_, mut manifest) = RunDir::open_any(run.path()).unwrap();
    change(&mut manifest);
    run.write_manifest(&manifest).unwrap();
}

#[test]
fn runs_are_listed_shown_and_compared_and_nothing_is_written() {
    let sandbox = sandbox();
    let before = files(&sandbox.path("runs"));
    let server = Server::start(&sandbox, &[]);
    let list = server.ok("/");
    assert!(list.contains("href=\"/runs/first/\"") && list.contains("href=\"/runs/second/\""), "{list}");
    assert!(list.contains("complete") && list.contains("quickstart/wrong-enum"), "{list}");
    let report = server.ok("/runs/first/");
    assert!(report.contains("scripted:typical") && report.contains("All runs"), "{report}");
    assert_eq!(server.ok("/runs/first/"), report);

    let json = server.json("/runs/second/report.json");
    assert_eq!(
        json,
        serde_json::from_str::<Value>(&sandbox.ok(&["report", "runs/second", "--output=json"]).out).unwrap()
    );
    assert_eq!(server.ok("/runs/second/report.csv"), sandbox.ok(&["report", "runs/second", "--output=csv"]).out);
    let moved = server.get("/runs/first");
    assert_eq!((moved.status, moved.headers["location"].as_str()), (308, "/runs/first/"));

    let compared = server.ok("/compare?base=first&candidate=second");
    let sides = "<h1><a href=\"/runs/first/\">first</a> → <a href=\"/runs/second/\">second</a></h1>";
    assert!(compared.contains("4 pairs · 0 changed") && compared.contains(sides), "{compared}");

    let episode = server.ok("/runs/first/episodes/0");
    assert!(episode.contains(", episode 0<") && episode.contains("<select name=\"guardrails\">"), "{episode}");
    assert_eq!(episode.matches("class=\"transcript\"").count(), 1, "{episode}");
    let compared_page = server.ok("/runs/first/episodes/0?versus=2");
    assert!(
        compared_page.contains("episode 2") && compared_page.matches("<div class=\"sure\">episode ").count() == 2,
        "{compared_page}"
    );
    let three = server.ok("/runs/second/episodes/0?versus=2,4");
    assert_eq!(three.matches("<div class=\"sure\">episode ").count(), 3, "{three}");
    server.missing("/runs/second/episodes/0?versus=2,99");
    let under = server.ok("/runs/first/episodes/0?guardrails=all&format=pydantic");
    assert!(under.contains("all pydantic") && under.contains("run now"), "{under}");
    // A condition of the run is taken from the run; empty form fields are ignored.
    let known = server.ok("/runs/first/episodes/0?guardrails=all&format=fusion-xml&versus=");
    assert!(known.contains("episode 2") && !known.contains("run now"), "{known}");
    assert!(files(&sandbox.path("runs")) == before, "a request wrote something");
}

#[test]
fn only_this_machine_is_answered_by_its_own_name() {
    let sandbox = sandbox();
    let server = Server::start(&sandbox, &[]);
    for host in ["127.0.0.1:PORT", "localhost:PORT", "[::1]:PORT"] {
        assert_eq!(server.send(&format!("GET / HTTP/1.1\r\nHost: {host}")).status, 200, "{host}");
    }
    let hosts = ["evil.example", "evil.example:PORT", "127.0.0.1", "127.0.0.1:1", "localhost.evil.example:PORT"];
    for host in hosts {
        let reply = server.send(&format!("GET /runs/first/ HTTP/1.1\r\nHost: {host}"));
        assert_eq!(reply.status, 421, "{host}");
        assert!(!reply.body.contains("first"), "{}", reply.body);
    }
    assert_eq!(server.send("GET http://evil.example/ HTTP/1.1\r\nHost: 127.0.0.1:PORT").status, 421);
    assert_eq!(server.send("GET / HTTP/1.0\r\nAccept: */*").status, 421);
    let elsewhere = |more: &str| server.send(&format!("GET / HTTP/1.1\r\nHost: 127.0.0.1:PORT\r\n{more}")).status;
    assert_eq!(elsewhere("Sec-Fetch-Site: cross-site\r\nSec-Fetch-Mode: no-cors\r\nSec-Fetch-Dest: image"), 403);
    assert_eq!(elsewhere("Sec-Fetch-Site: cross-site\r\nSec-Fetch-Mode: navigate\r\nSec-Fetch-Dest: iframe"), 403);
    assert_eq!(elsewhere("Sec-Fetch-Site: cross-site\r\nSec-Fetch-Mode: navigate\r\nSec-Fetch-Dest: document"), 200);
    assert_eq!(elsewhere("Sec-Fetch-Site: same-origin\r\nSec-Fetch-Mode: cors\r\nSec-Fetch-Dest: empty"), 200);
}

#[test]
fn only_get_and_head_are_answered() {
    let sandbox = sandbox();
    let server = Server::start(&sandbox, &[]);
    for method in ["POST", "PUT", "DELETE", "PATCH", "OPTIONS", "BREW"] {
        for address in ["/", "/runs/first/", "/nowhere"] {
            let head = format!("{method} {address} HTTP/1.1\r\nHost: 127.0.0.1:PORT\r\nContent-Length: 0");
            let reply = server.send(&head);
            assert_eq!((reply.status, reply.headers["allow"].as_str()), (405, "GET, HEAD"), "{method} {address}");
        }
    }
    let head = server.send("HEAD / HTTP/1.1\r\nHost: 127.0.0.1:PORT");
    assert_eq!((head.status, head.body.as_str()), (200, ""));
    assert_eq!(head.headers["content-length"], server.get("/").headers["content-length"]);
}

#[test]
fn every_response_has_security_headers() {
    let sandbox = sandbox();
    let server = Server::start(&sandbox, &[]);
    let refused = server.send("GET / HTTP/1.1\r\nHost: evil.example");
    for reply in [server.get("/"), server.get("/runs/first/"), server.get("/nowhere"), refused] {
        let header = |name: &str| reply.headers.get(name).map_or("", String::as_str);
        let policy = header("content-security-policy");
        assert!(policy.starts_with("default-src 'none'") && policy.ends_with("frame-ancestors 'none'"), "{policy}");
        assert!(policy.contains("script-src 'sha256-") && !policy.contains("script-src 'unsafe"), "{policy}");
        assert_eq!(header("x-content-type-options"), "nosniff");
        assert_eq!(header("referrer-policy"), "no-referrer");
        assert_eq!(header("cache-control"), "no-store");
        assert_eq!(header("cross-origin-resource-policy"), "same-origin");
        assert!(!reply.headers.contains_key("access-control-allow-origin"));
    }
    assert_eq!(server.get("/").headers["content-type"], "text/html; charset=utf-8");
    assert_eq!(server.get("/runs/first/report.json").headers["content-type"], "application/json; charset=utf-8");
}

#[test]
fn no_name_escapes_the_folder() {
    let sandbox = sandbox();
    std::fs::rename(sandbox.path("runs/second"), sandbox.path("outside")).unwrap();
    #[cfg(unix)]
    std::os::unix::fs::symlink(sandbox.path("outside"), sandbox.path("runs/link")).unwrap();
    let server = Server::start(&sandbox, &["runs"]);
    let names = [
        "..%2foutside",
        "..%2Foutside",
        "%2e%2e",
        "..",
        ".",
        "%2e",
        "..%2f..%2fetc",
        "first%2f..%2f..%2foutside",
        "..%5coutside",
        "first%00",
        "first%2f",
        "FIRST",
        "link",
        "%2ftmp",
        "",
    ];
    for name in names {
        for rest in ["/", "", "/progress", "/report.json", "/episodes/0"] {
            let reply = server.get(&format!("/runs/{name}{rest}"));
            assert!(reply.status == 404, "{name}{rest}: {} {}", reply.status, reply.body);
            assert!(!reply.body.contains("scripted:blind"), "{name}{rest}");
        }
        // Without a name there is nothing to look up.
        let status = if name.is_empty() { 400 } else { 404 };
        assert_eq!(server.get(&format!("/compare?base=first&candidate={name}")).status, status, "{name}");
    }
    for (address, reason) in [("/runs/first%ff/", "UTF-8"), ("/compare?base=a&base=b", "duplicate field `base`")] {
        let reply = server.get(address);
        assert!(reply.status == 400 && reply.headers["content-type"].starts_with("text/html"), "{address}");
        assert!(visible_html(&reply.body).contains(reason), "{}", reply.body);
    }
    assert_eq!(server.get("/runs/%66irst/").status, 200, "the same name, written otherwise");
    #[cfg(unix)]
    assert!(server.ok("/").contains("it is a link, which is not followed"));
    for address in ["/nowhere", "/runs/", "/runs/first/scenarios", "/runs/first/manifest.json", "/runs/first/episodes/"]
    {
        server.missing(address);
    }
    for number in ["4", "-1", "x", "18446744073709551616", "%3Cb%3E"] {
        let body = server.missing(&format!("/runs/first/episodes/{number}"));
        assert!(body.contains("no episode") && !body.contains("<b>"), "{body}");
    }
    server.missing("/runs/first/episodes/0?versus=99");
    assert!(server.get("/compare").body.contains("choose two runs"));
}

#[test]
fn invalid_requests_are_refused_and_read_no_file() {
    let sandbox = sandbox();
    sandbox.write("secret.txt", "{{ swordfish }}");
    let server = Server::start(&sandbox, &[]);
    let bad_request = |query: &str| {
        let reply = server.get(&format!("/runs/first/episodes/0?{query}"));
        assert_eq!(reply.status, 400, "{query}: {}", reply.body);
        reply.body
    };
    assert!(bad_request("format=%3Cscript%3E").contains("unknown error format `&lt;script&gt;`"));
    assert!(bad_request("guardrails=everything").contains("unknown guardrail"));
    assert!(!bad_request("format=template:secret.txt").contains("swordfish"));
    assert!(bad_request("guardrails=none&format=pydantic").contains("healing"));
    let args =
        ["run", "scenario.yaml", "--trials=1", "--agent=scripted:blind", "--seed=2", "--quiet", "--out=runs/seed"];
    sandbox.ok(&args);
    let reply = server.get("/compare?base=first&candidate=seed");
    assert!(reply.status == 409 && reply.body.contains("the seed 1"), "{}: {}", reply.status, reply.body);
}

#[test]
fn folders_that_are_not_runs_are_listed_with_the_reason() {
    let sandbox = sandbox();
    let manifest = |name: &str, text: &str| {
        std::fs::create_dir(sandbox.path(&format!("runs/{name}"))).unwrap();
        sandbox.write(&format!("runs/{name}/manifest.json"), text);
    };
    std::fs::create_dir(sandbox.path("runs/empty")).unwrap();
    manifest("foreign", "{\"name\": \"<b>other</b>\"}");
    manifest("newer", "{\"format_version\": 999}");
    let frames = sandbox.path("runs/second/episodes.parquet");
    std::fs::write(&frames, "PAR1 <b>no</b> PAR1").unwrap();
    sandbox.write("runs/a-file", "");
    std::fs::create_dir(sandbox.path("runs/.hidden")).unwrap();
    let server = Server::start(&sandbox, &[]);
    let list = server.ok("/");
    assert!(list.contains("5 folders"), "{list}");
    for problem in ["it has no manifest.json", "it has no `format_version`", "has run format 999", "is damaged"] {
        assert!(list.contains(problem), "{problem}: {list}");
    }
    assert!(!list.contains("<b>other") && !list.contains("<b>no"), "{list}");
    // Runs that can be shown are first.
    assert!(list.find("/runs/first/").unwrap() < list.find("runs/empty").unwrap());
    for (name, expected) in [("empty", "it has no manifest.json"), ("newer", "run it again"), ("second", "is damaged")]
    {
        let reply = server.get(&format!("/runs/{name}/"));
        assert_eq!(reply.status, 500, "{}", reply.body);
        assert!(reply.body.contains(expected), "{name}: {}", reply.body);
    }
    assert_eq!(server.get("/compare?base=first&candidate=second").status, 500);
}

#[test]
fn a_run_may_be_called_anything() {
    let sandbox = sandbox();
    let names = ["<script>alert(1)<", "\"onload=x y='z", "a?b#c%41&d", "new\nline", "\u{202e}right\u{1b}[2J", "…"];
    for name in names {
        let folder = sandbox.path("runs").join(name);
        std::fs::create_dir(&folder).unwrap();
        for file in std::fs::read_dir(sandbox.path("runs/first")).unwrap().map(|entry| entry.unwrap().path()) {
            if file.is_file() {
                std::fs::copy(&file, folder.join(file.file_name().unwrap())).unwrap();
            }
        }
    }
    std::fs::create_dir(sandbox.path("runs/<img src=x>")).unwrap();
    let server = Server::start(&sandbox, &[]);
    let list = server.ok("/");
    assert!(!list.contains("<script>alert") && !list.contains("<img") && !list.contains("\"onload"), "{list}");
    assert!(!list.contains('\u{1b}'), "{list}");
    let addresses: Vec<&str> = list.split("href=\"").skip(1).map(|rest| &rest[..rest.find('"').unwrap()]).collect();
    let addresses: Vec<&str> = addresses.into_iter().filter(|address| address.starts_with("/runs/")).collect();
    assert_eq!(addresses.len(), names.len() + 2, "{list}");
    for address in addresses {
        let page = server.ok(address);
        assert!(!page.contains("<script>alert") && !page.contains("\"onload") && !page.contains('\u{1b}'), "{address}");
        assert!(!page.contains('\u{202e}'), "{address}: {page}");
        server.ok(&format!("{address}report.json"));
    }
}

#[test]
fn an_active_run_shows_its_progress_and_then_its_report() {
    let sandbox = sandbox();
    let (run, _) = RunDir::open_any(&sandbox.path("runs/first")).unwrap();
    let lock = run.lock().unwrap();
    change(&run, |manifest| manifest.status = RunStatus::Running);
    let progress = Progress {
        done: 3,
        total: 4,
        per_second: Some(0.1),
        eta_s: Some(10.0),
        usd: None,
        usd_at_least: Some(0.25),
        failures: BTreeMap::from([(Outcome::GaveUp, 2)]),
        waits: Vec::new(),
        updated_unix_s: 1_700_000_000,
    };
    run.write_progress(&progress).unwrap();
    let server = Server::start(&sandbox, &[]);
    let list = server.ok("/");
    assert!(list.contains("under way") && list.contains("3 of 4"), "{list}");
    let page = server.ok("/runs/first/");
    assert!(
        page.contains("data-progress=\"/runs/first/progress\"") && page.contains("http-equiv=\"refresh\""),
        "{page}"
    );
    for field in ["3 of 4", "6.0/min", "10 s", "≥ $0.250", "2 gave up"] {
        assert!(page.contains(field), "{field}: {page}");
    }
    let news = server.json("/runs/first/progress");
    assert_eq!(
        (news["ended"].as_bool(), news["done"].as_u64(), news["total"].as_u64()),
        (Some(false), Some(3), Some(4))
    );
    assert_eq!(news["fields"]["failures"], "2 gave up");
    assert_eq!(serde_json::from_value::<Progress>(news["progress"].clone()).unwrap(), progress);
    let busy = server.get("/runs/first/report.json");
    assert_eq!(busy.status, 409);
    assert!(busy.body.contains("being written by another process"), "{}", busy.body);

    // All episodes are finished and the frames are being written.
    run.remove_progress().unwrap();
    let news = server.json("/runs/first/progress");
    assert_eq!((news["ended"].as_bool(), news["done"].as_u64()), (Some(false), None));
    assert!(server.ok("/runs/first/").contains("—"));

    change(&run, |manifest| manifest.status = RunStatus::Complete);
    drop(lock);
    let news = server.json("/runs/first/progress");
    let numbers = (news["ended"].as_bool(), news["done"].as_u64(), news["total"].as_u64());
    assert_eq!(numbers, (Some(true), Some(4), Some(4)));
    assert!(server.ok("/runs/first/").contains("How to read this"));

    // A resumed run already has frames.
    change(&run, |manifest| manifest.status = RunStatus::Interrupted);
    assert!(server.ok("/runs/first/").contains("was interrupted"));
    let lock = run.lock().unwrap();
    assert!(server.ok("/runs/first/").contains("data-progress"));
    drop(lock);

    // A killed run is neither running nor ended.
    run.write_progress(&progress).unwrap();
    change(&run, |manifest| manifest.status = RunStatus::Running);
    assert!(server.ok("/").contains("cut off"));
    let cut = server.get("/runs/first/");
    assert_eq!(cut.status, 409);
    assert!(cut.body.contains("did not finish") && cut.body.contains("--resume"), "{}", cut.body);
}

#[test]
fn a_replaced_run_is_shown_again() {
    let sandbox = sandbox();
    let server = Server::start(&sandbox, &[]);
    let before = server.ok("/runs/first/");
    std::fs::remove_dir_all(sandbox.path("runs/first")).unwrap();
    server.missing("/runs/first/");
    std::fs::rename(sandbox.path("runs/second"), sandbox.path("runs/first")).unwrap();
    let after = server.ok("/runs/first/");
    assert!(!before.contains("scripted:blind") && after.contains("scripted:blind"));
    assert!(!server.ok("/").contains("/runs/second/"));
}

#[test]
fn a_single_run_can_be_viewed() {
    let sandbox = sandbox();
    let server = Server::start(&sandbox, &["runs/first"]);
    let list = server.ok("/");
    assert!(list.contains("/runs/first/") && !list.contains("second"), "{list}");
    server.ok("/runs/first/");
    server.missing("/runs/second/");
}

#[cfg(unix)]
#[test]
fn an_interrupt_exits_with_0() {
    let sandbox = sandbox();
    let mut server = Server::start(&sandbox, &[]);
    // An open connection does not delay the shutdown.
    let _open = TcpStream::connect(("127.0.0.1", server.port)).unwrap();
    server.ok("/");
    let killed = Command::new("kill").args(["-INT", &server.child.id().to_string()]).status().unwrap();
    assert!(killed.success());
    let started = Instant::now();
    loop {
        match server.child.try_wait().unwrap() {
            Some(status) => break assert_eq!(status.code(), Some(0)),
            None => std::thread::sleep(Duration::from_millis(20)),
        }
        assert!(started.elapsed() < GENEROUS, "it does not end");
    }
}

#[cfg(target_os = "linux")]
#[test]
fn a_run_that_is_made_to_hang_or_to_exhaust_memory_ends_no_server() {
    let sandbox = sandbox();
    sandbox.write("t.jinja", "{{ message }}");
    let args = ["run", "scenario.yaml", "--trials=1", "--agent=scripted:blind", "--format", "template:t.jinja"];
    sandbox.ok(&[&args[..], &["--out", "runs/greedy"]].concat());
    let (greedy, _) = RunDir::open_any(&sandbox.path("runs/greedy")).unwrap();
    change(&greedy, |manifest| {
        for condition in &mut manifest.plan.conditions {
            if let healbench_core::ErrorFormat::Template(source) = &mut condition.values.errors {
                source.text = r#"{{ "a\nb"|indent(10000000000) }}"#.to_owned();
            }
        }
    });
    let server = Server::start(&sandbox, &[]);
    for address in ["/runs/greedy/", "/runs/greedy/episodes/0"] {
        let reply = server.get(address);
        assert!(
            reply.body.contains("it needs more than 256 MiB of memory"),
            "{address}: {} {}",
            reply.status,
            reply.body
        );
    }
    for name in ["manifest.json", "episodes.parquet", "calls.parquet", "progress.json", ".lock"] {
        let path = sandbox.path("runs/second").join(name);
        let kept = sandbox.path("kept");
        let existed = std::fs::rename(&path, &kept).is_ok();
        assert!(Command::new("mkfifo").arg(&path).status().unwrap().success());
        for address in ["/", "/runs/second/", "/runs/second/progress", "/runs/second/report.csv"] {
            server.get(address);
        }
        std::fs::remove_file(&path).unwrap();
        if existed {
            std::fs::rename(&kept, &path).unwrap();
        }
    }
    server.ok("/runs/first/");
    server.ok("/runs/second/");
}

#[test]
fn startup_errors_are_reported() {
    let sandbox = sandbox();
    let nowhere = sandbox.start(&["view", "nowhere"]);
    assert_eq!(nowhere.code, Some(2));
    assert!(nowhere.err.contains("no folder `nowhere`") && nowhere.err.contains("healbench run"), "{}", nowhere.err);
    let server = Server::start(&sandbox, &[]);
    let taken = sandbox.start(&["view", "--port", &server.port.to_string()]);
    assert_eq!((taken.code, taken.out.as_str()), (Some(2), ""));
    assert!(taken.err.contains("cannot listen on port") && taken.err.contains("another `--port`"), "{}", taken.err);
}
