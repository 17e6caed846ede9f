// A round as a scene on floors. Floor k holds what level k proposes, the highest floor is the text.
// A token is one chip: it is born on a floor, rises through each verification that accepts it, and
// rests where it was rejected or in the text. Pure.
import type { VerifiedDraft } from "../lib/card";
import type { Store } from "../lib/run";
import type { Call, Draft, Round } from "../lib/tables";
import { OWN } from "./words";

/** Where a chip is from time `at` on (0 … 1 of the scene); `fate` once it is decided. */
export interface Move {
  at: number;
  floor: number;
  fate: string;
}
export interface Chip {
  key: string;
  text: string;
  source: string;
  /** Position in the text after the round's beginning, from 0. */
  column: number;
  born: number;
  rest: number;
  /** Its verdicts, lowest level first. */
  judged: VerifiedDraft[];
  /** The round whose own token this is, or null. */
  own: Round | null;
  /** Rows by floor. */
  rows: number[];
  moves: Move[];
  above: Chip | null;
}
/** One verification: a forward pass of the level that leads to floor `floor`. */
export interface Beam {
  round: Round;
  floor: number;
  from: number;
  to: number;
  left: number;
  right: number;
  ns: number | null;
  /** Tokens of the forward pass, the last emitted one included. */
  fed: number | null;
}
export type Scene = ReturnType<typeof sceneOf>;

/**
 * Milliseconds of a played scene. All recorded intervals together take about `recorded`, each of
 * them at least `least` and at most `most`, so that nothing pauses for long; then the target's
 * verdicts fall one by one.
 */
export const PACE = { recorded: 3200, least: 90, most: 1000, verdict: 350 };

export const chipKey = (round: number, node: number) => `${round}:${node === OWN ? "own" : node}`;
/** The chip of a node of a round. */
export const chipOf = (scene: Scene, round: number, node: number) =>
  scene.chips.find((c) =>
    node === OWN
      ? c.own?.id === round
      : c.judged.some((j) => j.round.id === round && j.draft.node === node),
  );

type Rows = Pick<Store, "rounds" | "drafts" | "children" | "calls" | "tokens">;

/** A round's own token. */
type Own = Pick<Draft, "text" | "source"> | null;

/**
 * The tokens proposed by each round of a level: the level above verified them as one chain, where
 * each round's own token follows its accepted ones. `drafts` are the chain, `rounds` the rounds
 * below in order. Empty if inconsistent.
 */
export function handedUp(
  drafts: Draft[],
  rounds: Round[],
): Map<number, { first: number; own: Draft | null }> {
  const chain = [...drafts].sort((a, b) => a.node - b.node);
  const out = new Map<number, { first: number; own: Draft | null }>();
  let n = 0;
  for (const r of rounds) {
    const adds = r.outcome === "stopped" ? 0 : 1;
    out.set(r.id, { first: n, own: adds ? (chain[n + r.accepted] ?? null) : null });
    n += r.accepted + adds;
  }
  return n === chain.length && chain.every((d, k) => d.parent === k - 1) ? out : new Map();
}

/**
 * The scene of the target round `id`. `rows` are those of each floor, lowest first, the last is the
 * text; `ready` and `swept` when the target's beam starts and ends.
 */
