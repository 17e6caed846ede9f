// What anywidget gives a widget: its model, and an element for each view; and the widget of a
// template.
import { render } from "lit-html";
import { onResize } from "./chart";
import { followTheme, make } from "./dom";
import { guarded } from "./notice";

type Handler = (...args: never[]) => void;

/** A widget's model: synchronized traits `T`, and messages. */
export interface Model<T> {
  get<K extends keyof T & string>(name: K): T[K];
  set<K extends keyof T & string>(name: K, value: T[K]): void;
  save_changes(): void;
  send(message: unknown, callbacks?: undefined, buffers?: ArrayBuffer[]): void;
  /** `event`: "change:NAME", several of them separated by spaces, or "msg:custom". */
  on(event: string, handler: Handler): void;
  off(event: string, handler: Handler): void;
}

export interface Drawing<T> {
  model: Model<T>;
  el: HTMLElement;
}

/** An anywidget. Its functions return functions that clean up. */
export interface Widget<T> {
  initialize?(widget: { model: Model<T> }): (() => void) | undefined;
  render(drawing: Drawing<T>): () => void;
}

/** An identifier of a view, unique on the page. */
export const unique = () => `hsd${Math.random().toString(36).slice(2, 9)}`;

/** A widget's model without a kernel: its traits are `state`. */
export function standIn<T>(state: Record<string, unknown>): Model<T> {
  const heard = new Map<string, Set<Handler>>();
  const each = (events: string, act: (all: Set<Handler>) => void) => {
    for (const event of events.split(" ")) {
      const all = heard.get(event) ?? new Set();
      heard.set(event, all);
      act(all);
    }
  };
  const model = {
    get: (name: string) => state[name],
    set(name: string, value: unknown) {
      if (state[name] === value) return;
      state[name] = value;
      for (const event of [`change:${name}`, "change"])
        for (const handler of [...(heard.get(event) ?? [])]) (handler as () => void)();
    },
    save_changes() {},
    send() {},
    on: (events: string, handler: Handler) => each(events, (all) => all.add(handler)),
    off: (events: string, handler: Handler) => each(events, (all) => all.delete(handler)),
  };
  return model as unknown as Model<T>;
}

interface Frame {
  tag?: keyof HTMLElementTagNameMap;
  class: string;
  /** What a screen reader calls it. */
  label?: string;
}
/**
 * The widget whose content is a template of its traits, drawn again when one changes; `put` changes
 * some of them.
 */
export function templated<T>(
  { tag = "section", class: name, label }: Frame,
  template: (
    traits: Model<T>["get"],
    put: (traits: Partial<T>) => void,
    root: HTMLElement,
  ) => unknown,
): Widget<T> {
  return {
    render: guarded(({ model, el }) => {
      const root = make(tag, name);
      if (label) root.setAttribute("aria-label", label);
      const put = (traits: Partial<T>) => {
        for (const [trait, value] of Object.entries(traits))
          model.set(trait as keyof T & string, value as never);
        model.save_changes();
      };
      const paint = () => render(template(model.get.bind(model), put, root), root);
      model.on("change", paint);
      el.append(root);
      const unfollow = followTheme(root, "--paper");
      paint();
      const unwatch = onResize(root, paint);
      return () => {
        model.off("change", paint);
        unwatch();
        unfollow();
        root.remove();
      };
    }),
  };
}
