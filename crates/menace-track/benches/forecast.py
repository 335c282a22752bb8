"""Compares forecasting with statsmodels: the same series, the same grid, one run.

    cargo xtask bench forecast [METRICS]

statsmodels gets the first METRICS series (20 by default, two of each strength, because it is slow),
each with one start and its default settings; its time is scaled to all. Needs the packages of
../tests/reference/requirements.txt, which xtask installs. Ends with an error below LEAST_TIMES.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
import warnings
from pathlib import Path

for name in ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ[name] = "1"

import numpy as np
from statsmodels.tsa.arima.model import ARIMA

MASK = (1 << 64) - 1
# What is promised.
LEAST_TIMES = 20
# One more cycle is to cost the same after any history; timers are noisy.
MOST_GROWTH = 1.5


def series(metric: int, points: int) -> np.ndarray:
    state = (metric * 7919 + 1) & MASK
    strength = 0.1 + 0.8 * (metric % 10) / 10
    value = before = 0.0
    out = []
    for _ in range(points):
        shock = -6.0
        for _ in range(12):
            state = (state * 6364136223846793005 + 1442695040888963407) & MASK
            shock += (state >> 11) / (1 << 53)
        value = strength * value + shock + 0.3 * before
        before = shock
        out.append(value)
    return np.array(out)


def theirs(y: np.ndarray) -> np.ndarray:
    best = None
    for d in range(3):
        for p in range(3):
            for q in range(3):
                result = ARIMA(y, order=(p, d, q)).fit(cov_type="none", low_memory=True)
                if best is None or result.aic < best.aic:
                    best = result
    return best.get_forecast(5).conf_int()


def main() -> None:
    warnings.simplefilter("ignore")
    sample = int(sys.argv[1]) if sys.argv[1:] else 20
    command = ["cargo", "bench", "-q", "-p", "menace-track", "--bench", "forecast"]
    here = Path(__file__).parent
    ran = subprocess.run(command, cwd=here, capture_output=True, text=True, check=True)
    ours = json.loads(ran.stdout.strip().splitlines()[-1])
    start = time.perf_counter()
    for metric in range(sample):
        theirs(series(metric, ours["points"]))
    scaled = (time.perf_counter() - start) / sample * ours["metrics"]
    times = scaled / ours["seconds"]
    print(f"menace {ours['seconds']:.2f} s, statsmodels {scaled:.0f} s, {times:.0f} times")
    short, long = ours["cycle_ms"]
    quarter = ours["points"] // 4
    print(f"one more cycle: {short:.1f} ms after {quarter}, {long:.1f} ms after {ours['points']}")
    if times < LEAST_TIMES:
        sys.exit(f"expected at least {LEAST_TIMES} times")
    if long / short > MOST_GROWTH:
        growth = f"{long / short:.1f} times as much, expected at most {MOST_GROWTH}"
        sys.exit(f"one more cycle costs {growth}")


if __name__ == "__main__":
    main()
