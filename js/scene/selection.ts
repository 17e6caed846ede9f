// The selection in the scene of a run, and the chips that it refers to. Pure: every function
// returns a new selection.
import type { Store } from "../lib/run";
import type { Round } from "../lib/tables";
import { type Chip, chipOf, type Scene } from "./scene";
import { OWN, ROOT } from "./words";

export interface Selection {
  /** Target round of the scene. */
  top: number | null;
  /** Round of a lower level that is pinned in another view. */
  inner: number | null;
  /** Keys of the selected chip and of the one under the pointer. */
  key: string | null;
  peek: string | null;
  /** Event of the cursor that was followed last; -1: none. */
  step: number;
}

/** Select a target round without a chip. */
export const atRound = (top: number | null): Selection => ({
  top,
  inner: null,
  key: null,
  peek: null,
  step: -1,
});

/** Follow the cursor to an event whose node is `node`. */
export const atEvent = (
  selection: Selection,
  scene: Scene,
  step: number,
  node: number,
): Selection => ({
  ...selection,
  step,
  key: chipOf(scene, scene.round.id, node)?.key ?? null,
});

/** Select a chip, whose event is `step`. */
export const atChip = (selection: Selection, chip: Chip, step: number): Selection => ({
  ...selection,
  inner: null,
  key: chip.key,
  peek: null,
  step,
});

/** Select a chip of a lower level's round: its own token, else one that it verified. */
export function atInner(selection: Selection, scene: Scene, inner: number): Selection {
  const judged = (chip: Chip) =>
    chip.own?.id === inner || chip.judged.some(({ round }) => round.id === inner);
  const chip = chipOf(scene, inner, OWN) ?? scene.chips.find(judged);
  return { ...selection, key: chip?.key ?? null };
}

/** Return the chip under the pointer, else the selected one. */
export const chosenIn = (scene: Scene | null, { peek, key }: Selection): Chip | null =>
  scene?.chips.find((chip) => chip.key === (peek ?? key)) ?? null;

/** Return the chip that ended the draft: the first rejected one, else the round's own token. */
export function decidingIn({ chips, round }: Scene): Chip | null {
  const isRejected = ({ judged }: Chip) =>
    judged.some((step) => step.round.id === round.id && step.draft.verdict === "rejected");
  return chips.find(isRejected) ?? chips.find((chip) => chip.own?.id === round.id) ?? null;
}

/** Return the round in which a chip was decided; without a chip, that of the scene. */
export function roundOf(
  rounds: Store["rounds"],
  scene: Scene | null,
  { peek, inner }: Selection,
  chip: Chip | null,
): Round | null {
  const pinned = peek === null && inner !== null ? rounds.get(inner) : undefined;
  return pinned ?? chip?.judged.at(-1)?.round ?? chip?.own ?? scene?.round ?? null;
}

/** Return the node of an event. */
export function nodeOf({ events }: ReturnType<Store["index"]>, step: number): number {
  const event = events[step];
  if (event?.draft) return event.draft.node;
  return event?.kind === "token" ? OWN : ROOT;
}

/** Return the node of a chip in the scene's target round; null: it belongs to a lower round. */
export function nodeIn({ round }: Scene, { own, judged }: Chip): number | null {
  if (own?.id === round.id) return OWN;
  return judged.find((step) => step.round.id === round.id)?.draft.node ?? null;
}
