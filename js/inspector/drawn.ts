// The distribution of a round's own token: a correction's residual with its computation, else the target's top
// tokens.
import { html, nothing } from "lit-html";
import { when } from "lit-html/directives/when.js";
import type { Draft, Round } from "../lib/contract";
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
    const part = (name: string, from: number, to: number) =>
      to > from
        ? html`<span
            class="hsd-ins-fill ${name}"
            .style=${`left: ${(100 * from) / scale}%; width: ${(100 * (to - from)) / scale}%`}
          ></span>`
        : nothing;
    const [p, q] = [row.p.value, row.q.value];
    const left = row.left ?? 0;
    return html`<div class="hsd-ins-track">
      ${p === null ? nothing : part("hsd-taken", 0, p - left)}
      ${
        // q above p subtracts nothing more.
        p === null || q === null ? nothing : part("hsd-beyond", p, q)
      }
      ${part("hsd-left", p === null ? 0 : p - left, p === null ? left : p)}
    </div>`;
  }
  const line = (name: unknown, values: string[], kind = "") =>
    html`<tr class=${kind}><th scope="row">${name}</th>${values.map((value) => html`<td>${value}</td>`)}</tr>`;

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
    const p = plainT1() ? "p" : "p as sampled";
    const heads = ratio ? ["token", p, "q", less, "residual"] : ["token", p, "not drafted", "scaled to 1"];
    const whole = sum === null; // only the residual is known
    const bars = whole ? rows.map((row) => ({ ...row, left: row.residual })) : [...taken, ...rows];
    const scale = Math.max(...bars.map((row) => Math.max(row.p.value ?? 0, row.q.value ?? 0, row.left ?? 0)), 1e-12);
    const put = (kindOf: (row: TableRow) => string) => (row: TableRow) => {
      const kind = kindOf(row);
      const values = [written(row.p), ...(ratio ? [written(row.q)] : []), written(row.left), four(row.residual)];
      return html`${line(html`<code class=${kind}>${piece(row.id)}</code>`, values, kind)}
        <tr class="hsd-ins-barline"><td colspan=${heads.length} aria-hidden="true">
          ${bar(whole ? { ...row, p: { value: null, bound: null }, left: row.residual } : row, scale)}
        </td></tr>`;
    };
    const more = taken.slice(MOST_REFUSED);
    const drafted = (of: TableRow[]) => four(of.reduce((s, d) => s + (d.p.value ?? 0), 0));
    const others = 1 - rows.reduce((s, row) => s + row.residual, 0);
    const rest = sum === null ? null : others * sum;

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
    return html`<section>
      <h4>Distribution of the correction</h4>
      <p class="hsd-ins-muted">${
        ratio
          ? `The residual: ${less}, scaled to 1.`
          : `${capital(actor(r))} drew it from p. It is not a draft token (total p ${drafted(taken)}), so it is from p over all other tokens, scaled to 1.`
      }</p>
      ${whole ? nothing : key(ratio)}
      <table class="hsd-ins-table">
        <thead><tr>${heads.map((name) => html`<th scope="col">${name}</th>`)}</tr></thead>
        <tbody>
          ${taken.slice(0, MOST_REFUSED).map(put(() => "hsd-refused"))}
          ${when(more.length, () => line(`${more.length} more drafted`, [drafted(more), "0", "0"]))}
          ${rows.map(put((row) => (row.id === t.id ? "hsd-chosen" : "")))}
        </tbody>
        <tfoot>
          ${when(others > 5e-5, () =>
            line(
              "all others",
              ratio ? ["", "", written(rest), four(others)] : [written(rest), written(rest), four(others)],
            ),
          )}
          ${line("sum", ratio ? ["1", "1", written(sum), "1"] : ["1", written(sum), "1"])}
        </tfoot>
      </table>
      <p class="hsd-ins-muted">${sums.join(" ")}</p>
    </section>`;
  }
  const key = (ratio: boolean) =>
    html`<p class="hsd-ins-key" aria-hidden="true">${[
      ["hsd-taken", ratio ? "subtracted by q" : "drafted, so subtracted"],
      ["hsd-left", "remainder"],
      ...(ratio ? [["hsd-beyond", "q above p"]] : []),
    ].map(([name, words]) => html`<span><span class="hsd-ins-fill ${name}"></span>${words}</span>`)}</p>`;

  /** Without a residual: the target's top tokens at its own token's position, and the draft tokens there. */
  function likeliest(r: Round, drafts: Draft[], own: Own | null) {
    const t = own?.row;
    if (!t?.top || t.residual?.length) return null;
    const { top } = t;
    const kept = drafts.filter((d) => d.verdict === "accepted").at(-1)?.node ?? ROOT;
    const refused = new Set(drafts.filter((d) => d.parent === kept && d.verdict === "rejected").map((d) => d.id));
    const beside = [...refused].some((id) => top.some(([k]) => k === id));
    const words = [`Bold: the emitted token${beside ? "; struck through: draft tokens" : ""}.`];
    if (refused.size && !beside) words.push("The draft token is not among the top five.");
    if (sampling().temperature === 0)
      words.push("Greedy decoding emits the most likely token: for the verdict its p counts as 1, all others as 0.");
    else if (!plainT1()) words.push("The token was drawn from p as sampled, after temperature, top-k and top-p.");
    const row = ([id, p]: [number, number]) =>
      html`<code class=${id === t.id ? "hsd-chosen" : refused.has(id) ? "hsd-refused" : ""}>${piece(id)}</code>
        <span class="hsd-ins-bar">
          <span class="hsd-ins-track"><span class="hsd-ins-fill" .style=${`width: ${100 * p}%`}></span></span>
          <span class="hsd-ins-num">${figure(p)}</span>
        </span>`;
    return html`<section>
      <h4>Top target tokens at position ${r.accepted + 1}</h4>
      <div class="hsd-ins-grid">
        <span class="hsd-ins-col">token</span><span class="hsd-ins-col">p at T = 1</span>
        ${top.map(row)}
      </div>
      <p class="hsd-ins-muted">${words.join(" ")}</p>
    </section>`;
  }

  return (r: Round, drafts: Draft[], own: Own | null) => correction(r, drafts, own) ?? likeliest(r, drafts, own);
}
