// The host of a page in a notebook or under Voilà: hsd_viz/views/app.py in the kernel, by messages
// of the page's widget.
//   request {id, kind, ...}          -> {id, kind: "stage" | "begin" | "append", ...}…
//                                       then {id, kind: "done" | "failed", ...}
//   files, and runs as JSON, travel as buffers; {id, kind: "cancel"} ends a request early
import {
  type About,
  type Answer,
  type DecodeRequest,
  type File,
  type Host,
  lostError,
  type Progress,
  type Question,
} from "../host";
import type { Append, Head, Snapshot } from "../lib/run";
import type { Model } from "../lib/widget";
import { kernelOf, watchKernel } from "./watch";

export interface Traits {
  about: About;
  /**
   * What the kernel can do besides showing recordings: "decode", and the topics that it answers.
   */
  can: string[];
}
interface Message {
  id: string;
  kind: string;
  [name: string]: unknown;
}
type Buffers = DataView<ArrayBuffer>[];
interface Waiting {
  on: Partial<Progress>;
  resolve(result: { message: Message; buffers: Buffers }): void;
  reject(error: Error): void;
}
interface Manager {
  get_model(id: string): Promise<Model<{ group?: string }>>;
  create_view(model: unknown): Promise<{ el: HTMLElement; remove(): void }>;
}

export function kernelHost(model: Model<Traits>): Host & { end(): void } {
  const waiting = new Map<string, Waiting>();
  const page = Math.random().toString(36).slice(2);
  let sent = 0;
  /** Why the kernel is lost; "": it is not. */
  let gone = "";

  function heard(message: Message, buffers: Buffers) {
    const one = waiting.get(message?.id);
    if (!one) return;
    const { on } = one;
    if (message.kind === "stage")
      on.stage?.(message.text as string, message.done as number, message.total as number);
    else if (message.kind === "begin") on.begin?.(message.run as Snapshot);
    else if (message.kind === "append") on.append?.(message.steps as Append);
    else {
      waiting.delete(message.id);
      const { details = "" } = message;
      if (message.kind === "failed")
        one.reject(Object.assign(new Error(String(message.message)), { details }));
      else one.resolve({ message, buffers });
    }
  }
  model.on("msg:custom", heard);

  function request(
    kind: string,
    args: object,
    on: Partial<Progress> = {},
    signal?: AbortSignal,
    files: File[] = [],
  ) {
    const id = `${page}-${++sent}`;
    if (gone) return Promise.reject(lostError(gone));
    return new Promise<{ message: Message; buffers: Buffers }>((resolve, reject) => {
      waiting.set(id, { on, resolve, reject });
      signal?.addEventListener(
        "abort",
        () => waiting.has(id) && model.send({ id, kind: "cancel" }),
      );
      const names = files.map((file) => file.name);
      const bytes = files.map((file) => file.bytes);
      model.send({ id, kind, ...args, names }, undefined, bytes);
    });
  }
  const run = async (kind: string, args: object, files?: File[]): Promise<Snapshot> =>
    JSON.parse(
      new TextDecoder().decode((await request(kind, args, {}, undefined, files)).buffers[0]),
    );
  const asked = ({ about, run: shown, options = {} }: Question) => ({
    about,
    run: shown?.run ?? "",
    options,
  });
  /**
   * A run that the kernel does not have is sent before a question about it; the kernel keeps the
   * last few.
   */
  async function tell(shown: Snapshot | undefined) {
    if (!shown) return;
    const { message } = await request("knows", { run: shown.run });
    if (!message.known) await request("take", { snapshot: shown });
  }
  /** End every request that waits: no answer will come. */
  function lose(why: string) {
    gone = why;
    if (!why) return;
    const all = [...waiting.values()];
    waiting.clear();
    for (const one of all) one.reject(lostError(why));
  }
  const can = (name: string) => model.get("can").includes(name);
  const kernel = kernelOf(model);
  const manager = (model as { widget_manager?: Manager }).widget_manager;

  return {
    about: model.get("about"),
    answers: model.get("can").filter((name) => name !== "decode"),
    recording: (name) => run("recording", { name }),
    open: (file) => run("open", {}, [file]),
    async file(question) {
      await tell(question.run);
      const { message, buffers } = await request("file", asked(question));
      const { buffer, byteOffset: at, byteLength } = buffers[0];
      return {
        name: String(message.name),
        type: String(message.type),
        bytes: buffer.slice(at, at + byteLength),
      };
    },
    decode: can("decode")
      ? async (asking: DecodeRequest, on, signal) =>
          (await request("decode", { request: asking }, on, signal)).message.head as Head
      : undefined,
    async ask(question, on, signal) {
      await tell(question.run);
      const { message } = await request("ask", asked(question), on, signal, question.files);
      return message.answer as Answer;
    },
    plotly: async () => (await request("plotly", {})).buffers[0],
    async widget(id, el, group) {
      if (!manager) throw new Error("this host does not show widgets of other packages");
      const found = await manager.get_model(id);
      if (found.get("group") !== undefined) found.set("group", group);
      const view = await manager.create_view(found);
      el.append(view.el);
      return () => view.remove();
    },
    watch: kernel
      ? (heard) =>
          watchKernel(kernel, (why) => {
            heard(why);
            lose(why);
          })
      : undefined,
    end: () => model.off("msg:custom", heard),
  };
}
