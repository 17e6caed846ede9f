// Headlines of a run and its tabs: a sentence that begins with a figure, and the figure's origin.
import { html, nothing } from "lit-html";
import { gainOf, metricsOf, REPETITIVE } from "../lib/metrics";
import type { Store as Run } from "../lib/run";
import { isPlain } from "../lib/stack";
import { duration, plural, timeShare } from "../lib/words";
import { textOf } from "../locality_map/passages";
import type { Chip } from "./origin";
import { type Spent, spendingOf } from "./spending";

export interface Headline {
  figure: string;
  words: string;
}

const percent = (share: number) => `${(100 * share).toFixed(share < 0.01 ? 1 : 0)} %`;

/**
 * Return the template of a headline with the origin of its figure; nothing without a headline. The
 * result on many prompts, if there is one, comes before the figure of this text.
 */
export function headlineOf(found: Headline | null | undefined, origin: readonly Chip[]) {
  if (!found) return nothing;
  const typical = origin.find(({ figure }) => figure);
  const lead = typical ? html`<strong>${typical.figure}</strong> usually; this text ` : nothing;
  const chip = ({ figure, words, detail, warns, title }: Chip) => {
    const kind = figure ? "hsd-chip-typical" : warns ? "hsd-chip-warns" : nothing;
    return html`<span class=${kind} title=${title ?? nothing}
      >${words}${detail ? html`<span>${detail}</span>` : nothing}</span
    >`;
  };
  return html`${lead}<strong>${found.figure}</strong> ${found.words}
    <span class="hsd-chips">${origin.map(chip)}</span>`;
}

/** Describe the speed of a run and its cause; null before its first token. */
export function speedOf(run: Run): Headline | null {
  const m = metricsOf(run);
  if (!m.tokens || !m.rounds) return null;
  const speed = `${(m.tokens_per_second ?? 0).toFixed(0)} tokens/s`;
  if (isPlain(run.meta.stack)) {
    return { figure: speed, words: "plain decoding: each pass of the model brings one token." };
  }
  const each = m.tokens / m.rounds;
  const brought = `a pass with its draft brought ${each.toFixed(1)} tokens`;
  const gain = gainOf(run, m);
  if (!gain) return { figure: speed, words: `${brought}. Plain decoding was not measured.` };
  const times = `${gain.value.toFixed(2)} ×`;
  if (gain.impossible) {
    const words = `is impossible at ${each.toFixed(1)} tokens per pass: timings were disturbed.`;
    return { figure: times, words };
  }
  const cost = `cost ${(each / gain.value).toFixed(1)} plain passes`;
  const repeats =
    m.repetition_share >= REPETITIVE ? " The text repeats itself, which favours drafting." : "";
  const words = `the speed of plain decoding: ${brought} and ${cost}.${repeats}`;
  return { figure: times, words };
}

/** Describe how many draft tokens were accepted. */
export function acceptedOf(run: Run): Headline | null {
  const m = metricsOf(run);
  if (!m.tokens || m.acceptance_rate === null) return null;
  const words = `of the draft tokens were accepted: ${m.accepted} of ${m.drafted}.`;
  return { figure: percent(m.acceptance_rate), words };
}

/** Describe how much of the text is copied from earlier text. */
export function copiesOf(run: Run): Headline | null {
  const { passages } = textOf(run);
  const tokens = passages.reduce((sum, passage) => sum + passage.length, 0);
  const written = run.tokens.length;
  if (!written) return null;
  const where = tokens ? `, in ${plural(passages.length, "passage")}` : "";
  const words = `of the text was copied from earlier text: ${tokens} of ${written} tokens${where}.`;
  return { figure: percent(tokens / written), words };
}

/** Describe how the time of a run is divided. */
export function timeOf(run: Run): Headline | null {
  const parts = spendingOf(run);
  const total = parts.reduce((sum, { ns }) => sum + ns, 0);
  if (!total) return null;
  const share = (fits: (part: Spent) => boolean) =>
    timeShare(parts.reduce((sum, part) => sum + (fits(part) ? part.ns : 0), 0) / total);
  if (!metricsOf(run).drafted) {
    const words = `of ${duration(total)} is passes of the target, one for each token.`;
    return { figure: share(({ source }) => source === "target"), words };
  }
  const drafting = share(({ source }) => Boolean(source) && source !== "target");
  const words =
    `of the time, ${duration(total)}, went into rejected draft tokens, ` +
    `${drafting} into drafting.`;
  return { figure: share(({ isRejected }) => isRejected === true), words };
}
