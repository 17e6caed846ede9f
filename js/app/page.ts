// The page: one program over one state (state.ts), drawn for any host (host.ts).
import { html, nothing, render } from "lit-html";
import type { Host } from "../host";
import { make, press, suppressShortcuts } from "../lib/dom";
import { factsOf } from "../lib/facts";
import { field, menu } from "../lib/fields";
import { hsdGroup } from "../lib/group";
import { drawNotice, troubleOf } from "../lib/notice";
import type { Snapshot } from "../lib/run";
import { unique } from "../lib/widget";
import { sentence } from "../lib/words";
import { mount } from "../views";
import { addressOf, parameters, read as readAddress, slug } from "./address";
import { drawingOf } from "./drawing";
import { choose, download, dropZone, read, save } from "./files";
import { formOf } from "./form";
import { introSeen, playIntro, storyOf } from "./intro";
import { keySheet, typed } from "./keys";
import { readout } from "./readout";
import * as kept from "./state";
import { createState, fieldsOf, HERE, OPENED } from "./state";
import { APART, built, type Context, type Section, tabsOf } from "./tabs";
import { KEYS, STOPS } from "./tour";
import { tourCard } from "./tourcard";

interface Themes {
  chosen: () => string;
  choose: (name: string) => void;
}
/** Forms of a saved run. */
const FORMS = [
  ["trace", "Trace", ".json.gz", "whole run; opens here and in Python"],
  ["page", "Page", ".html", "interactive; opens in any browser, offline"],
];
/** Forms of what is shown, which need no Python. */
const PICTURES = [
  ["drawing", "Vector drawing", ".svg", "the staircase and the charts of the open tab"],
  ["paper", "Paper", ".pdf", "the page as it is, by the browser's print"],
];
const BADGES = { none: "No run", recording: "Recording", live: "Live run", finished: "Finished run" };
const THEMES = { system: "System theme", light: "Light", dark: "Dark" };
const THEME_MENU = { class: "hsd-theme", label: "Theme", title: "Theme of the page" };
const TOUR_KEPT = "hsd_viz.tour";
/** Milliseconds between updates of the tiles during a run, so that they stay readable. */
const TILES = 400;

