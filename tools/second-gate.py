#!/usr/bin/env python3
"""Decides pairs of runs a second time, without code of the gate, and compares the verdicts.

usage: tools/second-gate.py PROGRAM PAIRS
       tools/second-gate.py --published

PROGRAM is healbench. PAIRS is the folder that this command writes (300 pairs, fixed seed):

    HEALBENCH_RUN_PAIRS=PAIRS cargo test -p healbench-render --test reports run_pairs -- --ignored

Each pair has two runs, a policy, and truth.json with the outcomes that were written into the runs. PROGRAM reduces the base by `bless`, and compares
the candidate by `gate --output json`. What is decided here again, from truth.json: the verdict for this suite (the likelihood maximised by bisection, the
exact p-value summed up over all tables), for other scenarios (the ICC from single pairs, Student's t), the broken scenarios (hypergeometric terms, Holm), and
the verdict of the row. `--published` compares the statistics for clusters with published figures. Needs numpy and scipy.
"""

import json
import math
import subprocess
import sys
import tempfile
from collections import Counter, defaultdict
from pathlib import Path

import numpy
from scipy import stats

LEVEL = 0.05
EXACT_PAIRS = 10_000


def restricted_losses(gains, losses, pairs, difference):
    """The share of losses with the largest likelihood, given the difference; arrays of gains and losses."""
    same = pairs - gains - losses
    low = numpy.full(gains.shape, max(0.0, -difference))
    high = numpy.full(gains.shape, (1 - difference) / 2)
    for _ in range(60):
        middle = (low + high) / 2
        with numpy.errstate(divide="ignore", invalid="ignore"):
            slope = (numpy.where(gains > 0, gains / (middle + difference), 0) + numpy.where(losses > 0, losses / middle, 0)
                     - numpy.where(same > 0, 2 * same / (1 - 2 * middle - difference), 0))
        low, high = numpy.where(slope > 0, middle, low), numpy.where(slope > 0, high, middle)
    return (low + high) / 2


def scores(gains, losses, pairs, difference):
    gains, losses = numpy.asarray(gains, float), numpy.asarray(losses, float)
    lost = restricted_losses(gains, losses, pairs, difference)
    variance = pairs * (2 * lost + difference - difference**2)
    return (gains - losses - pairs * difference) / numpy.sqrt(numpy.maximum(variance, 1e-300))


def score(gains, losses, pairs, difference):
    return float(scores([gains], [losses], pairs, difference)[0])


def exact_p(gains, losses, pairs, margin):
    """The largest probability of a score at least as high, over all discordances, if the difference is -margin."""
    observed = score(gains, losses, pairs, -margin)
    discordant = numpy.arange(pairs + 1)
    # The score rises with the gains: the fewest of them that reach the observed score, by bisection.
    low, high = numpy.zeros(pairs + 1, int), discordant + 1
    while numpy.any(low < high):
        middle = (low + high) // 2
        reaches = scores(middle, numpy.maximum(discordant - middle, 0), pairs, -margin) >= observed - 1e-9
        active = low < high
        high = numpy.where(active & reaches, middle, high)
        low = numpy.where(active & ~reaches, middle + 1, low)
    fewest = low

    def probability(discordance):
        gained = max(0.0, (discordance - margin) / 2) / discordance
        likely = stats.binom.pmf(discordant, pairs, discordance)
        near = likely > 1e-13
        return float(numpy.sum(likely[near] * stats.binom.sf(fewest[near] - 1, discordant[near], gained)))

    grid = margin + (1 - margin) * numpy.sin(numpy.linspace(1e-6, 1, 400) * math.pi / 2) ** 2
    found = [probability(at) for at in grid]
    best = int(numpy.argmax(found))
    around = numpy.linspace(grid[max(best - 1, 0)], grid[min(best + 1, len(grid) - 1)], 60)
    return max(max(found), max(probability(at) for at in around))


def this_suite(gains, losses, pairs, margin):
    if pairs < 2:
        return "INCONCLUSIVE"
    found, limit = score(gains, losses, pairs, -margin), stats.norm.ppf(1 - LEVEL)
    if abs(found) <= limit:
        return "INCONCLUSIVE"
    if pairs <= EXACT_PAIRS:
        # A FAIL is a PASS of the exchanged sides against the opposite margin.
        p = exact_p(gains, losses, pairs, margin) if found > 0 else exact_p(losses, gains, pairs, -margin)
        if p > LEVEL:
            return "INCONCLUSIVE"
    return "PASS" if found > 0 else "FAIL"


def design_effect(clusters):
    """Clusters are lists of 1, 0 and -1."""
    sizes = numpy.array([len(cluster) for cluster in clusters])
    total, count = sizes.sum(), len(clusters)
    if total == count:
        return 1.0
    mean = sum(map(sum, clusters)) / total
    between = sum(len(c) * (numpy.mean(c) - mean) ** 2 for c in clusters) / (count - 1)
    within = sum(sum((value - numpy.mean(c)) ** 2 for value in c) for c in clusters) / (total - count)
    usual = (total - (sizes**2).sum() / total) / (count - 1)
    spread = between + (usual - 1) * within
    icc = (between - within) / spread if spread > 1e-12 else 1.0
    return 1 + ((sizes**2).sum() / total - 1) * max(0.0, icc)


