// @ts-check
// What stands beneath the tree of a round: the arithmetic of each verdict, row by row. linked_run.js, linked.js, round.js and
// round_said.js stand before it, inspector.js behind. Text only, by textContent.

/** Drafted tokens of one place that are named beside the one that was kept. */
const MOST_BESIDE = 6;

/** @param {{store: any, palette: any, actor: (r: any) => string}} words */
function createSums({ store, palette, actor }) {
  function step(places, verdict, nodes, parts) {
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
  function ratio(s, verdict) {
    return [make("code", "", token(s.text)), make("span", "hsd-ins-sum", s.line), make("span", "hsd-ins-then", fateOf(verdict, s.chance))];
  }
  /** A verdict with the chance that there was of being kept, which no reader shall take for that of the verdict. */
  function fateOf(verdict, chance) {
    if (chance === null || verdict === "cut") return FATES[verdict];
    if (chance === 1) return `${FATES[verdict]}: p is at least q, so it was sure to be kept`;
    return `${FATES[verdict]}: ${chance === 0 ? "p is 0, so it could not be kept" : `it had a chance of ${asFigure(chance)} to be kept`}`;
  }
  /** What the verifier said at a place, and whether it was among what was drafted there. */
  function walked(s, greedy) {
    const said = make("span", "hsd-ins-sum");
    said.append(s.drew === null ? "another token" : make("code", "", token(s.drew)));
    const words = make("span", "hsd-ins-then", s.hit ? `drafted, so it is kept${s.p !== null && !greedy ? ` (p = ${asFigure(s.p)})` : ""}` : s.cut ? "drafted, then cut: the text ended before it" : "not drafted");
    const others = s.text.filter((text) => !(s.hit || s.cut) || text !== s.drew);
    others.slice(0, MOST_BESIDE).forEach((text, k) => words.append(k ? ", " : s.hit || s.cut ? "; beside it " : "; drafted was ", make("code", "", token(text))));
    if (others.length > MOST_BESIDE) words.append(` and ${others.length - MOST_BESIDE} more`);
    return [said, words];
  }
  function reckoning(r, drafts, own) {
    const { rule, steps } = judge(drafts, own);
    if (rule === "none") return null;
    const box = make("section");
    const greedy = store.meta.sampling?.temperature === 0;
    const who = actor(r);
    box.append(make("h4", "", "How each place was judged"));
    box.append(make("p", "hsd-ins-muted", rule === "ratio"
      ? "Rule: keep the token if u · q < p. q is the drafter’s probability of it, p the verifier’s, u a number drawn evenly from 0 to 1. So it is kept with probability min(1, p / q)."
      : `Rule: the draft carries no probabilities (each token is a point mass). At each place ${who} ${greedy ? "takes its likeliest token" : "draws its own token from p"} and goes on while that is a drafted one. Below, its tokens place by place.`));
    const list = make("ol", "hsd-ins-steps");
    // What nobody looked at needs no row for each.
    const looked = steps.filter((s) => s.verdict !== "unreached");
    for (const s of looked) {
      const verdict = s.verdict ?? (s.hit ? "accepted" : s.cut ? "cut" : "rejected");
      list.append(step(String(s.place), verdict, String(s.node), rule === "ratio" ? ratio(s, verdict) : walked(s, greedy)));
    }
    const rest = steps.slice(looked.length);
    if (rest.length) {
      const had = rest.map((s, k) => (k ? [", ", make("code", "", token(s.text))] : [make("code", "", token(s.text))])).flat();
      const line = make("span", "hsd-ins-then");
      line.append(...had, steps.some((s) => s.verdict === "rejected") ? ": not looked at, a token before was turned down" : ": not looked at, the text ended before");
      const places = rest.length > 1 ? `${rest[0].place}–${rest.at(-1).place}` : String(rest[0].place);
      list.append(step(places, "unreached", rest.map((s) => s.node).join(" "), [line]));
    }
    box.append(list);
    const end = make("p", "hsd-ins-end");
    const code = own ? make("code", "", token(own.text)) : null;
    if (code) code.dataset.family = palette.family(own.source);
    if (r.outcome === "stopped") end.append("The text ended here, so no token was added.");
    else if (r.outcome === "bonus") end.append("All of the path was kept, and the same forward gave one more row: the bonus ", ...(code ? [code] : []), rule === "ratio" ? " is drawn from p there." : ` is ${who}’s own.`);
    else if (rule === "ratio") end.append(`The token put in its place is drawn from the residual, what is left of p once q is taken away: max(0, p − q), scaled to 1. It was `, ...(code ? [code] : ["not recorded"]), ".");
    else end.append(greedy ? `The first token of ${who}’s that was not drafted is the correction: ` : `The first token that ${who} drew from p and that was not drafted is the correction: `, ...(code ? [code] : ["not recorded"]), ".");
    box.append(end);
    return box;
  }

  return reckoning;
}
