// A plotly figure: its title, words and values in HTML, its colours those of the page.

import { focusable, followTheme, make } from "../lib/dom";
import { failInto, guarded } from "../lib/notice";
import type { Drawing, Model } from "../lib/widget";
import { fitted, type Layout, type Trace } from "./fit";
import { libraryOf, type Plotly } from "./library";

interface Meta {
  title?: string;
  text?: string;
  words?: string;
  note?: string;
  table?: string[][];
}
interface Figure {
  data: Trace[];
  layout: Layout & { meta?: Meta };
}
interface Traits {
  drawn: Figure;
  dark: Partial<Figure>;
  config: object;
  library: string;
}

/** The values of a chart as a table that can be opened. */
function tableOf([head, ...rows]: string[][], title: string, open: boolean) {
  const box = make("details", "hsd-values");
  box.open = open;
  const wrap = focusable(make("div", "hsd-values-scroll"));
  wrap.setAttribute("role", "region");
  wrap.setAttribute("aria-label", `Values of: ${title}`);
  const table = make("table");
  for (const [k, cells] of [head, ...rows].entries()) {
    const row = (k ? (table.tBodies[0] ?? table.createTBody()) : table.createTHead()).insertRow();
    cells.forEach((words, column) => {
      const cell = make(k && column ? "td" : "th", "", words);
      if (cell instanceof HTMLTableCellElement && cell.tagName === "TH") cell.scope = k ? "row" : "col";
      row.append(cell);
    });
  }
  wrap.append(table);
  box.append(make("summary", "", "Values as a table"), wrap);
  return box;
}

function createView(model: Model<Traits>, el: HTMLElement) {
  const root = make("section", "hsd-chart");
  const head = make("div", "hsd-chart-head");
  const frame = make("div", "hsd-chart-frame");
  frame.setAttribute("role", "img");
  const plot = make("div");
  const foot = make("div", "hsd-chart-foot");
  frame.append(plot);
  root.append(head, frame, foot);
  el.append(root);

  let plotly: Plotly | null = null;
  let leave = () => {};
  let gone = false;
  let dark = false;
  let shownAt = 0;
  const figure = () => model.get("drawn");
  const meta = (): Meta => figure().layout?.meta ?? {};

  function write() {
    const { title, text, words = "", note, table } = meta();
    const name = title ?? figure().layout?.title?.text ?? "Figure";
    root.setAttribute("aria-label", name);
    frame.setAttribute("aria-label", `${name}. ${table ? "The table has all values." : words}`);
    const parts: HTMLElement[] = title ? [make("h3", "", title)] : [];
    if (text) parts.push(make("p", "hsd-note", text));
    const open = foot.querySelector("details")?.open ?? false;
    head.replaceChildren(...parts);
    foot.replaceChildren(
      ...(table ? [tableOf(table, name, open)] : []),
      ...(note ? [make("p", "hsd-source", note)] : []),
    );
  }

  async function draw() {
    frame.hidden = !figure().data?.length; // its words say why there is nothing to draw
    shownAt = frame.clientWidth;
    if (!shownAt || frame.hidden) return; // or it is not on the page yet
    if (!plotly) {
      const library = libraryOf(model as unknown as Model<{ library: string }>);
      leave = library.leave;
      plotly = await library.ready;
      if (gone) return;
    }
    const night = model.get("dark");
    const { data, layout } = fitted(structuredClone(dark && night.data ? (night as Figure) : figure()), shownAt);
    // A lower figure would be placed with the margins of the one before, which may leave it no height.
    if ((layout.height ?? 0) < drawnHeight) plotly.purge(plot);
    drawnHeight = layout.height ?? 0;
    await plotly.react(plot, data, layout, model.get("config"));
    if (gone) return;
    // The words are in HTML.
    for (const svg of plot.querySelectorAll(".main-svg")) svg.setAttribute("aria-hidden", "true");
  }
  let drawnHeight = 0;
  // One at a time: plotly finishes a drawing later, and would meet the next one's layout.
  let drawing = false;
  let stale = false;
  async function redraw() {
    stale = true;
    if (drawing) return;
    drawing = true;
    while (stale && !gone) {
      stale = false;
      await draw().catch(failInto(root));
    }
    drawing = false;
  }

  function renew() {
    write();
    redraw();
  }
  const unfollow = followTheme(root, {
    changed: (now) => {
      if (now === dark) return;
      dark = now;
      redraw();
    },
  });
  const resized = new ResizeObserver(() => {
    if (frame.clientWidth !== shownAt) redraw();
  });
  resized.observe(frame);
  model.on("change:drawn", renew);
  renew();
  return () => {
    gone = true;
    leave();
    model.off("change:drawn", renew);
    resized.disconnect();
    unfollow();
    if (plotly) plotly.purge(plot);
    root.remove();
  };
}

export default { render: guarded(({ model, el }: Drawing<Traits>) => createView(model, el)) };
