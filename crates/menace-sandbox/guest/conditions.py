# ruff: noqa: BLE001 (a condition that cannot be made must not cost the call)
"""What a call has around it beside its arguments: files, variables, trouble, and who watches it.

Loaded by the first line of a call that asks for any of it. Invariant: all of it is made before the
guest's code runs, in the process of this one call, and ends with it.
"""

import os
import sys
from time import perf_counter_ns

from spared import Spared
from strikes import Felt

_modules = sys.modules
_environ = os.environ


class Conditions:
    """Those of one call, and what is to be reported of them."""

    def __init__(self, zygote, outcome, call):
        self.zygote = zygote
        self.outcome = outcome
        self.call = call
        self.began = perf_counter_ns()
        self.spared = Spared(zygote.mailbox.map)
        self.planted = self.coverage = self.burst = self.upstream = None
        self.felt = {}
        self.told = None
        before = len(_modules)
        for key, begin in BEGINNINGS:
            if key in call:
                try:
                    begin(self, call[key])
                except Exception as error:
                    outcome.note(key + " could not be had: " + _said(error))
        outcome.own_modules += len(_modules) - before

    def before_call(self, function, args, kwargs, receiver):
        """All is ready for the section to be called."""
        if self.burst is not None:
            # Runs are compared, which says something only if the same is around each of them.
            with self.spared:
                self.burst.run(function, args, kwargs, receiver)

    def report(self):
        """What the report says of them."""
        if self.told is None:
            self.told = self._tell()
        return self.told

    def _tell(self):
        told = {}
        if self.planted is not None:
            told["planted"] = self.planted.states()
        if self.coverage is not None:
            told["coverage"] = self.coverage.report(self.zygote.mode.tracer)
        if self.upstream is not None:
            told["upstream"] = self.upstream.report()
            self.zygote.state.own_threads = self.upstream.threads()
        if self.burst is not None and self.burst.told is not None:
            told["burst"] = self.burst.told
        if self.felt:
            told["felt"] = [felt.report() for felt in self.felt.values()]
        return told

    def plantation(self):
        """Where files are put that are not the call's own."""
        if self.planted is None:
            from planted import Planted

            self.planted = Planted(self.zygote.repo, os.environ.get("TMPDIR", "/tmp"))
        return self.planted

    def _begin_files(self, files):
        planted = self.plantation()
        for name, content in files:
            try:
                planted.plant(name, content)
            except (OSError, ValueError) as error:
                self.outcome.note("`" + name + "` was not put in place: " + _said(error))

    def _begin_environment(self, pairs):
        for name, value in pairs:
            _environ[name] = value
        # That much is not the call's doing.
        self.zygote.state.environ = dict(_environ._data)

    def _begin_faults(self, faults):
        ours = HARNESS_MODES + UPSTREAM_MODES if "upstream" in self.call else HARNESS_MODES
        for mode, kind, value in faults:
            if mode in ours:
                self.felt[mode] = Felt(mode, kind, value, self.call["seed"], self.began)

        if "schema_drift" in self.felt:
            from reading import Reading

            drift = self.felt["schema_drift"]
            Reading(drift, self.plantation(), self.zygote.audit, self.spared).watch()
        if "flaky_upstream" in self.felt and "upstream" not in self.call:
            # There has to be somebody who can fail.
            self._begin_upstream({"mocks": [], "answer_all": True})

    def _begin_upstream(self, upstream):
        from clear import plug_tls
        from plugging import plug, plug_loops
        from upstream import Upstream

        self.upstream = made = Upstream(
            upstream, self.call.get("network", {}), self.call["seed"], self.felt, self.spared
        )
        plugged = []
        afterwards = self.zygote.afterwards
        afterwards.add("socket", lambda module: plugged.append(plug(made, module)))
        afterwards.add("ssl", lambda module: plug_tls(module, plugged[-1]))
        afterwards.add("asyncio.base_events", plug_loops)

    def _begin_burst(self, wanted):
        from burst import Burst

        self.burst = Burst(wanted, self.zygote, self.outcome, self.call)

    def _begin_coverage(self, _wanted):
        from coverage import Coverage

        self.zygote.mailbox.wish()
        self.coverage = Coverage(self.zygote.repo, self.outcome)
        self.coverage.begin(self.zygote.afterwards)


def _said(error):
    return type(error).__name__ + ": " + str(error)


HARNESS_MODES = ("flaky_upstream", "schema_drift")
# The init's, but for connections that are answered here.
UPSTREAM_MODES = ("network", "network_partition")
BEGINNINGS = (
    ("files", Conditions._begin_files),
    ("environment", Conditions._begin_environment),
    ("faults", Conditions._begin_faults),
    ("upstream", Conditions._begin_upstream),
    ("burst", Conditions._begin_burst),
    # Last, so that nothing of the harness is watched.
    ("coverage", Conditions._begin_coverage),
)
