// Loads the files of one family, one after the other. Each model and database is usable as soon as
// it is loaded.
import type { Answer } from "./client";
import { Files, fetched } from "./files";
import { FORMAT, type Manifest } from "./manifest";
import { Module } from "./memory";
import { Runtime } from "./runtime";
import { Tokenizer } from "./tokenizer";

/** The runtime and tokenizer, which every decode needs. */
export interface Loaded {
  manifest: Manifest;
  runtime: Runtime;
  tokenizer: Tokenizer;
}

type LoadFile = (name: string) => Promise<Uint8Array<ArrayBuffer>>;

/** A promise that is settled from outside. It may reject before anything waits for it. */
class Deferred<T> {
  resolve!: (value: T) => void;
  reject!: (why: unknown) => void;
  readonly promise: Promise<T>;

  constructor() {
    this.promise = new Promise((resolve, reject) => {
      this.resolve = resolve;
      this.reject = reject;
    });
    this.promise.catch(() => {});
  }
}

const parsed = (file: Uint8Array) => JSON.parse(new TextDecoder().decode(file));

/** A family and the progress of its loading. */
export class Loading {
  private readonly base = new Deferred<Loaded>();
  /** Settled when a model or database is loaded, by name. */
  private readonly parts = new Map<string, Deferred<void>>();
  private total = 0;
  private done = 0;
  private readonly ready: string[] = [];

  constructor(private readonly say: (answer: Answer) => void) {}

  /** Resolves when the runtime and tokenizer are loaded; rejects if the family cannot be loaded. */
  get loaded(): Promise<Loaded> {
    return this.base.promise;
  }

  /** Resolves when a model or database of the manifest is loaded. Call after {@link loaded}. */
  part(name: string): Promise<void> {
    const part = this.parts.get(name);
    if (!part) throw new Error(`the site has no file of '${name}'`);
    return part.promise;
  }

  /** Load everything from a folder; `keep`: let the browser cache the files. */
  async run(folder: string, keep: boolean) {
    try {
      const manifest: Manifest = parsed(await fetched(`${folder}manifest.json`, () => {}));
      if (manifest.format !== FORMAT)
        throw new Error("The site is of another version than its page: reload the page.");
      this.total = Object.values(manifest.files).reduce((sum, { bytes }) => sum + bytes, 0);
      await this.loadAll(manifest, await Files.open(folder, manifest, keep));
    } catch (error) {
      for (const part of [this.base, ...this.parts.values()]) part.reject(error);
      throw error;
    }
  }

  private async loadAll(manifest: Manifest, files: Files) {
    const file: LoadFile = async (name) => {
      const content = await files.get(name, (bytes) => this.report(name, bytes));
      this.done += content.length;
      return content;
    };
    const models = Object.entries(manifest.models);
    const databases = Object.entries(manifest.databases);
    for (const [name] of [...models, ...databases]) this.parts.set(name, new Deferred());

    const module = await Module.open(await file("hsd-viz.wasm"), manifest);
    // Allocate memory for all weights first, to fail before the download if it does not suffice.
    const places = models.map(([, { bytes }]) => (bytes ? module.allocate(bytes) : 0));
    const tokenizer = new Tokenizer(parsed(await file("tokenizer.json")));
    const runtime = new Runtime(module, manifest);
    this.base.resolve({ manifest, runtime, tokenizer });

    for (const [k, [name]] of models.entries()) {
      await addModel(runtime, name, places[k], file);
      // Use the code now, so that the browser's optimizing compilation precedes the first decode.
      runtime.time(name, [1, 5], 16, 2);
      this.add(name);
    }
    for (const [name, path] of databases) {
      runtime.addDatabase(name, await file(path));
      this.add(name);
    }
  }

  /** Report that a part is loaded. */
  private add(name: string) {
    this.ready.push(name);
    this.parts.get(name)?.resolve();
    this.report("");
  }

  /** Report the bytes so far, including `bytes` of the file in transfer. */
  private report(file: string, bytes = 0) {
    const { done, total, ready } = this;
    this.say({ kind: "loading", done: done + bytes, total, file, ready });
  }
}

/** Load a model: a safetensors file, which is packed here, or packed parts at address `at`. */
async function addModel(runtime: Runtime, name: string, at: number, file: LoadFile) {
  const { parts, sections } = runtime.manifest.models[name];
  if (!sections) return runtime.addModel(name, await file(parts[0]));
  let end = at;
  for (const part of parts) {
    const content = await file(part);
    runtime.module.array(Uint8Array, end, content.length).set(content);
    end += content.length;
  }
  runtime.addPacked(name, at);
}
