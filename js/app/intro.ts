// The first ten seconds: two recorded runs of one prompt write their text, plain decoding beside a drafted run; then one rejection of a
// draft model is frozen; then what was gained. Shown once, and again by its button.
import { html, nothing, render } from "lit-html";
import { boardPicture, type Drawn } from "../darts/stage";
import type { Host } from "../host";
import { frameOf } from "../lib/chart";
import { make } from "../lib/dom";
import { paletteOf } from "../lib/palette";
import { type Store, storeOf } from "../lib/run";
import type { Draft, Token } from "../lib/tables";
import { unique } from "../lib/widget";
import { capital, duration, figure, glyphs, plural } from "../lib/words";
import { boardOfRound } from "../scene/board";
import { drawStairs } from "../staircase/drawing";
import { stairsOf } from "../staircase/stairs";
import { passesAt, runnerOf, shownAt } from "../versus/race";
import { kept } from "./state";

const STORY = "A model writes one token per pass. A drafter guesses several, and one pass verifies them.";
const SEEN = "hsd_viz.intro";
/** Milliseconds until the texts are written, and of the whole. */
const [WRITTEN, WHOLE] = [6000, 9500];
const SIZE = { width: 420, height: 190, left: 8, right: 8, top: 10, bottom: 8 };

/** Two runs of one text, plain first, and a rejection of a stack for the same prompt; null where the host has none. */
export interface Story {
  runs: [plain: Store, drafted: Store];
  stop: { drawn: Drawn; draft: Draft; token: Token; stack: string } | null;
}

/** Find the story among the recordings of one prompt: the drafted run with the text of plain decoding in fewest passes. */
export async function storyOf(host: Host): Promise<Story | null> {
  const palette = paletteOf(host.about.palette);
  for (const race of [...host.about.races].reverse()) {
    const all = await Promise.all(race.runs.map(async ({ name }) => storeOf(await host.recording(name))));
    const ids = (run: Store) => run.tokens.map((t) => t.token_id).join();
    const plain = all.find((run) => !run.meta.stack.includes(">"));
    const same = all.filter((run) => plain && run !== plain && ids(run) === ids(plain));
    const faster = same.filter((run) => plain && stairsOf(run).end < stairsOf(plain).end);
    const [best] = faster.sort((a, b) => a.order.size - b.order.size);
    if (!plain || !best) continue;
    const stops = all.flatMap((store) =>
      store.tokens.flatMap((token) => {
        const round = store.rounds.get(token.round);
        const drawn = token.kind === "correction" && round ? boardOfRound(store, palette, round, token) : null;
        const draft = store.drafts.get(token.round)?.find((d) => d.verdict === "rejected");
        // A dart that is seen to miss.
        const seen = draft && (draft.u ?? 0) * (draft.q ?? 0) > (draft.p ?? 1) + 0.15 && (draft.p ?? 0) > 0.05;
        return drawn?.recorded?.first && draft && seen ? [{ drawn, draft, token, stack: store.meta.stack }] : [];
      }),
    );
    return { runs: [plain, best], stop: stops[0] ?? null };
  }
  return null;
}

export const introSeen = () => kept(() => localStorage.getItem(SEEN) === "yes", true);

