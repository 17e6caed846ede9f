// Types of anywidget: the model of a widget, and the element of each view. Widgets drawn from a
// template.
import { render } from "lit-html";
import { onResize } from "./chart";
import { followTheme, make } from "./dom";
import { guarded } from "./notice";

type Handler = (...args: never[]) => void;

/** The model of a widget: its synchronized traits `T` and its messages. */
export interface Model<T> {
  get<K extends keyof T & string>(name: K): T[K];
  set<K extends keyof T & string>(name: K, value: T[K]): void;
  save_changes(): void;
  send(message: unknown, callbacks?: undefined, buffers?: ArrayBuffer[]): void;
  /** Subscribe to "change:NAME" (several separated by spaces) or "msg:custom". */
  on(event: string, handler: Handler): void;
  off(event: string, handler: Handler): void;
}

export interface Drawing<T> {
  model: Model<T>;
  el: HTMLElement;
}

/** The definition of an anywidget. Its functions return cleanup functions. */
export interface Widget<T> {
  initialize?(widget: { model: Model<T> }): (() => void) | undefined;
  render(drawing: Drawing<T>): () => void;
}

/** Return a prefix for element ids that is unique on the page. */
export const unique = () => `hsd${Math.random().toString(36).slice(2, 9)}`;

/** Return a widget's model without a kernel, with the traits `state`. */
export function standIn<T>(state: Record<string, unknown>): Model<T> {
  const handlers = new Map<string, Set<Handler>>();
  const each = (events: string, act: (all: Set<Handler>) => void) => {
    for (const event of events.split(" ")) {
      const registered = handlers.get(event) ?? new Set();
      handlers.set(event, registered);
      act(registered);
    }
  };
  const model = {
    get: (name: string) => state[name],
    set(name: string, value: unknown) {
      if (state[name] === value) return;
      state[name] = value;
      for (const event of [`change:${name}`, "change"])
        for (const handler of [...(handlers.get(event) ?? [])]) (handler as () => void)();
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
  /** Label for screen readers. */
  label?: string;
}
/**
 * Return a widget that renders a template of its traits whenever one of them changes. The template
 * gets a function that sets traits.
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
      const setTraits = (traits: Partial<T>) => {
        for (const [trait, value] of Object.entries(traits))
          model.set(trait as keyof T & string, value as never);
        model.save_changes();
      };
      const paint = () => render(template(model.get.bind(model), setTraits, root), root);
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
