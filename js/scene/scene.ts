// A round as a scene on floors. Floor k holds the proposals of level k; the highest floor is the
// text. A token is one chip: it appears on a floor, rises through each verification that accepts
// it, and rests where it was rejected or in the text. Pure functions.
import type { JudgedToken } from "../lib/card";
import type { Store } from "../lib/run";
import type { Call, Draft, Round } from "../lib/tables";
import { handedUp } from "./chain";
import { OWN } from "./words";

/** The floor of a chip from time `at` on (0 to 1), and its `fate` once decided. */
export interface Move {
  at: number;
  floor: number;
  fate: string;
}
export interface Chip {
  key: string;
  text: string;
  source: string;
  /** Position in the text relative to the beginning of the round, from 0. */
  column: number;
  born: number;
  rest: number;
  /** Verdicts on the token, lowest level first. */
  judged: JudgedToken[];
  /** Round whose own token this is; null: a draft token. */
  own: Round | null;
  /** Row of the chip on each floor. */
  rows: number[];
  moves: Move[];
  above: Chip | null;
}
/** A verification: a forward pass of the level below floor `floor`. */
export interface Beam {
  round: Round;
  floor: number;
  from: number;
  to: number;
  left: number;
  right: number;
  ns: number | null;
  /** Number of tokens fed to the pass, including the last emitted one. */
  fed: number | null;
}
export interface Scene {
  round: Round;
  chips: Chip[];
  beams: Beam[];
  /** Number of rows of each floor, lowest first; the last floor is the text. */
  rows: number[];
  columns: number;
  /** Times at which the target's beam starts and ends. */
  ready: number;
  swept: number;
  /** Duration of the playback in milliseconds. */
  lasts: number;
  /** Whether times were recorded. */
  timed: boolean;
}

/**
 * Milliseconds of a played scene. All recorded intervals together take about `recorded`, each at
 * least `least` and at most `most`, to avoid long pauses. Then the target's verdicts follow, each
 * after `verdict`.
 */
export const PACE = { recorded: 3200, least: 90, most: 1000, verdict: 350 };

export const chipKey = (round: number, node: number) => `${round}:${node === OWN ? "own" : node}`;
/** Return the chip of a node of a round. */
export const chipOf = (scene: Scene, round: number, node: number) =>
  scene.chips.find((c) =>
    node === OWN
      ? c.own?.id === round
      : c.judged.some((j) => j.round.id === round && j.draft.node === node),
  );

type Rows = Pick<Store, "rounds" | "drafts" | "children" | "calls" | "tokens">;

/** The text and source of a chip's token. */
type Named = Pick<Draft, "text" | "source">;
/** A round's own token; null: none. */
type OwnToken = Named | null;
/** A beam with its recorded times. */
interface Pass {
  beam: Beam;
  start: number;
  end: number;
}

/** Return the draft of a round, ordered by node. */
const draftsOf = ({ drafts }: Rows, round: number): Draft[] =>
  [...(drafts.get(round) ?? [])].sort((a, b) => a.node - b.node);

/** Return the ids of a round and of all rounds below it. */
function roundsIn(store: Rows, round: number): Set<number> {
  const below = store.children.get(round) ?? [];
  return new Set([round, ...below.flatMap((child) => [...roundsIn(store, child)])]);
}

/** Builds the chips and beams of a target round, from its lowest level up. */
class SceneBuilder {
  readonly chips: Chip[] = [];
  readonly passes: Pass[] = [];
  /** Whether times were recorded. If not, each draft and each verification takes one unit. */
  readonly timed: boolean;
  private units = 0;
  private readonly calls: Call[];

  constructor(
    private readonly store: Rows,
    top: Round,
  ) {
    const inside = roundsIn(store, top.id);
    this.calls = store.calls.filter((call) => inside.has(call.round));
    this.timed = this.calls.some(
      (call) => call.round === top.id && call.level === top.level && call.duration_ns > 0,
    );
  }

