// The round inspector: the draft tree of the cursor's round, node details, and the computation of each verdict.
// Model output is only set as text.
import { html, nothing, render, svg } from "lit-html";
import type { Round } from "../lib/contract";
import { focusable, make } from "../lib/dom";
import type { Cursor } from "../lib/group";
import type { View } from "../lib/linked";
import { linkedWidget } from "../lib/linked";
import type { Change } from "../lib/run";
import { plural, VERDICT_MARKS } from "../lib/words";
import type { Scene } from "./card";
import { createCard } from "./card";
import { createDrawn } from "./drawn";
import { createRoom } from "./room";
import type { Layout, TreeNode } from "./round";
import { betterDown, layoutTree, nodeBeside } from "./round";
import { createReading, isTarget, OWN, ROOT, token } from "./said";
import { createSums } from "./sums";

/** Below this width a tree is vertical if that fits better; a chain always is. */
const NARROW = 620;

export function createInspector({ root, group, store, palette, follow }: View<object>) {
  const uid = `hsdins${Math.random().toString(36).slice(2, 9)}`;
  root.classList.add("hsd-inspector");

  // --- the frame
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
    if (key !== drawn) {
      drawn = key;
      if (id === null) scene = null;
      else drawRound(roundOf(id), shape ?? false);
      body.hidden = id === null;
    }
    drawFrame(id === null ? null : roundOf(id));
    if (scene) followCursor(scene);
    mark();
  }
  /** Title, buttons, rounds of lower levels and summary, above the tree of round `r`. */
  function drawFrame(r: Round | null) {
    const number = store.order.get(state.round ?? NaN);
    const words = "The draft of each round appears here when it is verified.";
    render(
      html`<div class="hsd-ins-head">
          <h3 class="hsd-ins-title">${r ? titleOf(r, state.round ?? NaN) : "No round"}</h3>
          <div class="hsd-ins-nav">
            <button ?disabled=${!r || number === 1} @click=${() => walkRounds(-1)}>← Previous round</button>
            <button ?disabled=${!r || number === store.order.size} @click=${() => walkRounds(1)}>Next round →</button>
          </div>
        </div>
        <div class="hsd-ins-levels ${r && store.children.size ? "hsd-some" : ""}">${r && levelsOf(r)}</div>
        <p class="hsd-ins-summary" aria-live="polite">${r && scene ? summaryOf(r, scene.drafts, scene.own) : words}</p>
        ${body}`,
      root,
    );
  }
  function drawRound(r: Round, narrow: boolean) {
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
    drawTree();
    const shown = arithmetic(r, drafts, own);
    render(shown.sums, sums);
    render(shown.bars, bars);
    room.grow();
    for (const box of [scroll, card, sums, bars]) box.scrollTop = box.scrollLeft = 0;
  }

  /** Buttons for rounds of lower levels: one row per level, along the selected path. */
  function levelsOf(r: Round) {
    const path = [r];
    for (let { parent } = r; parent !== null; { parent } = path[0]) path.unshift(roundOf(parent));
    const chip = (id: number, on: boolean, words: unknown, label?: string, title?: string, to: number | null = id) =>
      html`<button
        class="hsd-ins-chip" aria-pressed=${on} aria-label=${label ?? nothing} title=${title ?? nothing}
        @click=${() => show(to)}
      >${words}</button>`;
    const rows = path.flatMap((above, k) => {
      const ids = store.children.get(above.id) || [];
      if (!ids.length) return [];
      const chips = ids.map((id, n) => {
        const c = roundOf(id);
        const on = id === path[k + 1]?.id;
        const words = html`${n + 1}<span class="hsd-ins-chip-note"> · ${c.accepted} of ${c.drafted}</span>`;
        const label = `${levelName(c.level)}, round ${n + 1}: ${c.drafted} drafted, ${c.accepted} accepted, ${c.outcome}`;
        return chip(id, on, words, label, `${c.accepted} of ${c.drafted} accepted, ${c.outcome}`, on ? c.parent : id);
      });
      return html`<div class="hsd-ins-level">
        <span class="hsd-ins-level-name">${levelName(roundOf(ids[0]).level)} verified for ${actor(above)}</span>
        <span class="hsd-ins-chips">${chips}</span>
      </div>`;
    });
    if (!rows.length) return nothing;
    const first = chip(path[0].id, path.length === 1, `round ${store.order.get(path[0].id)}`);
    return [html`<div class="hsd-ins-level"><span class="hsd-ins-level-name">target</span>${first}</div>`, ...rows];
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
    const node = (b: Layout["boxes"][number]) => {
      const d = at.get(b.key);
      const mine = b.key === OWN ? own : null;
      const text = token(b.key === ROOT ? before(r) : ((mine ?? d)?.text ?? ""));
      const label =
        b.key === ROOT
          ? "text so far"
          : mine
            ? `${text}: ${actor(r)}’s own token, ${r.outcome}`
            : d
              ? nodeWords(d)
              : nothing;
      const source = mine?.source ?? d?.source;
      return html`<div
        class="hsd-ins-node ${b.key === ROOT ? "hsd-ins-root" : ""}" id="${uid}-${b.key === OWN ? "own" : b.key}"
        data-key=${b.key} data-family=${source ? palette.family(source) : nothing}
        data-verdict=${mine ? r.outcome : (d?.verdict ?? nothing)} role="treeitem" aria-level=${b.depth + 1}
        aria-label=${label} .style=${`left: ${b.x}px; top: ${b.y}px; width: ${b.w}px`}
      >${d ? html`<span class="hsd-ins-mark" aria-hidden="true">${VERDICT_MARKS[d.verdict] || ""}</span>` : nothing}<code
        >${b.key === ROOT ? "… " : ""}${text}</code></div>`;
    };
    const edges = [...layout.edges].sort((a, b) => Number(a.kept) - Number(b.kept));
    render(
      html`<svg width=${layout.width} height=${layout.height} aria-hidden="true">${edges.map(
        (e) => svg`<path d=${e.d} class=${e.kept ? "hsd-ins-edge hsd-kept" : "hsd-ins-edge"}></path>`,
      )}</svg>${layout.boxes.map(node)}`,
      tree,
    );
    for (const node of tree.querySelectorAll<HTMLElement>(".hsd-ins-node")) dom.set(Number(node.dataset.key), node);
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
  drawFrame(null);
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
