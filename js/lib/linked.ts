// The widget of a view that shares a run and a cursor (group.ts) with the others of its group.
//
//   export default linkedWidget((view) => { …; return cleanup; })
//
// `root` is attached, with class hsd-linked, colours, theme and keys. A view that throws shows a
// card in its place; the others are not affected. Model output is only set by textContent; a view
// requests nothing.
import { onResize } from "./chart";
import type { Cursor } from "./cursor";
import { followTheme, make, suppressShortcuts } from "./dom";
import { type Group, hsdGroup, release } from "./group";
import { failure } from "./notice";
import { type Palette, type PaletteData, paletteOf } from "./palette";
import type { Change, Store } from "./run";
import type { Snapshot } from "./run_data";
import type { Drawing, Model, Widget } from "./widget";

export interface LinkedTraits {
  group: string;
  data: Partial<Snapshot>;
  palette: PaletteData;
  /** The place under the cursor, for Python. */
  cursor?: { token?: number; round?: number; pinned?: boolean };
}
/** What a view draws with. All that it follows here ends with the view. */
export interface View<T> {
  model: Model<LinkedTraits & T>;
  root: HTMLElement;
  group: Group;
  store: Store;
  palette: Palette;
  /** Follow the run and the cursor. */
  follow(
    onStore: ((what: Change, from: number) => void) | null,
    onCursor?: (cursor: Cursor, before: Cursor) => void,
  ): void;
  /** Follow events of the model. */
  on(events: string, act: () => void): void;
  /** Follow the size of a node. */
  resized(node: Element, act: () => void): void;
  /**
   * A function that calls `act` once within `ms`, however often it is called; 0: with the next
   * frame.
   */
  soon(act: () => void, ms?: number): () => void;
  /** Draw for another run at once, and for new steps within `ms`. */
  redrawn(draw: () => void, ms: number): void;
}

/** Draws a view, and may return a function that cleans up. */
// biome-ignore lint/suspicious/noConfusingVoidType: a view without a cleanup returns nothing
type Create<T> = (view: View<T>) => (() => void) | void;

/** A view that is open in its element, until it is closed or has failed. */
class OpenView<T> implements View<T> {
  readonly model: Model<LinkedTraits & T>;
  readonly root = make("div", "hsd-linked");
  readonly store: Store;
  readonly palette: Palette;
  private readonly el: HTMLElement;
  /** What ends with the view, the last one first. */
  private readonly ends: (() => unknown)[];
  /** The view, or the card in its place. */
  private shown: HTMLElement = this.root;

  constructor(
    { model, el }: Drawing<LinkedTraits & T>,
    readonly group: Group,
  ) {
    this.model = model;
    this.el = el;
    this.store = group.store;
    this.palette = paletteOf(model.get("palette"));
    this.palette.paint(this.root);
    this.ends = [group.attend(), followTheme(this.root, "--backdrop")];
    el.append(this.root);
    this.root.addEventListener("keydown", (event) => void group.keydown(event));
  }

  /** Draw it; a view that throws shows a card. */
  create(draw: Create<T>) {
    try {
      const end = draw(this);
      if (end) this.ends.push(end);
    } catch (error) {
      this.fail(error);
    }
  }

  readonly close = () => {
    // The view's own cleanup first.
    for (const end of this.ends.splice(0).reverse()) end();
    this.shown.remove();
  };

  private readonly fail = (error: unknown) => {
    reportError(error);
    try {
      this.close();
    } catch (second) {
      reportError(second);
    }
    this.shown = failure(error);
    this.el.append(this.shown);
  };

  // A view takes these out of it, so that they keep their `this`.
  readonly follow: View<T>["follow"] = (onStore, onCursor) => {
    const { store, group, ends } = this;
    if (onStore) store.listeners.add(onStore, this.fail);
    if (onCursor) group.listeners.add(onCursor, this.fail);
    ends.push(() => onStore && store.listeners.delete(onStore));
    ends.push(() => onCursor && group.listeners.delete(onCursor));
  };

  readonly on = (events: string, act: () => void) => {
    this.model.on(events, act);
    this.ends.push(() => this.model.off(events, act));
  };

  readonly resized = (node: Element, act: () => void) => {
    this.ends.push(onResize(node, act));
  };

  readonly soon = (act: () => void, ms = 0) => {
    let waiting = 0;
    const run = () => {
      waiting = 0;
      act();
    };
    this.ends.push(() => (ms ? clearTimeout(waiting) : cancelAnimationFrame(waiting)));
    return () => {
      waiting ||= ms ? setTimeout(run, ms) : requestAnimationFrame(run);
    };
  };

  readonly redrawn = (draw: () => void, ms: number) => {
    const later = this.soon(draw, ms);
    this.follow((what) => (what === "reset" ? draw() : later()));
  };
}

/** Open a view of a group in `el`; returns a function that closes it. */
export function open<T>(
  drawing: Drawing<LinkedTraits & T>,
  group: Group,
  create: Create<T>,
): () => void {
  const view = new OpenView(drawing, group);
  view.create(create);
  return view.close;
}

/** Milliseconds that the cursor rests before Python hears of it. */
const REST = 50;

/**
 * Set the `cursor` trait of a model from its group, and the group from it; one model of a group
 * does.
 */
function report(model: Model<LinkedTraits>, group: Group) {
  let timer = 0;
  const all = reporters.get(group) ?? new Set();
  reporters.set(group, all.add(model));
  const tell = () => {
    const { token, round, pinned, hover, playing } = group.cursor;
    if (playing || (hover && !pinned) || [...all][0] !== model) return;
    const cursor = token < 0 || round === null ? {} : { token, round, pinned };
    if (JSON.stringify(cursor) === JSON.stringify(model.get("cursor"))) return;
    model.set("cursor", cursor);
    model.save_changes();
  };
  const moved = () => {
    clearTimeout(timer);
    timer = setTimeout(tell, REST);
  };
  const pin = () => {
    const { token, pinned } = model.get("cursor") ?? {};
    if (token === undefined || token === group.cursor.token) return;
    if (pinned) group.pin({ token });
    else group.go({ token });
  };
  group.listeners.add(moved);
  model.on("change:cursor", pin);
  return () => {
    clearTimeout(timer);
    all.delete(model);
    group.listeners.delete(moved);
    model.off("change:cursor", pin);
  };
}
const reporters = new WeakMap<Group, Set<unknown>>();

/** The anywidget of a linked view. `create` draws it and may return a function that cleans up. */
export function linkedWidget<T>(create: Create<T>): () => Required<Widget<LinkedTraits & T>> {
  return () => {
    let group: Group;
    /** Begin, and again with another group; `begin` returns what ends it. */
    const perGroup = (model: Model<LinkedTraits & T>, begin: () => () => void) => {
      let end = () => {};
      const again = () => {
        end();
        end = begin();
      };
      again();
      model.on("change:group", again);
      return () => {
        model.off("change:group", again);
        end();
      };
    };
    return {
      initialize: ({ model }) =>
        perGroup(model, () => {
          const name = model.get("group");
          group = hsdGroup(name);
          const stops = [group.join(model), ...(model.get("cursor") ? [report(model, group)] : [])];
          return () => {
            for (const stop of stops) stop();
            release(name);
          };
        }),
      render({ model, el }) {
        suppressShortcuts(el);
        return perGroup(model, () => open({ model, el }, group, create));
      },
    };
  };
}
