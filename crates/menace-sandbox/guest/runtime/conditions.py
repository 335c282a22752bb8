"""The conditions of a call: files, variables, faults, upstream, concurrency and coverage.

Loaded by the first call that has one. Invariant: all of them are set up before the guest's code
runs, in the process of this one call, and end with it.
"""

from __future__ import annotations

import os
import sys
from time import perf_counter_ns

from faults.injection import FaultInjector, FaultMask

if False:  # for type checkers only: nothing is loaded at run time
    from collections.abc import Callable, Sequence
    from typing import Any

    from concurrency.burst import Burst
    from coverage.recorder import CoverageRecorder
    from runtime.call import CallProgress
    from runtime.fixture_files import FixtureFiles
    from runtime.zygote import Zygote
    from upstream.service import Upstream

_modules = sys.modules
_environ: Any = os.environ


class Conditions:
    """The conditions of one call, and what the report says about them."""

    def __init__(self, zygote: Zygote, progress: CallProgress, call: dict) -> None:
        self.zygote = zygote
        self.progress = progress
        self.call = call
        self.began = perf_counter_ns()
        self.fault_mask = FaultMask(zygote.mailbox.map)
        self.fixture_files: FixtureFiles | None = None
        self.coverage: CoverageRecorder | None = None
        self.burst: Burst | None = None
        self.upstream: Upstream | None = None
        self.injectors: dict = {}
        self.reported: dict | None = None
        before = len(_modules)
        for key, begin in SETUPS:
            if key in call:
                try:
                    begin(self, call[key])
                except Exception as error:
                    progress.note(key + " could not be had: " + _error_text(error))
        progress.harness_modules += len(_modules) - before

    def before_call(
        self, function: Callable, args: Sequence, kwargs: dict, receiver: object
    ) -> None:
        """Called when the section is ready to be called: runs the whole concurrency burst first."""
        if self.burst is not None:
            # The runs are compared, so faults must not be injected into some of them.
            with self.fault_mask:
                self.burst.run(function, args, kwargs, receiver)

    def report(self) -> dict:
        """The conditions' entries in the report."""
        if self.reported is None:
            self.reported = self._report()
        return self.reported

    def _report(self) -> dict:
        reported: dict = {}
        if self.fixture_files is not None:
            reported["fixture_files"] = self.fixture_files.states()
        if self.coverage is not None:
            reported["coverage"] = self.coverage.report(self.zygote.guest_mode.tracer)
        if self.upstream is not None:
            reported["upstream"] = self.upstream.report()
            self.zygote.state.harness_threads = self.upstream.threads()
        if self.burst is not None and self.burst.reported is not None:
            reported["burst"] = self.burst.reported
        if self.injectors:
            reported["fault_stats"] = [injectors.report() for injectors in self.injectors.values()]
        return reported

    def ensure_fixture_files(self) -> FixtureFiles:
        """The fixture files of the call, which are created when first needed."""
        if self.fixture_files is None:
            from runtime.fixture_files import FixtureFiles

            self.fixture_files = FixtureFiles(self.zygote.repo, os.environ.get("TMPDIR", "/tmp"))
        return self.fixture_files

    def _begin_files(self, files: list) -> None:
        fixture_files = self.ensure_fixture_files()
        for name, content in files:
            try:
                fixture_files.add_file(name, content)
            except (OSError, ValueError) as error:
                self.progress.note("`" + name + "` was not put in place: " + _error_text(error))

    def _begin_environment(self, pairs: list) -> None:
        for name, value in pairs:
            _environ[name] = value
        # Variables set here are no state changes of the call.
        self.zygote.state.environ = dict(_environ._data)

    def _begin_faults(self, faults: list) -> None:
        ours = HARNESS_MODES + UPSTREAM_MODES if "upstream" in self.call else HARNESS_MODES
        for mode, kind, value in faults:
            if mode in ours:
                self.injectors[mode] = FaultInjector(
                    mode, kind, value, self.call["seed"], self.began
                )

        if "schema_drift" in self.injectors:
            from faults.file_drift import FileDrift

            drift = self.injectors["schema_drift"]
            FileDrift(
                drift, self.ensure_fixture_files(), self.zygote.audit, self.fault_mask
            ).watch()
        if "flaky_upstream" in self.injectors and "upstream" not in self.call:
            # The fault needs a service that can fail: every connection is answered.
            self._begin_upstream({"mocks": [], "answer_all": True})

    def _begin_upstream(self, upstream: dict) -> None:
        from upstream.service import Upstream
        from upstream.sockets import replace_name_lookup, replace_sockets
        from upstream.tls import replace_tls

        self.upstream = made = Upstream(
            upstream,
            self.call.get("network", {}),
            self.call["seed"],
            self.injectors,
            self.fault_mask,
        )
        replacement = []
        import_hooks = self.zygote.import_hooks
        import_hooks.add("socket", lambda module: replacement.append(replace_sockets(made, module)))
        import_hooks.add("ssl", lambda module: replace_tls(module, replacement[-1]))
        import_hooks.add("asyncio.base_events", replace_name_lookup)

    def _begin_burst(self, wanted: list) -> None:
        from concurrency.burst import Burst

        self.burst = Burst(wanted, self.zygote, self.progress, self.call)

    def _begin_coverage(self, _wanted: bool) -> None:
        from coverage.recorder import CoverageRecorder

        self.zygote.mailbox.request_preload()
        self.coverage = CoverageRecorder(self.zygote.repo, self.progress)
        self.coverage.begin(self.zygote.import_hooks)


def _error_text(error: BaseException) -> str:
    return type(error).__name__ + ": " + str(error)


HARNESS_MODES = ("flaky_upstream", "schema_drift")
# Init injects these, except into connections that are answered here.
UPSTREAM_MODES = ("network", "network_partition")
SETUPS = (
    ("files", Conditions._begin_files),
    ("environment", Conditions._begin_environment),
    ("faults", Conditions._begin_faults),
    ("upstream", Conditions._begin_upstream),
    ("burst", Conditions._begin_burst),
    # Last, so that no code of the harness is recorded.
    ("coverage", Conditions._begin_coverage),
)