/** Play the story in `root`, which is emptied when it is closed. Returns a function that closes it. */
export function playIntro(root: HTMLElement, host: Host, story: Story, closed: () => void): () => void {
  const palette = paletteOf(host.about.palette);
  const still = matchMedia("(prefers-reduced-motion: reduce)").matches;
  const box = make("section", "hsd-linked hsd-intro", "", { "aria-label": "Introduction" });
  palette.paint(box);
  const hatch = unique();
  const runs = story.runs.map((store) => runnerOf(store, ""));
  const [plain, drafted] = runs;
  const end = plain.stairs.end;
  const lanes = runs.map(() => make("pre", "hsd-in-text"));
  const began = performance.now();
  let [ms, frame] = [still ? WHOLE : 0, 0];

  function draw() {
    const ns = Math.min(1, ms / WRITTEN) * end;
    runs.forEach(({ store, stairs }, k) => {
      const lane = lanes[k];
      for (let i = lane.childElementCount; i < shownAt(stairs, ns); i++) {
        const token = make("span", "", store.tokens[i].text);
        token.dataset.family = palette.family(store.tokens[i].source);
        lane.append(token);
      }
      lane.scrollTop = lane.scrollHeight;
    });
    const f = frameOf(SIZE, end, plain.stairs.tokens);
    const picture = runs.map(({ stairs, store }) => drawStairs(stairs, store.tokens, palette.family, f));
    const lane = (k: number, title: string) => html`<div class="hsd-in-lane"><h3>${title}</h3>${lanes[k]}
      <p class="hsd-note hsd-number"><strong>${plural(passesAt(runs[k].stairs, ns), "pass")}</strong> of the target, ${plural(shownAt(runs[k].stairs, ns), "token")}</p></div>`;
    const { stop } = story;
    const gain = end / drafted.stairs.end;
    render(
      html`<div class="hsd-in-head"><h2>${ms < WRITTEN ? STORY : `Same text, ${plural(drafted.stairs.treads.length, "pass")} instead of ${plain.stairs.treads.length}.`}</h2><button class="hsd-in-skip hsd-primary" @click=${close}>${ms < WHOLE ? "Skip" : "Explore"}</button></div>
        <div class=${ms < WRITTEN ? "hsd-in-body" : "hsd-in-body hsd-in-done"}>
          ${lane(0, "Plain decoding")}${lane(1, `Drafted: ${drafted.store.meta.stack}`)}
          <figure class="hsd-in-stairs"><svg class="hsd-stairs" viewBox="0 0 ${SIZE.width} ${SIZE.height}" aria-hidden="true">${picture}
            <rect class="hsd-in-later" x=${f.x(ns) + 3} y="0" width=${Math.max(0, SIZE.width - f.x(ns) - 3)} height=${SIZE.height}></rect></svg>
            <figcaption class="hsd-note">Tokens over time: a tread is what a pass cost, a riser what it brought.${ms < WRITTEN ? nothing : ` ${gain.toFixed(1)} times as fast here: ${duration(drafted.stairs.end)} instead of ${duration(end)}.`}</figcaption></figure>
          ${
            stop
              ? html`<figure class="hsd-in-stop hsd-dt"><h3>One rejection, in another run of this prompt: ${stop.stack}</h3>${boardPicture(ms < WRITTEN ? { ...stop.drawn, recorded: null } : stop.drawn, 420, hatch)}
                <figcaption class="hsd-note">${capital(palette.phrase(stop.draft.source))} proposed “${glyphs(stop.draft.text)}” with q = ${figure(stop.draft.q)}; the target gives it p = ${figure(stop.draft.p)}.${
                  ms < WRITTEN
                    ? nothing
                    : ` The dart falls at u·q = ${figure((stop.draft.u ?? 0) * (stop.draft.q ?? 0))}, above p: rejected. “${glyphs(stop.token.text)}” comes from the hatched residual, so that every token has the target’s own probability.`
                }</figcaption></figure>`
              : nothing
          }
        </div>`,
      box,
    );
  }
  function tick() {
    ms = performance.now() - began;
    draw();
    if (ms < WHOLE) frame = requestAnimationFrame(tick);
  }
  function close() {
    cancelAnimationFrame(frame);
    document.removeEventListener("keydown", leave, true);
    document.removeEventListener("pointerdown", leave, true);
    box.remove();
    kept(() => localStorage.setItem(SEEN, "yes"), undefined);
    closed();
  }
  /** Escape, and a click beside it, close it. */
  const leave = (e: Event) => {
    if (e instanceof KeyboardEvent ? e.key === "Escape" : !box.contains(e.target as Node)) close();
  };
  document.addEventListener("keydown", leave, true);
  document.addEventListener("pointerdown", leave, true);
  root.append(box);
  draw();
  if (!still) frame = requestAnimationFrame(tick);
  return close;
}
