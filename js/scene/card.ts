// What is known of one chip: its token, source and verdicts, with the recorded numbers.
import { html, nothing } from "lit-html";
import type { Palette } from "../lib/palette";
import type { Store } from "../lib/run";
import type { Draft, Round } from "../lib/tables";
import { figure, plural, temperatureWords } from "../lib/words";
import { asFigure } from "./round";
import type { Chip, Judged } from "./scene";
import type { Own } from "./words";
import { capital, FATES, token } from "./words";

type Fact = [name: string, value: unknown, wide?: boolean];

const WHY_OWN: Record<string, string> = {
  correction: "No draft token was accepted at this position; this token is the verifier’s own.",
  bonus: "The whole path was accepted; the same forward pass gives one more token.",
  plain: "No draft: one token from one forward pass.",
};

/** `light(position)` highlights a text position and scrolls to it. */
export function createCard({
  store,
  palette,
  actor,
  light,
}: {
  store: Store;
  palette: Palette;
  actor: (r: Round) => string;
  light: (position: number) => void;
}) {
  const greedy = () => store.meta.sampling?.temperature === 0;

  function ownFacts(r: Round, own: Own | null): Fact[] {
    const t = own?.row;
    const pairs: Fact[] = [["position", String(r.accepted + 1)]];
    if (!t) return pairs;
    pairs.unshift(["p at T = 1", figure(t.p)], ["entropy", t.entropy === null ? "–" : `${t.entropy.toFixed(2)} nats`]);
    if (t.raw !== null) pairs.push(["bytes", t.raw]);
    return pairs;
  }
  function draftFacts(d: Draft): Fact[] {
    const pairs: Fact[] = [
      ["position", String(d.depth)],
      ["p, verifier", d.p === null ? "not examined" : greedy() ? `${asFigure(d.p)} (greedy)` : asFigure(d.p)],
      ["q, drafter", d.q === 1 && d.u === null ? "1 (point mass)" : asFigure(d.q ?? NaN)],
    ];
    if (d.u !== null) pairs.push(["u, drawn", asFigure(d.u)]);
    if (typeof d.h === "number") pairs.push(["h, threshold", asFigure(d.h)]);
    if (d.key_length !== null) pairs.push(["key", plural(d.key_length, "token")]);
    if (d.count !== null) pairs.push(["seen", `${d.count} ×`]);
    if (d.score !== null) pairs.push(["score", figure(d.score)]);
    if (d.position !== null) {
      const jump = () => light(d.position as number);
      const link = html`<button class="hsd-sc-link" title="Show the copied text" @click=${jump}>text position ${d.position}</button>`;
      pairs.push(["copied from", link, true]);
    }
    return pairs;
  }
  function story({ round: r, draft: d }: Judged) {
    if (r.rule !== "token" && d.verdict === "accepted")
      return "Accepted: the last position with u < h is this one or a later one.";
    if (r.rule !== "token" && d.verdict === "rejected") return "Rejected: no position from here on has u < h.";
    if (d.verdict === "accepted")
      return d.u === null ? `Accepted: ${actor(r)} has the same token.` : "Accepted: u·q < p.";
    if (d.verdict === "cut") return "Cut: it matched, but the text ended before this position.";
    if (d.verdict === "rejected")
      return d.u === null ? `Rejected: ${actor(r)} has another token.` : "Rejected: u·q ≥ p.";
    const drafts = store.drafts.get(r.id) ?? [];
    if (drafts.some((o) => o.parent === d.parent && o.verdict === "accepted"))
      return "Not examined: another branch was accepted.";
    const above = drafts.find((o) => o.node === d.parent);
    return above && above.verdict !== "accepted" ? "Not examined: an earlier token was rejected." : "Not examined.";
  }

  /** The card of a chip; `own` is its round's own token, where the chip is that. */
  return (chip: Chip, own: Own | null) => {
    const last = chip.judged.at(-1);
    const kind = last ? FATES[last.draft.verdict] || last.draft.verdict : (chip.own?.outcome ?? "");
    const words = last ? story(last) : (WHY_OWN[chip.own?.outcome ?? ""] ?? "");
    const facts = last ? draftFacts(last.draft) : chip.own ? ownFacts(chip.own, own) : [];
    const hint = !last && own?.row ? temperatureWords(store.meta.sampling) : "";
    const note = !greedy()
      ? hint
      : last
        ? "Greedy decoding: p is 1 for the verifier’s most likely token and 0 for all others."
        : "Greedy decoding: the most likely token counts as p = 1.";
    const earlier = [
      ...(last && chip.own ? [`${capital(actor(chip.own))} added it: ${chip.own.outcome}.`] : []),
      ...chip.judged
        .slice(0, -1)
        .map((j) => `${capital(actor(j.round))} accepted it${j.draft.p === null ? "" : `, p ${figure(j.draft.p)}`}.`),
    ];
    return html`<div class="hsd-sc-what">
        <code class="hsd-sc-big" data-family=${palette.family(chip.source)}>${token(chip.text)}</code>
        <span class="hsd-sc-source" data-family=${palette.family(chip.source)}>${palette.words(chip.source)}</span>
        <span class="hsd-sc-fate" data-verdict=${last?.draft.verdict ?? chip.own?.outcome ?? nothing}>${kind}</span>
      </div>
      <p class="hsd-sc-muted">${words} ${earlier.join(" ")}</p>
      <dl class="hsd-sc-facts">${facts.map(
        ([name, value, wide]) => html`<div class=${wide ? "hsd-wide" : ""}><dt>${name}</dt><dd>${value}</dd></div>`,
      )}</dl>
      ${note ? html`<p class="hsd-sc-muted">${note}</p>` : nothing}`;
  };
}