export function sceneOf(store: Rows, id: number) {
  const top = store.rounds.get(id) as Round;
  const chips: Chip[] = [];
  const raw: { beam: Beam; start: number; end: number }[] = [];
  const inside = new Set<number>();
  const enter = (round: number) => {
    inside.add(round);
    for (const below of store.children.get(round) ?? []) enter(below);
  };
  enter(id);
  const calls = store.calls.filter((c) => inside.has(c.round));
  const timed = calls.some((c) => c.round === id && c.level === top.level && c.duration_ns > 0);
  // Without recorded times each draft and each verification takes one unit.
  let tick = 0;
  const born = (
    key: string,
    draft: Pick<Draft, "text" | "source">,
    column: number,
    floor: number,
    at: number,
  ) => {
    const { text, source } = draft;
    const place = {
      key,
      text,
      source,
      column,
      born: floor,
      rest: floor,
      moves: [{ at, floor, fate: "" }],
    };
    const chip: Chip = { ...place, judged: [], own: null, rows: [], above: null };
    chips.push(chip);
    return chip;
  };

  /** The chips that a round returns: its accepted path and its own token. */
  function play(r: Round, column: number, mine: Own): Chip[] {
    const drafts = [...(store.drafts.get(r.id) ?? [])].sort((a, b) => a.node - b.node);
    const below = (store.children.get(r.id) ?? []).flatMap(
      (child) => store.rounds.get(child) ?? [],
    );
    const given = handedUp(drafts, below);
    let held: Chip[] = [];
    for (const child of below) {
      // Rounds whose tokens do not add up to the chain are not shown.
      const part = given.get(child.id);
      if (part) held.push(...play(child, column + part.first, part.own));
    }
    if (held.length !== drafts.length) {
      const call = calls.find((c) => c.round === r.id && c.level < r.level && c.kind !== "update");
      held = drafts.map((d, k) => {
        const share = call?.kind === "draft" ? (k + 1) / drafts.length : 1;
        const at = timed ? (call ? call.start_ns + share * call.duration_ns : r.start_ns) : ++tick;
        return born(chipKey(r.id, d.node), d, column + d.depth - 1, r.level - 1, at);
      });
    }
    drafts.forEach((d, k) => {
      held[k].above ??= d.parent >= 0 ? held[d.parent] : null;
    });
    const pass = calls.find((c) => c.round === r.id && c.level === r.level);
    const { start_ns = r.start_ns, duration_ns = 0 }: Partial<Call> = pass ?? {};
    const [start, end] = timed ? [start_ns, start_ns + duration_ns] : [++tick, ++tick];
    const spans = drafts.map((d) => column + d.depth - 1);
    const last = Math.max(column, ...spans.map((at) => at + 1));
    const ns = timed ? (pass?.duration_ns ?? null) : null;
    const place = { round: r, floor: r.level, left: column, right: last };
    const beam = { ...place, from: 0, to: 0, ns, fed: pass?.fed ?? null };
    raw.push({ beam, start, end });
    drafts.forEach((draft, k) => {
      const chip = held[k];
      const up = draft.verdict === "accepted";
      chip.judged.push({ round: r, draft });
      chip.rest = up ? r.level : r.level - 1;
      chip.moves.push({ at: end, floor: chip.rest, fate: draft.verdict });
    });
    const kept = drafts
      .map((d, k) => ({ d, chip: held[k] }))
      .filter(({ d }) => d.verdict === "accepted");
    const path = kept.sort((a, b) => a.d.depth - b.d.depth).map(({ chip }) => chip);
    if (!mine) return path;
    const chip = born(chipKey(r.id, OWN), mine, column + path.length, r.level, end);
    chip.own = r;
    chip.moves[0].fate = r.outcome;
    return [...path, chip];
  }
  play(top, 0, store.tokens.findLast((t) => t.round === id && t.depth === 0) ?? null);
  const { ready, swept, lasts } = rescale(chips, raw, top);
  const rows = place(chips, top.level);
  const columns = Math.max(1, ...chips.map((c) => c.column + 1));
  return {
    round: top,
    chips,
    beams: raw.map(({ beam }) => beam),
    rows,
    columns,
    ready,
    swept,
    lasts,
    timed,
  };
}

/**
 * The milliseconds of a played scene at which each of these recorded times is reached: see {@link
 * PACE}.
 */
export function paceOf(times: readonly number[]): (at: number) => number {
  const marks = [...new Set(times)].sort((a, b) => a - b);
  const whole = Math.max(1e-9, marks[marks.length - 1] - marks[0]);
  const reached = [0];
  for (let k = 1; k < marks.length; k++) {
    const share = (PACE.recorded * (marks[k] - marks[k - 1])) / whole;
    reached.push(reached[k - 1] + Math.min(PACE.most, Math.max(PACE.least, share)));
  }
  const byTime = new Map(marks.map((mark, k) => [mark, reached[k]]));
  return (at) => byTime.get(at) ?? 0;
}

