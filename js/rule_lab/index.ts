// The rule lab: one draft, six verification rules. All sums are exact and made here, from two rows of probabilities.
import { html, nothing } from "lit-html";
import { live } from "lit-html/directives/live.js";
import { boardOfRows } from "../darts/board";
import { createDarts } from "../darts/stage";
import { make } from "../lib/dom";
import { templated } from "../lib/template";
import type { Models, Rule, Step, Verdict } from "./rules";
import { disagreeing, drawFrom, isLossy, isWhole, judge, lawOf, numbers, RULES, thresholds } from "./rules";

interface Traits {
  tokens: string[];
  p: number[];
  lookahead: number;
  disagreement: number;
  epsilon: number;
  seed: number;
}
const NAMES: Record<Rule, string> = {
  token: "Token",
  block: "Block",
  branch: "Branch",
  match: "Sampler-match",
  typical: "Typical acceptance",
  uncapped: "Branch without the last cap",
};
const HOW: Record<Rule, string> = {
  token: "Accept a token while u·q < p; after a rejection, draw from (p − q)+.",
  block: "Judge the draft as a whole, from its end: accept up to the last place with u < h; draw from (w·p − q)+.",
  branch:
    "Block by joint ratios: w is the ratio of the joint probabilities, divided by its largest value so far. Same verdicts.",
  match: "The target draws its own token at each place; the draft is accepted while it is the same token.",
  typical: "Accept a token whose p is above a threshold; draw the next one from p. No random number decides.",
  uncapped:
    "Branch, but the whole draft is judged by the joint ratio itself. It accepts more, and the text is no longer the target’s.",
};
const ROUNDS = 1000;
const f = (x: number) => (x === 0 || x === 1 ? String(x) : x.toFixed(3));

/** The comparison at one place, as text. */
function said(rule: Rule, step: Step, tokens: string[]) {
  const where = `Place ${step.place + 1}: `;
  const sign = step.accepted ? "<" : "≥";
  if (rule === "match")
    return `${where}target drew “${tokens[step.drew as number]}”: ${step.accepted ? "the same" : "another token"}`;
  if (rule === "typical") return `${where}p = ${f(step.right)} ${step.accepted ? "≥" : "<"} threshold ${f(step.left)}`;
  return `${where}${isWhole(rule) ? "u" : "u·q"} = ${f(step.left)} ${sign} ${isWhole(rule) ? "h" : "p"} = ${f(step.right)}`;
}
/** The draft's tokens with their verdicts, and the rule's own token. */
function chain(draft: number[], found: Verdict, rule: Rule, tokens: string[]) {
  const chip = (token: number, verdict: string, title: string) =>
    html`<span class="hsd-rl-token" data-verdict=${verdict} title=${title}>${tokens[token]}</span>`;
  const last = isWhole(rule) ? draft.length : found.accepted + 1;
  const chips = draft.map((token, k) => {
    const verdict = k < found.accepted ? "accepted" : k < last ? "rejected" : "unreached";
    return chip(token, verdict, verdict === "unreached" ? "not examined" : verdict);
  });
  const own = chip(found.token, "own", found.accepted === draft.length ? "bonus token" : "correction");
  return html`<div class="hsd-rl-tokens">${chips}${own}</div>`;
}
/** The thresholds of a rule that judges the whole draft, beside those of block verification. */
function heights(rule: Rule, models: Models, draft: number[]) {
  if (!isWhole(rule)) return nothing;
  const [own, block] = [rule, "block" as const].map((r) => thresholds(r, models, draft));
  const differs = own.flatMap((h, k) => (Math.abs(h - block[k]) > 1e-9 ? [k + 1] : []));
  const words =
    rule === "block"
      ? ""
      : differs.length
        ? `: not block’s at place ${differs.join(", ")}`
        : ": block’s at every place";
  return html`<p class="hsd-rl-h">h = ${own.map(
    (h, k) => html`${k ? ", " : ""}${differs.includes(k + 1) ? html`<strong>${f(h)}</strong>` : f(h)}`,
  )}${words}.</p>`;
}
/** The first tokens of `ROUNDS` rounds, each with its own draft, as shares. */
function pileOf(rule: Rule, models: Models, n: number, seed: number) {
  const next = numbers(seed);
  const pile = models.p.map(() => 0);
  for (let k = 0; k < ROUNDS; k++) {
    const draft = Array.from({ length: n }, () => drawFrom(models.q, next()));
    const u = Array.from({ length: n }, next);
    const found = judge(rule, models, draft, u, Array.from({ length: n + 1 }, next));
    pile[found.accepted ? draft[0] : found.token] += 1 / ROUNDS;
  }
  return pile;
}
/** Bars of the emitted law, with the target's as marks, and the pile of thrown rounds as dots. */
function bars(first: number[], p: number[], tokens: string[], pile: number[] | null) {
  const most = Math.max(...first, ...p, ...(pile ?? []));
  const bar = (share: number, t: number) =>
    html`<code>${tokens[t]}</code>
      <div class="hsd-rl-track">
        <div class="hsd-rl-fill" .style=${`width: ${(100 * share) / most}%`}></div>
        <div class="hsd-rl-mark" .style=${`left: ${(100 * p[t]) / most}%`} title="target: ${f(p[t])}"></div>
        ${pile ? html`<div class="hsd-rl-pile" .style=${`left: ${(100 * pile[t]) / most}%`} title="thrown: ${f(pile[t])}"></div>` : nothing}
      </div>
      <span class="hsd-num">${f(share)}</span>`;
  return html`<div class="hsd-rl-bars">${first.map(bar)}</div>`;
}
function card(rule: Rule, models: Models, draft: number[], u: number[], r: number[], tokens: string[], thrown: number) {
  const found = judge(rule, models, draft, u, r);
  const law = lawOf(rule, models, draft.length);
  const lossy = isLossy(rule);
  const pile = thrown ? pileOf(rule, models, draft.length, thrown) : null;
  const off = pile && Math.max(...pile.map((share, t) => Math.abs(share - models.p[t])));
  const end =
    found.accepted === draft.length || rule === "typical"
      ? "from p"
      : rule === "match"
        ? "by the target"
        : "from the residual";
  return html`<section class="hsd-rl-rule" aria-label=${NAMES[rule]} data-rule=${rule} ?data-lossy=${lossy}>
    <div class="hsd-rl-name">
      <strong>${NAMES[rule]}</strong>
      <span class=${lossy ? "hsd-tag hsd-tag-lossy" : "hsd-tag"}>${lossy ? "not lossless" : "lossless"}</span>
    </div>
    <p class="hsd-rl-how">${HOW[rule]}</p>
    ${chain(draft, found, rule, tokens)}
    <ol class="hsd-rl-steps">
      ${found.steps.map((step) => html`<li>${said(rule, step, tokens)}</li>`)}
      <li>“${tokens[found.token]}” drawn ${end}</li>
    </ol>
    ${heights(rule, models, draft)}
    ${bars(law.first, models.p as number[], tokens, pile)}
    <dl class="hsd-rl-sum">
      <dt>Tokens per round</dt><dd>${law.tokens.toFixed(3)}</dd>
      ${off === null ? nothing : html`<dt>${ROUNDS} rounds: largest difference from p</dt><dd>${f(off)}</dd>`}
      <dt>Distance from the target</dt><dd>${law.distance < 1e-9 ? "0" : law.distance.toFixed(3)}</dd>
    </dl>
  </section>`;
}
const NOTE =
  "Exact sums over all drafts and outcomes; p and q are the same at every place. Bars: the law of the first emitted token; marks: the target’s, dots: thrown rounds. " +
  "Distance: total variation between texts of lookahead + 1 tokens and the target’s. " +
  "Token: Leviathan et al. 2023. Block: Sun et al. 2024. Typical acceptance: Cai et al. 2024 (Medusa).";
