// Counts of one run as small tables that are drawn as bars. Acceptance rate = accepted / drafted,
// conditional acceptance = accepted / examined. Pure.
import type DEFINITIONS from "../lib/definitions.json";
import { bySource } from "../lib/metrics";
import type { Palette } from "../lib/palette";
import type { Store } from "../lib/run";
import type { Draft } from "../lib/tables";
import { plural } from "../lib/words";
import { type Way, waysOf } from "./findable";

/**
 * A bar and its values. The key of a part selects its colour: a source, or "rejected", "unreached",
 * "rounds".
 */
type Part = [key: string, length: number, words: string];
export interface Row {
  label: string;
  parts: Part[];
  cells: string[];
}
/**
 * One table: its measure, what is said besides its definition, and `heads` above labels, bars and
 * values. `empty` replaces missing rows.
 */
export interface Panel {
  title: string;
  measure: keyof typeof DEFINITIONS;
  more?: string;
  heads: string[];
  rows: Row[];
  empty?: string;
  foot?: string;
}
type Run = Pick<Store, "tokens" | "rounds" | "drafts" | "promptIds">;

/** Where the next token was: the words, and the source whose colour the bar has. */
const WAYS: Record<Way, [words: string, source: string]> = {
  both: ["found by tokens and by state", "context"],
  tokens: ["found by tokens only", "context"],
  state: ["found by state only", "semantic"],
  missed: ["in the text, found by neither", "target"],
  absent: ["not in the text", "target"],
};

/** Rows of a table; beyond that, neighbouring values are binned. */
const MOST_ROWS = 20;
export const share = (over: number, under: number) =>
  under ? `${Math.round((100 * over) / under)}%` : "–";

/** Bin whole numbers from the least to the greatest: one bin each, or ranges of equal width. */
export function ranges(values: Iterable<number>): [first: number, last: number][] {
  const found = [...new Set(values)];
  if (!found.length) return [];
  const first = Math.min(...found);
  const last = Math.max(...found);
  const width = Math.ceil((last - first + 1) / MOST_ROWS);
  const bins: [number, number][] = [];
  for (let at = first; at <= last; at += width) bins.push([at, Math.min(at + width - 1, last)]);
  return bins;
}
const rangeWords = ([a, b]: [number, number]) => (a === b ? String(a) : `${a}–${b}`);
const within = ([a, b]: [number, number], n: number) => a <= n && n <= b;

const draftsOf = (run: Run) => [...run.drafts.values()].flat();
export const topLevel = (run: Pick<Store, "rounds">) =>
  Math.max(0, ...[...run.rounds.values()].map((r) => r.level));
/** The levels that verified, the target first. */
export const verifiers = (run: Pick<Store, "rounds">) =>
  [...new Set([...run.rounds.values()].map((r) => r.level))].sort((a, b) => b - a);

/** Sources in order: databases, the others by name, the target last. */
export function inOrder(sources: Iterable<string>, databases: readonly string[]): string[] {
  const place = (s: string) =>
    databases.includes(s) ? databases.indexOf(s) : s === "target" ? 99 : 50;
  return [...new Set(sources)].sort((a, b) => place(a) - place(b) || (a < b ? -1 : 1));
}

