// Runs the guided tour on the page: opens the recording and the tab of each stop, and at the end
// the run that was shown before.
import type { Runs } from "./runs";
import type { Shell } from "./shell";
import { withStorage } from "./state";
import { KEYS, STOPS } from "./tour";
import { TourCard } from "./tourcard";

const KEPT = "hsd_viz.tour";

export class Touring {
  /** Name of the run shown before the tour began. */
  private before = "";
  private readonly card: TourCard;

  constructor(
    private readonly shell: Shell,
    private readonly runs: Runs,
  ) {
    const go = (key: string, done?: boolean) => (key ? this.stop(key) : this.leave(done));
    const act = (key: string, done?: boolean) => shell.tried(() => go(key, done))();
    this.card = new TourCard(shell.root, shell.group, act);
  }

  get root() {
    return this.card.root;
  }
  /** Key of the stop where the visitor left the tour; "": not started, or completed. */
  get kept() {
    return withStorage(() => sessionStorage.getItem(KEPT) ?? "", "");
  }
  private keep(key: string) {
    withStorage(() => sessionStorage.setItem(KEPT, key), undefined);
  }

  /** Show a stop. */
  async stop(key: string) {
    const { store, tabs } = this.shell;
    const stop = STOPS[KEYS.indexOf(key)];
    if (!stop) return;
    this.runs.refuseWhileBusy();
    if (!store.state.tour) this.before = store.state.shown;
    await this.runs.open(stop.recording);
    const tab = tabs.findIndex(({ title }) => title === stop.tab);
    store.set({ tour: key, tab: tab >= 0 ? tab : store.state.tab });
    this.card.show(key);
    this.keep(key);
  }
  private async leave(done = false) {
    if (done) this.keep("");
    this.shell.store.set({ tour: "" });
    this.card.hide();
    if (this.before) await this.runs.open(this.before);
  }
  close() {
    this.card.close();
  }
}
