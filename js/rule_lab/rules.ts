// Four verification rules on one draft: the exact distribution of what each emits, and its verdict
// for given random numbers.
// The models have no memory: p and q are the same row at every position.
import { numbers } from "../darts/board";
import { isWhole } from "../lib/facts";

export const RULES = ["token", "block", "branch", "typical"] as const;
export type Rule = (typeof RULES)[number];
export type Distribution = readonly number[];

export interface Models {
  p: Distribution;
  q: Distribution;
  /**
   * The threshold of typical acceptance: a token is accepted if p >= min(epsilon, epsilon^(1/2)
   * exp(-entropy of p)).
   */
  epsilon: number;
}
/** The comparison at one position of a draft: left < right accepts. */
export interface Step {
  place: number;
  left: number;
  right: number;
  accepted: boolean;
}
export interface Verdict {
  accepted: number;
  token: number;
  steps: Step[];
}
/** The tokens that a round may emit, with their probability. */
export interface Outcome {
  tokens: number[];
  chance: number;
}

const sum = (row: Distribution) => row.reduce((a, b) => a + b, 0);
/** Return the residual (w p - q)+, not normalized. */
const residual = (w: number, { p, q }: Models) => p.map((x, t) => Math.max(w * x - q[t], 0));

/** Draw a token with the uniform number `r`, as `hsd_viz.decoding.sampling.draw` does. */
export function drawFrom(row: Distribution, r: number): number {
  const mark = r * sum(row);
  let total = 0;
  for (let t = 0; t < row.length; t++) {
    total += row[t];
    if (total > mark) return t;
  }
  return row.reduce((last, x, t) => (x > 0 ? t : last), 0);
}
const typicalThreshold = ({ p, epsilon }: Models) =>
  Math.min(
    epsilon,
    Math.sqrt(epsilon) * Math.exp(sum(p.map((x) => (x > 0 ? x * Math.log(x) : 0)))),
  );

/**
 * Return the weights w_0 = 1, w_1, w_2, …. Block verification clips them at 1 in each step; branch
 * verification divides the joint ratio by its maximum so far.
 */
function weights(rule: Rule, { p, q }: Models, draft: number[]) {
  const w = [1];
  let ratio = 1;
  let cap = 1;
  for (const d of draft) {
    ratio *= p[d] / q[d];
    cap = Math.max(cap, ratio);
    w.push(rule === "block" ? Math.min(1, (w[w.length - 1] * p[d]) / q[d]) : ratio / cap);
  }
  return w;
}
/** Return the thresholds h_k, k = 1 .. n, of a rule that verifies the draft as a whole. */
export function thresholds(rule: Rule, m: Models, draft: number[]) {
  const w = weights(rule, m, draft);
  return draft.map((_, k) => {
    const s = sum(residual(w[k + 1], m));
    return k + 1 === draft.length || w[k + 1] >= 1 ? w[k + 1] : s / (s + 1 - w[k + 1]);
  });
}
/**
 * Return the probability of accepting exactly k tokens, k = 0 .. n, by a rule that verifies from
 * the end.
 */
function chancesFromEnd(rule: Rule, m: Models, draft: number[]): number[] {
  const h = thresholds(rule, m, draft);
  const chances = new Array(draft.length + 1).fill(0);
  let open = 1;
  for (let k = draft.length; k > 0; k--) {
    chances[k] = open * h[k - 1];
    open *= 1 - h[k - 1];
  }
  chances[0] = open;
  return chances;
}
/** Return the same probabilities for a rule that verifies token by token. */
function chancesInOrder(rule: Rule, m: Models, draft: number[]): number[] {
  const { p, q } = m;
  const passes = (d: number) =>
    rule === "token" ? Math.min(1, p[d] / q[d]) : Number(p[d] >= typicalThreshold(m));
  const chances: number[] = [];
  let reach = 1;
  for (const d of draft) {
    chances.push(reach * (1 - passes(d)));
    reach *= passes(d);
  }
  return [...chances, reach];
}
const chances = (rule: Rule, m: Models, draft: number[]) =>
  isWhole(rule) ? chancesFromEnd(rule, m, draft) : chancesInOrder(rule, m, draft);

/** Return the distribution of the token after k accepted ones, not normalized. */
function after(rule: Rule, m: Models, draft: number[], k: number): Distribution {
  if (k === draft.length || rule === "typical") return m.p;
  const residualRow = residual(isWhole(rule) ? weights(rule, m, draft)[k] : 1, m);
  // If p equals q, the residual is empty and a rejection has probability 0.
  return sum(residualRow) > 0 ? residualRow : m.p;
}

