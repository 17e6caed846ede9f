// The address of the page: written as the visitor moves, and followed when it is opened or gone
// back to.
import { sentence } from "../lib/words";
import { addressOf, parameters, read, slug } from "./address";
import type { Playing } from "./playing";
import type { Runs } from "./runs";
import type { Shell } from "./shell";
import { changedIn, HERE, kept, OPENED } from "./state";
import { KEYS } from "./tour";
import type { Touring } from "./touring";

type Asked = ReturnType<typeof read>;
const GONE = "the run is no longer stored in this browser: press Run to decode it again";

export class AddressBar {
  /** The address as it was last written or followed. */
  private wrote = "";

  constructor(
    private readonly shell: Shell,
    private readonly runs: Runs,
    private readonly tour: Touring,
    private readonly game: Playing,
  ) {}

  private get recordings() {
    return this.shell.host.about.recordings.map(({ name }) => name);
  }

  /** What the address says of the page as it is. */
  private parameters(): Record<string, string> {
    const { shown, form, filled, tab, tour } = this.shell.store.state;
    const query = tour ? {} : parameters(shown === HERE ? form : changedIn(form, filled));
    const usual = ["", OPENED, this.recordings[0]];
    if (!usual.includes(shown)) query.trace = shown;
    if (tab) query.tab = slug(this.shell.tabs[tab].title);
    return query;
  }
  /** Write the address; `push`: another run, tab or stop is a step of the history. */
  write(push = true) {
    const { address, store } = this.shell;
    if (!address || store.state.busy) return;
    const { href, step } = addressOf(location.href, this.parameters());
    if (href === this.wrote) return;
    const change = push && step && this.wrote ? "pushState" : "replaceState";
    // A file's address cannot be changed.
    kept(() => {
      history[change](null, "", href);
      this.wrote = href;
    }, undefined);
  }

  /** What a query asks for, for this page. */
  read(query: string): Asked {
    const titles = this.shell.tabs.map(({ title }) => title);
    return read(query, this.recordings, titles, KEYS);
  }
  /** Show what a query asks for; `back`: the visitor went back to it. */
  async follow(query: string, back = false) {
    const { store, tabs } = this.shell;
    const asked = this.read(query);
    this.runs.refuseWhileBusy();
    const ignored = [...asked.ignored];
    const isGone = asked.trace === HERE && !store.state.here;
    if (isGone) ignored.push(GONE);
    const usual = back || !store.state.shown ? (this.recordings[0] ?? "") : "";
    const shown = isGone ? usual : asked.trace || usual;
    const before = store.state.tab;
    if (shown) await this.runs.open(shown);
    if (Object.keys(asked.form).length) store.set({ form: { ...store.state.form, ...asked.form } });
    // A tab that the visitor has picked meanwhile stays.
    const tab = tabs.findIndex(({ title }) => slug(title) === asked.tab);
    if (store.state.tab === before) store.set({ tab: Math.max(0, tab) });
    ignored.push(...this.pin(asked.step));
    if (asked.tour) await this.tour.stop(asked.tour);
    if (asked.game !== null) this.game.play(asked.game);
    if (ignored.length)
      store.set({ trouble: { message: sentence(ignored.join("; ")), caution: true } });
  }
  /** Pin an event by its number; returns what is wrong with it. */
  private pin(step: number): string[] {
    const { group } = this.shell;
    const events = group.store.index().events.length;
    if (step > events) return [`step ${step} is out of range: the run has ${events} events`];
    if (step) group.pin({ step: step - 1 });
    return [];
  }
  /** Follow the address after the visitor went back. */
  goBack = () => {
    this.wrote = location.href;
    this.shell.tried(() => this.follow(location.search, true))();
  };
}