const EVENTS = "change:tokens change:p change:lookahead change:disagreement change:epsilon change:seed";

export default templated<Traits>(
  { tag: "section", class: "hsd-latency hsd-rl", events: EVENTS, behind: "--paper" },
  ({ model, root, paint }) => {
    root.setAttribute("role", "region");
    root.setAttribute("aria-label", "Rule lab");
    const stage = make("div", "hsd-rl-darts");
    const darts = createDarts(stage, 2);
    let thrown = 0;
    let shown = "";
    type Name = "lookahead" | "disagreement" | "epsilon" | "seed";
    function set(name: Name, value: number) {
      model.set(name, value);
      model.save_changes();
    }
    const slider = (name: Name, words: string, min: number, max: number, step: number) =>
      html`<label
        ><span><span>${words}</span><output>${model.get(name)}</output></span
        ><input
          type="range" min=${min} max=${max} step=${step} aria-label=${words} .value=${live(String(model.get(name)))}
          @input=${(e: { target: HTMLInputElement }) => set(name, Number(e.target.value))}
      ></label>`;
    return () => {
      const [p, tokens, n] = [model.get("p"), model.get("tokens"), model.get("lookahead")];
      const models = { p, q: disagreeing(p, model.get("disagreement")), epsilon: model.get("epsilon") };
      // Darts and piles are of these rows.
      const key = JSON.stringify([p, n, models.q, models.epsilon]);
      if (key !== shown) thrown = 0;
      shown = key;
      const next = numbers(model.get("seed"));
      const draft = Array.from({ length: n }, () => drawFrom(models.q, next()));
      const u = Array.from({ length: n }, next);
      const r = Array.from({ length: n + 1 }, next);
      const rows = [...p.keys()].map((t) => `${tokens[t]} ${f(p[t])} / ${f(models.q[t])}`).join(", ");
      const drafted = draft.map((d) => tokens[d]).join(" ");
      darts.show({
        board: boardOfRows(p, models.q),
        key,
        names: tokens,
        families: tokens.map(() => null),
        recorded: null,
        title: "One position: darts under p and q",
      });
      const throwAll = () => {
        thrown += 1;
        paint();
      };
      return html`<h3>One draft, six verification rules</h3>
        <div class="hsd-rl-form">
          ${slider("lookahead", "Lookahead", 1, 3, 1)}
          ${slider("disagreement", "Disagreement of the draft model", 0, 1, 0.05)}
          ${slider("epsilon", "Threshold ε of typical acceptance", 0.02, 0.6, 0.02)}
          <button @click=${() => set("seed", model.get("seed") + 1)}>Draw another draft</button>
          <button @click=${throwAll}>Throw 1 000 rounds</button>
        </div>
        <p class="hsd-rl-draft">Draft: ${drafted}, with u = ${u.map(f).join(", ")}. Probabilities p / q: ${rows}.</p>
        <div class="hsd-rl-rules">${RULES.map((rule) => card(rule, models, draft, u, r, tokens, thrown))}</div>
        ${stage}
        <p class="hsd-source">${NOTE}</p>`;
    };
  },
);
