// @ts-check
// Runs side by side, worked out without a page: who has what at an output position, and at a time. Times are ns from the end of
// prefill. Pure: `tests/js` runs it in node. The rows are written by hsd_viz/views/versus_data.py.

const RUN_TOKEN = ["text", "kind", "source", "round", "p", "entropy"];
const RUN_ROUND = ["first", "count", "drafted", "deepest", "accepted", "why", "forwards", "start", "end", "below"];
const SPEEDS = [["1", "real time"], ["0.1", "1/10 speed"], ["0.01", "1/100 speed"]];

/** A run of the payload with its rows by name. */
function readRun(run) {
  const by = (names, row) => Object.fromEntries(names.map((n, i) => [n, row[i]]));
  const rounds = run.rounds.map((r) => by(RUN_ROUND, r));
  return { ...run, tokens: run.tokens.map((t) => by(RUN_TOKEN, t)), rounds, end: rounds.length ? rounds[rounds.length - 1].end : 0 };
}

/** What a run had spent when its token at output position `k` came out: {round, forwards, ns}; null where it has no such token. */
function spentAt(run, k) {
  const token = run.tokens[k];
  if (!token) return null;
  const round = run.rounds[token.round];
  return { round, forwards: round.forwards, ns: round.end };
}

/** How many rounds have ended at a time. */
function roundsAt(run, ns) {
  let low = 0;
  let high = run.rounds.length;
  while (low < high) {
    const mid = (low + high) >> 1;
    if (run.rounds[mid].end <= ns) low = mid + 1;
    else high = mid;
  }
  return low;
}

/**
 * A run at a time: tokens `shown`, target `forwards` spent, whether it is `done`; of the round in the air `reach` (how many tokens it
 * can bring at most: its deepest draft and one) and `part` (0…1 of its time that is over), both 0 between rounds.
 */
function runAt(run, ns) {
  const over = roundsAt(run, ns);
  const last = run.rounds[over - 1];
  const next = run.rounds[over];
  const flying = next && next.start <= ns;
  return {
    shown: last ? last.first + last.count : 0,
    forwards: last ? last.forwards : 0,
    done: over === run.rounds.length,
    reach: flying ? next.deepest + 1 : 0,
    part: flying ? (ns - next.start) / Math.max(1, next.end - next.start) : 0,
  };
}

const raceEnd = (/** @type {any[]} */ runs) => Math.max(...runs.map((r) => r.end));

/** The speed at which the whole race takes nearest to eight seconds. */
function fitSpeed(/** @type {number} */ ns) {
  const off = (/** @type {string} */ s) => Math.abs(Math.log(ns / 1e9 / Number(s) / 8));
  return SPEEDS.map(([s]) => s).reduce((a, b) => (off(b) < off(a) ? b : a));
}

/** Who is ahead at a time, as a sentence. */
function standing(runs, ns) {
  const at = runs.map((r) => ({ letter: r.letter, end: r.end, all: r.tokens.length, ...runAt(r, ns) }));
  const finished = at.filter((r) => r.done).sort((a, b) => a.end - b.end);
  const running = at.filter((r) => !r.done);
  const list = (/** @type {string[]} */ s) => (s.length > 1 ? `${s.slice(0, -1).join(", ")} and ${s[s.length - 1]}` : s[0]);
  if (!running.length) {
    const first = finished[0];
    const level = finished.filter((r) => r.end === first.end);
    if (level.length > 1) return `${list(level.map((r) => r.letter))} are through at the same time, after ${duration(first.end)}.`;
    // Texts of unlike length are no race to one finish: say how much each wrote.
    const wrote = (r) => (at.every((o) => o.all === r.all) ? "" : `, with ${plural(r.all, "token")}`);
    const later = finished.slice(1).map((r) => `${r.letter} ${duration(r.end - first.end)} later${wrote(r)}`);
    return `${first.letter} is through first, after ${duration(first.end)}${wrote(first)}; ${list(later)}.`;
  }
  if (finished.length) {
    const rest = running.map((r) => `${r.letter} has ${r.shown} of ${r.all} tokens`);
    const through = finished.map((r) => r.letter);
    return `${list(through)} ${through.length > 1 ? "are" : "is"} through; ${list(rest)}.`;
  }
  const most = Math.max(...at.map((r) => r.shown));
  const ahead = at.filter((r) => r.shown === most);
  if (ahead.length === at.length) return most ? `All have ${plural(most, "token")}.` : "Nobody has a token yet.";
  const behind = at.filter((r) => r.shown < most).map((r) => `${r.letter} by ${plural(most - r.shown, "token")}`);
  return `${list(ahead.map((r) => r.letter))} ${ahead.length > 1 ? "are" : "is"} ahead of ${list(behind)}.`;
}

/** The output position at which the round beside that of `k` begins in a run, `by` rounds on; `k` where there is none. */
function roundStep(run, /** @type {number} */ k, /** @type {number} */ by) {
  const here = run.tokens[Math.min(k, run.tokens.length - 1)];
  if (!here) return k;
  const place = here.round;
  if (by < 0 && k > run.rounds[place].first) return run.rounds[place].first;
  // A round that was cut to nothing has no token to stand on.
  let to = place + by;
  while (run.rounds[to] && run.rounds[to].count === 0) to += by;
  return run.rounds[to] ? run.rounds[to].first : k;
}

/** Which columns begin a line, from where each of them stands. */
function lineStarts(/** @type {number[]} */ tops) {
  return tops.flatMap((top, i) => (i === 0 || top > tops[i - 1] + 1 ? [i] : []));
}

const SMALL = "⁰¹²³⁴⁵⁶⁷⁸⁹";
/** A token on one line: line breaks and blanks by their glyphs, long runs of blanks counted. */
const inColumn = (/** @type {string} */ text) =>
  glyphs(text).replace(/␣{3,}/g, (s) => `␣${[...String(s.length)].map((d) => SMALL[Number(d)]).join("")}`);

/** The differences of one position to the first run, as words: forwards and time. */
function gapWords(/** @type {{forwards: number, ns: number}} */ own, /** @type {{forwards: number, ns: number}} */ first, /** @type {string} */ letter) {
  const n = own.forwards - first.forwards;
  const t = own.ns - first.ns;
  const count = n === 0 ? "as many forwards" : `${plural(Math.abs(n), "forward")} ${n < 0 ? "fewer" : "more"}`;
  const when = t === 0 ? "at the same time as" : `${duration(Math.abs(t))} ${t < 0 ? "earlier" : "later"} than`;
  return `${count}, ${when} ${letter}`;
}

export { fitSpeed, gapWords, inColumn, lineStarts, raceEnd, readRun, roundStep, roundsAt, runAt, spentAt, standing };
