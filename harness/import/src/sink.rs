//! The way of a conversation from its reader to whoever receives it.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::hash::{DefaultHasher, Hash, Hasher};
use std::ops::ControlFlow;

use healbench_reader::soft_errors::{refusal, unwrap_blocks};

use crate::conversation::{Call, Conversation, ErrorSource, Event};
use crate::draft::Draft;
use crate::error::{ImportError, Stop};
use crate::log::{Log, RECORDED, stem};
use crate::mask;
use crate::options::{Options, Router};
use crate::problem::{Position, Problem, ProblemKind};
use crate::suggest::Suggestions;
use crate::summary::{Counts, Summary};

/// Receives conversations.
pub(crate) type Receiver<'a> = &'a mut dyn FnMut(Conversation) -> ControlFlow<()>;

/// Judges, masks and counts conversations, and passes them on.
pub(crate) struct Sink<'a> {
    pub(crate) options: &'a Options,
    pub(crate) summary: Summary,
    pub(crate) suggestions: Suggestions,
    receiver: Receiver<'a>,
    /// The log that is read.
    log: Log,
    /// The positions of the next conversations of the files.
    positions: BTreeMap<usize, usize>,
    /// The last log of which was told that it ends in the middle.
    cut: Option<String>,
    /// The hashes of the records with an id, and of the conversations with one, that were read.
    records: HashSet<u64>,
    /// The names of tasks that stand for conversations without one, and how many have begun like each.
    tasks: HashMap<String, usize>,
}

/// Returns true if a log is in an archive.
fn is_in(log: &str, archive: &str) -> bool {
    log.strip_prefix(archive).is_some_and(|rest| rest.starts_with(": "))
}

