// Labels of the floors of a scene: the forward passes of a level, and the proposals of the
// drafters. Pure functions.
import { isWhole } from "../lib/facts";
import type { Store } from "../lib/run";
import { duration, plural } from "../lib/words";
import type { Beam, Scene } from "./scene";
import type { Reading } from "./words";

const sumOf = <Row>(rows: readonly Row[], value: (row: Row) => number): number =>
  rows.reduce((sum, row) => sum + value(row), 0);

function passCount(beams: readonly Beam[]): string {
  if (!beams.length) return "no forward pass";
  const [{ fed }] = beams;
  if (beams.length === 1 && fed !== null) return `one forward pass over ${plural(fed, "token")}`;
  return plural(beams.length, "forward pass");
}

/** Describe the passes of a level: number, time and, unless `isBrief`, accepted tokens. */
export function passText(
  { judgedBy }: Pick<Reading, "judgedBy">,
  beams: readonly Beam[],
  name: string,
  isBrief: boolean,
): string {
  const ns = sumOf(beams, (beam) => beam.ns ?? 0);
  const time = ns ? `, ${duration(ns)}` : "";
  const judged = sumOf(beams, (beam) => judgedBy(beam.round));
  const verb = beams.some((beam) => isWhole(beam.round.rule)) ? "judged" : "examined";
  const accepted = sumOf(beams, (beam) => beam.round.accepted);
  const fate = judged && !isBrief ? ` · accepts ${accepted} of ${judged} ${verb}` : "";
  return `${name}: ${passCount(beams)}${time}${fate}`;
}

/** Describe the proposals of the drafters of the lowest level, and their time. */
export function draftText(
  { calls }: Pick<Store, "calls">,
  { beams, chips }: Scene,
  name: string,
): string {
  const inside = new Set(beams.map((beam) => beam.round.id));
  const drafting = calls.filter(
    (call) => inside.has(call.round) && call.level === 0 && call.kind !== "update",
  );
  const ns = sumOf(drafting, (call) => call.duration_ns);
  const time = ns ? `, ${duration(ns)}` : "";
  const drafted = chips.filter((chip) => chip.born === 0 && !chip.own).length;
  return `${name}: ${plural(drafted, "draft token")}${time}`;
}
