// The scene of the cursor's round: chips on floors (scene.ts), details of one chip, the computation of its verdicts, and its dart board.
// Model output is only set as text.
import { html, nothing, render } from "lit-html";
import { repeat } from "lit-html/directives/repeat.js";
import { boardOfDraft } from "../darts/board";
import { createDarts, type Shown } from "../darts/stage";
import { focusable, make } from "../lib/dom";
import type { Cursor } from "../lib/group";
import type { View } from "../lib/linked";
import { linkedWidget } from "../lib/linked";
import type { Change } from "../lib/run";
import { duration, figure, plural, VERDICT_MARKS } from "../lib/words";
import { boardOfRound, pieceOf } from "./board";
import { createCard } from "./card";
import { cellsOf } from "./round";
import { type Beam, beside, type Chip, chipOf, moveAt, type Scene, sceneOf, stillsOf, timeOf } from "./scene";
import { createSums } from "./sums";
import { createReading, isTarget, OWN, type Own, ROOT, token } from "./words";

/** Pixels: a chip, a row, the line of a beam with its words, and the text line's foot. */
const SIZE = { cell: 7.85, pad: 22, sign: 16, chip: 28, row: 34, line: 30, gap: 8 };
const NARROW = 620;
/** Milliseconds of the whole scene when played, and of each still with reduced motion. */
const [PLAYED, STILL] = [5200, 1500];
/** Rounds looked at for the height of the stage. */
const SAMPLED = 48;

