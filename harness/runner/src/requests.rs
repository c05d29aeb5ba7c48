//! What a run with models has paid for, request by request.
//!
//! The rows of finished episodes are in the journal. The requests of the others are in a log beside it: a request is
//! reserved before it is sent, and its answer kept when it arrives. A resumed run continues an unfinished episode with its
//! kept answers, and counts a reservation without an answer by its upper bound, because it may have been paid for.

mod spending;

use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};

use healbench_core::{EpisodeRecord, NewRequest, Plan, ReceivedAnswer, RequestId, RequestLog, RequestLogError, Usage};
use healbench_store::{JournalEntry, JournalError, RequestFile, RequestLine, RunDir};
use healbench_tokens::count_tokens;

use self::spending::{Cost, Kept, State, UnderWay};
use crate::limits::{Budget, Limits};

/// The tokens that are reserved for the answer to a request that does not limit them, unless a longer one was seen.
const UNLIMITED_ANSWER: u64 = 4096;
/// The size in bytes up to which the log is not rewritten.
const MAX_IDLE_BYTES: u64 = 1 << 20;

/// The log of a run's requests, and the sums that are compared with its budget.
pub(crate) struct Requests {
    run: RunDir,
    plan: Plan,
    limits: Limits,
    state: Mutex<State>,
    /// Notified when a request under way was settled.
    settled: Condvar,
}

impl Requests {
    /// Opens the log of a run. `is_recorded` tells the keys of requests whose answer is in a recording.
    pub(crate) fn open(
        run: &RunDir,
        plan: &Plan,
        limits: Limits,
        is_recorded: &dyn Fn(&str) -> bool,
    ) -> Result<Requests, JournalError> {
        let requests =
            Requests { run: run.clone(), plan: plan.clone(), limits, state: Mutex::default(), settled: Condvar::new() };
        let mut state = State::default();
        let file = RequestFile::open_existing(run, &mut |entry, line| requests.read_line(&mut state, entry, line))?;
        state.file = file;
        // No process waits for these any more.
        for (episode, mut unfinished) in std::mem::take(&mut state.unfinished) {
            for (_, request) in std::mem::take(&mut unfinished.under_way) {
                if !is_recorded(&request.key) {
                    requests.add_lost(&mut state, episode, request.usage);
                }
            }
            state.unfinished.insert(episode, unfinished);
        }
        *requests.state() = state;
        Ok(requests)
    }

    fn state(&self) -> MutexGuard<'_, State> {
        // The state is consistent whenever something can panic.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Adds a line that an earlier process wrote.
    fn read_line(&self, state: &mut State, entry: JournalEntry, line: RequestLine) {
        match line {
            RequestLine::Reserved { id, key, usage } => {
                let request = UnderWay { entry, key, usage, expected: Cost::default() };
                let episode = state.unfinished.entry(id.episode).or_default();
                if let Some(earlier) = episode.under_way.insert(id.turn, request) {
                    self.add_lost(state, id.episode, earlier.usage);
                }
            }
            RequestLine::Answered { id, key, usage, lost_answers, .. } => {
                self.take_reservation(state, id, lost_answers);
                self.keep(state, id, Kept { entry, key, usage, cost: self.cost(id.episode, &usage) });
            }
            RequestLine::Unanswered { id, lost_answers } => {
                self.take_reservation(state, id, lost_answers);
            }
            RequestLine::Dropped { id } => self.drop_answers(state, id),
            RequestLine::Lost { agent, usage } => self.add_lost_of(state, agent, usage),
        }
    }

    /// Ends a reservation and returns its usage. Attempts that may have been paid for count as lost.
    fn take_reservation(&self, state: &mut State, id: RequestId, lost_answers: u32) -> Option<Usage> {
        let request = state.unfinished.get_mut(&id.episode)?.under_way.remove(&id.turn)?;
        for _ in 0..lost_answers {
            self.add_lost(state, id.episode, request.usage);
        }
        Some(request.usage)
    }

    fn keep(&self, state: &mut State, id: RequestId, kept: Kept) {
        state.longest_answer = state.longest_answer.max(kept.usage.output);
        state.unfinished.entry(id.episode).or_default().kept.insert(id.turn, kept);
    }

