// Databases by round.

import { draw, focusable, make } from "../lib/dom";
import type { Cursor } from "../lib/group";
import type { View } from "../lib/linked";
import { linkedWidget } from "../lib/linked";
import type { Store } from "../lib/run";
import { plural, WHY } from "../lib/words";

const LANE = 40; // pixels
const TEXT_LANE = 56;

/**
 * Draft activity per target round, in order. `drafted` and `accepted` by source, counted at the first verifier (below a hierarchy, a
 * level below the target, several times per round). `tokens`: text length after the round, prompt included. sources: those that
 * drafted, in the order of `order`, then by name.
 */
export function accesses(store: Store, isDatabase: (source: string) => boolean, order: string[]) {
  const rounds = [...store.order.keys()].map((id) => ({
    id,
    drafted: new Map<string, number>(),
    accepted: new Map<string, number>(),
    why: store.rounds.get(id)?.why_no_draft ?? null,
    tokens: 0,
  }));
  const place = new Map(rounds.map((r, k) => [r.id, k]));
  let first = Infinity;
  for (const drafts of store.drafts.values())
    for (const d of drafts) if (isDatabase(d.source)) first = Math.min(first, d.level);
  const sources = new Set<string>();
  for (const [id, drafts] of store.drafts) {
    const at = place.get(store.topRound(id) ?? NaN);
    if (at === undefined) continue;
    for (const d of drafts) {
      if (d.level !== first || !isDatabase(d.source)) continue;
      sources.add(d.source);
      const r = rounds[at];
      r.drafted.set(d.source, (r.drafted.get(d.source) || 0) + 1);
      if (d.verdict === "accepted") r.accepted.set(d.source, (r.accepted.get(d.source) || 0) + 1);
    }
  }
  let tokens = store.promptIds.length;
  const emitted = new Map<number, number>();
  for (const t of store.tokens) emitted.set(t.round, (emitted.get(t.round) || 0) + 1);
  for (const r of rounds) r.tokens = tokens += emitted.get(r.id) || 0;
  const rank = (s: string) => (order.includes(s) ? order.indexOf(s) : order.length);
  return { rounds, sources: [...sources].sort((a, b) => rank(a) - rank(b) || (a < b ? -1 : 1)), level: first };
}

/** Path data of one bar per round, in a box of one unit per round and height `high`. */
export function barsOf(values: number[], most: number, high: number) {
  return values
    .map((v, k) => (v ? `M${k + 0.1} ${high}v-${+((v / most) * high).toFixed(2)}h.8V${high}z` : ""))
    .join("");
}

/** Path data of a step line over rounds, from `least` at the bottom to `most` at the top. */
export function stepsOf(values: number[], least: number, most: number, high: number) {
  const y = (v: number) => +(high - ((v - least) / Math.max(1, most - least)) * high).toFixed(2);
  return values.map((v, k) => `${k ? "L" : "M"}${k} ${y(v)}H${k + 1}`).join("");
}

