// Beat the drafter: the visitor writes what comes next, one pass of the model verifies it, and
// stairs grow beside those of others. The first screen of the page. All of it happens on recorded
// runs: nothing is asked of a model or of the network.
import { html, nothing, render } from "lit-html";
import { createDarts } from "../darts/stage";
import { onResize } from "../lib/chart";
import { followTheme, make } from "../lib/dom";
import { failure } from "../lib/notice";
import { type PaletteData, paletteOf } from "../lib/palette";
import { storeOf } from "../lib/run";
import type { Snapshot } from "../lib/run_data";
import { type Actions, type Look, stringsOf } from "./actions";
import { boardOf, struckWords } from "./board";
import { cardOf } from "./card";
import { stairsPicture } from "./picture";
import { type GameText, playersOf } from "./play";
import { playing } from "./playing";
import { answerTo, certaintySlider, guesses, questionLead, results } from "./results";
import { playOf } from "./score";
import { COPYING, named } from "./sentences";
import { stairsOf } from "./stairs";
import {
  addWord,
  advance,
  type Game,
  type Guess,
  isPlaying,
  propose,
  restart,
  runOfGame,
  setCertainty,
  setGuess,
  setNote,
  setPrice,
  settle,
  showDarts,
  showTime,
  start,
  turnStairs,
  write,
} from "./state";
import { IN_ENGLISH, type Language, languageOf, type Strings } from "./strings";

/** A text of the game as the page knows it: its recordings by the player. */
export interface GameData {
  name: string;
  title: string;
  asked: string;
  given: string;
  lesson: string;
  /** The passes at it. */
  passes: number;
  runs: Record<string, string>;
}
export interface GameProps {
  palette: PaletteData;
  games: readonly GameData[];
  plays: readonly string[][];
  /** The texts: those of this seed. */
  seed: number;
  recording(name: string): Promise<Snapshot>;
  /** Leave the game; with a run, show it. */
  leave(run?: Snapshot): void;
  /** Continue below the game with its run, where the page does; else `leave` is the next step. */
  goOn?(run: Snapshot): void;
  /** Save a drawing. */
  save(name: string, text: string): void;
  /** The address of this game; "": the page has none. */
  address: string;
  /** Whether the whole page is the game's: its field takes the focus. */
  alone: boolean;
  /**
   * Which of the texts is on the button that leaves it; null: it is a part of a page, which has
   * its own title and no explorer.
   */
  skip: "to_explorer" | "to_article" | "restart" | null;
  /** The languages beside English, by their tags. */
  languages: Readonly<Record<string, Language>>;
}

/**
 * Milliseconds, as in pass.css: the light over the words, the verdicts on all of them, with the
 * fall of a rejected one, and the model's own word; and the title of the axis of time, before the
 * stairs turn to it.
 */
