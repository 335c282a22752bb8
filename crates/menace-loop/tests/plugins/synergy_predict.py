"""Predicts every synergy metric and remembers what it predicted before."""

_bot = None
_tracker = None


def register(manager, tracker) -> None:
    global _bot, _tracker
    _bot = next(iter(manager.registry.values())).bot
    _tracker = tracker


def collect_metrics(prev_roi, roi, resources):
    found = {"rounds": len(_tracker.roi_history)}
    for name, values in _tracker.metrics_history.items():
        if name.startswith("synergy_"):
            predicted = _bot.predict_metric(name, [roi])
            _tracker.record_metric_prediction(name, predicted, values[-1])
            found["pred_" + name] = predicted
            found["known_" + name] = len(_tracker.predicted_metrics[name])
    return found
