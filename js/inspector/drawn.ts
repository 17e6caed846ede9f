// The distribution of a round's own token: a correction's residual with its computation, else the target's top
// tokens.

import type { Draft, Round } from "../lib/contract";
import { make } from "../lib/dom";
import type { Store } from "../lib/run";
import { figure } from "../lib/words";
import type { Known, TableRow } from "./residual";
import { workedBack } from "./residual";
import type { Own } from "./said";
import { capital, ROOT, token } from "./said";

/** Maximum draft tokens in a correction's table; a tree may have more at one position. */
const MOST_REFUSED = 6;

export function createDrawn({ store, actor }: { store: Store; actor: (r: Round) => string }) {
  const sampling = () => store.meta.sampling || {};
  const plainT1 = () => {
    const s = sampling();
    return s.temperature === 1 && !s.top_k && (s.top_p ?? 1) === 1;
  };
  const piece = (id: number) => token(store.pieces[id] ?? `#${id}`);
  const four = (x: number) =>
    x === 0 || x === 1 ? String(x) : x < 1e-5 ? "< 0.00001" : x < 9.5e-4 ? x.toPrecision(2) : x.toFixed(4);
  /** Format a cell: {value, bound} or a number. */
  const written = (x: number | Known | null): string =>
    x === null
      ? "–"
      : typeof x === "number"
        ? four(x)
        : x.value !== null
          ? four(x.value)
          : x.bound === null
            ? "–"
            : `≤ ${four(x.bound)}`;

  /** A bar of `scale`: hatched is subtracted, filled remains. */
  function bar(row: TableRow, scale: number) {
    const track = make("div", "hsd-ins-track");
    const part = (name: string, from: number, to: number) => {
      if (to <= from) return;
      const fill = make("span", `hsd-ins-fill ${name}`);
      fill.style.left = `${(100 * from) / scale}%`;
      fill.style.width = `${(100 * (to - from)) / scale}%`;
      track.append(fill);
    };
    const [p, q] = [row.p.value, row.q.value];
    const left = row.left ?? 0;
    if (p !== null) part("hsd-taken", 0, p - left);
    // q above p subtracts nothing more.
    if (p !== null && q !== null) part("hsd-beyond", p, q);
    part("hsd-left", p === null ? 0 : p - left, p === null ? left : p);
    return track;
  }
  const cells = (tr: HTMLTableRowElement, values: string[]) => {
    for (const v of values) tr.append(make("td", "", v));
    return tr;
  };
  function named(name: string | Node, kind = "") {
    const tr = make("tr");
    const th = make("th", kind);
    th.scope = "row";
    th.append(name);
    tr.append(th);
    return tr;
  }

  /** A target correction by token: p, subtracted part, remainder, and remainder scaled to 1. */
  function correction(r: Round, drafts: Draft[], own: Own | null) {
    const t = own?.row;
    if (r.outcome !== "correction" || !t?.residual?.length) return null;
    const kept = drafts.filter((d) => d.verdict === "accepted").at(-1)?.node ?? ROOT;
    const refused = drafts.filter((d) => d.parent === kept && d.verdict === "rejected" && d.p !== null);
    if (!refused.length) return null;
    const {
      rule,
      sum,
      refused: taken,
      rows,
    } = workedBack({ ...t, residual: t.residual }, refused, sampling(), r.rule === "block");
    const ratio = rule === "ratio";
    const less = `max(0,\u00a0${r.rule === "block" ? "w·p" : "p"}\u00a0−\u00a0q)`;
    const box = make("section");
    box.append(
      make("h4", "", "Distribution of the correction"),
      make(
        "p",
        "hsd-ins-muted",
        ratio
          ? `The residual: ${less}, scaled to 1.`
          : `${capital(actor(r))} drew it from p. It is not a draft token (total p ${four(taken.reduce((s, d) => s + (d.p.value ?? 0), 0))}), so it is from p over all other tokens, scaled to 1.`,
      ),
    );

    const p = plainT1() ? "p" : "p as sampled";
    const heads = ratio ? ["token", p, "q", less, "residual"] : ["token", p, "not drafted", "scaled to 1"];
    const table = make("table", "hsd-ins-table");
    const top = make("tr");
    for (const name of heads) {
      const th = make("th", "", name);
      th.scope = "col";
      top.append(th);
    }
    const head = make("thead");
    head.append(top);
    const body = make("tbody");
    const whole = sum === null; // only the residual is known
    const bars = whole ? rows.map((row) => ({ ...row, left: row.residual })) : [...taken, ...rows];
    const scale = Math.max(...bars.map((row) => Math.max(row.p.value ?? 0, row.q.value ?? 0, row.left ?? 0)), 1e-12);
    const put = (row: TableRow, kind: string) => {
      const tr = named(make("code", kind, piece(row.id)));
      if (kind) tr.className = kind;
      body.append(
        cells(
          tr,
          ratio
            ? [written(row.p), written(row.q), written(row.left), four(row.residual)]
            : [written(row.p), written(row.left), four(row.residual)],
        ),
      );
      const line = make("tr", "hsd-ins-barline");
      const cell = make("td");
      cell.colSpan = heads.length;
      cell.setAttribute("aria-hidden", "true");
      cell.append(bar(whole ? { ...row, p: { value: null, bound: null }, left: row.residual } : row, scale));
      line.append(cell);
      body.append(line);
    };
    for (const row of taken.slice(0, MOST_REFUSED)) put(row, "hsd-refused");
    const more = taken.slice(MOST_REFUSED);
    if (more.length)
      body.append(
        cells(named(`${more.length} more drafted`), [four(more.reduce((s, d) => s + (d.p.value ?? 0), 0)), "0", "0"]),
      );
    for (const row of rows) put(row, row.id === t.id ? "hsd-chosen" : "");
    const foot = make("tfoot");
    const others = 1 - rows.reduce((s, row) => s + row.residual, 0);
    const rest = sum === null ? null : others * sum;
    if (others > 5e-5)
      foot.append(
        cells(
          named("all others"),
          ratio ? ["", "", written(rest), four(others)] : [written(rest), written(rest), four(others)],
        ),
      );
    foot.append(cells(named("sum"), ratio ? ["1", "1", written(sum), "1"] : ["1", written(sum), "1"]));
    table.append(head, body, foot);

    const note = make("p", "hsd-ins-muted");
    const chosen = rows.find((row) => row.id === t.id);
    const sums = [];
    if (chosen && sum !== null) {
      const first =
        ratio && chosen.p.value !== null && chosen.q.value !== null
          ? `${four(chosen.p.value)} − ${four(chosen.q.value)} = ${written(chosen.left)}, and `
          : "";
      sums.push(`Bold: the drawn token, ${first}${written(chosen.left)} / ${four(sum)} = ${four(chosen.residual)}.`);
    } else
      sums.push(chosen ? "Bold: the drawn token." : `The drawn token “${piece(t.id)}” is not among the most likely.`);
    if (rows.some((row) => row.q.bound !== null)) sums.push("≤: not among the five recorded tokens of q.");
    if (sum === null)
      sums.push("–: this recording lacks the sum of max(0, p − q), so p as sampled and its remainder are unknown.");
    note.textContent = sums.join(" ");
    box.append(...(whole ? [] : [key(ratio)]), table, note);
    return box;
  }
  function key(ratio: boolean) {
    const line = make("p", "hsd-ins-key");
    for (const [name, words] of [
      ["hsd-taken", ratio ? "subtracted by q" : "drafted, so subtracted"],
      ["hsd-left", "remainder"],
      ...(ratio ? [["hsd-beyond", "q above p"]] : []),
    ]) {
      const item = make("span");
      item.append(make("span", `hsd-ins-fill ${name}`), words);
      line.append(item);
    }
    line.setAttribute("aria-hidden", "true");
    return line;
  }

  /** Without a residual: the target's top tokens at its own token's position, and the draft tokens there. */
  function likeliest(r: Round, drafts: Draft[], own: Own | null) {
    const t = own?.row;
    if (!t?.top || t.residual?.length) return null;
    const { top } = t;
    const kept = drafts.filter((d) => d.verdict === "accepted").at(-1)?.node ?? ROOT;
    const refused = new Set(drafts.filter((d) => d.parent === kept && d.verdict === "rejected").map((d) => d.id));
    const box = make("section");
    box.append(make("h4", "", `Top target tokens at position ${r.accepted + 1}`));
    const grid = make("div", "hsd-ins-grid");
    grid.append(make("span", "hsd-ins-col", "token"), make("span", "hsd-ins-col", "p at T = 1"));
    for (const [id, p] of top) {
      const cell = make("span", "hsd-ins-bar");
      const track = make("span", "hsd-ins-track");
      const fill = make("span", "hsd-ins-fill");
      fill.style.width = `${100 * p}%`;
      track.append(fill);
      cell.append(track, make("span", "hsd-ins-num", figure(p)));
      grid.append(make("code", id === t.id ? "hsd-chosen" : refused.has(id) ? "hsd-refused" : "", piece(id)), cell);
    }
    const words = [
      `Bold: the emitted token${refused.size && [...refused].some((id) => top.some(([k]) => k === id)) ? "; struck through: draft tokens" : ""}.`,
    ];
    if (refused.size && ![...refused].some((id) => top.some(([k]) => k === id)))
      words.push("The draft token is not among the top five.");
    if (sampling().temperature === 0)
      words.push("Greedy decoding emits the most likely token: for the verdict its p counts as 1, all others as 0.");
    else if (!plainT1()) words.push("The token was drawn from p as sampled, after temperature, top-k and top-p.");
    box.append(grid, make("p", "hsd-ins-muted", words.join(" ")));
    return box;
  }

  return (r: Round, drafts: Draft[], own: Own | null) => correction(r, drafts, own) ?? likeliest(r, drafts, own);
}
