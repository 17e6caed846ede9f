// An answer of the host on the page: it is asked when its tab is shown, and again when the run or
// one of its menus changes.
import { html, render } from "lit-html";
import type { Answer, File, Host, Part, Question } from "../host";
import { make } from "../lib/dom";
import { field, menu } from "../lib/fields";
import { foldOf } from "../lib/fold";
import { drawNotice, troubleOf } from "../lib/notice";
import type { Snapshot } from "../lib/run_data";
import { save } from "../lib/save";
import { folded } from "../lib/table";
import { type Mounted, mount } from "../views";
import { foldSections } from "./sections";

/** What to run in Python where a host lacks an answer. */
export const ELSEWHERE: Record<string, string> = {
  decode: "hsd-viz dashboard",
  doctor: "hsd-viz doctor TRACE",
  law: "hsd-viz plan --measure",
  predict: "hsd-viz predict --gpu A100 --models target,small,nano",
  report: "hsd-viz bench --stack 'db > target' --html report.html",
  replay: "hsd-viz replay LOG.jsonl --tokenizer PATH",
  record: "hsd-viz doctor FILE",
};

/** A card that says what to run elsewhere. */
export function elsewhere(about: string, words: string) {
  return html`<div class="hsd-elsewhere">
    <p>${words} needs Python, which this page does not have.</p>
    <p>Run <code>${ELSEWHERE[about] ?? "hsd-viz dashboard"}</code></p>
  </div>`;
}

/**
 * A page in a frame of its own height. Its scripts do not run; it has the origin of this page only
 * to be measured.
 */
function framed(title: string, page: string) {
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
  const seen = new ResizeObserver(fit);
  seen.observe(el);
  el.addEventListener("load", () => {
    const main = el.contentDocument?.querySelector("main");
    if (main) {
      foldSections(main);
      seen.observe(main);
    }
    fit();
  });
  return { el, close: () => seen.disconnect() };
}

interface Titled {
  title?: string;
  text?: string;
}
const WHAT_IF: Titled = {
  title: "What if: one draft model",
  text: "Its speed at each lookahead, for the acceptance and the costs that you set.",
};
/** A part that is closed at first. */
function within({ title = "", text = "" }: Titled, { el, close }: Pick<Mounted, "el" | "close">) {
  const folder = foldOf(title, text);
  folder.append(el);
  return { el: folder, close };
}

/** A part as an element, with what ends it. */
function partOf(host: Host, part: Part, state: Record<string, unknown>) {
  if (part.kind === "text")
    return {
      el: make("p", part.caution ? "hsd-note hsd-warning" : "hsd-note", part.text),
      close() {},
    };
  if (part.kind === "figure") {
    const config = { displaylogo: false, responsive: false, displayModeBar: false };
    const drawn = mount("plot", { ...part.figure, config, library: "cartesian" });
    if (!part.folded) return drawn;
    return within((part.figure.drawn.layout.meta ?? {}) as Titled, drawn);
  }
  if (part.kind === "page") {
    const made = framed(part.title, part.html);
    if (!part.folded) return made;
    const folder = make("div");
    render(folded(part.title, made.el), folder);
    return { ...made, el: folder };
  }
  if (part.kind === "widget") {
    const el = make("div");
    let close = () => {};
    host.widget?.(part.model, el, String(state.group)).then(
      (end) => (close = end),
      (error) => drawNotice(el, troubleOf(error, "This view failed")),
    );
    return { el, close: () => close() };
  }
  const made = mount(part.view, { ...state, ...part.state });
  return part.view === "one_draft" ? within(WHAT_IF, made) : made;
}

export interface Asking {
  /** The topic, and what it is called in a sentence. */
  about: string;
  words: string;
  /** The run it is about; null: it is about none. */
  run?: () => Snapshot | null;
  /** Options besides those of the menus. */
  options?: () => Record<string, unknown>;
}

