// Filter ribbons: how many draft tokens of each source survive each level. A column per verifier
// and one for the text; from each column what was accepted runs on to the next, and what was not
// falls out below.
import { html, nothing, svg } from "lit-html";
import { mark, sample } from "../lib/chart";
import { bySource } from "../lib/metrics";
import type { Palette } from "../lib/palette";
import type { Store } from "../lib/run";
import { tableOf } from "../lib/table";
import { plural } from "../lib/words";
import { inOrder, verifiers } from "./panels";

export interface Flow {
  source: string;
  drafted: number;
  accepted: number;
}
/** The flows of one verifier, by source; at the text every emitted token is "accepted". */
export interface Stage {
  name: string;
  flows: Flow[];
}

/** Draft tokens by verifier, lowest first, and the emitted tokens last. Pure. */
export function stagesOf(
  run: Pick<Store, "rounds" | "drafts" | "tokens" | "levelName">,
  databases: readonly string[],
): Stage[] {
  const drafts = [...run.drafts.values()].flat();
  /** Counts by source; a token of the text counts as accepted. */
  const flowsOf = (rows: { source: string; verdict?: string }[]) => {
    const drafted = bySource(rows);
    const accepted = bySource(rows.filter((r) => (r.verdict ?? "accepted") === "accepted"));
    const flow = (source: string) => ({
      source,
      drafted: drafted[source],
      accepted: accepted[source] ?? 0,
    });
    return inOrder(Object.keys(drafted), databases).map(flow);
  };
  const stages = verifiers(run).reverse();
  return [
    ...stages.map((level) => ({
      name: run.levelName(level),
      flows: flowsOf(drafts.filter((d) => d.level === level)),
    })),
    { name: "text", flows: flowsOf(run.tokens) },
  ];
}

const SIZE = { height: 230, bar: 14, gap: 4, fall: 46 };

/** On a wider page the table is beside the picture, which takes this share. */
const WIDE = 900;
const SHARE = 0.62;

/**
 * The picture and its table, `room` pixels wide together; `light` gets the source of the ribbon
 * under the pointer or focus.
 */
