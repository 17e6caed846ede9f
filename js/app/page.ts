// Draws the page from its state (state.ts), for any host (host.ts). Its actions are in the modules
// beside this one: the run (runs.ts), the tour (touring.ts), the game (playing.ts) and the address
// (addressbar.ts). Its parts are in parts.ts and tabs.ts.
import { html, nothing, render } from "lit-html";
import { classMap } from "lit-html/directives/class-map.js";
import { openBranches } from "../branch";
import { canBranch } from "../branch/fork";
import type { Host } from "../host";
import { make, suppressShortcuts } from "../lib/dom";
import { factsOf } from "../lib/facts";
import { drawNotice } from "../lib/notice";
import { type Mounted, mount } from "../views";
import { AddressBar } from "./addressbar";
import { dropZone } from "./files";
import { formOf } from "./form";
import { keySheet, typed } from "./keys";
import { header, headline, lost, type Page, panel, tabBar } from "./parts";
import { Playing } from "./playing";
import { runBar, status } from "./runbar";
import { Runs } from "./runs";
import { shellOf } from "./shell";
import * as pageState from "./state";
import { buildTab, type OpenTab } from "./tabs";
import { Touring } from "./touring";

/** Milliseconds between updates of the tiles during a run, so that they stay readable. */
const TILES = 400;
/** Matches an address that opens something: a newcomer who follows it does not get the game. */
const ASKS = /[?&](?!theme=)\w+=/;

class OpenPage {
  private readonly page: Page;
  private readonly bar: AddressBar;
  // Elements that persist while the templates around them are drawn again.
  private readonly player: Mounted;
  private readonly stairs: Mounted;
  private readonly stream: Mounted;
  private readonly form: ReturnType<typeof formOf> | null;
  private readonly branches: ReturnType<typeof openBranches>;
  private readonly notice = make("div", "", "", { hidden: "" });
  private readonly forks = make("div", "hsd-forks");
  /** The tabs that were opened, by index. */
  private readonly panels = new Map<number, OpenTab>();
  /** Time of the last drawing in milliseconds, and the timer of the next one; 0: none. */
  private drawnAt = 0;
  private waiting = 0;
  private closed = false;
  /** Functions to call when the page closes. */
  private readonly closers: (() => void)[] = [];

  constructor(el: HTMLElement, host: Host, address: boolean) {
    const shell = shellOf(el, host, address, (now, was) => this.closed || this.changed(now, was));
    const runs = new Runs(shell);
    const tour = new Touring(shell, runs);
    const game = new Playing(shell, runs);
    this.page = { ...shell, runs, tour, game, sheet: keySheet() };
    this.bar = new AddressBar(shell, runs, tour, game);
    this.player = mount("staircase", { ...shell.state, show: "bar" });
    this.stairs = mount("staircase", { ...shell.state, show: "chart" });
    this.stream = mount("stream", { ...shell.state, pinned: -1, live: false, details: false });
    const cancel = () => runs.cancel();
    this.form = host.decode ? formOf(shell.store, host, this.start, cancel) : null;
    this.branches = openBranches(this.forks, {
      palette: host.about.palette,
      branches: [],
      shown: 0,
      choose: (k) => runs.chooseBranch(k),
    });
  }

  private get now() {
    return this.page.store.state;
  }

  // --- life cycle