function createScene({ root, group, store, palette, follow }: View<object>) {
  const uid = `hsdsc${Math.random().toString(36).slice(2, 9)}`;
  root.classList.add("hsd-scene");
  const { levelName, actor, usual, before, ownOf, stepOf, titleOf, summaryOf, nodeWords } = createReading({
    store,
    palette,
  });
  const steps = createSums({ store, palette, actor });
  const card = createCard({ store, palette, actor, light: (position) => group.light(position, true) });
  const box = make("div", "hsd-sc-scroll");
  const stage = focusable(make("div", "hsd-sc-stage"));
  stage.setAttribute("role", "listbox");
  box.append(stage);
  const board = make("div", "hsd-sc-board");
  const darts = createDarts(board);
  const still = matchMedia("(prefers-reduced-motion: reduce)");

  const state = {
    top: null as number | null,
    key: null as string | null,
    peek: null as string | null,
    step: -1,
    /** A round of a lower level that was pinned elsewhere. */
    inner: null as number | null,
    /** Time of the scene while it is played here. */
    t: null as number | null,
  };
  let scene: Scene | null = null;
  let made = "";
  /** Left, top and width of the chips as drawn. */
  const places = new Map<string, [x: number, y: number, width: number]>();
  let most: number[] = [];
  const piece = (id: number | null) => pieceOf(store, id);
  const narrow = () => root.clientWidth < NARROW;
  const chosen = () => scene?.chips.find((c) => c.key === (state.peek ?? state.key)) ?? null;
  /** The round in which a chip was decided. */
  const roundOf = (chip: Chip | null) =>
    (state.peek === null && state.inner !== null && store.rounds.get(state.inner)) ||
    (chip?.judged.at(-1)?.round ?? chip?.own ?? scene?.round ?? null);

  /** The time shown: of the scene played here, of the cursor's event while the run is played, else the end. */
  function now() {
    if (!scene) return 1;
    if (state.t !== null) return state.t;
    const { shown, step, round } = group.cursor;
    const event = store.index().events[step];
    if (shown === null || round !== scene.round.id || !event) return 1;
    return timeOf(scene, event.draft ? event.draft.node : event.kind === "token" ? OWN : ROOT);
  }

  // --- playing the round here
  let frame = 0;
  function stop() {
    cancelAnimationFrame(frame);
    clearTimeout(frame);
    frame = 0;
    state.t = null;
  }
  function play() {
    if (frame || !scene) {
      stop();
      paint();
      return;
    }
    group.pause();
    if (still.matches) {
      const stills = stillsOf(scene);
      const next = (k: number) => {
        if (k === stills.length) stop();
        else {
          state.t = stills[k];
          frame = setTimeout(next, STILL, k + 1) as unknown as number;
        }
        paint();
      };
      next(0);
      return;
    }
    const from = performance.now();
    const tick = () => {
      const t = (performance.now() - from) / PLAYED;
      if (t >= 1.08) stop();
      else {
        state.t = Math.min(1, t);
        frame = requestAnimationFrame(tick);
      }
      paint();
    };
    tick();
  }

  // --- geometry
  /** Left edges of the columns, after the text before the round. */
  function columnsOf(it: Scene, start: string) {
    const cells = narrow() ? 8 : 13;
    const wide = (text: string, sign: number) =>
      SIZE.pad + sign + SIZE.cell * Math.min(cells, Math.max(2, cellsOf(text)));
    const lefts = [wide(start, 0) + SIZE.gap];
    for (let k = 0; k < it.columns; k++) {
      const here = it.chips.filter((c) => c.column === k);
      lefts.push(lefts[k] + Math.max(40, ...here.map((c) => wide(token(c.text), SIZE.sign))) + SIZE.gap);
    }
    return lefts;
  }
  /** Tops of the floors, the text first from above; each floor has room for the highest of the run. */
  function floorsOf(it: Scene) {
    const tops: number[] = [];
    let y = 4;
    for (let floor = it.rows.length - 1; floor >= 0; floor--) {
      tops[floor] = y;
      y += SIZE.row * Math.max(it.rows[floor], most[floor] ?? 1) + SIZE.line;
    }
    // The box has the same height for all rounds; higher ones scroll in it.
    const usual = it.rows.reduce(
      (sum, _, floor) => sum + SIZE.row * (most[floor] ?? 1) + SIZE.line,
      4 - SIZE.line + 26,
    );
    box.style.height = `${Math.min(460, usual + 30)}px`;
    return { tops, height: y - SIZE.line + 26 };
  }
  function measure() {
    const ids = [...store.order.keys()];
    const every = Math.max(1, Math.floor(ids.length / SAMPLED));
    most = [];
    for (let k = 0; k < ids.length; k += every)
      sceneOf(store, ids[k]).rows.forEach((n, floor) => {
        most[floor] = Math.min(3, Math.max(most[floor] ?? 1, n));
      });
  }

  // --- drawing
  function passes(beams: Beam[], name: string) {
    const [ns, fed] = [beams.reduce((s, b) => s + (b.ns ?? 0), 0), beams[0].fed];
    const one =
      beams.length === 1 && fed !== null
        ? `one forward pass over ${plural(fed, "token")}`
        : plural(beams.length, "forward pass");
    if (narrow()) return `${name}: ${one}${ns ? `, ${duration(ns)}` : ""}`;
    const [looked, up] = [
      beams.reduce((s, b) => s + b.round.examined, 0),
      beams.reduce((s, b) => s + b.round.accepted, 0),
    ];
    return `${name}: ${one}${ns ? `, ${duration(ns)}` : ""}${looked ? ` · accepts ${up} of ${looked} examined` : ""}`;
  }
  function sourceWords(it: Scene) {
    const inside = new Set(it.beams.map((b) => b.round.id));
    const calls = store.calls.filter(
      (c) => inside.has(c.round) && c.level === 0 && it.round.level > 0 && c.kind !== "update",
    );
    const ns = calls.reduce((s, c) => s + c.duration_ns, 0);
    const name = store.levels[0] ?? "";
    const label = name === "db" || name === "hd" ? "databases" : name;
    return `${label}: ${plural(it.chips.filter((c) => c.born === 0 && !c.own).length, "draft token")}${ns ? `, ${duration(ns)}` : ""}`;
  }
  function drawStage(it: Scene) {
    const t = now();
    const text = it.round.level;
    const start = `…${token(before(it.round)).slice(-10)}`;
    const lefts = columnsOf(it, start);
    const { tops, height } = floorsOf(it);
    const on = chosen();
    places.clear();
    const path = new Set<Chip>();
    for (let c = on; c; c = c.above) path.add(c);
    const wide = Math.max(lefts[it.columns], root.clientWidth - 28);
    stage.style.cssText = `width: ${lefts[it.columns]}px; height: ${height}px`;
    stage.style.setProperty("--wide", String(lefts[it.columns])); // print does not scroll
    stage.setAttribute(
      "aria-label",
      `Round ${store.order.get(it.round.id)}: ${plural(it.chips.length, "token")}. Arrow keys move between tokens, Enter pins.`,
    );
    const lines = tops.slice(1).map((_, k) => {
      const floor = k + 1;
      const beams = it.beams.filter((b) => b.floor === floor);
      const y = tops[floor - 1] - SIZE.line + 4;
      return html`<div class="hsd-sc-floor" .style=${`top: ${y}px; width: ${wide}px; height: ${(floor > 1 ? tops[floor - 2] - SIZE.line + 4 : height) - y}px`}
          ><span class="hsd-sc-label">${beams.length ? passes(beams, levelName(floor)) : `${levelName(floor)}: no forward pass`}</span></div>
        ${beams.map((b) => {
          const lit = state.t !== null && t >= b.from && t <= b.to + 0.03;
          const box = `top: ${y - 2}px; left: ${lefts[b.left]}px; width: ${Math.max(24, lefts[b.right] - lefts[b.left] - SIZE.gap)}px; --reach: ${tops[floor - 1] - y + SIZE.row}px`;
          return html`<div class=${`hsd-sc-beam${lit ? " hsd-lit" : ""}${t >= b.from ? " hsd-done" : ""}`} .style=${box} title=${passes([b], levelName(floor))}></div>`;
        })}`;
    });
    const stems = it.chips
      .filter((c) => c.rest > c.born && moveAt(c, t))
      .map((c) => {
        const here = moveAt(c, t)?.floor ?? c.born;
        const [y0, y1] = [tops[here] + SIZE.chip, tops[c.born] + SIZE.chip / 2];
        return y1 > y0
          ? html`<div class="hsd-sc-stem" data-family=${palette.family(c.source)} .style=${`left: ${lefts[c.column] + 13}px; top: ${y0}px; height: ${y1 - y0}px`}></div>`
          : nothing;
      });
    const chip = (c: Chip) => {
      const move = moveAt(c, t);
      const floor = move?.floor ?? c.born;
      // On its way a chip has no verdict yet.
      const fate = move === c.moves.at(-1) ? (move?.fate ?? "") : "";
      const label = c.judged.length
        ? nodeWords((c.judged.at(-1) as Chip["judged"][number]).draft)
        : `${token(c.text)}: ${c.own ? `${actor(c.own)}’s own token, ${c.own.outcome}` : "draft token"}`;
      const width = lefts[c.column + 1] - lefts[c.column] - SIZE.gap;
      const y = tops[floor] + SIZE.row * (c.rows[floor] ?? 0) + (move ? 0 : 22);
      places.set(c.key, [lefts[c.column], y, width]);
      const cls = [
        "hsd-sc-chip",
        !move && "hsd-unborn",
        c === on && "hsd-on",
        path.has(c) && "hsd-path",
        c.key === state.key && group.cursor.pinned && "hsd-pinned",
      ];
      return html`<div class=${cls.filter(Boolean).join(" ")} id="${uid}-${c.key}" data-key=${c.key} data-family=${palette.family(c.source)}
        data-verdict=${fate} role="option" aria-selected=${c.key === state.key} aria-label=${label}
        .style=${`width: ${width}px; transform: translate(${lefts[c.column]}px, ${y}px)`}
      ><span class="hsd-sc-mark" aria-hidden="true">${floor < text ? VERDICT_MARKS[fate] || "" : ""}</span><code>${token(c.text)}</code></div>`;
    };
    render(
      html`<div aria-hidden="true">${lines}${stems}<div class="hsd-sc-ground" .style=${`top: ${height - 24}px; width: ${wide}px`}><span class="hsd-sc-label">${
        text > 0 ? sourceWords(it) : passes(it.beams, levelName(0))
      }</span></div><code class="hsd-sc-start" .style=${`top: ${tops[text]}px; width: ${lefts[0] - SIZE.gap}px`}>${start}</code></div>
      ${repeat(it.chips, (c) => c.key, chip)}`,
      stage,
    );
    const at = stage.querySelector(`[data-key="${CSS.escape(state.key ?? "")}"]`);
    stage.setAttribute("aria-activedescendant", at?.id ?? "");
  }

  /** The dart board of a chip: of its correction's position, or of its own verdict alone. */
  function boardFor(it: Scene, chip: Chip | null): Shown | null {
    const r = roundOf(chip) ?? it.round;
    const own = ownOf(r);
    const place = (position: number, names: string) => `Position ${position}: ${names}`;
    const last = chip?.judged.at(-1)?.draft;
    if (store.meta.sampling?.temperature === 0) return null;
    if (last && last.p !== null && (last.verdict === "accepted" || !own?.row)) {
      const alone = r.rule === "token" ? boardOfDraft(last) : null;
      if (!alone) return null;
      const first = last.u === null ? null : { column: 0, y: last.u * (last.q ?? 0), hit: last.verdict === "accepted" };
      return {
        board: alone,
        key: `${chip?.key}:${r.id}`,
        names: alone.columns.map((c) => piece(c.id)),
        families: alone.columns.map((c) => (c.drafted ? palette.family(last.source) : null)),
        recorded: { first, token: first ? null : last.verdict === "accepted" ? 0 : null },
        title: place(last.depth, `${actor(r)} examines “${token(last.text)}”`),
      };
    }
    const full = boardOfRound(store, palette, r, own?.row ?? null);
    return full && { ...full, key: `${r.id}`, title: place(r.accepted + 1, "darts under p and q") };
  }
  /** Without a board: the recorded top of the target's row, or of a block's residual. */
  function likeliest(it: Scene, shown: Shown | null) {
    const t: Own["row"] = ownOf(it.round)?.row ?? null;
    const rows = t?.residual_top?.length ? t.residual_top : t?.top;
    if (shown || !t || !rows) return nothing;
    const block = Boolean(t.residual_top?.length);
    const greedy = store.meta.sampling?.temperature === 0;
    return html`<section class="hsd-sc-top">
      <h4>${block ? "Residual" : "Top target tokens"} at position ${it.round.accepted + 1}</h4>
      <div class="hsd-sc-grid">${rows.map(
        ([id, p]) => html`<code class=${id === t.token_id ? "hsd-chosen" : ""}>${piece(id)}</code>
          <span class="hsd-sc-track"><span class=${id === t.token_id ? "hsd-sc-fill hsd-chosen" : "hsd-sc-fill"} .style=${`width: ${100 * p}%`}></span></span>
          <span class="hsd-sc-num">${figure(p)}</span>`,
      )}</div>
      <p class="hsd-sc-muted">${
        block
          ? "max(0, w·p − q), scaled to 1. Bold: the drawn token."
          : `p at T = 1. Bold: the emitted token.${greedy ? " Greedy decoding emits the most likely token: for the verdict its p counts as 1, all others as 0." : ""}`
      }</p>
    </section>`;
  }
  const legend = html`<ul class="hsd-sc-legend">${[
    ["accepted", "accepted"],
    ["rejected", "rejected"],
    ["unreached", "not examined"],
    ["correction", "correction"],
    ["bonus", "bonus"],
  ].map(
    ([verdict, words]) =>
      html`<li><span class="hsd-sc-chip hsd-sc-sample" data-verdict=${verdict} aria-hidden="true"><code>abc</code></span>${words}</li>`,
  )}</ul>`;

  let detailed = "";
  function paint() {
    const it = scene;
    const top = it?.round ?? null;
    const number = store.order.get(top?.id ?? NaN);
    const chip = chosen();
    const r = roundOf(chip);
    const drafts = top ? [...(store.drafts.get(top.id) ?? [])].sort((a, b) => a.node - b.node) : [];
    const shown = it ? boardFor(it, chip) : null;
    const inner =
      r && !isTarget(r)
        ? ` · ${titleOf(r, top?.id ?? NaN)
            .split(", ")
            .at(-1)}`
        : "";
    if (it) drawStage(it);
    const share = top && it?.timed ? (PLAYED * 0.72) / Math.max(1e-9, top.duration_ns / 1e6) : 0;
    const playing = state.t !== null;
    // While the scene is played only the stage changes.
    const key = `${made}:${chip?.key}:${root.clientWidth}:${store.tokens.length}:${playing}:${store.seq}`;
    if (key === detailed && it) return;
    detailed = key;
    render(
      html`<div class="hsd-sc-head">
          <h3 class="hsd-sc-title">${top ? titleOf(top, top.id) : "No round"}${inner}</h3>
          <div class="hsd-sc-nav">
            <button class="hsd-sc-play" ?disabled=${!it} aria-pressed=${playing} @click=${play}
              title=${share ? `About ${share.toFixed(0)} times slower than recorded` : nothing}>${playing ? "Stop" : "Play round"}</button>
            <button ?disabled=${!top || number === 1} @click=${() => walk(-1)} aria-label="Previous round">←<span> Previous round</span></button>
            <button ?disabled=${!top || number === store.order.size} @click=${() => walk(1)} aria-label="Next round"><span>Next round </span>→</button>
          </div>
        </div>
        <p class="hsd-sc-summary" aria-live="polite">${top ? summaryOf(top, drafts, ownOf(top)) : "The draft of each round appears here when it is verified."}</p>
        ${box}
        <div class="hsd-sc-body" ?hidden=${!it}>
          <div class="hsd-sc-side">
            <aside class="hsd-sc-card" aria-label="Selected token of the round">${
              chip
                ? card(chip, chip.own ? ownOf(chip.own) : null)
                : html`<p class="hsd-sc-muted">Each chip is a token. Below a line: stopped by that level. In the text: accepted by all levels, or the target’s own. Hover over a chip or use the arrow keys for details.</p>${legend}`
            }</aside>
            <div class="hsd-sc-sums">${
              r
                ? steps(
                    r,
                    [...(store.drafts.get(r.id) ?? [])].sort((a, b) => a.node - b.node),
                    ownOf(r),
                  )
                : nothing
            }</div>
          </div>
          <div class="hsd-sc-side hsd-sc-right">${board}${it ? likeliest(it, shown) : nothing}</div>
        </div>`,
      root,
    );
    darts.show(shown);
    group.light(chip?.judged.at(-1)?.draft.position ?? null);
    const nodes = chip?.judged.at(-1)?.draft.node;
    for (const row of root.querySelectorAll<HTMLElement>(".hsd-sc-sums [data-node]")) {
      const on = nodes !== undefined && (row.dataset.node ?? "").split(" ").includes(String(nodes));
      row.classList.toggle("hsd-on", on);
      const list = row.parentElement as HTMLElement;
      if (on && list.scrollHeight > list.clientHeight) list.scrollTop = row.offsetTop - list.offsetTop - 60;
    }
  }

  // --- the shared cursor
  const topShown = () => group.cursor.round ?? usual(state.top);
  function refresh() {
    const top = topShown();
    if (top !== state.top) {
      stop();
      Object.assign(state, { top, key: null, peek: null, inner: null, step: -1 });
    }
    const key = `${store.run}:${top}:${top === null ? "" : store.drafts.get(top)?.length}:${store.calls.length}`;
    if (key !== made) {
      made = key;
      scene = top === null ? null : sceneOf(store, top);
      box.scrollLeft = 0;
    }
    const { step, round } = group.cursor;
    if (scene && round === state.top && step !== state.step) {
      state.step = step;
      const event = store.index().events[step];
      const node = event?.draft ? event.draft.node : event?.kind === "token" ? OWN : ROOT;
      const found = chipOf(scene, scene.round.id, node);
      // A chip of a lower level stays selected while the cursor stays at its round.
      state.key = found?.key ?? null;
      paint();
      keepInView();
      return;
    }
    paint();
  }
  function keepInView() {
    const at = places.get(state.key ?? "");
    if (!at) return;
    // Scroll only inside the box, not the page; to where the chip goes, not where it is.
    const [x, y, width] = at;
    if (x < box.scrollLeft) box.scrollLeft = x - 16;
    else if (x + width > box.scrollLeft + box.clientWidth - 32) box.scrollLeft = x + width - box.clientWidth + 64;
    if (y < box.scrollTop) box.scrollTop = y - 8;
    else if (y + SIZE.row > box.scrollTop + box.clientHeight - 14) box.scrollTop = y + SIZE.row - box.clientHeight + 24;
  }
  function choose(chip: Chip | null, pin = false) {
    if (!chip || !scene) return;
    const { id } = scene.round;
    const node = chip.own?.id === id ? OWN : (chip.judged.find((j) => j.round.id === id)?.draft.node ?? null);
    const step = node === null ? -1 : stepOf(id, node);
    state.key = chip.key;
    state.peek = state.inner = null;
    if (step >= 0) {
      state.step = step;
      (pin ? group.pin : group.go)({ step });
    } else if (group.cursor.round !== id) {
      group.go({ round: id });
      state.step = group.cursor.step;
      state.key = chip.key;
    }
    paint();
    keepInView();
  }
  function walk(by: number) {
    const ids = [...store.order.keys()];
    const next = ids[ids.indexOf(topShown() ?? NaN) + by];
    if (next !== undefined) group.go({ round: next });
  }
  const under = (e: Event) => {
    const key = (e.target as Element).closest<HTMLElement>(".hsd-sc-chip")?.dataset.key;
    return scene?.chips.find((c) => c.key === key) ?? null;
  };
  stage.addEventListener("pointerover", (e) => {
    const key = under(e)?.key ?? null;
    if (key === state.peek) return;
    state.peek = key;
    paint();
  });
  stage.addEventListener("pointerleave", () => {
    state.peek = null;
    paint();
  });
  stage.addEventListener("click", (e) => choose(under(e), true));
  stage.addEventListener("keydown", (e) => {
    if (!scene || e.ctrlKey || e.metaKey || e.altKey || e.shiftKey) return;
    const ways = { ArrowRight: "right", ArrowLeft: "left", ArrowDown: "down", ArrowUp: "up" } as const;
    const text = scene.chips.filter((c) => c.rest === scene?.round.level).sort((a, b) => a.column - b.column);
    if (e.key in ways) choose(beside(scene, state.key, ways[e.key as keyof typeof ways]));
    else if (e.key === "Home") choose(text[0] ?? null);
    else if (e.key === "End") choose(text.at(-1) ?? null);
    else if (e.key === "Enter") choose(scene.chips.find((c) => c.key === state.key) ?? null, true);
    else return;
    e.preventDefault();
    e.stopPropagation();
  });

  // --- life
  let waiting = 0;
  const soon = () => {
    waiting ||= requestAnimationFrame(() => {
      waiting = 0;
      refresh();
    });
  };
  const onStore = (what: Change) => {
    if (what === "reset") {
      stop();
      state.top = null;
      made = detailed = "";
      measure();
      refresh();
    } else soon();
  };
  const onCursor = (cursor: Cursor, last: Cursor) => {
    const { inner } = cursor;
    // A lower level's round pinned in another view; unpinned, its chip gives way to that of the cursor's event.
    const changed = inner !== last.inner && (inner === null || cursor.pinned);
    if (changed) state.inner = inner;
    if (changed && inner === null) state.step = -1;
    refresh();
    if (!changed || inner === null || !scene) return;
    const of = (c: Chip) => c.own?.id === inner || c.judged.some((j) => j.round.id === inner);
    state.key = (chipOf(scene, inner, OWN) ?? scene.chips.find(of))?.key ?? null;
    paint();
  };
  follow(onStore, onCursor);
  measure();
  refresh();
  let wide = root.clientWidth;
  const resized = new ResizeObserver(() => {
    if (root.clientWidth === wide) return;
    wide = root.clientWidth;
    soon();
  });
  resized.observe(root);
  return () => {
    stop();
    cancelAnimationFrame(waiting);
    resized.disconnect();
    group.light(null);
  };
}

export default linkedWidget(createScene);