/**
 * Times to 0 … 1: the recorded round first, then verdicts of the target by position, and its own
 * token last.
 */
function rescale(chips: Chip[], raw: { beam: Beam; start: number; end: number }[], top: Round) {
  const target = raw[raw.length - 1];
  const depth = (c: Chip) => c.judged.find((j) => j.round.id === top.id)?.draft.depth ?? 0;
  const most = Math.max(1, ...chips.map(depth));
  const times = [
    ...chips.flatMap((c) => c.moves.map((m) => m.at)),
    ...raw.flatMap((b) => [b.start, b.end]),
  ];
  const pace = paceOf(times.filter((at) => at <= target.end));
  const passed = pace(target.end);
  const lasts = passed + PACE.verdict * (most + 1);
  const share = (at: number) => pace(at) / lasts;
  for (const { beam, start, end } of raw) {
    beam.from = share(start);
    beam.to = share(end);
  }
  for (const chip of chips) {
    for (const move of chip.moves) move.at = share(move.at);
    const end = chip.moves[chip.moves.length - 1];
    if (chip.own?.id === top.id) end.at = 1;
    else if (depth(chip)) end.at = (passed + PACE.verdict * depth(chip)) / lasts;
  }
  return { ready: target.beam.from, swept: passed / lasts, lasts };
}
/**
 * Give each chip a row on each floor it visits: 0 to those that pass on, the parent's where that is
 * free, to those that rest.
 */
function place(chips: Chip[], text: number) {
  const rows = Array.from({ length: text + 1 }, () => 1);
  for (let floor = 0; floor <= text; floor++) {
    const here = chips.filter((c) => c.born <= floor && floor <= c.rest);
    const taken = new Set(here.filter((c) => c.rest > floor).map((c) => `${c.column}:0`));
    for (const chip of here) {
      if (chip.rest > floor || floor === text) {
        chip.rows[floor] = 0;
        continue;
      }
      let row = chip.above?.rows[floor] ?? 0;
      while (taken.has(`${chip.column}:${row}`)) row += 1;
      taken.add(`${chip.column}:${row}`);
      chip.rows[floor] = row;
      rows[floor] = Math.max(rows[floor], row + 1);
    }
  }
  return rows;
}

/** Where a chip is at a time, or null before it is born. */
export const moveAt = (chip: Chip, t: number): Move | null =>
  chip.moves.findLast((m) => m.at <= t + 1e-9) ?? null;

/** The stills of a scene: drafts proposed, all verified in one pass, verdicts, text. */
export const stillsOf = (scene: Scene) => [scene.ready, (scene.ready + scene.swept) / 2, 0.995, 1];

/** The time of an event of the target round, by its node (`OWN`, `ROOT` or a draft's). */
export function timeOf(scene: Scene, node: number): number {
  if (node === OWN) return 1;
  const chip = chipOf(scene, scene.round.id, node);
  return chip ? chip.moves[chip.moves.length - 1].at : scene.ready;
}

export type Way = "left" | "right" | "up" | "down";
/**
 * The chip beside another: columns to the left and right on the nearest floor, floors and rows
 * above and below.
 */
export function beside(scene: Scene, key: string | null, way: Way): Chip | null {
  const here = scene.chips.find((c) => c.key === key);
  if (!here) return scene.chips[0] ?? null;
  const height = (c: Chip) => c.rest * 100 - c.rows[c.rest];
  const by = (a: Chip, b: Chip) => height(a) - height(b);
  if (way === "up" || way === "down") {
    const column = scene.chips.filter((c) => c.column === here.column).sort(by);
    return column[column.indexOf(here) + (way === "up" ? 1 : -1)] ?? here;
  }
  const to = here.column + (way === "right" ? 1 : -1);
  const near = scene.chips.filter((c) => c.column === to);
  return near.sort((a, b) => Math.abs(by(a, here)) - Math.abs(by(b, here)))[0] ?? here;
}