  /** Build the chips of a round, and return those it emits: its accepted path and its own token. */
  enter(round: Round, column: number, own: OwnToken): Chip[] {
    const drafts = draftsOf(this.store, round.id);
    const chips = this.proposed(round, drafts, column);
    drafts.forEach(({ parent }, k) => {
      chips[k].above ??= parent >= 0 ? chips[parent] : null;
    });
    const end = this.verify(round, drafts, column);
    drafts.forEach((draft, k) => {
      const chip = chips[k];
      chip.judged.push({ round, draft });
      chip.rest = draft.verdict === "accepted" ? round.level : round.level - 1;
      chip.moves.push({ at: end, floor: chip.rest, fate: draft.verdict });
    });
    const path = [...drafts.keys()]
      .filter((k) => drafts[k].verdict === "accepted")
      .sort((a, b) => drafts[a].depth - drafts[b].depth)
      .map((k) => chips[k]);
    if (!own) return path;
    const chip = this.born(chipKey(round.id, OWN), own, column + path.length, round.level, end);
    chip.own = round;
    chip.moves[0].fate = round.outcome;
    return [...path, chip];
  }

  private born(key: string, { text, source }: Named, column: number, floor: number, at: number) {
    const chip: Chip = {
      key,
      text,
      source,
      column,
      born: floor,
      rest: floor,
      judged: [],
      own: null,
      rows: [],
      moves: [{ at, floor, fate: "" }],
      above: null,
    };
    this.chips.push(chip);
    return chip;
  }

  /** Return the chips of a round's draft: those emitted by the rounds below, else new ones. */
  private proposed(round: Round, drafts: Draft[], column: number): Chip[] {
    const below = (this.store.children.get(round.id) ?? []).flatMap(
      (child) => this.store.rounds.get(child) ?? [],
    );
    const parts = handedUp(drafts, below);
    const chips: Chip[] = [];
    for (const child of below) {
      // Skip rounds whose tokens do not add up to the chain.
      const part = parts.get(child.id);
      if (part) chips.push(...this.enter(child, column + part.first, part.own));
    }
    return chips.length === drafts.length ? chips : this.drafted(round, drafts, column);
  }

  /** Create the chips of a draft of one call; those of a draft model appear one after the other. */
  private drafted(round: Round, drafts: Draft[], column: number): Chip[] {
    const call = this.calls.find(
      ({ round: id, level, kind }) => id === round.id && level < round.level && kind !== "update",
    );
    const timeOfDraft = (k: number) => {
      if (!this.timed) return this.unit();
      if (!call) return round.start_ns;
      const share = call.kind === "draft" ? (k + 1) / drafts.length : 1;
      return call.start_ns + share * call.duration_ns;
    };
    return drafts.map((draft, k) => {
      const key = chipKey(round.id, draft.node);
      return this.born(key, draft, column + draft.depth - 1, round.level - 1, timeOfDraft(k));
    });
  }

  /** Add the beam of a round's verification; return the time of its end. */
  private verify(round: Round, drafts: Draft[], column: number): number {
    const call = this.calls.find(
      ({ round: id, level }) => id === round.id && level === round.level,
    );
    let start = call?.start_ns ?? round.start_ns;
    let end = start + (call?.duration_ns ?? 0);
    if (!this.timed) {
      start = this.unit();
      end = this.unit();
    }
    const beam = {
      round,
      floor: round.level,
      from: 0,
      to: 0,
      left: column,
      right: Math.max(column, ...drafts.map(({ depth }) => column + depth)),
      ns: this.timed ? (call?.duration_ns ?? null) : null,
      fed: call?.fed ?? null,
    };
    this.passes.push({ beam, start, end });
    return end;
  }

  private unit(): number {
    this.units += 1;
    return this.units;
  }
}

/** Return the scene of target round `id`. */
export function sceneOf(store: Rows, id: number): Scene {
  const round = store.rounds.get(id) as Round;
  const cast = new SceneBuilder(store, round);
  const own = store.tokens.findLast((token) => token.round === id && token.depth === 0);
  cast.enter(round, 0, own ?? null);
  const { chips, passes, timed } = cast;
  return {
    round,
    chips,
    beams: passes.map(({ beam }) => beam),
    ...rescale(chips, passes, round),
    rows: place(chips, round.level),
    columns: Math.max(1, ...chips.map((chip) => chip.column + 1)),
    timed,
  };
}

