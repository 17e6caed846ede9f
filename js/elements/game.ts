// <hsd-game src="plain.json.gz">: the game "beat the drafter" on a recorded run of plain decoding.
import { openText } from "../game/own";
import { USUAL_PASSES } from "../game/play";
import type { Snapshot } from "../lib/run_data";
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
      title: this.getAttribute("label") ?? "",
      asked: this.getAttribute("asked") ?? "",
      given: this.getAttribute("given") ?? "",
      lesson: this.getAttribute("lesson") ?? "",
      passes: USUAL_PASSES,
      runs: Object.fromEntries(runs),
    };
    const close = openText(place, text, {
      palette: PALETTE,
      skip: "restart",
      leave: (run) => {
        this.report("hsd-leave", { run: run ?? null });
        this.renew();
      },
    });
    this.report("hsd-load", { tokens: plain.tokens.token_id.length, players: [...runs.keys()] });
    return close;
  }
}
