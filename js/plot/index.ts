// The view of a plotly figure: its title, texts and values are in HTML, and its colours are those
// of the page.
import { html, nothing, render } from "lit-html";
import { onResize } from "../lib/chart";
import { followTheme, make, setAttributes } from "../lib/dom";
import { slider } from "../lib/fields";
import { failInto, guarded } from "../lib/notice";
import { folded, tableOf } from "../lib/table";
import type { Drawing } from "../lib/widget";
import { libraryOf, type Plotly } from "./library";
import { type Bars, narrow } from "./narrow";
import { type Panels, stack } from "./panels";

/** plotly's slider: a step has values by trace for each name, and what it changes of the layout. */
interface Slider {
  active: number;
  currentvalue: { prefix: string };
  steps: { label: string; args: [Record<string, unknown[]>, object] }[];
}
interface Layout {
  title?: { text?: string };
  width?: number;
  height?: number;
  margin?: { t?: number; r?: number; b?: number; l?: number };
  paper_bgcolor?: string;
  font?: object;
  dragmode?: unknown;
  meta?: { head?: number; least?: number; handle?: number };
  sliders?: Slider[];
}
/**
 * Minimum width in pixels of a figure that states none and has no bars or panels; narrower pages
 * scroll it.
 */
const MIN_WIDTH = 640;
/** Height of plotly's buttons above a drawing, in pixels. */
const TOOLBAR = 30;

/** Prepare the layout of a figure, in place, for a page `width` pixels wide. */
export function fitted(layout: Layout, width: number): Layout {
  const head = layout.meta?.head;
  const top = layout.margin?.t ?? 0;
  // Add the width of texts to the right of bars.
  const least = layout.meta?.least ?? Math.max(MIN_WIDTH, 400 + (layout.margin?.r ?? 0));
  layout.width = Math.max(least, width);
  if (head !== undefined) {
    const t = Math.max(TOOLBAR, top - head);
    layout.height = (layout.height ?? 450) - top + t;
    layout.margin = { ...layout.margin, t };
    layout.title = undefined;
  }
  layout.paper_bgcolor = "rgba(0,0,0,0)";
  // On touch screens, dragging scrolls the page.
  if (matchMedia("(pointer: coarse)").matches) layout.dragmode = false;
  return layout;
}

interface Figure {
  data: object[];
  layout: Layout & {
    meta?: { title?: string; text?: string; words?: string; note?: string; table?: string[][] };
  };
}
interface Traits {
  drawn: Figure;
  dark: Partial<Figure>;
  config: object;
  library: string;
}

/** Set the values of a step of a figure's slider, which is drawn in HTML, in place. */
export function move({ data, layout }: Figure, place: number): void {
  const steps = layout.sliders?.[0].steps;
  if (!steps) return;
  const [values, changed] = steps[place].args;
  data.forEach((trace, k) => {
    for (const name in values) Object.assign(trace, { [name]: values[name][k] });
  });
  const room = layout.meta?.handle ?? 0;
  layout.height = (layout.height ?? 0) - room;
  layout.margin = { ...layout.margin, b: (layout.margin?.b ?? 0) - room };
  Object.assign(layout, changed, { sliders: [] });
}

/** The slider of a figure. */
function handleTemplate(
  { currentvalue, steps }: Slider,
  place: number,
  put: (place: number) => void,
) {
  const last = steps.length - 1;
  const end = (step: number) => html`<span aria-hidden="true">${steps[step].label}</span>`;
  return html`<label class="hsd-chart-handle"
    >${currentvalue.prefix}<output>${steps[place].label}</output>
    ${slider(0, last, 1, place, put)}${end(0)}${end(last)}</label
  >`;
}

/** The texts of a figure around its frame, and its slider. */
function figureTemplate({ layout }: Figure, frame: Element, name: string, handle: unknown) {
  const { title, text, note, table } = layout?.meta ?? {};
  const [heads, ...rows] = table ?? [];
  const values = table && folded("Values as a table", tableOf(`Values of: ${name}`, heads, rows));
  return html`<div class="hsd-chart-head">
      ${title ? html`<h3>${title}</h3>` : nothing}${
        text ? html`<p class="hsd-note">${text}</p>` : nothing
      }
    </div>
    ${frame}${handle}${values ?? nothing}
    ${note ? html`<p class="hsd-source">${note}</p>` : nothing}`;
}

