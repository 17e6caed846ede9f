// A plotly figure: its title, words and values in HTML, its colours those of the page.
import { html, nothing, render } from "lit-html";
import { onResize } from "../lib/chart";
import { followTheme, make, setAttributes } from "../lib/dom";
import { failInto, guarded } from "../lib/notice";
import { folded, tableOf } from "../lib/table";
import type { Drawing } from "../lib/widget";
import { libraryOf, type Plotly } from "./library";

interface Layout {
  title?: { text?: string };
  width?: number;
  height?: number;
  margin?: { t?: number; r?: number; b?: number; l?: number };
  paper_bgcolor?: string;
  font?: object;
  dragmode?: unknown;
  meta?: { head?: number };
}
/** Pixels of the narrowest figure: on a narrower page it scrolls. */
const LEAST = 640;
/** Pixels above a drawing that plotly's buttons take. */
const TOOLBAR = 30;

/** Prepare the layout of a figure, in place, for a page `width` pixels wide. */
export function fitted(layout: Layout, width: number): Layout {
  const head = layout.meta?.head;
  const top = layout.margin?.t ?? 0;
  // Texts to the right of bars do not take their room.
  layout.width = Math.max(LEAST, 400 + (layout.margin?.r ?? 0), width);
  if (head !== undefined) {
    const t = Math.max(TOOLBAR, top - head);
    layout.height = (layout.height ?? 450) - top + t;
    layout.margin = { ...layout.margin, t };
    layout.title = undefined;
  }
  layout.paper_bgcolor = "rgba(0,0,0,0)";
  // A finger scrolls the page.
  if (matchMedia("(pointer: coarse)").matches) layout.dragmode = false;
  return layout;
}

interface Figure {
  data: unknown[];
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

function draw({ model, el }: Drawing<Traits>) {
  const root = make("section", "hsd-chart");
  const frame = make("div", "hsd-chart-frame");
  const plot = make("div");
  frame.append(plot);
  el.append(root);
  let plotly: Plotly | null = null;
  let gone = false;
  let dark = false;
  let shownAt = 0;
  let drawnHeight = 0;
  const figure = () => model.get("drawn");

  function write() {
    const { title, text, words = "", note, table } = figure().layout?.meta ?? {};
    const name = title ?? figure().layout?.title?.text ?? "Figure";
    setAttributes(root, { "aria-label": name });
    setAttributes(frame, {
      role: "img",
      "aria-label": `${name}. ${table ? "The table has all values." : words}`,
    });
    const [heads, ...rows] = table ?? [];
    render(
      html`<div class="hsd-chart-head">
          ${title ? html`<h3>${title}</h3>` : nothing}${
            text ? html`<p class="hsd-note">${text}</p>` : nothing
          }
        </div>
        ${frame}${
          table ? folded("Values as a table", tableOf(`Values of: ${name}`, heads, rows)) : nothing
        }
        ${note ? html`<p class="hsd-source">${note}</p>` : nothing}`,
      root,
    );
  }
  async function react() {
    frame.hidden = !figure().data?.length; // its words say why there is nothing to draw
    shownAt = frame.clientWidth;
    if (!shownAt || frame.hidden) return; // or it is not on the page yet
    plotly ??= await libraryOf(model as never);
    if (gone) return;
    const night = dark && model.get("dark").data ? (model.get("dark") as Figure) : null;
    const { data, layout } = structuredClone(night ?? figure());
    fitted(layout, shownAt);
    // A figure of another package has one theme.
    if (dark && !night) layout.font = { ...layout.font, color: getComputedStyle(root).color };
    frame.tabIndex = (layout.width ?? 0) > shownAt ? 0 : -1; // focusable, because it scrolls
    // A lower figure would be placed with the margins of the one before, which may leave it no
    // height.
    if ((layout.height ?? 0) < drawnHeight) plotly.purge(plot);
    drawnHeight = layout.height ?? 0;
    await plotly.react(plot, data, layout, model.get("config"));
    // The words are in HTML.
    for (const svg of plot.querySelectorAll(".main-svg")) svg.setAttribute("aria-hidden", "true");
  }
  // One at a time: plotly finishes a drawing later, and would meet the next one's layout.
  let drawing = false;
  let stale = false;
  async function redraw() {
    stale = true;
    if (drawing) return;
    drawing = true;
    while (stale && !gone) {
      stale = false;
      await react().catch(failInto(root));
    }
    drawing = false;
  }
  const renew = () => {
    write();
    redraw();
  };
  const unfollow = followTheme(root, "", (now) => {
    if (now === dark) return;
    dark = now;
    redraw();
  });
  const unwatch = onResize(frame, () => {
    if (frame.clientWidth !== shownAt) redraw();
  });
  model.on("change:drawn", renew);
  renew();
  return () => {
    gone = true;
    model.off("change:drawn", renew);
    unwatch();
    unfollow();
    plotly?.purge(plot);
    root.remove();
  };
}

export default { render: guarded(draw) };
