// Beat the drafter: the visitor writes what comes next, one pass of the model verifies it, and stairs grow beside those of others. The
// first screen of the page. All of it happens on recorded runs: nothing is asked of a model or of the network.
import { html, nothing, render } from "lit-html";
import { live } from "lit-html/directives/live.js";
import { createDarts } from "../darts/stage";
import { onResize } from "../lib/chart";
import { followTheme, make } from "../lib/dom";
import { slider } from "../lib/fields";
import { failure } from "../lib/notice";
import { type PaletteData, paletteOf } from "../lib/palette";
import { type Snapshot, storeOf } from "../lib/run";
import { listed, plural } from "../lib/words";
import { boardOf, struckWords } from "./board";
import { cardOf } from "./card";
import { stairsPicture } from "./picture";
import { begin, copiedWords, type GameText, givenOf, isLast, isOver, next, type Play, playersOf, read } from "./play";
import { type Played, runOf } from "./run";
import { fastestOf, gainOf, type Price, perPass, playOf, priceOf } from "./score";
import { choicesAfter, MOST_WORDS } from "./words";

/** A text of the game as the page knows it: its recordings by the player. */
export interface GameData {
  name: string;
  title: string;
  asked: string;
  given: string;
  lesson: string;
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
  /** Save a drawing. */
  save(name: string, text: string): void;
  /** The address of this game; "": the page has none. */
  address: string;
  /** Whether the whole page is the game's: its field takes the focus. */
  alone: boolean;
  /** The words of the button that leaves it. */
  skip: string;
}
/** "reading" while a glance is shown; "lesson" after a text; the others after the last one. */
type Phase = "write" | "reading" | "lesson" | "result" | "time" | "exact";

/** Milliseconds: the light over the proposal, a verdict, the model's own word, and the axis from glances to time. */
const PACE = { light: 420, verdict: 230, own: 480, morph: 900 };
const TITLES: Record<string, string> = { copying: "Copying", nano: "Tiny model" };
const SOURCES: Record<string, string> = { copying: "suffix", nano: "nano" };
const END = /<\|[^|]*\|>/g;
/** Text of the model as it is shown: its sign for the end is not text. */
const shown = (text: string) => text.replace(END, " ∎").replace(/\n{2,}/g, "\n");
const TAIL = 150;
const AXIS = 230;

async function textsOf({ games, plays, seed, recording }: GameProps): Promise<GameText[]> {
  const chosen = playOf(plays, seed).flatMap((name) => games.filter((game) => game.name === name));
  const texts = chosen.length ? chosen : games.slice(0, 3);
  return Promise.all(
    texts.map(async ({ runs, ...text }) => {
      const names = Object.keys(runs).filter((name) => name !== "plain");
      const others = names.map(async (name) => ({
        name,
        title: TITLES[name] ?? name,
        source: SOURCES[name] ?? name,
        run: storeOf(await recording(runs[name])),
      }));
      return { ...text, plain: storeOf(await recording(runs.plain)), others: await Promise.all(others) };
    }),
  );
}

/** What a glance brought, as a sentence. */
function summaryOf({ accepted, words, fates }: Played, own: string): string {
  const model = shown(own).trim() || "↵";
  if (!words.length) return `The model wrote “${model}” alone: 1 token in one glance.`;
  const right = fates.filter((fate) => fate === "accepted").length;
  const whole = plural(accepted + 1, "token");
  return `${right} of ${plural(words.length, "word")} accepted, and the model added “${model}”: ${whole} in one glance.`;
}

