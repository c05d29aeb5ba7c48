//! Tests of episodes that are run once because nothing but the decisions of draws differs between trials.

use std::borrow::Cow;
use std::sync::atomic::AtomicU64;

use healbench_reader::{Profile, ScriptedAgent, shipped_profile};

use super::*;

/// A simulated reader that does not say what decides its turns, so that each of its episodes is run.
struct Opaque<'a>(ScriptedAgent<'a>);

impl Agent for Opaque<'_> {
    fn next_turn(&mut self, seen: &[&ToolResponse]) -> Result<Turn, AgentError> {
        self.0.next_turn(seen)
    }

    fn preamble(&self) -> Cow<'_, str> {
        self.0.preamble()
    }

    fn context_window(&self) -> Option<u64> {
        self.0.context_window()
    }
}

/// Profiles with and without draws.
const PROFILES: [&str; 4] = ["perfect", "typical", "persistent", "yielding"];

/// In scenarios with drawn mistakes, drawn worlds and damaged results.
#[test]
fn repeated_episodes_have_the_rows_of_their_own_runs() {
    let scenarios = load_suite(&["quickstart", "silent"].map(PathBuf::from)).unwrap();
    let profiles: Vec<Profile> = PROFILES.iter().map(|name| shipped_profile(name).unwrap()).collect();
    let agents = PROFILES.iter().zip(&profiles).map(|(name, profile)| profile.spec(name)).collect();
    let conditions = Condition::of_parts(&[Guardrails::NONE, Guardrails::ALL], &[ErrorFormat::FusionXml]);
    let plan = build_plan(&Axes { agents, conditions, trials: 40, seed: Seed(2) }, &scenarios);
    let agents_made = AtomicU64::new(0);
    let repeated = run_from(&plan, &scenarios, 2, 0, &counting(&profiles, &agents_made)).unwrap();
    let alone = run_from(&plan, &scenarios, 2, 0, &opaque(&profiles)).unwrap();
    assert!(repeated == alone);
    let (made, episodes) = (agents_made.into_inner(), plan.len());
    assert!(made < episodes * 2 / 3, "{made} of {episodes} episodes were run");
}

fn counting<'a>(
    profiles: &'a [Profile],
    made: &'a AtomicU64,
) -> impl for<'s> Fn(usize, EpisodeStart<'s>, Option<&'s Script>) -> Box<dyn Agent + 's> + Sync + 'a {
    |agent, start, script| {
        made.fetch_add(1, Ordering::Relaxed);
        Box::new(ScriptedAgent::new(&profiles[agent], start, script.unwrap()))
    }
}

fn opaque(
    profiles: &[Profile],
) -> impl for<'s> Fn(usize, EpisodeStart<'s>, Option<&'s Script>) -> Box<dyn Agent + 's> + Sync + '_ {
    |agent, start, script| Box::new(Opaque(ScriptedAgent::new(&profiles[agent], start, script.unwrap())))
}
