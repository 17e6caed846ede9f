// The rule lab: one draft, four verification rules. All sums are exact and made here, from two rows of probabilities.
import { html } from "lit-html";
import { live } from "lit-html/directives/live.js";
import { templated } from "../lib/template";
import type { Models, Rule, Step, Verdict } from "./rules";
import { disagreeing, drawFrom, judge, lawOf, numbers, RULES } from "./rules";

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
  match: "Sampler-match",
  typical: "Typical acceptance",
};
const HOW: Record<Rule, string> = {
  token: "Accept a token while u·q < p; after a rejection, draw from (p − q)+.",
  block: "Judge the draft as a whole, from its end: accept up to the last place with u < h; draw from (w·p − q)+.",
  match: "The target draws its own token at each place; the draft is accepted while it is the same token.",
  typical: "Accept a token whose p is above a threshold; draw the next one from p. No random number decides.",
};
const f = (x: number) => (x === 0 || x === 1 ? String(x) : x.toFixed(3));

/** The comparison at one place, as text. */
function said(rule: Rule, step: Step, tokens: string[]) {
  const where = `Place ${step.place + 1}: `;
  const sign = step.accepted ? "<" : "≥";
  if (rule === "match")
    return `${where}target drew “${tokens[step.drew as number]}”: ${step.accepted ? "the same" : "another token"}`;
  if (rule === "typical") return `${where}p = ${f(step.right)} ${step.accepted ? "≥" : "<"} threshold ${f(step.left)}`;
  return `${where}${rule === "block" ? "u" : "u·q"} = ${f(step.left)} ${sign} ${rule === "block" ? "h" : "p"} = ${f(step.right)}`;
}
/** The draft's tokens with their verdicts, and the rule's own token. */
function chain(draft: number[], found: Verdict, rule: Rule, tokens: string[]) {
  const chip = (token: number, verdict: string, title: string) =>
    html`<span class="hsd-rl-token" data-verdict=${verdict} title=${title}>${tokens[token]}</span>`;
  const last = rule === "block" ? draft.length : found.accepted + 1;
  const chips = draft.map((token, k) => {
    const verdict = k < found.accepted ? "accepted" : k < last ? "rejected" : "unreached";
    return chip(token, verdict, verdict === "unreached" ? "not examined" : verdict);
  });
  const own = chip(found.token, "own", found.accepted === draft.length ? "bonus token" : "correction");
  return html`<div class="hsd-rl-tokens">${chips}${own}</div>`;
}
/** Bars of the emitted law, with the target's as marks. */
function bars(first: number[], p: number[], tokens: string[]) {
  const most = Math.max(...first, ...p);
  const bar = (share: number, t: number) =>
    html`<code>${tokens[t]}</code>
      <div class="hsd-rl-track">
        <div class="hsd-rl-fill" .style=${`width: ${(100 * share) / most}%`}></div>
        <div class="hsd-rl-mark" .style=${`left: ${(100 * p[t]) / most}%`} title="target: ${f(p[t])}"></div>
      </div>
      <span class="hsd-num">${f(share)}</span>`;
  return html`<div class="hsd-rl-bars">${first.map(bar)}</div>`;
}
function card(rule: Rule, models: Models, draft: number[], u: number[], r: number[], tokens: string[]) {
  const found = judge(rule, models, draft, u, r);
  const law = lawOf(rule, models, draft.length);
  const lossy = rule === "typical";
  const end =
    found.accepted === draft.length || lossy ? "from p" : rule === "match" ? "by the target" : "from the residual";
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
    ${bars(law.first, models.p as number[], tokens)}
    <dl class="hsd-rl-sum">
      <dt>Tokens per round</dt><dd>${law.tokens.toFixed(3)}</dd>
      <dt>Distance from the target</dt><dd>${law.distance < 1e-9 ? "0" : law.distance.toFixed(3)}</dd>
    </dl>
  </section>`;
}
const NOTE =
  "Exact sums over all drafts and outcomes; p and q are the same at every place. Bars: the law of the first emitted token; marks: the target’s. " +
  "Distance: total variation between texts of lookahead + 1 tokens and the target’s. " +
  "Token: Leviathan et al. 2023. Block: Sun et al. 2024. Typical acceptance: Cai et al. 2024 (Medusa).";
const EVENTS = "change:tokens change:p change:lookahead change:disagreement change:epsilon change:seed";

export default templated<Traits>(
  { tag: "section", class: "hsd-latency hsd-rl", events: EVENTS, behind: "--paper" },
  ({ model, root }) => {
    root.setAttribute("role", "region");
    root.setAttribute("aria-label", "Rule lab");
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
      const next = numbers(model.get("seed"));
      const draft = Array.from({ length: n }, () => drawFrom(models.q, next()));
      const u = Array.from({ length: n }, next);
      const r = Array.from({ length: n + 1 }, next);
      const rows = [...p.keys()].map((t) => `${tokens[t]} ${f(p[t])} / ${f(models.q[t])}`).join(", ");
      const drafted = draft.map((d) => tokens[d]).join(" ");
      return html`<h3>One draft, four verification rules</h3>
        <div class="hsd-rl-form">
          ${slider("lookahead", "Lookahead", 1, 3, 1)}
          ${slider("disagreement", "Disagreement of the draft model", 0, 1, 0.05)}
          ${slider("epsilon", "Threshold ε of typical acceptance", 0.02, 0.6, 0.02)}
          <button @click=${() => set("seed", model.get("seed") + 1)}>Draw another draft</button>
        </div>
        <p class="hsd-rl-draft">Draft: ${drafted}, with u = ${u.map(f).join(", ")}. Probabilities p / q: ${rows}.</p>
        <div class="hsd-rl-rules">${RULES.map((rule) => card(rule, models, draft, u, r, tokens))}</div>
        <p class="hsd-source">${NOTE}</p>`;
    };
  },
);
