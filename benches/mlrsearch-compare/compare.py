#!/usr/bin/env python3
"""Compares linerate's saturation search with the MLRsearch package from PyPI.

Both search the same simulated paths (crates/analysis, search::simulated). Prints a Markdown table.

    cargo build -p linerate-analysis --example search_sim
    python3 -m venv venv && venv/bin/pip install MLRsearch==1.2.1
    venv/bin/python benches/mlrsearch-compare/compare.py target/debug/examples/search_sim [SEEDS]
"""

import json
import statistics
import subprocess
import sys

from MLRsearch import (
    AbstractMeasurer,
    Config,
    MeasurementResult,
    MultipleLossRatioSearch,
    SearchGoal,
)

LOSS_GOALS = (0.0, 0.001, 0.005)
MIN_LOAD, MAX_LOAD = 1e6, 1e9
# The package ends a search that takes longer with an error.
PATIENCE_S = 3600.0
# name -> attributes of each of its goals
PACKAGE = {
    "MLRsearch 1.2.1, defaults (sum 21 s)": {"duration_sum": 21.0},
    "MLRsearch 1.2.1, our goals (sum 5 s)": {"duration_sum": 5.0},
}
OURS = {"linerate": "mlrsearch", "linerate `binary`": "binary"}


class Simulated(AbstractMeasurer):
    """Asks search_sim for each trial and adds up trial time."""

    def __init__(self, program, device, seed):
        self.process = subprocess.Popen(
            [program, "serve", device, str(seed)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        self.trials = 0
        self.seconds = 0.0

    def measure(self, intended_duration, intended_load):
        self.trials += 1
        self.seconds += intended_duration
        if self.seconds > PATIENCE_S:
            raise RuntimeError(f"more than {PATIENCE_S:.0f} s of trials")
        self.process.stdin.write(f"{intended_load} {intended_duration}\n")
        self.process.stdin.flush()
        trial = json.loads(self.process.stdout.readline())
        # The package counts unsent packets as lost when told the intended count; that is its
        # documented way to treat a sender that cannot offer the load.
        packet_bits = trial["offered_bps"] * intended_duration / trial["sent"]
        return MeasurementResult(
            intended_duration=intended_duration,
            intended_load=intended_load,
            offered_count=trial["sent"],
            loss_count=int(trial["lost"]),
            intended_count=max(
                trial["sent"], round(intended_load * intended_duration / packet_bits)
            ),
        )

    def close(self):
        self.process.stdin.close()
        self.process.wait()
        self.process.stdout.close()


def search_package(program, device, seed, attributes):
    """One search by the package: trials, seconds, and per goal (lower, upper) or a reason."""
    measurer = Simulated(program, device, seed)
    config = Config()
    config.goals = [
        SearchGoal(loss_ratio=loss, fail_fast=False, **attributes)
        for loss in LOSS_GOALS
    ]
    config.max_load, config.min_load = MAX_LOAD, MIN_LOAD
    config.search_duration_max = PATIENCE_S
    config.warmup_duration = 0.0
    try:
        results = MultipleLossRatioSearch(config).search(measurer)
        bounds = [package_bounds(results[goal]) for goal in config.goals]
    except RuntimeError as error:
        bounds = [f"gave up: {error}"] * len(LOSS_GOALS)
    finally:
        measurer.close()
    return measurer.trials, measurer.seconds, bounds


def package_bounds(result):
    def load(bound):
        return None if bound is None else float(bound)

    return load(result.relevant_lower_bound), load(result.relevant_upper_bound)


def search_ours(program, algorithm, seeds):
    """All of our searches: device -> list of (trials, seconds, bounds)."""
    output = subprocess.run(
        [program, algorithm, str(seeds)], check=True, capture_output=True, text=True
    ).stdout
    found = {}
    for line in output.splitlines():
        run = json.loads(line)
        bounds = [
            (goal["lower_bound_bps"], goal["upper_bound_bps"]) for goal in run["goals"]
        ]
        found.setdefault(run["device"], []).append((run["trials"], run["time_s"], bounds))
        found.setdefault("summaries", {})[run["device"]] = run["summary"]
        found["capacity"] = run["capacity_bps"]
    return found


def median_range(values, digits):
    low, middle, high = min(values), statistics.median(values), max(values)
    if low == high:
        return f"{middle:.{digits}f}"
    return f"{middle:.{digits}f} ({low:.{digits}f}–{high:.{digits}f})"


def bound_text(runs, goal, capacity):
    """Bounds of one goal relative to the capacity, over all seeds: extremes of both ends."""
    if any(isinstance(bounds[goal], str) for _, _, bounds in runs):
        return next(b[goal] for _, _, b in runs if isinstance(b[goal], str))

    def end(index):
        values = [bounds[goal][index] for _, _, bounds in runs]
        known = [100 * (value / capacity - 1) for value in values if value is not None]
        if not known:
            return "none"
        text = f"{min(known):+.2f}" if max(known) - min(known) < 0.015 else f"{min(known):+.2f}…{max(known):+.2f}"
        missing = len(values) - len(known)
        return f"{text} %" + (f" (none in {missing})" if missing else "")

    return f"{end(0)} / {end(1)}"


def row(name, runs, capacity):
    trials = median_range([trials for trials, _, _ in runs], 0)
    seconds = median_range([seconds for _, seconds, _ in runs], 1)
    goals = (bound_text(runs, goal, capacity) for goal in range(len(LOSS_GOALS)))
    return f"| {name} | {trials} | {seconds} | " + " | ".join(goals) + " |"


def main():
    program = sys.argv[1]
    seeds = int(sys.argv[2]) if len(sys.argv) > 2 else 10
    ours = {
        name: search_ours(program, algorithm, seeds) for name, algorithm in OURS.items()
    }
    first = next(iter(ours.values()))
    capacity = first["capacity"]
    print(f"{seeds} seeds each; bounds as lower / upper against the capacity of {capacity / 1e6:.3f} Mbit/s.\n")
    for device, summary in first["summaries"].items():
        print(f"**{device}**: {summary}\n")
        print("| search | trials | trial time, s | loss 0 | loss ≤ 0.1 % | loss ≤ 0.5 % |")
        print("|---|---|---|---|---|---|")
        for name, found in ours.items():
            print(row(name, found[device], capacity))
        for name, attributes in PACKAGE.items():
            runs = [
                search_package(program, device, seed, attributes) for seed in range(seeds)
            ]
            print(row(name, runs, capacity))
        print()


if __name__ == "__main__":
    main()
