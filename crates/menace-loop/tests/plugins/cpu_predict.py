manager = None


def register(pm) -> None:
    global manager
    manager = pm


def collect_metrics(prev_roi, roi, resources):
    cpu = resources.get("cpu", 0.0) if resources else 0.0
    pred = 0.0
    if manager:
        pred = manager.registry[next(iter(manager.registry))].bot.predict_metric("cpu_delta", [cpu])
    return {"cpu_delta": cpu - 50.0, "cpu_delta_pred": pred}
