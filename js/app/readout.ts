// Tiles with the metrics of a run, and the caveats of its speed-up. Computed from the columns, also
// while the run is in progress.
import { html, nothing } from "lit-html";
import DEFINITIONS from "../lib/definitions.json";
import { stackName } from "../lib/drafter_names";
import { losslessText } from "../lib/facts";
import { gainOf, impossible, metricsOf, REPETITIVE } from "../lib/metrics";
import type { Store as Run } from "../lib/run";
import { isPlain, type Sources } from "../lib/stack";
import { term } from "../lib/tip";
import { plural } from "../lib/words";
import { loadText } from "./origin";

const STOPS: Record<string, string> = {
  lost: "the host was lost",
  failed: "an error",
  eos: "end of text",
  context: "context full",
  cancelled: "cancelled",
  length: "token limit",
};
const fixed = (x: number | null, digits: number) => (x === null ? "–" : x.toFixed(digits));

/**
 * Describe the baseline of a speed-up. Over several pairs of runs, the speed-up is the median of
 * their ratios, and not the ratio of the two speeds shown.
 */
function overPlain(
  run: Run,
  gain: NonNullable<ReturnType<typeof gainOf>>,
  length: number | null,
): string {
  const plain = `${fixed(run.meta.plain?.tokens_per_second ?? null, 0)} tokens/s`;
  if (gain.pairs === 1) return `over plain decoding: ${plain}`;
  const median = `median of ${gain.pairs} pairs`;
  if (impossible(gain.own, length)) return `${median}; the pair of this run was disturbed`;
  return `${median}; the pair of this run: ${gain.own.toFixed(2)}× over ${plain}`;
}

type Tile = [label: keyof typeof DEFINITIONS, value: string, unit: string, note: string];
/** Return the tiles of a run. */
export function tilesOf(run: Run) {
  const m = metricsOf(run);
  const gain = gainOf(run, m);
  let note = "plain decoding was not measured";
  if (isPlain(run.meta.stack)) note = "this is plain decoding";
  else if (gain?.impossible) note = "timings disturbed: see below";
  else if (gain) {
    if (m.repetition_share >= REPETITIVE) note = "the text repeats itself, which favours drafting";
    else note = overPlain(run, gain, m.mean_acceptance_length);
  }
  const showsGain = gain && !gain.impossible && !isPlain(run.meta.stack);
  const speed = fixed(m.tokens_per_second, 0);
  const rate = m.acceptance_rate === null ? "–" : `${Math.round(100 * m.acceptance_rate)}%`;
  const passes = `tokens per target forward pass; ${plural(m.rounds, "pass")}`;
  const finding = m.draft_seconds_per_round ? (m.draft_seconds_per_round * 1e6).toFixed(0) : "–";
  const tiles: Tile[] = [
    ["Speed", speed, "tokens/s", `${plural(m.tokens, "token")}, without prefill`],
    ["Speed-up", showsGain ? gain.value.toFixed(2) : "–", "×", note],
    ["Mean acceptance length", fixed(m.mean_acceptance_length, 2), "", passes],
    ["Acceptance rate", rate, "", `${m.accepted} of ${plural(m.drafted, "draft token")}`],
    ["Drafting latency", finding, "µs", "per round, without model forward passes"],
  ];
  return tiles;
}

/** Describe the range of a speed-up and reasons to doubt it; "" without tokens. */
export function verdictOf(run: Run): string {
  const m = metricsOf(run);
  if (!m.tokens) return "";
  const gain = gainOf(run, m);
  const { meta } = run;
  const sentences: string[] = [];
  if (gain && m.rounds) {
    if (meta.modelled)
      sentences.push("Modelled: each pass costs what recorded ones over as many tokens do.");
    else if (gain.pairs > 1)
      sentences.push(
        `${gain.low.toFixed(2)}–${gain.high.toFixed(2)}× over ${gain.pairs} pairs of runs.`,
      );
    else if ((meta.fastest_of ?? 0) > 1)
      sentences.push(`Fastest of ${meta.fastest_of} runs; spread not recorded.`);
    else sentences.push("One pair of runs: spread unknown.");
  }
  const load = loadText(meta);
  if (load) sentences.push(`Busy machine: ${load}.`);
  const repeated = `${Math.round(100 * m.repetition_share)}% of tokens end a repeated 8-gram`;
  if (m.repetition_share >= REPETITIVE)
    sentences.push(`Repetitive: ${repeated}, which favours drafting.`);
  const ended = meta.stop_reason ?? "";
  const stop = STOPS[meta.cancelled && !Object.hasOwn(STOPS, ended) ? "cancelled" : ended];
  if (stop) sentences.push(`Stopped: ${stop}.`);
  return sentences.join(" ");
}

export function readout(run: Run, running: boolean, sources: Sources, uid: string) {
  if (!run.run) return nothing;
  const verdict = running ? "" : verdictOf(run);
  const note = losslessText(run.meta, sources);
  return html`<section class="hsd-readout" aria-label="Run">
    <div class="hsd-origin">
      <h2>${stackName(run.meta.stack)}</h2>
      <code class="hsd-origin-stack">${run.meta.stack}</code>
      ${note ? html`<p class="hsd-origin-note hsd-note">${note}</p>` : nothing}
    </div>
    <div class="hsd-tiles">
      ${tilesOf(run).map(
        ([label, value, unit, note], k) =>
          html`<div class="hsd-tile">
            <div class="hsd-note">${term(label, DEFINITIONS[label], `${uid}-${k}`)}</div>
            <div class="hsd-tile-value">
              ${value}${
                unit && value !== "–" ? html`<span class="hsd-tile-unit"> ${unit}</span>` : nothing
              }
            </div>
            <div class="hsd-source">${note}</div>
          </div>`,
      )}
    </div>
    <p class="hsd-verdict" ?hidden=${!verdict}>${verdict}</p>
  </section>`;
}
