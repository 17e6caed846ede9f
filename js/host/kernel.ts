// The host of a page in a notebook or under Voilà. It exchanges messages of the page's widget with
// hsd_viz/views/app/dashboard.py in the kernel:
//   request {id, kind, ...}          -> {id, kind: "stage" | "begin" | "append", ...}…
//                                       then {id, kind: "done" | "failed", ...}
//   files, and runs as JSON, travel as buffers; {id, kind: "cancel"} ends a request early
import {
  type About,
  type Answer,
  type DecodeRequest,
  type FileContent,
  type Host,
  lostError,
  type Progress,
  type Question,
} from "../host";
import type { Append, Head, Snapshot } from "../lib/run_data";
import type { Model } from "../lib/widget";
import { type Kernel, kernelOf, watchKernel } from "./watch";

export interface Traits {
  about: About;
  /** Capabilities of the kernel: "decode", and the topics that it answers. */
  can: string[];
}
interface Message {
  id: string;
  kind: string;
  [name: string]: unknown;
}
type Buffers = DataView<ArrayBuffer>[];
interface PendingRequest {
  on: Partial<Progress>;
  resolve(result: { message: Message; buffers: Buffers }): void;
  reject(error: Error): void;
}
interface Manager {
  get_model(id: string): Promise<Model<{ group?: string }>>;
  create_view(model: unknown): Promise<{ el: HTMLElement; remove(): void }>;
}

/** The last message of a request, with its buffers. */
interface Reply {
  message: Message;
  buffers: Buffers;
}

/** Requests of a page to its kernel that wait for a reply. */
class Requests {
  private readonly waiting = new Map<string, PendingRequest>();
  private readonly page = Math.random().toString(36).slice(2);
  private sent = 0;
  /** Reason for which the kernel is lost; "": it is connected. */
  private gone = "";
  private readonly heard = (message: Message, buffers: Buffers) => this.hear(message, buffers);

  constructor(private readonly model: Model<Traits>) {
    model.on("msg:custom", this.heard);
  }

  end() {
    this.model.off("msg:custom", this.heard);
  }

  /** Send a request and wait for its reply; `on` is called with its progress. */
  send(
    kind: string,
    args: object,
    on: Partial<Progress> = {},
    signal?: AbortSignal,
    files: FileContent[] = [],
  ): Promise<Reply> {
    this.sent += 1;
    const id = `${this.page}-${this.sent}`;
    if (this.gone) return Promise.reject(lostError(this.gone));
    if (signal?.aborted) return Promise.reject(new DOMException("Cancelled.", "AbortError"));
    const cancel = () => this.waiting.has(id) && this.model.send({ id, kind: "cancel" });
    return new Promise<Reply>((resolve, reject) => {
      this.waiting.set(id, { on, resolve, reject });
      signal?.addEventListener("abort", cancel);
      const names = files.map((file) => file.name);
      const bytes = files.map((file) => file.bytes);
      this.model.send({ id, kind, ...args, names }, undefined, bytes);
    });
  }

  /** Reject all waiting requests, because no reply will come. "": the kernel is back. */
  lose(why: string) {
    this.gone = why;
    if (!why) return;
    const waiting = [...this.waiting.values()];
    this.waiting.clear();
    for (const { reject } of waiting) reject(lostError(why));
  }

  private hear(message: Message, buffers: Buffers) {
    const request = this.waiting.get(message?.id);
    if (!request) return;
    const { on } = request;
    if (message.kind === "stage")
      return on.stage?.(message.text as string, message.done as number, message.total as number);
    if (message.kind === "begin") return on.begin?.(message.run as Snapshot);
    if (message.kind === "append") return on.append?.(message.steps as Append);
    this.waiting.delete(message.id);
    if (message.kind !== "failed") return request.resolve({ message, buffers });
    const { details = "" } = message;
    request.reject(Object.assign(new Error(String(message.message)), { details }));
  }
}

/** Request a run, which the kernel sends as JSON. */
async function runOf(requests: Requests, kind: string, args: object, files?: FileContent[]) {
  const { buffers } = await requests.send(kind, args, {}, undefined, files);
  return JSON.parse(new TextDecoder().decode(buffers[0])) as Snapshot;
}

/** Send a run to the kernel unless it has it already; the kernel keeps the last few. */
async function sendRun(requests: Requests, shown: Snapshot | undefined) {
  if (!shown) return;
  const { message } = await requests.send("knows", { run: shown.run });
  if (!message.known) await requests.send("take", { snapshot: shown });
}
const questionArgs = ({ about, run, options = {} }: Question) => ({
  about,
  run: run?.run ?? "",
  options,
});

/** Request a file about a run. */
async function fileOf(requests: Requests, question: Question) {
  await sendRun(requests, question.run);
  const { message, buffers } = await requests.send("file", questionArgs(question));
  const { buffer, byteOffset, byteLength } = buffers[0];
  return {
    name: String(message.name),
    type: String(message.type),
    bytes: buffer.slice(byteOffset, byteOffset + byteLength),
  };
}

/** Draw a widget of another package into an element; returns a function that removes it. */
async function showWidget(model: Model<Traits>, id: string, el: HTMLElement, group: string) {
  const manager = (model as { widget_manager?: Manager }).widget_manager;
  if (!manager) throw new Error("this host does not show widgets of other packages");
  const widget = await manager.get_model(id);
  if (widget.get("group") !== undefined) widget.set("group", group);
  const view = await manager.create_view(widget);
  el.append(view.el);
  return () => view.remove();
}

/** Return a function that watches the kernel, and rejects waiting requests when it is lost. */
function watchOf(requests: Requests, kernel: Kernel | null): Host["watch"] {
  if (!kernel) return undefined;
  return (heard) =>
    watchKernel(kernel, (why) => {
      heard(why);
      requests.lose(why);
    });
}

export function kernelHost(model: Model<Traits>): Host & { end(): void } {
  const requests = new Requests(model);
  const can = model.get("can");
  const decode: Host["decode"] = async (request: DecodeRequest, on, signal) => {
    const { message } = await requests.send("decode", { request }, on, signal);
    return message.head as Head;
  };
  return {
    about: model.get("about"),
    answers: can.filter((name) => name !== "decode"),
    recording: (name) => runOf(requests, "recording", { name }),
    open: (file) => runOf(requests, "open", {}, [file]),
    file: (question) => fileOf(requests, question),
    decode: can.includes("decode") ? decode : undefined,
    async ask(question, on, signal) {
      await sendRun(requests, question.run);
      const { message } = await requests.send(
        "ask",
        questionArgs(question),
        on,
        signal,
        question.files,
      );
      return message.answer as Answer;
    },
    plotly: async () => (await requests.send("plotly", {})).buffers[0],
    widget: (id, el, group) => showWidget(model, id, el, group),
    watch: watchOf(requests, kernelOf(model)),
    end: () => requests.end(),
  };
}
