// What a picture of a run is to the player: it knows the event under a pixel, and draws the cursor.
import type { Cursor } from "../lib/cursor";

export interface Picture {
  /** The event at a pixel from the left. */
  stepAt(pixel: number): number;
  /** The picture with its cursor. */
  drawn(cursor: Cursor): unknown;
}
