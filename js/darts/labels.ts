// The names on the parts of a dart board: each is written once, on the largest of its parts.
import { nothing, svg } from "lit-html";
import { type Column, pOf, proposedOf, SPECK } from "./board";
import { noiseOf, PILE } from "./chance";
import type { BoardPicture, Scale } from "./scale";
import type { DartStrings } from "./strings";

export type PartNames = Pick<DartStrings, "accepted" | "residual" | "rejected">;
/** Heights in pixels: a part with room for its name, a line, and the gap to an edge. */
const ROOM = 44;
const LINE = 16;
const GAP = 6;

/** Write the names of the parts, each beside the recorded dart. */
export function partLabels({ board, recorded }: BoardPicture, scale: Scale, names: PartNames) {
  const { columns } = board;
  const first = recorded?.first;
  const label = (name: keyof PartNames, from: (column: Column) => number, to: typeof from) => {
    const sizes = columns.map((column) => to(column) - from(column));
    const k = sizes.indexOf(Math.max(...sizes));
    const column = columns[k];
    const top = scale.y(to(column));
    const foot = scale.y(from(column));
    const isRoomy = foot - top >= ROOM;
    if (sizes[k] < SPECK || (name === "rejected" && !isRoomy)) return nothing;
    // Over a part that is too low, above what chance explains of its pile.
    let y = isRoomy ? foot - GAP : scale.y(to(column) + noiseOf(pOf(column), PILE.from)) - GAP;
    if (name === "rejected") y = top + LINE;
    if (first?.column === k && Math.abs(scale.y(first.y) - y) < LINE)
      y += name === "rejected" ? LINE : -2 * LINE;
    return svg`<text class="hsd-dt-part" x=${scale.middle(k)} y=${y}>${names[name]}</text>`;
  };
  const acceptedOf = ({ accepted }: Column) => accepted;
  return [
    label("accepted", () => 0, acceptedOf),
    label("residual", acceptedOf, pOf),
    label("rejected", acceptedOf, (column) => proposedOf(board, column)),
  ];
}
