// The scene of the cursor's round: chips on floors (scene.ts), details of one chip, and its dart
// board. Model output is only set as text.
import { html, nothing, render } from "lit-html";
import { classMap } from "lit-html/directives/class-map.js";
import { repeat } from "lit-html/directives/repeat.js";
import { boardOfDraft } from "../darts/board";
import { createDarts, type Shown } from "../darts/stage";
import { createCard } from "../lib/card";
import { make, press, setAttributes } from "../lib/dom";
import { isWhole } from "../lib/facts";
import type { Cursor } from "../lib/group";
import { lessonOf } from "../lib/lesson";
import { linkedWidget, type View } from "../lib/linked";
import type { Change } from "../lib/run";
import { unique } from "../lib/widget";
import { columnsOfText, duration, plural, VERDICT_MARKS } from "../lib/words";
import { boardOfRound, pieceOf } from "./board";
import {
  type Beam,
  beside,
  type Chip,
  chipOf,
  moveAt,
  type Scene,
  sceneOf,
  stillsOf,
  timeOf,
  type Way,
} from "./scene";
import { createReading, isTarget, OWN, ROOT, token } from "./words";

/**
 * Pixels: a character, the padding of a chip, its mark, its height, a row, the line of a beam with
 * its words, between chips.
 */
const SIZE = { cell: 7.85, pad: 22, sign: 16, chip: 28, row: 34, line: 30, gap: 8 };
const NARROW = 620;
const SMALLEST = 480;
/** Pixels of a usual column of chips. */
const USUAL_CHIP = 96;
/**
 * Milliseconds of each still with reduced motion, and of the end of a played scene before its
 * controls return.
 */
const STILL = 1500;
const REST = 400;
/** The same where the view is narrow. */
const SMALL = { cell: 7.25, pad: 14, sign: 14, gap: 4 };
const NO_ROUND = "The draft of each round appears here when it is verified.";
const LEGEND = [
  ["accepted", "accepted"],
  ["rejected", "rejected"],
  ["unreached", "not examined"],
  ["correction", "correction"],
  ["bonus", "bonus"],
];

