// The dart boards of a scene: of a round's correction, or of one verdict, from the recorded rows.
import { boardOfCorrection, boardOfDraft, withoutSpecks } from "../darts/board";
import type { Drawn } from "../darts/picture";
import type { Shown } from "../darts/stage";
import type { Palette } from "../lib/palette";
import type { Store } from "../lib/run";
import type { Draft, Round, Token } from "../lib/tables";
import type { Chip } from "./scene";
import { type Own, ROOT, token } from "./words";

/** The chances of a first token by which darts fall on both sides. */
const BOTH_SIDES = { least: 0.1, most: 0.9 };

const isGreedy = ({ meta }: Pick<Store, "meta">) => meta.sampling?.temperature === 0;

export const pieceOf = (store: Pick<Store, "pieces">, id: number | null) =>
  id === null ? "others" : token(store.pieces[id] ?? `#${id}`);

/**
 * The board of the position where round `r` drew its own token `t`; null where it was not recorded.
 */
export function boardOfRound(
  store: Store,
  palette: Palette,
  r: Round,
  t: Token | null,
): Drawn | null {
  const drafts = store.drafts.get(r.id) ?? [];
  const kept = drafts.filter((d) => d.verdict === "accepted").at(-1)?.node ?? ROOT;
  const refused = drafts.filter(
    (d) => d.parent === kept && d.verdict === "rejected" && d.p !== null,
  );
  const whole = t && boardOfCorrection(t, refused, store.meta.sampling ?? {}, r.rule !== "token");
  if (!whole) return null;
  const board = withoutSpecks(whole, t.token_id);
  const [d] = refused;
  const columnOf = (id: number) => board.columns.findIndex((c) => c.id === id);
  const first =
    d.u === null ? null : { column: columnOf(d.token_id), y: d.u * (d.q ?? 0), hit: false };
  const at = columnOf(t.token_id);
  // A token of which no probability was recorded is drawn in the column of all others.
  const others = at < 0 ? board.columns.length - 1 : -1;
  const drawn = `${pieceOf(store, t.token_id)} …`;
  const sources = new Map(refused.map((o) => [o.token_id, palette.family(o.source)]));
  const drafter = palette.family(store.levels[r.level - 1] ?? "");
  return {
    board,
    names: board.columns.map((c, k) => (k === others ? drawn : pieceOf(store, c.id))),
    // What the drafter wins is its colour; a drafted token has its own source's.
    families: board.columns.map((c) => sources.get(c.id ?? NaN) ?? (d.u === null ? null : drafter)),
    recorded: { first, token: at < 0 ? others : at },
  };
}

/** The board of a draft token's own verdict; null where it was not compared. */
function boardOfVerdict(
  store: Store,
  palette: Palette,
  chip: Chip,
  draft: Draft,
  round: Round,
): Shown | null {
  const board = round.rule === "token" ? boardOfDraft(draft) : null;
  if (!board) return null;
  const hit = draft.verdict === "accepted";
  const first = draft.u === null ? null : { column: 0, y: draft.u * (draft.q ?? 0), hit };
  const family = palette.family(draft.source);
  return {
    board,
    key: `${chip.key}:${round.id}`,
    names: board.columns.map((column) => pieceOf(store, column.id)),
    families: board.columns.map((column) => (column.drafted ? family : null)),
    recorded: { first, token: !first && hit ? 0 : null },
    title: `Position ${draft.depth}: ${store.actor(round)} examines “${token(draft.text)}”`,
  };
}

/**
 * The title of the board of a correction: the share of draws that keeps a draft, and what was
 * drawn. Darts have a ring at the recorded one; a draft without a q, of a database, has one draw
 * of the target, whose token is named.
 */
function titleOf({ board, names, recorded }: Drawn, position: number): string {
  const place = `Position ${position}`;
  if (board.left === null) return `${place}: darts under p and q`;
  const kept = Math.round(100 * (1 - board.left));
  const drawn = recorded?.token ?? null;
  if (board.rule === "ratio" || drawn === null)
    return `${place}: ${kept} % of the darts accept; the recorded one, at the ring, did not`;
  return `${place}: ${kept} % of draws keep the draft; this one was “${names[drawn]}”`;
}

/**
 * The board of a chip that was decided in `round`, whose own token is `own`: of its verdict alone
 * where it was accepted or nothing was drawn in its place, else of the round's correction. Null at
 * temperature 0.
 */
export function boardOfChip(
  store: Store,
  palette: Palette,
  chip: Chip | null,
  round: Round,
  own: Own | null,
): Shown | null {
  if (isGreedy(store)) return null;
  const draft = chip?.judged.at(-1)?.draft;
  const isAlone = draft && draft.p !== null && (draft.verdict === "accepted" || !own?.row);
  if (chip && isAlone) return boardOfVerdict(store, palette, chip, draft, round);
  const drawn = boardOfRound(store, palette, round, own?.row ?? null);
  if (!drawn) return null;
  return { ...drawn, key: `${round.id}`, title: titleOf(drawn, round.accepted + 1) };
}

/** Whether the darts of a round can be drawn, and fall on both sides. */
export function fallsOnBothSides(
  store: Store,
  palette: Palette,
  round: Round,
  own: Own | null,
): boolean {
  if (isGreedy(store)) return false;
  const drawn = boardOfRound(store, palette, round, own?.row ?? null);
  if (!drawn) return false;
  // The drafted tokens themselves are seen to be accepted at times.
  const drafted = drawn.board.columns.filter((column) => column.drafted);
  const accepted = drafted.reduce((sum, column) => sum + column.accepted, 0);
  return accepted > BOTH_SIDES.least && accepted < BOTH_SIDES.most;
}
