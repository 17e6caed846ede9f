// The stage of a dart board: its columns, the darts thrown at it, and the pile they make beside p.
import { html, nothing, render, svg } from "lit-html";
import { menu } from "../lib/fields";
import { folded, tableOf } from "../lib/table";
import { cut, figure } from "../lib/words";
import { type Board, type Dart, lawOf, numbers, throwFor } from "./board";

const MANY = 1000;
const RULES = [
  ["residual", "the residual (lossless)"],
  ["p", "p (lossy)"],
];
const SIZE = { height: 240, top: 18, bottom: 34 };
/** A name as a label: punctuation in quotes. */
const label = (name: string) => (/[\p{L}\p{N}]/u.test(name) ? name : `“${name}”`);
type Thrown = Dart & { x: number; counts: boolean };

/**
 * What was recorded at this position: the drafter's dart and the column of the token that was drawn
 * in its place.
 */
export interface Recorded {
  first: { column: number; y: number; hit: boolean } | null;
  token: number | null;
}
export interface Shown extends Drawn {
  /** Changes with the position: darts of another board are taken away. */
  key: string;
  title: string;
}
export interface Drawn {
  board: Board;
  names: string[];
  families: (string | null)[];
  recorded: Recorded | null;
}

/** The picture of a board, `width` pixels wide, with the darts thrown at it. */
export function boardPicture(
  { board, names, families, recorded }: Drawn,
  width: number,
  darts: Thrown[] = [],
) {
  const { columns } = board;
  const foot = SIZE.height - SIZE.bottom;
  const counted = darts.filter((d) => d.counts);
  const pile = columns.map(
    (_, k) => counted.filter((d) => d.column === k).length / Math.max(1, counted.length),
  );
  const most = Math.max(
    ...columns.map((c, k) => Math.max(c.accepted + c.residual + c.surplus, pile[k])),
    0.02,
  );
  const step = width / columns.length;
  const wide = Math.min(64, step * 0.72);
  const left = (k: number) => step * (k + 0.5) - wide / 2;
  const y = (p: number) => foot - (p / most) * (foot - SIZE.top);
  const box = (k: number, from: number, to: number, cls: string) =>
    to - from > 1e-9
      ? svg`<rect class=${cls} x=${left(k)} width=${wide}
          y=${y(to)} height=${y(from) - y(to)}></rect>`
      : nothing;
  const share = (n: number, k: number) => {
    const off = Math.abs(n - columns[k].accepted - columns[k].residual) > 0.04;
    return svg`<path class=${off ? "hsd-dt-pile hsd-off" : "hsd-dt-pile"}
      d="M${left(k) - 5} ${y(n)}h${wide + 10}"></path>`;
  };
  const dots = (some: Thrown[]) =>
    some
      .map(
        (d) =>
          `M${(left(d.column) + wide * (0.06 + 0.88 * d.x)).toFixed(1)} ${y(d.y).toFixed(1)}h0`,
      )
      .join("");
  const letters = Math.max(3, Math.floor(step / 7.6));
  const [first, drawn] = [recorded?.first, columns[recorded?.token ?? -1]];
  const middle = (c: (typeof columns)[number]) => c.accepted + c.residual / 2;
  const ring = (k: number, at: number, hit: boolean) =>
    svg`<circle class=${hit ? "hsd-dt-ring" : "hsd-dt-ring hsd-out"} cx=${left(k) + wide / 2}
      cy=${y(at)} r="5"></circle>`;
  return svg`<svg width=${width} height=${SIZE.height} viewBox="0 0 ${width} ${SIZE.height}"
    aria-hidden="true">
      ${columns.map(
        (c, k) => svg`<g data-family=${families[k] ?? nothing}>
          ${box(k, 0, c.accepted, "hsd-dt-accepted")}
          ${box(k, c.accepted, c.accepted + c.residual, "hsd-dt-residual")}
          ${box(k, c.accepted, c.accepted + c.surplus, "hsd-dt-surplus")}
          <text x=${step * (k + 0.5)} y=${foot + 15}
            class=${k === recorded?.token ? "hsd-dt-name hsd-on" : "hsd-dt-name"}
            >${cut(label(names[k]), letters)}</text>
          <text x=${step * (k + 0.5)} y=${foot + 29}
            class="hsd-dt-p">${(c.accepted + c.residual).toFixed(3)}</text>
        </g>`,
      )}
      <line class="hsd-dt-foot" x2=${width} y1=${foot} y2=${foot}></line>
      <path class="hsd-dt-miss" d=${dots(darts.filter((d) => !d.counts))}></path>
      <path class="hsd-dt-dart" d=${dots(counted)}></path>
      ${counted.length < 50 ? nothing : pile.map(share)}
      ${first ? ring(first.column, first.y, first.hit) : nothing}
      ${drawn && !first?.hit ? ring(columns.indexOf(drawn), middle(drawn), true) : nothing}
    </svg>`;
}

