// <hsd-game src="plain.json.gz">: the game "beat the drafter" on a recorded run of plain decoding.
import { openGame } from "../game";
import type { Snapshot } from "../lib/run_data";
import { saveDrawing } from "../lib/save";
import { HsdElement, PALETTE } from "./base";

/** Other players; the attribute of each name gives the file of its run. */
const PLAYERS = ["copying", "nano"];

export class HsdGame extends HsdElement {
  static observedAttributes = ["src", ...PLAYERS, "asked", "given", "lesson"];

  protected async open(place: HTMLElement) {
    const [plain] = await this.runsOf("src");
    if (!plain) return undefined;
    const runs = new Map<string, Snapshot>([["plain", plain]]);
    for (const player of PLAYERS) {
      const [run] = await this.runsOf(player);
      if (run) runs.set(player, run);
    }
    const text = {
      name: "own",
      title: this.getAttribute("label") ?? "",
      asked: this.getAttribute("asked") ?? plain.prompt,
      given: this.getAttribute("given") ?? plain.tokens.text[0],
      lesson: this.getAttribute("lesson") ?? "",
      runs: Object.fromEntries([...runs.keys()].map((name) => [name, name])),
    };
    const close = openGame(place, {
      palette: PALETTE,
      games: [text],
      plays: [[text.name]],
      seed: 0,
      recording: async (name) => runs.get(name) as Snapshot,
      leave: (run) => {
        this.report("hsd-leave", { run: run ?? null });
        this.renew();
      },
      save: saveDrawing,
      address: "",
      alone: false,
      skip: "restart",
      languages: {},
    });
    this.report("hsd-load", { tokens: plain.tokens.token_id.length, players: [...runs.keys()] });
    return close;
  }
}
