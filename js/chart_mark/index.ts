// A mark over the cursor's round in an adjacent plotly chart. A plotly shape would redraw the whole chart.

import { make } from "../lib/dom";
import type { View } from "../lib/linked";
import { linkedWidget } from "../lib/linked";

/** The parts of plotly's element and events that are used here. */
interface Pointed {
  points?: { x: number }[];
}
interface Chart extends HTMLElement {
  data?: { x?: unknown[] }[];
  layout: { xaxis: { range: number[] } };
  on(event: string, handler: (e: Pointed) => void): void;
}

/** The band over bar `x` of a plot `width` px wide with `range`: {left, width} in px, at least 3 wide; null: out of view. */
export function bandOf(x: number, range: number[], width: number) {
  const [low, high] = range;
  if (!(high > low) || x + 0.5 < low || x - 0.5 > high) return null;
  const scale = width / (high - low);
  const wide = Math.max(3, scale);
  const left = (x - low) * scale - wide / 2;
  const begin = Math.max(0, left);
  return { left: begin, width: Math.max(0, Math.min(width, left + wide) - begin) };
}

function chartMarkView({ root, group, store, follow }: View<object>) {
  root.classList.add("hsd-chart-marks");
  const band = make("div", "hsd-chart-mark");
  band.hidden = true;
  band.setAttribute("aria-hidden", "true");
  root.append(band);
  let chart: Chart | null = null;

  function place() {
    const area = chart?.querySelector(".nsewdrag");
    const number = store.order.get(group.cursor.round ?? NaN);
    // During a run the chart still shows the previous run.
    const same = chart?.data?.[0]?.x?.length === store.order.size && store.order.size > 0;
    const plot = area?.getBoundingClientRect();
    const at =
      chart && plot && same && number !== undefined && plot.width
        ? bandOf(number, chart.layout.xaxis.range, plot.width)
        : null;
    band.hidden = !at;
    if (!plot || !at) {
      delete band.dataset.round;
      return;
    }
    const here = root.getBoundingClientRect();
    band.style.transform = `translate(${plot.left - here.left + at.left}px, ${plot.top - here.top}px)`;
    band.style.width = `${at.width}px`;
    band.style.height = `${plot.height}px`;
    band.classList.toggle("hsd-pinned", group.cursor.pinned);
    band.dataset.round = String(number);
  }
  let frame = 0;
  const soon = () => {
    if (!frame)
      frame = requestAnimationFrame(() => {
        frame = 0;
        place();
      });
  };

  // --- the chart may be created later than this view, and be replaced
  const idOf = (number: number) => [...store.order.keys()][number - 1];
  const roundAt = (e: Pointed) => {
    const round = chart?.data?.[0]?.x?.length === store.order.size ? idOf(e.points?.[0]?.x ?? NaN) : undefined;
    return round === undefined ? null : { round };
  };
  function attach() {
    const found = root.closest(".hsd-charts")?.querySelector<Chart>(".js-plotly-plot");
    if (!found || found === chart || typeof found.on !== "function") return;
    chart = found;
    chart.on("plotly_afterplot", soon);
    chart.on("plotly_hover", (e) => group.hover(roundAt(e)));
    chart.on("plotly_unhover", () => group.hover(null));
    chart.on("plotly_click", (e) => {
      const round = roundAt(e);
      if (round) group.pin(round);
    });
    soon();
  }
  const watch = new MutationObserver(attach);
  const resized = new ResizeObserver(soon);
  const begin = requestAnimationFrame(() => {
    const box = root.closest(".hsd-charts");
    if (!box) return;
    watch.observe(box, { childList: true, subtree: true });
    resized.observe(box);
    attach();
  });
  follow(soon, soon);
  return () => {
    cancelAnimationFrame(begin);
    cancelAnimationFrame(frame);
    watch.disconnect();
    resized.disconnect();
  };
}
export default linkedWidget(chartMarkView);
