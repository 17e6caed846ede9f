// Changes the run that the page shows: opens a recording, a file or a game, decodes a request, and
// branches a run.
import { type BranchParent, chanceOf, prefixOf, remaining } from "../branch/fork";
import { type DecodeRequest, isLost, type Progress } from "../host";
import { metricsOf } from "../lib/metrics";
import type { Head, Snapshot } from "../lib/run_data";
import { read } from "./files";
import type { Shell } from "./shell";
import * as pageState from "./state";
import { fieldsOf, HERE, OPENED, openedText } from "./state";

/** A run that continues another one from one of its positions with another token. */
interface Fork {
  root: Snapshot;
  parent: BranchParent;
  /** Recorded probability of the other token; null: not recorded. */
  p: number | null;
}
/** The run and state that a decode replaces, restored if it ends without a token. */
interface ReplacedRun {
  run: Snapshot;
  state: Pick<
    pageState.State,
    "shown" | "kind" | "blurb" | "filled" | "here" | "branches" | "branch"
  >;
}
/** Width in pixels up to which the form covers the run. */
const NARROW = 900;
const BUSY = "a run is in progress: cancel it or wait for its end";

export class Runs {
  /** Name of the run that is being opened; "": none, or a decode has started since. */
  private pending = "";
  /** Cancels the decode in progress. */
  private control: AbortController | null = null;

  constructor(private readonly shell: Shell) {}

  private get run() {
    return this.shell.group.store;
  }
  private get now() {
    return this.shell.store.state;
  }
  private set(change: Partial<pageState.State>) {
    this.shell.store.set(change);
  }

  /** Throw an error with a one-line message during a decode. */
  refuseWhileBusy() {
    if (this.now.busy) throw new Error(BUSY);
  }

  // --- opening

  /** Open by name: a recording, the run decoded here or the opened file. */
  async open(shown: string) {
    if (this.now.busy) return;
    this.pending = shown === this.now.shown ? "" : shown;
    if (!this.pending) return;
    const { here, opened } = this.now;
    if (shown === HERE && here) return this.showAlone(HERE, "finished", here);
    if (shown === OPENED && opened)
      return this.showAlone(OPENED, "recording", opened.run, openedText(opened.name));
    await this.openRecording(shown);
  }
  private async openRecording(name: string) {
    const { host } = this.shell;
    const recording = host.about.recordings.find((candidate) => candidate.name === name);
    if (!recording) return;
    const snapshot = await host.recording(name);
    if (this.pending === name) this.showAlone(name, "recording", snapshot, recording.blurb);
  }
  /** Open a trace file of the visitor. */
  async take(file: File) {
    const { host } = this.shell;
    this.refuseWhileBusy();
    if (!host.open)
      throw new Error(
        "opening a trace needs Python, which this page does not have: hsd.dashboard('FILE')",
      );
    await this.adopt(file.name, await host.open(await read(file)));
  }
  /** Show a run that is not listed, under this name. Throws during a decode. */
  async adopt(name: string, run: Snapshot) {
    this.refuseWhileBusy();
    this.set({ opened: { name, run }, shown: "" });
    await this.open(OPENED);
  }
  /** Show a complete run in place of the one before and of its branches. */
  private showAlone(...run: Parameters<Runs["show"]>) {
    this.set({ branches: [], branch: 0 });
    this.show(...run);
  }
  /**
   * Show a complete run. Fill the form from it unless the visitor has edited the form, or the page
   * lacks the run's models.
   */
  private show(shown: string, kind: pageState.Kind, taken: Snapshot, blurb = "") {
    this.run.adopt(taken);
    const { form, filled } = this.now;
    const isEdited = Object.keys(pageState.changedIn(form, filled)).length > 0;
    const follows = shown !== HERE && this.hasModelsOf(taken);
    const maxTokens = this.shell.host.about.limits.tokens;
    const next = follows ? { ...filled, ...fieldsOf(taken, maxTokens) } : filled;
    const keepsForm = isEdited || shown === HERE;
    this.set({ shown, kind, blurb, filled: next, form: keepsForm ? form : next, trouble: null });
  }
  /** Return whether the host decodes with the models of a run. */
  private hasModelsOf({ meta }: Snapshot) {
    const { family, families = [] } = this.shell.host.about;
    const names = families.map(({ name }) => name);
    return !meta.family || meta.family === family || names.includes(meta.family);
  }

  // --- decoding

