// @ts-check
// How much room the boxes of the round inspector need for any round of the run: what stands below must not move while rounds go by.
// linked_run.js, linked.js and round.js stand before it, inspector.js behind.

/** Rounds of which the boxes are drawn for their height: those that promise to be the highest. */
const MEASURED = 16;
/** The tree's box: its padding with a scroll bar, px, and what it may reach across and down the page. */
const FRAME = 48;
const MOST_HIGH = { across: 280, down: 440 };

/**
 * `draw(r)` gives {sums, bars}, the elements of a round's boxes or null; `boxes` are {sums, bars}, the boxes themselves. They are
 * measured where they stand, so that their own width and style count.
 */
function createRoom({ root, store, boxes, draw }) {
  const probe = make("div", "hsd-ins-probe");
  probe.setAttribute("aria-hidden", "true");
  /** @type {Set<number>} */ let seen = new Set();
  let [heaviest, width, run] = [-1, 0, ""];
  const high = { sums: 0, bars: 0 };
  const reserve = (name, height) => {
    if (height <= high[name]) return;
    high[name] = Math.ceil(height);
    root.style.setProperty(`--${name}`, `${high[name]}px`);
  };

  /** What a round's boxes are likely to need, without drawing them. */
  function weight(drafts) {
    const looked = drafts.filter((d) => d.p !== null);
    return looked.length + looked.reduce((n, d) => n + d.text.length, 0) / 40;
  }
  function tree(narrow) {
    const { rows, places } = mostOf(store.drafts.values());
    const across = rows * TREE.row - (TREE.row - TREE.height);
    const down = (1 + places) * (TREE.height + TREE.drop) - TREE.drop;
    root.style.setProperty("--tree", `${FRAME + (narrow ? Math.min(MOST_HIGH.down, Math.max(across, down)) : Math.min(MOST_HIGH.across, across))}px`);
  }
  return {
    /** Measure the rounds that are new; all of them where the run or the width is another, or the run is over: while it goes on a round
     * that is no heavier than those before it must cost next to nothing. Out of sight there is nothing to measure. */
    measure(narrow) {
      if (!root.clientWidth) return;
      tree(narrow);
      const now = `${store.run}:${(store.meta.wall_ns ?? null) === null}`;
      if (run !== now || width !== boxes.sums.clientWidth) {
        [seen, heaviest, width, run] = [new Set(), -1, boxes.sums.clientWidth, now];
        Object.assign(high, { sums: 0, bars: 0 });
        root.style.removeProperty("--sums");
        root.style.removeProperty("--bars");
      }
      const fresh = [...store.rounds.values()].filter((r) => !seen.has(r.id)).map((r) => ({ r, weight: weight(store.drafts.get(r.id) || []) }));
      for (const { r } of fresh) seen.add(r.id);
      const few = fresh.filter((f) => f.weight > heaviest).sort((a, b) => b.weight - a.weight).slice(0, MEASURED);
      if (!few.length) return;
      heaviest = Math.max(heaviest, few[0].weight);
      const drawn = few.map(({ r }) => draw(r));
      for (const name of ["sums", "bars"]) {
        const parts = drawn.map((d) => d[name]).filter(Boolean);
        probe.style.width = `${boxes[name].clientWidth}px`;
        probe.replaceChildren(...parts);
        boxes[name].parentElement.append(probe);
        for (const part of parts) reserve(name, part.getBoundingClientRect().height);
        probe.remove();
      }
    },
    /** What is drawn now needs its room, too; and a list that scrolls must be within reach of the keyboard. */
    grow() {
      for (const name of ["sums", "bars"]) if (boxes[name].firstElementChild) reserve(name, boxes[name].firstElementChild.getBoundingClientRect().height);
      const list = boxes.sums.querySelector("ol");
      if (list && list.scrollHeight > list.clientHeight) focusable(list);
    },
  };
}
