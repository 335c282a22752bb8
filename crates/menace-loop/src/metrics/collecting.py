"""Calls a metric plugin, with small stand-ins for what it may register with.

It is put beside the plugin for one call. The caller checks the result: the plugin shares this
interpreter and may have changed anything in it.
"""

from __future__ import annotations

import inspect
import numbers
from typing import Any, Callable, Sequence

MAX_PREDICTIONS = 500
# Values that a forecast is made from.
MAX_FORECAST_VALUES = 10


def collect(
    plugin: dict[str, Any],
    prev_roi: float,
    roi: float,
    resources: dict[str, float] | None,
    history: dict[str, Any],
) -> dict[str, object]:
    """The plugin's metrics and predictions; `plugin` is the namespace of its module."""
    if not callable(plugin.get("collect_metrics")):
        raise LookupError("it has no function `collect_metrics`")
    tracker = Tracker(history)
    register = plugin.get("register")
    if register is not None:
        register(*_accepted(register, Manager(tracker), tracker))
    metrics = plugin["collect_metrics"](prev_roi, roi, resources)
    return {"metrics": _plain(metrics), "predictions": tracker.recorded}


class Tracker:
    """The histories so far, and what is predicted of them."""

    def __init__(self, history: dict[str, Any]) -> None:
        self.metrics_history: dict[str, list[float]] = history["metrics"]
        self.roi_history: list[float] = history["roi"]
        self.predicted_metrics: dict[str, list[float]] = history["predicted"]
        self.actual_metrics: dict[str, list[float]] = history["actual"]
        self.recorded: list[list[object]] = []

    def record_metric_prediction(
        self, name: str, predicted: float, actual: float | None = None
    ) -> None:
        """Records a forecast, so that it can be compared with the measured value."""
        if len(self.recorded) >= MAX_PREDICTIONS:
            raise OverflowError("more than " + str(MAX_PREDICTIONS) + " predictions")
        predicted = float(predicted)
        self.predicted_metrics.setdefault(name, []).append(predicted)
        if actual is not None:
            actual = float(actual)
            self.actual_metrics.setdefault(name, []).append(actual)
        self.recorded.append([name, predicted, actual])


class Manager:
    """Registry with one bot, which forecasts every metric."""

    def __init__(self, tracker: Tracker) -> None:
        self.registry = {"linear": Entry(Bot(tracker))}


class Entry:
    """An entry of the registry."""

    def __init__(self, bot: Bot) -> None:
        self.bot = bot


class Bot:
    """Extrapolates a line through the last values."""

    def __init__(self, tracker: Tracker) -> None:
        self.tracker = tracker

    def predict_metric(self, name: str, values: Sequence[float] = ()) -> float:
        """Return the next value of a metric; without a history, the last of `values`."""
        known = self.tracker.metrics_history.get(name) or list(values)[-1:]
        known = [float(value) for value in known[-MAX_FORECAST_VALUES:]]
        if len(known) < 2:
            return known[0] if known else 0.0
        middle = (len(known) - 1) / 2
        mean = sum(known) / len(known)
        rise = sum((at - middle) * (value - mean) for at, value in enumerate(known))
        slope = rise / sum((at - middle) ** 2 for at in range(len(known)))
        return mean + slope * (len(known) - middle)


def _accepted(
    register: Callable[..., object], manager: Manager, tracker: Tracker
) -> tuple[Manager] | tuple[Manager, Tracker]:
    """Return as many of both as the function takes."""
    try:
        inspect.signature(register).bind(manager, tracker)
    except TypeError:
        return (manager,)
    except ValueError:
        # A callable without a signature, such as a built-in.
        pass
    return (manager, tracker)


def _plain(metrics: object) -> object:
    """Convert real numbers to `float`; other values stay as they are."""
    if not isinstance(metrics, dict):
        return metrics
    return {name: _number(value) for name, value in metrics.items()}


def _number(value: object) -> object:
    if isinstance(value, numbers.Real) and not isinstance(value, bool):
        return float(value)
    return value