def clustered_limit(clusters):
    return stats.t.ppf(1 - LEVEL, len(clusters) - 1) * math.sqrt(design_effect(clusters))


def other_scenarios(clusters, margin):
    """The verdict, and the number of clusters missing for a PASS."""
    gains, losses = (sum(c.count(value) for c in clusters) for value in (1, -1))
    found, limit = score(gains, losses, sum(map(len, clusters)), -margin), clustered_limit(clusters)
    floor = math.ceil(math.log(0.05) / math.log(1 - margin))
    missing = max(0, floor - len(clusters))
    if found > limit:
        return ("INCONCLUSIVE" if missing else "PASS"), missing
    return ("FAIL" if found < -limit else "INCONCLUSIVE"), missing


def interval(clusters):
    gains, losses = (sum(c.count(value) for c in clusters) for value in (1, -1))
    pairs, limit = sum(map(len, clusters)), clustered_limit(clusters)

    def crossing(low, high, target):
        for _ in range(60):
            middle = (low + high) / 2
            low, high = (middle, high) if score(gains, losses, pairs, middle) > target else (low, middle)
        return (low + high) / 2

    estimate = (gains - losses) / pairs
    lower = -1.0 if losses == pairs else crossing(-1.0, estimate, limit)
    upper = 1.0 if gains == pairs else crossing(estimate, 1.0, -limit)
    return lower, upper


def fisher_fewer(successes, others, trials):
    """The probability of at most so many successes in `trials` of twice as many, given the successes of both."""
    both = successes + others
    ways = sum(math.comb(trials, k) * math.comb(trials, both - k) for k in range(0, successes + 1) if 0 <= both - k <= trials)
    return ways / math.comb(2 * trials, both)


def is_broken(scenarios, direction):
    p_values = []
    for base, candidate in scenarios:
        fewer, more = fisher_fewer(sum(candidate), sum(base), len(base)), fisher_fewer(sum(base), sum(candidate), len(base))
        p_values.append({"higher": fewer, "lower": more, "same": min(1, 2 * min(fewer, more))}[direction])
    # Holm rejects something if and only if Bonferroni does.
    return min(p_values, default=1) * len(p_values) <= LEVEL


def worse(verdicts):
    return next(verdict for verdict in ("FAIL", "INCONCLUSIVE", "PASS") if verdict in verdicts)


def decide(truth):
    """The verdict of the row, that for other scenarios or None, the clusters missing, and the clusters."""
    direction, margin = truth["direction"], truth["margin"]
    scenarios, clusters, unpaired = [], defaultdict(list), False
    for cluster, base, candidate in zip(truth["clusters"], truth["base"], truth["candidate"]):
        pairs = [(int(a), int(b)) for a, b in zip(base, candidate) if "-" not in (a, b)]
        unpaired |= not pairs
        if pairs:
            scenarios.append(([a for a, _ in pairs], [b for _, b in pairs]))
            clusters[cluster] += [b - a for a, b in pairs]
    clusters = list(clusters.values())
    signs = {"higher": [1], "lower": [-1], "same": [1, -1]}[direction]
    values = [value for cluster in clusters for value in cluster]
    suite = "MISSING" if unpaired else worse([
        this_suite(values.count(sign), values.count(-sign), len(values), margin) for sign in signs])
    others, missing = None, None
    if len(clusters) > 1:
        decided = [other_scenarios([[sign * value for value in c] for c in clusters], margin) for sign in signs]
        others, missing = worse([verdict for verdict, _ in decided]), decided[0][1]
    verdict = "FAIL" if suite in ("PASS", "INCONCLUSIVE") and is_broken(scenarios, direction) else suite
    if truth["generalize"] and verdict == "PASS":
        verdict = others or "INCONCLUSIVE"
    return verdict, others, missing, clusters


def gate(program, pair):
    with tempfile.TemporaryDirectory() as folder:
        baseline, policy = Path(folder) / "baseline.toml", pair / "gate.toml"
        subprocess.run([program, "bless", pair / "base", "--out", baseline, "--policy", policy, "--quiet"], check=True, capture_output=True)
        found = subprocess.run([program, "gate", baseline, pair / "candidate", "--policy", policy, "--output", "json"], capture_output=True, text=True)
        if not found.stdout:
            sys.exit(found.stderr)
        return next(row for row in json.loads(found.stdout)["rows"] if row["metric"] == "success")


