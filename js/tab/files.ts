// Loads the files of a runtime from the site or from the browser's cache.
import { check, type Manifest } from "./manifest";

/** Return the name of a family's cache (Cache API). Browsers separate the caches of sites. */
export const storeOf = (family: string) => `hsd_viz ${family}`;

/** Return whether the browser caches files for this page: only in a secure context. */
export const keeps = () => typeof caches === "object";

/** Fetch a file. Throws a one-line error if it does not arrive completely. */
export async function fetched(
  where: string,
  heard: (bytes: number) => void,
): Promise<Uint8Array<ArrayBuffer>> {
  const name = where.split("/").pop();
  const lost = (why: string) =>
    new Error(`${name} cannot be loaded (${why}). Check the connection and reload the page.`);
  let answer: Response;
  try {
    answer = await fetch(where);
  } catch {
    throw lost("no answer");
  }
  if (!answer.ok || !answer.body) throw lost(`status ${answer.status}`);
  let length = 0;
  const counted = new TransformStream<Uint8Array, Uint8Array>({
    transform(part, to) {
      length += part.length;
      heard(length);
      to.enqueue(part);
    },
  });
  try {
    return new Uint8Array(await new Response(answer.body.pipeThrough(counted)).arrayBuffer());
  } catch {
    throw lost("the connection was lost");
  }
}

/** The files of a manifest. With a store, complete files are cached and not requested again. */
export class Files {
  private constructor(
    private readonly folder: string,
    private readonly manifest: Manifest,
    private readonly store: Cache | null,
  ) {}

  static async open(folder: string, manifest: Manifest, keep: boolean): Promise<Files> {
    let store: Cache | null = null;
    if (keep && keeps()) store = await caches.open(storeOf(manifest.family)).catch(() => null);
    const files = new Files(folder, manifest, store);
    await files.forget();
    return files;
  }

  /** Return the cache key of a file; it contains the checksum. */
  private key(name: string): string {
    return `${this.folder}${name}?crc32=${this.manifest.files[name].crc32}`;
  }

  /** Delete files that another version of the site has cached. */
  private async forget() {
    const currentKeys = new Set(Object.keys(this.manifest.files).map((name) => this.key(name)));
    for (const request of (await this.store?.keys()) ?? []) {
      const isInFolder = request.url.startsWith(this.folder);
      if (isInFolder && !currentKeys.has(request.url)) await this.store?.delete(request);
    }
  }

  /** Return a file whose checksum matches. `heard` gets the number of bytes so far. */
  async get(name: string, heard: (bytes: number) => void): Promise<Uint8Array<ArrayBuffer>> {
    const kept = await this.kept(name);
    if (kept) {
      heard(kept.length);
      return kept;
    }
    const content = await fetched(this.folder + name, heard);
    check(name, content, this.manifest);
    // If the disk is full, the file is not cached, and the next visit requests it again.
    const headers = { "Content-Length": String(content.length) };
    await this.store?.put(this.key(name), new Response(content, { headers })).catch(() => {});
    return content;
  }

  private async kept(name: string): Promise<Uint8Array<ArrayBuffer> | null> {
    const response = await this.store?.match(this.key(name)).catch(() => undefined);
    if (!response) return null;
    const content = new Uint8Array(await response.arrayBuffer());
    try {
      check(name, content, this.manifest);
      return content;
    } catch {
      await this.store?.delete(this.key(name));
      return null;
    }
  }
}

/** Return the number of bytes that the browser has cached of a family. */
export async function keptBytes(family: string): Promise<number> {
  if (!keeps()) return 0;
  try {
    if (!(await caches.has(storeOf(family)))) return 0;
    const store = await caches.open(storeOf(family));
    let sum = 0;
    for (const request of await store.keys()) {
      const answer = await store.match(request);
      sum += Number(answer?.headers.get("Content-Length") ?? 0);
    }
    return sum;
  } catch {
    return 0;
  }
}
