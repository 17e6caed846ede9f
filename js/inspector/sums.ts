// The computation of each verdict, below the tree.

import type { Draft, Round } from "../lib/contract";
import { make } from "../lib/dom";
import type { Palette } from "../lib/palette";
import type { Store } from "../lib/run";
import { VERDICT_MARKS } from "../lib/words";
import type { RatioStep, WalkStep } from "./round";
import { asFigure, judge } from "./round";
import type { Own } from "./said";
import { FATES, token } from "./said";

/** Maximum other draft tokens listed per position. */
const MOST_BESIDE = 6;

export function createSums({ store, palette, actor }: { store: Store; palette: Palette; actor: (r: Round) => string }) {
  function step(places: string, verdict: string, nodes: string, parts: (Node | string)[]) {
    const row = make("li", "hsd-ins-step");
    row.dataset.node = nodes;
    row.dataset.verdict = verdict;
    const sign = make("span", "hsd-ins-mark", VERDICT_MARKS[verdict]);
    sign.setAttribute("aria-hidden", "true");
    const line = make("span", "hsd-ins-line");
    line.append(...parts);
    row.append(make("span", "hsd-ins-place", places), sign, line);
    return row;
  }
  function ratio(s: RatioStep, verdict: string) {
    return [
      make("code", "", token(s.text)),
      make("span", "hsd-ins-sum", s.line),
      make("span", "hsd-ins-then", fateOf(verdict, s.chance)),
    ];
  }
  /** A verdict with its acceptance probability. */
  function fateOf(verdict: string, chance: number | null) {
    if (chance === null || verdict === "cut") return FATES[verdict];
    if (chance === 1) return `${FATES[verdict]}: p ≥ q, acceptance probability 1`;
    return `${FATES[verdict]}: ${chance === 0 ? "p = 0, acceptance probability 0" : `acceptance probability ${asFigure(chance)}`}`;
  }
  /** The verifier's token at a position, and whether it was drafted. */
  function walked(s: WalkStep, greedy: boolean) {
    const said = make("span", "hsd-ins-sum");
    said.append(s.drew === null ? "another token" : make("code", "", token(s.drew)));
    const words = make(
      "span",
      "hsd-ins-then",
      s.hit
        ? `drafted: accepted${s.p !== null && !greedy ? ` (p = ${asFigure(s.p)})` : ""}`
        : s.cut
          ? "drafted, cut at the end of the text"
          : "not drafted",
    );
    const others = s.text.filter((text) => !(s.hit || s.cut) || text !== s.drew);
    others
      .slice(0, MOST_BESIDE)
      .forEach((text, k) =>
        words.append(k ? ", " : s.hit || s.cut ? "; also drafted: " : "; drafted: ", make("code", "", token(text))),
      );
    if (others.length > MOST_BESIDE) words.append(` and ${others.length - MOST_BESIDE} more`);
    return [said, words];
  }
  /** One row for the tokens that were not examined. */
  function unreached(rest: RatioStep[], rejected: boolean) {
    const line = make("span", "hsd-ins-then");
    line.append(
      ...rest.flatMap((s, k) => [...(k ? [", "] : []), make("code", "", token(s.text))]),
      rejected ? ": not examined, an earlier token was rejected" : ": not examined, the text ended",
    );
    const [first, last] = [rest[0].place, rest[rest.length - 1].place];
    return step(rest.length > 1 ? `${first}–${last}` : String(first), "unreached", rest.map((s) => s.node).join(" "), [
      line,
    ]);
  }
  function reckoning(r: Round, drafts: Draft[], own: Own | null) {
    const judged = judge(drafts, own);
    const { rule } = judged;
    if (judged.rule === "none") return null;
    const box = make("section");
    const greedy = store.meta.sampling?.temperature === 0;
    const who = actor(r);
    box.append(make("h4", "", "Verification by position"));
    box.append(
      make(
        "p",
        "hsd-ins-muted",
        rule === "ratio" && r.rule === "block"
          ? "Rule (block verification): accept the draft up to the last position with u < h. h follows from w, the product of p / q so far, never above 1, and from the residual max(0, w·p − q) of the next position; u is uniform on [0, 1)."
          : rule === "ratio"
            ? "Rule: accept the token if u·q < p, where q is the drafter’s probability, p the verifier’s, and u uniform on [0, 1): acceptance probability min(1, p / q)."
            : `Rule: each draft token is a point mass. At each position ${who} ${greedy ? "takes its most likely token" : "draws its own token from p"} and continues while that token was drafted.`,
      ),
    );
    const list = make("ol", "hsd-ins-steps");
    if (judged.rule === "walk") {
      for (const s of judged.steps) {
        const verdict = s.hit ? "accepted" : s.cut ? "cut" : "rejected";
        list.append(step(String(s.place), verdict, String(s.node), walked(s, greedy)));
      }
    } else {
      // Tokens that were not examined share one row.
      const { steps } = judged;
      const looked = steps.filter((s) => s.verdict !== "unreached");
      for (const s of looked) list.append(step(String(s.place), s.verdict, String(s.node), ratio(s, s.verdict)));
      const rest = steps.slice(looked.length);
      if (rest.length)
        list.append(
          unreached(
            rest,
            steps.some((s) => s.verdict === "rejected"),
          ),
        );
    }
    box.append(list);
    const end = make("p", "hsd-ins-end");
    const code = own ? make("code", "", token(own.text)) : null;
    if (code && own) code.dataset.family = palette.family(own.source);
    if (r.outcome === "stopped") end.append("The text ended here; no token was added.");
    else if (r.outcome === "bonus")
      end.append(
        "The whole path was accepted; the same forward pass gives the bonus token ",
        ...(code ? [code] : []),
        rule === "ratio" ? ", drawn from p." : ".",
      );
    else if (rule === "ratio")
      end.append(
        `The correction is drawn from the residual max(0, ${r.rule === "block" ? "w·p" : "p"} − q), scaled to 1: `,
        ...(code ? [code] : ["not recorded"]),
        ".",
      );
    else
      end.append(
        `The correction is the first token of ${who} that was not drafted: `,
        ...(code ? [code] : ["not recorded"]),
        ".",
      );
    box.append(end);
    return box;
  }

  return reckoning;
}
