// @ts-check
// What stands beneath the tree of a round: the arithmetic of each verdict row by row, and the distributions that its own token was
// drawn from. linked_run.js, linked.js, round.js and round_said.js stand before it, inspector.js behind. Text only, by textContent.

/** @param {{store: any, palette: any, actor: (r: any) => string}} words */
function createSums({ store, palette, actor }) {
  // --- the arithmetic, row by row
  function step(places, verdict, nodes, parts) {
    const row = make("li", "hsd-ins-step");
    row.dataset.node = nodes;
    row.dataset.verdict = verdict;
    const sign = make("span", "hsd-ins-mark", VERDICT_MARKS[verdict]);
    sign.setAttribute("aria-hidden", "true");
    const line = make("span", "hsd-ins-line");
    line.append(...parts);
    row.append(make("span", "hsd-ins-place", places), sign, line);
    return row;
  }
  function ratio(s, verdict) {
    return [make("code", "", token(s.text)), make("span", "hsd-ins-sum", s.line), make("span", "hsd-ins-then", `${FATES[verdict]} (chance ${asFigure(s.chance)})`)];
  }
  function walked(s, who, greedy) {
    const most = s.text.slice(0, 6).map(token);
    const had = make("span", "hsd-ins-then", "drafted ");
    most.forEach((t, k) => had.append(k ? ", " : "", make("code", "", t)));
    if (s.text.length > most.length) had.append(` and ${s.text.length - most.length} more`);
    const drew = make("span", "hsd-ins-sum", `${who}: `);
    drew.append(s.drew === null ? "another token" : make("code", "", token(s.drew)));
    const kept = s.p !== null && !greedy ? `in the draft, kept (p ${asFigure(s.p)})` : "in the draft, kept";
    return [had, drew, make("span", "hsd-ins-then", s.hit ? kept : s.cut ? "in the draft, then cut: the text ended before it" : "not in the draft")];
  }
  function reckoning(r, drafts, own) {
    const { rule, steps } = judge(drafts, own);
    if (rule === "none") return null;
    const box = make("section");
    const greedy = store.meta.sampling?.temperature === 0;
    const who = actor(r);
    const cap = capital(who);
    box.append(make("h4", "", "How each place was judged"));
    box.append(make("p", "hsd-ins-muted", rule === "ratio"
      ? "Rule: keep the token if u · q < p. q is the drafter’s probability of it, p the verifier’s, u a number drawn evenly from 0 to 1. So it is kept with probability min(1, p / q)."
      : `Rule: the draft carries no probabilities (each token is a point mass). ${cap} ${greedy ? "takes its likeliest token" : "draws its own token"} at each place and goes on while the draft has it.`));
    const list = make("ol", "hsd-ins-steps");
    // What nobody looked at needs no row for each.
    const looked = steps.filter((s) => s.verdict !== "unreached");
    for (const s of looked) {
      const verdict = s.verdict ?? (s.hit ? "accepted" : s.cut ? "cut" : "rejected");
      list.append(step(String(s.place), verdict, String(s.node), rule === "ratio" ? ratio(s, verdict) : walked(s, who, greedy)));
    }
    const rest = steps.slice(looked.length);
    if (rest.length) {
      const had = rest.map((s, k) => (k ? [", ", make("code", "", token(s.text))] : [make("code", "", token(s.text))])).flat();
      const line = make("span", "hsd-ins-then");
      line.append(...had, steps.some((s) => s.verdict === "rejected") ? ": not looked at, a token before was turned down" : ": not looked at, the text ended before");
      const places = rest.length > 1 ? `${rest[0].place}–${rest.at(-1).place}` : String(rest[0].place);
      list.append(step(places, "unreached", rest.map((s) => s.node).join(" "), [line]));
    }
    box.append(list);
    const end = make("p", "hsd-ins-end");
    const code = own ? make("code", "", token(own.text)) : null;
    if (code) code.dataset.family = palette.family(own.source);
    if (r.outcome === "stopped") end.append("The text ended here, so no token was added.");
    else if (r.outcome === "bonus") end.append("All of the path was kept, and the same forward gave one more row: the bonus ", ...(code ? [code] : []), rule === "ratio" ? " is drawn from p there." : ` is ${who}’s own.`);
    else if (rule === "ratio") end.append(`The token put in its place is drawn from the residual, what is left of p once q is taken away: max(0, p − q), scaled to 1. It was `, ...(code ? [code] : ["not recorded"]), ".");
    else end.append("Where the draft did not have it, that token is the correction: ", ...(code ? [code] : ["not recorded"]), ".");
    box.append(end);
    return box;
  }

  // --- bars
  function bar(value, bound, words) {
    const cell = make("span", "hsd-ins-bar");
    const track = make("span", "hsd-ins-track");
    const fill = make("span", "hsd-ins-fill");
    const shown = value ?? bound ?? 0;
    fill.style.width = `${100 * shown}%`;
    if (value === null) fill.classList.add("hsd-bound");
    track.append(fill);
    cell.append(track, make("span", "hsd-ins-num", value === null ? (bound === null ? "–" : `≤ ${figure(bound)}`) : figure(value)));
    cell.setAttribute("aria-label", `${words} ${value === null ? (bound === null ? "not recorded" : `at most ${figure(bound)}`) : figure(value)}`);
    cell.setAttribute("role", "img");
    return cell;
  }
  const plainT1 = () => { const s = store.meta.sampling || {}; return s.temperature === 1 && !s.top_k && (s.top_p ?? 1) === 1; };

  /** p, q and the residual of a target's correction, side by side. */
  function beside(r, own) {
    const t = own?.row;
    if (r.outcome !== "correction" || !t || !t.residual || !t.residual.length) return null;
    const box = make("section");
    box.append(make("h4", "", "Where the correction was drawn from"));
    const grid = make("div", "hsd-ins-grid");
    const names = [plainT1() ? "p" : "p at T = 1", "q", "residual"];
    grid.append(make("span", "hsd-ins-col"), ...names.map((n) => make("span", "hsd-ins-col", n)));
    for (const row of besideResidual(t.residual, t.top, t.q)) {
      const name = make("code", row.id === t.id ? "hsd-chosen" : "", token(store.pieces[row.id] ?? `#${row.id}`));
      grid.append(name, bar(row.p.value, row.p.bound, names[0]), bar(row.q.value, row.q.bound, "q"), bar(row.residual.value, null, "residual"));
    }
    const among = t.residual.some(([id]) => id === t.id);
    box.append(grid, make("p", "hsd-ins-muted", `The residual’s likeliest tokens; ${among ? "in bold the one that was drawn" : `“${token(own.text)}”, which was drawn, is not among them`}.${plainT1() ? "" : " p is recorded at temperature 1; the residual is of p and q as they were sampled."} ≤: outside the five recorded there.`));
    return box;
  }
  /** Where there is no residual, the target's likeliest tokens at the place of its own token, with what the draft had there. */
  function ownRow(r, drafts, own) {
    const t = own?.row;
    if (!t || !t.top || (t.residual && t.residual.length)) return null;
    const kept = drafts.filter((d) => d.verdict === "accepted").at(-1)?.node ?? -1;
    const refused = new Set(drafts.filter((d) => d.parent === kept && d.verdict === "rejected").map((d) => d.id));
    const box = make("section");
    box.append(make("h4", "", `The target’s likeliest tokens at place ${r.accepted + 1}`));
    const grid = make("div", "hsd-ins-grid hsd-one");
    for (const [id, p] of t.top) {
      const name = make("code", id === t.id ? "hsd-chosen" : refused.has(id) ? "hsd-refused" : "", token(store.pieces[id] ?? `#${id}`));
      grid.append(name, bar(p, null, "p"));
    }
    const outside = refused.size && ![...refused].some((id) => t.top.some(([k]) => k === id));
    box.append(grid, make("p", "hsd-ins-muted", `At temperature 1; in bold the token written${refused.size ? outside ? "; what was drafted here is not among the five" : ", struck through what was drafted" : ""}.`));
    return box;
  }

  return { reckoning, beside, ownRow };
}