    fn drop_answers(&self, state: &mut State, first: RequestId) {
        let Some(episode) = state.unfinished.get_mut(&first.episode) else { return };
        for kept in episode.kept.split_off(&first.turn).into_values() {
            self.add_lost(state, first.episode, kept.usage);
        }
    }

    fn add_lost(&self, state: &mut State, episode: u64, usage: Usage) {
        if let Some(agent) = self.agent(episode) {
            self.add_lost_of(state, agent, usage);
        }
    }

    fn add_lost_of(&self, state: &mut State, agent: usize, usage: Usage) {
        let sum = state.lost.entry(agent).or_default();
        sum.input = sum.input.saturating_add(usage.input);
        sum.output = sum.output.saturating_add(usage.output);
        // Only their sum is kept, so all of the input counts at the full price.
        let counted = Usage { input: usage.input, output: usage.output, ..Usage::default() };
        state.lost_cost += self.cost_of(agent, &counted);
    }

    fn agent(&self, episode: u64) -> Option<usize> {
        self.plan.cell(episode).map(|cell| cell.agent)
    }

    fn cost(&self, episode: u64, usage: &Usage) -> Cost {
        self.agent(episode).map(|agent| self.cost_of(agent, usage)).unwrap_or_default()
    }

    fn cost_of(&self, agent: usize, usage: &Usage) -> Cost {
        let usd = (self.limits.price)(agent, usage).unwrap_or_default();
        Cost { usd, tokens: usage.input.saturating_add(usage.output) }
    }

    /// Adds the row of an episode, which may have been lost. A scored one needs its kept answers no longer.
    pub(crate) fn add_row(&self, row: &EpisodeRecord) {
        let cost = self.row_cost(row);
        let mut state = self.state();
        if row.outcome.is_scored() {
            state.unfinished.remove(&row.episode);
            state.finished += cost;
        } else {
            let episode = state.unfinished.entry(row.episode).or_default();
            episode.row = episode.row.max(cost);
        }
        self.check_budget(&mut state);
    }

    /// Removes what is no longer needed from the log, if it is the larger part.
    pub(crate) fn compact(&self) -> Result<(), JournalError> {
        let mut state = self.state();
        let State { file: Some(file), unfinished, lost, .. } = &mut *state else { return Ok(()) };
        let mut entries: Vec<&mut JournalEntry> = Vec::new();
        for episode in unfinished.values_mut() {
            entries.extend(episode.kept.values_mut().map(|kept| &mut kept.entry));
            entries.extend(episode.under_way.values_mut().map(|request| &mut request.entry));
        }
        let needed: u64 = entries.iter().map(|entry| entry.bytes()).sum();
        if file.bytes() <= MAX_IDLE_BYTES.max(2 * needed) {
            return Ok(());
        }
        let lost = lost.iter().map(|(agent, usage)| RequestLine::Lost { agent: *agent, usage: *usage });
        file.rewrite(&lost.collect::<Vec<_>>(), entries)
    }

    fn row_cost(&self, row: &EpisodeRecord) -> Cost {
        let (Some(model), Some(agent)) = (&row.model, self.agent(row.episode)) else { return Cost::default() };
        // If the provider did not count tokens, the budget uses healbench's own count; of a program, the calls and their
        // responses at least.
        let counted = match row.billed {
            Some(billed) => Usage { input: billed.input, output: billed.output, ..Usage::default() },
            None => Usage { input: u64::from(row.prompt_tokens) + row.counts.call_tokens, ..Usage::default() },
        };
        let cost = self.cost_of(agent, &model.usage.unwrap_or(counted));
        Cost { usd: model.usd.unwrap_or(cost.usd), ..cost }
    }

    fn check_budget(&self, state: &mut State) {
        state.budget_reached |= self.limits.budget.is_some_and(|budget| state.spent().reaches(budget));
    }

    /// Returns the budget if it is spent.
    pub(crate) fn spent_budget(&self) -> Option<Budget> {
        self.limits.budget.filter(|_| self.state().budget_reached)
    }

