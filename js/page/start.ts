// Start the views of a self-contained page with a stand-in for each widget's model. The elements #run, #start and
// [data-view] come from hsd_viz/views/standalone_page.py; without them nothing starts.
import { failure } from "../lib/notice";
import type { Model, Widget } from "../lib/widget";

type Listener = () => void;
/** The widget of a view, with traits that only its own data can know. */
type WidgetOf = (view: string) => Partial<Widget<never>>;

/** A widget model without a kernel. */
function standIn<T>(state: Record<string, unknown>): Model<T> {
  const listeners: Map<string, Listener[]> = new Map();
  const model = {
    get: (name: string) => state[name],
    set(name: string, value: unknown) {
      state[name] = value;
      for (const f of [...(listeners.get(`change:${name}`) || [])]) f();
    },
    save_changes() {},
    send() {},
    on(event: string, f: Listener) {
      listeners.set(event, [...(listeners.get(event) || []), f]);
    },
    off(event: string, f: Listener) {
      listeners.set(
        event,
        (listeners.get(event) || []).filter((g) => g !== f),
      );
    },
  };
  return model as Model<T>;
}

/** Read a JSON block packed by gzip and base64. */
async function unpack(id: string) {
  const text = (document.getElementById(id) as HTMLElement).textContent || "";
  const bytes = Uint8Array.from(atob(text.trim()), (c) => c.charCodeAt(0));
  return JSON.parse(await new Response(new Blob([bytes]).stream().pipeThrough(new DecompressionStream("gzip"))).text());
}

async function start(widgetOf: WidgetOf) {
  const { data, palette, states } = await unpack("run");
  let first = true;
  for (const el of document.querySelectorAll<HTMLElement>("[data-view]")) {
    const name = el.dataset.view || "";
    const model = standIn<never>({ ...states[name], palette, group: "page", data: first ? data : {} });
    first = false;
    const widget = widgetOf(name);
    widget.initialize?.({ model });
    widget.render?.({ model, el });
  }
}

/** Start the views of an exported page. */
export function startAll(widgetOf: WidgetOf) {
  if (!document.querySelector("main.hsd-page #start")) return;
  start(widgetOf).then(
    () => document.getElementById("start")?.remove(),
    (error) => {
      const start = document.getElementById("start");
      start?.replaceWith(failure(error, "This page needs a browser from 2023 or later"));
      throw error;
    },
  );
}
