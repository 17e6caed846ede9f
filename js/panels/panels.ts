// Counts of one run as small tables that are drawn as bars. Acceptance rate = accepted / drafted,
// conditional acceptance = accepted / examined. Pure functions.
import type COMMON from "../lib/definitions.json";
import { bySource } from "../lib/metrics";
import type { Palette } from "../lib/palette";
import type { Store } from "../lib/run";
import type { Draft } from "../lib/tables";
import { plural } from "../lib/words";
import type OWN from "./definitions.json";
import { type FindingWay, waysOf } from "./findable";

/** A part of a bar. Its key selects the colour: a source, "rejected", "unreached" or "rounds". */
type Part = [key: string, length: number, words: string];
export interface Row {
  label: string;
  parts: Part[];
  cells: string[];
  /** Whether there are too few draft tokens for a rate. */
  few?: boolean;
}
/**
 * A table: its title, its measure with a remark `more`, and `heads` above labels, bars and values.
 * `empty` is the text of a table without rows.
 */
export interface Panel {
  title: string;
  measure: keyof typeof COMMON | keyof typeof OWN;
  more?: string;
  heads: string[];
  rows: Row[];
  empty?: string;
  foot?: string;
}
type Run = Pick<Store, "tokens" | "rounds" | "drafts" | "promptIds">;

/** Label for each way of finding the next token, and the source whose colour its bar has. */
const WAYS: Record<FindingWay, [words: string, source: string]> = {
  both: ["found by tokens and by state", "context"],
  tokens: ["found by tokens only", "context"],
  state: ["found by state only", "semantic"],
  missed: ["in the text, found by neither", "target"],
  absent: ["not in the text", "target"],
};

/** Minimum number of draft tokens for a rate. */
const FEW = 5;
/** Maximum number of rows of a table; for more, neighbouring values are binned. */
const MAX_ROWS = 20;
export const share = (over: number, under: number) =>
  under ? `${Math.round((100 * over) / under)}%` : "–";

/** Divide the range of whole numbers into bins: one per number, or ranges of equal width. */
export function ranges(values: Iterable<number>): [first: number, last: number][] {
  const distinct = [...new Set(values)];
  if (!distinct.length) return [];
  const first = Math.min(...distinct);
  const last = Math.max(...distinct);
  const width = Math.ceil((last - first + 1) / MAX_ROWS);
  const bins: [number, number][] = [];
  for (let at = first; at <= last; at += width) bins.push([at, Math.min(at + width - 1, last)]);
  return bins;
}
const rangeText = ([a, b]: readonly [number, number]) => (a === b ? String(a) : `${a}–${b}`);
const within = ([a, b]: readonly [number, number], n: number) => a <= n && n <= b;

const draftsOf = (run: Run) => [...run.drafts.values()].flat();
export const topLevel = (run: Pick<Store, "rounds">) =>
  Math.max(0, ...[...run.rounds.values()].map((r) => r.level));
/** Return the levels that verified, the target first. */
export const verifiers = (run: Pick<Store, "rounds">) =>
  [...new Set([...run.rounds.values()].map((r) => r.level))].sort((a, b) => b - a);

/** Sort sources: databases in their order, others by name, the target last. */
export function inOrder(sources: Iterable<string>, databases: readonly string[]): string[] {
  const rankOf = (s: string) =>
    databases.includes(s) ? databases.indexOf(s) : s === "target" ? 99 : 50;
  return [...new Set(sources)].sort((a, b) => rankOf(a) - rankOf(b) || (a < b ? -1 : 1));
}

/** The data of the tables of a run. */
interface CountedRun {
  run: Run;
  palette: Pick<Palette, "words">;
  databases: readonly string[];
  /** Draft rows of all levels. */
  drafts: Draft[];
}

const isAccepted = ({ verdict }: Draft): boolean => verdict === "accepted";
const acceptedOf = (drafts: readonly Draft[]): number => drafts.filter(isAccepted).length;

/**
 * Return the parts of a bar: accepted tokens by source, then rejected, then not examined or cut.
 */
function partsOf({ palette, databases }: CountedRun, drafts: Draft[]): Part[] {
  const accepted = bySource(drafts.filter(isAccepted));
  const rejected = drafts.filter(({ verdict }) => verdict === "rejected").length;
  const unexamined = drafts.length - rejected - acceptedOf(drafts);
  const bySources = inOrder(Object.keys(accepted), databases).map(
    (source): Part => [
      source,
      accepted[source],
      `${palette.words(source)}: ${accepted[source]} accepted`,
    ],
  );
  const notAccepted: Part[] = [
    ["rejected", rejected, `${rejected} rejected`],
    ["unreached", unexamined, `${unexamined} not examined`],
  ];
  return [...bySources, ...notAccepted.filter(([, count]) => count)];
}

/** Explain why a table has no rows; "": it has some. */
function emptyText({ drafts: all }: CountedRun, drafts: readonly unknown[]): string {
  if (!all.length)
    return "No drafts in this run: the target generated every token, one per forward pass.";
  return drafts.length ? "" : "No drafts for this level.";
}

/**
 * Return the depths of the examined draft tokens, one per round and depth. Of several tokens of a
 * chain that block verification rejects, only the first counts, as in the round's `examined`.
 */
