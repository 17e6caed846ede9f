// You are the drafter: the text stops, the visitor proposes the next tokens, the target verifies
// them (game.ts): the recorded one, or on a page that decodes the real one, after any prompt.
import { render } from "lit-html";
import { make } from "../lib/dom";
import { linkedWidget, type View } from "../lib/linked";
import { troubleOf } from "../lib/notice";
import type { Change, Store } from "../lib/run";
import { type Acts, pageTemplate } from "./drawing";
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
  /** Recorded runs of the same prompt. */
  others: Racer[];
  /** Decode a stack after a text ("": the form's prompt); null: this page cannot. */
  live?: ((prompt: string, stack: string, tokens: number) => Promise<Store>) | null;
}
/** Stacks that a live game races, and their tokens. */
const RACERS = ["db > target", "nano:4 > target"];
const RACER_TOKENS = 48;
/** Tokens of the target that a proposal is compared with. */
const AHEAD = MOST + 2;
const USUAL_WIDTH = 520;

const racerOf = (name: string, run: Store): Racer => ({
  name,
  counts: run.index().rounds.map((round) => round.count),
});

/** The view: its game, and its elements. */
class DrafterView {
  private readonly plot = make("div", "hsd-df-plot");
  private game: Game;
  /** Counts games: what is decoded for an earlier one is dropped. */
  private turn = 0;
  /** The run that is shown. */
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

  // --- what the visitor does
  private readonly acts: Acts = {
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

  /** Begin a game on the form's prompt: the target's first tokens are the choices. */
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

  /** Verify the proposal; in a live game by the target's next tokens after the text. */
  private async verify() {
    const { source } = this.game;
    const { turn } = this;
    const decode = source === "live" ? this.live : null;
    if (decode) {
      const text = textOf(this.game);
      this.set(wait(this.game));
      try {
        const run = await decode(text, "target", AHEAD);
        // Another game was begun meanwhile.
        if (turn !== this.turn) return;
        this.set(proceed(this.game, run));
      } catch (error) {
        if (turn === this.turn) this.fail(error);
        return;
      }
    }
    this.set(check(this.game));
    // The text above stops here.
    const { group, store } = this.view;
    if (source === "recorded") group.scrub(store.index().stepOf[this.game.at - 1] ?? 0);
  }

  private fail(error: unknown) {
    this.set(fail(this.game, troubleOf(error).message));
  }

  // --- what is shown
  private set(game: Game) {
    this.game = game;
    this.paint();
  }

  /** The recorded runs of the prompt, this one last. */
  private recorded(): Racer[] {
    const { model, store } = this.view;
    const { stack } = store.meta;
    const others = (model.get("others") ?? []).filter(({ name }) => name !== stack);
    return [...others, racerOf(stack || "this run", store)];
  }

  private paint() {
    const { root, store } = this.view;
    root.hidden = !store.tokens.length;
    if (root.hidden) return;
    const players = playersOf(this.game, this.recorded());
    render(racePicture(players, this.plot.clientWidth || USUAL_WIDTH), this.plot);
    const shown = {
      plot: this.plot,
      words: raceWords(players),
      hasLive: this.live !== null,
    };
    render(pageTemplate(this.game, this.acts, shown), root);
  }
}

export default linkedWidget<Traits>((view) => void new DrafterView(view));
