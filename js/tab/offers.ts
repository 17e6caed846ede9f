// Families that a tab decodes with after a download that its reader asks for.
import { make } from "../lib/dom";
import { listeners } from "../lib/listeners";
import { megabytes } from "../lib/words";
import { Client } from "./client";
import { keeps, keptBytes, storeOf } from "./files";

/** What hsd_viz/views/site.py writes of a family of the site. */
export interface Offer {
  family: string;
  title: string;
  /** The size of its files. */
  bytes: number;
}
export type Stage = "absent" | "loading" | "ready" | "failed";

/** Memory of a tab besides the files: caches, logits, and a part of a file on its way. */
const ROOM_BYTES = 64e6;
/**
 * A browser says how much memory its device has, in GB, at least some do. Less than this ends a
 * page without a word.
 */
const LEAST_GB = 2;
/** A prompt of hundreds of tokens is one message of a slow worker. */
const PATIENCE_S = 120;

/** A family, and its worker while it is loaded. */
export class FamilyTab {
  readonly changed = listeners<[]>();
  stage: Stage = "absent";
  /** Why it cannot be loaded. */
  why = "";
  client: Client | null = null;
  /** Bytes of its files that this browser has kept. */
  kept = 0;

  constructor(readonly offer: Offer) {
    this.look();
  }

  /** The name of its target, which its title begins with. */
  get name(): string {
    return this.offer.title.split(/[,:;]/)[0];
  }
  /** An estimate: its files, and room for the rest. */
  get memory(): number {
    return this.offer.bytes + ROOM_BYTES;
  }
  private set(stage: Stage, why = "") {
    this.stage = stage;
    this.why = why;
    this.changed.tell();
  }
  private async look() {
    this.kept = await keptBytes(this.offer.family);
    this.changed.tell();
  }

  /**
   * Load it, from the site or from what is kept. Resolves when it decodes; rejects with a one-line
   * error.
   */
  load(): Promise<void> {
    const { deviceMemory = LEAST_GB } = navigator as { deviceMemory?: number };
    if (deviceMemory < LEAST_GB) {
      const has = `This device has ${deviceMemory} GB of memory`;
      const needed = `${has}: ${this.name} needs one of ${LEAST_GB} GB or more.`;
      this.set("failed", needed);
      return Promise.reject(new Error(needed));
    }
    if (this.client) this.client.stop();
    const base = `runtime/${this.offer.family}/`;
    const client = new Client({ script: "tab-worker.js", base, keep: true, patience: PATIENCE_S });
    this.client = client;
    this.set("loading");
    return new Promise((resolve, reject) => {
      const failed = (why: string) => {
        if (!why) return;
        this.client = null;
        this.set("failed", why);
        reject(new Error(why));
      };
      client.state.add(failed);
      if (client.why) return failed(client.why);
      client.progress.add(({ done, total, file }) => {
        if (this.client !== client) return;
        if (file || done < total) return this.changed.tell();
        this.look();
        this.set("ready");
        resolve();
      });
    });
  }

  /** End a download; what has arrived is kept. */
  cancel() {
    this.client?.stop();
    this.client = null;
    this.set("absent");
    this.look();
  }

  /** Free its memory, and delete what the browser has kept. */
  async remove() {
    if (keeps()) await caches.delete(storeOf(this.offer.family));
    this.cancel();
  }
}

/** What a page shows of a family: its size, and buttons to load, cancel and delete it. */
export function offerPanel(tab: FamilyTab): HTMLElement {
  const root = make("div", "hsd-offer");
  root.setAttribute("role", "group");
  root.setAttribute("aria-label", `Download of ${tab.name}`);
  const words = make("p", "hsd-note");
  words.setAttribute("role", "status");
  const bar = make("progress", "");
  const buttons = make("div", "hsd-buttons");
  root.append(words, bar, buttons);
  const quiet = () => {};
  const button = (text: string, act: () => unknown, main = false) => {
    const made = make("button", main ? "hsd-primary" : "hsd-quiet", text, { type: "button" });
    made.addEventListener("click", () => Promise.resolve(act()).catch(quiet));
    return made;
  };
  function paint() {
    const { stage, offer, kept, client } = tab;
    const whole = kept >= offer.bytes;
    bar.hidden = stage !== "loading";
    if (client && stage === "loading") {
      bar.max = client.loading.total || offer.bytes;
      bar.value = client.loading.done;
    }
    words.classList.toggle("hsd-warning", stage === "failed");
    words.textContent = wordsOf(tab);
    const load = whole ? "Load" : `Download ${megabytes(offer.bytes - kept)} MB`;
    const shown = {
      absent: [
        button(load, () => tab.load(), true),
        ...(kept ? [button("Delete", () => tab.remove())] : []),
      ],
      loading: [button("Cancel", () => tab.cancel())],
      ready: [button("Unload and delete", () => tab.remove())],
      failed: [button("Try again", () => tab.load())],
    };
    const text = shown[stage].map((one) => one.textContent).join();
    // While it loads, only the words change: a focused button stays.
    if (buttons.dataset.shown !== text) buttons.replaceChildren(...shown[stage]);
    buttons.dataset.shown = text;
  }
  tab.changed.add(paint);
  paint();
  return root;
}

function wordsOf({ name, stage, why, offer, kept, client, memory }: FamilyTab): string {
  if (stage === "failed") return why;
  if (stage === "loading") {
    const { done, total } = client?.loading ?? { done: 0, total: 0 };
    return total ? `${megabytes(done)} MB of ${megabytes(total)} MB` : "Starting";
  }
  const estimated = `in an estimated ${megabytes(memory)} MB of memory`;
  if (stage === "ready") return `${name} is loaded: it decodes in this tab, ${estimated}.`;
  if (kept >= offer.bytes)
    return `${name} is kept in this browser. It decodes in this tab, ${estimated}.`;
  const stays = keeps() ? "The browser keeps it." : "Over plain HTTP the browser does not keep it.";
  const rest = kept ? ` ${megabytes(kept)} MB have arrived.` : "";
  const download = `after a download of ${megabytes(offer.bytes)} MB`;
  return `${name} decodes in this tab ${download}, ${estimated}. ${stays}${rest}`;
}
