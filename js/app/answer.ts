// An answer of the host on the page: it is asked when its tab is shown, and again when the run or
// one of its menus changes.
import { html, render } from "lit-html";
import type { Answer, File, Host, Part, Question } from "../host";
import { make } from "../lib/dom";
import { field, menu } from "../lib/fields";
import { foldOf } from "../lib/fold";
import { drawNotice, troubleOf } from "../lib/notice";
import type { Snapshot } from "../lib/run";
import { folded } from "../lib/table";
import { type Mounted, mount } from "../views";
import { save } from "./files";
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

/**
 * A section of the page that shows an answer. `refresh` asks if anything has changed; `ask` asks
 * again, perhaps with files.
 */
export function answerView(
  host: Host,
  { about, words, run, options = () => ({}) }: Asking,
  state: Record<string, unknown>,
) {
  const root = make("section", "hsd-answers");
  root.dataset.about = about;
  const menus = make("div", "hsd-menu");
  const status = make("p", "hsd-stage hsd-note hsd-number", "", { role: "status" });
  const trouble = make("div", "", "", { hidden: "" });
  const body = make("div", "hsd-views");
  root.append(menus, status, trouble, body);
  let chosen: Record<string, string> = {};
  let answer: Answer | null = null;
  let parts: Pick<Mounted, "el" | "close">[] = [];
  let asked = "";
  let files: File[] = [];
  let control: AbortController | null = null;

  const can = host.ask && host.answers.includes(about);
  if (!can) render(elsewhere(about, words), body);

  const question = (): Question => ({
    about,
    run: run?.() ?? undefined,
    options: { ...options(), ...chosen },
    files,
  });
  function draw() {
    for (const part of parts) part.close();
    parts = (answer?.parts ?? []).map((part) => partOf(host, part, state));
    const button = ([name, label, content]: [string, string, string]) => {
      const node = make("button", "hsd-quiet", label, { type: "button" });
      const type = name.endsWith(".html") ? "text/html" : "application/json";
      node.addEventListener("click", () => save({ name, type, bytes: content }));
      return node;
    };
    const saves = make("div", "hsd-files");
    saves.append(...(answer?.files ?? []).map(button));
    body.replaceChildren(
      ...parts.map((part) => part.el),
      ...(saves.children.length ? [saves] : []),
    );
    render(
      (answer?.choices ?? []).map(({ name, label, options: all, value }) => {
        const take = (picked: string) => {
          chosen = { ...chosen, [name]: picked };
          files = name === "name" ? [] : files;
          refresh();
        };
        const named = all.map(([words, v]) => [v, words]);
        return field(label, menu(named, chosen[name] ?? value, take));
      }),
      menus,
    );
  }
  function fail(error: unknown) {
    const found = troubleOf(error);
    drawNotice(trouble, {
      ...found,
      title: found.details ? `${words} failed` : "",
      caution: !found.details,
    });
  }
  async function askNow() {
    if (!can || !host.ask) return;
    control?.abort();
    const mine = new AbortController();
    control = mine;
    drawNotice(trouble, { message: "" });
    status.textContent = parts.length ? "" : "Computing …";
    root.toggleAttribute("aria-busy", true);
    const stage = (text: string, done?: number | null, total?: number | null) => {
      if (control === mine)
        status.textContent = total ? `${Math.round((100 * (done ?? 0)) / total)}%: ${text}` : text;
    };
    const found = await host.ask(question(), { stage }, mine.signal).catch((error) => ({ error }));
    // Another question was asked meanwhile.
    if (control !== mine) return;
    status.textContent = "";
    root.removeAttribute("aria-busy");
    try {
      if ("error" in found) throw found.error;
      answer = found;
      draw();
    } catch (error) {
      // The menus stay: another choice may have an answer.
      answer = { choices: answer?.choices, parts: [] };
      draw();
      fail(error);
    }
  }
  const key = () =>
    JSON.stringify([run?.()?.run ?? "", options(), chosen, files.map((f) => f.name)]);
  async function refresh() {
    const now = key();
    if (now === asked || (run && !run())) return;
    asked = now;
    await askNow();
  }
  return {
    root,
    refresh,
    stale: (on: boolean) => root.classList.toggle("hsd-stale", on && Boolean(run)),
    ask(with_: File[]) {
      files = with_;
      chosen = {};
      asked = key();
      return askNow();
    },
    cancel: () => control?.abort(),
    fail,
  };
}
