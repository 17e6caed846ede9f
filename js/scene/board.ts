// The dart board of a round's correction, from the recorded rows.
import { boardOfCorrection } from "../darts/board";
import type { Drawn } from "../darts/stage";
import type { Palette } from "../lib/palette";
import type { Store } from "../lib/run";
import type { Round, Token } from "../lib/tables";
import { ROOT, token } from "./words";

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
  const board = t && boardOfCorrection(t, refused, store.meta.sampling ?? {}, r.rule !== "token");
  if (!board) return null;
  const [d] = refused;
  const columnOf = (id: number) => board.columns.findIndex((c) => c.id === id);
  const first =
    d.u === null ? null : { column: columnOf(d.token_id), y: d.u * (d.q ?? 0), hit: false };
  const at = columnOf(t.token_id);
  const sources = new Map(refused.map((o) => [o.token_id, palette.family(o.source)]));
  const drafter = palette.family(store.levels[r.level - 1] ?? "");
  return {
    board,
    names: board.columns.map((c) => pieceOf(store, c.id)),
    // What the drafter wins is its colour; a drafted token has its own source's.
    families: board.columns.map((c) => sources.get(c.id ?? NaN) ?? (d.u === null ? null : drafter)),
    recorded: { first, token: at < 0 ? board.columns.length - 1 : at },
  };
}