/** A section of the page that shows the answers of its host. */
export class AnswerView {
  readonly root = make("section", "hsd-answers");
  private readonly menus = make("div", "hsd-menu");
  private readonly status = make("p", "hsd-stage hsd-note hsd-number", "", { role: "status" });
  private readonly trouble = make("div", "", "", { hidden: "" });
  private readonly body = make("div", "hsd-views");
  private readonly can: boolean;
  /** What is chosen in its menus, and the files that it is about. */
  private chosen: Record<string, string> = {};
  private files: File[] = [];
  private answer: Answer | null = null;
  private parts: Pick<Mounted, "el" | "close">[] = [];
  /** What was asked last. */
  private asked = "";
  private control: AbortController | null = null;

  constructor(
    private readonly host: Host,
    private readonly asking: Asking,
    private readonly state: Record<string, unknown>,
  ) {
    const { about, words } = asking;
    this.root.dataset.about = about;
    this.root.append(this.menus, this.status, this.trouble, this.body);
    this.can = Boolean(host.ask) && host.answers.includes(about);
    if (!this.can) render(elsewhere(about, words), this.body);
  }

  // --- asking

  /** Ask, if anything has changed since. */
  refresh = async () => {
    const { run } = this.asking;
    const now = this.key();
    if (now === this.asked || (run && !run())) return;
    this.asked = now;
    await this.askNow();
  };
  /** Ask again, about these files. */
  ask(files: File[]) {
    this.files = files;
    this.chosen = {};
    this.asked = this.key();
    return this.askNow();
  }
  cancel() {
    this.control?.abort();
  }
  private options(): Record<string, unknown> {
    return { ...this.asking.options?.(), ...this.chosen };
  }
  /** What the next question is about. */
  private key(): string {
    const run = this.asking.run?.()?.run ?? "";
    return JSON.stringify([run, this.options(), this.files.map(({ name }) => name)]);
  }
  private question(): Question {
    const { about, run } = this.asking;
    return { about, run: run?.() ?? undefined, options: this.options(), files: this.files };
  }
  private async askNow() {
    const { host } = this;
    if (!this.can || !host.ask) return;
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
      if (this.control === mine) this.showNothing(error);
    }
  }

  // --- what is shown

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
  /** The menus stay: another choice may have an answer. */
  private showNothing(error: unknown) {
    this.show({ choices: this.answer?.choices, parts: [] });
    this.fail(error);
  }
  fail = (error: unknown) => {
    const trouble = troubleOf(error);
    const title = trouble.details ? `${this.asking.words} failed` : "";
    drawNotice(this.trouble, { ...trouble, title, caution: !trouble.details });
  };
  /** Mark it as of the run before. */
  stale(on: boolean) {
    this.root.classList.toggle("hsd-stale", on && Boolean(this.asking.run));
  }
  private draw() {
    const { parts = [], files = [], choices = [] } = this.answer ?? {};
    for (const part of this.parts) part.close();
    this.parts = parts.map((part) => partOf(this.host, part, this.state));
    const saves = make("div", "hsd-files");
    saves.append(...files.map(saveButton));
    const all = this.parts.map(({ el }) => el);
    this.body.replaceChildren(...all, ...(files.length ? [saves] : []));
    render(
      choices.map((choice) => this.menuOf(choice)),
      this.menus,
    );
  }
  private menuOf({ name, label, options, value }: NonNullable<Answer["choices"]>[number]) {
    const take = (picked: string) => {
      this.chosen = { ...this.chosen, [name]: picked };
      // A report of a name is not that of the file.
      if (name === "name") this.files = [];
      void this.refresh();
    };
    const named = options.map(([words, v]) => [v, words]);
    return field(label, menu(named, this.chosen[name] ?? value, take));
  }
}

/** The button that saves a file of an answer. */
function saveButton([name, label, content]: NonNullable<Answer["files"]>[number]) {
  const button = make("button", "hsd-quiet", label, { type: "button" });
  const type = name.endsWith(".html") ? "text/html" : "application/json";
  button.addEventListener("click", () => save({ name, type, bytes: content }));
  return button;
}
