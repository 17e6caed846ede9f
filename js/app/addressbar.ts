// Keeps the browser's address in step with the page: writes it when the visitor navigates, and
// follows it when the page opens or the visitor goes back.
import { sentence } from "../lib/words";
import { addressOf, parameters, read, slug } from "./address";
import type { Playing } from "./playing";
import type { Runs } from "./runs";
import type { Shell } from "./shell";
import { changedIn, HERE, OPENED, withStorage } from "./state";
import { KEYS } from "./tour";
import type { Touring } from "./touring";

type AddressQuery = ReturnType<typeof read>;
const GONE = "the run is no longer stored in this browser: press Run to decode it again";

export class AddressBar {
  /** The address that was last written or followed. */
  private lastAddress = "";

  constructor(
    private readonly shell: Shell,
    private readonly runs: Runs,
    private readonly tour: Touring,
    private readonly game: Playing,
  ) {}

  private get recordings() {
    return this.shell.host.about.recordings.map(({ name }) => name);
  }

  /** Return the parameters that describe the present state of the page. */
  private parameters(): Record<string, string> {
    const { shown, form, filled, tab, tour } = this.shell.store.state;
    const query = tour ? {} : parameters(shown === HERE ? form : changedIn(form, filled));
    const defaults = ["", OPENED, this.recordings[0]];
    if (!defaults.includes(shown)) query.trace = shown;
    if (tab) query.tab = slug(this.shell.tabs[tab].title);
    return query;
  }
  /** Write the address. With `push`, another run, tab or stop adds an entry to the history. */
  write(push = true) {
    const { address, store } = this.shell;
    if (!address || store.state.busy) return;
    const { href, step } = addressOf(location.href, this.parameters());
    if (href === this.lastAddress) return;
    const change = push && step && this.lastAddress ? "pushState" : "replaceState";
    // A page opened from a file cannot change its address: the browser throws.
    withStorage(() => {
      history[change](null, "", href);
      this.lastAddress = href;
    }, undefined);
  }

  /** Read a query with the recordings, tabs and tour stops of this page. */
  read(query: string): AddressQuery {
    const titles = this.shell.tabs.map(({ title }) => title);
    return read(query, this.recordings, titles, KEYS);
  }
  /** Open what a query names. `back`: the visitor went back to this address. */
  async follow(query: string, back = false) {
    const { store, tabs } = this.shell;
    const target = this.read(query);
    this.runs.refuseWhileBusy();
    const ignored = [...target.ignored];
    const isGone = target.trace === HERE && !store.state.here;
    if (isGone) ignored.push(GONE);
    const fallback = back || !store.state.shown ? (this.recordings[0] ?? "") : "";
    const shown = isGone ? fallback : target.trace || fallback;
    const before = store.state.tab;
    if (shown) await this.runs.open(shown);
    if (Object.keys(target.form).length)
      store.set({ form: { ...store.state.form, ...target.form } });
    // Keep a tab that the visitor picked while the recording loaded.
    const tab = tabs.findIndex(({ title }) => slug(title) === target.tab);
    if (store.state.tab === before) store.set({ tab: Math.max(0, tab) });
    ignored.push(...this.pin(target.step));
    if (target.tour) await this.tour.stop(target.tour);
    if (target.game !== null) this.game.play(target.game);
    if (ignored.length)
      store.set({ trouble: { message: sentence(ignored.join("; ")), caution: true } });
  }
  /** Pin an event by its number, from 1; return a sentence if there is no such event. */
  private pin(step: number): string[] {
    const { group } = this.shell;
    const events = group.store.index().events.length;
    if (step > events) return [`step ${step} is out of range: the run has ${events} events`];
    if (step) group.pin({ step: step - 1 });
    return [];
  }
  /** Follow the address when the visitor goes back or forward. */
  goBack = () => {
    this.lastAddress = location.href;
    this.shell.tried(() => this.follow(location.search, true))();
  };
}
