// A game of one text whose runs are at hand, beside those of the page.
import type { Snapshot } from "../lib/run_data";
import { saveDrawing } from "../lib/save";
import { type GameData, type GameProps, openGame } from ".";

/** A text with its runs: that of the model alone is `plain`, others are those of players. */
export interface OwnText extends Omit<GameData, "name" | "runs"> {
  runs: Readonly<Record<string, Snapshot>>;
}
type Around = Pick<GameProps, "palette" | "skip" | "leave">;

const NAME = "own";

/** Draw the game of a text into an element. Returns a function that ends it. */
export function openText(el: HTMLElement, text: OwnText, around: Around): () => void {
  const { runs } = text;
  const { plain } = runs;
  const players = Object.keys(runs);
  const game = {
    ...text,
    name: NAME,
    asked: text.asked || plain.prompt,
    given: text.given || plain.tokens.text[0],
    runs: Object.fromEntries(players.map((player) => [player, player])),
  };
  return openGame(el, {
    ...around,
    games: [game],
    plays: [[NAME]],
    seed: 0,
    recording: async (player) => runs[player],
    save: saveDrawing,
    address: "",
    alone: false,
    languages: {},
  });
}
