//! A small plan, consistent rows for it, and a run directory that contains them.

use healbench_core::{
    AgentKind, AgentSpec, BilledTokens, CallRecord, ChainEnd, Condition, ENDINGS, ERROR_KINDS, EndedBy, EpisodeCounts,
    EpisodeRecord, ErrorFormat, ErrorReading, Guardrails, ModelUsage, Opening, Outcome, Plan, PlannedScenario, Records,
    Seed, Surroundings, ToolsMode, Usage, follow,
};
use healbench_frames::FrameWriter;
use healbench_store::{FORMAT_VERSION, RunDir, RunManifest, RunStatus};
use tempfile::TempDir;

pub(crate) fn plan(trials: u32) -> Plan {
    let agent = |kind, name: &str| AgentSpec {
        kind,
        name: name.to_owned(),
        opening: (kind != AgentKind::Scripted).then_some(Opening::Seeded),
        tools: (kind != AgentKind::Scripted).then_some(ToolsMode::Prompt),
        settings: serde_json::Value::Null,
    };
    let scenario = |id: &str| PlannedScenario {
        id: id.to_owned(),
        // The first two share a cluster.
        cluster: if id == "orders/typo" { "billing/new-currency" } else { id }.to_owned(),
        path: format!("scenarios/suites/quickstart/{}.yaml", id.replace('/', "-")),
        sha256: String::new(),
        claims: Vec::new(),
        waits_on_retry: false,
        worlds: 1,
        renamed_from: None,
    };
    Plan {
        seed: Seed(7),
        order: healbench_core::PlanOrder::Product,
        trials,
        environment: healbench_core::PlannedEnvironment::default(),
        agents: vec![agent(AgentKind::Scripted, "typical"), agent(AgentKind::Llm, "openai:gpt-5-mini")],
        conditions: vec![
            Condition::new(Guardrails::NONE, ErrorFormat::Bare),
            Condition::new(Guardrails::ALL, ErrorFormat::FusionXml),
            Condition::new(Guardrails::from_bits(0b0011), ErrorFormat::FusionText),
        ],
        scenarios: vec![scenario("billing/new-currency"), scenario("orders/typo"), scenario("control/nothing-wrong")],
    }
}

pub(crate) fn manifest(plan: &Plan) -> RunManifest {
    RunManifest {
        format_version: FORMAT_VERSION,
        healbench: "0.1.0".to_owned(),
        revision: None,
        command: "healbench run".to_owned(),
        started: "2026-01-02T03:04:05Z".to_owned(),
        finished: None,
        tokenizer: "o200k_base".to_owned(),
        reader: None,
        imported: Vec::new(),
        shell_tools: Vec::new(),
        status: RunStatus::Complete,
        episodes_done: plan.len(),
        shards: None,
        cassettes: None,
        prices: None,
        changes: Vec::new(),
        files: Default::default(),
        replacing: Default::default(),
        plan: plan.clone(),
    }
}

/// Creates a run directory without frames.
pub(crate) fn empty_run(plan: &Plan) -> (TempDir, RunDir) {
    let folder = tempfile::tempdir().unwrap();
    let run = RunDir::create(&folder.path().join("run"), &mut manifest(plan), &[], None).unwrap().publish().unwrap().0;
    (folder, run)
}

/// Creates a run directory with these rows.
pub(crate) fn run_with(plan: &Plan, records: &Records) -> (TempDir, RunDir) {
    let (folder, run) = empty_run(plan);
    let mut writer = FrameWriter::create(&run, plan).unwrap();
    writer.write(records).unwrap();
    writer.finish().unwrap();
    (folder, run)
}

/// Returns rows for the whole plan. Guardrails improve success; a few episodes are lost to infrastructure, and one to
/// configuration.
pub(crate) fn records(plan: &Plan) -> Records {
    let mut records = Records::default();
    for episode in 0..plan.len() {
        let (row, calls) = episode_records(plan, episode);
        records.episodes.push(row);
        records.calls.extend(calls);
    }
    records
}