    /// Returns the tokens that may have been paid for without an answer that was kept.
    pub(crate) fn lost_tokens(&self) -> u64 {
        self.state().lost_cost.tokens
    }

    fn append(&self, state: &mut State, line: &RequestLine) -> Result<JournalEntry, RequestLogError> {
        let file = match &mut state.file {
            Some(file) => file,
            None => state.file.insert(RequestFile::create(&self.run).map_err(failed)?),
        };
        file.append(line).map_err(failed)
    }
}

fn failed(error: JournalError) -> RequestLogError {
    RequestLogError::Failed(error.to_string())
}

impl RequestLog for Requests {
    fn kept_answer(&self, id: RequestId, key: &str) -> Result<Option<ReceivedAnswer>, RequestLogError> {
        let mut state = self.state();
        let state = &mut *state;
        let Some(episode) = state.unfinished.get(&id.episode) else { return Ok(None) };
        match (episode.kept.get(&id.turn), &mut state.file) {
            (Some(kept), Some(file)) if kept.key == key => {
                let usage = Some(kept.usage);
                match file.read(kept.entry).map_err(failed)? {
                    RequestLine::Answered { body, latency_ms, .. } => {
                        Ok(Some(ReceivedAnswer { body, usage, latency_ms }))
                    }
                    _ => Ok(None),
                }
            }
            _ => {
                // The conversation took another course, as it may on a server.
                if episode.kept.range(id.turn..).next().is_some() {
                    self.append(state, &RequestLine::Dropped { id })?;
                    self.drop_answers(state, id);
                }
                Ok(None)
            }
        }
    }

    fn reserve(&self, request: &NewRequest<'_>) -> Result<(), RequestLogError> {
        let NewRequest { id, key, body, max_output } = *request;
        // The text of the body has more tokens than the conversation in it.
        let input = u64::from(count_tokens(&body.to_string()));
        let mut state = self.state();
        loop {
            let output = max_output.unwrap_or(state.longest_answer.max(UNLIMITED_ANSWER));
            let usage = Usage { input, output, ..Usage::default() };
            let likely = Usage { output: output.min(state.longest_answer), ..usage };
            let expected = self.cost(id.episode, &likely);
            self.check_budget(&mut state);
            if state.budget_reached {
                return Err(RequestLogError::Stopped);
            }
            let mut all = Cost::sum(state.under_way().map(|other| other.expected));
            all += state.spent();
            all += expected;
            let must_wait =
                self.limits.budget.is_some_and(|budget| all.exceeds(budget)) && state.under_way().next().is_some();
            if !must_wait {
                let line = RequestLine::Reserved { id, key: key.to_owned(), usage };
                let entry = self.append(&mut state, &line)?;
                let request = UnderWay { entry, key: key.to_owned(), usage, expected };
                state.unfinished.entry(id.episode).or_default().under_way.insert(id.turn, request);
                return Ok(());
            }
            state = self.settled.wait(state).unwrap_or_else(PoisonError::into_inner);
        }
    }

