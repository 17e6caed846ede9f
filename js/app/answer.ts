// A section of the page with an answer of the host. The host is asked when the tab is first shown,
// and again when the run or a menu of the section changes.
import { html, render } from "lit-html";
import type { Answer, FileContent, Host, Part, Question } from "../host";
import { make } from "../lib/dom";
import { field, menu } from "../lib/fields";
import { foldOf } from "../lib/fold";
import { drawNotice, troubleOf } from "../lib/notice";
import type { Snapshot } from "../lib/run_data";
import { save } from "../lib/save";
import { folded } from "../lib/table";
import { type Mounted, mount } from "../views";
import { foldSections } from "./sections";

/** Commands that compute an answer for visitors whose host cannot. */
export const ELSEWHERE: Record<string, string> = {
  decode: "hsd-viz dashboard",
  doctor: "hsd-viz doctor TRACE",
  law: "hsd-viz plan --measure",
  predict: "hsd-viz predict --gpu A100 --models target,small,nano",
  report: "hsd-viz bench --stack 'db > target' --html report.html",
  replay: "hsd-viz replay LOG.jsonl --tokenizer PATH",
  record: "hsd-viz doctor FILE",
};

/** A card that names the command which computes an answer that this host lacks. */
export function elsewhere(about: string, words: string) {
  return html`<div class="hsd-elsewhere">
    <p>${words} needs Python, which this page does not have.</p>
    <p>Run <code>${ELSEWHERE[about] ?? "hsd-viz dashboard"}</code></p>
  </div>`;
}

/**
 * Return a frame that shows a page at its full height. The scripts of the framed page do not run;
 * it has this page's origin only so that its height can be measured.
 */
function frameOf(title: string, page: string) {
  const el = make("iframe", "hsd-frame", "", { title, sandbox: "allow-same-origin", srcdoc: page });
  const fit = () => {
    const root = el.contentDocument?.documentElement;
    if (!root) return;
    root.style.colorScheme = getComputedStyle(el).colorScheme;
    root.style.setProperty("--paper", getComputedStyle(el).getPropertyValue("--paper"));
    Object.assign(root.querySelector("main")?.style ?? {}, { margin: 0, padding: 0 });
    Object.assign(root.querySelector("h1")?.style ?? {}, { fontSize: "18px" });
    el.style.height = `${root.offsetHeight}px`;
  };
  const observer = new ResizeObserver(fit);
  observer.observe(el);
  el.addEventListener("load", () => {
    const main = el.contentDocument?.querySelector("main");
    if (main) {
      foldSections(main);
      observer.observe(main);
    }
    fit();
  });
  return { el, close: () => observer.disconnect() };
}

interface FoldText {
  title?: string;
  text?: string;
}
/** Return the element of a part, and the function that removes it. */
function partOf(host: Host, part: Part, state: Record<string, unknown>) {
  if (part.kind === "text")
    return {
      el: make("p", part.caution ? "hsd-note hsd-warning" : "hsd-note", part.text),
      close() {},
    };
  if (part.kind === "figure") {
    const config = { displaylogo: false, responsive: false, displayModeBar: false };
    const plot = mount("plot", { ...part.figure, config, library: "cartesian" });
    if (!part.folded) return plot;
    const { title = "", text = "" } = (part.figure.drawn.layout.meta ?? {}) as FoldText;
    const folder = foldOf(title, text);
    folder.append(plot.el);
    return { ...plot, el: folder };
  }
  if (part.kind === "page") {
    const frame = frameOf(part.title, part.html);
    if (!part.folded) return frame;
    const folder = make("div");
    render(folded(part.title, frame.el), folder);
    return { ...frame, el: folder };
  }
  if (part.kind === "widget") {
    const el = make("div");
    const widget = host.widget?.(part.model, el, String(state.group));
    widget?.catch((error) => drawNotice(el, troubleOf(error, "This view failed")));
    // A widget that arrives after its part was closed is removed at once.
    const close = () => void widget?.then((remove) => remove()).catch(() => {});
    return { el, close };
  }
  return mount(part.view, { ...state, ...part.state });
}

export interface QuestionSource {
  /** The topic of the question, and its name within a sentence. */
  about: string;
  words: string;
  /** Return the run that the question is about; null: none is shown. */
  run?: () => Snapshot | null;
  /** Return options of the question besides those of its menus. */
  options?: () => Record<string, unknown>;
}

/** A section of the page that shows the answers of its host. */
export class AnswerView {
  readonly root = make("section", "hsd-answers");
  private readonly menus = make("div", "hsd-menu");
  private readonly status = make("p", "hsd-stage hsd-note hsd-number", "", { role: "status" });
  private readonly trouble = make("div", "", "", { hidden: "" });
  private readonly body = make("div", "hsd-views");
  private readonly isAnswered: boolean;
  /** The values selected in the menus, by name, and the files that the question is about. */
  private selection: Record<string, string> = {};
  private files: FileContent[] = [];
  private answer: Answer | null = null;
  private parts: Pick<Mounted, "el" | "close">[] = [];
  /** The key of the last question. */
  private lastKey = "";
  private control: AbortController | null = null;

