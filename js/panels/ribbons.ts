// Filter ribbons: how many draft tokens of each source survive each level. There is a column per
// verifier and one for the text. Accepted tokens flow from each column to the next one, and the
// others fall out below.
import { html, nothing, svg } from "lit-html";
import { mark, sample, spread } from "../lib/chart";
import { bySource } from "../lib/metrics";
import type { Palette } from "../lib/palette";
import type { Store } from "../lib/run";
import { folded, tableOf } from "../lib/table";
import { plural } from "../lib/words";
import { inOrder, verifiers } from "./panels";

export interface Flow {
  source: string;
  drafted: number;
  accepted: number;
}
/** Flows of one verifier by source. In the stage of the text, every token counts as accepted. */
export interface Stage {
  name: string;
  flows: Flow[];
}

/** Return the stages of a run: its verifiers, lowest first, and the text last. Pure function. */
export function stagesOf(
  run: Pick<Store, "rounds" | "drafts" | "tokens" | "levelName">,
  databases: readonly string[],
): Stage[] {
  const drafts = [...run.drafts.values()].flat();
  /** Count rows by source; a token of the text counts as accepted. */
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

const SIZE = { height: 250, bar: 14, gap: 4, fall: 46, top: 44 };
/**
 * Width from which sources are named beside both columns, not only beside the text and in a key.
 */
const WIDE = 640;
const GUTTER = { wide: { left: 200, right: 200 }, narrow: { left: 2, right: 156 } };
/** Height of a label and width of a letter, in pixels. */
const LINE = 17;
const LETTER = 6.6;
/** Maximum horizontal reach of falling ribbons, as a share of the step between columns. */
const REACH = 0.7;

const sumOf = <Row>(rows: readonly Row[], value: (row: Row) => number): number =>
  rows.reduce((sum, row) => sum + value(row), 0);
const draftedIn = ({ flows }: Stage): number => sumOf(flows, (flow) => flow.drafted);
const isText = ({ name }: Stage): boolean => name === "text";

/** Positions of the flows of all stages, in pixels. */
interface Layout {
  width: number;
  isWide: boolean;
  /** Height of a token. */
  scale: number;
  /** Factor by which falling ribbons are narrower. */
  narrow: number;
  /** Left edges of the columns. */
  lefts: number[];
  /** Tops of the flows of each column, by source. */
  tops: Map<string, number>[];
}

/** Return the tops of the flows of a stage, stacked below each other. */
function topsOf({ flows }: Stage, scale: number): Map<string, number> {
  const tops = new Map<string, number>();
  let y = SIZE.top;
  for (const { source, drafted } of flows) {
    tops.set(source, y);
    y += drafted * scale + SIZE.gap;
  }
  return tops;
}

export function layoutOf(stages: readonly Stage[], width: number): Layout {
  const isWide = width >= WIDE;
  const { left, right } = isWide ? GUTTER.wide : GUTTER.narrow;
  const gaps = SIZE.gap * Math.max(...stages.map(({ flows }) => flows.length));
  const room = SIZE.height - SIZE.top - SIZE.fall - gaps;
  const scale = room / Math.max(...stages.map(draftedIn));
  const step = (width - left - right - SIZE.bar) / Math.max(1, stages.length - 1);
  const falls = stages.map(({ flows }) => fallOf(flows, scale));
  return {
    width,
    isWide,
    scale,
    // Narrow the falling ribbons if they would reach the next column.
    narrow: Math.min(1, (REACH * step) / Math.max(1, ...falls)),
    lefts: stages.map((_, k) => left + step * k),
    tops: stages.map((stage) => topsOf(stage, scale)),
  };
}

/** A label beside a flow: its text, its position, and its anchor. */
export interface Label {
  words: string;
  x: number;
  y: number;
  anchor: "start" | "end";
}
const middleOf = ({ tops, scale }: Layout, k: number, { source, drafted }: Flow): number =>
  (tops[k].get(source) ?? 0) + Math.max(1, drafted * scale) / 2 + 4;

/** Return the labels of sources beside the text and, if there is room, the first column. */
export function labelsOf(
  stages: readonly Stage[],
  layout: Layout,
  nameOf: (source: string) => string,
): Label[] {
  const { lefts, isWide } = layout;
  const last = stages.length - 1;
  const first = (isWide ? stages[0].flows : []).map((flow): Label => {
    const words = `${nameOf(flow.source)}: ${flow.drafted}`;
    return { words, x: lefts[0] - 8, y: middleOf(layout, 0, flow), anchor: "end" };
  });
  const emitted = stages[last].flows.map((flow): Label => {
    const words = `${flow.drafted} ${nameOf(flow.source)}`;
    const x = lefts[last] + SIZE.bar + 8;
    return { words, x, y: middleOf(layout, last, flow), anchor: "start" };
  });
  return [...spread(first, LINE), ...spread(emitted, LINE)];
}

/** Return the label with the number of tokens that fall out of a column; null: none. */
export function lostLabel(stages: readonly Stage[], layout: Layout, k: number): Label | null {
  const lost = sumOf(stages[k].flows, ({ drafted, accepted }) => drafted - accepted);
  if (!lost || isText(stages[k])) return null;
  const { lefts, narrow, scale, isWide } = layout;
  const words = isWide ? `${lost} rejected or not examined` : `${lost} not accepted`;
  const beside = lefts[k] + SIZE.bar + 12 + narrow * fallOf(stages[k].flows, scale);
  const room = lefts[k + 1] - 4 - LETTER * words.length;
  return { words, x: Math.min(beside, room), y: SIZE.height - 8, anchor: "start" };
}

/** Return the height of the tokens that were not accepted, in pixels. */
const fallOf = (flows: readonly Flow[], scale: number): number =>
  sumOf(flows, ({ drafted, accepted }) => (drafted - accepted) * scale);

/** A vertical edge of a band: its x, its top and its height. */
interface Edge {
  x: number;
  y: number;
  high: number;
}
/** Return the path data of the band between two edges. */
function bandPath(from: Edge, to: Edge): string {
  const middle = (from.x + to.x) / 2;
  const over = `M${from.x} ${from.y}C${middle} ${from.y} ${middle} ${to.y} ${to.x} ${to.y}`;
  const toFoot = to.y + to.high;
  const foot = from.y + from.high;
  const under = `C${middle} ${toFoot} ${middle} ${foot} ${from.x} ${foot}`;
  return `${over}v${to.high}${under}z`;
}

/** Return the path data of a ribbon that falls from an edge, `away` pixels from it at the foot. */
function fallPath({ x, y, high }: Edge, away: number, narrow: number): string {
  const inner = x + 4 + away;
  const outer = inner + narrow * high;
  const foot = SIZE.height;
  const down = `M${x} ${y}Q${outer} ${y} ${outer} ${foot}`;
  return `${down}H${inner}Q${inner} ${y + high} ${x} ${y + high}z`;
}

/** Return the path of a flow's accepted tokens to the next stage; "": none. */
function keptPath(stages: readonly Stage[], layout: Layout, k: number, flow: Flow): string {
  const { scale, lefts, tops } = layout;
  const next = stages[k + 1]?.flows.find(({ source }) => source === flow.source);
  if (!next || !flow.accepted) return "";
  // At the end of the text, the next level may get fewer tokens than were accepted.
  const into = Math.min(next.drafted, flow.accepted) * scale;
  const top = tops[k].get(flow.source) ?? 0;
  return bandPath(
    { x: lefts[k] + SIZE.bar, y: top, high: flow.accepted * scale },
    { x: lefts[k + 1], y: tops[k + 1].get(flow.source) ?? 0, high: into },
  );
}

/** Return the path of a flow's tokens that were not accepted; "": none. */
function lostPath(stages: readonly Stage[], layout: Layout, k: number, flow: Flow): string {
  const { scale, narrow, lefts, tops } = layout;
  const high = (flow.drafted - flow.accepted) * scale;
  if (high <= 0 || !stages[k + 1]) return "";
  const { flows } = stages[k];
  // A ribbon that begins lower falls closer to the column.
  const below = flows.slice(flows.indexOf(flow) + 1);
  const y = (tops[k].get(flow.source) ?? 0) + flow.accepted * scale;
  return fallPath({ x: lefts[k] + SIZE.bar, y, high }, narrow * fallOf(below, scale), narrow);
}

/** Describe the result of a flow. */
function fateOf(stage: Stage, { drafted, accepted }: Flow): string {
  if (isText(stage)) return plural(drafted, "token");
  return `${accepted} of ${drafted} accepted by ${stage.name}`;
}

/** Called with the source of the ribbon under the pointer or focus; null: none. */
type Light = (source: string | null) => void;

function ribbon(
  stages: readonly Stage[],
  layout: Layout,
  k: number,
  flow: Flow,
  palette: Palette,
  light: Light,
) {
  const { source, drafted } = flow;
  const family = palette.family(source);
  const words = `${palette.words(source)}: ${fateOf(stages[k], flow)}`;
  const top = layout.tops[k].get(source) ?? 0;
  const foot = top + Math.max(1, drafted * layout.scale);
  const acceptedPath = keptPath(stages, layout, k, flow);
  const lost = lostPath(stages, layout, k, flow);
  const on = () => light(source);
  const off = () => light(null);
  return svg`<g data-family=${family} tabindex="0" role="img" aria-label=${words}
    @pointerenter=${on} @pointerleave=${off} @focus=${on} @blur=${off}><title>${words}</title>
    ${acceptedPath ? svg`<path class="hsd-rb-kept" d=${acceptedPath}></path>` : nothing}
    ${lost ? svg`<path class="hsd-rb-lost" d=${lost}></path>` : nothing}
    ${mark(family, `M${layout.lefts[k] + SIZE.bar / 2} ${foot}V${top}`)}</g>`;
}

/** Return the position of a stage's name: above its column, within the picture. */
function headPlace(stage: Stage, { lefts, isWide }: Layout, k: number) {
  if (isWide || (k && !isText(stage))) return { x: lefts[k] + SIZE.bar / 2, anchor: "middle" };
  return { x: lefts[k], anchor: "start" };
}

/** The name of a stage above its column, with its number of accepted tokens. */
function headTemplate(stage: Stage, layout: Layout, k: number) {
  const accepted = sumOf(stage.flows, (flow) => flow.accepted);
  const drafted = draftedIn(stage);
  // On a phone, the heads of three columns would touch.
  const verb = layout.isWide || layout.lefts.length < 3 ? "accepts " : "";
  const words = isText(stage) ? plural(drafted, "token") : `${verb}${accepted} of ${drafted}`;
  const { x, anchor } = headPlace(stage, layout, k);
  return svg`<text class="hsd-rb-name" x=${x} y="13" text-anchor=${anchor}>${stage.name}</text>
    <text class="hsd-rb-label" x=${x} y="30" text-anchor=${anchor}>${words}</text>`;
}

/** The picture, with the names of its stages and sources. */
function picture(stages: readonly Stage[], layout: Layout, palette: Palette, light: Light) {
  const { width } = layout;
  const column = ({ flows }: Stage, k: number) =>
    flows.map((flow) => ribbon(stages, layout, k, flow, palette, light));
  const lost = stages.flatMap((_, k) => lostLabel(stages, layout, k) ?? []);
  const labels = [...labelsOf(stages, layout, palette.words), ...lost];
  return html`<svg
    width=${width}
    height=${SIZE.height}
    viewBox="0 0 ${width} ${SIZE.height}"
    role="group"
    aria-label="Ribbons by level and source"
  >
    ${stages.map((stage, k) => headTemplate(stage, layout, k))}${stages.map(column)}
    ${labels.map(
      ({ words, x, y, anchor }) =>
        svg`<text class="hsd-rb-label" x=${x} y=${y} text-anchor=${anchor}>${words}</text>`,
    )}
  </svg>`;
}

/** The key of the first column's sources, for pictures without room for their labels. */
function keyTemplate({ flows, name }: Stage, palette: Palette) {
  const entry = ({ source, drafted, accepted }: Flow) =>
    html`<span
      >${sample(palette.family(source))}${palette.words(source)}: ${accepted} of ${drafted}</span
    >`;
  return html`<p class="hsd-pn-key">Accepted by ${name} ${flows.map(entry)}</p>`;
}

/** The flows as a table: a row per source, a column per stage. */
function table(stages: readonly Stage[], palette: Palette) {
  const sources = new Set(stages.flatMap(({ flows }) => flows.map(({ source }) => source)));
  const cell = (stage: Stage, source: string) => {
    const flow = stage.flows.find((candidate) => candidate.source === source);
    if (!flow) return "";
    return isText(stage) ? String(flow.drafted) : `${flow.accepted} / ${flow.drafted}`;
  };
  const headOf = (stage: Stage) => (isText(stage) ? "text" : `accepted / drafted at ${stage.name}`);
  const rows = [...sources].map((source) => [
    html`${sample(palette.family(source))}${palette.words(source)}`,
    ...stages.map((stage) => cell(stage, source)),
  ]);
  return tableOf("What survives each level", ["source", ...stages.map(headOf)], rows);
}

/** The picture, `room` pixels wide, and its table. */
export function ribbons(stages: readonly Stage[], palette: Palette, room: number, light: Light) {
  if (stages.length < 2 || !draftedIn(stages[0])) return nothing;
  const layout = layoutOf(stages, room);
  const { narrow } = layout;
  const scale = narrow < 1 ? `, at ${narrow.toFixed(1)} of that scale` : "";
  return html`<section class="hsd-pn hsd-pn-ribbons">
    <h3>What survives each level</h3>
    <p class="hsd-note">
      A column per verifier: the draft tokens it got, by source. To the right goes what it accepted;
      below falls the rest${scale}.
    </p>
    ${picture(stages, layout, palette, light)}
    ${layout.isWide ? nothing : keyTemplate(stages[0], palette)}
    ${folded("Values as a table", table(stages, palette))}
  </section>`;
}
