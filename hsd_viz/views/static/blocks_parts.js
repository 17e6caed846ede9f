// @ts-check
// A stack's parts, and what people do to them. Pure: every function gives new parts, none touches the page; Python's parser decides
// whether they make a stack. Parts stand bottom first, as they are written:
//   {kind: "bottom", name, items: [...]}   items [] for the usual ones          {kind: "model", name, lookahead: number | null}

const MODEL_LOOKAHEAD = 4;

const bottomOf = (parts) => (parts[0]?.kind === "bottom" ? parts[0] : null);
const modelsOf = (parts) => parts.filter((p) => p.kind === "model");
/** Draft models: all but the last model, which is the target. */
const draftsOf = (parts) => modelsOf(parts).slice(0, -1);
const targetOf = (parts) => parts[parts.length - 1];
const together = (bottom, drafts, target) => [...(bottom ? [bottom] : []), ...drafts, target];

/** A list with the element at `from` at place `to`. */
function shifted(list, from, to) {
  const next = [...list];
  const [taken] = next.splice(from, 1);
  next.splice(Math.max(0, Math.min(next.length, to)), 0, taken);
  return next;
}

/** Other names for the drafts may be chosen of `names`: those that stand nowhere in the stack yet. */
const spare = (parts, names) => names.filter((n) => !modelsOf(parts).some((m) => m.name === n));

/** A draft model more: where the order of `names` (small models first) puts it, else right beneath the target. */
function withModel(parts, name, names) {
  const drafts = draftsOf(parts);
  const rank = names.indexOf(name);
  const at = drafts.findIndex((d) => rank >= 0 && names.indexOf(d.name) > rank);
  const place = at < 0 ? drafts.length : at;
  return together(bottomOf(parts), [...drafts.slice(0, place), { kind: "model", name, lookahead: MODEL_LOOKAHEAD }, ...drafts.slice(place)], targetOf(parts));
}
const withoutModel = (parts, k) => together(bottomOf(parts), draftsOf(parts).filter((_, i) => i !== k), targetOf(parts));
const withMoved = (parts, from, to) => together(bottomOf(parts), shifted(draftsOf(parts), from, to), targetOf(parts));
/** The model at place `k` (the target stands last) under another name. */
function withName(parts, k, name) {
  const models = modelsOf(parts).map((m, i) => (i === k ? { ...m, name } : m));
  return [...(bottomOf(parts) ? [bottomOf(parts)] : []), ...models];
}
/** Lookahead of the `k`th draft: a number is kept within bounds, null leaves it out. */
function withLookahead(parts, k, value, most) {
  const lookahead = value === null ? null : Math.max(1, Math.min(most, Math.round(value)));
  return together(bottomOf(parts), draftsOf(parts).map((d, i) => (i === k ? { ...d, lookahead } : d)), targetOf(parts));
}
/** One more or fewer; from a lookahead that is left out it starts at the usual one. */
const stepped = (lookahead, by) => (lookahead === null ? MODEL_LOOKAHEAD : lookahead + by);

/** Another bottom, or none. `auto` stands right before the target: draft models become its choices. */
function withBottom(parts, name) {
  const drafts = draftsOf(parts);
  if (name === null) return together(null, drafts, targetOf(parts));
  if (name !== "auto") return together({ kind: "bottom", name, items: [] }, drafts, targetOf(parts));
  const items = drafts.length ? ["db", ...drafts.map((d) => d.name)] : [];
  return together({ kind: "bottom", name, items }, [], targetOf(parts));
}

/** The databases of a bottom in the order in which they are asked, and whether each of its switches is on. */
function itemsOf(bottom, language) {
  const own = bottom.items.filter((i) => language.databases.includes(i));
  return { databases: own.length ? own : [...language.usual], on: bottom.items.filter((i) => i in language.options) };
}
/** The bottom with these databases and switches; the usual databases are not written out. */
function withItems(parts, databases, on, language) {
  const usual = databases.length === language.usual.length && databases.every((d, i) => d === language.usual[i]);
  return together({ ...bottomOf(parts), items: [...(usual ? [] : databases), ...on] }, draftsOf(parts), targetOf(parts));
}

/** What `auto` may choose from: db, every offered model below the target, and what is named in its brackets. */
const choices = (parts, names) => {
  const place = names.indexOf(targetOf(parts).name);
  const all = ["db", ...(place < 0 ? names : names.slice(0, place))];
  const own = bottomOf(parts)?.items || [];
  return [...all, ...own.filter((i) => !all.includes(i))];
};
function withChoice(parts, name, names) {
  const all = choices(parts, names);
  const own = bottomOf(parts).items;
  const now = own.length ? own : all;
  const next = all.filter((c) => (c === name ? !now.includes(c) : now.includes(c)));
  // No brackets mean all that is offered.
  const items = next.length === all.length && next.every((i) => i === "db" || names.includes(i)) ? [] : next;
  return together({ ...bottomOf(parts), items }, [], targetOf(parts));
}

export { bottomOf, choices, draftsOf, itemsOf, modelsOf, shifted, spare, stepped, targetOf, withBottom, withChoice, withItems, withLookahead, withModel, withMoved, withName, withoutModel };
