// The plain names of stacks, the same as those of hsd_viz/results/drafter_names.py.
import NAMES from "./drafter_names.json";
import type { Meta } from "./run_data";
import { type WrittenPart, writtenParts } from "./stack";

/** The name of a draft source; undefined for a model, and for a drafter of another package. */
export const drafterName = (source: string): string | undefined =>
  Object.hasOwn(NAMES, source) ? NAMES[source as keyof typeof NAMES] : undefined;

/** The name of a part of a stack that drafts. */
function partName({ name, items }: WrittenPart): string {
  if (name === "db") return drafterName(items) ?? NAMES.db;
  const isCopy = items && !drafterName(name);
  return isCopy
    ? `a copy of ${name === "target" ? "the target" : name}`
    : (drafterName(name) ?? name);
}

/** The name of a stack: its drafters in the order of drafting, as in "databases, then nano". */
export function stackName(stack: string): string {
  const parts = writtenParts(stack);
  if (!parts.length) return stack.trim();
  return parts.slice(0, -1).map(partName).join(", then ") || "plain decoding";
}
/** The name of a run's stack, as it was asked for. */
export const runName = ({ meta }: { meta: Meta }) => stackName(meta.asked || meta.stack);
