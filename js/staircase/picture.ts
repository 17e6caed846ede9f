// The interface of pictures that the player shows.
import type { Cursor } from "../lib/cursor";

export interface Picture {
  /** Return the event at a pixel from the left. */
  stepAt(pixel: number): number;
  /** Return the template of the picture with the cursor. */
  drawn(cursor: Cursor): unknown;
}