  /** Draw the page and follow its address. With `first`, show the game to a newcomer. */
  open(first: boolean) {
    this.listen();
    this.paint();
    this.page.tried(() => this.begin(first))();
  }
  private async begin(first: boolean) {
    const { store, host, address, game } = this.page;
    const written = pageState.keptForm(pageState.formOf(host.about.form));
    const query = address ? location.search : "";
    await this.bar.follow(query);
    // Restore what the visitor typed before, unless the address fills the form.
    const isAsked = Object.keys(this.bar.read(query).form).length > 0;
    if (!isAsked) store.set({ form: { ...store.state.form, ...written } });
    this.bar.write(false);
    this.refresh();
    if (first && game.isNew && !ASKS.test(query)) game.play();
  }
  private listen() {
    const { root, host, address, runs, store, tried } = this.page;
    const open = (file: File) => tried(() => runs.take(file), "Open failed")();
    root.addEventListener("keydown", this.runByKey);
    document.addEventListener("keydown", this.help);
    if (address) addEventListener("popstate", this.bar.goBack);
    this.closers.push(dropZone(root, open));
    if (host.watch) this.closers.push(host.watch((why) => store.set({ lost: why })));
  }
  close() {
    const { root, runs, tour, game } = this.page;
    this.closed = true;
    clearTimeout(this.waiting);
    document.removeEventListener("keydown", this.help);
    removeEventListener("popstate", this.bar.goBack);
    for (const end of this.closers) end();
    runs.abort();
    const parts = [this.player, this.stairs, this.stream, tour, game, this.branches];
    for (const part of parts) part.close();
    for (const { sections } of this.panels.values())
      for (const section of sections) section.close?.();
    root.remove();
  }

  // --- reactions to a change of the state

  private changed(now: pageState.State, was: pageState.State) {
    const isOther = now.shown !== was.shown || now.kind !== was.kind || now.tab !== was.tab;
    const focused = document.activeElement as HTMLElement | null;
    if (now.kind !== was.kind) this.stream.model.set("live", (now.kind === "live") as never);
    // The tour explains the details.
    if (now.tour && !was.tour) this.stream.model.set("details", true as never);
    // During a run only its status and the tiles change.
    if (now.busy && was.busy && !isOther) this.paintSoon();
    else this.paint();
    if (now.busy !== was.busy) this.moveFocus(focused);
    if (now.form !== was.form || now.filled !== was.filled)
      pageState.keepForm(pageState.changedIn(now.form, now.filled));
    const moved = now.shown !== was.shown || now.tab !== was.tab || now.busy !== was.busy;
    if (moved || now.form !== was.form) this.bar.write();
    const isBack = was.lost && !now.lost;
    if (moved || isBack || now.form.temperature !== was.form.temperature) this.refresh();
  }
  /** Move the focus from a button disabled at the start or end of a run to its replacement. */
  private moveFocus(from: HTMLElement | null) {
    const { root } = this.page;
    if (!from?.matches(":disabled") || !root.contains(from)) return;
    const next = this.now.busy ? ".hsd-cancel" : ".hsd-primary";
    root.querySelector<HTMLElement>(`.hsd-controls ${next}`)?.focus({ preventScroll: true });
  }
  /** Let the open tab ask for its answers about the run shown; not during a run. */
  private refresh() {
    const { busy, tab } = this.now;
    for (const { sections } of this.panels.values())
      for (const section of sections) section.stale?.(busy);
    if (!busy) for (const section of this.panelOf(tab).sections) section.refresh?.();
  }
  private panelOf(tab: number): OpenTab {
    const opened = this.panels.get(tab);
    if (opened) return opened;
    const panel = buildTab(this.page.tabs[tab], this.page);
    this.panels.set(tab, panel);
    return panel;
  }

  // --- the run

  /** Decode the request of the form, or show which of its fields is wrong. */
  private readonly start = () => {
    const { host, runs, tried } = this.page;
    const { limits } = host.about;
    const act = () => {
      if (!host.decode || this.now.busy) return;
      // The field shows its own error.
      if (this.form?.error()) return this.showField(".hsd-stack-field");
      if (pageState.hasWrongNumber(this.now.form, limits.tokens))
        return this.showField('[aria-invalid="true"]');
      return runs.decode(pageState.requestOf(this.now.form, limits));
    };
    tried(act, "Run failed")();
  };
  /** Open the form at an invalid field. */
  private showField(selector: string) {
    const { root, store } = this.page;
    store.set({ drawer: true });
    root.querySelector<HTMLElement>(`.hsd-controls ${selector}`)?.focus();
  }
  private readonly branch = (at: number, text: string) => {
    const { runs, tried } = this.page;
    tried(() => runs.branch(at, text), "The branch failed")();
  };

  // --- keys

