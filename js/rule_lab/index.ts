// The rule lab: four verification rules on one draft. All results are exact, computed here from two
// rows of probabilities.
import { html, nothing } from "lit-html";
import { isWhole } from "../lib/facts";
import { slider } from "../lib/fields";
import { tableOf } from "../lib/table";
import { templated } from "../lib/widget";
import { figure } from "../lib/words";
import {
  type Distribution,
  disagreeing,
  lawOf,
  type Models,
  RULES,
  type Rule,
  type Step,
  thresholds,
  tried,
  type Verdict,
} from "./rules";
import WORDS from "./words.json";

interface Traits {
  tokens: string[];
  p: number[];
  lookahead: number;
  disagreement: number;
  epsilon: number;
  seed: number;
}
/** Sliders of the form: trait, label and range. */
const SLIDERS = [
  ["lookahead", "Lookahead", 1, 3, 1],
  ["disagreement", "Disagreement of the draft model", 0, 1, 0.05],
  ["epsilon", "Threshold ε of typical acceptance", 0.02, 0.6, 0.02],
] as const;
/** Distances below this are rounding errors. */
const ROUNDING = 1e-9;

/** A draft in the lab, with the names of its tokens. */
interface Trial {
  tokens: readonly string[];
  models: Models;
  /** Indices of the draft tokens. */
  draft: number[];
}

/** The rules in reading order; branch verification has the verdicts of the block's. */
const SHOWN = ["token", "block", "typical"] as const;
type ShownRule = (typeof SHOWN)[number];
type Law = ReturnType<typeof lawOf>;
const isLossless = (rule: Rule) => rule !== "typical";

/** Describe the comparison at one position. */
export function stepText(rule: Rule, { place, left, right, accepted }: Step) {
  const position = `Place ${place + 1}`;
  if (rule === "typical")
    return `${position}: p = ${figure(right)} ${accepted ? "≥" : "<"} threshold ${figure(left)}`;
  const [low, high] = isWhole(rule) ? ["u", "h"] : ["u·q", "p"];
  return `${position}: ${low} = ${figure(left)} ${accepted ? "<" : "≥"} ${high} = ${figure(right)}`;
}

/** Return the verdict on each token of a draft of `n` tokens. */
export function fatesOf(rule: Rule, accepted: number, n: number) {
  const examined = isWhole(rule) ? n : accepted + 1;
  const fate = (k: number) => {
    if (k < accepted) return "accepted";
    return k < examined ? "rejected" : "unreached";
  };
  return Array.from({ length: n }, (_, k) => fate(k));
}

/** The draft tokens with their verdicts, and the own token of the round. */
function chainOf({ tokens, draft }: Trial, rule: Rule, { accepted, token }: Verdict) {
  const chip = (t: number, verdict: string, title = verdict) =>
    html`<span class="hsd-rl-token" data-verdict=${verdict} title=${title}>${tokens[t]}</span>`;
  const fates = fatesOf(rule, accepted, draft.length);
  const ownKind = accepted === draft.length ? "bonus token" : "correction";
  return html`<div class="hsd-rl-tokens">
    ${draft.map((t, k) => chip(t, fates[k]))}${chip(token, "own", ownKind)}
  </div>`;
}

/** The steps by which the rule reached its verdict. */
function stepsOf({ tokens, models, draft }: Trial, rule: Rule, verdict: Verdict) {
  const fromP = verdict.accepted === draft.length || !isLossless(rule);
  const h = isWhole(rule) ? thresholds(rule, models, draft).map(figure) : [];
  return html`<ol class="hsd-rl-steps">
    ${verdict.steps.map((step) => html`<li>${stepText(rule, step)}</li>`)}
    <li>“${tokens[verdict.token]}” drawn from ${fromP ? "p" : "the residual"}</li>
    ${h.length ? html`<li>h = ${h.join(", ")}</li>` : nothing}
  </ol>`;
}

/** The draft with its random numbers, and the probabilities of both models. */
function draftTemplate({ tokens, models: { p, q }, draft }: Trial, u: readonly number[]) {
  const heads = ["token", ...tokens.map((token) => html`<code>${token}</code>`)];
  const rows = [
    ["p, the model", ...p.map(figure)],
    ["q, the drafter", ...q.map(figure)],
  ];
  const chip = (t: number, k: number) =>
    html`<span class="hsd-rl-token">${tokens[t]}</span> u = ${figure(u[k])}`;
  return html`<div class="hsd-rl-draft">
    ${tableOf("Probabilities", heads, rows)}
    <p>Draft: ${draft.map(chip)}</p>
  </div>`;
}

