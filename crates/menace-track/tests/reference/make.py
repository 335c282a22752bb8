"""Computes the values that the statistics of menace-track are compared with.

    python -m venv .venv && .venv/bin/pip install -r requirements.txt
    .venv/bin/python make.py

writes the JSON files beside this script. The same versions give the same files. With numbers of
series as arguments, only their ARIMA models are made again.
"""

from __future__ import annotations

import itertools
import json
import math
import os
import sys
import warnings
from multiprocessing import Pool
from pathlib import Path
from typing import Any, Dict, Sequence, Tuple

for name in ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ[name] = "1"

import numpy as np
import pandas as pd
from scipy import optimize, stats
from sklearn.ensemble import GradientBoostingRegressor
from sklearn.linear_model import Ridge
from statsmodels.regression.linear_model import OLS
from statsmodels.stats.weightstats import DescrStatsW
from statsmodels.tools import add_constant
from statsmodels.tsa.arima.model import ARIMA
from statsmodels.tsa.holtwinters import SimpleExpSmoothing
from statsmodels.tsa.stattools import adfuller

HERE = Path(__file__).parent
GRID = [(p, d, q) for d in range(3) for p in range(3) for q in range(3)]
ARIMA_FROM = 12
TIE = 1e-3
HORIZON = 5

# What is written for one series: values of any type under their names.
Item = Dict[str, Any]
# Autoregressive terms, differences and moving averages.
Order = Tuple[int, int, int]
# A model and the parameters that it was fitted with.
Fitted = Tuple[ARIMA, np.ndarray]


# --- series ---------------------------------------------------------------------------------------


def arma(
    rng: np.random.Generator,
    n: int,
    ar: Sequence[float] = (),
    ma: Sequence[float] = (),
    scale: float = 1.0,
    burn: int = 100,
) -> np.ndarray:
    shocks = rng.normal(0, scale, n + burn)
    out = np.zeros(n + burn)
    for t in range(n + burn):
        out[t] = shocks[t]
        for i, a in enumerate(ar):
            if t > i:
                out[t] += a * out[t - i - 1]
        for i, m in enumerate(ma):
            if t > i:
                out[t] += m * shocks[t - i - 1]
    return out[burn:]