function accessView({ model, root, group, store, palette, follow }: View<object>) {
  const { databases } = model.get("palette");
  root.classList.add("hsd-access");
  const title = make("h3", "", "Drafts by database and round");
  const note = make("p", "hsd-ac-note");
  const chart = make("div", "hsd-ac-chart");
  const names = make("div", "hsd-ac-names");
  const area = focusable(make("div", "hsd-ac-area"));
  area.setAttribute("role", "group");
  area.setAttribute("aria-label", "Drafts by database and round; arrow keys with Shift move by round");
  const here = make("div", "hsd-ac-here");
  chart.append(names, area);
  const readout = make("p", "hsd-ac-readout");
  readout.setAttribute("aria-live", "polite");
  root.append(title, note, chart, readout);
  let found: ReturnType<typeof accesses> = accesses(store, () => false, []);
  const isDatabase = (s: string) => databases.includes(s) || s === "logits" || palette.family(s) === "baseline";

  function lane(high: number, name: string, more: string, share: string, family: string, parts: [string, string][]) {
    const label = make("div", "hsd-ac-name");
    label.style.height = `${high}px`;
    label.dataset.family = family;
    const who = make("span", "hsd-ac-who", name);
    if (more) who.append(make("span", "hsd-ac-more", more));
    label.append(who, make("span", "hsd-ac-share", share));
    names.append(label);
    const picture = draw("svg", {
      viewBox: `0 0 ${Math.max(1, found.rounds.length)} ${high - 8}`,
      preserveAspectRatio: "none",
      class: "hsd-ac-lane",
      "aria-hidden": "true",
    });
    picture.style.height = `${high}px`;
    picture.dataset.family = family;
    picture.append(...parts.map(([d, cls]) => draw("path", { d, class: cls, "vector-effect": "non-scaling-stroke" })));
    area.append(picture);
  }

  function redraw() {
    found = accesses(store, isDatabase, databases);
    const { rounds, sources } = found;
    names.replaceChildren();
    area.replaceChildren();
    chart.hidden = !rounds.length;
    const below = sources.length && found.level < store.levels.length - 1 ? store.levels[found.level] : "";
    note.textContent = !rounds.length
      ? "No run."
      : !sources.length
        ? `No database drafted in this run: ${store.drafts.size ? "all drafts came from models" : "plain decoding"}.`
        : `One column per target round; lane height is the maximum drafted per round. Pale: drafted; solid: accepted${below ? ` by ${below}, the first verifier` : ""}. Empty: no match, or not used.`;
    const most = Math.max(1, ...rounds.flatMap((r) => [...r.drafted.values()]));
    for (const s of sources) {
      const drafted = rounds.map((r) => r.drafted.get(s) || 0);
      const accepted = rounds.map((r) => r.accepted.get(s) || 0);
      const answered = drafted.filter(Boolean).length;
      const parts: [string, string][] = [
        [barsOf(drafted, most, LANE - 8), "hsd-ac-drafted"],
        [barsOf(accepted, most, LANE - 8), "hsd-ac-accepted"],
      ];
      // On a narrow page a lane has room only for its database's name.
      const [name, more] = palette.words(s).startsWith(`${s} `)
        ? [s, palette.words(s).slice(s.length)]
        : [palette.words(s), ""];
      lane(LANE, name, more, `in ${answered} of ${rounds.length} rounds`, palette.family(s), parts);
    }
    if (!rounds.length) return;
    const lengths = rounds.map((r) => r.tokens);
    const from = store.promptIds.length;
    const last = lengths[lengths.length - 1];
    const steps = stepsOf(lengths, from, last, TEXT_LANE - 10);
    lane(TEXT_LANE, "the text", " so far", `${from} → ${last} tokens`, "none", [
      [`${steps}V${TEXT_LANE - 8}H0z`, "hsd-ac-under"],
      [steps, "hsd-ac-line"],
    ]);
    area.append(here);
    mark();
  }

  function mark() {
    const k = found.rounds.findIndex((r) => r.id === group.cursor.round);
    here.hidden = k < 0;
    here.classList.toggle("hsd-pinned", group.cursor.pinned);
    if (k >= 0) {
      here.style.left = `${(100 * k) / found.rounds.length}%`;
      here.style.width = `${100 / found.rounds.length}%`;
    }
    readout.textContent = k < 0 ? "Hover over a round, or use the player." : words(k);
  }

  function words(k: number) {
    const r = found.rounds[k];
    const parts = [...found.sources]
      .filter((s) => r.drafted.get(s))
      .map((s) => `${palette.words(s)} drafted ${r.drafted.get(s)}, ${r.accepted.get(s) || 0} accepted`);
    const none = r.why ? `no draft: ${WHY[r.why] || r.why}` : "no draft from a database";
    return `Round ${k + 1}: ${parts.join("; ") || none}. Text length: ${plural(r.tokens, "token")}.`;
  }

  const at = (e: PointerEvent | MouseEvent) => {
    const box = area.getBoundingClientRect();
    const n = found.rounds.length;
    return found.rounds[
      Math.max(0, Math.min(n - 1, Math.floor(((e.clientX - box.left) / Math.max(1, box.width)) * n)))
    ];
  };
  area.addEventListener("pointermove", (e) => {
    const r = at(e);
    if (r) group.hover({ round: r.id });
  });
  area.addEventListener("pointerleave", () => group.hover(null));
  area.addEventListener("click", (e) => {
    const r = at(e);
    if (r) group.pin({ round: r.id });
  });
  const onCursor = (cursor: Cursor, before: Cursor) => {
    if (cursor.round !== before.round || cursor.pinned !== before.pinned) mark();
  };
  follow(redraw, onCursor);
  redraw();
}
export default linkedWidget(accessView);