/** Yield all texts of n tokens. */
function* texts(vocabulary: number, n: number): Generator<number[]> {
  if (n === 0) yield [];
  else
    for (const head of texts(vocabulary, n - 1))
      for (let t = 0; t < vocabulary; t++) yield [...head, t];
}
/** Yield every outcome of one round with a draft of `n` tokens sampled from q. */
export function* outcomes(rule: Rule, m: Models, n: number): Generator<Outcome> {
  for (const draft of texts(m.q.length, n)) {
    const drafted = draft.reduce((chance, d) => chance * m.q[d], 1);
    if (drafted === 0) continue;
    const stops = chances(rule, m, draft);
    for (let k = 0; k <= n; k++) {
      if (stops[k] === 0) continue;
      const row = after(rule, m, draft, k);
      const total = sum(row);
      for (let t = 0; t < row.length; t++)
        if (row[t] > 0)
          yield {
            tokens: [...draft.slice(0, k), t],
            chance: (drafted * stops[k] * row[t]) / total,
          };
    }
  }
}
/**
 * Return the distributions of texts of 0 to `most` tokens. The index of a text is the number with
 * its tokens as digits in base |V|.
 */
function lawsOf(rounds: readonly Outcome[], vocabulary: number, most: number): number[][] {
  const laws: number[][] = [[1]];
  for (let length = 1; length <= most; length++) {
    const law = new Array(vocabulary ** length).fill(0);
    for (const { tokens, chance } of rounds) {
      const head = tokens.slice(0, length);
      const index = head.reduce((at, t) => at * vocabulary + t, 0);
      // The text continues with further rounds.
      const continuations = laws[length - head.length];
      for (let k = 0; k < continuations.length; k++)
        law[index * continuations.length + k] += chance * continuations[k];
    }
    laws.push(law);
  }
  return laws;
}

/** Return the probability of the text of n tokens with index `place` by the target alone. */
function chanceByTarget(p: Distribution, place: number, n: number): number {
  let chance = 1;
  let digits = place;
  for (let k = 0; k < n; k++) {
    chance *= p[digits % p.length];
    digits = Math.floor(digits / p.length);
  }
  return chance;
}

/**
 * Analyse the text that rounds of a rule emit with drafts of `n` tokens: the distribution of its
 * first token; the total variation distance between texts of n + 1 tokens by the rule and by the
 * target; and the expected tokens per round (accepted ones and one more).
 */
export function lawOf(rule: Rule, m: Models, n: number) {
  const rounds = [...outcomes(rule, m, n)];
  const laws = lawsOf(rounds, m.p.length, n + 1);
  const differences = laws[n + 1].map((chance, place) =>
    Math.abs(chance - chanceByTarget(m.p, place, n + 1)),
  );
  return {
    first: laws[1],
    distance: sum(differences) / 2,
    tokens: sum(rounds.map(({ tokens, chance }) => chance * tokens.length)),
  };
}

/**
 * Return the verdict of a rule on a draft: `u[k]` decides on token k, `r[k]` draws the token at
 * position k.
 */
export function judge(rule: Rule, m: Models, draft: number[], u: number[], r: number[]): Verdict {
  const { accepted, steps } = isWhole(rule)
    ? judgeFromEnd(rule, m, draft, u)
    : judgeInOrder(rule, m, draft, u);
  return { accepted, token: drawFrom(after(rule, m, draft, accepted), r[accepted]), steps };
}
/** Accept up to the last position with u < h. */
function judgeFromEnd(rule: Rule, m: Models, draft: number[], u: number[]) {
  const h = thresholds(rule, m, draft);
  const steps: Step[] = [];
  for (let place = draft.length - 1; place >= 0; place--) {
    const accepted = u[place] < h[place];
    steps.push({ place, left: u[place], right: h[place], accepted });
    if (accepted) return { accepted: place + 1, steps };
  }
  return { accepted: 0, steps };
}
/** Accept the tokens before the first rejected one. */
function judgeInOrder(rule: Rule, m: Models, draft: number[], u: number[]) {
  const steps: Step[] = [];
  for (const [place, d] of draft.entries()) {
    const isTypical = rule === "typical";
    const left = isTypical ? typicalThreshold(m) : u[place] * m.q[d];
    const right = m.p[d];
    const accepted = isTypical ? left <= right : left < right;
    steps.push({ place, left, right, accepted });
    if (!accepted) return { accepted: place, steps };
  }
  return { accepted: draft.length, steps };
}

/** Interpolate between `p` (share 0: the draft model agrees) and p in reverse order (share 1). */
export function disagreeing(p: Distribution, share: number): number[] {
  const order = p.map((x, t) => [x, t] as const).sort((a, b) => a[0] - b[0]);
  const turned = p.map(
    (_, t) => order[order.length - 1 - order.findIndex(([, at]) => at === t)][0],
  );
  const row = p.map((x, t) => (1 - share) * x + share * turned[t]);
  const total = sum(row);
  return row.map((x) => x / total);
}

/** Draw a draft of `n` tokens from q with a seed, and judge it by each rule. */
export function tried(m: Models, n: number, seed: number) {
  const next = numbers(seed);
  const draft = Array.from({ length: n }, () => drawFrom(m.q, next()));
  const u = Array.from({ length: n }, next);
  const r = Array.from({ length: n + 1 }, next);
  return { draft, u, verdicts: RULES.map((rule) => judge(rule, m, draft, u, r)) };
}