export function ribbons(
  stages: Stage[],
  palette: Palette,
  room: number,
  light: (source: string | null) => void,
) {
  const width = room > WIDE ? SHARE * room : room;
  const total = (stage: Stage) => stage.flows.reduce((sum, f) => sum + f.drafted, 0);
  if (stages.length < 2 || !total(stages[0])) return nothing;
  const gaps = SIZE.gap * Math.max(...stages.map((s) => s.flows.length));
  const scale = (SIZE.height - SIZE.fall - gaps) / Math.max(...stages.map(total));
  const step = (width - SIZE.bar) / stages.length;
  const x = (k: number) => step * (k + 0.5);
  const lostOf = (f: Flow) => (f.drafted - f.accepted) * scale;
  const fallsOf = (flows: Flow[]) => flows.reduce((sum, f) => sum + lostOf(f), 0);
  /** What falls narrows where it would reach the next column. */
  const narrow = Math.min(1, (step * 0.7) / Math.max(1, ...stages.map((s) => fallsOf(s.flows))));
  /** Tops of the flows of a stage. */
  const tops = stages.map(({ flows }) => {
    let y = 2;
    return new Map(
      flows.map((f) => {
        const top = y;
        y += f.drafted * scale + SIZE.gap;
        return [f.source, top];
      }),
    );
  });
  const band = (x0: number, y0: number, h0: number, x1: number, y1: number, h1: number) => {
    const m = (x0 + x1) / 2;
    const over = `M${x0} ${y0}C${m} ${y0} ${m} ${y1} ${x1} ${y1}`;
    return `${over}v${h1}C${m} ${y1 + h1} ${m} ${y0 + h0} ${x0} ${y0 + h0}z`;
  };
  const flow = (k: number) => (f: Flow) => {
    const top = tops[k].get(f.source) ?? 0;
    const kept = f.accepted * scale;
    const lost = lostOf(f);
    const next = stages[k + 1]?.flows.find((o) => o.source === f.source);
    const right = x(k) + SIZE.bar;
    const { name } = stages[k];
    const fate =
      name === "text"
        ? plural(f.drafted, "token")
        : `${f.accepted} of ${f.drafted} accepted by ${name}`;
    const words = `${palette.words(f.source)}: ${fate}`;
    // The next level may have got fewer than were accepted, where the text ended.
    const into = Math.min(next?.drafted ?? 0, f.accepted) * scale;
    const passed = () => band(right, top, kept, x(k + 1), tops[k + 1].get(f.source) ?? 0, into);
    const from = top + kept;
    const to = from + lost;
    const foot = SIZE.height;
    // The lower a ribbon begins, the nearer it falls.
    const inner =
      right + 4 + narrow * fallsOf(stages[k].flows.slice(stages[k].flows.indexOf(f) + 1));
    const outer = inner + narrow * lost;
    const down = `M${right} ${from}Q${outer} ${from} ${outer} ${foot}`;
    const fallen = `${down}H${inner}Q${inner} ${to} ${right} ${to}z`;
    const bar = `M${x(k) + SIZE.bar / 2} ${top + Math.max(1, f.drafted * scale)}V${top}`;
    const on = () => light(f.source);
    const off = () => light(null);
    return svg`<g data-family=${palette.family(f.source)} tabindex="0" role="img"
      aria-label=${words}
      @pointerenter=${on} @pointerleave=${off} @focus=${on} @blur=${off}><title>${words}</title>
      ${next && kept ? svg`<path class="hsd-rb-kept" d=${passed()}></path>` : nothing}
      ${lost > 0 && stages[k + 1] ? svg`<path class="hsd-rb-lost" d=${fallen}></path>` : nothing}
      ${mark(palette.family(f.source), bar)}</g>`;
  };
  const sources = [...new Set(stages.flatMap((s) => s.flows.map((f) => f.source)))];
  const cell = ({ name, flows }: Stage, source: string) => {
    const f = flows.find((o) => o.source === source);
    return !f ? "" : name === "text" ? String(f.drafted) : `${f.accepted} / ${f.drafted}`;
  };
  const sum = (s: Stage) => s.flows.reduce((n, f) => n + f.accepted, 0);
  return html`<section class="hsd-pn hsd-pn-ribbons">
    <h3>What survives each level</h3>
    <p class="hsd-note">
      A column per verifier, as high as the draft tokens it got, by source; to the right goes what
      it accepted, below falls what it rejected or did not
      examine${narrow < 1 ? `, at ${narrow.toFixed(1)} of that scale` : ""}. Tokens that a source
      has in the text light up with its ribbons.
    </p>
    <div class="hsd-rb-body" style="--picture: ${width}px">
      <div>
        <div class="hsd-rb-heads" style="--stages: ${stages.length}">
          ${stages.map(
            (s) =>
              html`<div>
                <strong>${s.name}</strong
                ><br />${
                  s.name === "text" ? plural(total(s), "token") : `accepts ${sum(s)} of ${total(s)}`
                }
              </div>`,
          )}
        </div>
        <svg
          width=${width}
          height=${SIZE.height}
          viewBox="0 0 ${width} ${SIZE.height}"
          role="group"
          aria-label="Ribbons by level and source"
        >
          ${stages.map((stage, k) => stage.flows.map(flow(k)))}
        </svg>
      </div>
      ${tableOf(
        "What survives each level",
        [
          "source",
          ...stages.map((s) => (s.name === "text" ? "text" : `accepted / drafted at ${s.name}`)),
        ],
        sources.map((source) => [
          html`${sample(palette.family(source))}${palette.words(source)}`,
          ...stages.map((s) => cell(s, source)),
        ]),
      )}
    </div>
  </section>`;
}