function examinedDepths(drafts: readonly Draft[]): number[] {
  const accepted = drafts.filter(isAccepted);
  const acceptedNodes = new Set(accepted.map(({ round, node }) => `${round} ${node}`));
  const isReached = ({ round, parent }: Draft) =>
    parent < 0 || acceptedNodes.has(`${round} ${parent}`);
  const judged = drafts.filter(
    (draft) => isReached(draft) && (isAccepted(draft) || draft.verdict === "rejected"),
  );
  const places = new Map(judged.map(({ round, depth }) => [`${round} ${depth}`, depth]));
  return [...places.values()];
}

function byPosition(counted: CountedRun, level: number): Panel {
  const drafts = counted.drafts.filter((draft) => draft.level === level);
  const depths = examinedDepths(drafts);
  const rows = ranges(drafts.map(({ depth }) => depth)).map((bin): Row => {
    const here = drafts.filter(({ depth }) => within(bin, depth));
    const examined = depths.filter((depth) => within(bin, depth)).length;
    const accepted = acceptedOf(here);
    return {
      label: rangeText(bin),
      parts: partsOf(counted, here),
      cells: [`${accepted} / ${examined}`, share(accepted, examined)],
      few: examined < FEW,
    };
  });
  return {
    title: "By draft position",
    measure: "Conditional acceptance",
    more:
      "The bars show all draft tokens at a position; in a tree with several, " +
      "the verifier chooses once.",
    heads: ["position", "draft tokens", "accepted / examined", "rate"],
    rows,
    empty: emptyText(counted, drafts),
  };
}

function perRound(counted: CountedRun, level: number): Panel {
  const rounds = [...counted.run.rounds.values()].filter((round) => round.level === level);
  const counts = rounds.map(({ accepted }) => accepted);
  const rows = ranges([0, ...counts]).map((bin): Row => {
    const here = counts.filter((accepted) => within(bin, accepted)).length;
    const parts: Part[] = here ? [["rounds", here, plural(here, "round")]] : [];
    return { label: rangeText(bin), parts, cells: [String(here), share(here, rounds.length)] };
  });
  const sum = counts.reduce((total, accepted) => total + accepted, 0);
  const mean = rounds.length ? sum / rounds.length : 0;
  return {
    title: "Accepted per round",
    measure: "Rounds by accepted tokens",
    heads: ["accepted", "rounds", "rounds", "share"],
    rows,
    empty: emptyText(counted, counted.drafts),
    foot: `Mean ${mean.toFixed(2)} over ${plural(rounds.length, "round")}.`,
  };
}

/**
 * Join neighbouring bins until each has enough values for a rate; a remainder joins the bin before
 * it.
 */
export function joined(
  bins: readonly (readonly [number, number])[],
  countOf: (bin: readonly [number, number]) => number,
): [number, number][] {
  const groups: [number, number][] = [];
  for (const [first, last] of bins) {
    const before = groups.at(-1);
    if (before && countOf(before) < FEW) before[1] = last;
    else groups.push([first, last]);
  }
  const remainder = groups.at(-1);
  if (remainder && groups.length > 1 && countOf(remainder) < FEW) {
    groups.pop();
    groups[groups.length - 1][1] = remainder[1];
  }
  return groups;
}

function byMatch(counted: CountedRun, level: number): Panel {
  const drafts = counted.drafts.filter(
    (draft) => draft.level === level && draft.key_length !== null,
  );
  const rows: Row[] = [];
  const hereOf = (bin: readonly [number, number]) =>
    drafts.filter((draft) => within(bin, draft.key_length as number));
  const bins = ranges(drafts.map((draft) => draft.key_length as number)).filter(
    (bin) => hereOf(bin).length,
  );
  for (const bin of joined(bins, (row) => hereOf(row).length)) {
    const here = hereOf(bin);
    const accepted = acceptedOf(here);
    rows.push({
      label: rangeText(bin),
      parts: partsOf(counted, here),
      cells: [`${accepted} / ${here.length}`, share(accepted, here.length)],
      few: here.length < FEW,
    });
  }
  const noMatch = "All drafts came from draft models; only databases and baselines match text.";
  return {
    title: "By match length",
    measure: "Acceptance rate",
    more:
      "Match length: number of latest tokens that a database found in earlier text. " +
      "Draft models match nothing and are excluded. Neighbouring lengths are joined where they " +
      `have fewer than ${FEW} draft tokens.`,
    heads: ["tokens matched", "draft tokens", "accepted / drafted", "rate"],
    rows,
    empty: emptyText(counted, counted.drafts) || (drafts.length ? "" : noMatch),
  };
}

/** The table of ways to find the next token; without rows if the run has no semantic database. */
function inText({ run }: CountedRun): Panel {
  const ways = waysOf(run);
  const rounds = ways ? Object.values(ways).reduce((sum, count) => sum + count, 0) : 0;
  const rows = Object.entries(ways ?? {}).map(([way, count]): Row => {
    const [label, source] = WAYS[way as FindingWay];
    return {
      label,
      parts: count ? [[source, count, plural(count, "round")]] : [],
      cells: [String(count), share(count, rounds)],
    };
  });
  return {
    title: "Where the next token was",
    measure: "Rounds by place of the next token",
    heads: ["in the text before it", "rounds", "rounds", "share"],
    rows,
  };
}

/** Return the tables of a run by name, each as a function of the level of a verifier. */
export function panelsOf(run: Run, palette: Pick<Palette, "words">, databases: readonly string[]) {
  const counted: CountedRun = { run, palette, databases, drafts: draftsOf(run) };
  return {
    byPosition: (level: number) => byPosition(counted, level),
    perRound: (level: number) => perRound(counted, level),
    byMatch: (level: number) => byMatch(counted, level),
    inText: () => inText(counted),
  };
}
