// Pages for tests: over recorded runs, and a host that waits.
import { vi } from "vitest";
import { ABOUT, RECORDED } from "../lib/testing";
import { recordingHost } from "../page/start";
import { openPage } from "./page";

/** Without the recorded runs of tests/js/references.py, tests of the page are skipped. */
export const skip = !Object.keys(RECORDED).length;
/** The options of a test that opens a page. */
export const PAGE_TEST = { skip };

/** Empty the document and what the browser keeps; errors of the page fail the test. */
export function emptyBrowser() {
  document.body.replaceChildren();
  localStorage.clear();
  sessionStorage.clear();
  vi.stubGlobal("reportError", (error: unknown) => {
    throw error;
  });
  vi.stubGlobal("matchMedia", () => ({
    matches: false,
    addEventListener() {},
    removeEventListener() {},
  }));
}

/** A page over recorded runs; `more` are capabilities of the host. */
export function opened(more: object = {}) {
  const about = { ...structuredClone(ABOUT), races: [] };
  const host = { ...recordingHost(about, RECORDED), ...more } as any;
  const el = document.body.appendChild(document.createElement("div"));
  return { host, el, close: openPage(el, host) };
}
export const text = (el: Element, selector: string) =>
  el.querySelector(selector)?.textContent?.replace(/\s+/g, " ").trim() ?? "";
/** Whether the text is two lines. */
export const isFolded = (el: Element) =>
  el.querySelector(".hsd-main")?.classList.contains("hsd-folded");
export const button = (el: Element, words: string) =>
  [...el.querySelectorAll("button")].find(
    (b) => b.textContent?.trim() === words,
  ) as HTMLButtonElement;

/**
 * A host that has begun a run and then waits; `lose` reports that it is lost, `fail` ends its
 * decode.
 */
export function waitingHost() {
  const hold = { lose: (_why: string) => {}, fail: (_error: Error) => {} };
  const host = {
    watch(heard: (why: string) => void) {
      hold.lose = heard;
      return () => {};
    },
    decode(_: unknown, on: any) {
      const { meta } = RECORDED.sampled;
      on.begin({ ...RECORDED.sampled, run: "live", meta: { ...meta, wall_ns: null } });
      return new Promise((_done, fail) => {
        hold.fail = fail;
      });
    },
  };
  return { host, hold };
}
