// What the browser keeps over a reload: the form's values (localStorage) and the last runs (IndexedDB). Python decides what they
// are; nothing leaves the browser but to the page's own kernel.
import { guarded } from "../lib/notice";
import type { Drawing, Model } from "../lib/widget";

/** A stored run: what the menu shows, without its file. */
interface Kept {
  id: string;
  label: string;
  created: number;
}
interface Traits {
  form: Record<string, unknown>;
  most: number;
}
type Message = { kind: "keep"; run: Kept } | { kind: "fetch"; id: string };

const FORM = "hsd_viz.form";
const RUNS = "hsd_viz.runs";

/** The runs in the browser's database; every function rejects where there is none. */
function createShelf() {
  const done = <T>(request: IDBRequest<T>) =>
    new Promise<T>((resolve, reject) => {
      request.onsuccess = () => resolve(request.result);
      request.onerror = () => reject(request.error);
    });
  let opened: Promise<IDBDatabase> | null = null;
  const store = async (mode: IDBTransactionMode) => {
    if (!opened) {
      const request = indexedDB.open(RUNS, 1);
      request.onupgradeneeded = () => request.result.createObjectStore("runs", { keyPath: "id" });
      opened = done(request);
    }
    return (await opened).transaction("runs", mode).objectStore("runs");
  };
  type Row = Kept & { file: ArrayBuffer };
  const newest = async () => {
    const all = (await done((await store("readonly")).getAll())) as Row[];
    return all.sort((a, b) => b.created - a.created);
  };
  return {
    list: async (): Promise<Kept[]> => (await newest()).map(({ id, label, created }) => ({ id, label, created })),
    /** Store a run, and remove the oldest beyond `most`. */
    async keep(run: Kept, file: ArrayBuffer, most: number) {
      await done((await store("readwrite")).put({ ...run, file }));
      for (const { id } of (await newest()).slice(most)) await done((await store("readwrite")).delete(id));
    },
    async fetch(id: string) {
      return ((await done((await store("readonly")).get(id))) as Row | undefined)?.file ?? null;
    },
  };
}

function sessionOf(model: Model<Traits>) {
  const shelf = createShelf();
  const store = () => {
    try {
      localStorage.setItem(FORM, JSON.stringify(model.get("form")));
    } catch {
      // No storage, or none left: the form lives as long as the page.
    }
  };
  const stored = () => {
    try {
      return JSON.parse(localStorage.getItem(FORM) || "null");
    } catch {
      return null;
    }
  };
  // Before Python reports the form of the new page.
  const before = stored();
  const list = () => shelf.list().catch(() => [] as Kept[]);
  async function heard(message: Message, buffers: DataView[]) {
    if (message.kind === "keep") {
      // A copy: the buffer may be part of the whole message.
      const { buffer, byteOffset, byteLength } = buffers[0];
      const file = (buffer as ArrayBuffer).slice(byteOffset, byteOffset + byteLength);
      await shelf.keep(message.run, file, model.get("most")).catch(() => {});
      model.send({ kind: "runs", runs: await list() });
    } else if (message.kind === "fetch") {
      const file = await shelf.fetch(message.id).catch(() => null);
      if (file) model.send({ kind: "run", id: message.id }, undefined, [file]);
      else model.send({ kind: "gone", id: message.id });
    }
  }
  return {
    listen() {
      model.on("change:form", store);
      model.on("msg:custom", heard);
      return () => {
        model.off("change:form", store);
        model.off("msg:custom", heard);
      };
    },
    report: () => list().then((runs) => model.send({ kind: "stored", form: before, runs })),
  };
}

export default () => {
  let reported = false;
  return {
    initialize: ({ model }: { model: Model<Traits> }) => sessionOf(model).listen(),
    // Nothing to draw. Python changes other widgets when it hears what is stored: the page loses changes of widgets that it
    // has not created yet, and they are all there when it draws.
    render: guarded(({ model, el }: Drawing<Traits>) => {
      el.hidden = true;
      if (!reported) sessionOf(model).report();
      reported = true;
      return () => {};
    }),
  };
};
