// Families that a tab can decode with after the visitor downloads them.
import { make } from "../lib/dom";
import { listeners } from "../lib/listeners";
import { megabytes } from "../lib/words";
import { Client } from "./client";
import { keeps, keptBytes, storeOf } from "./files";

/** A family of the site, as hsd_viz/views/site.py describes it. */
export interface Offer {
  family: string;
  title: string;
  /** Total size of the files. */
  bytes: number;
}
export type Stage = "absent" | "loading" | "ready" | "failed";

/** Memory of a tab besides the files: caches, logits, and a file in transfer. */
const ROOM_BYTES = 64e6;
/**
 * Minimum memory of the device in GB, which some browsers report. With less, the browser may end
 * the page without a message.
 */
const MIN_GB = 2;
/** Patience in seconds: a slow worker sends no message during a prefill of hundreds of tokens. */
const PATIENCE_S = 120;

/** A family of the tab, and its worker while it is loaded. */
export class FamilyTab {
  readonly changed = listeners<[]>();
  stage: Stage = "absent";
  /** Reason for which loading failed. */
  why = "";
  client: Client | null = null;
  /** Number of bytes of the files that the browser has cached. */
  kept = 0;
  /** Number of looks into the cache: an answer counts only if no later look has begun. */
  private looks = 0;

  constructor(readonly offer: Offer) {
    this.look();
  }

  /** Name of the target, with which the title begins. */
  get name(): string {
    return this.offer.title.split(/[,:;]/)[0];
  }
  /** Estimated memory in bytes: the files and {@link ROOM_BYTES}. */
  get memory(): number {
    return this.offer.bytes + ROOM_BYTES;
  }
  private set(stage: Stage, why = "") {
    this.stage = stage;
    this.why = why;
    this.changed.notify();
  }
  private async look() {
    this.looks += 1;
    const look = this.looks;
    const kept = await keptBytes(this.offer.family);
    if (look !== this.looks) return;
    this.kept = kept;
    this.changed.notify();
  }

  /**
   * Load the family from the site or the cache. Resolves when it can decode; rejects with a
   * one-line error.
   */
  load(): Promise<void> {
    const { deviceMemory = MIN_GB } = navigator as { deviceMemory?: number };
    if (deviceMemory < MIN_GB) {
      const has = `This device has ${deviceMemory} GB of memory`;
      const needed = `${has}: ${this.name} needs one of ${MIN_GB} GB or more.`;
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
        if (file || done < total) return this.changed.notify();
        this.look();
        this.set("ready");
        resolve();
      });
    });
  }

  /** Cancel a download. Complete files stay cached. */
  cancel() {
    this.client?.stop();
    this.client = null;
    this.set("absent");
    this.look();
  }

  /** Free the memory, and delete the cached files. */
  async remove() {
    // Stop the worker first: it may still write to the cache.
    this.client?.stop();
    if (keeps()) await caches.delete(storeOf(this.offer.family));
    this.cancel();
  }
}

/** Return a panel with the size of a family, and buttons to load, cancel and delete it. */
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
    const button = make("button", main ? "hsd-primary" : "hsd-quiet", text, { type: "button" });
    button.addEventListener("click", () => Promise.resolve(act()).catch(quiet));
    return button;
  };
  function paint() {
    const { stage, offer, kept, client } = tab;
    const isComplete = kept >= offer.bytes;
    bar.hidden = stage !== "loading";
    if (client && stage === "loading") {
      bar.max = client.loading.total || offer.bytes;
      bar.value = client.loading.done;
    }
    words.classList.toggle("hsd-warning", stage === "failed");
    words.textContent = wordsOf(tab);
    const load = isComplete ? "Load" : `Download ${megabytes(offer.bytes - kept)} MB`;
    const shown = {
      absent: [
        button(load, () => tab.load(), true),
        ...(kept ? [button("Delete", () => tab.remove())] : []),
      ],
      loading: [button("Cancel", () => tab.cancel())],
      ready: [button("Unload and delete", () => tab.remove())],
      failed: [button("Try again", () => tab.load())],
    };
    const text = shown[stage].map((element) => element.textContent).join();
    // Replace the buttons only if they differ, so that a focused one keeps the focus.
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
