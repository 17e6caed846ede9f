// Beat the drafter: the visitor writes what comes next, one pass of the model verifies it, and
// stairs grow beside those of others. The first screen of the page. All of it happens on recorded
// runs: nothing is asked of a model or of the network.
import { html, nothing, render } from "lit-html";
import { live } from "lit-html/directives/live.js";
import { createDarts } from "../darts/stage";
import { onResize } from "../lib/chart";
import { followTheme, make } from "../lib/dom";
import { slider } from "../lib/fields";
import { failure } from "../lib/notice";
import { type PaletteData, paletteOf } from "../lib/palette";
import { type Snapshot, storeOf } from "../lib/run";
import { boardOf, struckWords } from "./board";
import { cardOf } from "./card";
import { stairsPicture } from "./picture";
import {
  aheadOf,
  begin,
  copiedWords,
  type GameText,
  givenOf,
  isLast,
  isOver,
  MOST_GLANCES,
  next,
  onText,
  type Play,
  playersOf,
  read,
} from "./play";
import { type Played, runOf } from "./run";
import { IN_ENGLISH, type Language, languageOf, type Says, say, together } from "./says";
import {
  gainOf,
  type Player,
  type Price,
  perPass,
  playOf,
  priceOf,
  ranked,
  tokensOf,
} from "./score";
import { bare, choicesAfter, MOST_WORDS, partsOf } from "./words";

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
  /** Which of the texts is on the button that leaves it. */
  skip: "to_explorer" | "to_article" | "restart";
  /** The languages beside English, by their tags. */
  languages: Readonly<Record<string, Language>>;
}
/** "reading" while a glance is shown; "lesson" after a text; the others after the last one. */
type Phase = "write" | "reading" | "lesson" | "result" | "time" | "exact";

/**
 * Milliseconds: the light over the proposal, a verdict, the model's own word, and the axis from
 * glances to time.
 */
const PACE = { light: 420, verdict: 230, own: 480, morph: 900 };
/** Copying is what the context database does: it has its colour. */
const SOURCES: Record<string, string> = { copying: "context", nano: "nano" };
/** The visitor's colour on a card, as in style.css. */
const YOURS = "#c2185b";
/** Darts that are thrown without being asked for. */
const DARTS = 100;
const END = /<\|[^|]*\|>/g;
/** Text of the model as it is shown: its sign for the end is not text. */
const shown = (text: string) => text.replace(END, " ∎").replace(/\n{2,}/g, "\n");
const TAIL = 150;
/** Pixels: the height of the stairs, and the width of a narrow page. */
const AXIS = { wide: 248, narrow: 206 };
const NARROW = 480;

async function textsOf({ games, plays, seed, recording }: GameProps): Promise<GameText[]> {
  const chosen = playOf(plays, seed).flatMap((name) => games.filter((game) => game.name === name));
  const texts = chosen.length ? chosen : games.slice(0, 3);
  return Promise.all(
    texts.map(async ({ runs, ...text }) => {
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
    }),
  );
}

/** The word that the model did not accept in a glance, if any. */
const struckOf = ({ words, fates }: Played): string | undefined => words[fates.indexOf("struck")];

/** What a glance brought, as a sum of the tokens that the recorded run has there. */
function summaryOf(glance: Played, { tokens }: GameText["plain"], says: Says): string {
  const { at, own, accepted, words } = glance;
  const model = shown(tokens[own]?.text ?? "").trim() || "↵";
  if (!words.length) return say(says.wrote_alone, { model });
  const parts = partsOf(tokens, at, glance);
  const terms = [
    [says.sum_words, parts.words],
    [says.sum_pieces, parts.pieces],
    [says.sum_commas, parts.commas],
    [says.sum_marks, parts.marks],
  ] as const;
  const counted = terms
    .filter(([, count]) => count > 0)
    .map(([term, count]) => say(term, { count }));
  const word = struckOf(glance);
  return say(says.outcome, {
    right: parts.words,
    words: words.length,
    rejected: word ? say(says.rejected, { word }) : "",
    sum: [...counted, say(says.sum_own, { model })].join(" + "),
    tokens: accepted + 1,
  });
}

