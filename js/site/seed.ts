// The seed of the game that the page opens on.
import { seedOf } from "../game/score";

/** Return the seed of the game: that of the address, else that of the day. */
export function seedOfAddress(): number {
  const text = new URLSearchParams(location.search).get("game") ?? "";
  return /^[0-9]{1,9}$/.test(text) ? Number(text) : seedOf(new Date());
}