def compare(program, folder):
    pairs = sorted(path for path in folder.iterdir() if (path / "truth.json").exists())
    verdicts, generalized, wrong = Counter(), Counter(), 0
    for pair in pairs:
        row, (verdict, others, missing, clusters) = gate(program, pair), decide(json.loads((pair / "truth.json").read_text()))
        found = row["other_scenarios"]
        problems = [] if row["verdict"] == verdict else [f"{row['verdict']} is not {verdict}"]
        if (found is None) != (others is None):
            problems.append(f"other scenarios: {found} is not {others}")
        elif found:
            mine, theirs = (others, missing, len(clusters)), (found["verdict"], found["missing_scenarios"], found["scenarios"])
            ends = max(abs(a - b) for a, b in zip(interval(clusters), (found["interval"]["lower"], found["interval"]["upper"])))
            if mine != theirs or ends > 1e-6:
                problems.append(f"other scenarios: {theirs} is not {mine}, ends {ends:.1e} apart")
        wrong += bool(problems)
        if problems:
            print(pair.name, "; ".join(problems), row["reason"], sep="\t")
        verdicts[verdict] += 1
        generalized[others] += 1
    print(f"{len(pairs)} pairs, {wrong} differ; verdicts {dict(verdicts)}; other scenarios {dict(generalized)}")
    return wrong or not pairs


# R package clust.bin.pair, data sets `psychiatry` and `thyroids`: gains, losses, pairs of each cluster. Psychiatrists and their patients: A. Donner,
# P. Petryshen (1989), Psychiatry Research 28, 41-46. Glands by PET and by SPECT: N. A. Obuchowski (1998), Statistics in Medicine 17, 1495-1507.
PSYCHIATRY = list(zip(
    [0, 1, 1, 1, 0, 3, 3, 3, 1, 0, 0, 1, 0, 0, 0, 0, 0, 0, 3, 1, 1, 2, 0, 0, 0, 0, 0, 0, 0],
    [4, 2, 3, 2, 1, 3, 0, 2, 2, 4, 2, 4, 3, 2, 1, 3, 1, 2, 0, 0, 0, 2, 1, 2, 2, 0, 0, 1, 1],
    [7, 6, 7, 6, 4, 6, 5, 8, 4, 7, 3, 6, 7, 6, 5, 4, 6, 5, 4, 3, 5, 4, 4, 2, 3, 2, 2, 3, 1]))
PET = "000 110 111 1 110 1111 111 11 11 1 110 11 111 11 00 110 110 110 11 1 11".split()
SPECT = "011 111 111 1 111 1111 111 11 10 1 110 11 111 11 11 110 110 111 11 1 11".split()
THYROIDS = [(sum(a > b for a, b in zip(*glands)), sum(a < b for a, b in zip(*glands)), len(glands[0])) for glands in zip(PET, SPECT)]
# As given by Durkalski and others (2003), Statistics in Medicine 22, 2417-2428; `yang` by Yang and others (2010), Biometrical Journal 52, 638-652.
PUBLISHED = {
    "psychiatry": (PSYCHIATRY, {"mcnemar": 11.85, "obuchowski": 7.19, "durkalski": 7.54, "yang": 8.43}),
    "thyroids": (THYROIDS, {"mcnemar": 4.5, "obuchowski": 2.86, "durkalski": 2.32, "yang": 3.13}),
}


def statistics(clusters):
    gains, losses, pairs = (numpy.array(column, float) for column in zip(*clusters))
    excess, count = gains - losses, len(clusters)
    share = excess / pairs
    mean = excess.sum() / pairs.sum()
    # Variances of the sum of excesses: about 0, about 0 by shares, and the mean of those about 0 and about the estimate.
    null, about_mean = (excess**2).sum(), ((excess - pairs * mean) ** 2).sum()
    values = [[1] * int(b) + [-1] * int(c) + [0] * int(n - b - c) for b, c, n in clusters]
    independent = excess.sum() ** 2 / (gains + losses).sum()
    return {
        "mcnemar": independent,
        "obuchowski": (count - 1) / count * excess.sum() ** 2 / null,
        "durkalski": share.sum() ** 2 / (share**2).sum(),
        "yang": (count - 1) / count * excess.sum() ** 2 / ((null + about_mean) / 2),
        "ours": independent / design_effect(values),
        "ours, from the score": score(gains.sum(), losses.sum(), pairs.sum(), 0.0) ** 2 / design_effect(values),
    }


def published():
    wrong = 0
    for name, (clusters, figures) in PUBLISHED.items():
        for what, value in statistics(clusters).items():
            figure = figures.get(what)
            differs = figure is not None and abs(value - figure) > 0.00501
            wrong += differs
            print(f"{name}\t{what}\t{value:.3f}\t{figure if figure is not None else 'none published'}{'  DIFFERS' if differs else ''}")
    return wrong


if __name__ == "__main__":
    match sys.argv[1:]:
        case ["--published"]:
            sys.exit(bool(published()))
        case [program, folder]:
            sys.exit(bool(compare(program, Path(folder))))
        case _:
            sys.exit(__doc__)
