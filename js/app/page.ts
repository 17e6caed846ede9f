// The page: one program over one state (state.ts), drawn for any host (host.ts).
import { html, nothing, render } from "lit-html";
import { classMap } from "lit-html/directives/class-map.js";
import { openBranches } from "../branch";
import { canBranch, chanceOf, type Parent, prefixOf, remaining } from "../branch/fork";
import { openGame } from "../game";
import { seedOf } from "../game/score";
import { type DecodeRequest, type Host, isLost } from "../host";
import { make, suppressShortcuts } from "../lib/dom";
import { factsOf } from "../lib/facts";
import { hsdGroup } from "../lib/group";
import { metricsOf } from "../lib/metrics";
import { drawNotice, troubleOf } from "../lib/notice";
import type { Snapshot } from "../lib/run";
import { unique } from "../lib/widget";
import { sentence } from "../lib/words";
import { mount } from "../views";
import { addressOf, parameters, read as readAddress, slug } from "./address";
import { dropZone, read, save } from "./files";
import { formOf } from "./form";
import { keySheet, typed } from "./keys";
import { explorer, header, lost, type Page, picker, speedLine, status, textSwitch } from "./parts";
import * as kept from "./state";
import { createState, fieldsOf, HERE, OPENED, openedWords, YOUR_GAME } from "./state";
import { APART, built, type Context, type Section, tabsOf } from "./tabs";
import { KEYS, STOPS } from "./tour";
import { tourCard } from "./tourcard";

const TOUR_KEPT = "hsd_viz.tour";
const GAME_SEEN = "hsd_viz.game";
/** Milliseconds between updates of the tiles during a run, so that they stay readable. */
const TILES = 400;

/**
 * Draw the page into `el`. `address`: the browser's address belongs to it. `first`: a newcomer sees
 * the game first. Returns a function that closes it.
 */
