// Live updates and buttons to copy text. Every page works without this script.
"use strict";

(() => {
    const number = new Intl.NumberFormat("en");

    // Updates the parts of the page that show the active run.
    function show(state) {
        const line = document.getElementById("live");
        if (line) {
            line.textContent = state.run
                ? `running: ${number.format(state.calls)} calls, ` +
                    `${number.format(state.failures)} failures`
                : "";
        }
        const panel = document.getElementById("live-run");
        if (!panel) return;
        panel.hidden = !state.run;
        if (!state.run) return;
        const put = (name, text) => {
            const place = panel.querySelector(`[data-live="${name}"]`);
            if (place) place.textContent = text;
        };
        put("calls", number.format(state.calls));
        const auxiliary = state.auxiliary_calls;
        put("auxiliary_calls", auxiliary ? `and ${number.format(auxiliary)} auxiliary` : "");
        put("failures", number.format(state.failures));
        const rate = state.calls_per_second;
        put("calls_per_second", rate === null ? "–" : number.format(Math.round(rate)));
        put("current_call", state.current_call);
        const link = panel.querySelector('[data-live="link"]');
        link.textContent = state.run;
        link.href = `/runs/${encodeURIComponent(state.run)}`;
        const verdicts = panel.querySelector('[data-live="verdicts"]');
        verdicts.replaceChildren(...Object.entries(state.verdicts).map(([verdict, count]) => {
            const item = document.createElement("li");
            const name = document.createElement("span");
            name.className = `key key-${verdict}`;
            name.textContent = verdict.replaceAll("_", " ");
            item.append(name, ` ${number.format(count)}`);
            return item;
        }));
    }

    // Elements that can have the focus and have this HTML.
    function focusableWithHtml(root, html) {
        const all = root.querySelectorAll("a, button, summary, [tabindex]");
        return [...all].filter((element) => element.outerHTML === html);
    }

    // Replaces the shown page by its current state. The focus stays on its element; as long as that
    // is not possible, the page is not replaced.
    async function refresh() {
        if (edited) return;
        let text = null;
        try {
            const answer = await fetch(location.href, { headers: { accept: "text/html" } });
            if (answer.ok) text = await answer.text();
        } catch {
            // The server does not answer any more; the page stays, and the line above it says so.
        }
        if (text === null) return;
        const fresh = new DOMParser().parseFromString(text, "text/html").getElementById("main");
        const main = document.getElementById("main");
        if (!fresh) return;
        const focused = document.activeElement;
        let target = null;
        if (focused && focused !== main && main.contains(focused)) {
            const place = focusableWithHtml(main, focused.outerHTML).indexOf(focused);
            target = focusableWithHtml(fresh, focused.outerHTML)[place];
            late = !target;
            if (late) return;
        }
        main.replaceChildren(...fresh.childNodes);
        if (target) target.focus({ preventScroll: true });
        ready();
        if (last && !lost) show(last);
    }

    // Announces a change of the run to screen readers.
    function announce(text) {
        const place = document.getElementById("said");
        if (place) place.textContent = text;
    }

    const nothing = { run: null };
    let last = null;
    // The server does not answer any more.
    let lost = false;
    let source = null;
    // A newer state of the page exists that is not shown yet.
    let late = false;
    // The user has typed or chosen something that a refresh would discard.
    let edited = false;

    function follow() {
        source = new EventSource("/events");
        // The browser reconnects by itself: once the server is back, its first event has the
        // current state.
        source.addEventListener("error", () => {
            if (lost) return;
            lost = true;
            show(nothing);
            const line = document.getElementById("live");
            line.textContent = "no longer connected: this is what was seen last";
            announce("The dashboard does not answer any more.");
        });
        source.addEventListener("open", () => {
            if (!lost) return;
            lost = false;
            announce("The dashboard answers again.");
            refresh();
        });
        source.addEventListener("state", (event) => {
            const state = JSON.parse(event.data);
            const before = last;
            last = state;
            show(state);
            if (before && before.run !== state.run) {
                announce(state.run ? `Run ${state.run} has begun.` : "The run is over.");
            }
            // Pages show finished data: it changes when a run or a cycle begins or ends, or a
            // failure is found.
            const changed = before && (before.run !== state.run
                || before.last_finished_run !== state.last_finished_run
                || before.cycle !== state.cycle || before.failures < state.failures);
            if (changed) refresh();
        });
    }

    function ready() {
        for (const button of document.querySelectorAll("button[data-copy]")) {
            if (!navigator.clipboard) continue;
            button.hidden = false;
            button.onclick = async () => {
                await navigator.clipboard.writeText(button.dataset.copy);
                button.textContent = "copied";
            };
        }
    }

    ready();
    if (document.getElementById("live")) {
        follow();
        document.getElementById("main").addEventListener("input", () => { edited = true; });
        addEventListener("focusout", () => { if (late) { late = false; refresh(); } });
        // A browser may cache a page that was left: it must not keep its connection, because
        // browsers open few connections to one server.
        addEventListener("pagehide", () => source.close());
        addEventListener("pageshow", (event) => {
            if (!event.persisted) return;
            lost = false;
            follow();
        });
    }
})();
