// <hsd-race src="a.json.gz b.json.gz">: the staircases of two or three runs of one prompt, on one
// clock.
import { createGroup } from "../lib/group";
import { open } from "../lib/linked";
import type { Snapshot } from "../lib/run_data";
import { standIn } from "../lib/widget";
import { versusView } from "../versus";
import { factsOf, HsdElement, PALETTE, SOURCES } from "./base";
import { runOfTrace } from "./file";
import { type RoundCounts, runOfRounds } from "./rounds";

export interface RoundsRun {
  title: string;
  rounds: RoundCounts[];
}

export class HsdRace extends HsdElement {
  static observedAttributes = ["src", "figures"];
  private given: RoundsRun[] | null = null;
  private traces: unknown[] | null = null;

  /** Two or three runs as counts of their rounds, instead of files. */
  get rounds(): RoundsRun[] | null {
    return this.given;
  }
  set rounds(runs: RoundsRun[] | null) {
    this.given = runs;
    this.renew();
  }

  /** The contents of two or three trace files as objects, instead of files. */
  get data(): unknown[] | null {
    return this.traces;
  }
  set data(traces: unknown[] | null) {
    this.traces = traces;
    this.renew();
  }

  private async runs(): Promise<Snapshot[]> {
    if (this.given)
      return this.given.map(({ title, rounds }, k) =>
        runOfRounds(rounds, { title, name: `run ${k + 1}` }),
      );
    if (this.traces)
      return this.traces.map((trace, k) => runOfTrace(trace, `run ${k + 1}`, SOURCES));
    return this.runsOf("src");
  }

  protected async open(place: HTMLElement) {
    const runs = await this.runs();
    if (!runs.length) return undefined;
    const textless = this.given !== null;
    const brief = textless || !this.hasAttribute("figures");
    const traits = { runs, sources: SOURCES, pinned: -1, time: -1, brief, textless };
    const model = standIn<never>({ palette: PALETTE, data: {}, group: "", ...traits });
    const group = createGroup();
    const close = open(
      { model, el: place } as Parameters<typeof open>[0],
      group,
      versusView as never,
    );
    this.report("hsd-load", { runs: runs.map(factsOf) });
    return close;
  }
}