impl<'a> Sink<'a> {
    pub(crate) fn new(options: &'a Options, receiver: Receiver<'a>) -> Sink<'a> {
        let (summary, suggestions) = (Summary::default(), Suggestions::default());
        Sink {
            options,
            summary,
            suggestions,
            receiver,
            log: Log::default(),
            positions: BTreeMap::new(),
            cut: None,
            records: HashSet::new(),
            tasks: HashMap::new(),
        }
    }

    /// Begins a log.
    pub(crate) fn begin(&mut self, log: Log) {
        self.counts(log.source).logs += 1;
        self.log = log;
    }

    pub(crate) fn log(&self) -> &Log {
        &self.log
    }

    /// Returns true if no log had this record, or one with this id, so far.
    pub(crate) fn is_new(&mut self, record: impl Hash) -> bool {
        let mut hasher = DefaultHasher::new();
        record.hash(&mut hasher);
        self.records.insert(hasher.finish())
    }

    /// Returns the numbers of conversations and problems so far.
    pub(crate) fn told(&self) -> (u64, u64) {
        let conversations = self.summary.sources.values().map(|counts| counts.conversations).sum();
        (conversations, self.summary.problems.counts.values().sum())
    }

    fn counts(&mut self, source: &'static str) -> &mut Counts {
        self.summary.sources.entry(source).or_default()
    }

    /// Returns an empty conversation of the log, of a task of its own.
    pub(crate) fn draft(&mut self) -> Draft {
        let mut draft = Draft::default();
        self.log.conversations += 1;
        let conversation = &mut draft.conversation;
        conversation.source = self.log.source;
        conversation.task = match self.log.conversations {
            1 => stem(&self.log.name).to_owned(),
            n => format!("{}/{n}", stem(&self.log.name)),
        };
        draft.own_task.clone_from(&conversation.task);
        draft
    }

    /// Returns a name that no other task got here: `task`, else with its parent before it, else with a number too.
    fn task_of_its_own(&mut self, task: String) -> String {
        if !self.tasks.contains_key(&task) {
            self.tasks.insert(task.clone(), 1);
            return task;
        }
        let parent = self.log.parent();
        let name = if parent.is_empty() { task } else { format!("{parent}/{task}") };
        let mut number = self.tasks.get(&name).copied().unwrap_or(0) + 1;
        let numbered = |number| if number == 1 { name.clone() } else { format!("{name}#{number}") };
        while self.tasks.contains_key(&numbered(number)) {
            number += 1;
        }
        self.tasks.insert(numbered(number), 1);
        let own = numbered(number);
        self.tasks.insert(name, number);
        own
    }

    /// Counts a problem of the log.
    pub(crate) fn problem(
        &mut self,
        kind: ProblemKind,
        position: Position,
        detail: impl Into<String>,
    ) -> Result<(), Stop> {
        self.add_problem(Problem { kind, file: self.log.full_name(), position, detail: detail.into() })
    }

    /// Counts a problem that is told once for a log.
    pub(crate) fn problem_once(
        &mut self,
        kind: ProblemKind,
        position: Option<Position>,
        detail: &'static str,
    ) -> Result<(), Stop> {
        if !self.log.told.insert(detail) {
            return Ok(());
        }
        self.problem(kind, position.unwrap_or(Position::File), detail)
    }

    /// Counts a problem of a file that is no log, or damaged as a whole.
    pub(crate) fn problem_of(&mut self, file: &str, kind: ProblemKind, detail: impl Into<String>) -> Result<(), Stop> {
        self.add_problem(Problem { kind, file: file.to_owned(), position: Position::File, detail: detail.into() })
    }

    fn add_problem(&mut self, mut problem: Problem) -> Result<(), Stop> {
        problem.detail = mask::mask_text(problem.detail);
        let kind = problem.kind;
        if kind.is_damage() && self.options.strict {
            return Err(ImportError::Damage(problem).into());
        }
        if kind == ProblemKind::EndsInTheMiddle {
            // An archive ends in the middle of its last log.
            let is_told = self.cut.take().is_some_and(|cut| cut == problem.file || is_in(&cut, &problem.file));
            self.cut = Some(problem.file.clone());
            if is_told {
                return Ok(());
            }
        }
        self.summary.problems.add(problem);
        Ok(())
    }

    /// Returns the summary, at the end of the import.
    pub(crate) fn finish(mut self) -> Summary {
        let routers = self.suggestions.routers();
        let is_new = |router: &Router| self.options.routers.iter().all(|known| known.tool != router.tool);
        self.summary.routers = routers.into_iter().filter(is_new).collect();
        self.summary
    }

    /// Passes a conversation on.
    pub(crate) fn take(&mut self, mut draft: Draft) -> Result<(), Stop> {
        draft.finish();
        let position = draft.position.unwrap_or(Position::File);
        if draft.conversation.events.is_empty() {
            return self.problem(ProblemKind::Empty, position, "");
        }
        if let Some(id) = draft.id.take().filter(|id| !id.is_empty()) {
            let (source, events) = (draft.conversation.source, &draft.conversation.events);
            if !self.is_new((source, &id, events)) {
                return self.problem(ProblemKind::Repeated, position, format!("a copy of {id}"));
            }
        }
        for (kind, position, detail) in std::mem::take(&mut draft.problems) {
            self.problem(kind, position.unwrap_or(Position::File), detail)?;
        }
        let mut conversation = draft.conversation;
        if conversation.task == draft.own_task {
            conversation.task = self.task_of_its_own(draft.own_task);
        }
        let is_told = self.cut.as_ref() == Some(&self.log.full_name());
        if conversation.is_cut_off && conversation.source != RECORDED && !is_told {
            self.problem(ProblemKind::CutOff, position, "")?;
        }
        let next = self.positions.entry(self.log.file).or_default();
        conversation.origin = (self.log.file, *next);
        *next += 1;
        self.finish_calls(&mut conversation);
        mask::mask_credentials(&mut conversation);
        self.count(&conversation);
        match (self.receiver)(conversation) {
            ControlFlow::Continue(()) => Ok(()),
            ControlFlow::Break(()) => Err(Stop::Enough),
        }
    }

    /// Unwraps routers and results, judges what is an error, and leaves out the calls that are not wanted.
    fn finish_calls(&mut self, conversation: &mut Conversation) {
        let mut left_out = 0;
        for event in &mut conversation.events {
            let Event::Turn(turn) = event else { continue };
            for call in &mut turn.calls {
                self.suggestions.see(&call.tool, &call.arguments);
                self.finish_call(call);
            }
            let before = turn.calls.len();
            turn.calls.retain(|call| self.options.keeps(&call.tool));
            turn.left_out = before - turn.calls.len();
            left_out += turn.left_out;
        }
        self.counts(conversation.source).left_out += u64::try_from(left_out).unwrap_or(u64::MAX);
    }

    fn finish_call(&self, call: &mut Call) {
        if let Some((tool, arguments)) = self.options.unwrap_router(&call.tool, &call.arguments) {
            call.tool = tool;
            call.arguments = arguments;
        }
        call.is_shell = self.options.is_shell(&call.tool);
        let Some(result) = &mut call.result else { return };
        let unwrapped = unwrap_blocks(&result.blocks);
        result.is_refused = refusal(&unwrapped.text).is_some();
        if result.is_refused {
            result.error = None;
        } else if result.error.is_none() {
            let of_text = unwrapped.is_error_text.then_some(ErrorSource::Text);
            result.error = if unwrapped.is_flagged { Some(ErrorSource::Flag) } else { of_text };
        }
        result.text = unwrapped.text;
    }

    fn count(&mut self, conversation: &Conversation) {
        let counts = self.counts(conversation.source);
        counts.conversations += 1;
        counts.attacks += u64::from(conversation.tags.contains_key("attack"));
        let model = counts.models.entry(conversation.model.clone()).or_default();
        model.conversations += 1;
        for event in &conversation.events {
            let Event::Turn(turn) = event else { continue };
            for call in &turn.calls {
                let error = call.result.as_ref().and_then(|result| result.error);
                model.calls += 1;
                counts.calls += 1;
                counts.results += u64::from(call.result.is_some());
                counts.refused += u64::from(call.result.as_ref().is_some_and(|result| result.is_refused));
                counts.shell_calls += u64::from(call.is_shell);
                match error {
                    Some(_) if call.is_shell => counts.shell_errors += 1,
                    Some(ErrorSource::Flag) => counts.flag_errors += 1,
                    Some(ErrorSource::Text) => counts.text_errors += 1,
                    None => {}
                }
                model.errors += u64::from(error.is_some() && !call.is_shell);
            }
        }
    }
}
