// Loads plotly once per page, when the first chart is drawn: from the kernel, or from an exported
// page itself.
import { moduleOf, unpacked } from "../lib/dom";
import type { Model } from "../lib/widget";

export interface Plotly {
  react(at: HTMLElement, data: unknown[], layout: object, config: object): Promise<unknown>;
  purge(at: HTMLElement): void;
}
export interface LibraryTraits {
  library: string;
}
const loaded = new Map<string, Promise<Plotly>>();
const sources = new Map<string, () => Promise<Plotly>>();

/**
 * Provide a library from elsewhere than the kernel of a chart; it is loaded with the first chart.
 */
export function provide(name: string, load: () => Promise<Plotly>) {
  if (!sources.has(name)) sources.set(name, load);
}
const fromKernel = (model: Model<LibraryTraits>) =>
  new Promise<Plotly>((resolve, reject) => {
    const listener = (content: { kind?: string }, buffers: DataView<ArrayBuffer>[]) => {
      if (content?.kind !== "library") return;
      model.off("msg:custom", listener);
      unpacked(buffers[0])
        .then(moduleOf)
        .then((module) => resolve(module.default as Plotly), reject);
    };
    model.on("msg:custom", listener);
    model.send({ kind: "library" });
  });

/** Return the library that a chart's model names. */
export function libraryOf(model: Model<LibraryTraits>): Promise<Plotly> {
  const name = model.get("library");
  const ready = loaded.get(name) ?? sources.get(name)?.() ?? fromKernel(model);
  loaded.set(name, ready);
  // Try again later, when a lost host may be back.
  ready.catch(() => loaded.delete(name));
  return ready;
}
