use std::path::Path;

use super::*;
use crate::commands::view::waiting;

/// Returns the text of a page of a server whose pages are made by this shell script, within a second.
fn made(script: fn() -> Command, requests: &[PageRequest]) -> Vec<(u16, String)> {
    let folder = tempfile::tempdir().unwrap();
    let folder = RunFolder::open(folder.path()).unwrap();
    let app = Arc::new(AppState::new(folder, Duration::from_secs(1), script));
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    runtime.block_on(async {
        let pages: Vec<_> =
            requests.iter().map(|request| tokio::spawn(make(Arc::clone(&app), request.clone()))).collect();
        let mut made = Vec::new();
        for page in pages {
            let page = page.await.unwrap();
            made.push((page.status.as_u16(), page.text.clone()));
        }
        made
    })
}

fn shell(script: &str) -> Command {
    let mut command = Command::new("/bin/sh");
    command.args(["-c", script]);
    command
}

#[test]
fn a_page_that_takes_too_long_is_an_error_page_and_its_process_ends() {
    // The process reads its request, tells its id, and never ends by itself.
    let script = || shell("read request; echo $$ > /tmp/healbench-page-$PPID; exec sleep 1000");
    let file = format!("/tmp/healbench-page-{}", std::process::id());
    let [(status, text)] = &made(script, &[PageRequest::Run("a".to_owned())])[..] else { panic!("one page") };
    assert!(*status == 503 && text.contains("was not rendered within 1 s"), "{status} {text}");
    let process = std::fs::read_to_string(&file).unwrap();
    std::fs::remove_file(&file).unwrap();
    assert!(!Path::new("/proc").join(process.trim()).exists(), "process {process} lives on");
}

#[test]
fn a_run_that_takes_long_does_not_hold_up_others() {
    // The pages of `heavy` never end; those of others do at once.
    let script = || {
        shell(
            r#"read request; case "$request" in *heavy*) exec sleep 1000;; esac
printf '{"status":200,"content_type":"text/plain","cacheable":false,"outcomes":null}\nquick'"#,
        )
    };
    let mut requests = vec![PageRequest::Json("heavy".to_owned()); 20];
    requests.extend([PageRequest::Run("light".to_owned()), PageRequest::Progress("other".to_owned())]);
    requests.push(PageRequest::List(KnownOutcomes::new()));
    let made = made(script, &requests);
    assert!(made[..20].iter().all(|(status, _)| *status == 503), "{made:?}");
    assert_eq!(made[20], (200, "quick".to_owned()));
    assert_eq!(made[21], (200, "quick".to_owned()));
    assert_eq!(made[22], (200, "quick".to_owned()));
}

#[test]
fn a_process_that_ends_early_is_an_error_page() {
    let request = [PageRequest::Run("a".to_owned())];
    for (script, expected) in [
        ((|| shell("exit 101")) as fn() -> Command, "a bug in healbench"),
        (|| shell("echo not a page"), "a bug in healbench"),
        (|| shell("echo 'memory allocation of 9 bytes failed' >&2; kill -ABRT $$"), "more than 4 GiB of memory"),
        (|| shell("echo 'fatal: it has overflowed its stack' >&2; kill -ABRT $$"), "nested too deeply"),
        (|| shell("kill -KILL $$"), "ended by the system"),
        (|| Command::new("/nowhere"), "cannot start the process"),
    ] {
        let made = made(script, &request);
        assert!(made[0].0 == 500 && made[0].1.contains(expected), "{expected}: {made:?}");
    }
}

#[test]
fn a_browser_gets_a_page_that_waits_for_a_slow_report_and_then_the_report() {
    // The report is made once the file is there.
    let script = || {
        shell(
            r#"read request; while [ ! -e /tmp/healbench-ready-$PPID ]; do sleep 0.02; done
printf '{"status":200,"content_type":"text/plain","cacheable":false,"outcomes":null}\nthe report'"#,
        )
    };
    let file = format!("/tmp/healbench-ready-{}", std::process::id());
    let folder = tempfile::tempdir().unwrap();
    let app = AppState::new(RunFolder::open(folder.path()).unwrap(), Duration::from_secs(60), script);
    let app = Arc::new(app);
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    runtime.block_on(async {
        let patience = Duration::from_millis(1);
        let get = |patience| waiting::run_page(Arc::clone(&app), "slow".to_owned(), patience);
        for _ in 0..2 {
            let page = get(patience).await;
            assert!(page.status == StatusCode::OK && page.text.contains("being made"), "{page:?}");
            assert!(app.waiting.is_making("slow") && !app.waiting.is_making("other"));
        }
        std::fs::write(&file, "").unwrap();
        while app.waiting.is_making("slow") {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
        assert_eq!(get(patience).await.text, "the report");
        // It is made anew for the next one, who waits for it.
        assert_eq!(get(Duration::from_secs(60)).await.text, "the report");
    });
    std::fs::remove_file(&file).unwrap();
}
