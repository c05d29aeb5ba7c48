//! The overhead of the harness in runs with models: turns per second with a local server that answers immediately, and
//! the time of a run with a server that takes 50 ms, compared with the least time that such a run can take.
//!
//! The measured code is that of a run with models except its files: worker pool, limits, HTTP requests, the
//! conversation, the engine, rows.

#![allow(clippy::print_stdout, clippy::unwrap_used)]

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::{TcpListener, TcpStream};
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::{Duration, Instant};

use healbench_agents::llm::{
    Connections, Endpoint, LlmAgentFactory, Model, ModelBackend, Network, PriceTable, parse_model_tables, resolve_model,
};
use healbench_core::{Agent, AgentKind, Condition, EpisodeStart, ErrorFormat, Guardrails, Opening, Script, Seed};
use healbench_runner::{Axes, Job, RunEvent, WorkerPool, build_plan, execute};
use healbench_scenarios::load_suite;

const CONNECTIONS: u32 = 64;

fn main() {
    // `cargo test` also starts benches, to check that they run.
    let quick = !std::env::args().any(|word| word == "--bench");
    let trials = if quick { 64 } else { 20_000 };
    let (turns, elapsed) = run_model(trials, Duration::ZERO);
    println!(
        "a server that answers at once, {CONNECTIONS} connections: {:.0} turns/s",
        turns as f64 / elapsed.as_secs_f64()
    );

    let latency = Duration::from_millis(50);
    let trials = if quick { 64 } else { 64 * 40 };
    let (turns, elapsed) = run_model(trials, latency);
    let least = latency.as_secs_f64() * turns as f64 / f64::from(CONNECTIONS);
    let over = elapsed.as_secs_f64() / least - 1.0;
    println!(
        "a model that takes 50 ms: {:.2} s, at least {least:.2} s: {:.2}% more",
        elapsed.as_secs_f64(),
        over * 100.0
    );
}

/// Runs a scenario of two turns per episode, and returns the number of turns and the time.
fn run_model(trials: u32, latency: Duration) -> (u64, Duration) {
    let model = model(&serve(latency));
    let folder = PathBuf::from(env!("CARGO_MANIFEST_DIR"));
    let scenarios = load_suite(&[folder.join("../scenarios/suites/quickstart/wrong-enum.yaml")]).unwrap();
    let axes = Axes {
        agents: vec![model.spec("model:bench", Opening::Seeded, AgentKind::Llm)],
        conditions: Condition::of_parts(&[Guardrails::ALL], &[ErrorFormat::FusionXml]),
        trials,
        seed: Seed(1),
    };
    let plan = build_plan(&axes, &scenarios);
    let stop = Arc::new(AtomicBool::new(false));
    let endpoint = Endpoint::new(&Arc::new(Network::new().unwrap()), &model, &|_| None).unwrap();
    let backend = Arc::new(ModelBackend::Live(endpoint));
    let factory = Arc::new(LlmAgentFactory { model, backend, stop, recording_date: String::new() });
    let make_agent = for_any_episode(|_, start, _| Box::new(factory.agent(start, None)));
    let pools = [WorkerPool { agents: vec![0], threads: CONNECTIONS as usize, costly: true }];
    let job = Job {
        plan: &plan,
        scenarios: &scenarios,
        episodes: (0..plan.len()).into(),
        pools: &pools,
        make_agent: &make_agent,
        make_environment: None,
    };
    let mut turns = 0;
    let started = Instant::now();
    let end = execute(&job, None, &AtomicBool::new(false), &mut |event| {
        if let RunEvent::Finished(results) = event {
            let models = results.iter().filter_map(|result| result.episode.model.as_ref());
            turns += models.filter_map(|model| model.turns).map(u64::from).sum::<u64>();
        }
        Ok::<(), std::convert::Infallible>(())
    });
    assert!(end.unwrap().stopped.is_none());
    let elapsed = started.elapsed();
    assert_eq!(turns, 2 * u64::from(trials));
    (turns, elapsed)
}

fn for_any_episode<F>(make_agent: F) -> F
where
    F: for<'s> Fn(usize, EpisodeStart<'s>, Option<&'s Script>) -> Box<dyn Agent + 's>,
{
    make_agent
}

fn model(url: &str) -> Model {
    let text = format!("[model.bench]\napi = \"openai-chat\"\nbase_url = \"{url}\"\n");
    let tables = parse_model_tables("healbench.toml".as_ref(), &text, &|path| std::fs::read_to_string(path)).unwrap();
    let model = resolve_model("model:bench", &tables, &PriceTable::shipped()).unwrap();
    Model { connections: Connections { start: CONNECTIONS, min: CONNECTIONS, max: CONNECTIONS }, ..model }
}

/// Starts a server whose model first makes a lookup and then repairs the call of the scenario. Returns its base URL.
fn serve(latency: Duration) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}/v1", listener.local_addr().unwrap());
    std::thread::spawn(move || {
        for stream in listener.incoming() {
            let Ok(stream) = stream else { return };
            let _ = stream.set_nodelay(true);
            std::thread::spawn(move || {
                let mut reader = BufReader::new(stream);
                while answer(&mut reader, latency).is_some() {}
            });
        }
    });
    url
}

fn answer(reader: &mut BufReader<TcpStream>, latency: Duration) -> Option<()> {
    const CALL: &str = r#"{"choices":[{"message":{"role":"assistant","content":null,"tool_calls":[{"id":"c","type":"function","function":{"name":"issues","arguments":"{\"action\":\"update\",\"id\":\"WEB-7\",\"status\":\"completed\",\"priority\":\"low\"}"}}]},"finish_reason":"tool_calls"}],"usage":{"prompt_tokens":400,"completion_tokens":30}}"#;
    const LOOK: &str = r#"{"choices":[{"message":{"role":"assistant","content":null,"tool_calls":[{"id":"c","type":"function","function":{"name":"issues","arguments":"{\"action\":\"list\",\"status\":\"completed\"}"}}]},"finish_reason":"tool_calls"}],"usage":{"prompt_tokens":400,"completion_tokens":20}}"#;
    let (mut line, mut length) = (String::new(), 0);
    loop {
        line.clear();
        reader.read_line(&mut line).ok().filter(|read| *read > 0)?;
        match line.trim().split_once(": ") {
            Some((name, value)) if name.eq_ignore_ascii_case("content-length") => length = value.parse().ok()?,
            None if line.trim().is_empty() => break,
            _ => {}
        }
    }
    let mut body = vec![0; length];
    reader.read_exact(&mut body).ok()?;
    let started = Instant::now();
    let calls = String::from_utf8_lossy(&body).matches(r#""role":"tool""#).count();
    let text = if calls < 2 { LOOK } else { CALL };
    std::thread::sleep(latency.saturating_sub(started.elapsed()));
    let head = format!("HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: {}\r\n\r\n", text.len());
    reader.get_mut().write_all(format!("{head}{text}").as_bytes()).ok()
}