def kinds(rng: np.random.Generator, n: int) -> dict[str, np.ndarray]:
    """One series of each kind."""
    t = np.arange(n)
    noise = rng.normal(0, 1, n)
    ar1 = arma(rng, n, ar=(0.7,))
    outliers = ar1.copy()
    outliers[rng.choice(n, max(1, n // 15), replace=False)] += rng.normal(0, 10)
    gaps = arma(rng, n, ar=(0.5,), ma=(0.3,)) + 2
    gaps[rng.choice(n, max(1, n // 10), replace=False)] = np.nan
    walk_gaps = np.cumsum(rng.normal(0.1, 1, n))
    walk_gaps[n // 3 : n // 3 + 2] = np.nan
    return {
        "noisy": 3 + noise,
        "ar1": ar1,
        "ar1_negative": arma(rng, n, ar=(-0.6,)) + 1,
        "ar2": arma(rng, n, ar=(0.5, 0.3)) + 10,
        "ar2_cycle": arma(rng, n, ar=(1.2, -0.6)),
        "ma1": arma(rng, n, ma=(0.6,)),
        "ma2": arma(rng, n, ma=(0.5, 0.3)) - 4,
        "arma11": arma(rng, n, ar=(0.6,), ma=(0.4,)),
        "walk": np.cumsum(noise),
        "walk_drift": np.cumsum(0.3 + 0.5 * noise),
        "walk_ma": np.cumsum(arma(rng, n, ma=(-0.5,))),
        "trending": 0.2 * t + noise,
        "curved": 0.01 * t**2 + noise,
        "decaying": 5 * np.exp(-t / (n / 3)) + 0.2 * noise,
        "seasonal": 2 * np.sin(2 * np.pi * t / 6) + 0.5 * noise,
        "seasonal_trend": 0.1 * t + 2 * np.sin(2 * np.pi * t / 7) + 0.5 * noise,
        "shifted": np.where(t < n // 2, 0, 3) + 0.7 * noise,
        "outliers": outliers,
        "nan": gaps,
        "nan_walk": walk_gaps,
        "small": 1e-3 * arma(rng, n, ar=(0.5,)) + 0.01,
        "large": 1e4 * (1 + 0.05 * arma(rng, n, ar=(0.6,))),
        "share": 1 / (1 + np.exp(-arma(rng, n, ar=(0.8,)))),
        "counts": rng.poisson(4, n).astype(float),
        "wilder": noise * (1 + t / n * 3),
    }


def series() -> list[Item]:
    made: list[Item] = []
    for seed, n in enumerate([14, 20, 26, 33, 40, 50, 64, 80]):
        rng = np.random.default_rng(1000 + seed)
        made += [{"kind": kind, "y": y} for kind, y in kinds(rng, n).items()]
    rng = np.random.default_rng(1)
    for n in (1, 2, 3, 4, 5, 6, 8, 11):
        made.append({"kind": "short", "y": rng.normal(1, 0.5, n)})
    for n in (2, 5, 20, 40):
        made.append({"kind": "constant", "y": np.full(n, 0.1)})
    rng = np.random.default_rng(2)
    for kind in ("ar1", "walk", "trending", "nan"):
        made.append({"kind": kind + "_long", "y": kinds(rng, 240)[kind]})
    for item in made:
        # Rounded first, so that the file holds exactly what was computed with.
        item["y"] = np.array([float(f"{v:.7g}") for v in item["y"]])
    return made


# --- ARIMA ----------------------------------------------------------------------------------------


TIGHT = {"maxiter": 500, "pgtol": 1e-9, "factr": 10.0}


def starts(model: ARIMA, y: np.ndarray, order: Order) -> list[np.ndarray]:
    """Statsmodels' own start, then partial autocorrelations of all signs, the likeliest first."""
    p, d, q = order
    own = model.start_params
    spread = max(float(own[-1]), 1e-3 * float(np.nanvar(np.diff(y, d))))
    others = []
    for signs in itertools.product((-0.7, 0.7), repeat=p + q):
        free = np.zeros(len(own))
        free[len(own) - 1 - p - q : -1] = signs
        free[-1] = math.sqrt(spread)
        start = model.transform_params(free)
        start[: len(own) - 1 - p - q] = own[: len(own) - 1 - p - q]
        others.append(start)
    if p + q == 0:
        others.append(np.r_[own[:-1], 3 * spread])
    likely = [(model.loglike(start), tuple(start)) for start in others]
    likely = [item for item in likely if math.isfinite(item[0])]
    return [own] + [np.array(start) for _, start in sorted(likely, reverse=True)]


def fit(y: np.ndarray, order: Order, exog: np.ndarray | None = None, most: int = 5) -> Fitted:
    """Statsmodels' highest likelihood from several starts, of which each search is one of its own.

    Its default, one start and loose settings, sometimes ends before the maximum or on a lower one.
    """
    model = ARIMA(y, exog=exog, order=order)
    best, highest = None, -math.inf
    for start in starts(model, y, order)[:most]:
        try:
            params = model.fit(start_params=start, return_params=True)
            likelihood = model.loglike(params)
        except (ValueError, np.linalg.LinAlgError):
            continue
        # A first step too long may end where the variance is zero and the likelihood is cut off.
        if likelihood > highest and params[-1] > 1e-9 * np.nanvar(y):
            best, highest = params, likelihood
    if best is None:
        raise ValueError("no start leads to a maximum")
    return model, best


def tightened(fitted: Fitted) -> Fitted:
    """Goes on to the maximum, where the default stops early."""
    model, params = fitted
    for _ in range(2):
        more = model.fit(start_params=params, return_params=True, method_kwargs=dict(TIGHT))
        if model.loglike(more) > model.loglike(params):
            params = more
    return model, params


def polished(fitted: Fitted) -> Fitted:
    """The top of the hill: statsmodels' likelihood, climbed with its slower but surer methods."""
    model, params = fitted
    simplex = {"method": "nm", "maxiter": 4000, "maxfun": 4000, "xtol": 1e-10, "ftol": 1e-12}
    for settings in (simplex, TIGHT, simplex):
        try:
            more = model.fit(start_params=params, return_params=True, method_kwargs=dict(settings))
        except (ValueError, np.linalg.LinAlgError):
            continue
        if model.loglike(more) > model.loglike(params):
            params = more
    return model, params


def judged(fitted: Fitted, y: np.ndarray, burn: int = 2) -> tuple[float, float]:
    model, params = fitted
    likelihood = float(np.sum(model.loglikeobs(params)[burn:]))
    k = len(params)
    n = int(np.sum(~np.isnan(y[burn:])))
    return 2 * k - 2 * likelihood, k * math.log(n) - 2 * likelihood


def ahead(fitted: Fitted, exog: np.ndarray | None = None) -> list[list[float]]:
    model, params = fitted
    made = model.filter(params, cov_type="none").get_forecast(HORIZON, exog=exog)
    return [[float(m), float(s)] for m, s in zip(made.predicted_mean, made.se_mean)]


def arima(job: tuple[int, np.ndarray]) -> Item | None:
    index, y = job
    warnings.simplefilter("ignore")
    present = y[~np.isnan(y)]
    if len(present) < ARIMA_FROM or np.ptp(present) == 0:
        return None
    scale = float(np.std(present, ddof=1))
    scaled = y / scale
    orders, fits = {}, {}

    def judge(order: Order, tight: bool) -> None:
        try:
            fitted = tightened(fit(scaled, order, most=99)) if tight else fit(scaled, order)
            aic, bic = judged(fitted, scaled)
        except (ValueError, np.linalg.LinAlgError) as problem:
            print(index, order, problem, file=sys.stderr)
            return
        # Statsmodels may end at parameters that are no numbers, or without a variance.
        if math.isfinite(aic) and np.all(np.isfinite(ahead(fitted))):
            orders[order], fits[order] = (aic, bic), fitted

    for order in GRID:
        judge(order, tight=False)
    lowest = min(aic for aic, _ in orders.values())
    # Only those that may still win are worth the time.
    for order in [order for order, (aic, _) in orders.items() if aic <= lowest + 3]:
        judge(order, tight=True)
    lowest = min(aic for aic, _ in orders.values())
    tied = [order for order, (aic, _) in orders.items() if aic <= lowest + TIE]
    chosen = min(tied, key=lambda order: orders[order][1])
    model = ARIMA(scaled, order=chosen)
    default = (model, model.fit(return_params=True))
    # Another order, on the series as it is. For values near 0.001, a start of variance 1e6 costs
    # statsmodels the digits that are compared: such a series is scaled by a thousand.
    fixed, unit = GRID[index % len(GRID)], 1000.0 if scale < 0.01 else 1.0
    raw = tightened(fit(y * unit, fixed, most=99))
    if not np.all(np.isfinite(ahead(raw))):
        fixed = chosen
        raw = tightened(fit(y * unit, fixed, most=99))
    item = {
        "index": index,
        "aic": [[*order, round(aic, 4)] for order, (aic, _) in orders.items()],
        "chosen": list(chosen),
        "params": [float(v) for v in fits[chosen][1]],
        "default": [[m * scale, s * scale] for m, s in ahead(default)],
        "fixed": {"order": list(fixed), "unit": unit, "params": [float(v) for v in raw[1]]},
    }
    return polish((item, y))


def polish(job: tuple[Item, np.ndarray]) -> Item:
    """Goes on from the parameters of an item, and forecasts with those that it ends with."""
    item, y = job
    warnings.simplefilter("ignore")
    scale = float(np.std(y[~np.isnan(y)], ddof=1))
    for part, series, unit, order in (
        (item, y / scale, scale, item["chosen"]),
        (item["fixed"], y * item["fixed"]["unit"], 1.0, item["fixed"]["order"]),
    ):
        fitted = polished((ARIMA(series, order=tuple(order)), np.array(part["params"])))
        part["params"] = [float(v) for v in fitted[1]]
        part["log_likelihood"] = float(fitted[0].loglike(fitted[1]))
        part["forecast"] = [[m * unit, s * unit] for m, s in ahead(fitted)]
    return item


def regressors(job: tuple[int, Order]) -> Item:
    """ARIMA with resources beside the series."""
    seed, order = job
    warnings.simplefilter("ignore")
    rng = np.random.default_rng(5000 + seed)
    n = 60
    x = np.c_[rng.uniform(0, 1, n + HORIZON), rng.normal(50, 10, n + HORIZON)].round(6)
    errors = arma(rng, n, ar=(0.5,), scale=0.3)
    if order[1]:
        errors = np.cumsum(errors)
    y = (2 + 1.5 * x[:n, 0] - 0.05 * x[:n, 1] + errors).round(6)
    result = polished(tightened(fit(y, order, exog=x[:n], most=99)))
    return {
        "order": list(order),
        "y": y.tolist(),
        "x": x.T.tolist(),
        "forecast": ahead(result, exog=x[n:]),
        "log_likelihood": float(result[0].loglike(result[1])),
    }


# --- tests and descriptions -----------------------------------------------------------------------


def counted(values: np.ndarray, cuts: np.ndarray) -> np.ndarray:
    """How many values lie in each of the bins between these cuts."""
    return np.bincount(np.searchsorted(cuts, values, side="right"), minlength=len(cuts) + 1)


def psi(reference: np.ndarray, sample: np.ndarray, bins: int = 10) -> float:
    cuts = np.unique(np.quantile(reference, np.arange(1, bins) / bins))

    def share(v: np.ndarray) -> np.ndarray:
        return np.maximum(counted(v, cuts) / len(v), 1e-6)

    actual, expected = share(sample), share(reference)
    return float(np.sum((actual - expected) * np.log(actual / expected)))


def described(item: Item) -> dict[str, object]:
    y = item["y"]
    present = y[~np.isnan(y)]
    n = len(present)
    out: dict[str, object] = {}
    ewm = pd.Series(present).ewm(alpha=2 / 6, adjust=False)
    out["ema"] = float(ewm.mean().iloc[-1])
    out["ew_std"] = 0.0 if n < 2 else float(ewm.std(bias=True).iloc[-1])
    out["mean"] = float(np.mean(present))
    out["std"] = 0.0 if n < 2 else float(np.std(present, ddof=1))
    out["median"] = float(np.median(present))
    out["quantile"] = [float(np.quantile(present, share)) for share in (0.05, 0.25, 0.9)]
    constant = n < 2 or np.ptp(present) == 0
    place = np.arange(len(y))[~np.isnan(y)]
    out["trend"] = 0.0 if constant else float(np.corrcoef(place, present)[0, 1])
    if n >= 3 and not constant:
        out["trend_p"] = float(stats.pearsonr(place, present).pvalue)
    if n >= 5 and not constant:
        rolled = pd.Series(present).rolling(5).corr(pd.Series(np.arange(n, dtype=float)))
        out["rolling"] = [float(v) for v in rolled.dropna()][-3:]
    if n >= 6:
        half = n // 2
        first, second = present[:half], present[half:]
        out["ks"] = float(stats.ks_2samp(first, second).statistic)
        out["psi"] = psi(first, second)
        if not constant:
            for center in ("median", "mean"):
                made = stats.levene(first, second, center=center)
                out["levene_" + center] = [float(made.statistic), float(made.pvalue)]
            third = n // 3
            made = stats.levene(present[:third], present[third : 2 * third], present[2 * third :])
            out["levene_three"] = [float(made.statistic), float(made.pvalue)]
    if n >= 8 and not constant:
        made = adfuller(present, regression="c", autolag="AIC", result_object=True)
        out["adf"] = [float(made.statistic), float(made.pvalue), int(made.lags), int(made.nobs)]
    if n >= 3:
        line = OLS(present, add_constant(np.arange(n, dtype=float), has_constant="add")).fit()
        point = add_constant(np.arange(n, n + 2, dtype=float), has_constant="add")
        band = line.get_prediction(point).conf_int(obs=True, alpha=0.1)
        out["line"] = [[float(m), float(h)] for m, (_, h) in zip(line.predict(point), band)]
    if n >= 3 and not constant:
        first = present[0]
        smooth = SimpleExpSmoothing(present, initialization_method="known", initial_level=first)
        out["smoothed"] = float(smooth.fit(smoothing_level=0.3, optimized=False).forecast(1)[0])
    return out


def counts(reference: np.ndarray, sample: np.ndarray, bins: int = 10) -> np.ndarray:
    """How many values of both lie in the bins of `psi`; without the bins that are empty in both."""
    cuts = np.unique(np.quantile(reference, np.arange(1, bins) / bins))
    table = np.array([counted(reference, cuts), counted(sample, cuts)])
    return table[:, table.sum(axis=0) > 0]


def ks_p(first: np.ndarray, second: np.ndarray) -> float:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        try:
            return float(stats.ks_2samp(first, second, method="exact").pvalue)
        except RuntimeWarning:
            # Where rounding lifts it above one, scipy takes the approximation instead.
            near = stats.ks_2samp(first, second, method="asymp").pvalue
            assert near > 0.99, near
            return 1.0


def smoothed(present: np.ndarray) -> dict[str, float]:
    """The share with the smallest sum of squares by statsmodels, searched by scipy."""
    model = SimpleExpSmoothing(present, initialization_method="known", initial_level=present[0])

    def squares(share: float) -> float:
        return float(model.fit(smoothing_level=float(share), optimized=False).sse)

    grid = np.linspace(0, 1, 101)
    start = grid[np.argmin([squares(share) for share in grid])]
    bounds = (max(start - 0.01, 0), min(start + 0.01, 1))
    options = {"xatol": 1e-10}
    made = optimize.minimize_scalar(squares, bounds=bounds, method="bounded", options=options)
    # The search stays inside its bounds: an end may be better.
    share = min([float(made.x), 0.0, 1.0], key=squares)
    own = model.fit()
    return {
        "share": share,
        "squares": squares(share),
        "own_share": float(own.params["smoothing_level"]),
        "own_squares": float(own.sse),
    }


def decided(item: Item) -> dict[str, object]:
    """What decisions rest on: p-values, thresholds, and the share that smoothing chooses."""
    y = item["y"]
    present = y[~np.isnan(y)]
    n = len(present)
    constant = n < 2 or np.ptp(present) == 0
    out: dict[str, Any] = {"equivalence": [], "adaptive": []}
    if not constant:
        for count in sorted({min(n, 3), min(n, 10), n}):
            recent = present[n - count :]
            # One value thrice has no error to test with.
            for part in (0.2, 0.8, 1.2, 2.0) if np.ptp(recent) > 0 else ():
                threshold = part * float(np.max(np.abs(recent)))
                p, _, _ = DescrStatsW(recent).ttost_mean(-threshold, threshold)
                out["equivalence"].append([count, threshold, float(p)])
    if n >= 3:
        for window, weight in ((10, 1.0), (4, 1.0), (10, 2.0), (25, 0.5)):
            recent = pd.Series(present[-window:])
            share = 1 - (1 - 2 / (len(recent) + 1)) ** weight
            ewm = recent.ewm(alpha=share, adjust=False)
            spread = float(ewm.std(bias=True).iloc[-1])
            out["adaptive"].append([window, weight, float(ewm.mean().iloc[-1]), 2 * spread])
    if n >= 6:
        first, second = present[: n // 2], present[n // 2 :]
        out["ks_p"] = ks_p(first, second)
        table = counts(first, second)
        tested = stats.chi2_contingency(table, correction=False) if table.shape[1] > 1 else None
        out["bins_p"] = float(tested.pvalue) if tested else 1.0
    if n >= 3 and not constant:
        out["smoothed"] = smoothed(present)
    return out


def limits() -> list[list[float]]:
    """Kolmogorov-Smirnov of larger samples: the distance, both sizes and the p-value."""

    def p_value(distance: float, left: int, right: int) -> float:
        return float(stats.kstwo.sf(distance, round(left * right / (left + right))))

    return [
        [distance, left, right, p_value(distance, left, right)]
        for left, right in ((2000, 3000), (5000, 5000), (400, 90000))
        for distance in (0.01, 0.03, 0.05, 0.07)
    ]


def distributions() -> dict[str, list[list[float]]]:
    probabilities = [1e-6, 0.001, 0.025, 0.2, 0.5, 0.8, 0.95, 0.975, 0.995, 0.99999]
    degrees = [1, 2, 3, 4, 5, 7, 10, 19, 30, 99, 1000]
    values = [-30.0, -4.0, -1.5, -0.1, 0.0, 0.7, 2.0, 5.0, 12.0]
    return {
        "t_quantile": [[p, v, stats.t.ppf(p, v)] for p in probabilities for v in degrees],
        "t_cdf": [[x, v, stats.t.cdf(x, v)] for x in values for v in degrees],
        "normal_quantile": [[p, stats.norm.ppf(p)] for p in probabilities],
        "normal_cdf": [[x, stats.norm.cdf(x)] for x in values],
        "f_above": [
            [x, a, b, stats.f.sf(x, a, b)]
            for x in (0.01, 0.5, 1.0, 3.0, 12.0, 80.0)
            for a in (1, 2, 5)
            for b in (1, 4, 18, 78, 500)
        ],
        "chi_squared_above": [
            [x, v, stats.chi2.sf(x, v)] for x in (0.01, 1.0, 5.0, 30.0) for v in (1, 2, 9, 50)
        ],
    }


def regressions() -> list[Item]:
    out = []
    for seed in range(20):
        rng = np.random.default_rng(9000 + seed)
        n, k = int(rng.integers(8, 60)), int(rng.integers(1, 6))
        scaled = rng.normal(0, 1, (n, k)) * 10.0 ** rng.integers(-2, 3, k)
        x = (scaled + rng.normal(0, 5, k)).round(6)
        y = (np.sin(x[:, 0]) + x @ rng.normal(0, 0.2, k) + 3 + rng.normal(0, 0.1, n)).round(6)
        new = x[:4] + 0.1
        item = {"x": x.tolist(), "y": y.tolist(), "new": new.tolist(), "ridge": []}
        for alpha in (0.01, 1.0, 25.0):
            made = Ridge(alpha=alpha, solver="cholesky").fit(x, y)
            item["ridge"].append(
                [alpha, float(made.intercept_), made.coef_.tolist(), made.predict(new).tolist()]
            )
        boosted = GradientBoostingRegressor(
            n_estimators=50,
            max_depth=2,
            learning_rate=0.1,
            criterion="squared_error",
            random_state=0,
        ).fit(x, y)
        item["boosted"] = boosted.predict(x).tolist()
        out.append(item)
    return out


def write(name: str, value: object) -> None:
    text = json.dumps(value, separators=(",", ":"), allow_nan=False)
    (HERE / name).write_text(text.replace("},{", "},\n{") + "\n")


def main() -> None:
    warnings.simplefilter("ignore")
    made = series()
    path = HERE / "arima.json"
    if sys.argv[1:]:
        again = {int(index) for index in sys.argv[1:]}
        kept = [item for item in json.loads(path.read_text()) if item["index"] not in again]
    else:
        again, kept = set(range(len(made))), []
        others(made)
    with Pool(int(os.environ.get("WORKERS", "2"))) as pool:
        # In strides, so that what is done first is of all kinds and lengths.
        strides = [index * 37 % len(made) for index in range(len(made))]
        jobs = [(index, made[index]["y"]) for index in strides if index in again]
        for item in pool.imap(arima, jobs):
            if item:
                kept.append(item)
                # This takes long: what there is can be used already.
                write(path.name, sorted(kept, key=lambda item: item["index"]))


def others(made: list[Item]) -> None:
    plain = [
        {"kind": item["kind"], "y": [None if math.isnan(v) else v for v in item["y"].tolist()]}
        for item in made
    ]
    write("series.json", plain)
    write("described.json", [described(item) for item in made])
    write("decided.json", [decided(item) for item in made])
    write("limits.json", limits())
    write("distributions.json", distributions())
    write("regressions.json", regressions())
    orders = [(0, 0, 0), (1, 0, 0), (1, 0, 1), (2, 0, 0)]
    orders += [(0, 1, 0), (1, 1, 0), (0, 1, 1), (1, 1, 1)]
    write("resources.json", [regressors(job) for job in enumerate(orders)])


if __name__ == "__main__":
    main()