function sceneView({ root, group, store, palette, follow, resized, soon }: View<object>) {
  const uid = unique();
  root.classList.add("hsd-scene");
  const reading = createReading(store, palette);
  const { ownOf, stepOf, titleOf } = reading;
  const { levelName, actor } = store;
  const card = createCard(store, palette, (position) => group.light(position, true));
  const box = make("div", "hsd-sc-scroll");
  const stage = make("div", "hsd-sc-stage", "", { tabindex: 0, role: "listbox" });
  box.append(stage);
  const board = make("div", "hsd-sc-board");
  const darts = createDarts(board);
  const still = matchMedia("(prefers-reduced-motion: reduce)");

  /**
   * `inner`: a round of a lower level that was pinned elsewhere; `t`: time of the scene while it is
   * played here.
   */
  type State = Record<"top" | "inner" | "t", number | null> &
    Record<"key" | "peek", string | null> & { step: number };
  const state: State = { top: null, key: null, peek: null, step: -1, inner: null, t: null };
  let scene: Scene | null = null;
  let made = "";
  /** Left, top and width of the chips as drawn. */
  const places = new Map<string, [x: number, y: number, width: number]>();
  const narrow = () => root.clientWidth < NARROW;
  const sizes = () => (root.clientWidth < SMALLEST ? SMALL : SIZE);
  const chosen = () => scene?.chips.find((c) => c.key === (state.peek ?? state.key)) ?? null;
  /** The chip that ended the draft: the first rejected one of the round, else its own token. */
  const deciding = (it: Scene) => {
    if (state.t !== null) return null;
    const refused = (c: Chip) =>
      c.judged.some((j) => j.round.id === it.round.id && j.draft.verdict === "rejected");
    return it.chips.find(refused) ?? it.chips.find((c) => c.own?.id === it.round.id) ?? null;
  };
  /** The round in which a chip was decided. */
  const roundOf = (chip: Chip | null) =>
    (state.peek === null && state.inner !== null && store.rounds.get(state.inner)) ||
    (chip?.judged.at(-1)?.round ?? chip?.own ?? scene?.round ?? null);
  const nodeOf = (step: number) => {
    const event = store.index().events[step];
    return event?.draft ? event.draft.node : event?.kind === "token" ? OWN : ROOT;
  };

  /**
   * The time shown: of the scene played here, of the cursor's event while the run is played, else
   * the end.
   */
  function now(it: Scene) {
    if (state.t !== null) return state.t;
    const { shown, step, round } = group.cursor;
    return shown === null || round !== it.round.id || step < 0 ? 1 : timeOf(it, nodeOf(step));
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
    const playing = frame !== 0;
    stop();
    if (playing || !scene) return paint();
    group.pause();
    const stills = stillsOf(scene);
    const { lasts } = scene;
    const from = performance.now();
    const tick = () => {
      const passed = performance.now() - from;
      if (still.matches) state.t = stills[Math.floor(passed / STILL)] ?? null;
      else state.t = passed > lasts + REST ? null : Math.min(1, passed / lasts);
      if (state.t === null) stop();
      else
        frame = still.matches
          ? (setTimeout(tick, STILL) as unknown as number)
          : requestAnimationFrame(tick);
      paint();
    };
    tick();
  }

  // --- geometry
  /** Left edges of the columns, after the text before the round. */
  function columnsOf(it: Scene, start: string) {
    const size = sizes();
    const wide = (text: string, sign: number) =>
      size.pad + sign + size.cell * Math.min(narrow() ? 8 : 13, Math.max(2, columnsOfText(text)));
    const lefts = [start ? wide(start, 0) + size.gap : 0];
    /** Only a chip that rests below the text has a mark. */
    const sign = (c: Chip) => (narrow() && c.rest === it.round.level ? 0 : size.sign);
    for (let k = 0; k < it.columns; k++) {
      const here = it.chips.filter((c) => c.column === k);
      const widest = Math.max(40, ...here.map((c) => wide(token(c.text), sign(c))));
      lefts.push(lefts[k] + widest + size.gap);
    }
    return lefts;
  }
  /**
   * Tops of the floors, the text first from above. The box has the height of usual rounds; higher
   * ones scroll in it.
   */
  function floorsOf(it: Scene) {
    const text = it.rows.length - 1;
    const tops: number[] = [];
    let y = 4;
    for (let floor = text; floor >= 0; floor--) {
      tops[floor] = y;
      y += SIZE.row * Math.max(it.rows[floor], floor === text || floor === 0 ? 1 : 2) + SIZE.line;
    }
    box.style.height = `${44 + SIZE.row + (2 * SIZE.row + SIZE.line) * Math.max(1, text)}px`;
    return { tops, height: y - SIZE.line + 26 };
  }

  /** Whether the rounds of the run are wider than half of the view. */
  function isWide() {
    const deepest = Math.max(0, ...[...store.drafts.values()].flat().map((d) => d.depth));
    return (deepest + 2) * USUAL_CHIP > root.clientWidth / 2;
  }

  // --- drawing
  function passes(beams: Beam[], name: string) {
    const sum = (of: (b: Beam) => number) => beams.reduce((s, b) => s + of(b), 0);
    const ns = sum((b) => b.ns ?? 0);
    const looked = sum((b) => reading.judgedBy(b.round));
    const verb = beams.some((b) => isWhole(b.round.rule)) ? "judged" : "examined";
    const one =
      beams.length === 1 && beams[0].fed !== null ? ` over ${plural(beams[0].fed, "token")}` : "";
    const count = beams.length ? plural(beams.length, "forward pass") : "no forward pass";
    const said = one ? `one forward pass${one}` : count;
    const fate =
      looked && !narrow() ? ` · accepts ${sum((b) => b.round.accepted)} of ${looked} ${verb}` : "";
    return `${name}: ${said}${ns ? `, ${duration(ns)}` : ""}${fate}`;
  }
  function sourceWords(it: Scene) {
    const inside = new Set(it.beams.map((b) => b.round.id));
    const calls = store.calls.filter(
      (c) => inside.has(c.round) && c.level === 0 && c.kind !== "update",
    );
    const ns = calls.reduce((s, c) => s + c.duration_ns, 0);
    const drafted = it.chips.filter((c) => c.born === 0 && !c.own).length;
    const time = ns ? `, ${duration(ns)}` : "";
    return `${reading.sourceName()}: ${plural(drafted, "draft token")}${time}`;
  }
  function drawStage(it: Scene) {
    const t = now(it);
    const text = it.round.level;
    const { gap } = sizes();
    // A phone has no room for the text before the round.
    const start = narrow() ? "" : `…${token(reading.before(it.round)).slice(-10)}`;
    const lefts = columnsOf(it, start);
    const { tops, height } = floorsOf(it);
    const on = chosen();
    places.clear();
    const path = new Set<Chip>();
    for (let c = on ?? deciding(it); c; c = c.above) path.add(c);
    const wide = Math.max(lefts[it.columns], box.clientWidth - 28);
    stage.style.cssText = `width: ${lefts[it.columns]}px; height: ${height}px`;
    stage.style.setProperty("--wide", String(lefts[it.columns])); // print does not scroll
    const tokens = `Round ${store.order.get(it.round.id)}: ${plural(it.chips.length, "token")}`;
    setAttributes(stage, {
      "aria-label": `${tokens}. Arrow keys move between tokens, Enter pins.`,
    });
    const lines = tops.slice(1).map((_, k) => {
      const beams = it.beams.filter((b) => b.floor === k + 1);
      const y = tops[k] - SIZE.line + 4;
      const foot = k ? tops[k - 1] - SIZE.line + 4 : height;
      const beam = (b: Beam) => {
        const lit = state.t !== null && t >= b.from && t <= b.to + 0.03;
        const width = Math.max(24, lefts[b.right] - lefts[b.left] - gap);
        const reach = tops[k] - y + SIZE.row;
        const place =
          `top: ${y - 2}px; left: ${lefts[b.left]}px; ` + `width: ${width}px; --reach: ${reach}px`;
        // The light moves over the chips while the pass takes its time.
        const sweep = lit ? Math.min(1, (t - b.from) / Math.max(1e-9, b.to - b.from)) : 0;
        const light = lit ? html`<i .style=${`left: ${(100 * sweep).toFixed(1)}%`}></i>` : nothing;
        return html`<div
          class=${classMap({ "hsd-sc-beam": true, "hsd-lit": lit, "hsd-done": t >= b.from })}
          .style=${place}
          title=${passes([b], levelName(k + 1))}
        >
          ${light}
        </div>`;
      };
      return html`<div
          class="hsd-sc-floor"
          .style=${`top: ${y}px; width: ${wide}px; height: ${foot - y}px`}
        >
          <span class="hsd-sc-label">${passes(beams, levelName(k + 1))}</span>
        </div>
        ${beams.map(beam)}`;
    });
    const stems = it.chips.map((c) => {
      const [high, low] = [
        tops[moveAt(c, t)?.floor ?? c.born] + SIZE.chip,
        tops[c.born] + SIZE.chip / 2,
      ];
      const place = `left: ${lefts[c.column] + 13}px; top: ${high}px; height: ${low - high}px`;
      return low > high
        ? html`<div
            class="hsd-sc-stem"
            data-family=${palette.family(c.source)}
            .style=${place}
          ></div>`
        : nothing;
    });
    const chip = (c: Chip) => {
      const move = moveAt(c, t);
      const floor = move?.floor ?? c.born;
      // On its way a chip has no verdict yet.
      const fate = move === c.moves.at(-1) ? (move?.fate ?? "") : "";
      const last = c.judged.at(-1);
      const own = c.own ? `${actor(c.own)}’s own token, ${c.own.outcome}` : "draft token";
      const width = lefts[c.column + 1] - lefts[c.column] - gap;
      const y = tops[floor] + SIZE.row * (c.rows[floor] ?? 0) + (move ? 0 : 22);
      places.set(c.key, [lefts[c.column], y, width]);
      const pinned = c.key === state.key && group.cursor.pinned;
      const marks = {
        "hsd-unborn": !move,
        "hsd-on": c === on,
        "hsd-path": path.has(c),
        "hsd-pinned": pinned,
      };
      return html`<div
        class=${classMap({ "hsd-sc-chip": true, ...marks })}
        id="${uid}-${c.key}"
        data-key=${c.key}
        data-family=${palette.family(c.source)}
        data-verdict=${fate}
        role="option"
        aria-selected=${c.key === state.key}
        aria-label=${last ? reading.nodeWords(last.draft) : `${token(c.text)}: ${own}`}
        .style=${`width: ${width}px; transform: translate(${lefts[c.column]}px, ${y}px)`}
      >
        <span class="hsd-sc-mark" aria-hidden="true"
          >${floor < text ? VERDICT_MARKS[fate] || "" : ""}</span
        ><code>${token(c.text)}</code>
      </div>`;
    };
    const ground = text > 0 ? sourceWords(it) : passes(it.beams, levelName(0));
    render(
      html`<div aria-hidden="true">
          ${lines}${stems}
          <div class="hsd-sc-ground" .style=${`top: ${height - 24}px; width: ${wide}px`}>
            <span class="hsd-sc-label">${ground}</span>
          </div>
          <code
            class="hsd-sc-start"
            ?hidden=${!start}
            .style=${`top: ${tops[text]}px; width: ${Math.max(0, lefts[0] - gap)}px`}
            >${start}</code
          >
        </div>
        ${repeat(it.chips, (c) => c.key, chip)}`,
      stage,
    );
    const at = stage.querySelector(`[data-key="${CSS.escape(state.key ?? "")}"]`);
    stage.setAttribute("aria-activedescendant", at?.id ?? "");
  }

  /** The dart board of a chip: of its correction's position, or of its own verdict alone. */
  function boardFor(it: Scene, chip: Chip | null): Shown | null {
    if (store.meta.sampling?.temperature === 0) return null;
    const r = roundOf(chip) ?? it.round;
    const own = ownOf(r);
    const last = chip?.judged.at(-1)?.draft;
    if (last && last.p !== null && (last.verdict === "accepted" || !own?.row)) {
      const alone = r.rule === "token" ? boardOfDraft(last) : null;
      const hit = last.verdict === "accepted";
      const first = last.u === null ? null : { column: 0, y: last.u * (last.q ?? 0), hit };
      return (
        alone && {
          board: alone,
          key: `${chip?.key}:${r.id}`,
          names: alone.columns.map((c) => pieceOf(store, c.id)),
          families: alone.columns.map((c) => (c.drafted ? palette.family(last.source) : null)),
          recorded: { first, token: !first && hit ? 0 : null },
          title: `Position ${last.depth}: ${actor(r)} examines “${token(last.text)}”`,
        }
      );
    }
    const full = boardOfRound(store, palette, r, own?.row ?? null);
    return (
      full && { ...full, key: `${r.id}`, title: `Position ${r.accepted + 1}: darts under p and q` }
    );
  }

  let detailed = "";
  function paint() {
    const it = scene;
    const top = it?.round ?? null;
    const chip = chosen();
    if (it) drawStage(it);
    const playing = state.t !== null;
    // While the scene is played only the stage changes.
    const { tokens, seq } = store;
    const key = [made, chip?.key, root.clientWidth, tokens.length, playing, seq].join(":");
    if (key === detailed && it) return;
    detailed = key;
    const r = roundOf(chip);
    const number = store.order.get(top?.id ?? NaN);
    const slowed = it?.timed ? `Slowed down: recorded in ${duration(it.round.duration_ns)}` : "";
    const shown = it ? boardFor(it, chip) : null;
    const title = !top
      ? "No round"
      : titleOf(r && !isTarget(r) ? r : top, top.id).replace(", ", " · ");
    const described = chip ?? (it && deciding(it));
    const drawn = store.meta.sampling?.temperature !== 0;
    const drafter = it?.chips.find((one) => !one.own);
    const legend = html`<ul class="hsd-sc-legend">
        ${LEGEND.map(
          ([verdict, words], k) =>
            html`<li>
              <span
                class="hsd-sc-chip hsd-sc-sample"
                data-verdict=${verdict}
                data-family=${drafter && k < 3 ? palette.family(drafter.source) : nothing}
                aria-hidden="true"
                ><code>abc</code></span
              >${words}
            </li>`,
        )}
      </ul>
      <p
        class="hsd-note">A chip below a line was stopped by that level; the text is above all.</p>`;
    render(
      html`<div class="hsd-sc-head">
          <h3 class="hsd-sc-title hsd-number">${title}</h3>
          <p class="hsd-sc-summary" aria-live="polite">
            ${top ? reading.summaryOf(top) : NO_ROUND}
          </p>
          <div class="hsd-sc-nav">
            <button
              class="hsd-sc-play hsd-primary"
              ?disabled=${!it}
              aria-pressed=${playing}
              @click=${play}
              title=${slowed || nothing}
            >
              ${playing ? "Stop" : "Play round"}
            </button>
            <button
              ?disabled=${!top || number === 1}
              @click=${() => walk(-1)}
              aria-label="Previous round"
            >
              ←<span> Previous</span>
            </button>
            <button
              ?disabled=${!top || number === store.order.size}
              @click=${() => walk(1)}
              aria-label="Next round"
            >
              <span>Next </span>→
            </button>
          </div>
        </div>
        <div class="hsd-sc-body" data-wide=${isWide()} data-drawn=${drawn}>
          <div class="hsd-sc-stages">${box}${it ? legend : nothing}</div>
          <div
            class="hsd-card"
            tabindex="0"
            role="group"
            aria-label="Selected token of the round"
            ?hidden=${!it}
          >
            ${
              described
                ? card({
                    ...described,
                    token: (described.own && ownOf(described.own)?.row) ?? null,
                  })
                : nothing
            }
          </div>
          <div class="hsd-sc-right" ?hidden=${!it || !drawn}>${board}</div>
        </div>`,
      root,
    );
    darts.show(shown);
    group.light(chip?.judged.at(-1)?.draft.position ?? null);
  }

  // --- the shared cursor
  /** Whether the darts of a round can be drawn, and fall on both sides. */
  const hasBoard = (id: number) => {
    const r = store.rounds.get(id);
    const drawn =
      r &&
      store.meta.sampling?.temperature !== 0 &&
      boardOfRound(store, palette, r, ownOf(r)?.row ?? null);
    const accepted = drawn ? drawn.board.columns.reduce((sum, c) => sum + c.accepted, 0) : 0;
    return accepted > 0.1 && accepted < 0.9;
  };
  const topShown = () =>
    group.cursor.round ?? reading.usual(state.top, (id) => lessonOf(store, id, hasBoard));
  function refresh() {
    const top = topShown();
    if (top !== state.top) {
      stop();
      Object.assign(state, { top, key: null, peek: null, inner: null, step: -1 });
    }
    const drafts = top === null ? "" : store.drafts.get(top)?.length;
    const key = [store.run, top, drafts, store.calls.length].join(":");
    if (key !== made) {
      made = key;
      scene = top === null ? null : sceneOf(store, top);
      box.scrollLeft = 0;
    }
    const { step, round } = group.cursor;
    const moved = scene !== null && round === state.top && step !== state.step;
    if (scene && moved) {
      state.step = step;
      // A chip of a lower level stays selected while the cursor stays at its round.
      state.key = chipOf(scene, scene.round.id, nodeOf(step))?.key ?? null;
    }
    paint();
    if (moved) keepInView();
    else if (key !== shownKey && narrow() && scene) keepInView(deciding(scene)?.key);
    shownKey = key;
  }
  let shownKey = "";
  /** Scroll a chip into view: the selected one, or on a phone the one that ended the draft. */
  function keepInView(chip = state.key) {
    const at = places.get(chip ?? "");
    if (!at) return;
    // Scroll only inside the box, not the page; to where the chip goes, not where it is.
    const [x, y, width] = at;
    if (x < box.scrollLeft) box.scrollLeft = x - 16;
    else if (x + width > box.scrollLeft + box.clientWidth - 32)
      box.scrollLeft = x + width - box.clientWidth + 64;
    if (y < box.scrollTop) box.scrollTop = y - 8;
    else if (y + SIZE.row > box.scrollTop + box.clientHeight - 14)
      box.scrollTop = y + SIZE.row - box.clientHeight + 24;
  }
  function choose(chip: Chip | null, pin = false) {
    if (!chip || !scene) return;
    const { id } = scene.round;
    const node =
      chip.own?.id === id ? OWN : (chip.judged.find((j) => j.round.id === id)?.draft.node ?? null);
    const step = node === null ? -1 : stepOf(id, node);
    Object.assign(state, { key: chip.key, peek: null, inner: null });
    if (step >= 0) {
      state.step = step;
      (pin ? group.pin : group.go)({ step });
    } else if (group.cursor.round !== id) {
      group.go({ round: id });
      Object.assign(state, { step: group.cursor.step, key: chip.key });
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
  const peek = (e: Event) => {
    const key = e.type === "pointerleave" ? null : (under(e)?.key ?? null);
    if (key === state.peek) return;
    state.peek = key;
    paint();
  };
  stage.addEventListener("pointerover", peek);
  stage.addEventListener("pointerleave", peek);
  stage.addEventListener("click", (e) => choose(under(e), true));
  stage.addEventListener("keydown", (e) => {
    const it = scene;
    if (!it) return;
    const to = (way: Way) => () => choose(beside(it, state.key, way));
    const text = it.chips
      .filter((c) => c.rest === it.round.level)
      .sort((a, b) => a.column - b.column);
    press(e, {
      ArrowRight: to("right"),
      ArrowLeft: to("left"),
      ArrowDown: to("down"),
      ArrowUp: to("up"),
      Home: () => choose(text[0] ?? null),
      End: () => choose(text.at(-1) ?? null),
      Enter: () => choose(it.chips.find((c) => c.key === state.key) ?? null, true),
    });
  });

  // --- life
  const later = soon(refresh);
  const onStore = (what: Change) => {
    if (what !== "reset") return later();
    stop();
    state.top = null;
    made = detailed = "";
    refresh();
  };
  const onCursor = ({ inner, pinned }: Cursor, last: Cursor) => {
    // A lower level's round pinned in another view; unpinned, its chip gives way to that of the
    // cursor's event.
    const changed = inner !== last.inner && (inner === null || pinned);
    if (changed) state.inner = inner;
    if (changed && inner === null) state.step = -1;
    refresh();
    if (!changed || inner === null || !scene) return;
    const of = (c: Chip) => c.own?.id === inner || c.judged.some((j) => j.round.id === inner);
    state.key = (chipOf(scene, inner, OWN) ?? scene.chips.find(of))?.key ?? null;
    paint();
  };
  follow(onStore, onCursor);
  refresh();
  resized(root, later);
  return () => {
    stop();
    group.light(null);
  };
}

export default linkedWidget(sceneView);
