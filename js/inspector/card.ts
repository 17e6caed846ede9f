// The node card of the round inspector.

import type { Draft, Round } from "../lib/contract";
import { make } from "../lib/dom";
import type { Palette } from "../lib/palette";
import type { Store } from "../lib/run";
import { figure, glyphs, plural, temperatureWords, VERDICT_MARKS } from "../lib/words";
import type { Layout } from "./round";
import { asFigure } from "./round";
import type { Own } from "./said";
import { FATES, OWN, ROOT, token } from "./said";

type Fact = [name: string, value: string | Node, wide?: boolean];
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

  function facts(pairs: Fact[]) {
    const list = make("dl", "hsd-ins-facts");
    for (const [k, v, wide] of pairs) {
      const cell = make("div", wide ? "hsd-wide" : "");
      cell.append(make("dt", "", k));
      const value = make("dd");
      value.append(v);
      cell.append(value);
      list.append(cell);
    }
    return list;
  }
  function heading(text: string, source: string, kind: string, verdict: string) {
    const box = make("div", "hsd-ins-what");
    const big = make("code", "hsd-ins-big", text);
    big.dataset.family = palette.family(source);
    const chip = make("span", "hsd-ins-source", palette.words(source));
    chip.dataset.family = palette.family(source);
    const fate = make("span", "hsd-ins-fate", kind);
    fate.dataset.verdict = verdict;
    const line = make("p");
    line.append(chip, " ", fate);
    box.append(big, line);
    return box;
  }
  /** The card of node `key` of a scene {r: its round, drafts, own, at: Map(key → draft row), down}. */
  function drawCard(scene: Scene, key: number) {
    const { r, drafts, own } = scene;
    if (key === ROOT) {
      const words = drafts.length
        ? "The text so far ends here; the draft continues to the right. Hover over a node or use the arrow keys for details."
        : "The text so far ends here.";
      card.replaceChildren(
        make("h4", "", "Start of the draft"),
        make("p", "hsd-ins-muted", scene.down ? words.replace("to the right", "downwards") : words),
        legend(),
      );
      return;
    }
    if (key === OWN) {
      const why = WHY_OWN[r.outcome] ?? "";
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
      const note = t && words ? [make("p", "hsd-ins-muted", words)] : [];
      card.replaceChildren(
        heading(token(own?.text ?? ""), own?.source ?? "", r.outcome, r.outcome),
        make("p", "hsd-ins-muted", why),
        facts(pairs),
        ...note,
      );
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
        ? [
            make(
              "p",
              "hsd-ins-muted",
              "Greedy decoding: p is 1 for the verifier’s most likely token and 0 for all others.",
            ),
          ]
        : [];
    if (d.u !== null) pairs.push(["u, drawn", asFigure(d.u)]);
    if (typeof d.h === "number") pairs.push(["h, threshold", asFigure(d.h)]);
    if (d.key !== null) pairs.push(["key", plural(d.key, "token")]);
    if (d.count !== null) pairs.push(["seen", `${d.count} ×`]);
    if (d.score !== null) pairs.push(["score", figure(d.score)]);
    if (d.recut?.length) pairs.push(["cut from", d.recut.map((t) => `“${glyphs(t)}”`).join(" + ")]);
    if (d.position !== null) {
      const jump = make("button", "hsd-ins-link", `text position ${d.position}`);
      jump.title = "Show the copied text";
      jump.addEventListener("click", () => light(d.position as number));
      pairs.push(["copied from", jump, true]);
    }
    card.replaceChildren(
      heading(token(d.text), d.source, FATES[d.verdict] || d.verdict, d.verdict),
      make("p", "hsd-ins-muted", story(scene, d)),
      facts(pairs),
      ...hint,
    );
  }
  function story(scene: Scene, d: Draft) {
    const { r, drafts } = scene;
    const _who = palette.phrase(d.source);
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
  function legend() {
    const list = make("ul", "hsd-ins-legend");
    for (const [verdict, words] of [
      ["accepted", "accepted"],
      ["rejected", "rejected"],
      ["unreached", "not examined"],
      ["correction", "correction, the verifier’s own"],
      ["bonus", "bonus, the verifier’s own"],
    ]) {
      const item = make("li");
      const sample = make("span", "hsd-ins-sample");
      sample.dataset.verdict = verdict;
      if (VERDICT_MARKS[verdict]) sample.append(make("span", "hsd-ins-mark", VERDICT_MARKS[verdict]));
      sample.append(make("code", "", "abc"));
      sample.setAttribute("aria-hidden", "true");
      item.append(sample, words);
      list.append(item);
    }
    return list;
  }

  return drawCard;
}