export function panelsOf(run: Run, palette: Pick<Palette, "words">, databases: readonly string[]) {
  const all = draftsOf(run);
  /** Accepted by source, then rejected, then what was not examined or was cut. */
  const parts = (drafts: Draft[]): Part[] => {
    const accepted = bySource(drafts.filter((d) => d.verdict === "accepted"));
    const rejected = drafts.filter((d) => d.verdict === "rejected").length;
    const rest = drafts.length - rejected - Object.values(accepted).reduce((a, b) => a + b, 0);
    const bySources = inOrder(Object.keys(accepted), databases).map((s): Part => {
      return [s, accepted[s], `${palette.words(s)}: ${accepted[s]} accepted`];
    });
    const others: Part[] = [
      ["rejected", rejected, `${rejected} rejected`],
      ["unreached", rest, `${rest} not examined`],
    ];
    return [...bySources, ...others.filter(([, n]) => n)];
  };
  const rate = (drafts: Draft[]) => {
    const kept = drafts.filter((d) => d.verdict === "accepted").length;
    return [`${kept} / ${drafts.length}`, share(kept, drafts.length)];
  };
  const none = (drafts: unknown[]) =>
    !all.length
      ? "No drafts in this run: the target generated every token, one per forward pass."
      : drafts.length
        ? ""
        : "No drafts for this level.";

  function byPosition(level: number): Panel {
    const drafts = all.filter((d) => d.level === level);
    const kept = new Set(
      drafts.filter((d) => d.verdict === "accepted").map((d) => `${d.round} ${d.node}`),
    );
    // Block verification rejects several tokens of a chain; the first one counts, as in the round's
    // figure.
    const judged = new Set(
      drafts
        .filter((d) => d.parent < 0 || kept.has(`${d.round} ${d.parent}`))
        .filter((d) => d.verdict === "accepted" || d.verdict === "rejected")
        .map((d) => `${d.round} ${d.depth}`),
    );
    const depths = [...judged].map((key) => Number(key.split(" ")[1]));
    const rows = ranges(drafts.map((d) => d.depth)).map((bin): Row => {
      const here = drafts.filter((d) => within(bin, d.depth));
      const seen = depths.filter((d) => within(bin, d)).length;
      const accepted = here.filter((d) => d.verdict === "accepted").length;
      return {
        label: rangeWords(bin),
        parts: parts(here),
        cells: [`${accepted} / ${seen}`, share(accepted, seen)],
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
      empty: none(drafts),
    };
  }
  function perRound(level: number): Panel {
    const rounds = [...run.rounds.values()].filter((r) => r.level === level);
    const rows = ranges([0, ...rounds.map((r) => r.accepted)]).map((bin): Row => {
      const n = rounds.filter((r) => within(bin, r.accepted)).length;
      const parts: Part[] = n ? [["rounds", n, plural(n, "round")]] : [];
      return { label: rangeWords(bin), parts, cells: [String(n), share(n, rounds.length)] };
    });
    const mean = rounds.length ? rounds.reduce((n, r) => n + r.accepted, 0) / rounds.length : 0;
    return {
      title: "Accepted per round",
      measure: "Rounds by accepted tokens",
      heads: ["accepted", "rounds", "rounds", "share"],
      rows,
      empty: none(all),
      foot: `Mean ${mean.toFixed(2)} over ${plural(rounds.length, "round")}.`,
    };
  }
  function byMatch(level: number): Panel {
    const drafts = all.filter((d) => d.level === level && d.key_length !== null);
    const rows = ranges(drafts.map((d) => d.key_length as number))
      .map((bin) => ({ bin, here: drafts.filter((d) => within(bin, d.key_length as number)) }))
      .filter(({ here }) => here.length)
      .map(
        ({ bin, here }): Row => ({
          label: rangeWords(bin),
          parts: parts(here),
          cells: rate(here),
        }),
      );
    return {
      title: "By match length",
      measure: "Acceptance rate",
      more:
        "Match length: number of latest tokens that a database found in earlier text. " +
        "Draft models match nothing and are excluded.",
      heads: ["tokens matched", "draft tokens", "accepted / drafted", "rate"],
      rows,
      empty:
        none(all) ||
        (drafts.length
          ? ""
          : "All drafts came from draft models; only databases and baselines match text."),
    };
  }
  /** Without rows where the run has no semantic database. */
  function inText(): Panel {
    const ways = waysOf(run);
    const rounds = ways ? Object.values(ways).reduce((sum, n) => sum + n, 0) : 0;
    const rows = Object.entries(ways ?? {}).map(([way, n]): Row => {
      const [label, source] = WAYS[way as Way];
      return {
        label,
        parts: n ? [[source, n, plural(n, "round")]] : [],
        cells: [String(n), share(n, rounds)],
      };
    });
    return {
      title: "Where the next token was",
      measure: "Rounds by place of the next token",
      heads: ["in the text before it", "rounds", "rounds", "share"],
      rows,
    };
  }
  return { byPosition, perRound, byMatch, inText };
}