/** Draw the page into `el`. `address`: the browser's address belongs to it. Returns a function that closes it. */
export function openPage(el: HTMLElement, host: Host, { address = false } = {}): () => void {
  const { about } = host;
  suppressShortcuts(el);
  const uid = unique();
  const root = make("div", "hsd-app");
  el.append(root);
  const name = `page-${uid}`;
  const group = hsdGroup(name);
  const run = group.store;
  const state = { palette: about.palette, group: name, cursor: null };
  const themes = (window as { hsdTheme?: Themes }).hsdTheme;
  const tabs = tabsOf(host);
  const first = kept.formOf(about.form);
  const recordings = about.recordings.map((r) => r.name);
  let closed = false;
  const begun: kept.State = {
    ...{ shown: "", kind: "none", blurb: "", busy: false, stage: { text: "" }, here: kept.keptRun(), opened: null },
    ...{ form: first, filled: first, drawer: false, tab: 0, trouble: null, lost: "", tour: "" },
  };
  const store = createState(begun, (now, was) => closed || changed(now, was));
  const { set } = store;
  const ends: (() => void)[] = [];

  // --- the run
  const complete = () => (store.state.busy || !run.run || !run.tokens.length ? null : run.snapshot());
  /** Show a whole run; the form follows it where the visitor has not changed it. */
  function show(shown: string, kind: kept.Kind, taken: Snapshot, blurb = "") {
    run.adopt(taken);
    const { form, filled } = store.state;
    const own = Object.keys(kept.changedIn(form, filled)).length > 0;
    const next = shown === HERE ? filled : { ...filled, ...fieldsOf(taken, about.limits.tokens) };
    set({ shown, kind, blurb, filled: next, ...(own || shown === HERE ? {} : { form: next }), trouble: null });
  }
  /** What is being opened; "": nothing, or a run has started since. */
  let wanted = "";
  async function open(shown: string) {
    if (store.state.busy) return;
    wanted = shown === store.state.shown ? "" : shown;
    if (!wanted) return;
    const { here, opened } = store.state;
    if (shown === HERE && here) return show(HERE, "finished", here);
    if (shown === OPENED && opened) return show(OPENED, "recording", opened.run, `Opened from ${opened.name}.`);
    const recording = about.recordings.find((r) => r.name === shown);
    if (!recording) return;
    const taken = await host.recording(shown);
    if (wanted === shown) show(shown, "recording", taken, recording.blurb);
  }
  /** Call what may fail; an error becomes a card. */
  const tried =
    (act: () => unknown, title = "") =>
    () => {
      Promise.resolve()
        .then(act)
        .catch((error) => set({ trouble: troubleOf(error, title) }));
    };
  let control: AbortController | null = null;
  async function decode() {
    if (!host.decode || store.state.busy) return;
    const error = form?.error();
    if (error) throw new Error(sentence(error).slice(0, -1));
    const request = kept.requestOf(store.state.form, about.limits);
    control = new AbortController();
    wanted = "";
    set({ busy: true, trouble: null, stage: { text: "starting" } });
    // On a narrow page the form covers the run.
    if (root.offsetWidth <= 900) set({ drawer: false });
    const before = { shown: store.state.shown, kind: store.state.kind };
    let begun = false;
    try {
      const head = await host.decode(
        request,
        {
          stage: (text, done, total) => {
            if (!control?.signal.aborted) set({ stage: { text, done, total } });
          },
          begin(taken) {
            begun = true;
            run.adopt(taken);
            stream.model.set("live", true as never);
            set({ shown: HERE, kind: "live", blurb: "", filled: store.state.form, here: null });
          },
          append(steps) {
            run.receive(steps);
            const [done, total] = [run.tokens.length, request.max_new_tokens];
            if (!control?.signal.aborted) set({ stage: { text: `decoding ${done}/${total}`, done, total } });
          },
        },
        control.signal,
      );
      run.adopt(head);
      const here = run.tokens.length ? run.snapshot() : null;
      if (here) kept.keepRun(here);
      set({ here, kind: here ? "finished" : "none" });
    } catch (problem) {
      if (begun && run.tokens.length) set({ here: run.snapshot(), kind: "finished" });
      else set(before);
      throw problem;
    } finally {
      stream.model.set("live", false as never);
      control = null;
      set({ busy: false, stage: { text: "" } });
    }
  }
  const start = tried(decode, "Run failed");
  const cancel = () => {
    control?.abort();
    set({ stage: { text: "cancelling" } });
  };
  const take = async (file: globalThis.File) => {
    if (store.state.busy) throw new Error("a run is in progress: open the file after it ends");
    if (!host.open)
      throw new Error("opening a trace needs Python, which this page does not have: hsd.dashboard('FILE')");
    const opened = { name: file.name, run: await host.open(await read(file)) };
    set({ opened, shown: "" });
    await open(OPENED);
  };
  const openFile = (file: globalThis.File) => tried(() => take(file), "Open failed")();

  // --- parts that stay
  const stairs = mount("staircase", state);
  const stream = mount("stream", { ...state, pinned: -1, live: false, ghosts: true });
  const form = host.decode ? formOf(store, about, start, cancel) : null;
  const notice = make("div", "", "", { hidden: "" });
  const sheet = keySheet();
  const context: Context = { host, store, group, state, run: complete };
  const panels = new Map<number, { el: HTMLElement; sections: Section[] }>();
  function panelOf(k: number) {
    const found = panels.get(k);
    if (found) return found;
    const sections = built(tabs[k], context);
    const made = { el: make("div", "hsd-panel-body"), sections };
    made.el.append(...sections.map((s) => s.root));
    panels.set(k, made);
    return made;
  }
  /** The open tab asks for what is of the run shown; during a run it waits. */
  function refresh() {
    for (const { sections } of panels.values()) for (const s of sections) s.stale?.(store.state.busy);
    if (!store.state.busy) for (const s of panelOf(store.state.tab).sections) s.refresh?.();
  }

  // --- the tour
  const tour = tourCard(root, group, (key, done) => tried(() => (key ? stop(key) : leave(done)))());
  let before = "";
  async function stop(key: string) {
    const now = STOPS[KEYS.indexOf(key)];
    if (!now) return;
    if (store.state.busy) throw new Error("a run is in progress: cancel it or wait for its end");
    if (!store.state.tour) before = store.state.shown;
    await open(now.recording);
    const tab = tabs.findIndex((t) => t.title === now.tab);
    set({ tour: key, ...(tab >= 0 ? { tab } : {}) });
    tour.show(key);
    keepTour(key);
  }
  async function leave(done = false) {
    if (done) keepTour("");
    set({ tour: "" });
    tour.hide();
    if (before) await open(before);
  }
  const keepTour = (key: string) => kept.kept(() => sessionStorage.setItem(TOUR_KEPT, key), undefined);
  const tourKept = () => kept.kept(() => sessionStorage.getItem(TOUR_KEPT) ?? "", "");

  // --- the first ten seconds
  const stage = make("div");
  let endIntro = () => {};
  async function intro() {
    endIntro();
    const story = await storyOf(host);
    if (!story || store.state.busy || !root.isConnected) return;
    endIntro = playIntro(stage, host, story, () => {
      endIntro = () => {};
    });
  }
  ends.push(() => endIntro());

  // --- the address
  let wrote = "";
  const ours = () => {
    const { shown, form: now, filled, tab, tour: key } = store.state;
    const query: Record<string, string> = key ? {} : parameters(shown === HERE ? now : kept.changedIn(now, filled));
    if (shown === HERE || (shown !== OPENED && shown !== recordings[0] && shown)) query.trace = shown;
    if (tab) query.tab = slug(tabs[tab].title);
    return query;
  };
  function write(push = true) {
    if (!address || store.state.busy) return;
    const { href, step } = addressOf(location.href, ours());
    if (href === wrote) return;
    const change = push && step && wrote ? "pushState" : "replaceState";
    // A file's address cannot be changed.
    kept.kept(() => {
      history[change](null, "", href);
      wrote = href;
    }, undefined);
  }
  async function follow(query: string, back = false) {
    const titles = tabs.map((t) => t.title);
    const asked = readAddress(query, recordings, titles, KEYS);
    if (store.state.busy) throw new Error("a run is in progress: cancel it or wait for its end");
    const ignored = [...asked.ignored];
    const missing = asked.trace === HERE && !store.state.here;
    if (missing) ignored.push("the run is no longer stored in this browser: press Run to decode it again");
    const shown = (missing ? "" : asked.trace) || (back || !store.state.shown ? (recordings[0] ?? "") : "");
    const { tab } = store.state;
    if (shown) await open(shown);
    if (Object.keys(asked.form).length) set({ form: { ...store.state.form, ...asked.form } });
    // A tab that the visitor has picked meanwhile stays.
    if (store.state.tab === tab) set({ tab: Math.max(0, titles.map(slug).indexOf(asked.tab)) });
    if (asked.step) {
      const events = run.index().events.length;
      if (asked.step <= events) group.pin({ step: asked.step - 1 });
      else ignored.push(`step ${asked.step} is out of range: the run has ${events} events`);
    }
    if (asked.tour) await stop(asked.tour);
    if (ignored.length) {
      set({ trouble: { message: sentence(ignored.join("; ")), caution: true } });
    }
  }
  // --- drawing
  function saveAs(topic: string) {
    if (topic === "paper") return print();
    if (topic !== "drawing") return download(host, { about: topic, run: complete() ?? undefined });
    save({ name: "hsd_viz_charts.svg", type: "image/svg+xml", bytes: drawingOf(root) });
  }
  function picker() {
    const { shown, here, opened, busy, kind, tour: key } = store.state;
    const options = [
      ...(here || kind === "live" ? [[HERE, "Run decoded here"]] : []),
      ...about.recordings.map((r) => [r.name, r.title]),
      ...(opened ? [[OPENED, `${opened.name} (your file)`]] : []),
    ];
    const form = ([topic, words, ending, hint]: string[]) =>
      html`<button type="button" role="menuitem" @click=${(e: { target: HTMLElement }) => {
        e.target.closest("details")?.removeAttribute("open");
        tried(() => saveAs(topic), "Save failed")();
      }}><span><strong>${words}</strong> <code>${ending}</code></span><small>${hint}</small></button>`;
    const kept = KEYS.indexOf(tourKept());
    return html`<div class="hsd-recordings">
      ${field(
        "Recording",
        menu(options, shown, (value) => tried(() => open(value), "Open failed")(), { disabled: busy }),
      )}
      ${host.open ? html`<button type="button" class="hsd-quiet" ?disabled=${busy} @click=${() => choose(".json,.gz", openFile)}>Open a trace</button>` : nothing}
      <details class="hsd-save" @keydown=${(e: KeyboardEvent & { currentTarget: HTMLElement }) => {
        if (e.key === "Escape") e.currentTarget.removeAttribute("open");
      }}><summary class="hsd-quiet" role="button" aria-disabled=${busy || !run.tokens.length}>Save</summary><div role="menu" aria-label="Save the run as">${[...(host.file ? FORMS : []), ...PICTURES].map(form)}</div></details>
      ${
        STOPS.every((s) => recordings.includes(s.recording))
          ? html`<button type="button" class="hsd-quiet hsd-tour-button" title="Learn the page step by step on recorded runs" ?disabled=${busy}
              @click=${tried(() => stop(key || KEYS[Math.max(0, kept)]), "The tour cannot start")}>${
                kept > 0 ? `Resume the tour (${kept + 1}/${KEYS.length})` : "Take the tour"
              }</button>`
          : nothing
      }
    </div>`;
  }
  function header() {
    const { busy, drawer } = store.state;
    const turn = () => {
      if (busy) return cancel();
      set({ drawer: !drawer });
      if (!drawer) root.querySelector<HTMLElement>(".hsd-controls select")?.focus({ preventScroll: true });
    };
    const skip = (e: Event) => {
      // In a notebook, JupyterLab handles fragment links.
      e.preventDefault();
      root.querySelector<HTMLElement>(".hsd-main select, .hsd-main button")?.focus();
    };
    return html`<div class="hsd-header">
      <a class="hsd-skip" href="#${uid}" @click=${skip}>Skip to the run shown</a>
      <h1>hsd_viz</h1>
      <p><strong>Speculative decoding:</strong> draft models or databases propose several tokens, and the target model verifies them in one forward pass: the same text, faster.</p>
      ${themes ? menu(Object.entries(THEMES), themes.chosen(), themes.choose, THEME_MENU) : nothing}
      <div class="hsd-header-tools">${about.races.length ? html`<button type="button" title="What speculative decoding does, in ten seconds" @click=${tried(intro)}>Intro</button>` : nothing}<button type="button" title="The keys of the page (?)" @click=${() => sheet.showModal()}>Keys</button></div>
      ${form ? html`<button type="button" class="hsd-form-switch hsd-quiet" aria-expanded=${drawer} @click=${turn}>${busy ? "Cancel run" : drawer ? "Close form" : "New run"}</button>` : nothing}
      ${sheet}
    </div>`;
  }
  function status() {
    const { kind, blurb, busy, stage } = store.state;
    const known = Boolean(stage.total) && typeof stage.done === "number";
    return html`<div class="hsd-now">
      <span class="hsd-badge hsd-badge-${kind}">${BADGES[kind]}</span>
      ${busy ? nothing : html`<span class="hsd-lede">${blurb || nothing}</span>`}
      <span class="hsd-stage hsd-note hsd-number" role="status">${stage.text}</span>
      ${busy ? html`<progress class="hsd-meter" aria-label="Progress" max=${known ? stage.total : nothing} value=${known ? stage.done : nothing}></progress>` : nothing}
    </div>`;
  }
  function explorer() {
    const { tab, busy } = store.state;
    const pick = (k: number) => {
      set({ tab: k });
      const button = root.querySelector<HTMLElement>(`#${uid}-t${k}`);
      button?.focus({ preventScroll: true });
      // A tab that would show only its first lines goes up, below the player.
      const low = (button?.getBoundingClientRect().bottom ?? 0) > innerHeight * 0.6;
      button?.scrollIntoView({ block: low ? "start" : "nearest", inline: "nearest" });
    };
    const last = tabs.length - 1;
    const to = (k: number) => () => pick(k % tabs.length);
    const moves = { ArrowRight: to(tab + 1), ArrowLeft: to(tab + last), Home: to(0), End: to(last) };
    const keys = (e: KeyboardEvent) => press(e, moves);
    return html`<div class="hsd-explorer">
      <div class="hsd-tabs" role="tablist" aria-label="Views of the run" @keydown=${keys}>${tabs.map(
        (t, k) =>
          html`<button type="button" role="tab" id="${uid}-t${k}" aria-controls="${uid}-p" aria-selected=${k === tab} tabindex=${k === tab ? 0 : -1} @click=${() => pick(k)}>${t.title}</button>`,
      )}</div>
      <div class="hsd-panel" role="tabpanel" id="${uid}-p" aria-labelledby="${uid}-t${tab}" data-tab=${slug(tabs[tab].title)}>
        ${tab === 0 ? readout(run, busy, about.sources, uid) : nothing}${panelOf(tab).el}
      </div>
    </div>`;
  }
  function lost() {
    const { lost: why } = store.state;
    if (!why) return nothing;
    const kept =
      "A run in progress was interrupted. Prompt, stack, settings and finished runs are kept in this browser.";
    const reload = html`<button type="button" class="hsd-quiet" @click=${() => location.reload()}>Reload</button>`;
    return html`<div class="hsd-lost" role="alert"><strong>${why}</strong>${
      address ? html`<span>${kept}</span>${reload}` : html`<span>Run the cell again to continue.</span>`
    }</div>`;
  }
  let drawn = 0;
  let waiting = 0;
  function paint() {
    drawn = performance.now();
    clearTimeout(waiting);
    waiting = 0;
    const { drawer, tab, lost: why, trouble, kind } = store.state;
    root.classList.toggle("hsd-form-open", drawer);
    root.classList.toggle("hsd-busy", store.state.busy);
    const facts = run.run ? factsOf(run.meta, kind === "recording") : [];
    render(
      html`${lost()}${header()}
        <div class="hsd-layout">
          ${form ? html`<div class="hsd-controls hsd-form" role="form" aria-label="New run" ?inert=${Boolean(why)} ?hidden=${!drawer}>${form.template()}</div>` : nothing}
          <div class="hsd-main ${APART.includes(tabs[tab].title) ? "hsd-apart" : ""}" id=${uid}>
            ${picker()}${status()}${notice}
            <div class="hsd-transport">${stairs.el}</div>
            <div class="hsd-text-view">${stream.el}</div>
            ${explorer()}
            <p class="hsd-foot hsd-source">${facts.join("  ·  ")}</p>
            ${stage}
          </div>
        </div>
        ${tour.root}`,
      root,
    );
    if (trouble !== shownTrouble) {
      shownTrouble = trouble;
      drawNotice(notice, trouble ?? { message: "" }, () => set({ trouble: null }));
      if (trouble) notice.scrollIntoView?.({ block: "nearest" });
    }
  }
  let shownTrouble: kept.State["trouble"] = null;
  function soon() {
    waiting ||= setTimeout(paint, Math.max(0, TILES - (performance.now() - drawn)));
  }

  // --- life
  function changed(now: kept.State, was: kept.State) {
    const focused = document.activeElement as HTMLElement | null;
    // During a run only the stage and the tiles change.
    if (now.busy && was.busy && now.shown === was.shown && now.kind === was.kind && now.tab === was.tab) soon();
    else paint();
    const next = `.hsd-controls ${now.busy ? ".hsd-cancel" : ".hsd-primary"}`;
    if (now.busy !== was.busy && focused?.matches(":disabled") && root.contains(focused))
      root.querySelector<HTMLElement>(next)?.focus({ preventScroll: true });
    if (now.form !== was.form || now.filled !== was.filled) kept.keepForm(kept.changedIn(now.form, now.filled));
    const moved = now.shown !== was.shown || now.tab !== was.tab || now.busy !== was.busy;
    if (moved || now.form !== was.form) write();
    if (moved || now.form.temperature !== was.form.temperature) refresh();
  }
  ends.push(() => {
    closed = true;
    clearTimeout(waiting);
  });
  const runByKey = (e: KeyboardEvent) => {
    if (e.key !== "Enter" || !(e.ctrlKey || e.metaKey) || e.altKey || e.shiftKey) return;
    const own = (e.target as HTMLElement).closest(".hsd-measure");
    const button = own?.querySelector<HTMLButtonElement>(".hsd-primary");
    if (own ? !button || button.disabled : !host.decode) return;
    e.preventDefault();
    (e.target as HTMLElement).dispatchEvent(new Event("change", { bubbles: true }));
    if (own) button?.click();
    else start();
  };
  root.addEventListener("keydown", runByKey);
  const help = (e: KeyboardEvent) => {
    if (e.key !== "?" || sheet.open || typed(e, root)) return;
    e.preventDefault();
    sheet.showModal();
  };
  const back = () => {
    wrote = location.href;
    tried(() => follow(location.search, true))();
  };
  document.addEventListener("keydown", help);
  if (address) addEventListener("popstate", back);
  ends.push(() => document.removeEventListener("keydown", help));
  ends.push(() => removeEventListener("popstate", back));
  ends.push(dropZone(root, openFile));
  if (host.watch) ends.push(host.watch((why) => set({ lost: why })));
  paint();
  tried(async () => {
    const written = kept.keptForm(first);
    const query = address ? location.search : "";
    await follow(query);
    // What the visitor wrote before, unless the address says something else.
    const asked = readAddress(query, recordings, [], KEYS);
    if (!Object.keys(asked.form).length) set({ form: { ...store.state.form, ...written } });
    write(false);
    refresh();
    // A link asks for something else.
    if (address && host.decode && !introSeen() && !/[?&](?!theme=)\w+=/.test(query)) await intro();
  })();
  return () => {
    for (const end of ends.splice(0)) end();
    control?.abort();
    for (const part of [stairs, stream, tour]) part.close();
    root.remove();
  };
}
