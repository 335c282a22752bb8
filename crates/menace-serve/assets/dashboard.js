// Live updates, and a little comfort. Every page works without.
"use strict";

(() => {
    const number = new Intl.NumberFormat("en");

    // Shows the parts of the page that follow the run that goes on.
    function show(state) {
        const line = document.getElementById("live");
        if (line) {
            line.textContent = state.run
                ? `running: ${number.format(state.calls)} calls, ${number.format(state.failures)} failures`
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
        put("beside", state.beside ? `and ${number.format(state.beside)} beside` : "");
        put("failures", number.format(state.failures));
        put("speed", state.speed === null ? "–" : number.format(Math.round(state.speed)));
        put("at", state.at);
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

    // What can have the focus, and looks like this.
    function alike(root, html) {
        const all = root.querySelectorAll("a, button, summary, [tabindex]");
        return [...all].filter((element) => element.outerHTML === html);
    }

    // Puts the page as it is now in place of the one that is shown. Whoever is at work in it is not
    // disturbed: the focus stays on what it is on, and while that cannot be, the page stays.
    async function refresh() {
        if (edited) return;
        let text = null;
        try {
            const answer = await fetch(location.href, { headers: { accept: "text/html" } });
            if (answer.ok) text = await answer.text();
        } catch {
            // Nobody answers any more; the page stays, and the line above it says so.
        }
        if (text === null) return;
        const fresh = new DOMParser().parseFromString(text, "text/html").getElementById("main");
        const main = document.getElementById("main");
        if (!fresh) return;
        const busy = document.activeElement;
        let again = null;
        if (busy && busy !== main && main.contains(busy)) {
            const place = alike(main, busy.outerHTML).indexOf(busy);
            again = alike(fresh, busy.outerHTML)[place];
            late = !again;
            if (late) return;
        }
        main.replaceChildren(...fresh.childNodes);
        if (again) again.focus({ preventScroll: true });
        ready();
        if (last && !lost) show(last);
    }

    // Only what somebody who does not look at the page wants to hear.
    function say(text) {
        const place = document.getElementById("said");
        if (place) place.textContent = text;
    }

    const nothing = { run: null };
    let last = null;
    // Nobody answers any more.
    let lost = false;
    let source = null;
    // There is something new that was not shown yet.
    let late = false;
    // Somebody has typed or chosen something: that would be lost.
    let edited = false;

    function follow() {
        source = new EventSource("/events");
        // The browser tries again by itself: whoever comes back is followed again, from the state that
        // comes first.
        source.addEventListener("error", () => {
            if (lost) return;
            lost = true;
            show(nothing);
            const line = document.getElementById("live");
            line.textContent = "no longer connected: this is what was seen last";
            say("The dashboard does not answer any more.");
        });
        source.addEventListener("open", () => {
            if (!lost) return;
            lost = false;
            say("The dashboard answers again.");
            refresh();
        });
        source.addEventListener("state", (event) => {
            const state = JSON.parse(event.data);
            const before = last;
            last = state;
            show(state);
            if (before && before.run !== state.run) say(state.run ? `Run ${state.run} has begun.` : "The run is over.");
            // A page shows what is finished: it is new when a run or a cycle began or ended, or a failure
            // was found.
            const changed = before && (before.run !== state.run || before.finished !== state.finished
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
        // A page that is left may be kept for the way back: it must not keep its connection, as
        // browsers have few for one server.
        addEventListener("pagehide", () => source.close());
        addEventListener("pageshow", (event) => { if (event.persisted) { lost = false; follow(); } });
    }
})();