/** Draw the game into an element. Returns a function that ends it. */
export function openGame(el: HTMLElement, props: GameProps): () => void {
  const root = make("section", "hsd-linked hsd-game");
  const languages: Record<string, Language> = { en: IN_ENGLISH, ...props.languages };
  let tag = languageOf(navigator.languages, props.languages);
  let says = languages[tag].says;
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
  /** Of the glance that was shown last. */
  let shownLast: { glance: Played; run: GameText["plain"] } | null = null;
  let timer = 0;
  let frame = 0;
  let closed = false;

  const words = () => draft.split(/\s+/).filter(bare).slice(0, MOST_WORDS);
  const field = () => root.querySelector<HTMLInputElement>(".hsd-gm-field");
  const text = () => play?.texts[play.act];
  const go = (to: Phase) => {
    phase = to;
    paint();
  };
  /** Focus what the next key is for. */
  const focus = (selector: string) =>
    root.querySelector<HTMLElement>(selector)?.focus({ preventScroll: true });

  // --- what the visitor does
  function verify() {
    if (!play || phase !== "write") return;
    const proposal = words();
    const outcome = read(play, proposal);
    glance = outcome.glance;
    draft = "";
    const { plain } = play.texts[play.act];
    const lastGlance = glance;
    said = "";
    const lasts = motion.matches ? 0 : PACE.light + PACE.verdict * proposal.length + PACE.own;
    const settle = () => {
      if (closed) return;
      play = outcome.play;
      glance = null;
      shownLast = { glance: lastGlance, run: plain };
      said = summaryOf(lastGlance, plain, says);
      go(isOver(play) ? "lesson" : "write");
      if (phase === "lesson") focus(".hsd-gm-next");
      else if (props.alone && !matchMedia("(pointer: coarse)").matches)
        field()?.focus({ preventScroll: true });
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
    shownLast = null;
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
    // The visitor's colour is that of the game.
    const families = board.columns.map(() => null);
    const title = say(says.board, { word: struck.word });
    phase = "exact";
    paint();
    darts.show({ board, names, families, recorded: null, key: title, title });
    darts.pour(DARTS);
    focus("h3");
  }
  const choose = (word: string) => {
    draft = `${[...words(), word].join(" ")} `;
    paint();
  };
  function explore() {
    if (!play) return props.leave();
    const best = play.glances.reduce(
      (at, all, k) => (all.length > (play?.glances[at].length ?? 0) ? k : at),
      0,
    );
    const chosen = play.texts[best];
    if (!play.glances[best].length) return props.leave();
    props.leave(
      runOf(chosen.plain, givenOf(chosen), play.glances[best], { ...price, more: measured }),
    );
  }
  const coloursOf = (players: ReturnType<typeof playersOf>) =>
    players.map(({ source }, k) => (k ? props.palette.hues[palette.family(source)]?.light : YOURS));
  function share() {
    if (!play) return;
    const all = players(play);
    props.save(
      "beat-the-drafter.svg",
      cardOf(all, price, coloursOf(all), props.address || `hsd_viz: ${says.title}`, says),
    );
  }
  async function copyLink() {
    try {
      await navigator.clipboard.writeText(props.address);
      copied = says.copied;
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
    shownLast = null;
    darts.show(null);
    go("write");
    field()?.focus({ preventScroll: true });
  }
  /** Say everything in another language. */
  function speak(other: string) {
    tag = other;
    says = languages[tag].says;
    if (said && shownLast) said = summaryOf(shownLast.glance, shownLast.run, says);
    copied = "";
    paint();
  }
  const lessonOf = ({ name, lesson }: GameText) => languages[tag].lessons[name] ?? lesson;
  const named = (all: Player[]) =>
    all.map((player) => ({ ...player, name: says[player.name as keyof Says] ?? player.name }));
  const players = (now: Play) => named(playersOf(now));
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
      now.glances[now.act].flatMap(({ at, own }) =>
        Array.from({ length: own - at }, (_, k) => at + k),
      ),
    );
    const from = tokens.slice(0, now.at).reduce((sum, { text }) => sum + text.length, 0) - TAIL;
    let length = 0;
    /**
     * A rejected word remains before the token that the model wrote instead, until the next glance
     * is over.
     */
    const struck = shownLast && struckOf(shownLast.glance);
    const struckAt = struck ? shownLast?.glance.own : undefined;
    const parts = tokens.slice(0, now.at).map(({ text }, k) => {
      length += text.length;
      if (length < from) return nothing;
      if (k < given) return html`<span>${shown(text)}</span>`;
      // A mark begins with the word, not with the blank before it; neighbours of one kind are one
      // mark.
      const words = shown(text);
      const joins = k > given && k !== struckAt && mine.has(k) === mine.has(k - 1);
      const blank = joins ? "" : (/^\s+/.exec(words)?.[0] ?? "");
      const trace =
        k === struckAt
          ? html`${blank ? nothing : " "}<s class="hsd-gm-struck">${struck}</s>&nbsp;→ `
          : nothing;
      return html`${blank}${trace}<span class=${mine.has(k) ? "hsd-gm-mine" : "hsd-gm-own"}
          >${words.slice(blank.length)}</span
        >`;
    });
    const proposal = glance ? glance.words : words();
    const own = glance ? shown(tokens[glance.own]?.text ?? "").trim() : "";
    const chips = proposal.map(
      (word, k) =>
        html`<span
          class="hsd-gm-word"
          data-fate=${glance?.fates[k] ?? nothing}
          .style=${`--k: ${k}`}
          >${word}</span
        >`,
    );
    const last = glance
      ? html`<span class="hsd-gm-word hsd-gm-drop" .style=${`--k: ${proposal.length}`}
          >${own || "↵"}</span
        >`
      : html`<span class="hsd-gm-caret" aria-hidden="true"></span>`;
    return html`<div class="hsd-gm-sheet">
      <p class="hsd-gm-line" lang="en">
        <span>${from > 0 ? "… " : nothing}${parts}</span>
      </p>
      <p class="hsd-gm-words" aria-hidden="true">${chips}${last}</p>
    </div>`;
  }
  function writing(now: Play, of: GameText) {
    const busy = phase === "reading";
    const choices = busy ? [] : choicesAfter(of.plain.tokens, of.plain.pieces, now.at, words());
    const copy = busy || words().length ? [] : copiedWords(now);
    const number = now.glances[now.act].length;
    return html`<form
        class="hsd-gm-form"
        @submit=${(e: Event) => {
          e.preventDefault();
          verify();
        }}
      >
        <input
          class="hsd-gm-field"
          name="next"
          autocomplete="off"
          autocapitalize="off"
          spellcheck="false"
          enterkeyhint="go"
          maxlength="120"
          aria-label=${says.field}
          placeholder=${says.placeholder}
          ?readonly=${busy}
          .value=${live(draft)}
          @input=${(e: { target: HTMLInputElement }) => {
            draft = e.target.value;
            paint();
          }}
        /><button class="hsd-primary hsd-gm-go" ?disabled=${busy}>
          ${words().length ? says.read : says.write}
        </button>
      </form>
      <div class="hsd-gm-choices" role="group" aria-label=${says.choose}>
        ${
          choices.length
            ? html`<span class="hsd-note" aria-hidden="true">${says.choose}</span>`
            : nothing
        }${choices.map(
          (word, k) =>
            html`<button
              type="button"
              class="hsd-gm-choice"
              ?disabled=${words().length >= MOST_WORDS}
              @click=${() => choose(word)}
            >
              <kbd>${k + 1}</kbd>${word}
            </button>`,
        )}${
          copy.length > 2
            ? html`<button
                type="button"
                class="hsd-gm-copy"
                @click=${() => {
                  draft = `${copy.join(" ")} `;
                  paint();
                  field()?.focus({ preventScroll: true });
                }}
              >
                ${say(says.copy, { words: copy.length })}
              </button>`
            : nothing
        }
      </div>
      <p class="hsd-gm-said" role="status">${said || (number ? nothing : says.hint)}</p>`;
  }
  /** Tokens per glance, the most first. */
  function score(all: Player[]) {
    const order = [...all].sort((a, b) => perPass(b.passes) - perPass(a.passes));
    const lines = order.map(
      ({ name, passes }) => `${name.toLowerCase()} ${perPass(passes).toFixed(1)}`,
    );
    return together(lines, says);
  }
  const bestOf = (others: Player[]) =>
    others.reduce((best, one) => (tokensOf(one.passes) > tokensOf(best.passes) ? one : best));
  /** On the present text: the tokens after as many glances, or what is to be beaten. */
  function standing(now: Play) {
    const [you, ...others] = players(onText(now));
    const glances = you.passes.length;
    const best = bestOf(glances ? others : named(aheadOf(onText(now))));
    const figure = ({ name, passes }: Player) => `${name} ${tokensOf(passes)}`;
    return html`<p class="hsd-gm-goal">
        ${glances ? html`<strong class="hsd-gm-you">${figure(you)}</strong>` : says.to_beat}
        <strong data-family=${palette.family(best.source)}>${figure(best)}</strong>
        ${say(says.in_glances, { glances: best.passes.length })}
      </p>
      <p class="hsd-note hsd-gm-units">${says.units}</p>`;
  }
  /** How a text ended, what would have brought more, its lesson, and the score so far. */
  function ending(now: Play) {
    const here = players(onText(now));
    const [you, ...others] = here;
    const behind = tokensOf(you.passes) < tokensOf(bestOf(others).passes);
    const silent = now.glances[now.act].filter((one) => !one.words.length).length;
    const tip = behind && 2 * silent >= you.passes.length ? `${says.tip_alone} ` : "";
    const soFar = now.act ? say(says.so_far, { score: score(players(now)) }) : "";
    return html`<p class="hsd-gm-verdict">${say(says.on_text, { score: score(here) })}</p>
      <p class="hsd-gm-lesson">${tip}${lessonOf(now.texts[now.act])}</p>
      <p class="hsd-note">${soFar}</p>`;
  }
  function verdict(now: Play) {
    const all = players(now);
    const order = ranked(all, price);
    const fewest = all.reduce((most, one) =>
      perPass(one.passes) > perPass(most.passes) ? one : most,
    );
    const wide = Math.max(...fewest.passes.map(({ width }) => width));
    const cost = (1 + price.more * (wide - 1)).toFixed(1);
    const times = order.map(
      ({ name, passes }) => `${name.toLowerCase()} ${gainOf(passes, price).toFixed(2)} ×`,
    );
    const fastest = say(says.fastest, { times: times.join(says.comma) });
    if (order[0].name === fewest.name) return fastest;
    return `${fastest} ${say(says.fewest, { name: fewest.name, width: wide, cost })}`;
  }
  /** The result in one number, and those of the others. */
  function outcome(now: Play) {
    const timed = phase !== "result";
    const { passes } = playersOf(now)[0];
    const figure = timed ? `${gainOf(passes, price).toFixed(2)} ×` : perPass(passes).toFixed(1);
    return html`<p class="hsd-gm-big hsd-number">
        <strong>${figure}</strong> ${timed ? says.of_alone : says.per_glance}
      </p>
      <p class="hsd-gm-verdict" role="status">
        ${timed ? verdict(now) : say(says.as_many, { score: score(players(now)) })}
      </p>`;
  }
  /** What is next, the first of them as the likeliest: class, words and act of each button. */
  function buttons(now: Play) {
    const all: [string, string, () => void][] = [
      ["hsd-gm-explore", says.explore, explore],
      ["", says.card, share],
      ["", says.again, again],
    ];
    if (props.address) all.push(["", says.link, copyLink]);
    if (phase === "result") all.unshift(["hsd-gm-time", says.with_time, toTime]);
    if (phase === "exact") all.push(["", says.to_times, toTime]);
    if (phase === "time" && struckWords(now).length)
      all.unshift(["hsd-gm-exact", says.same_text, toExact]);
    return all;
  }
  function results(now: Play) {
    const timed = phase === "time";
    const { meta } = now.texts[0].plain;
    const here = say(says.of_a_pass, { share: (100 * price.more).toFixed(0) });
    const isMeasured = Math.abs(price.more - measured) < 0.005;
    return html`${
      timed
        ? html`<label class="hsd-gm-price"
                ><span
                  >${says.price}
                  <strong>${here}</strong
                  >${
                    isMeasured
                      ? ` ${say(says.measured, { device: meta.device_name || says.a_cpu })}`
                      : ""
                  }</span
                >${slider(0, 1, 0.01, price.more, (more) => {
                  price = { ...price, more };
                  paint();
                })}<span class="hsd-gm-ends"
                  ><span>${says.free}</span><span>${says.no_gain}</span></span
                ></label
              >
              ${
                isMeasured
                  ? nothing
                  : html`<button
                      type="button"
                      @click=${() => {
                        price = { ...price, more: measured };
                        paint();
                      }}
                    >
                      ${says.as_measured}
                    </button>`
              }
              <p class="hsd-note">${says.medians}</p>`
        : nothing
    }
      <div class="hsd-gm-buttons">
        ${buttons(now).map(
          ([kind, words, act], k) =>
            html`<button
              type="button"
              class=${k ? kind : `hsd-primary ${kind}`}
              @click=${act}
            >
              ${words}
            </button>`,
        )}
        <span class="hsd-note" role="status">${copied}</span>
      </div>
      <p class="hsd-note">${says.explorer_words}</p>`;
  }
  function paint() {
    const now = play;
    const of = text();
    if (!now || !of) return;
    root.dataset.phase = phase;
    root.lang = tag;
    root.setAttribute("aria-label", says.title);
    const playing = phase === "write" || phase === "reading" || phase === "lesson";
    const stairs = players(now);
    const width = Math.max(260, plot.clientWidth || root.clientWidth - 32 || 640);
    const usual = width < NARROW ? AXIS.narrow : AXIS.wide;
    const height = playing ? usual : 1.35 * usual;
    const ahead = playing && !isOver(now) ? named(aheadOf(now)) : [];
    const goal = playing && phase !== "lesson" ? standing(now) : nothing;
    const used = now.glances[now.act].length;
    const bands = now.glances
      .slice(0, now.act + 1)
      .map((all, k) => (ahead.length && k === now.act ? MOST_GLANCES : all.length));
    render(
      stairsPicture({
        players: stairs,
        ahead,
        price,
        width,
        height,
        morph,
        family: palette.family,
        bands,
        says,
      }),
      plot,
    );
    const spoken = Object.keys(languages).filter((one) => one !== tag);
    render(
      html`<header class="hsd-gm-head">
          <h2>${says.title}</h2>
          <span class="hsd-note hsd-number"
            >${
              playing
                ? html`${say(says.act, {
                    act: now.act + 1,
                    acts: now.texts.length,
                    glances: MOST_GLANCES,
                  })}
                    <span class="hsd-gm-pips" aria-hidden="true"
                      >${"●".repeat(used)}${"○".repeat(MOST_GLANCES - used)}</span
                    >`
                : says.stairs
            }</span
          >
          ${spoken.map(
            (one) =>
              html`<button
                type="button"
                class="hsd-gm-language"
                lang=${one}
                @click=${() => speak(one)}
              >
                ${languages[one].name}
              </button>`,
          )}
          <button type="button" class="hsd-gm-skip" @click=${() => props.leave()}>
            ${says[props.skip]}
          </button>
        </header>
        ${
          playing
            ? html`<p class="hsd-gm-asked">
                  ${says.premise}<br />${says.asked} <q lang="en">${of.asked}</q>
                  <strong>${says.task}</strong>
                </p>
                ${line(now, of)}
                ${
                  phase === "lesson"
                    ? html`<p class="hsd-gm-said" role="status">${said}</p>
                        ${ending(now)}
                        <div class="hsd-gm-buttons">
                          <button type="button" class="hsd-primary hsd-gm-next" @click=${onward}>
                            ${isLast(now) ? says.see_stairs : says.next_text}
                          </button>
                        </div>`
                    : writing(now, of)
                }`
            : phase === "exact"
              ? html`<h3 class="hsd-gm-big" tabindex="-1">${says.same_text}</h3>
                  <p class="hsd-gm-asked">${says.exact}</p>
                  ${dartHost}`
              : html`${outcome(now)}
                  <p class="hsd-gm-asked">
                    ${
                      morph
                        ? say(says.same_stairs, {
                            tokens: Math.max(...stairs.map(({ passes }) => tokensOf(passes))),
                          })
                        : says.legend
                    }
                  </p>`
        }
        ${goal} ${phase === "exact" ? nothing : plot}
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
      price = priceOf(
        texts.flatMap(({ plain, others }) => [plain, ...others.map(({ run }) => run)]),
      );
      measured = price.more;
      play = begin(texts);
      paint();
      if (props.alone && !matchMedia("(pointer: coarse)").matches)
        field()?.focus({ preventScroll: true });
    },
    (error) => root.append(failure(error, says.cannot_start)),
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
