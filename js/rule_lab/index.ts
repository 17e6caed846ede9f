// The rule lab: one draft, four verification rules. All sums are exact and made here, from two rows of probabilities.

import { followTheme, make } from "../lib/dom";
import { guarded } from "../lib/notice";
import type { Drawing } from "../lib/widget";
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
  const row = make("div", "hsd-rl-tokens");
  draft.forEach((token, k) => {
    const last = rule === "block" ? draft.length : found.accepted + 1;
    const verdict = k < found.accepted ? "accepted" : k < last ? "rejected" : "unreached";
    const chip = make("span", "hsd-rl-token", tokens[token]);
    chip.dataset.verdict = verdict;
    chip.title = verdict === "unreached" ? "not examined" : verdict;
    row.append(chip);
  });
  const own = make("span", "hsd-rl-token", tokens[found.token]);
  own.dataset.verdict = "own";
  own.title = found.accepted === draft.length ? "bonus token" : "correction";
  row.append(own);
  return row;
}
/** Bars of the emitted law, with the target's as marks. */
function bars(first: number[], p: number[], tokens: string[]) {
  const box = make("div", "hsd-rl-bars");
  const most = Math.max(...first, ...p);
  first.forEach((share, t) => {
    const track = make("div", "hsd-rl-track");
    const fill = make("div", "hsd-rl-fill");
    fill.style.width = `${(100 * share) / most}%`;
    const mark = make("div", "hsd-rl-mark");
    mark.style.left = `${(100 * p[t]) / most}%`;
    mark.title = `target: ${f(p[t])}`;
    track.append(fill, mark);
    box.append(make("code", "", tokens[t]), track, make("span", "hsd-num", f(share)));
  });
  return box;
}
function card(rule: Rule, models: Models, draft: number[], u: number[], r: number[], tokens: string[]) {
  const found = judge(rule, models, draft, u, r);
  const law = lawOf(rule, models, draft.length);
  const root = make("section", "hsd-rl-rule");
  root.setAttribute("aria-label", NAMES[rule]);
  root.dataset.rule = rule;
  const name = make("div", "hsd-rl-name");
  const lossy = rule === "typical";
  if (lossy) root.dataset.lossy = "";
  name.append(
    make("strong", "", NAMES[rule]),
    make("span", lossy ? "hsd-tag hsd-tag-lossy" : "hsd-tag", lossy ? "not lossless" : "lossless"),
  );
  const steps = make("ol", "hsd-rl-steps");
  for (const step of found.steps) steps.append(make("li", "", said(rule, step, tokens)));
  const end =
    found.accepted === draft.length || rule === "typical"
      ? "from p"
      : rule === "match"
        ? "by the target"
        : "from the residual";
  steps.append(make("li", "", `“${tokens[found.token]}” drawn ${end}`));
  const sums = make("dl", "hsd-rl-sum");
  const fact = (what: string, value: string) => sums.append(make("dt", "", what), make("dd", "", value));
  fact("Tokens per round", law.tokens.toFixed(3));
  fact("Distance from the target", law.distance < 1e-9 ? "0" : law.distance.toFixed(3));
  root.append(
    name,
    make("p", "hsd-rl-how", HOW[rule]),
    chain(draft, found, rule, tokens),
    steps,
    bars(law.first, models.p as number[], tokens),
    sums,
  );
  return root;
}

function render({ model, el }: Drawing<Traits>) {
  const root = make("section", "hsd-latency hsd-rl");
  root.setAttribute("role", "region");
  root.setAttribute("aria-label", "Rule lab");
  const unfollow = followTheme(root, { behind: "--paper" });
  const form = make("div", "hsd-rl-form");
  const drafted = make("p", "hsd-rl-draft");
  const rules = make("div", "hsd-rl-rules");
  const note = make(
    "p",
    "hsd-source",
    "Exact sums over all drafts and outcomes; p and q are the same at every place. Bars: the law of the first emitted token; marks: the target’s. " +
      "Distance: total variation between texts of lookahead + 1 tokens and the target’s. " +
      "Token: Leviathan et al. 2023. Block: Sun et al. 2024. Typical acceptance: Cai et al. 2024 (Medusa).",
  );
  root.append(make("h3", "", "One draft, four verification rules"), form, drafted, rules, note);
  el.append(root);

  const shows: (() => void)[] = [];
  function slider(
    name: "lookahead" | "disagreement" | "epsilon",
    words: string,
    min: number,
    max: number,
    step: number,
  ) {
    const label = make("label");
    const head = make("span");
    const value = make("output");
    const input = make("input");
    Object.assign(input, { type: "range", min: String(min), max: String(max), step: String(step) });
    input.setAttribute("aria-label", words);
    input.addEventListener("input", () => {
      model.set(name, Number(input.value));
      model.save_changes();
      paint();
    });
    shows.push(() => {
      input.value = String(model.get(name));
      value.textContent = String(model.get(name));
    });
    head.append(make("span", "", words), value);
    label.append(head, input);
    form.append(label);
  }
  slider("lookahead", "Lookahead", 1, 3, 1);
  slider("disagreement", "Disagreement of the draft model", 0, 1, 0.05);
  slider("epsilon", "Threshold ε of typical acceptance", 0.02, 0.6, 0.02);
  const again = make("button", "", "Draw another draft");
  again.addEventListener("click", () => {
    model.set("seed", model.get("seed") + 1);
    model.save_changes();
    paint();
  });
  form.append(again);

  function paint() {
    for (const show of shows) show();
    const [p, tokens, n] = [model.get("p"), model.get("tokens"), model.get("lookahead")];
    const models = { p, q: disagreeing(p, model.get("disagreement")), epsilon: model.get("epsilon") };
    const next = numbers(model.get("seed"));
    const draft = Array.from({ length: n }, () => drawFrom(models.q, next()));
    const u = Array.from({ length: n }, next);
    const r = Array.from({ length: n + 1 }, next);
    const rows = [...p.keys()].map((t) => `${tokens[t]} ${f(p[t])} / ${f(models.q[t])}`).join(", ");
    drafted.textContent = `Draft: ${draft.map((d) => tokens[d]).join(" ")}, with u = ${u.map(f).join(", ")}. Probabilities p / q: ${rows}.`;
    rules.replaceChildren(...RULES.map((rule) => card(rule, models, draft, u, r, tokens)));
  }
  const events = "change:tokens change:p change:lookahead change:disagreement change:epsilon change:seed";
  model.on(events, paint);
  paint();
  return () => {
    model.off(events, paint);
    unfollow();
    root.remove();
  };
}
export default { render: guarded(render) };
