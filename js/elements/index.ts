// Registers four elements for any page, in a module without dependencies:
// hsd_viz/views/static/elements.js (docs/how-to/elements.md).
import { HsdDarts } from "./darts";
import { HsdGame } from "./game";
import { HsdRace } from "./race";
import { HsdStaircase } from "./staircase";

export { runOfTrace } from "./file";
export { runOfRounds } from "./rounds";
export { HsdDarts, HsdGame, HsdRace, HsdStaircase };

const ELEMENTS = {
  "hsd-staircase": HsdStaircase,
  "hsd-race": HsdRace,
  "hsd-darts": HsdDarts,
  "hsd-game": HsdGame,
};
for (const [name, element] of Object.entries(ELEMENTS))
  if (!customElements.get(name)) customElements.define(name, element);
