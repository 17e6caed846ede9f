// A stack's parts and edits of them. Pure: every function returns new parts; Python's parser validates them. Lowest level first:
//   {kind: "bottom", name, items: [...]}   items [] for the default ones        {kind: "model", name, lookahead: number | null}

export interface ModelPart {
  kind: "model";
  name: string;
  lookahead: number | "auto" | null;
}
export interface Bottom {
  kind: "bottom";
  name: string;
  items: string[];
}
export type Part = ModelPart | Bottom;
/** What a draft source understands: databases, the default ones, options by name. */
export interface Language {
  databases: string[];
  usual: string[];
  options: Record<string, string>;
}

const MODEL_LOOKAHEAD = 4;

export const bottomOf = (parts: Part[]): Bottom | null => (parts[0]?.kind === "bottom" ? parts[0] : null);
export const modelsOf = (parts: Part[]) => parts.filter((p) => p.kind === "model");
/** Draft models: all except the last model, the target. */
export const draftsOf = (parts: Part[]) => modelsOf(parts).slice(0, -1);
export const targetOf = (parts: Part[]) => parts[parts.length - 1] as ModelPart;
const together = (bottom: Bottom | null, drafts: ModelPart[], target: ModelPart): Part[] => [
  ...(bottom ? [bottom] : []),
  ...drafts,
  target,
];

/** A list with the element at `from` moved to `to`. */
export function shifted<T>(list: T[], from: number, to: number): T[] {
  const next = [...list];
  const [taken] = next.splice(from, 1);
  next.splice(Math.max(0, Math.min(next.length, to)), 0, taken);
  return next;
}

/** The `names` not used in the stack. */
export const spare = (parts: Part[], names: string[]) =>
  names.filter((n) => !modelsOf(parts).some((m) => m.name === n));

/** Add a draft model, placed by the order of `names` (small models first), else directly below the target. */
export function withModel(parts: Part[], name: string, names: string[]) {
  const drafts = draftsOf(parts);
  const rank = names.indexOf(name);
  const at = drafts.findIndex((d) => rank >= 0 && names.indexOf(d.name) > rank);
  const place = at < 0 ? drafts.length : at;
  return together(
    bottomOf(parts),
    [...drafts.slice(0, place), { kind: "model", name, lookahead: MODEL_LOOKAHEAD }, ...drafts.slice(place)],
    targetOf(parts),
  );
}
export const withoutModel = (parts: Part[], k: number) =>
  together(
    bottomOf(parts),
    draftsOf(parts).filter((_, i) => i !== k),
    targetOf(parts),
  );
export const withMoved = (parts: Part[], from: number, to: number) =>
  together(bottomOf(parts), shifted(draftsOf(parts), from, to), targetOf(parts));
/** Rename the model at index `k` (the target is last). */
export function withName(parts: Part[], k: number, name: string): Part[] {
  const models = modelsOf(parts).map((m, i) => (i === k ? { ...m, name } : m));
  const bottom = bottomOf(parts);
  return [...(bottom ? [bottom] : []), ...models];
}
/** Set the lookahead of draft model `k`: clipped to bounds, null for automatic. */
export function withLookahead(parts: Part[], k: number, value: number | null, most: number) {
  const lookahead = value === null ? null : Math.max(1, Math.min(most, Math.round(value)));
  return together(
    bottomOf(parts),
    draftsOf(parts).map((d, i) => (i === k ? { ...d, lookahead } : d)),
    targetOf(parts),
  );
}
/** Step a lookahead; automatic starts at the default. */
export const stepped = (lookahead: ModelPart["lookahead"], by: number) =>
  typeof lookahead === "number" ? lookahead + by : MODEL_LOOKAHEAD;

/** Set or remove the draft source. `auto` is directly below the target: draft models become its choices. */
export function withBottom(parts: Part[], name: string | null) {
  const drafts = draftsOf(parts);
  if (name === null) return together(null, drafts, targetOf(parts));
  if (name !== "auto") return together({ kind: "bottom", name, items: [] }, drafts, targetOf(parts));
  const items = drafts.length ? ["db", ...drafts.map((d) => d.name)] : [];
  return together({ kind: "bottom", name, items }, [], targetOf(parts));
}

/** The databases of a draft source in order, and its enabled options. */
export function itemsOf(bottom: Bottom, language: Language) {
  const own = bottom.items.filter((i) => language.databases.includes(i));
  return { databases: own.length ? own : [...language.usual], on: bottom.items.filter((i) => i in language.options) };
}
/** Set databases and options of the draft source; default databases are omitted. */
export function withItems(parts: Part[], databases: string[], on: string[], language: Language) {
  const usual = databases.length === language.usual.length && databases.every((d, i) => d === language.usual[i]);
  return together(
    { ...(bottomOf(parts) as Bottom), items: [...(usual ? [] : databases), ...on] },
    draftsOf(parts),
    targetOf(parts),
  );
}

/** The choices of `auto`: db, every offered model below the target, and the items in its brackets. */
export const choices = (parts: Part[], names: string[]) => {
  const place = names.indexOf(targetOf(parts).name);
  const all = ["db", ...(place < 0 ? names : names.slice(0, place))];
  const own = bottomOf(parts)?.items || [];
  return [...all, ...own.filter((i) => !all.includes(i))];
};
export function withChoice(parts: Part[], name: string, names: string[]) {
  const all = choices(parts, names);
  const own = (bottomOf(parts) as Bottom).items;
  const now = own.length ? own : all;
  const next = all.filter((c) => (c === name ? !now.includes(c) : now.includes(c)));
  // No brackets: all choices.
  const items = next.length === all.length && next.every((i) => i === "db" || names.includes(i)) ? [] : next;
  return together({ ...(bottomOf(parts) as Bottom), items }, [], targetOf(parts));
}

/** A click handler that ignores the second click of a double click, which would remove the next block, too. */
export const once = (act: () => void) => (e: MouseEvent) => {
  if (e.detail < 2) act();
};