/** Draw the game into an element. Returns a function that ends it. */
export function openGame(el: HTMLElement, props: GameProps): () => void {
  const root = make("section", "hsd-linked hsd-game", "", { "aria-label": "Beat the drafter" });
  const palette = paletteOf(props.palette);
  palette.paint(root);
  el.append(root);
  const plot = make("div", "hsd-gm-plot");
  const dartHost = make("div");
  const darts = createDarts(dartHost);
  const motion = matchMedia("(prefers-reduced-motion: reduce)");
  let play: Play | null = null;
  let price: Price = { one: 1, more: 0 };
  let measured = 0;
  let phase: Phase = "write";
  let draft = "";
  let glance: Played | null = null;
  let morph = 0;
  let said = "";
  let copied = "";
  let timer = 0;
  let frame = 0;
  let closed = false;

  const words = () => draft.split(/\s+/).filter(Boolean).slice(0, MOST_WORDS);
  const field = () => root.querySelector<HTMLInputElement>(".hsd-gm-field");
  const text = () => play?.texts[play.act];
  const go = (to: Phase) => {
    phase = to;
    paint();
  };
  /** Focus what the next key is for. */
  const focus = (selector: string) => root.querySelector<HTMLElement>(selector)?.focus({ preventScroll: true });

  // --- what the visitor does
  function verify() {
    if (!play || phase !== "write") return;
    const proposal = words();
    const outcome = read(play, proposal);
    glance = outcome.glance;
    const before = play;
    draft = "";
    const summary = summaryOf(glance, before.texts[before.act].plain.tokens[glance.own]?.text ?? "");
    said = "";
    const lasts = motion.matches ? 0 : PACE.light + PACE.verdict * proposal.length + PACE.own;
    const settle = () => {
      if (closed) return;
      play = outcome.play;
      glance = null;
      said = summary;
      go(isOver(play) ? "lesson" : "write");
      if (phase === "lesson") focus(".hsd-gm-next");
      else if (props.alone && !matchMedia("(pointer: coarse)").matches) field()?.focus({ preventScroll: true });
    };
    if (!lasts) return settle();
    phase = "reading";
    paint();
    timer = setTimeout(settle, lasts) as unknown as number;
  }
  function onward() {
    if (!play) return;
    if (isLast(play)) {
      said = "";
      go("result");
      return focus(".hsd-gm-time");
    }
    play = next(play);
    said = "";
    go("write");
    if (!matchMedia("(pointer: coarse)").matches) field()?.focus({ preventScroll: true });
  }
  function toTime() {
    phase = "time";
    const began = performance.now();
    const tick = () => {
      morph = motion.matches ? 1 : Math.min(1, (performance.now() - began) / PACE.morph);
      paint();
      if (morph < 1 && !closed) frame = requestAnimationFrame(tick);
    };
    tick();
    focus(".hsd-gm-price input");
  }
  function toExact() {
    const struck = play && struckWords(play)[0];
    if (!play || !struck) return;
    const run = play.texts[struck.act].plain;
    const { board, names } = boardOf(run, struck);
    // The visitor's colour is that of the page.
    const families = board.columns.map(() => null);
    const title = `Where you wrote “${struck.word}”: the model’s probabilities at temperature 1`;
    phase = "exact";
    paint();
    darts.show({ board, names, families, recorded: null, key: title, title });
    dartHost.querySelector<HTMLElement>("button:nth-of-type(2)")?.focus();
  }
  const choose = (word: string) => {
    draft = `${[...words(), word].join(" ")} `;
    paint();
  };
  function explore() {
    if (!play) return props.leave();
    const best = play.glances.reduce((at, all, k) => (all.length > (play?.glances[at].length ?? 0) ? k : at), 0);
    const chosen = play.texts[best];
    if (!play.glances[best].length) return props.leave();
    props.leave(runOf(chosen.plain, givenOf(chosen), play.glances[best], { ...price, more: measured }));
  }
  const coloursOf = (players: ReturnType<typeof playersOf>) =>
    players.map(({ source }, k) => (k ? props.palette.hues[palette.family(source)]?.light : "#2b3a55"));
  function share() {
    if (!play) return;
    const players = playersOf(play);
    props.save(
      "beat-the-drafter.svg",
      cardOf(players, price, coloursOf(players), props.address || "hsd_viz: beat the drafter"),
    );
  }
  async function copyLink() {
    try {
      await navigator.clipboard.writeText(props.address);
      copied = "Copied.";
    } catch {
      copied = props.address;
    }
    paint();
  }
  function again() {
    if (!play) return;
    play = begin(play.texts);
    morph = 0;
    said = "";
    darts.show(null);
    go("write");
    field()?.focus({ preventScroll: true });
  }
  const keydown = (e: KeyboardEvent) => {
    if (e.key === "Escape" && props.alone) props.leave();
    const choices = [...root.querySelectorAll<HTMLElement>(".hsd-gm-choice")];
    const at = Number(e.key) - 1;
    // Numbers of a list are filled in, so that digits are free to choose.
    if (phase !== "write" || !choices[at] || e.ctrlKey || e.metaKey || e.altKey) return;
    e.preventDefault();
    choices[at].click();
  };
  root.addEventListener("keydown", keydown);

  // --- drawing
  function line(now: Play, of: GameText) {
    const { tokens } = of.plain;
    const given = givenOf(of);
    const mine = new Set(
      now.glances[now.act].flatMap(({ at, own }) => Array.from({ length: own - at }, (_, k) => at + k)),
    );
    const from = tokens.slice(0, now.at).reduce((sum, { text }) => sum + text.length, 0) - TAIL;
    let length = 0;
    const parts = tokens.slice(0, now.at).map(({ text }, k) => {
      length += text.length;
      if (length < from) return nothing;
      if (k < given) return html`<span>${shown(text)}</span>`;
      // A mark begins with the word, not with the blank before it; neighbours of one kind are one mark.
      const words = shown(text);
      const joins = k > given && mine.has(k) === mine.has(k - 1);
      const blank = joins ? "" : (/^\s+/.exec(words)?.[0] ?? "");
      return html`${blank}<span class=${mine.has(k) ? "hsd-gm-mine" : "hsd-gm-own"}>${words.slice(blank.length)}</span>`;
    });
    const proposal = glance ? glance.words : words();
    const own = glance ? shown(tokens[glance.own]?.text ?? "").trim() : "";
    const chips = proposal.map(
      (word, k) =>
        html`<span class="hsd-gm-word" data-fate=${glance?.fates[k] ?? nothing} .style=${`--k: ${k}`}>${word}</span>`,
    );
    const last = glance
      ? html`<span class="hsd-gm-word hsd-gm-drop" .style=${`--k: ${proposal.length}`}>${own || "↵"}</span>`
      : html`<span class="hsd-gm-caret" aria-hidden="true"></span>`;
    return html`<p class="hsd-gm-line">${from > 0 ? "… " : nothing}${parts}</p>
      <p class="hsd-gm-words" aria-hidden="true">${chips}${last}</p>`;
  }
  function writing(now: Play, of: GameText) {
    const busy = phase === "reading";
    const choices = busy ? [] : choicesAfter(of.plain.tokens, of.plain.pieces, now.at, words());
    const copy = busy || words().length ? [] : copiedWords(now);
    const number = now.glances[now.act].length;
    return html`<form class="hsd-gm-form" @submit=${(e: Event) => {
      e.preventDefault();
      verify();
    }}><input class="hsd-gm-field" name="next" autocomplete="off" autocapitalize="off" spellcheck="false" enterkeyhint="go" maxlength="120"
        aria-label="Write what comes next" placeholder="write the next words" ?readonly=${busy} .value=${live(draft)}
        @input=${(e: { target: HTMLInputElement }) => {
          draft = e.target.value;
          paint();
        }}><button class="hsd-primary hsd-gm-go" ?disabled=${busy}>${words().length ? "Let the model read it" : "Let the model write"}</button></form>
      <div class="hsd-gm-choices" role="group" aria-label="Or choose">${choices.map(
        (word, k) =>
          html`<button type="button" class="hsd-gm-choice" ?disabled=${words().length >= MOST_WORDS} @click=${() => choose(word)}><kbd>${k + 1}</kbd>${word}</button>`,
      )}${
        copy.length > 2
          ? html`<button type="button" class="hsd-gm-copy" @click=${() => {
              draft = `${copy.join(" ")} `;
              paint();
              field()?.focus({ preventScroll: true });
            }}>Copy ${copy.length} words from above</button>`
          : nothing
      }</div>
      <p class="hsd-gm-said" role="status">${said || (number ? nothing : "Commas, numbers and line breaks are filled in. Write several words: a wrong one costs nothing but the words after it.")}</p>`;
  }
  function score(now: Play) {
    const players = playersOf(now);
    return listed(players.map(({ name, passes }) => `${name.toLowerCase()} ${perPass(passes).toFixed(1)}`));
  }
  function verdict(now: Play) {
    const players = playersOf(now);
    const best = fastestOf(players, price);
    const fewest = players.reduce((most, one) => (perPass(one.passes) > perPass(most.passes) ? one : most));
    const gain = (passes: (typeof best)["passes"]) => `${gainOf(passes, price).toFixed(2)} ×`;
    const wide = Math.max(...fewest.passes.map(({ width }) => width));
    const cost = (1 + price.more * (wide - 1)).toFixed(1);
    const times = listed(players.slice(0, -1).map(({ name, passes }) => `${name} ${gain(passes)}`));
    const other =
      best.name === fewest.name
        ? ""
        : ` Fewer glances are not faster: ${fewest.name} needed the fewest, and a glance over ${wide} tokens costs as much as ${cost} over one.`;
    return `Fastest: ${best.name}. Beside the model alone: ${times}.${other}`;
  }
  function results(now: Play) {
    const timed = phase === "time" || phase === "exact";
    const struck = struckWords(now).length > 0;
    const { meta } = now.texts[0].plain;
    const here = `${(100 * price.more).toFixed(0)} % of a pass`;
    const isMeasured = Math.abs(price.more - measured) < 0.005;
    return html`${
      timed
        ? html`<p class="hsd-gm-verdict" role="status">${verdict(now)}</p>
          <label class="hsd-gm-price"><span>Price of one more token in a glance: <strong>${here}</strong>${isMeasured ? ` (measured on ${meta.device_name || "a CPU"})` : ""}</span>${slider(
            0,
            1,
            0.01,
            price.more,
            (more) => {
              price = { ...price, more };
              paint();
            },
          )}<span class="hsd-gm-ends"><span>0: a large GPU with room</span><span>100 %: no gain from reading together</span></span></label>
          ${
            isMeasured
              ? nothing
              : html`<button type="button" @click=${() => {
                  price = { ...price, more: measured };
                  paint();
                }}>As measured</button>`
          }
          <p class="hsd-note">Passes at medians of recorded ones; drafting as recorded; your own thinking is not counted.</p>`
        : html`<p class="hsd-gm-big hsd-number"><strong>${perPass(playersOf(now)[0].passes).toFixed(1)}</strong> tokens per glance</p>
          <p class="hsd-gm-verdict" role="status">In as many glances: ${score(now)}.</p>
          <p class="hsd-note">A glance is one forward pass of the model. A token is a word, a part of one, or a comma.</p>`
    }
      <div class="hsd-gm-buttons">
        ${timed ? nothing : html`<button type="button" class="hsd-primary hsd-gm-time" @click=${toTime}>Now with time</button>`}
        ${phase === "time" && struck ? html`<button type="button" class="hsd-primary hsd-gm-exact" @click=${toExact}>But is it the same text?</button>` : nothing}
        <button type="button" class=${phase === "exact" || (phase === "time" && !struck) ? "hsd-primary hsd-gm-explore" : "hsd-gm-explore"} @click=${explore}>Explore your game</button>
        <button type="button" class="hsd-gm-share" @click=${share}>Save a card</button>
        ${props.address ? html`<button type="button" class="hsd-gm-link" @click=${copyLink}>Copy the link</button>` : nothing}
        <button type="button" @click=${again}>Play again</button>
        <span class="hsd-note" role="status">${copied}</span>
      </div>
      ${phase === "exact" ? html`<h3>But is it the same text?</h3><p>The game was greedy: the model writes its likeliest token. With sampling it draws one, and your word counts only when it draws it. Throw 1 000 darts: the pile becomes the model’s own p, for any proposal. With the lossy rule it does not.</p>` : nothing}
      ${dartHost}`;
  }
  function paint() {
    const now = play;
    const of = text();
    if (!now || !of) return;
    root.dataset.phase = phase;
    const playing = phase === "write" || phase === "reading" || phase === "lesson";
    const counted = glance ? { ...now, glances: now.glances } : now;
    const players = playersOf(counted);
    const width = Math.max(260, plot.clientWidth || root.clientWidth - 32 || 640);
    const begun = players[0].passes.length > 0;
    if (begun)
      render(
        stairsPicture({ players, price, width, height: playing ? AXIS : 1.35 * AXIS, morph, family: palette.family }),
        plot,
      );
    else render(nothing, plot);
    render(
      html`<header class="hsd-gm-head"><h2>Beat the drafter</h2>
          <span class="hsd-note hsd-number">${playing ? `Text ${now.act + 1} of ${now.texts.length}` : "Your stairs"}</span>
          <button type="button" class="hsd-gm-skip" title=${props.alone ? "Escape" : nothing} @click=${() => props.leave()}>${props.skip}</button></header>
        ${
          playing
            ? html`<p class="hsd-gm-asked">A language model was asked: <q>${of.asked}</q><br>Alone it writes one token per glance. <strong>Write what it writes next:</strong> it checks all your words in one.</p>
              ${line(now, of)}
              ${
                phase === "lesson"
                  ? html`<p class="hsd-gm-said" role="status">${said}</p><p class="hsd-gm-lesson">${of.lesson}</p>
                    <div class="hsd-gm-buttons"><button type="button" class="hsd-primary hsd-gm-next" @click=${onward}>${isLast(now) ? "See the stairs" : "Next text"}</button></div>`
                  : writing(now, of)
              }`
            : html`<p class="hsd-gm-asked">${
                morph
                  ? "The same stairs over time."
                  : "A stair for each: a tread is a glance of the model, a riser what it brought."
              }</p>`
        }
        ${plot}
        ${playing ? nothing : results(now)}`,
      root,
    );
  }

  // --- life
  const unfollow = followTheme(root, "--backdrop");
  const unwatch = onResize(root, paint);
  textsOf(props).then(
    (texts) => {
      if (closed) return;
      if (!texts.length) return props.leave();
      price = priceOf(texts.flatMap(({ plain, others }) => [plain, ...others.map(({ run }) => run)]));
      measured = price.more;
      play = begin(texts);
      paint();
      if (props.alone && !matchMedia("(pointer: coarse)").matches) field()?.focus({ preventScroll: true });
    },
    (error) => root.append(failure(error, "The game cannot start")),
  );
  return () => {
    closed = true;
    clearTimeout(timer);
    cancelAnimationFrame(frame);
    unwatch();
    unfollow();
    root.remove();
  };
}
