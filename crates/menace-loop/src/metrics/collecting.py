"""Calls a metric plugin, with small stand-ins for what it may register with.

Lies beside the plugin for the time of one call. What comes back is checked by the caller: the plugin
shares this interpreter and may have changed anything in it.
"""

import inspect
import numbers

MOST_PREDICTIONS = 500
# So many of the last values decide a forecast.
NEAREST = 10


def collect(plugin, prev_roi, roi, resources, history):
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

    def __init__(self, history):
        self.metrics_history = history["metrics"]
        self.roi_history = history["roi"]
        self.predicted_metrics = history["predicted"]
        self.actual_metrics = history["actual"]
        self.recorded = []

    def record_metric_prediction(self, name, predicted, actual=None):
        """Keeps a forecast, so that it can be compared with what came true."""
        if len(self.recorded) >= MOST_PREDICTIONS:
            raise OverflowError("more than " + str(MOST_PREDICTIONS) + " predictions")
        predicted = float(predicted)
        self.predicted_metrics.setdefault(name, []).append(predicted)
        if actual is not None:
            actual = float(actual)
            self.actual_metrics.setdefault(name, []).append(actual)
        self.recorded.append([name, predicted, actual])


class Manager:
    """Has one bot, which forecasts every metric."""

    def __init__(self, tracker):
        self.registry = {"linear": Entry(Bot(tracker))}


class Entry:
    """What the registry knows of a bot."""

    def __init__(self, bot):
        self.bot = bot


class Bot:
    """Continues the line through the last values."""

    def __init__(self, tracker):
        self.tracker = tracker

    def predict_metric(self, name, values=()):
        """The next value of a metric; of one without a history, the last of `values`."""
        known = self.tracker.metrics_history.get(name) or list(values)[-1:]
        known = [float(value) for value in known[-NEAREST:]]
        if len(known) < 2:
            return known[0] if known else 0.0
        middle = (len(known) - 1) / 2
        mean = sum(known) / len(known)
        rise = sum((at - middle) * (value - mean) for at, value in enumerate(known))
        slope = rise / sum((at - middle) ** 2 for at in range(len(known)))
        return mean + slope * (len(known) - middle)


def _accepted(register, manager, tracker):
    """As many of both as the function takes."""
    try:
        inspect.signature(register).bind(manager, tracker)
    except TypeError:
        return (manager,)
    except ValueError:
        # It has no signature to be seen.
        pass
    return (manager, tracker)


def _plain(metrics):
    """Numbers of all kinds as `float`; what is neither stays as it is."""
    if not isinstance(metrics, dict):
        return metrics
    return {name: _number(value) for name, value in metrics.items()}


def _number(value):
    if isinstance(value, numbers.Real) and not isinstance(value, bool):
        return float(value)
    return value