  private readonly runByKey = (e: KeyboardEvent) => {
    if (e.key !== "Enter" || !(e.ctrlKey || e.metaKey) || e.altKey || e.shiftKey) return;
    const field = e.target as HTMLElement;
    const enclosing = field.closest(".hsd-measure");
    const button = enclosing?.querySelector<HTMLButtonElement>(".hsd-primary");
    if (enclosing ? !button || button.disabled : !this.page.host.decode) return;
    e.preventDefault();
    field.dispatchEvent(new Event("change", { bubbles: true }));
    if (enclosing) button?.click();
    else this.start();
  };
  private readonly help = (e: KeyboardEvent) => {
    const { root, sheet } = this.page;
    if (e.key !== "?" || sheet.open || typed(e, root)) return;
    e.preventDefault();
    sheet.showModal();
  };

  // --- drawing

  private paintSoon() {
    const delay = Math.max(0, TILES - (performance.now() - this.drawnAt));
    this.waiting ||= window.setTimeout(() => this.paint(), delay);
  }
  private paint() {
    this.drawnAt = performance.now();
    clearTimeout(this.waiting);
    this.waiting = 0;
    const { root, host, group } = this.page;
    const { branches, branch, busy, drawer, lost: why } = this.now;
    const canDecode = host.decode && !why && !busy;
    group.branch = canDecode && canBranch(group.store) ? this.branch : null;
    this.branches.show({ branches, shown: branch });
    root.classList.toggle("hsd-form-open", drawer);
    root.classList.toggle("hsd-busy", busy);
    render(this.template(), root);
    this.paintNotice();
  }
  /** The error last shown, so that each is drawn and scrolled to once. */
  private trouble: pageState.State["trouble"] = null;
  private paintNotice() {
    const { trouble } = this.now;
    if (trouble === this.trouble) return;
    this.trouble = trouble;
    const dismiss = () => this.page.store.set({ trouble: null });
    drawNotice(this.notice, trouble ?? { message: "" }, dismiss);
    if (trouble) this.notice.scrollIntoView?.({ block: "nearest" });
  }
  private template() {
    const { page } = this;
    const { drawer, lost: why } = this.now;
    const form = this.form
      ? html`<div
          class="hsd-controls hsd-form"
          role="form"
          aria-label="New run"
          ?inert=${Boolean(why)}
          ?hidden=${!drawer}
        >
          ${this.form.template()}
        </div>`
      : nothing;
    return html`${page.game.root}${lost(why, page.address)}${header(page)}
      <div class="hsd-layout">${form}${this.main()}</div>
      ${page.tour.root}`;
  }
  /** Return the template of the main column: the tabs, the run, and the open tab. */
  private main() {
    const { page } = this;
    const { tab, text, tour, busy, kind } = this.now;
    const { isApart = false } = page.tabs[tab];
    const isWatch = tab === 0;
    // Keep the text open for the tour, which outlines tokens, and while a run grows.
    const folds = !isWatch && !isApart && !tour && !busy;
    const kinds = {
      "hsd-main": true,
      "hsd-apart": isApart,
      "hsd-watch": isWatch,
      "hsd-folded": folds && !text,
    };
    const { run, meta } = page.group.store;
    const facts = run ? factsOf(meta, kind === "recording") : [];
    const { el, parts } = this.panelOf(tab);
    return html`<div class=${classMap(kinds)} id=${page.uid}>
      ${tabBar(page, parts)}${runBar(page, this.player.el, folds)}${headline(page)}${status(page)}
      ${this.notice}${this.forks}
      <div class="hsd-hero">${this.stairs.el}</div>
      <div class="hsd-text-view">${this.stream.el}</div>
      ${panel(page, el)}
      <p class="hsd-foot hsd-source">${facts.join("  ·  ")}</p>
    </div>`;
  }
}

/**
 * Draw the page into `el` and return a function that closes it. `address`: the page owns the
 * browser's address. `first`: a newcomer sees the game first.
 */
export function openPage(
  el: HTMLElement,
  host: Host,
  { address = false, first = false } = {},
): () => void {
  suppressShortcuts(el);
  const page = new OpenPage(el, host, address);
  page.open(first);
  return () => page.close();
}
