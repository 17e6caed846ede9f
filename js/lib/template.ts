// A widget of one element and a template. lit-html keeps the nodes of an unchanged template: focus, scroll and typed text survive.
// State stays where it is observed already, in the model's traits and the group (group.ts): signals would be a second copy of it.
import { render } from "lit-html";
import { followTheme, make } from "./dom";
import { guarded } from "./notice";
import type { Model, Widget } from "./widget";

/** Draws a view: `root` is its element; `paint` draws again after a change of the view's own state. */
type Setup<T> = (view: { model: Model<T>; root: HTMLElement; paint: () => void }) => () => unknown;

interface Frame {
  tag?: keyof HTMLElementTagNameMap;
  class: string;
  /** The events of the model after which the template is drawn again. */
  events: string;
  /** As in followTheme. */
  behind?: string;
}

/** The widget whose content is the template that `setup` returns, drawn again after events and changes of the theme. */
export function templated<T>({ tag = "div", class: name, events, behind }: Frame, setup: Setup<T>): Widget<T> {
  return {
    render: guarded(({ model, el }) => {
      const root = make(tag, name);
      let template = () => {};
      const paint = () => void render(template(), root);
      template = setup({ model, root, paint }) as () => void;
      model.on(events, paint);
      el.append(root);
      const unfollow = followTheme(root, { behind, changed: paint });
      return () => {
        model.off(events, paint);
        unfollow();
        root.remove();
      };
    }),
  };
}