/** A figure in its element. */
class Chart {
  private readonly root = make("section", "hsd-chart");
  private readonly frame = make("div", "hsd-chart-frame");
  private readonly plot = make("div");
  private plotly: Plotly | null = null;
  private isClosed = false;
  private isDark = false;
  /** The place of the slider. */
  private place = 0;
  /** Width for which the figure was drawn, and its height, in pixels. */
  private width = 0;
  private height = 0;
  /** Whether plotly is drawing, and whether that drawing is outdated. */
  private isDrawing = false;
  private isStale = false;
  private readonly cleanups: (() => void)[];

  constructor(private readonly drawing: Drawing<Traits>) {
    const { model, el } = drawing;
    const renew = () => this.renew();
    this.frame.append(this.plot);
    el.append(this.root);
    this.cleanups = [
      followTheme(this.root, "", (isDark) => this.setTheme(isDark)),
      onResize(this.frame, () => {
        if (this.frame.clientWidth !== this.width) this.redraw();
      }),
      () => model.off("change:drawn", renew),
    ];
    model.on("change:drawn", renew);
    this.renew();
  }

  close() {
    this.isClosed = true;
    for (const clean of this.cleanups) clean();
    this.plotly?.purge(this.plot);
    this.root.remove();
  }

  private get figure(): Figure {
    return this.drawing.model.get("drawn");
  }

  private setTheme(isDark: boolean) {
    if (isDark === this.isDark) return;
    this.isDark = isDark;
    this.redraw();
  }

  private renew() {
    this.put(this.figure.layout?.sliders?.[0].active ?? 0);
  }

  private put(place: number) {
    this.place = place;
    this.write();
    this.redraw();
  }

  /** Write the texts of the figure. */
  private write() {
    const { root, frame, figure } = this;
    const { title, words = "", table } = figure.layout?.meta ?? {};
    const name = title ?? figure.layout?.title?.text ?? "Figure";
    setAttributes(root, { "aria-label": name });
    setAttributes(frame, {
      role: "img",
      "aria-label": `${name}. ${table ? "The table has all values." : words}`,
    });
    const handle = figure.layout?.sliders?.[0];
    const put = (place: number) => this.put(place);
    const handled = handle ? handleTemplate(handle, this.place, put) : nothing;
    render(figureTemplate(figure, frame, name, handled), root);
  }

  /** Draw, one drawing at a time, because plotly draws asynchronously and shares the layout. */
  private async redraw() {
    this.isStale = true;
    if (this.isDrawing) return;
    this.isDrawing = true;
    while (this.isStale && !this.isClosed) {
      this.isStale = false;
      await this.react().catch(failInto(this.root));
    }
    this.isDrawing = false;
  }

  private async react() {
    const { frame, plot } = this;
    const { model } = this.drawing;
    frame.hidden = !this.figure.data?.length; // the texts explain why there is nothing to draw
    this.width = frame.clientWidth;
    if (!this.width || frame.hidden) return; // without a width, it is not attached to the page yet
    this.plotly ??= await libraryOf(model as never);
    if (this.isClosed) return;
    const { data, layout } = this.themed();
    frame.tabIndex = (layout.width ?? 0) > this.width ? 0 : -1; // focusable, because it scrolls
    // plotly would lay out a lower figure with the margins of the previous one, which may leave it
    // without height.
    if ((layout.height ?? 0) < this.height) this.plotly.purge(plot);
    this.height = layout.height ?? 0;
    await this.plotly.react(plot, data, layout, model.get("config"));
    // The texts are in HTML.
    for (const svg of plot.querySelectorAll(".main-svg")) svg.setAttribute("aria-hidden", "true");
  }

  /** Return a copy of the figure for the theme and the width of the page. */
  private themed(): Figure {
    const dark = this.drawing.model.get("dark");
    const hasDark = Boolean(dark.data);
    const figure = structuredClone(this.isDark && hasDark ? (dark as Figure) : this.figure);
    const { layout } = figure;
    move(figure, this.place);
    fitted(layout, this.width);
    if (this.width < MIN_WIDTH) {
      narrow(figure as Bars, this.width);
      stack(layout as Panels, this.width);
    }
    // A figure of another package has only one theme.
    if (this.isDark && !hasDark)
      layout.font = { ...layout.font, color: getComputedStyle(this.root).color };
    return figure;
  }
}

function draw(drawing: Drawing<Traits>) {
  const chart = new Chart(drawing);
  return () => chart.close();
}

export default { render: guarded(draw) };
