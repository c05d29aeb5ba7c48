//! Makes the calls of a scenario's script, and its mistakes, without an agent.

use healbench_core::{EnvironmentError, Step, ToolCall};
use healbench_engine::GuardedReply;

use crate::client_reply::{ClientReply, reply_through_client};
use crate::{GuardedSession, ScenarioContext};

/// The course of a scenario under one condition.
pub struct Explanation {
    /// The steps of the script, in order.
    pub steps: Vec<ExplainedStep>,
    /// Descriptions of the expectations that do not hold after the last step.
    pub unmet: Vec<String>,
}

/// A step with its answers.
pub struct ExplainedStep {
    /// The step without mistakes.
    pub step: Step,
    /// The answers to the intended call, which is made again as long as a fault strikes it.
    pub answers: Vec<Answered>,
    /// The different mistakes, each made after the steps before, and again as long as a fault strikes it.
    pub mistakes: Vec<Answered>,
}

/// A call with its answer. The content of the answer is what an agent is shown.
pub struct Answered {
    /// The call.
    pub call: ToolCall,
    /// The simulated seconds that were waited before it.
    pub waited_s: u32,
    /// The answer.
    pub reply: GuardedReply,
}

impl ScenarioContext<'_> {
    /// Makes the calls of the script under the condition with this index in the plan, and the mistakes of the first trials.
    ///
    /// # Errors
    /// [`EnvironmentError`] if the environment gave no reply.
    pub fn explain(&self, condition: usize, trials: u32) -> Result<Explanation, EnvironmentError> {
        let steps = |trial| self.schedule(trial).script.steps.clone();
        let mut session = self.open(condition, 0)?;
        let mut explained = Vec::new();
        for step in steps(0) {
            let answers = self.answers(&mut session, condition, &step, &step.intended)?;
            let step = Step { draft: step.intended.clone(), twice: false, ..step };
            explained.push(ExplainedStep { step, answers, mistakes: Vec::new() });
        }
        let answer = self.schedule(0).script.answer.clone();
        let unmet = session.unmet_with(Some(answer.as_deref().unwrap_or_default()), self.scenario.expects_stop())?;
        drop(session);
        for trial in 0..trials {
            let steps = steps(trial);
            for (index, step) in steps.iter().enumerate().filter(|(_, step)| step.is_mistaken()) {
                let known = &mut explained[index].mistakes;
                if known.iter().any(|one| one.call == step.draft) {
                    continue;
                }
                let mut session = self.open(condition, trial)?;
                for before in &steps[..index] {
                    self.answers(&mut session, condition, before, &before.intended)?;
                }
                for _ in 0..1 + usize::from(step.twice) {
                    known.extend(self.answers(&mut session, condition, step, &step.draft)?);
                }
            }
        }
        Ok(Explanation { steps: explained, unmet })
    }

    /// Makes a call of a step, again as long as it meets a fault.
    fn answers(
        &self,
        session: &mut GuardedSession<'_>,
        condition: usize,
        step: &Step,
        call: &ToolCall,
    ) -> Result<Vec<Answered>, EnvironmentError> {
        let mut answers: Vec<Answered> = Vec::new();
        let mut delay = Some(0);
        while let Some(waited_s) = delay.filter(|_| answers.len() < self.scenario.task.max_calls as usize) {
            session.wait(waited_s);
            let reply = self.shown(session, condition, call)?;
            delay = healbench_scenarios::delay_before_repetition(step, &reply);
            answers.push(Answered { call: call.clone(), waited_s, reply });
        }
        Ok(answers)
    }

    /// Makes a call through the client of the condition.
    fn shown(
        &self,
        session: &mut GuardedSession<'_>,
        condition: usize,
        call: &ToolCall,
    ) -> Result<GuardedReply, EnvironmentError> {
        let Some(client) = &self.clients[condition] else { return session.call(call) };
        Ok(match reply_through_client(client, call, |call| session.call(call))? {
            ClientReply::OfServer { mut answer, shown } => {
                answer.response.content = shown;
                answer
            }
            ClientReply::OfClient { answer, .. } => answer,
        })
    }
}
