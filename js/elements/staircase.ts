// <hsd-staircase src="run.json.gz">: the staircase of a run, to play and to drag.
import { createGroup } from "../lib/group";
import { open } from "../lib/linked";
import type { Snapshot } from "../lib/run_data";
import { standIn } from "../lib/widget";
import { staircaseView } from "../staircase";
import { factsOf, HsdElement, PALETTE, SOURCES } from "./base";
import { runOfTrace } from "./file";
import { type RoundCounts, runOfRounds } from "./rounds";

export class HsdStaircase extends HsdElement {
  static observedAttributes = ["src", "label"];
  private given: RoundCounts[] | null = null;
  private trace: unknown = null;

  /** Counts of each round, instead of a file. */
  get rounds(): RoundCounts[] | null {
    return this.given;
  }
  set rounds(rounds: RoundCounts[] | null) {
    this.given = rounds;
    this.renew();
  }

  /** The content of a trace file as an object, instead of a file. */
  get data(): unknown {
    return this.trace;
  }
  set data(trace: unknown) {
    this.trace = trace;
    this.renew();
  }

  private async run(): Promise<Snapshot | undefined> {
    const title = this.getAttribute("label") ?? "";
    if (this.given) return runOfRounds(this.given, { title });
    if (this.trace) return runOfTrace(this.trace, "data", SOURCES);
    return (await this.runsOf("src"))[0];
  }

  protected async open(place: HTMLElement) {
    const run = await this.run();
    if (!run) return undefined;
    const group = createGroup();
    group.store.adopt(run);
    const model = standIn<never>({ palette: PALETTE, data: run, group: "" });
    const close = open(
      { model, el: place } as Parameters<typeof open>[0],
      group,
      staircaseView as never,
    );
    const moved = () => {
      const { token, round, pinned } = group.cursor;
      this.report(
        "hsd-cursor",
        token < 0 ? { token: null, round: null, pinned: false } : { token, round, pinned },
      );
    };
    group.listeners.add(moved);
    this.report("hsd-load", factsOf(run));
    return () => {
      group.listeners.delete(moved);
      close();
    };
  }
}