fn episode_records(plan: &Plan, episode: u64) -> (EpisodeRecord, Vec<CallRecord>) {
    let cell = plan.cell(episode).unwrap();
    let mut draw = Draw(episode.wrapping_mul(0x9e37_79b9_7f4a_7c15) ^ plan.seed.0);
    let control = cell.scenario == 2;
    let fails = if control { 0 } else { draw.below(7) };
    let recovers = draw.below(6) < if cell.condition > 0 { 5 } else { 1 };
    let mut calls: Vec<CallRecord> = Vec::new();
    let count = fails + if recovers { 1 } else { 0 } + draw.below(2);
    let mut chain = None;
    let mut chains = 0;
    for number in 1..=count {
        let is_error = number <= fails;
        if is_error && chain.is_none() {
            chains += 1;
            chain = Some(chains);
        }
        let fields = |n: u64| (0..n).map(|n| format!("field_{n}")).collect::<Vec<_>>();
        calls.push(CallRecord {
            episode,
            call: number as u32,
            turn: Some(number as u32),
            tool: "billing".into(),
            action: (draw.below(9) > 0).then(|| "create".into()),
            arguments: format!("{{\"amount\":{}}}", draw.below(3)).into(),
            is_error,
            error_class: is_error.then(|| "VALIDATION".into()),
            injected: draw.below(10) == 0,
            fault: None,
            named_fields: is_error.then(|| fields(draw.below(3)).into()),
            changed_fields: (number > 1).then(|| fields(draw.below(3)).into()),
            leaked_fields: Some(draw.below(3) as u32),
            omitted_rows: draw.below(2) as u32 * 40,
            contract_deltas: draw.below(2) as u32,
            state_changed: Some(!is_error),
            repeated: number > 1 && is_error && draw.below(2) == 0,
            intended: Some(!is_error),
            // One scenario has no script.
            told_answer: (is_error && cell.scenario != 1).then_some((episode + number).is_multiple_of(3)),
            chain,
            chain_end: (chain.is_some() && !is_error)
                .then(|| if episode.is_multiple_of(5) { ChainEnd::WrongRepair } else { ChainEnd::Fixed }),
            waited_s: draw.below(2) as u32 * 30,
            request_tokens: 20 + draw.below(50) as u32,
            response_tokens: 10 + draw.below(400) as u32,
            tokens_estimated: number == 3,
            response_hash: episode.wrapping_mul(0x9e37_79b9_7f4a_7c15) ^ number,
            guardrail_tokens: if cell.condition > 0 && is_error { draw.below(200) as u32 } else { 0 },
            context_tokens: Some(300 * number),
            error_source: None,
            reading: is_error.then(|| reading(episode + number)),
            attempt_of: None,
            aftermath: None,
        });
        if !is_error {
            chain = None;
        }
    }
    follow(&mut calls, Surroundings::default());
    let solved = calls.last().is_some_and(|call| !call.is_error);
    let outcome = match draw.below(12) {
        0 => Outcome::Infra,
        1 => Outcome::Limit,
        2 => Outcome::GaveUp,
        3 => Outcome::TaskFail,
        _ if solved => Outcome::Success,
        _ => Outcome::TaskFail,
    };
    // The last one is of traces only.
    // An episode with a request that was too long has no tokens, and one of a trace no ending.
    let endings = ENDINGS.iter().filter(|entry| !matches!(entry.value, EndedBy::TooLong | EndedBy::Unknown));
    let endings: Vec<EndedBy> = endings.map(|entry| entry.value).collect();
    let ended_by = endings[episode as usize % endings.len()];
    let (claimed_done, prose_tokens) = (draw.below(3) > 0, 3 + draw.below(30) as u32);
    let model = (cell.agent == 1).then(|| Box::new(model_usage(cell.condition, &mut draw)));
    let turns = model.as_ref().map_or(calls.len() as u64 + 1, |model| model.turns.map_or(0, u64::from));
    let row = EpisodeRecord {
        episode,
        outcome: if episode == 5 { Outcome::Config } else { outcome },
        ended_by,
        claimed_done,
        scheduled: !control,
        schedule_hash: format!("{:016x}", cell.scenario as u64 * 1000 + u64::from(cell.trial)),
        turns: Some(calls.len() as u32 + 1),
        calls: calls.len() as u32,
        perfect_calls: 1,
        tags: Vec::new(),
        prompt_tokens: 120,
        prose_tokens: Some(prose_tokens),
        counts: EpisodeCounts::from_calls(&calls),
        billed: Some(BilledTokens {
            input: 850 * turns + draw.below(500),
            output: 80 * turns + draw.below(50),
            unsent: draw.below(3) * 40,
        }),
        model,
    };
    (row, calls)
}

fn reading(number: u64) -> ErrorReading {
    let kind = ERROR_KINDS[number as usize % ERROR_KINDS.len()].value;
    let fact = |divisor: u64| number.is_multiple_of(divisor);
    ErrorReading { kind, names_field: fact(2), states_remedy: fact(3), names_tool: fact(5) }
}

/// In the first condition some episodes have no usage, in the second some have no price; in the third everything is
/// known.
fn model_usage(condition: usize, draw: &mut Draw) -> ModelUsage {
    let counted = condition != 0 || draw.below(4) > 0;
    let priced = counted && (condition != 1 || draw.below(4) > 0);
    let turns = 1 + draw.below(4);
    let optional_count = |draw: &mut Draw| (draw.below(3) > 0).then(|| draw.below(100));
    ModelUsage {
        opening_calls: draw.below(2) as u32,
        turns: Some(turns as u32),
        usage: counted.then(|| Usage {
            input: 900 * turns + draw.below(500),
            cache_read: optional_count(draw),
            cache_write: optional_count(draw),
            output: 90 * turns + draw.below(50),
            reasoning: optional_count(draw),
        }),
        // Sums of such fractions are exact in any order.
        usd: priced.then(|| draw.below(1000) as f64 / 1024.0),
        latency_ms: Some(100 + draw.below(3000)),
        diagnostics: Vec::new(),
    }
}

/// SplitMix64.
pub(crate) struct Draw(pub(crate) u64);

impl Draw {
    pub(crate) fn below(&mut self, bound: u64) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        (z ^ (z >> 31)) % bound
    }
}