/** A stage in `host`; `show` draws a board on it, or hides it. */
export function createDarts(host: HTMLElement, seed = 1) {
  let shown: Shown | null = null;
  let darts: Thrown[] = [];
  let lossy = false;
  let frame = 0;
  const next = numbers(seed);

  function throwMany(n: number) {
    if (!shown) return;
    for (let k = 0; k < n; k++) {
      const thrown = throwFor(shown.board, lossy, next);
      thrown.forEach((dart, j) => {
        darts.push({ ...dart, x: next(), counts: j === thrown.length - 1 });
      });
    }
    paint();
  }
  /** Throw darts one after the other; at once where motion is reduced. */
  function pour(n: number) {
    const now = matchMedia("(prefers-reduced-motion: reduce)").matches ? n : 1;
    throwMany(now);
    if (n > now) frame = requestAnimationFrame(() => pour(n - now));
  }
  const clear = () => {
    cancelAnimationFrame(frame);
    darts = [];
    paint();
  };

  /** What the board says, as a sentence with its numbers. */
  function words({ board, recorded, names }: Shown) {
    const kept = board.left === null ? null : 1 - board.left;
    const [c] = board.columns;
    const fate = recorded?.first?.hit ? "accepted" : "rejected";
    if (kept === null) {
      const under = `A dart under q = ${figure(c.accepted + c.surplus)} counts`;
      return `${under} below p = ${figure(c.accepted + c.residual)}: ${fate}.`;
    }
    const last = darts.at(-1);
    const two = last && darts.length > 1 && !darts[darts.length - 2].counts;
    const thrown = last
      ? html` Last dart: ${two ? "rejected, then " : ""}“${names[last.column]}”.`
      : nothing;
    return html`<strong>accepted ${figure(kept)} + residual ${figure(1 - kept)} = 1</strong>:
      together they are p, the target’s own probabilities.${thrown}`;
  }
  function outcome({ board, names }: Shown) {
    const counted = darts.filter((d) => d.counts);
    if (counted.length < 50) return nothing;
    const off = board.columns.map(
      (c, k) =>
        counted.filter((d) => d.column === k).length / counted.length - c.accepted - c.residual,
    );
    const worst = off.reduce((at, x, k) => (Math.abs(x) > Math.abs(off[at]) ? k : at), 0);
    const law = lawOf(board, lossy)[worst];
    const p = figure(board.columns[worst].accepted + board.columns[worst].residual);
    const instead = `${figure(law)} in place of ${p}`;
    const wrong = `With the correction from p this pile stays wrong: in the long run ${instead}.`;
    return html`<p class="hsd-dt-words">
      ${counted.length} tokens: largest difference from p ${figure(Math.abs(off[worst]))}, at
      “${names[worst]}”. ${lossy ? wrong : "The pile becomes p."}
    </p>`;
  }
  function table({ board, names }: Shown) {
    const sum = board.left;
    const f = (x: number) =>
      x === 0 || x === 1
        ? String(x)
        : x < 1e-5
          ? "< 0.00001"
          : x < 9.5e-4
            ? x.toPrecision(2)
            : x.toFixed(4);
    const ratio = board.rule === "ratio";
    const rows = board.columns.map((c, k) => [
      c.drafted ? html`<code><s>${names[k]}</s></code>` : html`<code>${names[k]}</code>`,
      f(c.accepted + c.residual),
      ratio ? f(c.accepted + c.surplus) : c.drafted ? "yes" : "no",
      ...[f(c.accepted), f(c.residual), sum ? f(c.residual / sum) : "–"],
    ]);
    const accepted = board.columns.reduce((s, c) => s + c.accepted, 0);
    const sums = sum === null ? [] : ["sum", "1", ratio ? "1" : "", f(accepted), f(sum), "1"];
    const heads = ["token", "p", ratio ? "q" : "drafted", "accepted", "residual", "scaled to 1"];
    return folded("Values as a table", tableOf("Values of the dart board", heads, rows, sums));
  }
  function paint() {
    const it = shown;
    if (!it) return render(nothing, host);
    const whole = it.board.left !== null;
    // Its sample has the colour of what is accepted here.
    const accepted = it.families[it.board.columns.findIndex((c) => c.accepted > 0)];
    const rule = (value: string) => {
      lossy = value === "p";
      clear();
    };
    render(
      html`<div class="hsd-dt" role="group" aria-label="Dart board">
        <h4>${it.title}</h4>
        <p class="hsd-dt-words" role="status">${words(it)}</p>
        ${boardPicture(it, Math.max(240, host.clientWidth || 480), darts)}
        <p class="hsd-dt-key" aria-hidden="true">
          <span data-family=${accepted ?? nothing}
            ><i class="hsd-dt-k1"></i><span>accepted: kept, under both p and q</span></span
          ><span><i class="hsd-dt-k2"></i>residual: redrawn from the rest, p above q</span>${
            it.board.rule === "ratio"
              ? html`<span><i class="hsd-dt-k3"></i>q above p: rejected</span>`
              : nothing
          }${it.recorded ? html`<span><i class="hsd-dt-k4"></i>recorded</span>` : nothing}
        </p>
        ${
          whole
            ? html`<div class="hsd-dt-form">
                  <button @click=${() => throwMany(1)}>Throw a dart</button>
                  <button @click=${() => throwMany(MANY)}>Throw 1 000</button>
                  <button ?disabled=${!darts.length} @click=${clear}>Clear</button>
                  <label>Correction from ${menu(RULES, lossy ? "p" : "residual", rule)}</label>
                </div>
                ${outcome(it)}`
            : nothing
        }
        ${table(it)}
      </div>`,
      host,
    );
  }
  return {
    pour,
    show(what: Shown | null) {
      cancelAnimationFrame(frame);
      if (what?.key !== shown?.key) darts = [];
      shown = what;
      paint();
    },
  };
}