export function openPage(
  el: HTMLElement,
  host: Host,
  { address = false, first: playFirst = false } = {},
): () => void {
  const { about } = host;
  suppressShortcuts(el);
  const uid = unique();
  const root = make("div", "hsd-app");
  el.append(root);
  const name = `page-${uid}`;
  const group = hsdGroup(name);
  const run = group.store;
  const state = { palette: about.palette, group: name, cursor: null };
  const tabs = tabsOf(host);
  const first = kept.formOf(about.form);
  const recordings = about.recordings.map((r) => r.name);
  let closed = false;
  const begun: kept.State = {
    shown: "",
    kind: "none",
    blurb: "",
    busy: false,
    stage: { text: "" },
    here: kept.keptRun(),
    opened: null,
    form: first,
    filled: first,
    drawer: false,
    tab: 0,
    text: false,
    trouble: null,
    lost: "",
    tour: "",
    branches: [],
    branch: 0,
  };
  const store = createState(begun, (now, was) => closed || changed(now, was));
  const { set } = store;
  const ends: (() => void)[] = [];

  // --- the run
  const complete = () =>
    store.state.busy || !run.run || !run.tokens.length ? null : run.snapshot();
  /** Whether this page decodes with the models of a run. */
  function isOwn({ meta }: Snapshot) {
    const { family, families = [] } = about;
    return (
      !meta.family || meta.family === family || families.some(({ name }) => name === meta.family)
    );
  }
  /**
   * Show a whole run; the form follows it where the visitor has not changed it, and the page has
   * its models.
   */
  function show(shown: string, kind: kept.Kind, taken: Snapshot, blurb = "") {
    run.adopt(taken);
    const { form, filled } = store.state;
    const own = Object.keys(kept.changedIn(form, filled)).length > 0;
    const follows = shown !== HERE && isOwn(taken);
    const next = follows ? { ...filled, ...fieldsOf(taken, about.limits.tokens) } : filled;
    set({
      shown,
      kind,
      blurb,
      filled: next,
      ...(own || shown === HERE ? {} : { form: next }),
      trouble: null,
    });
  }
  /** What is being opened; "": nothing, or a run has started since. */
  let wanted = "";
  async function open(shown: string) {
    if (store.state.busy) return;
    wanted = shown === store.state.shown ? "" : shown;
    if (!wanted) return;
    const { here, opened } = store.state;
    set({ branches: [], branch: 0 });
    if (shown === HERE && here) return show(HERE, "finished", here);
    if (shown === OPENED && opened)
      return show(OPENED, "recording", opened.run, openedWords(opened.name));
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
  /** Decode the form's request; `fork`: continue a run, with its request. */
  async function decode(fork: Fork | null = null) {
    if (!host.decode || store.state.busy) return;
    // A field says what is wrong with it.
    if (!fork && form?.error()) return showField(".hsd-stack-field");
    const ranges = kept.rangesOf(about.limits.tokens);
    const wrong = kept.NUMBERS.some(
      (name) => typeof kept.numberOf(store.state.form[name], ranges[name]) === "string",
    );
    if (!fork && wrong) return showField('[aria-invalid="true"]');
    const request = fork?.request ?? kept.requestOf(store.state.form, about.limits);
    if (!fork) set({ branches: [], branch: 0 });
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
            if (!control?.signal.aborted)
              set({ stage: { text: `decoding ${done}/${total}`, done, total } });
          },
        },
        control.signal,
      );
      run.adopt(head);
      if (fork) run.meta = { ...run.meta, parent: fork.parent };
      const here = run.tokens.length ? run.snapshot() : null;
      if (here) kept.keepRun(here);
      set({ here, kind: here ? "finished" : "none" });
      if (here && fork) addBranch(here, fork);
    } catch (problem) {
      if (begun && run.tokens.length) keepPart(isLost(problem));
      else set(before);
      // The banner says that the host is lost.
      if (!isLost(problem)) throw problem;
    } finally {
      stream.model.set("live", false as never);
      control = null;
      set({ busy: false, stage: { text: "" } });
    }
  }
  /** Keep what was decoded before a failure, as a run that ended there. */
  function keepPart(lost: boolean) {
    const { prefill_seconds, seconds } = metricsOf(run);
    const wall_ns = Math.round(1e9 * (prefill_seconds + seconds));
    const { run: name, seq, prompt, promptIds: prompt_ids, levels } = run;
    const meta = { ...run.meta, wall_ns, cancelled: true, stop_reason: lost ? "lost" : "failed" };
    run.adopt({ run: name, seq, prompt, prompt_ids, levels, meta });
    const here = run.snapshot();
    kept.keepRun(here);
    set({ here, kind: "finished" });
  }
  /** Open the form at a field that is wrong. */
  function showField(selector: string) {
    set({ drawer: true });
    root.querySelector<HTMLElement>(`.hsd-controls ${selector}`)?.focus();
  }
  const start = tried(() => decode(), "Run failed");

  // --- branches: a run continued from a place of it with another token
  interface Fork {
    request: DecodeRequest;
    root: Snapshot;
    parent: Parent;
    p: number | null;
  }
  function forkAt(at: number, text: string): Fork {
    const root = run.snapshot();
    const prompt = prefixOf(run, at, text);
    const settings = { ...store.state.form, ...fieldsOf(root, about.limits.tokens), prompt };
    const parent = { run: root.run, token: at, text };
    const request = {
      ...kept.requestOf(settings, about.limits),
      max_new_tokens: remaining(run, at),
      parent,
    };
    return { request, root, parent, p: chanceOf(run, at, text) };
  }
  const branch = (at: number, text: string) =>
    tried(() => decode(forkAt(at, text)), "The branch failed")();
  function addBranch(here: Snapshot, { root, parent, p }: Fork) {
    const { branches } = store.state;
    const known = branches.some((one) => one.run.run === root.run)
      ? branches
      : [{ run: root, parent: null, p: null }];
    set({ branches: [...known, { run: here, parent, p }], branch: known.length });
  }
  function chooseBranch(k: number) {
    const chosen = store.state.branches[k];
    if (!chosen || store.state.busy) return;
    set({ here: chosen.run, branch: k });
    show(HERE, "finished", chosen.run);
  }
  const cancel = () => {
    control?.abort();
    set({ stage: { text: "cancelling" } });
  };
  const take = async (file: globalThis.File) => {
    if (store.state.busy) throw new Error("a run is in progress: open the file after it ends");
    if (!host.open)
      throw new Error(
        "opening a trace needs Python, which this page does not have: hsd.dashboard('FILE')",
      );
    const opened = { name: file.name, run: await host.open(await read(file)) };
    set({ opened, shown: "" });
    await open(OPENED);
  };
  const openFile = (file: globalThis.File) => tried(() => take(file), "Open failed")();

  // --- parts that stay
  const stairs = mount("staircase", state);
  const stream = mount("stream", { ...state, pinned: -1, live: false, ghosts: true });
  const form = host.decode ? formOf(store, host, start, cancel) : null;
  const notice = make("div", "", "", { hidden: "" });
  const forks = make("div", "hsd-forks");
  const branchList = openBranches(forks, {
    palette: about.palette,
    branches: [],
    shown: 0,
    choose: chooseBranch,
  });
  const sheet = keySheet();
  const context: Context = { host, store, group, state, run: complete };
  const panels = new Map<number, { el: HTMLElement; sections: Section[] }>();
  function panelOf(k: number) {
    const found = panels.get(k);
    if (found) return found;
    const made = built(tabs[k], context);
    panels.set(k, made);
    return made;
  }
  /** The open tab asks for what is of the run shown; during a run it waits. */
  function refresh() {
    for (const { sections } of panels.values())
      for (const s of sections) s.stale?.(store.state.busy);
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
  const keepTour = (key: string) =>
    kept.kept(() => sessionStorage.setItem(TOUR_KEPT, key), undefined);
  const tourKept = () => kept.kept(() => sessionStorage.getItem(TOUR_KEPT) ?? "", "");

  // --- the game: the page's first screen, alone until it is left
  const stage = make("div", "hsd-stage-game");
  let endGame = () => {};
  function game(seed = seedOf(new Date())) {
    if (store.state.busy || !about.games.length) return;
    endGame();
    const here = new URL(location.href);
    here.search = `?game=${seed}`;
    here.hash = "";
    root.classList.add("hsd-playing");
    const close = openGame(stage, {
      palette: about.palette,
      games: about.games,
      plays: about.plays,
      seed,
      recording: host.recording,
      leave(played) {
        endGame();
        kept.kept(() => localStorage.setItem(GAME_SEEN, "yes"), undefined);
        if (played) tried(() => showPlayed(played))();
        root.scrollIntoView?.({ block: "start" });
        root.querySelector<HTMLElement>(".hsd-main select")?.focus({ preventScroll: true });
      },
      save: (name, drawing) => save({ name, type: "image/svg+xml", bytes: drawing }),
      address: address && here.protocol.startsWith("http") ? here.href : "",
      alone: true,
      skip: "to_explorer",
      languages: about.languages,
    });
    endGame = () => {
      close();
      root.classList.remove("hsd-playing");
      endGame = () => {};
    };
  }
  async function showPlayed(played: Snapshot) {
    set({ opened: { name: YOUR_GAME, run: played }, shown: "" });
    await open(OPENED);
  }
  ends.push(() => endGame());

  // --- the address
  let wrote = "";
  const ours = () => {
    const { shown, form: now, filled, tab, tour: key } = store.state;
    const query: Record<string, string> = key
      ? {}
      : parameters(shown === HERE ? now : kept.changedIn(now, filled));
    if (shown === HERE || (shown !== OPENED && shown !== recordings[0] && shown))
      query.trace = shown;
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
    if (missing)
      ignored.push("the run is no longer stored in this browser: press Run to decode it again");
    const shown =
      (missing ? "" : asked.trace) || (back || !store.state.shown ? (recordings[0] ?? "") : "");
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
    if (asked.game !== null) game(asked.game);
    if (ignored.length) {
      set({ trouble: { message: sentence(ignored.join("; ")), caution: true } });
    }
  }
  // --- drawing
  const parts: Page = {
    ...context,
    root,
    uid,
    tabs,
    sheet,
    tried,
    open,
    openFile,
    stop,
    tourKept,
    game,
    cancel,
  };
  let forked: kept.State["branches"] = [];
  let forkShown = 0;
  let drawn = 0;
  let waiting = 0;
  function paint() {
    drawn = performance.now();
    clearTimeout(waiting);
    waiting = 0;
    const { drawer, tab, lost: why, trouble, kind } = store.state;
    group.branch = host.decode && !why && !store.state.busy && canBranch(run) ? branch : null;
    if (store.state.branches !== forked || store.state.branch !== forkShown) {
      forked = store.state.branches;
      forkShown = store.state.branch;
      branchList.show({ branches: forked, shown: forkShown });
    }
    root.classList.toggle("hsd-form-open", drawer);
    root.classList.toggle("hsd-busy", store.state.busy);
    const facts = run.run ? factsOf(run.meta, kind === "recording") : [];
    const isApart = APART.includes(tabs[tab].title);
    // The tour outlines tokens, and a run is watched.
    const folds = tab > 0 && !isApart && !store.state.tour && !store.state.busy;
    const kinds = {
      "hsd-main": true,
      "hsd-apart": isApart,
      "hsd-folded": folds && !store.state.text,
    };
    render(
      html`${stage}${lost(why, address)}${header(parts)}
        <div class="hsd-layout">
          ${
            form
              ? html`<div class="hsd-controls hsd-form" role="form" aria-label="New run"
  ?inert=${Boolean(why)} ?hidden=${!drawer}>${form.template()}</div>`
              : nothing
          }
          <div class=${classMap(kinds)} id=${uid}>
            ${picker(parts)}${status(parts)}${speedLine(parts)}${notice} ${forks}
            <div class="hsd-transport">${stairs.el}</div>
            ${folds ? textSwitch(parts) : nothing}
            <div class="hsd-text-view">${stream.el}</div>
            ${explorer(parts, panelOf(tab).el)}
            <p class="hsd-foot hsd-source">${facts.join("  ·  ")}</p>
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
    if (
      now.busy &&
      was.busy &&
      now.shown === was.shown &&
      now.kind === was.kind &&
      now.tab === was.tab
    )
      soon();
    else paint();
    const next = `.hsd-controls ${now.busy ? ".hsd-cancel" : ".hsd-primary"}`;
    if (now.busy !== was.busy && focused?.matches(":disabled") && root.contains(focused))
      root.querySelector<HTMLElement>(next)?.focus({ preventScroll: true });
    if (now.form !== was.form || now.filled !== was.filled)
      kept.keepForm(kept.changedIn(now.form, now.filled));
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
    const newcomer = kept.kept(() => localStorage.getItem(GAME_SEEN) !== "yes", false);
    if (playFirst && newcomer && !/[?&](?!theme=)\w+=/.test(query)) game();
  })();
  return () => {
    for (const end of ends.splice(0)) end();
    control?.abort();
    for (const part of [stairs, stream, tour, branchList]) part.close();
    root.remove();
  };
}
