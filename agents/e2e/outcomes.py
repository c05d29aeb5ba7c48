#!/usr/bin/env python3
"""Compares the successes of a recorded model with those of readers that were fitted to other families of scenarios.

usage: agents/e2e/outcomes.py MODEL.csv READERS.csv CONDITIONS BASELINE READER=FAMILIES READER=FAMILIES

The tables are those of `healbench report RUN --by-scenario --output csv`. READER was fitted to FAMILIES under CONDITIONS, and predicts the
other families. BASELINE is a reader that predicts all of them. `mean` is the model's success in the fitted families, under the same
condition, or under all fitted conditions if that one was not fitted. All lists have commas.
"""

import csv
import random
import statistics
import sys

PREDICTORS = ["fitted", "baseline", "mean", "nothing"]
RESAMPLES = 10_000


def successes(file):
    with open(file, newline="", encoding="utf-8") as rows:
        return {
            (row["agent"], row["scenario"], row["condition"]): int(row["success_numerator"]) / int(row["success_denominator"])
            for row in csv.DictReader(rows)
        }


def interval(values):
    """Returns the mean of the scenarios' values, with its 95% bootstrap interval."""
    draws = random.Random(1)
    means = sorted(statistics.fmean(draws.choices(values, k=len(values))) for _ in range(RESAMPLES))
    return f"{statistics.fmean(values):+.3f} [{means[RESAMPLES // 40]:.3f}, {means[-RESAMPLES // 40 - 1]:.3f}]"


def predict(observed, predicted, conditions, baseline, fits):
    """Returns the prediction of each predictor for each scenario and condition, by the reader that did not see its family."""
    predictions = {}
    for scenario, condition in observed:
        [(reader, families)] = [fit for fit in fits if scenario.split("/")[0] not in fit[1]]
        shown = [condition] if condition in conditions else conditions
        mean = statistics.fmean(value for (other, seen), value in observed.items() if other.split("/")[0] in families and seen in shown)
        cell = [predicted[agent, scenario, condition] for agent in (reader, baseline)]
        predictions[scenario, condition] = dict(zip(PREDICTORS, [*cell, mean, 0], strict=True))
    return predictions


def main(model, readers, conditions, baseline, *fits):
    observed = {key[1:]: value for key, value in successes(model).items()}
    fitted = conditions.split(",")
    fits = [(reader, families.split(",")) for reader, families in (fit.split("=") for fit in fits)]
    predictions = predict(observed, successes(readers), fitted, baseline, fits)
    scenarios = sorted({scenario for scenario, _ in observed})
    all_conditions = list(dict.fromkeys(condition for _, condition in observed))
    names = {"fitted": "fitted", "baseline": baseline.removeprefix("scripted:"), "mean": "mean", "nothing": "nothing"}

    def brier(scenario, conditions, predictor):
        return statistics.fmean(
            (predictions[scenario, condition][predictor] - observed[scenario, condition]) ** 2 for condition in conditions
        )

    print(f"{len(scenarios)} scenarios, each predicted by the reader that was fitted to the other families\n")
    print(f"{'success, %':<28}{'observed':>10}" + "".join(f"{names[predictor]:>10}" for predictor in PREDICTORS[:3]))
    for condition in all_conditions:
        values = [[observed[scenario, condition], *predictions[scenario, condition].values()] for scenario in scenarios]
        label = condition + ("" if condition in fitted else " (not fitted)")
        print(f"  {label:<26}" + "".join(f"{100 * statistics.fmean(column):10.1f}" for column in list(zip(*values, strict=True))[:4]))

    groups = {"fitted conditions": fitted, "other conditions": [name for name in all_conditions if name not in fitted]}
    print(f"\n{'Brier score':<28}" + "".join(f"{names[predictor]:>10}" for predictor in PREDICTORS))
    for label, group in groups.items():
        scores = (statistics.fmean(brier(scenario, group, predictor) for scenario in scenarios) for predictor in PREDICTORS)
        print(f"  {label:<26}" + "".join(f"{score:10.3f}" for score in scores))
    for predictor in PREDICTORS[1:]:
        print(f"\nfitted - {names[predictor]}")
        for label, group in groups.items():
            values = [brier(scenario, group, "fitted") - brier(scenario, group, predictor) for scenario in scenarios]
            print(f"  {label:<26}{interval(values):>26}")

    first, second = fitted
    print(f"\n{f'{second} - {first}, points':<36}{'observed':>10}{'fitted':>10}{names['baseline']:>10}")
    for label, members in [("all", scenarios)] + [
        (reader.removeprefix("scripted:"), [name for name in scenarios if name.split("/")[0] not in families])
        for reader, families in fits
    ]:
        columns = [observed, *({key: value[name] for key, value in predictions.items()} for name in PREDICTORS[:2])]
        gains = [100 * statistics.fmean(cell[name, second] - cell[name, first] for name in members) for cell in columns]
        label = f"{label}, {len(members)} scenarios"
        print(f"  {label:<34}" + "".join(f"{gain:+10.1f}" for gain in gains))
    print("\nLower scores are better. []: 95% intervals for other scenarios (bootstrap).")


if __name__ == "__main__":
    if len(sys.argv) != 7:
        sys.exit(__doc__)
    main(*sys.argv[1:])