/** The ends and the middle of the axis of probabilities. */
const TICKS = [0, 0.5, 1];
const percent = (share: number) => `${100 * share}%`;

/** How often each token comes first, by the lossless rules and by the other one; marks are at p. */
function chartOf({ tokens, models: { p } }: Trial, lossless: Distribution, lossy: Distribution) {
  const bar = (share: number, kind: string) =>
    html`<div class="hsd-rl-fill" data-kind=${kind} .style=${`width: ${percent(share)}`}></div>`;
  const row = (token: string, t: number) =>
    html`<code>${token}</code>
      <div class="hsd-rl-track" title="p ${figure(p[t])}">
        ${bar(lossless[t], "lossless")}${bar(lossy[t], "lossy")}
        <div class="hsd-rl-mark" .style=${`left: ${percent(p[t])}`}></div>
      </div>
      <span>${figure(lossless[t])}<span data-kind="lossy">${figure(lossy[t])}</span></span>`;
  return html`<div class="hsd-rl-chart">
    <p class="hsd-rl-key">
      <span>How often each token comes first:</span>
      <span data-kind="lossless"><i></i>token, block, branch: exactly p</span>
      <span data-kind="lossy"><i></i>typical acceptance: not p</span>
    </p>
    <div class="hsd-rl-bars">
      ${tokens.map(row)}
      <div class="hsd-rl-ticks" aria-hidden="true">
        ${TICKS.map((tick) => html`<span .style=${`left: ${percent(tick)}`}>${tick}</span>`)}
      </div>
    </div>
  </div>`;
}

/** The row of a rule: its verdict on the draft, and what it costs and changes. */
function ruleRow(trial: Trial, rule: ShownRule, verdict: Verdict, law: Law) {
  const [name, how] = WORDS[rule];
  const lossless = isLossless(rule);
  const distance = law.distance < ROUNDING ? "0" : law.distance.toFixed(3);
  return html`<section
    class="hsd-rl-rule"
    aria-label=${name}
    data-kind=${lossless ? "lossless" : "lossy"}
  >
    <p class="hsd-rl-name">
      <strong>${name}</strong> <span>${lossless ? "lossless" : "not lossless"}</span>
    </p>
    <div>
      ${chainOf(trial, rule, verdict)}
      <details class="hsd-note">
        <summary>How it decides</summary>
        <p>${how}</p>
        ${stepsOf(trial, rule, verdict)}
      </details>
    </div>
    <p class="hsd-rl-sum">
      <strong>${law.tokens.toFixed(2)}</strong> <span>tokens per round</span>
    </p>
    <p class="hsd-rl-sum"><strong>${distance}</strong> <span>distance from p</span></p>
  </section>`;
}

export default templated<Traits>({ class: "hsd-latency hsd-rl", label: "Rule lab" }, (get, put) => {
  const p = get("p");
  const tokens = get("tokens");
  const models = { p, q: disagreeing(p, get("disagreement")), epsilon: get("epsilon") };
  const { draft, u, verdicts } = tried(models, get("lookahead"), get("seed"));
  const trial = { tokens, models, draft };
  const laws = SHOWN.map((rule) => lawOf(rule, models, draft.length));
  const [token, , typical] = laws;
  return html`<h3>One draft, four verification rules</h3>
    <div class="hsd-rl-top">
      ${chartOf(trial, token.first, typical.first)}
      <div class="hsd-rl-form">
        ${SLIDERS.map(
          ([name, words, min, max, step]) =>
            html`<label
              ><span>${words} <output>${get(name)}</output></span
              >${slider(min, max, step, get(name), (v) => put({ [name]: v }))}</label
            >`,
        )}<button @click=${() => put({ seed: get("seed") + 1 })}>Draw another draft</button>
      </div>
    </div>
    ${draftTemplate(trial, u)}
    <div class="hsd-rl-rules">
      ${SHOWN.map((rule, k) => ruleRow(trial, rule, verdicts[RULES.indexOf(rule)], laws[k]))}
    </div>
    <p class="hsd-source">${WORDS.note}</p>`;
});
