// A widget of one element and a template. lit-html keeps the nodes of an unchanged template: focus, scroll and typed text survive.
// State stays where it is observed already, in the model's traits and the group (group.ts): signals would be a second copy of it.
import { render } from "lit-html";
import { followTheme, make } from "./dom";
import { guarded } from "./notice";
import type { Model, Widget } from "./widget";

interface View<T> {
  model: Model<T>;
  root: HTMLElement;
  /** Draw again after a change of the view's own state. */
  paint(): void;
  /** Follow events of the model until the view closes. */
  on(events: string, heard: (...content: never[]) => void): void;
  /** Functions to call when the view closes. */
  ends: (() => void)[];
}

interface Frame {
  tag?: keyof HTMLElementTagNameMap;
  class: string;
  /** The events of the model after which the template is drawn again. */
  events: string;
  /** As in followTheme. */
  behind?: string;
}

/** The widget whose content is the template that `setup` returns, drawn again after events and changes of the theme. */
export function templated<T>(
  { tag = "div", class: name, events, behind }: Frame,
  setup: (view: View<T>) => () => unknown,
): Widget<T> {
  return {
    render: guarded(({ model, el }) => {
      const root = make(tag, name);
      const ends: (() => void)[] = [];
      const on: View<T>["on"] = (names, heard) => {
        model.on(names, heard);
        ends.push(() => model.off(names, heard));
      };
      const paint = () => void render(template(), root);
      const template = setup({ model, root, paint, on, ends });
      if (events) on(events, paint);
      el.append(root);
      let shown: boolean | null = null;
      const changed = (dark: boolean) => {
        if (dark !== shown) paint();
        shown = dark;
      };
      ends.push(followTheme(root, { behind, changed }));
      return () => {
        for (const end of ends) end();
        root.remove();
      };
    }),
  };
}
