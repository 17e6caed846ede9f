// Opens the game over the page. It is the first screen of a newcomer.
import { openGame } from "../game";
import { seedOf } from "../game/score";
import { make } from "../lib/dom";
import type { Snapshot } from "../lib/run_data";
import { saveDrawing } from "../lib/save";
import type { Runs } from "./runs";
import type { Shell } from "./shell";
import { withStorage, YOUR_GAME } from "./state";

const SEEN = "hsd_viz.game";

export class Playing {
  readonly root = make("div", "hsd-stage-game");
  /** Function that ends the game in progress; null: none is in progress. */
  private end: (() => void) | null = null;

  constructor(
    private readonly shell: Shell,
    private readonly runs: Runs,
  ) {}

  /** Whether this browser has not shown the game yet. */
  get isNew() {
    return withStorage(() => localStorage.getItem(SEEN) !== "yes", false);
  }

  /** Play the texts that a seed selects; by default those of today. */
  play(seed = seedOf(new Date())) {
    const { host, store, root } = this.shell;
    const { about } = host;
    if (store.state.busy || !about.games.length) return;
    this.close();
    root.classList.add("hsd-playing");
    this.end = openGame(this.root, {
      palette: about.palette,
      games: about.games,
      plays: about.plays,
      seed,
      recording: host.recording,
      leave: (played) => this.leave(played),
      save: saveDrawing,
      address: this.addressOf(seed),
      alone: true,
      skip: "to_explorer",
      languages: about.languages,
    });
  }
  /** Return the address that opens a game; "": the page has no address that others can open. */
  private addressOf(seed: number) {
    const here = new URL(location.href);
    here.search = `?game=${seed}`;
    here.hash = "";
    return this.shell.address && here.protocol.startsWith("http") ? here.href : "";
  }
  /** Leave the game, and show its run if there is one. */
  private leave(played?: Snapshot) {
    const { root, tried } = this.shell;
    this.close();
    withStorage(() => localStorage.setItem(SEEN, "yes"), undefined);
    if (played) tried(() => this.runs.adopt(YOUR_GAME, played))();
    root.scrollIntoView?.({ block: "start" });
    root.querySelector<HTMLElement>(".hsd-main select")?.focus({ preventScroll: true });
  }
  close() {
    this.end?.();
    this.end = null;
    this.shell.root.classList.remove("hsd-playing");
  }
}
