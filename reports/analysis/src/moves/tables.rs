//! Tables of shares by kind and agent.

use std::collections::{BTreeMap, BTreeSet};

use healbench_core::{ERROR_KINDS, ErrorKind};

use super::model::{PlainLevel, PlainShares, Shares, Strengths};
use super::observations::Observation;

/// The number of kinds.
pub(super) const KINDS: usize = ERROR_KINDS.len();

/// The tasks from which on a group has shares of its own in the plain table.
const PLAIN_TASKS: usize = 5;

/// The moves that are added to all moves, so that no share is 0.
const ADDED: f64 = 2.0;

/// The most rounds in which both effects are fitted, and the change of a share that ends them.
const ROUNDS: usize = 200;
const SMALL: f64 = 1e-7;

/// Shares by kind.
pub(super) type ByKind = [Shares; KINDS];

/// Returns the weight of each move: n^-1/2 for the n moves of its task and kind.
pub(super) fn weights(moves: &[Observation]) -> Vec<f64> {
    let mut sizes: BTreeMap<(usize, ErrorKind), u32> = BTreeMap::new();
    for made in moves {
        *sizes.entry((made.task, made.kind)).or_default() += 1;
    }
    moves.iter().map(|made| f64::from(sizes[&(made.task, made.kind)]).sqrt().recip()).collect()
}

/// The weights of first errors, by task and kind. They are those of later errors too, whose number depends on the moves that are made.
#[derive(Debug, Clone)]
pub(super) struct Weights(BTreeMap<(usize, ErrorKind), f64>);

impl Weights {
    pub(super) fn of(first: &[Observation]) -> Weights {
        Weights(first.iter().map(|made| (made.task, made.kind)).zip(weights(first)).collect())
    }

    /// Returns the weight of a move; 1 if no chain in its task begins with its kind.
    pub(super) fn get(&self, made: &Observation) -> f64 {
        self.0.get(&(made.task, made.kind)).copied().unwrap_or(1.0)
    }
}

/// Weighted counts of moves.
#[derive(Debug, Clone)]
pub(super) struct Counts {
    /// By agent and kind.
    cells: Vec<ByKind>,
    /// By kind.
    kinds: ByKind,
    /// By agent.
    agents: Vec<Shares>,
    /// The shares of all moves.
    all: Shares,
}

impl Counts {
    pub(super) fn of(moves: &[Observation], agents: usize) -> Counts {
        let mut counts = Counts {
            cells: vec![[[0.0; 4]; KINDS]; agents],
            kinds: [[0.0; 4]; KINDS],
            agents: vec![[0.0; 4]; agents],
            all: [ADDED / 4.0; 4],
        };
        for (made, weight) in moves.iter().zip(weights(moves)) {
            let (kind, column) = (made.kind as usize, made.column());
            counts.cells[made.agent][kind][column] += weight;
            counts.kinds[kind][column] += weight;
            counts.agents[made.agent][column] += weight;
            counts.all[column] += weight;
        }
        counts.all = normalized(counts.all);
        counts
    }

    /// Returns the shares of each kind without agents.
    pub(super) fn kind_alone(&self, strength: f64) -> ByKind {
        self.kinds.map(|counts| shrunk(counts, self.all, strength))
    }

    /// Returns the shares of each agent without kinds.
    pub(super) fn agent_alone(&self, strength: f64) -> Vec<Shares> {
        self.agents.iter().map(|counts| shrunk(*counts, self.all, strength)).collect()
    }

    /// Returns the shares by agent and kind whose odds are a product of an effect of the kind and one of the agent. The effects are raked:
    /// expected moves have the sums of the observed ones by kind and by agent, with `strength` moves more in each that have no effect.
    pub(super) fn product(&self, strength: f64) -> Vec<ByKind> {
        let mut kinds = [[1.0; 4]; KINDS];
        let mut agents = vec![[1.0; 4]; self.agents.len()];
        let mut product = self.product_of(&kinds, &agents);
        for _ in 0..ROUNDS {
            let expected = |kind: usize| sum((0..agents.len()).map(|agent| self.expected(&product, agent, kind)));
            for (kind, effect) in kinds.iter_mut().enumerate() {
                self.rake(effect, self.kinds[kind], expected(kind), strength);
            }
            product = self.product_of(&kinds, &agents);
            for (agent, effect) in agents.iter_mut().enumerate() {
                let expected = sum((0..KINDS).map(|kind| self.expected(&product, agent, kind)));
                self.rake(effect, self.agents[agent], expected, strength);
            }
            let before = std::mem::replace(&mut product, self.product_of(&kinds, &agents));
            let shares = |of: &[ByKind]| of.iter().flatten().flatten().copied().collect::<Vec<f64>>();
            if shares(&before).into_iter().zip(shares(&product)).all(|(old, new)| (old - new).abs() < SMALL) {
                break;
            }
        }
        product
    }

