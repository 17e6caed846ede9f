// The rule lab: one draft, four verification rules. All sums are exact and made here, from two rows
// of probabilities.
import { html, nothing } from "lit-html";
import { slider } from "../lib/fields";
import { templated } from "../lib/widget";
import { figure } from "../lib/words";
import {
  disagreeing,
  isWhole,
  lawOf,
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
const SLIDERS = [
  ["lookahead", "Lookahead", 1, 3, 1],
  ["disagreement", "Disagreement of the draft model", 0, 1, 0.05],
  ["epsilon", "Threshold ε of typical acceptance", 0.02, 0.6, 0.02],
] as const;
const f = figure;

/** The comparison at one place, as text. */
function said(rule: Rule, { place, left, right, accepted }: Step) {
  if (rule === "typical")
    return `Place ${place + 1}: p = ${f(right)} ${accepted ? "≥" : "<"} threshold ${f(left)}`;
  const [a, b] = isWhole(rule) ? ["u", "h"] : ["u·q", "p"];
  return `Place ${place + 1}: ${a} = ${f(left)} ${accepted ? "<" : "≥"} ${b} = ${f(right)}`;
}

export default templated<Traits>({ class: "hsd-latency hsd-rl", label: "Rule lab" }, (get, put) => {
  const p = get("p");
  const tokens = get("tokens");
  const n = get("lookahead");
  const models = { p, q: disagreeing(p, get("disagreement")), epsilon: get("epsilon") };
  const { draft, u, verdicts } = tried(models, n, get("seed"));
  const rows = tokens.map((token, t) => `${token} ${f(p[t])} / ${f(models.q[t])}`).join(", ");

  /** The draft's tokens with their verdicts, and the rule's own token. */
  const chain = (rule: Rule, { accepted, token }: Verdict) => {
    const chip = (t: number, verdict: string, title = verdict) =>
      html`<span class="hsd-rl-token" data-verdict=${verdict} title=${title}>${tokens[t]}</span>`;
    const examined = isWhole(rule) ? n : accepted + 1;
    const fate = (k: number) =>
      k < accepted ? "accepted" : k < examined ? "rejected" : "unreached";
    return html`<div class="hsd-rl-tokens">
      ${draft.map((t, k) => chip(t, fate(k)))}${chip(
        token,
        "own",
        accepted === n ? "bonus token" : "correction",
      )}
    </div>`;
  };
  const card = (rule: Rule, k: number) => {
    const [name, how] = WORDS[rule];
    const found = verdicts[k];
    const law = lawOf(rule, models, n);
    const lossy = rule === "typical";
    const most = Math.max(...law.first, ...p);
    return html`<section
      class="hsd-rl-rule"
      aria-label=${name}
      data-rule=${rule}
      ?data-lossy=${lossy}
    >
      <div class="hsd-rl-name">
        <strong>${name}</strong> <span>${lossy ? "not lossless" : "lossless"}</span>
      </div>
      <p class="hsd-note">${how}</p>
      ${chain(rule, found)}
      <ol class="hsd-rl-steps">
        ${found.steps.map((step) => html`<li>${said(rule, step)}</li>`)}
        <li>
          “${tokens[found.token]}” drawn from
          ${found.accepted === n || lossy ? "p" : "the residual"}
        </li>
        ${
          isWhole(rule)
            ? html`<li>h = ${thresholds(rule, models, draft).map(f).join(", ")}</li>`
            : nothing
        }
      </ol>
      <div class="hsd-rl-bars">
        ${law.first.map(
          (share, t) =>
            html`<code>${tokens[t]}</code>
              <div class="hsd-rl-track">
                <div class="hsd-rl-fill" .style=${`width: ${(100 * share) / most}%`}></div>
                <div
                  class="hsd-rl-mark"
                  .style=${`left: ${(100 * p[t]) / most}%`}
                  title="target: ${f(p[t])}"
                ></div>
              </div>
              <span>${f(share)}</span>`,
        )}
      </div>
      <dl class="hsd-rl-sum">
        <dt>Tokens per round</dt>
        <dd>${law.tokens.toFixed(3)}</dd>
        <dt>Distance from the target</dt>
        <dd>${law.distance < 1e-9 ? "0" : law.distance.toFixed(3)}</dd>
      </dl>
    </section>`;
  };
  return html`<h3>One draft, four verification rules</h3>
    <div class="hsd-rl-form">
      ${SLIDERS.map(
        ([name, words, min, max, step]) =>
          html`<label
            ><span>${words} <output>${get(name)}</output></span
            >${slider(min, max, step, get(name), (v) => put({ [name]: v }))}</label
          >`,
      )}<button @click=${() => put({ seed: get("seed") + 1 })}>Draw another draft</button>
    </div>
    <p class="hsd-note">
      Draft: ${draft.map((t) => tokens[t]).join(" ")}, with u = ${u.map(f).join(", ")}.
      Probabilities p / q: ${rows}.
    </p>
    <div class="hsd-rl-rules">${RULES.map(card)}</div>
    <p class="hsd-source">${WORDS.note}</p>`;
});
