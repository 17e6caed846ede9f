// The dart boards of a scene, from the recorded rows: of a round's correction or of one verdict.
import { boardOfCorrection, boardOfDraft, withoutSpecks } from "../darts/board";
import type { BoardPicture } from "../darts/scale";
import type { StageState } from "../darts/stage";
import type { Palette } from "../lib/palette";
import type { Store } from "../lib/run";
import type { Draft, Round, Token } from "../lib/tables";
import type { Chip } from "./scene";
import { type Own, ROOT, token } from "./words";

/** Range of the acceptance probability for which darts fall on both sides of the board. */
const BOTH_SIDES = { least: 0.2, most: 0.8 };

const isGreedy = ({ meta }: Pick<Store, "meta">) => meta.sampling?.temperature === 0;

export const pieceOf = (store: Pick<Store, "pieces">, id: number | null) =>
  id === null ? "others" : token(store.pieces[id] ?? `#${id}`);

/** Return the board of the position of own token `t` of round `r`; null: not recorded. */
export function boardOfRound(
  store: Store,
  palette: Palette,
  r: Round,
  t: Token | null,
): BoardPicture | null {
  const drafts = store.drafts.get(r.id) ?? [];
  const lastAccepted = drafts.filter((d) => d.verdict === "accepted").at(-1)?.node ?? ROOT;
  const refused = drafts.filter(
    (d) => d.parent === lastAccepted && d.verdict === "rejected" && d.p !== null,
  );
  const fullBoard =
    t && boardOfCorrection(t, refused, store.meta.sampling ?? {}, r.rule !== "token");
  if (!fullBoard) return null;
  const board = withoutSpecks(fullBoard, t.token_id);
  const [d] = refused;
  const columnOf = (id: number) => board.columns.findIndex((c) => c.id === id);
  const first =
    d.u === null ? null : { column: columnOf(d.token_id), y: d.u * (d.q ?? 0), hit: false };
  const ownColumn = columnOf(t.token_id);
  // A token without a recorded probability is in the column of all others.
  const column = ownColumn < 0 ? board.columns.length - 1 : -1;
  const label = `${pieceOf(store, t.token_id)} …`;
  const sources = new Map(refused.map((o) => [o.token_id, palette.family(o.source)]));
  const drafter = palette.family(store.levels[r.level - 1] ?? "");
  return {
    board,
    names: board.columns.map((c, k) => (k === column ? label : pieceOf(store, c.id))),
    // The accepted part has the colour of the drafter; a draft token has that of its source.
    families: board.columns.map((c) => sources.get(c.id ?? NaN) ?? (d.u === null ? null : drafter)),
    recorded: { first, token: ownColumn < 0 ? column : ownColumn },
  };
}

/** Return the board of a draft token's own verdict; null: no numbers were compared. */
function boardOfVerdict(
  store: Store,
  palette: Palette,
  chip: Chip,
  draft: Draft,
  round: Round,
): StageState | null {
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
 * Return the title of the board of a correction: the share of draws that accept a draft, and the
 * recorded draw. A ring marks the recorded dart. A draft of a database, which has no q, has a
 * single draw by the target, whose token is named.
 */
function titleOf({ board, names, recorded }: BoardPicture, position: number): string {
  const where = `Position ${position}`;
  if (board.left === null) return `${where}: darts under p and q`;
  const share = Math.round(100 * (1 - board.left));
  const column = recorded?.token ?? null;
  if (board.rule === "ratio" || column === null)
    return `${where}: ${share} % of the darts accept; the recorded one, at the red ring, did not`;
  return `${where}: ${share} % of draws keep the draft; this one was “${names[column]}”`;
}

/**
 * Return the board of a chip decided in `round`, whose own token is `own`: that of its verdict if
 * it was accepted or not replaced, else that of the round's correction. Null at temperature 0.
 */
export function boardOfChip(
  store: Store,
  palette: Palette,
  chip: Chip | null,
  round: Round,
  own: Own | null,
): StageState | null {
  if (isGreedy(store)) return null;
  const draft = chip?.judged.at(-1)?.draft;
  const isAlone = draft && draft.p !== null && (draft.verdict === "accepted" || !own?.row);
  if (chip && isAlone) return boardOfVerdict(store, palette, chip, draft, round);
  const drawn = boardOfRound(store, palette, round, own?.row ?? null);
  if (!drawn) return null;
  return { ...drawn, key: `${round.id}`, title: titleOf(drawn, round.accepted + 1) };
}

/** Return whether a round has a board whose darts fall on both sides. */
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
