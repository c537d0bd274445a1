"""Where apache-otava finds changes in the series on standard input: as it is, and with one more thing at each step.

segments    no stretch between changes is shorter than ours may be; otava knows no shortest one
variance    its t-test gets sample variances: it passes those of populations to a function of scipy that takes the former
neighbours  after a change is taken back both changes beside it are judged anew: it leaves out the one before
"""

import json
import sys
import warnings

import numpy as np
import otava.analysis as otava
from scipy.stats import ttest_ind

warnings.simplefilter("ignore")  # Of series without any noise.

ASKED = json.load(sys.stdin)
SHORTEST = ASKED["min_stretch"]
Distances, compare = otava.PairDistanceCalculator, otava.TTestSignificanceTester.compare
merge = otava.merge


class Segments(Distances):
    def get_next_candidate(self, intervals):
        long = [one for one in intervals if len(self.series[one]) >= 2 * SHORTEST]
        return super().get_next_candidate(long)

    def _get_Q_vals(self, start, end):
        at = np.arange(start + 1, end)[:, None]
        until = np.arange(start + 2, end + 1)[None, :]
        is_long = (at - start >= SHORTEST) & (until - at >= SHORTEST)
        return np.where(is_long, super()._get_Q_vals(start, end), -np.inf)


def compare_segments(self, left, right):
    stats = compare(self, left, right)
    if min(len(left), len(right)) < SHORTEST:
        stats.pvalue = 1.0
    return stats


def compare_variance(self, left, right):
    stats = compare_segments(self, left, right)
    if stats.pvalue != 1.0:
        # Undefined where all values are the same.
        stats.pvalue = np.nan_to_num(ttest_ind(left, right).pvalue, nan=1.0)
    return stats


def merge_neighbours(points, series, max_pvalue, _):
    tester = otava.TTestSignificanceTester(max_pvalue)
    while points:
        parts = tester.get_intervals(points)
        points = [tester.change_point(one.to_candidate(), series, parts) for one in points]
        weakest = max(points, key=lambda one: one.stats.pvalue)
        if weakest.stats.pvalue < max_pvalue:
            break
        points.remove(weakest)
    return points


STEPS = {
    "as it is": (Distances, compare, merge),
    "segments": (Segments, compare_segments, merge),
    "variance": (Segments, compare_variance, merge),
    "neighbours": (Segments, compare_variance, merge_neighbours),
}


def changes(series, max_p, step):
    otava.PairDistanceCalculator, otava.TTestSignificanceTester.compare, otava.merge = STEPS[step]
    points, _ = otava.compute_change_points(series, window_len=ASKED["window"], max_pvalue=max_p)
    return [{"at": int(one.index), "p": float(np.nan_to_num(one.stats.pvalue, nan=1.0))} for one in points]


answers = [{step: changes(series, ASKED["max_p"], step) for step in STEPS} for series in ASKED["series"]]
json.dump(answers, sys.stdout)
