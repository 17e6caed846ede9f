// The registry of views by name.
import doctor from "./doctor";
import game from "./game/view";
import hierarchy from "./hierarchy";
import { dress } from "./lib/dress";
import type { Drawing, Model, Widget } from "./lib/widget";
import { standIn } from "./lib/widget";
import locality_map from "./locality_map";
import one_draft from "./one_draft";
import panels from "./panels";
import plot from "./plot";
import rule_lab from "./rule_lab";
import scene from "./scene";
import staircase from "./staircase";
import stream from "./stream";
import timeline from "./timeline";
import diagnosis from "./traffic/diagnosis";
import drafters from "./traffic/drafters";
import versus from "./versus";

type WidgetDefinition = Partial<Widget<never>>;
const LINKED = { locality_map, panels, scene, staircase, stream, timeline, versus };
const OTHERS = { diagnosis, doctor, drafters, game, hierarchy, one_draft, plot, rule_lab };
export const VIEWS = { ...LINKED, ...OTHERS } as unknown as Record<
  string,
  WidgetDefinition | (() => WidgetDefinition)
>;

/** Return a widget for the view of this name, with its own state. */
export function widgetOf(view: string): WidgetDefinition {
  const definition = VIEWS[view];
  if (!definition) throw new Error(`there is no view named '${view}'`);
  const widget = typeof definition === "function" ? definition() : definition;
  return {
    ...widget,
    render(drawing: Drawing<never>) {
      dress(drawing.el);
      return widget.render?.(drawing) ?? (() => {});
    },
  };
}

export interface Mounted {
  el: HTMLElement;
  model: Model<Record<string, never>>;
  close(): void;
}
/** Draw a view without a kernel, with the traits `state`. */
export function mount(
  view: string,
  state: Record<string, unknown>,
  el: HTMLElement = document.createElement("div"),
): Mounted {
  const widget = widgetOf(view) as Partial<Widget<Record<string, never>>>;
  const model = standIn<Record<string, never>>({ data: {}, ...state });
  const forget = widget.initialize?.({ model });
  const close = widget.render?.({ model, el });
  return {
    el,
    model,
    close() {
      close?.();
      forget?.();
      el.remove();
    },
  };
}
