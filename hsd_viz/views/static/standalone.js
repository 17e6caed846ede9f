// @ts-check
// Starts the views of a page that stands alone: a stand-in for each widget's model, and the run that the page carries.
// `views` (name → anywidget), and the elements #run, #start and [data-view], come from hsd_viz/views/standalone_page.py.

/** What a view asks of its model, with nobody behind it. */
function standIn(state) {
  /** @type {Map<string, Function[]>} */
  const listeners = new Map();
  return {
    get: (name) => state[name],
    set(name, value) {
      state[name] = value;
      for (const f of [...(listeners.get(`change:${name}`) || [])]) f();
    },
    save_changes() {},
    send() {},
    on(event, f) { listeners.set(event, [...(listeners.get(event) || []), f]); },
    off(event, f) { listeners.set(event, (listeners.get(event) || []).filter((g) => g !== f)); },
  };
}

/** The JSON of a block of this page, packed by gzip and written in base64. */
async function unpack(/** @type {string} */ id) {
  const text = /** @type {HTMLElement} */ (document.getElementById(id)).textContent || "";
  const bytes = Uint8Array.from(atob(text.trim()), (c) => c.charCodeAt(0));
  return JSON.parse(await new Response(new Blob([bytes]).stream().pipeThrough(new DecompressionStream("gzip"))).text());
}

async function startAll() {
  const { data, palette, states } = await unpack("run");
  let first = true;
  for (const el of document.querySelectorAll("[data-view]")) {
    const name = /** @type {HTMLElement} */ (el).dataset.view || "";
    const model = standIn({ ...states[name], palette, group: "page", data: first ? data : {} });
    first = false;
    // Linked views make their widget, others are one.
    const widget = typeof views[name] === "function" ? views[name]() : views[name];
    widget.initialize?.({ model });
    widget.render({ model, el });
  }
}

startAll().then(
  () => document.getElementById("start")?.remove(),
  (error) => {
    const start = document.getElementById("start");
    if (start) start.textContent = `This page could not be shown: ${error.message}. It needs a browser of 2023 or newer.`;
    throw error;
  },
);