    fn product_of(&self, kinds: &ByKind, agents: &[Shares]) -> Vec<ByKind> {
        let cell =
            |agent: &Shares, kind: &Shares| normalized(std::array::from_fn(|at| self.all[at] * agent[at] * kind[at]));
        agents.iter().map(|agent| kinds.map(|kind| cell(agent, &kind))).collect()
    }

    fn expected(&self, product: &[ByKind], agent: usize, kind: usize) -> Shares {
        let size: f64 = self.cells[agent][kind].iter().sum();
        product[agent][kind].map(|share| share * size)
    }

    /// Multiplies an effect so that expected moves come nearer to observed ones.
    fn rake(&self, effect: &mut Shares, observed: Shares, expected: Shares, strength: f64) {
        let alone = normalized(std::array::from_fn(|at| self.all[at] * effect[at]));
        for at in 0..4 {
            effect[at] *= (observed[at] + strength * self.all[at]) / (expected[at] + strength * alone[at]);
        }
    }

    /// Returns the shares by agent and kind, drawn towards the product of the effects of both.
    pub(super) fn cells(&self, strength: f64) -> Vec<ByKind> {
        let own = self.cells.iter().zip(self.product(strength));
        own.map(|(cells, product)| std::array::from_fn(|kind| shrunk(cells[kind], product[kind], strength))).collect()
    }
}

/// All tables.
#[derive(Debug, Clone)]
pub(super) struct Tables {
    /// The shares of all moves.
    pub(super) all: Shares,
    /// By kind without agents.
    pub(super) kinds: ByKind,
    /// By agent without kinds.
    pub(super) agents: Vec<Shares>,
    /// By agent and kind.
    pub(super) cells: Vec<ByKind>,
    /// Smoothed shares by agent and kind, of the narrowest group with enough tasks.
    pub(super) plain: Vec<[PlainShares; KINDS]>,
    /// The same without agents.
    pub(super) plain_kinds: [PlainShares; KINDS],
}

impl Tables {
    pub(super) fn of(moves: &[Observation], agents: usize, strengths: Strengths) -> Tables {
        let counts = Counts::of(moves, agents);
        let tasks = |is_in: &dyn Fn(&Observation) -> bool| {
            moves.iter().filter(|made| is_in(made)).map(|made| made.task).collect::<BTreeSet<usize>>().len()
        };
        let all = PlainShares { level: PlainLevel::All, shares: counts.all };
        let plain_kinds = std::array::from_fn(|kind| match tasks(&|made| made.kind as usize == kind) {
            PLAIN_TASKS.. => {
                PlainShares { level: PlainLevel::Kind, shares: shrunk(counts.kinds[kind], counts.all, 1.0) }
            }
            _ => all,
        });
        let plain = |agent: usize| {
            std::array::from_fn(|kind| match tasks(&|made| made.kind as usize == kind && made.agent == agent) {
                PLAIN_TASKS.. => {
                    let shares = shrunk(counts.cells[agent][kind], counts.kind_alone(1.0)[kind], 1.0);
                    PlainShares { level: PlainLevel::Cell, shares }
                }
                _ => plain_kinds[kind],
            })
        };
        Tables {
            all: counts.all,
            kinds: counts.kind_alone(strengths.kind),
            agents: counts.agent_alone(strengths.agent),
            cells: counts.cells(strengths.cell),
            plain: (0..agents).map(plain).collect(),
            plain_kinds,
        }
    }
}

/// Returns the shares of counts with `strength` more that have the shares `towards`.
pub(super) fn shrunk(counts: Shares, towards: Shares, strength: f64) -> Shares {
    normalized(std::array::from_fn(|at| counts[at] + strength * towards[at]))
}

fn normalized(counts: Shares) -> Shares {
    let sum: f64 = counts.iter().sum();
    counts.map(|count| count / sum)
}

fn sum(rows: impl Iterator<Item = Shares>) -> Shares {
    rows.fold([0.0; 4], |sums, row| std::array::from_fn(|at| sums[at] + row[at]))
}