const PACE = { light: 650, verdicts: 450, fall: 1100, own: 700, title: 600, morph: 900 };
/** Copying has the colour of the database of the text so far. */
const SOURCES: Record<string, string> = { copying: COPYING, nano: "nano" };
/** The visitor's colour on a card, as in style.css. */
const YOURS = "#c2185b";
/** An address that no other person can open. */
const LOCAL = /^\w+:\/\/(localhost|127\.|0\.|\[)/;
/** Texts of a game where the seed has none. */
const USUAL_TEXTS = 3;
/** Pixels: the width of the stairs where the page has none yet. */
const USUAL_WIDTH = 640;

async function textOf(game: GameData, recording: GameProps["recording"]): Promise<GameText> {
  const { runs, ...text } = game;
  const names = Object.keys(runs).filter((name) => name !== "plain");
  const others = names.map(async (name) => ({
    name,
    source: SOURCES[name] ?? name,
    run: storeOf(await recording(runs[name])),
  }));
  return {
    ...text,
    plain: storeOf(await recording(runs.plain)),
    others: await Promise.all(others),
  };
}
async function textsOf({ games, plays, seed, recording }: GameProps): Promise<GameText[]> {
  const chosen = playOf(plays, seed).flatMap((name) => games.filter((game) => game.name === name));
  const texts = chosen.length ? chosen : games.slice(0, USUAL_TEXTS);
  return Promise.all(texts.map((text) => textOf(text, recording)));
}

/** Whether the field opens a keyboard over the page when it takes the focus. */
const hasTouch = () => matchMedia("(pointer: coarse)").matches;
const prefersStill = () => matchMedia("(prefers-reduced-motion: reduce)").matches;

/** A game in its element: the one place that holds its state, its timers and its listeners. */
class GameView {
  private readonly root = make("section", "hsd-linked hsd-game");
  private readonly plot = make("div", "hsd-gm-plot");
  private readonly dartHost = make("div");
  private readonly darts = createDarts(this.dartHost);
  private readonly look: Look;
  /** Null until the texts are loaded; then {@link card} shows why there are none. */
  private game: Game | null = null;
  private card: HTMLElement | null = null;
  private timer = 0;
  private frame = 0;
  private isClosed = false;
  private readonly cleanups: (() => void)[];

  constructor(
    private readonly el: HTMLElement,
    private readonly props: GameProps,
  ) {
    const palette = paletteOf(props.palette);
    palette.paint(this.root);
    this.look = {
      tag: languageOf(navigator.languages, props.languages),
      languages: { en: IN_ENGLISH, ...props.languages },
      family: palette.family,
    };
    this.root.addEventListener("keydown", (event) => this.onKey(event));
    this.cleanups = [
      onResize(this.root, () => this.paint()),
      () => clearTimeout(this.timer),
      () => cancelAnimationFrame(this.frame),
    ];
    // While the game hides the page, the way out is there from the first.
    if (props.alone) this.attach();
    textsOf(props).then(
      (texts) => this.begin(texts),
      (error) => this.fail(error),
    );
  }

  close() {
    this.isClosed = true;
    for (const clean of this.cleanups) clean();
    this.root.remove();
  }

  // --- what the visitor does
  private readonly actions: Actions = {
    write: (draft) => this.change((game) => write(game, draft)),
    choose: (word) => this.change((game) => addWord(game, word)),
    copy: (words) => {
      this.change((game) => write(game, `${words.join(" ")} `));
      this.focus(".hsd-gm-field");
    },
    read: () => this.read(),
    advance: () => this.advance(),
    showTime: () => this.showTime(),
    showDarts: () => this.showDarts(),
    setPrice: (more) => this.change((game) => setPrice(game, more)),
    guess: (guess) => this.guess(guess),
    setCertainty: (certainty) => {
      this.change((game) => setCertainty(game, certainty));
      this.showBoard();
    },
    goOn: () => {
      const run = this.game && runOfGame(this.game);
      if (run) this.props.goOn?.(run);
    },
    explore: () => this.props.leave(this.game ? runOfGame(this.game) : undefined),
    saveCard: () => this.saveCard(),
    copyLink: () => this.copyLink(),
    restart: () => {
      cancelAnimationFrame(this.frame);
      this.darts.show(null);
      this.change(restart);
      this.focus(".hsd-gm-field");
    },
    setLanguage: (tag) => {
      this.look.tag = tag;
      if (this.game?.phase === "exact") this.showBoard();
      this.change((game) => setNote(game, ""));
    },
    leave: () => this.props.leave(),
  };

  private begin(texts: GameText[]) {
    if (this.isClosed) return;
    if (!texts.length) return this.props.leave();
    this.game = start(texts);
    this.attach();
    this.focusField();
  }

  /** Show why there are no texts, beside the way out. */
  private fail(error: unknown) {
    if (this.isClosed) return;
    this.card = failure(error, stringsOf(this.look).cannot_start);
    this.attach();
    if (this.props.alone) this.focus(".hsd-gm-skip");
  }

  /** Draw the game into its element. What was there until now is the page's own. */
  private attach() {
    if (!this.root.parentNode) {
      this.el.replaceChildren(this.root);
      this.cleanups.push(followTheme(this.root, "--backdrop"));
    }
    this.paint();
  }

  /** Let the model read the proposal, with the light over its words. */
  private read() {
    if (this.game?.phase !== "write") return;
    this.change(propose);
    const fates = this.game.reading?.pass.fates ?? [];
    if (prefersStill()) return this.settle();
    const verdicts = fates.includes("struck") ? PACE.fall : PACE.verdicts;
    const lasts = PACE.light + (fates.length ? verdicts : 0) + PACE.own;
    this.timer = setTimeout(() => this.settle(), lasts) as unknown as number;
  }

  private settle() {
    this.change(settle);
    if (this.game?.phase === "lesson") this.focus(".hsd-gm-next");
    else this.focusField();
  }

  private advance() {
    this.change(advance);
    if (this.game?.phase === "result") this.focus(".hsd-gm-time");
    else if (!hasTouch()) this.focus(".hsd-gm-field");
  }

  /** Turn the stairs over passes into those over time: the axis, the stairs, then the figures. */
  private showTime() {
    cancelAnimationFrame(this.frame);
    this.change(showTime);
    const began = performance.now();
    const tick = () => {
      const passed = (performance.now() - began - PACE.title) / PACE.morph;
      const morph = prefersStill() ? 1 : Math.min(1, Math.max(0, passed));
      this.change((game) => turnStairs(game, morph));
      if (morph < 1) this.frame = requestAnimationFrame(tick);
      else this.focus(".hsd-gm-price input");
    };
    tick();
  }

  /** Show the board where the visitor's likeliest rejected word was. */
  private showBoard() {
    const struck = this.game && struckWords(this.game.play)[0];
    if (!this.game || !struck) return;
    const run = this.game.play.texts[struck.act].plain;
    const strings = stringsOf(this.look);
    const { guess, certainty } = this.game;
    const { board, names } = boardOf(run, struck, strings.others, certainty);
    this.darts.setStrings(this.look.languages[this.look.tag].darts);
    this.darts.show({
      board,
      names,
      // The visitor's colour is that of the game.
      families: board.columns.map(() => null),
      recorded: null,
      key: struck.word,
      question: { lead: questionLead(struck, strings), answer: answerTo(guess, strings) },
      controls: guess
        ? certaintySlider(struck.word, certainty, board, strings, this.actions)
        : guesses(strings, this.actions),
      q: certainty,
      isWaiting: !guess,
      isWhole: true,
    });
  }

  /** Answer the visitor's guess by darts. */
  private guess(guess: Guess) {
    this.change((game) => setGuess(game, guess));
    this.showBoard();
    this.darts.answer();
    this.focus(".hsd-dt-form button");
  }

  /** Show the board, to which the visitor throws darts. */
  private showDarts() {
    if (!this.game || !struckWords(this.game.play).length) return;
    this.change(showDarts);
    this.showBoard();
    this.root.scrollIntoView?.({ block: "start" });
    this.focus(".hsd-gm-guesses button");
  }

  private saveCard() {
    if (!this.game) return;
    const { play, price } = this.game;
    const { palette, address, save } = this.props;
    const strings = stringsOf(this.look);
    const players = named(playersOf(play), strings);
    const colours = players.map(({ source }, place) =>
      place ? palette.hues[this.look.family(source)]?.light : YOURS,
    );
    const link = LOCAL.test(address) ? "" : address;
    save("beat-the-drafter.svg", cardOf(players, price, colours, link, strings));
  }

  private async copyLink() {
    const { address } = this.props;
    let note = stringsOf(this.look).copied;
    try {
      await navigator.clipboard.writeText(address);
    } catch {
      note = address;
    }
    this.change((game) => setNote(game, note));
  }

  private onKey(event: KeyboardEvent) {
    // The keys of an input method choose its characters.
    if (event.isComposing) return;
    if (event.key === "Escape" && this.props.alone) this.props.leave();
    if (this.game?.phase !== "write" || event.ctrlKey || event.metaKey || event.altKey) return;
    // Numbers of a list are filled in, so that digits are free to choose.
    const choices = this.root.querySelectorAll<HTMLElement>(".hsd-gm-choice");
    const choice = choices[Number(event.key) - 1];
    if (!choice) return;
    event.preventDefault();
    choice.click();
  }

  // --- what is shown
  private change(step: (game: Game) => Game) {
    this.game = this.game && step(this.game);
    this.paint();
  }

  /** Focus the field of a game that has the page for itself. */
  private focusField() {
    if (this.props.alone && !hasTouch()) this.focus(".hsd-gm-field");
  }

  /** Focus what the next key is for. */
  private focus(selector: string) {
    this.root.querySelector<HTMLElement>(selector)?.focus({ preventScroll: true });
  }

  private paint() {
    const { game, look, root } = this;
    const { skip } = this.props;
    const strings = stringsOf(look);
    root.dataset.phase = game?.phase ?? "";
    root.lang = look.tag;
    root.setAttribute("aria-label", strings.title);
    const page = game ? this.page(game, strings) : this.card;
    render(html`${skip ? this.header(skip) : nothing} ${page}`, root);
  }

  /** The text that is played, or the results. */
  private page(game: Game, strings: Strings) {
    const { look, actions, root, plot } = this;
    const room = plot.clientWidth || root.clientWidth || USUAL_WIDTH;
    if (!isPlaying(game)) render(stairsPicture(stairsOf(game, room, strings, look.family)), plot);
    const { address, skip } = this.props;
    const places = {
      stairs: plot,
      darts: this.dartHost,
      hasLink: Boolean(address),
      hasExplorer: skip !== null,
      hasMore: Boolean(this.props.goOn),
    };
    return isPlaying(game) ? playing(game, look, actions) : results(game, look, actions, places);
  }

  /** The title, the other languages, and the way out. */
  private header(skip: NonNullable<GameProps["skip"]>) {
    const { look, actions } = this;
    const strings = stringsOf(look);
    const others = Object.keys(look.languages).filter((tag) => tag !== look.tag);
    const leave = strings[skip];
    // It is short where there is no room.
    const brief = skip === "restart" ? leave : strings.skip;
    const language = (tag: string) =>
      html`<button
        type="button"
        class="hsd-gm-language"
        lang=${tag}
        @click=${() => actions.setLanguage(tag)}
      >
        ${look.languages[tag].name}
      </button>`;
    return html`<header class="hsd-gm-head">
      <h2>${strings.title}</h2>
      ${others.map(language)}
      <button type="button" class="hsd-gm-skip" aria-label=${leave} @click=${actions.leave}>
        <span class="hsd-gm-wide">${leave}</span><span class="hsd-gm-narrow">${brief}</span>
      </button>
    </header>`;
  }
}

/** Draw the game into an element. Returns a function that ends it. */
export function openGame(el: HTMLElement, props: GameProps): () => void {
  const view = new GameView(el, props);
  return () => view.close();
}
