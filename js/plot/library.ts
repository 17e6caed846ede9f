// plotly, loaded once per page when the first chart is drawn: from the kernel, or from the page itself if it was exported.

import type { Model } from "../lib/widget";

export interface Plotly {
  react(at: HTMLElement, data: unknown[], layout: object, config: object): Promise<unknown>;
  purge(at: HTMLElement): void;
}
export interface Asking {
  library: string;
}
interface Loader {
  ready: Promise<Plotly>;
  load(text: Blob): void;
  /** The models that wait; the first one has asked. */
  waiting: Set<Model<Asking>>;
}

const loaders: Record<string, Loader> = {};

const sources: Record<string, () => Promise<Plotly>> = {};
/** Give the page a library that does not come from the chart's own kernel; it is loaded with the first chart. */
export function provide(name: string, load: () => Promise<Plotly>) {
  sources[name] ??= load;
}

function loaderOf(name: string) {
  if (!loaders[name] && sources[name]) {
    const ready = sources[name]();
    // A host that is back may have it.
    ready.catch(() => delete loaders[name]);
    loaders[name] = { ready, load() {}, waiting: new Set() };
  }
  if (!loaders[name]) {
    let load = (_text: Blob) => {};
    const ready = new Promise<Plotly>((resolve, reject) => {
      load = (text) => import(URL.createObjectURL(text)).then((found) => resolve(found.default), reject);
    });
    loaders[name] = { ready, load, waiting: new Set() };
  }
  return loaders[name];
}

const ask = (model: Model<Asking>) => model.send({ kind: "library" });

/** The library of a chart's model, and a function to call when the chart is removed. */
export function libraryOf(model: Model<Asking>) {
  const loader = loaderOf(model.get("library"));
  const { waiting } = loader;
  const heard = async (content: { kind?: string }, buffers: DataView<ArrayBuffer>[]) => {
    if (content?.kind !== "library") return;
    const packed = new Blob([buffers[0]]).stream().pipeThrough(new DecompressionStream("gzip"));
    loader.load(new Blob([await new Response(packed).arrayBuffer()], { type: "text/javascript" }));
  };
  model.on("msg:custom", heard);
  waiting.add(model);
  if (waiting.size === 1 && !sources[model.get("library")]) ask(model);
  const leave = () => {
    model.off("msg:custom", heard);
    const asked = waiting.values().next().value === model;
    waiting.delete(model);
    // Its answer will not arrive.
    const next = waiting.values().next().value;
    if (asked && next && !sources[model.get("library")]) ask(next);
  };
  loader.ready.then(() => waiting.clear());
  return { ready: loader.ready, leave };
}
