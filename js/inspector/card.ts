// The node card of the round inspector.
import { html, nothing, render } from "lit-html";
import { when } from "lit-html/directives/when.js";
import type { Draft, Round } from "../lib/contract";
import type { Palette } from "../lib/palette";
import type { Store } from "../lib/run";
import { figure, glyphs, plural, temperatureWords, VERDICT_MARKS } from "../lib/words";
import type { Layout } from "./round";
import { asFigure } from "./round";
import type { Own } from "./said";
import { FATES, OWN, ROOT, token } from "./said";

type Fact = [name: string, value: unknown, wide?: boolean];
/** A drawn round: its rows, tree, and nodes by key. */
export interface Scene {
  r: Round;
  drafts: Draft[];
  own: Own | null;
  down: boolean;
  layout: Layout;
  at: Map<number, Draft>;
  dom: Map<number, HTMLElement>;
}

const WHY_OWN: Record<string, string> = {
  correction: "No draft token was accepted at this position; this token is the verifier’s own.",
  bonus: "The whole path was accepted; the same forward pass gives one more token.",
  plain: "No draft: one token from one forward pass.",
};

/** `card` is the target element; `light(position)` highlights and scrolls to a text position. */
export function createCard({
  card,
  store,
  palette,
  actor,
  light,
}: {
  card: HTMLElement;
  store: Store;
  palette: Palette;
  actor: (r: Round) => string;
  light: (position: number) => void;
}) {
  const greedy = () => store.meta.sampling?.temperature === 0;

  /** A node's token with its source and verdict, a sentence about it, figures and a note. */
  const show = (text: string, source: string, kind: string, verdict: string, words: string, pairs: Fact[], note = "") =>
    render(
      html`<div class="hsd-ins-what">
          <code class="hsd-ins-big" data-family=${palette.family(source)}>${text}</code>
          <p>
            <span class="hsd-ins-source" data-family=${palette.family(source)}>${palette.words(source)}</span>
            <span class="hsd-ins-fate" data-verdict=${verdict}>${kind}</span>
          </p>
        </div>
        <p class="hsd-ins-muted">${words}</p>
        <dl class="hsd-ins-facts">${pairs.map(
          ([name, value, wide]) => html`<div class=${wide ? "hsd-wide" : ""}><dt>${name}</dt><dd>${value}</dd></div>`,
        )}</dl>
        ${note ? html`<p class="hsd-ins-muted">${note}</p>` : nothing}`,
      card,
    );
  /** The card of node `key` of a scene {r: its round, drafts, own, at: Map(key → draft row), down}. */
  function drawCard(scene: Scene, key: number) {
    const { r, drafts, own } = scene;
    if (key === ROOT) {
      const words = drafts.length
        ? "The text so far ends here; the draft continues to the right. Hover over a node or use the arrow keys for details."
        : "The text so far ends here.";
      render(
        html`<h4>Start of the draft</h4>
          <p class="hsd-ins-muted">${scene.down ? words.replace("to the right", "downwards") : words}</p>
          ${legend}`,
        card,
      );
      return;
    }
    if (key === OWN) {
      const t = own?.row;
      const pairs: Fact[] = t
        ? [
            ["p at T = 1", figure(t.p)],
            ["entropy", t.entropy === null ? "–" : `${t.entropy.toFixed(2)} nats`],
            ["position", String(r.accepted + 1)],
          ]
        : [["position", String(r.accepted + 1)]];
      if (t && t.raw !== null) pairs.push(["bytes", t.raw]);
      const words = greedy()
        ? "Greedy decoding: the most likely token counts as p = 1."
        : temperatureWords(store.meta.sampling);
      const why = WHY_OWN[r.outcome] ?? "";
      show(token(own?.text ?? ""), own?.source ?? "", r.outcome, r.outcome, why, pairs, t && words ? words : "");
      return;
    }
    const d = scene.at.get(key) as Draft;
    const pairs: Fact[] = [
      ["position", String(d.depth)],
      ["p, verifier", d.p === null ? "not examined" : greedy() ? `${asFigure(d.p)} (greedy)` : asFigure(d.p)],
      ["q, drafter", d.q === 1 && d.u === null ? "1 (point mass)" : asFigure(d.q ?? NaN)],
    ];
    const hint =
      d.p !== null && greedy()
        ? "Greedy decoding: p is 1 for the verifier’s most likely token and 0 for all others."
        : "";
    if (d.u !== null) pairs.push(["u, drawn", asFigure(d.u)]);
    if (typeof d.h === "number") pairs.push(["h, threshold", asFigure(d.h)]);
    if (d.key !== null) pairs.push(["key", plural(d.key, "token")]);
    if (d.count !== null) pairs.push(["seen", `${d.count} ×`]);
    if (d.score !== null) pairs.push(["score", figure(d.score)]);
    if (d.recut?.length) pairs.push(["cut from", d.recut.map((t) => `“${glyphs(t)}”`).join(" + ")]);
    if (d.position !== null) {
      const jump = () => light(d.position as number);
      const link = html`<button class="hsd-ins-link" title="Show the copied text" @click=${jump}>text position ${d.position}</button>`;
      pairs.push(["copied from", link, true]);
    }
    show(token(d.text), d.source, FATES[d.verdict] || d.verdict, d.verdict, story(scene, d), pairs, hint);
  }
  function story(scene: Scene, d: Draft) {
    const { r, drafts } = scene;
    if (r.rule === "block" && d.verdict === "accepted")
      return "Accepted: the last position with u < h is this one or a later one.";
    if (r.rule === "block" && d.verdict === "rejected") return "Rejected: no position from here on has u < h.";
    if (d.verdict === "accepted")
      return d.u === null ? `Accepted: ${actor(r)} has the same token.` : "Accepted: u·q < p.";
    if (d.verdict === "cut") return "Cut: it matched, but the text ended before this position.";
    if (d.verdict === "rejected")
      return d.u === null ? `Rejected: ${actor(r)} has another token.` : "Rejected: u·q ≥ p.";
    const above = scene.at.get(d.parent);
    const mates = drafts.filter((o) => o.parent === d.parent && o !== d);
    if (mates.some((o) => o.verdict === "accepted")) return "Not examined: another branch was accepted.";
    return above && above.verdict !== "accepted" ? "Not examined: an earlier token was rejected." : "Not examined.";
  }
  const legend = html`<ul class="hsd-ins-legend">${[
    ["accepted", "accepted"],
    ["rejected", "rejected"],
    ["unreached", "not examined"],
    ["correction", "correction, the verifier’s own"],
    ["bonus", "bonus, the verifier’s own"],
  ].map(([verdict, words]) => {
    const mark = () => html`<span class="hsd-ins-mark">${VERDICT_MARKS[verdict]}</span>`;
    return html`<li><span class="hsd-ins-sample" data-verdict=${verdict} aria-hidden="true">${when(
      VERDICT_MARKS[verdict],
      mark,
    )}<code>abc</code></span>${words}</li>`;
  })}</ul>`;

  return drawCard;
}
