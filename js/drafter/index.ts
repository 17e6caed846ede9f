// The view "You are the drafter": the visitor proposes the next tokens of a text, and the target
// verifies them (game.ts). The target is that of a recorded run or, on a page that decodes, a real
// one after any prompt.
import { render } from "lit-html";
import { make } from "../lib/dom";
import { linkedWidget, type View } from "../lib/linked";
import { troubleOf } from "../lib/notice";
import type { Change, Store } from "../lib/run";
import { type DrafterActions, pageTemplate } from "./drawing";
import { MOST } from "./game";
import { racePicture, raceWords } from "./picture";
import {
  addRacer,
  check,
  fail,
  fresh,
  type Game,
  goLive,
  playersOf,
  proceed,
  propose,
  type Racer,
  textOf,
  undo,
  wait,
} from "./state";

interface Traits {
  /** Other recorded runs of the same prompt. */
  others: Racer[];
  /** Decode a stack after a text ("": the form's prompt); null: the page cannot decode. */
  live?: ((prompt: string, stack: string, tokens: number) => Promise<Store>) | null;
}
/** Stacks that play against the visitor in a live game, and their number of tokens. */
const RACERS = ["db > target", "nano:4 > target"];
const RACER_TOKENS = 48;
/** Number of target tokens that are decoded to verify a proposal. */
const AHEAD = MOST + 2;
const USUAL_WIDTH = 520;

const racerOf = (name: string, run: Store): Racer => ({
  name,
  counts: run.index().rounds.map((round) => round.count),
});

/** The view: its game and its elements. */
class DrafterView {
  private readonly plot = make("div", "hsd-df-plot");
  private game: Game;
  /** Number of the current game. Results of decodes for an earlier game are dropped. */
  private turn = 0;
  /** Id of the run that is shown. */
  private run: string;

  constructor(private readonly view: View<Traits>) {
    const { root, store } = view;
    root.classList.add("hsd-drafter");
    this.game = fresh(store);
    this.run = store.run;
    view.follow((what) => this.onStore(what));
    view.on("change:others", () => this.paint());
    view.resized(this.plot, () => this.paint());
    this.paint();
  }

  private onStore(what: Change) {
    const { store } = this.view;
    const isOther = what === "reset" && store.run !== this.run;
    this.run = store.run;
    if (isOther && this.game.source === "recorded") this.game = fresh(store);
    this.paint();
  }

  // --- actions
  private readonly acts: DrafterActions = {
    add: (part) => this.set(propose(this.game, part)),
    undo: () => this.set(undo(this.game)),
    verify: () => void this.verify(),
    restart: () => {
      this.turn += 1;
      this.game = fresh(this.view.store);
      this.view.group.release();
      this.paint();
    },
    begin: () => void this.begin(),
  };

  private get live() {
    return this.view.model.get("live") ?? null;
  }

  /** Start a live game on the prompt of the form. The target's first tokens provide the choices. */
  private async begin() {
    const decode = this.live;
    if (!decode) return;
    this.turn += 1;
    const { turn } = this;
    this.set(wait(fresh(this.view.store)));
    try {
      const run = await decode("", "target", AHEAD);
      if (turn !== this.turn) return;
      this.set(goLive(this.game, run));
      for (const name of RACERS) {
        const racer = racerOf(name, await decode(run.prompt, name, RACER_TOKENS));
        if (turn !== this.turn) return;
        this.set(addRacer(this.game, racer));
      }
    } catch (error) {
      if (turn === this.turn) this.fail(error);
    }
  }

  /** Verify the proposal. In a live game, decode the target's next tokens first. */
  private async verify() {
    const { source } = this.game;
    const { turn } = this;
    const decode = source === "live" ? this.live : null;
    if (decode) {
      const text = textOf(this.game);
      this.set(wait(this.game));
      try {
        const run = await decode(text, "target", AHEAD);
        // Another game has started in the meantime.
        if (turn !== this.turn) return;
        this.set(proceed(this.game, run));
      } catch (error) {
        if (turn === this.turn) this.fail(error);
        return;
      }
    }
    this.set(check(this.game));
    // Move the cursor of the text above to this position.
    const { group, store } = this.view;
    if (source === "recorded") group.scrub(store.index().stepOf[this.game.at - 1] ?? 0);
  }

  private fail(error: unknown) {
    this.set(fail(this.game, troubleOf(error).message));
  }

  // --- drawing
  private set(game: Game) {
    this.game = game;
    this.paint();
  }

  /** Return the recorded runs of the prompt, this one last. */
  private recorded(): Racer[] {
    const { model, store } = this.view;
    const { stack } = store.meta;
    const otherRuns = (model.get("others") ?? []).filter(({ name }) => name !== stack);
    return [...otherRuns, racerOf(stack || "this run", store)];
  }

  private paint() {
    const { root, store } = this.view;
    root.hidden = !store.tokens.length;
    if (root.hidden) return;
    const players = playersOf(this.game, this.recorded());
    render(racePicture(players, this.plot.clientWidth || USUAL_WIDTH), this.plot);
    const pageState = {
      plot: this.plot,
      words: raceWords(players),
      hasLive: this.live !== null,
    };
    render(pageTemplate(this.game, this.acts, pageState), root);
  }
}

export default linkedWidget<Traits>((view) => void new DrafterView(view));
