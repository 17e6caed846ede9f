// The tab about the visitor's own server: a diagnosis of what limits it, from a record, and a
// replay of drafters over a log of its texts. Both begin with an example.
import { html, nothing, render } from "lit-html";
import type { FileContent } from "../host";
import { make } from "../lib/dom";
import { area, field, menu } from "../lib/fields";
import { AnswerView, elsewhere } from "./answer";
import { dropField, MAX_BYTES, read } from "./files";
import LEDES from "./ledes.json";
import type { Context, Section } from "./section";

const MEGABYTES = MAX_BYTES / 1e6;
const LOGS =
  `JSON lines or one array, also .gz, up to ${MEGABYTES} MB (the command takes any size): ` +
  "prompt and output as text or token ids, OpenAI chat logs, ShareGPT.";
const TOKENIZERS = [
  ["target", "the ladder's, with its databases"],
  ["", "none: token ids"],
  ["own", "another model's file"],
];
const COSTS = [
  ["cpu", "0.15 steps per token (small CPU)"],
  ["free16", "free up to 16 tokens (GPU with room)"],
];
const DRAFTERS = ["db", "hd", "lookup", "sam", "suffix", "ngram-cache"];

/** A part of the tab: a title, and a form above its answer. */
function partOf(title: string, lede: string) {
  const root = make("section", "hsd-part hsd-traffic");
  const form = make("div", "hsd-form hsd-measure");
  const head = make("div", "hsd-traffic-head");
  head.append(make("h3", "", title), make("p", "hsd-lede", lede), form);
  root.append(head);
  return { root, form };
}

/** The diagnosis of a record of a serving engine: an example until the visitor opens a file. */
export function record({ host, state }: Context): Section {
  const { root, form } = partOf("What limits a server", LEDES.record);
  let isExample = true;
  const answers = new AnswerView(
    host,
    {
      about: "record",
      words: "The diagnosis of a record",
      options: () => (isExample ? { example: true } : {}),
    },
    state,
  );
  root.append(answers.root);
  if (!host.ask || !host.answers.includes("record")) return { root };
  const take = (file: File) => {
    isExample = false;
    void read(file).then((upload) => answers.ask([upload]), answers.fail);
  };
  render(dropField("Record: choose a file, or drop it here", "", take), form);
  return { root, refresh: answers.refresh, close: () => answers.close() };
}

/** The settings of a replay. */
interface Values {
  tokenizer: string;
  costs: string;
  drafters: string;
}

/** The form of a replay and its answer. */
class Replay {
  readonly root: HTMLElement;
  private readonly form: HTMLElement;
  private readonly made: AnswerView;
  private values: Values = { tokenizer: "target", costs: "cpu", drafters: DRAFTERS.join("\n") };
  private log: File | null = null;
  private tokenizer: File | null = null;
  /** Whether the example is shown: until the visitor opens a log. */
  private isExample = true;
  private busy = false;
  private isStarted = false;

  constructor({ host, state }: Context) {
    const part = partOf("What drafters would bring", LEDES.replay);
    this.root = part.root;
    this.form = part.form;
    const options = () => (this.isExample ? { ...this.values, example: true } : this.values);
    this.made = new AnswerView(
      host,
      { about: "replay", words: "The replay", options: () => ({ ...options() }) },
      state,
    );
    if (host.answers.includes("replay")) this.root.append(this.made.root);
  }

  close() {
    this.made.close();
  }
  private set(change: Partial<Values>) {
    this.values = { ...this.values, ...change };
    this.paint();
  }
  /** Replay the visitor's log or the example. */
  private async start(isExample: boolean) {
    if (this.busy) return;
    this.isExample = isExample;
    this.isStarted = true;
    this.busy = true;
    this.paint();
    try {
      await this.made.ask(isExample ? [] : await this.files());
    } catch (error) {
      this.made.fail(error);
    } finally {
      this.busy = false;
      this.paint();
    }
  }
  private async files(): Promise<FileContent[]> {
    const { log, tokenizer } = this;
    if (!log) throw new Error("no log: drop a file on the field above, or open one");
    if (this.values.tokenizer !== "own") return [await read(log)];
    if (!tokenizer)
      throw new Error(
        "no tokenizer: open the tokenizer.json of the log's model, or choose another",
      );
    return [await read(log), await read(tokenizer)];
  }

  /** Replay the example when the tab is first shown. */
  refresh = () => {
    if (this.isStarted) return;
    void this.start(true);
  };
  paint() {
    const { values } = this;
    const takeLog = (file: File) => {
      this.log = file;
      this.paint();
    };
    const takeTokenizer = (file: File) => void (this.tokenizer = file);
    const tokenizers = menu(TOKENIZERS, values.tokenizer, (tokenizer) => this.set({ tokenizer }));
    const costs = menu(COSTS, values.costs, (costs) => this.set({ costs }));
    const tokenizerField = dropField(
      "The tokenizer.json of the log's model",
      ".json",
      takeTokenizer,
    );
    const settings = html`<p class="hsd-note">${LOGS}</p>
      <div class="hsd-fields">
        ${field("Tokenizer of the log", tokenizers)}${field("Cost of verifying a draft", costs)}
      </div>
      ${values.tokenizer === "own" ? tokenizerField : nothing}
      ${area("Drafters, one per line", 6, values.drafters, (drafters) => this.set({ drafters }))}`;
    render(
      html`${dropField("Log: choose a file, or drop it here", ".jsonl,.json,.gz", takeLog)}
        <details class="hsd-settings">
          <summary>Settings</summary>
          <div>${settings}</div>
        </details>
        ${this.buttons()}`,
      this.form,
    );
  }
  /** The buttons that start and cancel a replay. */
  private buttons() {
    const { log, busy } = this;
    if (!log && !busy) return nothing;
    return html`<div class="hsd-buttons">
        <button
          type="button"
          class="hsd-primary"
          title="Ctrl+Enter"
          ?disabled=${busy || !log}
          @click=${() => this.start(false)}
        >
          Replay
        </button>
        <button type="button" ?disabled=${!busy} @click=${() => this.made.cancel()}>Cancel</button>
      </div>
      ${this.isExample ? nothing : this.exampleButton()}`;
  }
  private exampleButton() {
    return html`<button
      type="button"
      class="hsd-quiet"
      ?disabled=${this.busy}
      @click=${() => this.start(true)}
    >
      Show the example
    </button>`;
  }
}

/** The part that replays a log of another server with any drafter. */
export function traffic(context: Context): Section {
  const { host } = context;
  const replay = new Replay(context);
  if (host.ask && host.answers.includes("replay")) {
    replay.paint();
    return { root: replay.root, refresh: replay.refresh, close: () => replay.close() };
  }
  const card = make("div");
  render(elsewhere("replay", "Replaying a log"), card);
  replay.root.append(card);
  return { root: replay.root };
}