  /** Decode a request. `fork`: the run that it continues. */
  async decode(request: DecodeRequest, fork: Fork | null = null) {
    const { host, root } = this.shell;
    if (!host.decode || this.now.busy) return;
    const before = this.replaced();
    if (!fork) this.set({ branches: [], branch: 0 });
    const control = new AbortController();
    this.control = control;
    this.pending = "";
    this.set({ busy: true, trouble: null, stage: { text: "starting" } });
    if (root.offsetWidth <= NARROW) this.set({ drawer: false });
    const { signal } = control;
    try {
      const progress = this.progress(request.max_new_tokens, signal);
      const head = await host.decode(request, progress, signal);
      if (signal.aborted && !this.hasTokens) this.restore(before);
      else this.finish(head, fork);
    } catch (problem) {
      const ended = signal.aborted ? "cancelled" : "failed";
      if (this.hasTokens) this.keepPart(isLost(problem) ? "lost" : ended);
      else this.restore(before);
      // The banner reports a lost host, and a visitor who cancels a run needs no message.
      if (!isLost(problem) && !signal.aborted) throw problem;
    } finally {
      this.control = null;
      this.set({ busy: false, stage: { text: "" } });
    }
  }
  /** Whether the decode in progress has emitted a token. */
  private get hasTokens(): boolean {
    return this.now.kind === "live" && this.run.tokens.length > 0;
  }
  /** Return the run and state that the next decode replaces. */
  private replaced(): ReplacedRun {
    const { shown, kind, blurb, filled, here, branches, branch } = this.now;
    const state = { shown, kind, blurb, filled, here, branches, branch };
    return { run: this.run.snapshot(), state };
  }
  /** Restore what a decode without a token has replaced. */
  private restore({ run, state }: ReplacedRun) {
    this.run.adopt(run);
    this.set(state);
  }
  /** Return the callbacks of a decode. `most`: its maximum number of tokens. */
  private progress(most: number, signal: AbortSignal): Progress {
    const stage: Progress["stage"] = (text, done, total) => {
      if (!signal.aborted) this.set({ stage: { text, done, total } });
    };
    return {
      stage,
      begin: (taken) => {
        this.run.adopt(taken);
        this.set({ shown: HERE, kind: "live", blurb: "", filled: this.now.form, here: null });
      },
      append: (steps) => {
        this.run.receive(steps);
        const done = this.run.tokens.length;
        stage(`decoding ${done}/${most}`, done, most);
      },
    };
  }
  private finish(head: Head, fork: Fork | null) {
    const { run } = this;
    run.adopt(head);
    if (fork) run.meta = { ...run.meta, parent: fork.parent };
    const here = run.tokens.length ? run.snapshot() : null;
    if (here) pageState.keepRun(here);
    this.set({ here, kind: here ? "finished" : "none" });
    if (here && fork) this.addBranch(here, fork);
  }
  /** Save what was decoded before a failure or a cancellation as a run that ended there. */
  private keepPart(stop_reason: "lost" | "failed" | "cancelled") {
    const { prefill_seconds, seconds } = metricsOf(this.run);
    const { run, seq, prompt, promptIds: prompt_ids, levels } = this.run;
    const meta = {
      ...this.run.meta,
      wall_ns: Math.round(1e9 * (prefill_seconds + seconds)),
      cancelled: true,
      stop_reason,
    };
    this.run.adopt({ run, seq, prompt, prompt_ids, levels, meta });
    const here = this.run.snapshot();
    pageState.keepRun(here);
    this.set({ here, kind: "finished" });
  }
  cancel() {
    this.abort();
    this.set({ stage: { text: "cancelling" } });
  }
  /** Cancel the decode without a message, as when the page closes. */
  abort() {
    this.control?.abort();
  }

  // --- branches: continuing a run from one of its positions with another token

  /** Continue the run shown from output position `at`, with `text` in place of its token. */
  branch(at: number, text: string) {
    const root = this.run.snapshot();
    const { limits } = this.shell.host.about;
    const parent = { run: root.run, token: at, text };
    const settings = {
      ...this.now.form,
      ...fieldsOf(root, limits.tokens),
      prompt: prefixOf(this.run, at, text),
    };
    const request = {
      ...pageState.requestOf(settings, limits),
      max_new_tokens: remaining(this.run, at),
      parent,
    };
    return this.decode(request, { root, parent, p: chanceOf(this.run, at, text) });
  }
  private addBranch(run: Snapshot, { root, parent, p }: Fork) {
    const { branches } = this.now;
    const siblings = branches.some((branch) => branch.run.run === root.run)
      ? branches
      : [{ run: root, parent: null, p: null }];
    this.set({ branches: [...siblings, { run, parent, p }], branch: siblings.length });
  }
  chooseBranch(k: number) {
    const chosen = this.now.branches[k];
    if (!chosen || this.now.busy) return;
    this.set({ here: chosen.run, branch: k });
    this.show(HERE, "finished", chosen.run);
  }
}