/** Return a function from recorded times to milliseconds of a played scene: see {@link PACE}. */
export function paceOf(times: readonly number[]): (at: number) => number {
  const marks = [...new Set(times)].sort((a, b) => a - b);
  const duration = Math.max(1e-9, marks[marks.length - 1] - marks[0]);
  const reached = [0];
  for (let k = 1; k < marks.length; k++) {
    const share = (PACE.recorded * (marks[k] - marks[k - 1])) / duration;
    reached.push(reached[k - 1] + Math.min(PACE.most, Math.max(PACE.least, share)));
  }
  const byTime = new Map(marks.map((mark, k) => [mark, reached[k]]));
  return (at) => byTime.get(at) ?? 0;
}

/**
 * Rescale all times to 0 … 1, in place: first the recorded round, then the target's verdicts by
 * position, and its own token last.
 */
function rescale(chips: Chip[], passes: Pass[], top: Round) {
  const target = passes[passes.length - 1];
  const depth = (c: Chip) => c.judged.find((j) => j.round.id === top.id)?.draft.depth ?? 0;
  const deepest = Math.max(1, ...chips.map(depth));
  const times = [
    ...chips.flatMap((c) => c.moves.map((m) => m.at)),
    ...passes.flatMap(({ start, end }) => [start, end]),
  ];
  const pace = paceOf(times.filter((at) => at <= target.end));
  const passed = pace(target.end);
  const lasts = passed + PACE.verdict * (deepest + 1);
  const share = (at: number) => pace(at) / lasts;
  for (const { beam, start, end } of passes) {
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
 * Assign each chip a row on each floor that it visits: row 0 if it moves on, and if it rests, the
 * parent's row or the next free one.
 */
function place(chips: Chip[], text: number) {
  const rows = Array.from({ length: text + 1 }, () => 1);
  for (let floor = 0; floor <= text; floor++) {
    const here = chips.filter((c) => c.born <= floor && floor <= c.rest);
    const takenPlaces = new Set(here.filter((c) => c.rest > floor).map((c) => `${c.column}:0`));
    for (const chip of here) {
      if (chip.rest > floor || floor === text) {
        chip.rows[floor] = 0;
        continue;
      }
      let row = chip.above?.rows[floor] ?? 0;
      while (takenPlaces.has(`${chip.column}:${row}`)) row += 1;
      takenPlaces.add(`${chip.column}:${row}`);
      chip.rows[floor] = row;
      rows[floor] = Math.max(rows[floor], row + 1);
    }
  }
  return rows;
}

/** Return the last move of a chip up to a time; null before the chip appears. */
export const moveAt = (chip: Chip, t: number): Move | null =>
  chip.moves.findLast((m) => m.at <= t + 1e-9) ?? null;

/** Return the times of a scene's stills: drafts proposed, target's pass, verdicts, text. */
export const stillsOf = (scene: Scene) => [scene.ready, (scene.ready + scene.swept) / 2, 0.995, 1];

/** Return the time of an event of the target round by its node (`OWN`, `ROOT` or a draft's). */
export function timeOf(scene: Scene, node: number): number {
  if (node === OWN) return 1;
  const chip = chipOf(scene, scene.round.id, node);
  return chip ? chip.moves[chip.moves.length - 1].at : scene.ready;
}

export type Direction = "left" | "right" | "up" | "down";
/**
 * Return the neighbour of a chip: in the next column on the nearest floor (left, right), or on the
 * next floor or row of its column (up, down).
 */
export function beside(scene: Scene, key: string | null, way: Direction): Chip | null {
  const here = scene.chips.find((c) => c.key === key);
  if (!here) return scene.chips[0] ?? null;
  const height = (c: Chip) => c.rest * 100 - c.rows[c.rest];
  const byHeight = (a: Chip, b: Chip) => height(a) - height(b);
  if (way === "up" || way === "down") {
    const column = scene.chips.filter((c) => c.column === here.column).sort(byHeight);
    return column[column.indexOf(here) + (way === "up" ? 1 : -1)] ?? here;
  }
  const to = here.column + (way === "right" ? 1 : -1);
  const near = scene.chips.filter((c) => c.column === to);
  return near.sort((a, b) => Math.abs(byHeight(a, here)) - Math.abs(byHeight(b, here)))[0] ?? here;
}