  constructor(
    private readonly host: Host,
    private readonly topic: QuestionSource,
    private readonly state: Record<string, unknown>,
  ) {
    const { about, words } = topic;
    this.root.dataset.about = about;
    this.root.append(this.menus, this.status, this.trouble, this.body);
    this.isAnswered = Boolean(host.ask) && host.answers.includes(about);
    if (!this.isAnswered) render(elsewhere(about, words), this.body);
  }

  // --- questions

  /** Ask if the question has changed since the last one. */
  refresh = async () => {
    const { run } = this.topic;
    const questionKey = this.key();
    if (questionKey === this.lastKey || (run && !run())) return;
    this.lastKey = questionKey;
    await this.askNow();
  };
  /** Ask again, about other files. */
  ask(files: FileContent[]) {
    this.files = files;
    this.selection = {};
    this.lastKey = this.key();
    return this.askNow();
  }
  cancel() {
    this.control?.abort();
  }
  /** Cancel the question in progress without a message, and close the parts of the answer. */
  close() {
    this.cancel();
    this.control = null;
    for (const part of this.parts) part.close();
  }
  private options(): Record<string, unknown> {
    return { ...this.topic.options?.(), ...this.selection };
  }
  /** Return a key that differs between different questions. */
  private key(): string {
    const run = this.topic.run?.()?.run ?? "";
    return JSON.stringify([run, this.options(), this.files.map(({ name }) => name)]);
  }
  private question(): Question {
    const { about, run } = this.topic;
    return { about, run: run?.() ?? undefined, options: this.options(), files: this.files };
  }
  private async askNow() {
    const { host } = this;
    if (!this.isAnswered || !host.ask) return;
    this.cancel();
    const mine = new AbortController();
    this.control = mine;
    this.wait();
    const stage = (text: string, done?: number | null, total?: number | null) => {
      if (this.control === mine) this.say(text, done, total);
    };
    try {
      const answer = await host.ask(this.question(), { stage }, mine.signal);
      if (this.control === mine) this.show(answer);
    } catch (error) {
      if (this.control !== mine) return;
      // Ask again when the tab is next shown.
      this.lastKey = "";
      this.showNothing(error);
    }
  }

  // --- drawing

  private wait() {
    drawNotice(this.trouble, { message: "" });
    this.status.textContent = this.parts.length ? "" : "Computing …";
    this.root.toggleAttribute("aria-busy", true);
  }
  private say(text: string, done?: number | null, total?: number | null) {
    const share = total ? `${Math.round((100 * (done ?? 0)) / total)}%: ` : "";
    this.status.textContent = `${share}${text}`;
  }
  private show(answer: Answer) {
    this.status.textContent = "";
    this.root.removeAttribute("aria-busy");
    this.answer = answer;
    this.draw();
  }
  /** Show an error. The menus stay, because another choice may have an answer. */
  private showNothing(error: unknown) {
    this.show({ choices: this.answer?.choices, parts: [] });
    this.fail(error);
  }
  fail = (error: unknown) => {
    const trouble = troubleOf(error);
    const title = trouble.details ? `${this.topic.words} failed` : "";
    drawNotice(this.trouble, { ...trouble, title, caution: !trouble.details });
  };
  /** Mark the answer as that of the previous run. */
  stale(on: boolean) {
    this.root.classList.toggle("hsd-stale", on && Boolean(this.topic.run));
  }
  private draw() {
    const { parts = [], files = [], choices = [] } = this.answer ?? {};
    for (const part of this.parts) part.close();
    this.parts = parts.map((part) => partOf(this.host, part, this.state));
    const saves = make("div", "hsd-files");
    saves.append(...files.map(saveButton));
    const elements = this.parts.map(({ el }) => el);
    this.body.replaceChildren(...elements, ...(files.length ? [saves] : []));
    render(
      choices.map((choice) => this.menuOf(choice)),
      this.menus,
    );
  }
  private menuOf({ name, label, options, value }: NonNullable<Answer["choices"]>[number]) {
    const take = (picked: string) => {
      this.selection = { ...this.selection, [name]: picked };
      // A report selected by name replaces that of an opened file.
      if (name === "name") this.files = [];
      void this.refresh();
    };
    const entries = options.map(([words, v]) => [v, words]);
    return field(label, menu(entries, this.selection[name] ?? value, take));
  }
}

/** Return a button that saves a file of an answer. */
function saveButton([name, label, content]: NonNullable<Answer["files"]>[number]) {
  const button = make("button", "hsd-quiet", label, { type: "button" });
  const type = name.endsWith(".html") ? "text/html" : "application/json";
  button.addEventListener("click", () => save({ name, type, bytes: content }));
  return button;
}
