// Widgets of views that share a run and a cursor (group.ts) with the other views of their group.
//
//   export default linkedWidget((view) => { …; return cleanup; })
//
// `view.root` is attached to the page and has the class hsd-linked, colours, theme and keys. A view
// that throws is replaced by a card; other views are not affected. Text of models is set only by
// textContent, and views make no requests.
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
  /** The cursor as Python reads and sets it. */
  cursor?: { token?: number; round?: number; pinned?: boolean };
}
/** The context that a view draws with. Subscriptions made through it end with the view. */
export interface View<T> {
  model: Model<LinkedTraits & T>;
  root: HTMLElement;
  group: Group;
  store: Store;
  palette: Palette;
  /** Subscribe to changes of the run and of the cursor. */
  follow(
    onStore: ((what: Change, from: number) => void) | null,
    onCursor?: (cursor: Cursor, before: Cursor) => void,
  ): void;
  /** Subscribe to events of the model, separated by spaces. */
  on(events: string, act: () => void): void;
  /** Subscribe to changes of a node's size. */
  resized(node: Element, act: () => void): void;
  /**
   * Return a function that calls `act` at most once per `ms` milliseconds (0: per frame), however
   * often it is called.
   */
  soon(act: () => void, ms?: number): () => void;
  /** Call `draw` at once for another run, and within `ms` milliseconds for new steps. */
  redrawn(draw: () => void, ms: number): void;
}

/** Draws a view, and may return a cleanup function. */
// biome-ignore lint/suspicious/noConfusingVoidType: a view without a cleanup returns nothing
type Create<T> = (view: View<T>) => (() => void) | void;

/** A view that is open in its element, until it closes or fails. */
class OpenView<T> implements View<T> {
  readonly model: Model<LinkedTraits & T>;
  readonly root = make("div", "hsd-linked");
  readonly store: Store;
  readonly palette: Palette;
  private readonly el: HTMLElement;
  /** Cleanup functions, called in reverse order. */
  private readonly cleanups: (() => unknown)[];
  /** The root of the view, or the card that replaces it. */
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
    this.cleanups = [group.attend(), followTheme(this.root, "--backdrop")];
    el.append(this.root);
    this.root.addEventListener("keydown", (event) => void group.keydown(event));
  }

  /** Draw the view; one that throws is replaced by a card. */
  create(draw: Create<T>) {
    try {
      const end = draw(this);
      if (end) this.cleanups.push(end);
    } catch (error) {
      this.fail(error);
    }
  }

  readonly close = () => {
    // The cleanup of the view itself is called first.
    for (const end of this.cleanups.splice(0).reverse()) end();
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

  // Arrow functions, because views destructure them and they need `this`.
  readonly follow: View<T>["follow"] = (onStore, onCursor) => {
    const { store, group, cleanups } = this;
    if (onStore) store.listeners.add(onStore, this.fail);
    if (onCursor) group.listeners.add(onCursor, this.fail);
    cleanups.push(() => onStore && store.listeners.delete(onStore));
    cleanups.push(() => onCursor && group.listeners.delete(onCursor));
  };

  readonly on = (events: string, act: () => void) => {
    this.model.on(events, act);
    this.cleanups.push(() => this.model.off(events, act));
  };

  readonly resized = (node: Element, act: () => void) => {
    this.cleanups.push(onResize(node, act));
  };

  readonly soon = (act: () => void, ms = 0) => {
    let waiting = 0;
    const run = () => {
      waiting = 0;
      act();
    };
    this.cleanups.push(() => (ms ? clearTimeout(waiting) : cancelAnimationFrame(waiting)));
    return () => {
      waiting ||= ms ? setTimeout(run, ms) : requestAnimationFrame(run);
    };
  };

  readonly redrawn = (draw: () => void, ms: number) => {
    const later = this.soon(draw, ms);
    this.follow((what) => (what === "reset" ? draw() : later()));
  };
}

/** Open a view of a group; returns a function that closes it. */
export function open<T>(
  drawing: Drawing<LinkedTraits & T>,
  group: Group,
  create: Create<T>,
): () => void {
  const view = new OpenView(drawing, group);
  view.create(create);
  return view.close;
}

/** Milliseconds without movement after which the cursor is sent to Python. */
const REST = 50;

/**
 * Synchronize the `cursor` trait of a model with the cursor of its group. Only the first model of a
 * group reports to Python.
 */
function report(model: Model<LinkedTraits>, group: Group) {
  let timer = 0;
  const members = reporters.get(group) ?? new Set();
  reporters.set(group, members.add(model));
  const notify = () => {
    const { token, round, pinned, hover, playing } = group.cursor;
    if (playing || (hover && !pinned) || [...members][0] !== model) return;
    const cursor = token < 0 || round === null ? {} : { token, round, pinned };
    if (JSON.stringify(cursor) === JSON.stringify(model.get("cursor"))) return;
    model.set("cursor", cursor);
    model.save_changes();
  };
  const moved = () => {
    clearTimeout(timer);
    timer = setTimeout(notify, REST);
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
    members.delete(model);
    group.listeners.delete(moved);
    model.off("change:cursor", pin);
  };
}
const reporters = new WeakMap<Group, Set<unknown>>();

/** Return the anywidget of a linked view. `create` draws it and may return a cleanup function. */
export function linkedWidget<T>(create: Create<T>): () => Required<Widget<LinkedTraits & T>> {
  return () => {
    let group: Group;
    /** Call `begin` for the model's group, and again when that changes; it returns its cleanup. */
    const perGroup = (model: Model<LinkedTraits & T>, begin: () => () => void) => {
      let end = () => {};
      const restart = () => {
        end();
        end = begin();
      };
      restart();
      model.on("change:group", restart);
      return () => {
        model.off("change:group", restart);
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
