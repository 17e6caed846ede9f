// Reserve the maximum height of the round inspector's boxes over all rounds, so that the layout does not shift.
import { render } from "lit-html";
import type { Draft, Round } from "../lib/contract";
import { make } from "../lib/dom";
import type { Store } from "../lib/run";
import { zoomOf } from "../lib/zoom";
import { mostOf, TREE } from "./round";

type Name = "sums" | "bars";
const NAMES: Name[] = ["sums", "bars"];

/** Number of rounds measured: the candidates for the greatest height. */
const MEASURED = 16;
/** The tree's box: padding with a scroll bar (px), and maximum heights of horizontal and vertical trees. */
const FRAME = 48;
const MOST_HIGH = { across: 280, down: 440 };

/**
 * `draw(r)` returns {sums, bars}, the templates of a round; `boxes` are {sums, bars}, their containers. Elements are measured in
 * place, with the actual width and style.
 */
export function createRoom({
  root,
  store,
  boxes,
  draw,
}: {
  root: HTMLElement;
  store: Store;
  boxes: Record<Name, HTMLElement>;
  draw: (r: Round) => Record<Name, unknown>;
}) {
  const probe = make("div", "hsd-ins-probe");
  probe.setAttribute("aria-hidden", "true");
  let seen: Set<number> = new Set();
  let heaviest = -1;
  let width = 0;
  let run = "";
  const high = { sums: 0, bars: 0 };
  const reserve = (name: Name, height: number) => {
    if (height <= high[name]) return;
    high[name] = Math.ceil(height);
    root.style.setProperty(`--${name}`, `${high[name]}px`);
  };

  const heightOf = (part: Element | null) => (part?.getBoundingClientRect().height ?? 0) / zoomOf(root);

  /** Estimate the height of a round's boxes without drawing. */
  function weight(drafts: Draft[]) {
    const looked = drafts.filter((d) => d.p !== null);
    return looked.length + looked.reduce((n, d) => n + d.text.length, 0) / 40;
  }
  function tree(narrow: boolean) {
    const { rows, places } = mostOf(store.drafts.values());
    const across = rows * TREE.row - (TREE.row - TREE.height);
    const down = (1 + places) * (TREE.height + TREE.drop) - TREE.drop;
    root.style.setProperty(
      "--tree",
      `${FRAME + (narrow ? Math.min(MOST_HIGH.down, Math.max(across, down)) : Math.min(MOST_HIGH.across, across))}px`,
    );
  }
  return {
    /** Measure new rounds, or all after a change of run or width and at the end of a run. During a run, rounds below the current
     * maximum are skipped. Hidden boxes are not measured. */
    measure(narrow: boolean) {
      if (!root.clientWidth) return;
      tree(narrow);
      const now = `${store.run}:${(store.meta.wall_ns ?? null) === null}`;
      if (run !== now || width !== boxes.sums.clientWidth) {
        [seen, heaviest, width, run] = [new Set(), -1, boxes.sums.clientWidth, now];
        Object.assign(high, { sums: 0, bars: 0 });
        root.style.removeProperty("--sums");
        root.style.removeProperty("--bars");
      }
      const fresh = [...store.rounds.values()]
        .filter((r) => !seen.has(r.id))
        .map((r) => ({ r, weight: weight(store.drafts.get(r.id) || []) }));
      for (const { r } of fresh) seen.add(r.id);
      const few = fresh
        .filter((f) => f.weight > heaviest)
        .sort((a, b) => b.weight - a.weight)
        .slice(0, MEASURED);
      if (!few.length) return;
      heaviest = Math.max(heaviest, few[0].weight);
      const drawn = few.map(({ r }) => draw(r));
      for (const name of NAMES) {
        probe.style.width = `${boxes[name].clientWidth}px`;
        render(
          drawn.map((d) => d[name]),
          probe,
        );
        boxes[name].parentElement?.append(probe);
        for (const part of probe.children) reserve(name, heightOf(part));
        probe.remove();
      }
    },
    /** Reserve the current height, and make scrolling lists focusable. */
    grow() {
      for (const name of NAMES) reserve(name, heightOf(boxes[name].firstElementChild));
      const list = boxes.sums.querySelector("ol");
      list?.toggleAttribute("tabindex", false);
      if (list && list.scrollHeight > list.clientHeight) list.tabIndex = 0;
    },
  };
}
