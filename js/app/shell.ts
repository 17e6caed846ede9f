// The shell that the modules of the page share: its element, host, run and state.
import type { Host } from "../host";
import { make } from "../lib/dom";
import { hsdGroup } from "../lib/group";
import { troubleOf } from "../lib/notice";
import { unique } from "../lib/widget";
import type { Context } from "./section";
import { createState, keptRun, type State, formOf as valuesOf } from "./state";
import { type Tab, tabsOf } from "./tabs";

export interface Shell extends Context {
  /** The root element of the page. */
  root: HTMLElement;
  uid: string;
  tabs: Tab[];
  /** Whether the page owns the browser's address. */
  address: boolean;
  /** Return a listener that calls `act` and shows its error as a card. */
  tried(act: () => unknown, title?: string): () => void;
}

/** Return the state of a page that has just opened and shows no run yet. */
function stateAtFirst(host: Host): State {
  const form = valuesOf(host.about.form);
  return {
    shown: "",
    kind: "none",
    blurb: "",
    busy: false,
    stage: { text: "" },
    here: keptRun(),
    opened: null,
    form,
    filled: form,
    drawer: false,
    tab: 0,
    text: false,
    trouble: null,
    lost: "",
    tour: "",
    branches: [],
    branch: 0,
  };
}

/** Return a shell within `el`. `changed` is called after every change of its state. */
export function shellOf(
  el: HTMLElement,
  host: Host,
  address: boolean,
  changed: (now: State, was: State) => void,
): Shell {
  const root = make("div", "hsd-app");
  el.append(root);
  const uid = unique();
  const name = `page-${uid}`;
  const group = hsdGroup(name);
  const store = createState(stateAtFirst(host), changed);
  return {
    host,
    store,
    group,
    state: { palette: host.about.palette, group: name, cursor: null },
    run: () => (store.state.busy || !group.store.tokens.length ? null : group.store.snapshot()),
    root,
    uid,
    tabs: tabsOf(host),
    address,
    tried:
      (act, title = "") =>
      () => {
        Promise.resolve()
          .then(act)
          .catch((error) => store.set({ trouble: troubleOf(error, title) }));
      },
  };
}
