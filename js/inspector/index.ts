// The round inspector: the draft tree of the cursor's round, node details, and the computation of each verdict.
// Model output is only set by textContent.

import type { Round } from "../lib/contract";
import { draw, focusable, make } from "../lib/dom";
import type { Cursor } from "../lib/group";
import type { View } from "../lib/linked";
import { linkedWidget } from "../lib/linked";
import type { Change } from "../lib/run";
import { plural, VERDICT_MARKS } from "../lib/words";
import type { Scene } from "./card";
import { createCard } from "./card";
import { createDrawn } from "./drawn";
import { createRoom } from "./room";
import type { TreeNode } from "./round";
import { betterDown, layoutTree, nodeBeside } from "./round";
import { createReading, isTarget, OWN, ROOT, token } from "./said";
import { createSums } from "./sums";

/** Below this width a tree is vertical if that fits better; a chain always is. */
const NARROW = 620;

export function createInspector({ root, group, store, palette, follow }: View<object>) {
  const uid = `hsdins${Math.random().toString(36).slice(2, 9)}`;
  root.classList.add("hsd-inspector");

  // --- the frame
  const head = make("div", "hsd-ins-head");
  const title = make("h3", "hsd-ins-title");
  const nav = make("div", "hsd-ins-nav");
  const [earlier, later] = [make("button", "", "← Previous round"), make("button", "", "Next round →")];
  earlier.addEventListener("click", () => walkRounds(-1));
  later.addEventListener("click", () => walkRounds(1));
  nav.append(earlier, later);
  head.append(title, nav);
  const levels = make("div", "hsd-ins-levels");
  const summary = make("p", "hsd-ins-summary");
  summary.setAttribute("aria-live", "polite");
  const body = make("div", "hsd-ins-body");
  const [left, right] = [make("div", "hsd-ins-side"), make("div", "hsd-ins-side")];
  const scroll = make("div", "hsd-ins-scroll");
  const tree = make("div", "hsd-ins-tree");
  focusable(tree).setAttribute("role", "tree");
  scroll.append(tree);
  const card = make("aside", "hsd-ins-card");
  card.setAttribute("aria-label", "Node details");
  const sums = make("div", "hsd-ins-sums");
  const bars = make("div", "hsd-ins-bars");
  left.append(scroll, sums);
  right.append(card, bars);
  body.append(left, right);
  root.append(head, levels, summary, body);

  const { levelName, actor, usual, before, ownOf, stepOf, titleOf, summaryOf, nodeWords } = createReading({
    store,
    palette,
  });
  const reckoning = createSums({ store, palette, actor });
  const drawnFrom = createDrawn({ store, actor });
  const drawCard = createCard({ card, store, palette, actor, light: (position) => group.light(position, true) });

  const draftsOf = (r: Round) => [...(store.drafts.get(r.id) || [])].sort((a, b) => a.node - b.node);
  const arithmetic = (r: Round, drafts = draftsOf(r), own = ownOf(r)) => ({
    sums: reckoning(r, drafts, own),
    bars: drawnFrom(r, drafts, own),
  });
  const room = createRoom({ root, store, boxes: { sums, bars }, draw: arithmetic });

  // --- state: a round (of any level) and a node
  const state = {
    round: null as number | null,
    sub: null as number | null,
    node: ROOT as number | null,
    peek: null as number | null,
    step: -1,
  };
  let drawn = "";
  let scene: Scene | null = null;

  /** The last event of a target round; -1 for rounds of lower levels. */
  const lastStep = (r: Round) => (store.index().rounds[store.index().placeOf.get(r.id) ?? -1]?.end ?? 0) - 1;
  const topOf = (r: Round) => (r.parent === null ? r.id : null);
  const roundOf = (id: number) => store.rounds.get(id) as Round;
  const topShown = () => group.cursor.round ?? usual(state.round);

  function walkRounds(by: number) {
    const ids = [...store.order.keys()];
    const next = ids[ids.indexOf(topShown() ?? NaN) + by];
    if (next !== undefined) group.go({ round: next });
  }

  // --- drawing
  const narrow = () => root.clientWidth < NARROW;
  function refresh() {
    const top = topShown();
    if (top !== state.round) Object.assign(state, { round: top, sub: null, node: null, peek: null });
    if (state.sub !== null && !store.rounds.has(state.sub)) state.sub = null;
    const id = state.sub ?? state.round;
    // Hidden elements have no width: draw when visible.
    const shape = root.clientWidth ? narrow() : null;
    const key = `${store.run}:${id}:${shape}:${id === null ? "" : store.drafts.get(id)?.length}`;
    const number = store.order.get(top ?? NaN);
    earlier.disabled = id === null || number === 1;
    later.disabled = id === null || number === store.order.size;
    if (key !== drawn) {
      drawn = key;
      if (id === null) drawEmpty();
      else drawRound(roundOf(id), shape ?? false);
    } else if (id !== null) title.textContent = titleOf(roundOf(id), top ?? NaN);
    if (scene) followCursor(scene);
    mark();
  }
  function drawEmpty() {
    scene = null;
    title.textContent = "No round";
    levels.replaceChildren();
    summary.textContent = "The draft of each round appears here when it is verified.";
    body.hidden = true;
  }
  function drawRound(r: Round, narrow: boolean) {
    body.hidden = false;
    const drafts = draftsOf(r);
    const own = ownOf(r);
    const kept = drafts.filter((d) => d.verdict === "accepted");
    const last = kept.length ? kept[kept.length - 1].node : ROOT;
    const nodes: TreeNode[] = drafts.map((d) => ({
      key: d.node,
      parent: d.parent,
      label: token(d.text),
      kept: d.verdict === "accepted",
      sign: true,
    }));
    if (own) nodes.push({ key: OWN, parent: last, label: token(own.text), kept: true });
    const start = `… ${token(before(r))}`;
    const [across, upright] = [layoutTree(nodes, start), layoutTree(nodes, start, true)];
    const down =
      narrow && (drafts.every((d, k) => d.parent === k - 1) || betterDown(across, upright, tree.clientWidth));
    scene = {
      r,
      drafts,
      own,
      down,
      layout: down ? upright : across,
      at: new Map(drafts.map((d) => [d.node, d])),
      dom: new Map(),
    };
    if (state.node === null || (state.node !== ROOT && state.node !== OWN && !scene.at.has(state.node)))
      state.node = ROOT;
    title.textContent = titleOf(r, state.round ?? NaN);
    drawLevels(r);
    summary.textContent = summaryOf(r, drafts, own);
    drawTree();
    const shown = arithmetic(r, drafts, own);
    sums.replaceChildren(...[shown.sums ?? []].flat());
    bars.replaceChildren(...[shown.bars ?? []].flat());
    room.grow();
    for (const box of [scroll, card, sums, bars]) box.scrollTop = box.scrollLeft = 0;
  }

  /** Buttons for rounds of lower levels: one row per level, along the selected path. */
  function drawLevels(r: Round) {
    const path = [r];
    for (let { parent } = r; parent !== null; { parent } = path[0]) path.unshift(roundOf(parent));
    const rows: HTMLElement[] = [];
    path.forEach((above, k) => {
      const ids = store.children.get(above.id) || [];
      if (!ids.length) return;
      const row = make("div", "hsd-ins-level");
      const shownChild = path[k + 1]?.id;
      row.append(
        make("span", "hsd-ins-level-name", `${levelName(roundOf(ids[0]).level)} verified for ${actor(above)}`),
      );
      const chips = make("span", "hsd-ins-chips");
      ids.forEach((id, n) => {
        const c = roundOf(id);
        const chip = make("button", "hsd-ins-chip", `${n + 1}`);
        chip.append(make("span", "hsd-ins-chip-note", ` · ${c.accepted} of ${c.drafted}`));
        chip.setAttribute("aria-pressed", String(id === shownChild));
        chip.setAttribute(
          "aria-label",
          `${levelName(c.level)}, round ${n + 1}: ${c.drafted} drafted, ${c.accepted} accepted, ${c.outcome}`,
        );
        chip.title = `${c.accepted} of ${c.drafted} accepted, ${c.outcome}`;
        chip.addEventListener("click", () => show(id === shownChild ? c.parent : id));
        chips.append(chip);
      });
      row.append(chips);
      rows.push(row);
    });
    if (rows.length) {
      const first = make("div", "hsd-ins-level");
      first.append(make("span", "hsd-ins-level-name", "target"));
      const chip = make("button", "hsd-ins-chip", `round ${store.order.get(path[0].id)}`);
      chip.setAttribute("aria-pressed", String(path.length === 1));
      chip.addEventListener("click", () => show(path[0].id));
      first.append(chip);
      rows.unshift(first);
    }
    levels.classList.toggle("hsd-some", store.children.size > 0);
    const focused = levels.contains(document.activeElement) ? document.activeElement?.getAttribute("aria-label") : null;
    levels.replaceChildren(...rows);
    // Redrawing must keep the focused button.
    if (focused)
      for (const b of levels.querySelectorAll("button"))
        if (b.getAttribute("aria-label") === focused) b.focus({ preventScroll: true });
  }
  function show(id: number | null) {
    Object.assign(state, { sub: id === state.round ? null : id, node: null, peek: null });
    refresh();
  }

  function drawTree() {
    if (!scene) return;
    const { layout, drafts, own, r, down, at, dom } = scene;
    tree.style.width = `${layout.width}px`;
    tree.style.setProperty("--wide", String(layout.width)); // print does not scroll
    tree.style.height = `${layout.height}px`;
    tree.setAttribute(
      "aria-label",
      `Draft of ${isTarget(r) ? `round ${store.order.get(r.id)}` : `${levelName(r.level)}’s round`}: ${plural(drafts.length, "token")}. Arrow keys move between nodes, Enter pins.`,
    );
    const svg = draw("svg", { width: layout.width, height: layout.height, "aria-hidden": "true" });
    for (const e of [...layout.edges].sort((a, b) => Number(a.kept) - Number(b.kept)))
      svg.append(draw("path", { d: e.d, class: e.kept ? "hsd-ins-edge hsd-kept" : "hsd-ins-edge" }));
    const parts = layout.boxes.map((b) => {
      const node = make("div", "hsd-ins-node");
      node.id = `${uid}-${b.key === OWN ? "own" : b.key}`;
      node.dataset.key = String(b.key);
      node.style.left = `${b.x}px`;
      node.style.top = `${b.y}px`;
      node.style.width = `${b.w}px`;
      node.setAttribute("role", "treeitem");
      node.setAttribute("aria-level", String(b.depth + 1));
      node.setAttribute("aria-selected", "false");
      const d = at.get(b.key);
      if (b.key === ROOT) {
        node.classList.add("hsd-ins-root");
        node.append(make("code", "", `… ${token(before(r))}`));
        node.setAttribute("aria-label", "text so far");
      } else if (b.key === OWN && own) {
        node.dataset.family = palette.family(own.source);
        node.dataset.verdict = r.outcome;
        node.append(make("code", "", token(own.text)));
        node.setAttribute("aria-label", `${token(own.text)}: ${actor(r)}’s own token, ${r.outcome}`);
      } else if (d) {
        node.dataset.family = palette.family(d.source);
        node.dataset.verdict = d.verdict;
        const sign = make("span", "hsd-ins-mark", VERDICT_MARKS[d.verdict] || "");
        sign.setAttribute("aria-hidden", "true");
        node.append(sign, make("code", "", token(d.text)));
        node.setAttribute("aria-label", nodeWords(d));
      }
      dom.set(b.key, node);
      return node;
    });
    tree.replaceChildren(svg, ...parts);
    scroll.classList.toggle("hsd-down", down);
  }

  /** Select the node of the shared cursor's event. */
  function followCursor({ own, dom }: Scene) {
    const { cursor } = group;
    if (state.sub !== null || cursor.round !== state.round || cursor.step === state.step) return;
    state.step = cursor.step;
    const event = store.index().events[cursor.step];
    if (event) state.node = event.draft ? event.draft.node : event.kind === "token" && own ? OWN : ROOT;
    const node = dom.get(state.node ?? NaN);
    if (node) keepInView(node);
  }
  function keepInView(node: HTMLElement, box: HTMLElement = scroll) {
    // Scroll only inside the box, not the page.
    const [x, y] = [node.offsetLeft, node.offsetTop];
    if (x < box.scrollLeft) box.scrollLeft = x - 16;
    else if (x + node.offsetWidth > box.scrollLeft + box.clientWidth - 24)
      box.scrollLeft = x + node.offsetWidth - box.clientWidth + 48;
    if (y < box.scrollTop) box.scrollTop = y - 16;
    else if (y + node.offsetHeight > box.scrollTop + box.clientHeight - 24)
      box.scrollTop = y + node.offsetHeight - box.clientHeight + 48;
  }
  function choose(key: number, pin = false) {
    const step = state.sub === null ? stepOf(state.round, key) : -1;
    state.node = key;
    state.step = step >= 0 ? step : state.step;
    if (step >= 0) {
      if (pin) group.pin({ step });
      else group.go({ step });
    }
    mark();
    const node = scene?.dom.get(key);
    if (node) keepInView(node);
  }

  let marked = "";
  function mark() {
    if (!scene) return;
    const looked = state.peek ?? state.node ?? ROOT;
    // In lecture mode verdicts after the cursor can be hidden.
    const { shown } = group.cursor;
    const last = lastStep(scene.r);
    let guess = false;
    for (const [key, node] of scene.dom) {
      const verdict = stepOf(topOf(scene.r), key);
      const unknown = shown !== null && key !== ROOT && (verdict < 0 ? last : verdict) > group.cursor.step;
      guess ||= unknown;
      node.classList.toggle("hsd-unknown", unknown);
      node.classList.toggle("hsd-on", key === looked);
      node.classList.toggle("hsd-pinned", key === state.node && group.cursor.pinned);
      node.setAttribute("aria-selected", String(key === state.node));
    }
    root.classList.toggle("hsd-guess", guess);
    tree.setAttribute("aria-activedescendant", scene.dom.get(state.node ?? NaN)?.id || "");
    const key = `${drawn}:${looked}`;
    if (key !== marked) {
      marked = key;
      drawCard(scene, looked);
      // The position in the text that the node was copied from.
      group.light(scene.at.get(looked)?.position ?? null);
    }
    for (const row of sums.querySelectorAll<HTMLElement>("[data-node]")) {
      const on = (row.dataset.node ?? "").split(" ").includes(String(looked));
      row.classList.toggle("hsd-on", on);
      if (on && row.parentElement) keepInView(row, row.parentElement);
    }
  }

  tree.addEventListener("pointerover", (e) => {
    const node = (e.target as Element).closest<HTMLElement>(".hsd-ins-node");
    const key = node ? Number(node.dataset.key) : null;
    if (key !== state.peek) {
      state.peek = key;
      mark();
    }
  });
  tree.addEventListener("pointerleave", () => {
    state.peek = null;
    mark();
  });
  tree.addEventListener("click", (e) => {
    const node = (e.target as Element).closest<HTMLElement>(".hsd-ins-node");
    if (node) choose(Number(node.dataset.key), true);
  });
  tree.addEventListener("keydown", (e) => {
    if (!scene || e.ctrlKey || e.metaKey || e.altKey || e.shiftKey) return;
    const { down } = scene;
    const ways: Record<string, string> = down
      ? { ArrowDown: "child", ArrowUp: "parent", ArrowRight: "next", ArrowLeft: "before" }
      : { ArrowRight: "child", ArrowLeft: "parent", ArrowDown: "next", ArrowUp: "before" };
    if (e.key in ways) choose(nodeBeside(scene.layout, state.node, ways[e.key]));
    else if (e.key === "Home") choose(ROOT);
    else if (e.key === "End") choose(scene.own ? OWN : (scene.layout.boxes.filter((b) => b.kept).at(-1)?.key ?? ROOT));
    else if (e.key === "Enter") choose(state.node ?? ROOT, true);
    else return;
    e.preventDefault();
    e.stopPropagation();
  });

  // --- life
  let frame = 0;
  const soon = () => {
    if (!frame)
      frame = requestAnimationFrame(() => {
        frame = 0;
        room.measure(narrow());
        refresh();
      });
  };
  const onStore = (what: Change) => {
    if (what === "reset") {
      state.round = null;
      drawn = "";
      room.measure(narrow());
      refresh();
    } else soon();
  };
  const onCursor = (cursor: Cursor, before: Cursor) => {
    // Show a lower level's round pinned in another view, but not hovered ones.
    if (
      cursor.pinned &&
      cursor.inner !== before.inner &&
      (cursor.inner !== state.sub || cursor.round !== state.round)
    ) {
      Object.assign(state, { round: cursor.round, sub: cursor.inner, node: null, peek: null });
    }
    refresh();
  };
  follow(onStore, onCursor);
  room.measure(narrow());
  refresh();
  let wide = root.clientWidth;
  const resized = new ResizeObserver(() => {
    if (root.clientWidth !== wide) {
      wide = root.clientWidth;
      soon();
    }
  });
  resized.observe(root);
  return () => {
    cancelAnimationFrame(frame);
    resized.disconnect();
    group.light(null);
  };
}

export default linkedWidget(createInspector);
