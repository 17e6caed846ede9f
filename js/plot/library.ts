// plotly, loaded once per page when the first chart is drawn: from the kernel, or from the page
// itself if it was exported.
import { moduleOf, unpacked } from "../lib/dom";
import type { Model } from "../lib/widget";

export interface Plotly {
  react(at: HTMLElement, data: unknown[], layout: object, config: object): Promise<unknown>;
  purge(at: HTMLElement): void;
}
export interface Asking {
  library: string;
}
const loaded = new Map<string, Promise<Plotly>>();
const sources = new Map<string, () => Promise<Plotly>>();

/**
 * Give the page a library that does not come from the chart's own kernel; it is loaded with the
 * first chart.
 */
export function provide(name: string, load: () => Promise<Plotly>) {
  if (!sources.has(name)) sources.set(name, load);
}
const fromKernel = (model: Model<Asking>) =>
  new Promise<Plotly>((resolve, reject) => {
    const heard = (content: { kind?: string }, buffers: DataView<ArrayBuffer>[]) => {
      if (content?.kind !== "library") return;
      model.off("msg:custom", heard);
      unpacked(buffers[0])
        .then(moduleOf)
        .then((module) => resolve(module.default as Plotly), reject);
    };
    model.on("msg:custom", heard);
    model.send({ kind: "library" });
  });

/** The library of a chart's model. */
export function libraryOf(model: Model<Asking>): Promise<Plotly> {
  const name = model.get("library");
  const ready = loaded.get(name) ?? sources.get(name)?.() ?? fromKernel(model);
  loaded.set(name, ready);
  // A host that is back may have it.
  ready.catch(() => loaded.delete(name));
  return ready;
}