    fn settle(&self, id: RequestId, answer: Option<&ReceivedAnswer>, lost_answers: u32) -> Result<(), RequestLogError> {
        let mut state = self.state();
        let State { unfinished, .. } = &mut *state;
        let key = unfinished.get(&id.episode).and_then(|episode| Some(episode.under_way.get(&id.turn)?.key.clone()));
        let reserved = self.take_reservation(&mut state, id, lost_answers).unwrap_or_default();
        self.settled.notify_all();
        let Some(answer) = answer else {
            self.append(&mut state, &RequestLine::Unanswered { id, lost_answers })?;
            return Ok(());
        };
        let estimate = || {
            let text = answer.body.as_ref().map(ToString::to_string).unwrap_or_default();
            Usage { input: reserved.input, output: u64::from(count_tokens(&text)), ..Usage::default() }
        };
        let usage = answer.usage.unwrap_or_else(estimate);
        let key = key.unwrap_or_default();
        let ReceivedAnswer { body, latency_ms, .. } = answer.clone();
        let line = RequestLine::Answered { id, key: key.clone(), usage, latency_ms, body, lost_answers };
        let appended = self.append(&mut state, &line);
        match appended {
            Ok(entry) => self.keep(&mut state, id, Kept { entry, key, usage, cost: self.cost(id.episode, &usage) }),
            Err(_) => self.add_lost(&mut state, id.episode, usage),
        }
        self.check_budget(&mut state);
        appended.map(|_| ())
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;
    use std::sync::Arc;

    use healbench_core::{
        AgentKind, AgentSpec, Condition, ErrorFormat, Guardrails, PlannedEnvironment, PlannedScenario, Seed,
    };
    use healbench_store::{FORMAT_VERSION, RunManifest, RunStatus};
    use serde_json::{Value, json};

    use super::*;

    struct TestRun {
        _folder: tempfile::TempDir,
        run: RunDir,
        plan: Plan,
    }

    fn test_run() -> TestRun {
        let agent =
            AgentSpec { kind: AgentKind::Llm, name: "a".to_owned(), opening: None, tools: None, settings: Value::Null };
        let scenario = PlannedScenario {
            id: "s".to_owned(),
            cluster: "s".to_owned(),
            path: String::new(),
            sha256: String::new(),
            claims: Vec::new(),
            waits_on_retry: false,
            worlds: 1,
            renamed_from: None,
        };
        let plan = Plan {
            order: healbench_core::PlanOrder::Product,
            seed: Seed(1),
            trials: 9,
            environment: PlannedEnvironment::default(),
            agents: vec![agent],
            conditions: vec![Condition::new(Guardrails::NONE, ErrorFormat::Bare)],
            scenarios: vec![scenario],
        };
        let folder = tempfile::tempdir().unwrap();
        let mut manifest = RunManifest {
            format_version: FORMAT_VERSION,
            healbench: String::new(),
            revision: None,
            command: String::new(),
            started: String::new(),
            finished: None,
            tokenizer: String::new(),
            reader: None,
            imported: Vec::new(),
            shell_tools: Vec::new(),
            status: RunStatus::Running,
            episodes_done: 0,
            shards: None,
            cassettes: None,
            prices: None,
            plan: plan.clone(),
            changes: Vec::new(),
            files: BTreeMap::new(),
            replacing: BTreeMap::new(),
        };
        let run = RunDir::create(&folder.path().join("run"), &mut manifest, &[], None).unwrap().publish().unwrap().0;
        TestRun { _folder: folder, run, plan }
    }

    impl TestRun {
        fn open(&self, budget: u64) -> Requests {
            let limits = Limits { budget: Some(Budget::Tokens(budget)), price: Arc::new(|_, _| None) };
            Requests::open(&self.run, &self.plan, limits, &|key| key == "recorded").unwrap()
        }
    }

    fn id(episode: u64, turn: u32) -> RequestId {
        RequestId { episode, turn }
    }

    fn reserve(requests: &Requests, id: RequestId, key: &str) -> Result<(), RequestLogError> {
        let body = json!({"say": "hello"});
        requests.reserve(&NewRequest { id, key, body: &body, max_output: Some(50) })
    }

    fn answer(tokens: u64) -> ReceivedAnswer {
        let usage = Usage { input: tokens - 10, output: 10, ..Usage::default() };
        ReceivedAnswer { body: Some(json!({"tokens": tokens})), usage: Some(usage), latency_ms: 7 }
    }

    fn spent(requests: &Requests) -> u64 {
        requests.state().spent().tokens
    }

    /// The tokens that one reservation holds.
    fn reservation() -> u64 {
        u64::from(count_tokens(&json!({"say": "hello"}).to_string())) + 50
    }

    #[test]
    fn answers_of_a_killed_process_are_kept_and_open_reservations_are_spent() {
        let test = test_run();
        let requests = test.open(100_000);
        reserve(&requests, id(0, 0), "k0").unwrap();
        requests.settle(id(0, 0), Some(&answer(100)), 0).unwrap();
        reserve(&requests, id(0, 1), "k1").unwrap();
        reserve(&requests, id(1, 0), "recorded").unwrap();
        reserve(&requests, id(2, 0), "k2").unwrap();
        requests.settle(id(2, 0), None, 2).unwrap();
        reserve(&requests, id(3, 0), "k3").unwrap();
        requests.settle(id(3, 0), None, 0).unwrap();
        drop(requests);
        for _ in 0..2 {
            let requests = test.open(100_000);
            // One reservation has no answer, one has it in a recording, and two attempts got none.
            assert_eq!(spent(&requests), 100 + 3 * reservation());
            assert_eq!(requests.lost_tokens(), 3 * reservation());
            assert_eq!(requests.kept_answer(id(0, 0), "k0").unwrap(), Some(answer(100)));
            assert_eq!(requests.kept_answer(id(0, 1), "k1").unwrap(), None);
            assert_eq!(requests.kept_answer(id(1, 0), "k0").unwrap(), None, "an answer belongs to one episode");
        }
    }

    #[test]
    fn answers_to_another_conversation_are_dropped_but_were_paid_for() {
        let test = test_run();
        let requests = test.open(100_000);
        for turn in 0..3 {
            reserve(&requests, id(0, turn), "same").unwrap();
            requests.settle(id(0, turn), Some(&answer(100)), 0).unwrap();
        }
        assert!(requests.kept_answer(id(0, 0), "same").unwrap().is_some());
        assert_eq!(requests.kept_answer(id(0, 1), "other").unwrap(), None);
        assert_eq!(requests.kept_answer(id(0, 2), "same").unwrap(), None);
        assert_eq!(spent(&requests), 300);
        let again = test.open(100_000);
        assert_eq!((spent(&again), again.lost_tokens()), (300, 200));
        assert!(again.kept_answer(id(0, 0), "same").unwrap().is_some());
        assert_eq!(again.kept_answer(id(0, 2), "same").unwrap(), None);
    }

    #[test]
    fn requests_wait_for_each_other_near_the_end_of_the_budget() {
        let test = test_run();
        let requests = test.open(250);
        reserve(&requests, id(0, 0), "a").unwrap();
        requests.settle(id(0, 0), Some(&answer(200)), 0).unwrap();
        // The budget has room for a part of one more.
        reserve(&requests, id(1, 0), "b").unwrap();
        let long = NewRequest { id: id(2, 0), key: "c", body: &json!("word ".repeat(60)), max_output: None };
        std::thread::scope(|scope| {
            let waiting = scope.spawn(|| requests.reserve(&long));
            std::thread::sleep(std::time::Duration::from_millis(50));
            assert!(!waiting.is_finished());
            requests.settle(id(1, 0), Some(&answer(60)), 0).unwrap();
            assert_eq!(waiting.join().unwrap(), Err(RequestLogError::Stopped));
        });
        assert_eq!(requests.spent_budget(), Some(Budget::Tokens(250)));
        // A process that resumes the run has spent as much.
        assert_eq!(reserve(&test.open(250), id(1, 1), "d"), Err(RequestLogError::Stopped));
        reserve(&test.open(1_000), id(1, 1), "d").unwrap();
    }

    #[test]
    fn the_log_does_not_grow_with_finished_episodes() {
        let test = test_run();
        let requests = test.open(u64::MAX);
        let long = "x".repeat(100_000);
        let received = ReceivedAnswer { body: Some(json!(long)), ..answer(100) };
        reserve(&requests, id(8, 0), "kept").unwrap();
        requests.settle(id(8, 0), Some(&answer(70)), 1).unwrap();
        for turn in 0..100 {
            reserve(&requests, id(0, turn), "k").unwrap();
            requests.settle(id(0, turn), Some(&received), 0).unwrap();
            // The episode got a row.
            requests.state().unfinished.remove(&0);
            requests.compact().unwrap();
            assert!(std::fs::metadata(test.run.requests_path()).unwrap().len() < 1_300_000);
        }
        assert_eq!(requests.kept_answer(id(8, 0), "kept").unwrap(), Some(answer(70)));
        let again = test.open(u64::MAX);
        assert_eq!(again.kept_answer(id(8, 0), "kept").unwrap(), Some(answer(70)));
        assert_eq!(again.lost_tokens(), reservation());
    }
}
