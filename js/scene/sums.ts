// The computation of each verdict, below the tree.
import { html, nothing } from "lit-html";
import { when } from "lit-html/directives/when.js";
import type { Palette } from "../lib/palette";
import type { Store } from "../lib/run";
import type { Draft, Round } from "../lib/tables";
import { VERDICT_MARKS } from "../lib/words";
import type { RatioStep, WalkStep } from "./round";
import { asFigure, judge } from "./round";
import type { Own } from "./words";
import { FATES, token } from "./words";

/** Maximum other draft tokens listed per position. */
const MOST_BESIDE = 6;

const code = (text: string) => html`<code>${token(text)}</code>`;
/** Tokens in a row, separated by commas. */
const listed = (texts: string[]) => texts.map((text, k) => [k ? ", " : "", code(text)]);

export function createSums({ store, palette, actor }: { store: Store; palette: Palette; actor: (r: Round) => string }) {
  const step = (places: string | number, verdict: string, nodes: string | number, line: unknown) =>
    html`<li class="hsd-sc-step" data-node=${nodes} data-verdict=${verdict}>
      <span class="hsd-sc-place">${places}</span>
      <span class="hsd-sc-mark" aria-hidden="true">${VERDICT_MARKS[verdict]}</span>
      <span class="hsd-sc-line">${line}</span>
    </li>`;
  /** A verdict with its acceptance probability. */
  function fateOf(verdict: string, chance: number | null) {
    if (chance === null || verdict === "cut") return FATES[verdict];
    if (chance === 1) return `${FATES[verdict]}: p ≥ q, acceptance probability 1`;
    return `${FATES[verdict]}: ${chance === 0 ? "p = 0, acceptance probability 0" : `acceptance probability ${asFigure(chance)}`}`;
  }
  const ratio = (s: RatioStep) =>
    step(
      s.place,
      s.verdict,
      s.node,
      html`${code(s.text)}<span class="hsd-sc-sum">${s.line}</span
        ><span class="hsd-sc-then">${fateOf(s.verdict, s.chance)}</span>`,
    );
  /** The verifier's token at a position, and whether it was drafted. */
  function walked(s: WalkStep, greedy: boolean) {
    const drafted = s.hit || s.cut;
    const p = s.p !== null && !greedy ? ` (p = ${asFigure(s.p)})` : "";
    const words = s.hit ? `drafted: accepted${p}` : s.cut ? "drafted, cut at the end of the text" : "not drafted";
    const others = s.text.filter((text) => !drafted || text !== s.drew);
    const more = others.length > MOST_BESIDE ? ` and ${others.length - MOST_BESIDE} more` : "";
    const beside = () => [drafted ? "; also drafted: " : "; drafted: ", listed(others.slice(0, MOST_BESIDE)), more];
    return step(
      s.place,
      s.hit ? "accepted" : s.cut ? "cut" : "rejected",
      s.node,
      html`<span class="hsd-sc-sum">${s.drew === null ? "another token" : code(s.drew)}</span
        ><span class="hsd-sc-then">${words}${when(others.length, beside)}</span>`,
    );
  }
  /** One row for the tokens that were not examined. */
  function unreached(rest: RatioStep[], rejected: boolean) {
    const [first, last] = [rest[0].place, rest[rest.length - 1].place];
    const why = rejected ? ": not examined, an earlier token was rejected" : ": not examined, the text ended";
    return step(
      rest.length > 1 ? `${first}–${last}` : first,
      "unreached",
      rest.map((s) => s.node).join(" "),
      html`<span class="hsd-sc-then">${listed(rest.map((s) => s.text))}${why}</span>`,
    );
  }
  /** How the round's own token follows from the verdicts. */
  function endOf(r: Round, own: Own | null, rule: string) {
    if (r.outcome === "stopped") return "The text ended here; no token was added.";
    const shown = own && html`<code data-family=${palette.family(own.source)}>${token(own.text)}</code>`;
    if (r.outcome === "bonus")
      return html`The whole path was accepted; the same forward pass gives the bonus token ${shown}${rule === "ratio" ? ", drawn from p." : "."}`;
    const how =
      rule === "ratio"
        ? `The correction is drawn from the residual max(0, ${r.rule !== "token" ? "w·p" : "p"} − q), scaled to 1: `
        : `The correction is the first token of ${actor(r)} that was not drafted: `;
    return html`${how}${shown ?? "not recorded"}.`;
  }
  return (r: Round, drafts: Draft[], own: Own | null) => {
    const judged = judge(drafts, own);
    if (judged.rule === "none") return nothing;
    const greedy = store.meta.sampling?.temperature === 0;
    const draws = greedy ? "takes its most likely token" : "draws its own token from p";
    const rule =
      judged.rule === "walk"
        ? `each draft token is a point mass. At each position ${actor(r)} ${draws} and continues while that token was drafted.`
        : "accept the token if u·q < p, where q is the drafter’s probability, p the verifier’s, and u uniform on [0, 1): acceptance probability min(1, p / q).";
    const words =
      judged.rule === "ratio" && r.rule !== "token"
        ? "Rule (block verification): accept the draft up to the last position with u < h. h follows from w, the product of p / q so far, never above 1, and from the residual max(0, w·p − q) of the next position; u is uniform on [0, 1)."
        : `Rule: ${rule}`;
    let rows: unknown[];
    if (judged.rule === "walk") rows = judged.steps.map((s) => walked(s, greedy));
    else {
      // Tokens that were not examined share one row.
      const looked = judged.steps.filter((s) => s.verdict !== "unreached");
      const rest = judged.steps.slice(looked.length);
      const rejected = looked.some((s) => s.verdict === "rejected");
      rows = [...looked.map(ratio), when(rest.length, () => unreached(rest, rejected))];
    }
    return html`<section>
      <h4>Verification by position</h4>
      <p class="hsd-sc-muted">${words}</p>
      <ol class="hsd-sc-steps" tabindex="0" aria-label="Verification by position">${rows}</ol>
      <p class="hsd-sc-end">${endOf(r, own, judged.rule)}</p>
    </section>`;
  };
}
