//! The limits of requests under way and of tokens a minute, and the rate of requests.

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::Instant;

use healbench_agents::llm::{Connections, EndpointError};
use serde_json::json;

use crate::hostile_server::*;
use crate::llm_endpoint::{endpoint_of, model, send};

#[test]
fn no_more_requests_are_under_way_than_the_limit() {
    static NOW: AtomicUsize = AtomicUsize::new(0);
    static HIGHEST: AtomicUsize = AtomicUsize::new(0);
    let server = HostileServer::start(|_, _| json(200, "[]"));
    let mut model = model(&server.url, 0);
    model.connections = Connections { start: 2, min: 2, max: 2 };
    let endpoint = endpoint_of(&model);
    std::thread::scope(|scope| {
        for _ in 0..12 {
            scope.spawn(|| {
                let stop = AtomicBool::new(false);
                for _ in 0..5 {
                    let _episode = endpoint.limiter().acquire_episode(&stop).unwrap();
                    HIGHEST.fetch_max(NOW.fetch_add(1, Ordering::SeqCst) + 1, Ordering::SeqCst);
                    send(&endpoint).unwrap();
                    NOW.fetch_sub(1, Ordering::SeqCst);
                }
            });
        }
    });
    assert_eq!(server.received().len(), 60);
    assert_eq!(HIGHEST.load(Ordering::SeqCst), 2);
}

#[test]
fn a_request_waits_for_the_tokens_of_the_minute() {
    let answer =
        r#"{"choices": [{"message": {"content": "done"}}], "usage": {"prompt_tokens": 600, "completion_tokens": 300}}"#;
    let server = HostileServer::start(move |_, _| json(200, answer));
    let mut model = model(&server.url, 0);
    model.limits.tokens_per_minute = Some(6000);
    let (endpoint, stop) = (endpoint_of(&model), AtomicBool::new(false));
    let body = json!({"max_tokens": 2000});
    // 2,007 tokens are expected of each, and 900 are counted of each answer.
    for _ in 0..5 {
        endpoint.send("/chat", &body, &stop, &mut 0).unwrap();
    }
    std::thread::scope(|scope| {
        let sixth = scope.spawn(|| endpoint.send("/chat", &body, &stop, &mut 0));
        while endpoint.waiting_for_tokens() == 0 && !sixth.is_finished() {
            std::thread::yield_now();
        }
        stop.store(true, Ordering::Relaxed);
        assert_eq!(sixth.join().unwrap(), Err(EndpointError::Stopped));
    });
    assert_eq!((server.received().len(), endpoint.waiting_for_tokens()), (5, 0));
}

#[test]
fn shards_share_the_tokens_of_a_minute() {
    let mut limits = model("http://127.0.0.1:1", 0).limits;
    assert_eq!(limits.share(1, 4), limits);
    limits.tokens_per_minute = Some(1000);
    let share = |part, whole| limits.share(part, whole).tokens_per_minute;
    assert_eq!([share(1, 1), share(1, 3), share(2, 3), share(1, 5000)], [Some(1000), Some(333), Some(666), Some(1)]);
}

/// Run with `cargo test --release -p healbench-agents requests_per_second -- --ignored --nocapture`.
#[test]
#[ignore = "a measurement"]
#[allow(clippy::print_stdout)]
fn requests_per_second() {
    const THREADS: usize = 64;
    const EACH: usize = 1500;
    let reply = json!({"choices": [{"message": {"role": "assistant", "content": "x".repeat(400)}}], "usage": {"total_tokens": 9}});
    let url = serve_fast(&reply.to_string());
    let mut model = model(&url, 0);
    model.connections = Connections { start: 64, min: 64, max: 128 };
    let endpoint = endpoint_of(&model);
    let body = json!({"model": "small", "messages": [{"role": "user", "content": "y".repeat(4000)}]});
    let run = |each: usize| {
        let started = Instant::now();
        std::thread::scope(|scope| {
            for _ in 0..THREADS {
                scope.spawn(|| {
                    let stop = AtomicBool::new(false);
                    (0..each).for_each(|_| drop(endpoint.send("/chat", &body, &stop, &mut 0).unwrap()));
                });
            }
        });
        (THREADS * each) as f64 / started.elapsed().as_secs_f64()
    };
    run(10);
    println!("{:.0} requests a second by {THREADS} threads", run(EACH));
}

/// Starts a server that answers all requests on kept-alive connections with the same body, at the lowest possible cost.
fn serve_fast(body: &str) -> String {
    use tokio::io::{AsyncReadExt, AsyncWriteExt};

    let answer =
        format!("HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: {}\r\n\r\n{body}", body.len());
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    listener.set_nonblocking(true).unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    std::thread::spawn(move || {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        runtime.block_on(async {
            let listener = tokio::net::TcpListener::from_std(listener).unwrap();
            while let Ok((mut stream, _)) = listener.accept().await {
                let answer = answer.clone();
                tokio::spawn(async move {
                    stream.set_nodelay(true).unwrap();
                    let (mut buffer, mut filled) = (vec![0; 1 << 16], 0);
                    while let Ok(n @ 1..) = stream.read(&mut buffer[filled..]).await {
                        filled += n;
                        // Only the end of a body contains these bytes.
                        if buffer[..filled].ends_with(b"\"}]}") {
                            filled = 0;
                            stream.write_all(answer.as_bytes()).await.unwrap();
                        }
                    }
                });
            }
        });
    });
    url
}
