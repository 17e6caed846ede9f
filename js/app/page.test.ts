// @vitest-environment happy-dom
// The page over recorded runs: what it shows, what needs Python, and its tabs.
import assert from "node:assert/strict";
import { beforeEach, expect, test, vi } from "vitest";
import { lostError } from "../host";
import { groups } from "../lib/group";
import { RECORDED } from "../lib/testing";
import { button, emptyBrowser, isFolded, opened, PAGE_TEST, text } from "./testing";

beforeEach(emptyBrowser);

test(
  "without Python the page shows recorded runs, and says what to run for the rest",
  PAGE_TEST,
  async () => {
    const { el, close } = opened();
    await vi.waitFor(() => assert.ok(el.querySelectorAll(".hsd-tok[data-i]").length > 20));
    assert.equal(text(el, ".hsd-badge"), "Recording");
    assert.equal(el.querySelector(".hsd-controls"), null);
    assert.match(text(el, ".hsd-tiles"), /Speed.*tokens\/s.*Mean acceptance length/);
    assert.match(text(el, ".hsd-foot"), /temperature 0.7/);
    for (const tab of el.querySelectorAll<HTMLElement>("[role=tab]")) {
      tab.click();
      assert.equal(text(el, ".hsd-main > .hsd-notice:not([hidden])"), "", tab.textContent ?? "");
      const title = tab.textContent?.trim() ?? "";
      assert.equal(isFolded(el), ["Why", "Databases", "Time"].includes(title), title);
    }
    assert.match(el.textContent ?? "", /hsd-viz replay LOG.jsonl --tokenizer PATH/);
    button(el, "Why").click();
    button(el, "Show the text").click();
    assert.equal(isFolded(el), false);
    button(el, "Hide the text").click();
    assert.equal(isFolded(el), true);
    const select = el.querySelector<HTMLSelectElement>(".hsd-run-select") as HTMLSelectElement;
    select.value = "plain";
    select.dispatchEvent(new Event("change"));
    await vi.waitFor(() => assert.match(text(el, ".hsd-player-place"), /rounds/));
    close();
    assert.equal(el.textContent, "");
  },
);

test("hostile text of a run and of an answer is never markup", PAGE_TEST, async () => {
  const bad = "<img src=x onerror=alert(1)>";
  const run = structuredClone(RECORDED.sampled);
  run.prompt = bad;
  run.tokens.text = run.tokens.text.map(() => bad);
  run.drafts.text = run.drafts.text.map(() => bad);
  run.meta = { ...run.meta, stack: bad, device_name: bad };
  const answer = {
    parts: [{ kind: "text", text: bad }],
  };
  const { el, close } = opened({
    answers: ["law", "doctor", "report", "predict"],
    ask: async () => answer,
    recording: async () => run,
  });
  await vi.waitFor(() => assert.ok(el.querySelectorAll(".hsd-tok[data-i]").length));
  for (const tab of el.querySelectorAll<HTMLElement>("[role=tab]")) {
    tab.click();
    await new Promise((done) => setTimeout(done, 30));
  }
  expect(el.querySelectorAll("img").length).toBe(0);
  assert.match(el.textContent ?? "", /onerror=alert/);
  close();
});

test("arrow keys go round the menu of the run", PAGE_TEST, async () => {
  const { el, close } = opened();
  await vi.waitFor(() => assert.equal(text(el, ".hsd-badge"), "Recording"));
  button(el, "Why").click();
  const items = [...el.querySelectorAll<HTMLElement>(".hsd-run-menu [role=menuitem]")];
  const press = (key: string) =>
    document.activeElement?.dispatchEvent(new KeyboardEvent("keydown", { key, bubbles: true }));
  items[0].focus();
  press("ArrowUp");
  assert.equal(document.activeElement, items.at(-1));
  press("ArrowDown");
  assert.equal(document.activeElement, items[0]);
  press("End");
  assert.equal(document.activeElement, items.at(-1));
  close();
});

test(
  "the tabs are above the run, and every headline names where its figure comes from",
  PAGE_TEST,
  async () => {
    const { el, close } = opened();
    await vi.waitFor(() => assert.equal(text(el, ".hsd-badge"), "Recording"));
    const main = el.querySelector(".hsd-main") as HTMLElement;
    assert.ok(main.firstElementChild?.querySelector("[role=tablist]"));
    const headline = () =>
      [...el.querySelectorAll<HTMLElement>(".hsd-headline")].find(
        (element) => !element.hidden && element.textContent,
      );
    for (const title of ["Watch", "Why", "Databases", "Time"]) {
      button(el, title).click();
      assert.ok(main.children[1].matches(".hsd-runbar"), "the bar of the run is below the tabs");
      await vi.waitFor(() =>
        assert.match(
          headline()?.querySelector(".hsd-chips > span")?.textContent ?? "",
          / · recorded$/,
        ),
      );
    }
    button(el, "Your traffic").click();
    assert.match(text(el, ".hsd-panel .hsd-headline"), /^Would it speed up your server\?/);
    close();
  },
);

test("a page that closes leaves no listener and no group of its tabs", PAGE_TEST, async () => {
  let listeners = 0;
  vi.stubGlobal("matchMedia", () => ({
    matches: false,
    addEventListener: () => (listeners += 1),
    removeEventListener: () => (listeners -= 1),
  }));
  const before = [...groups.keys()];
  const { el, close } = opened();
  await vi.waitFor(() => assert.equal(text(el, ".hsd-badge"), "Recording"));
  for (const tab of el.querySelectorAll<HTMLElement>("[role=tab]")) tab.click();
  for (const folder of el.querySelectorAll("details")) folder.open = true;
  await new Promise((done) => setTimeout(done, 30));
  await vi.waitFor(() => assert.ok(listeners > 0));
  close();
  assert.equal(listeners, 0);
  assert.deepEqual([...groups.keys()], before);
});

test("an answer is asked for again when the host is back", PAGE_TEST, async () => {
  let lose = (_why: string) => {};
  const watch = (heard: (why: string) => void) => {
    lose = heard;
    return () => {};
  };
  let isLost = true;
  const ask = async () => {
    if (isLost) throw lostError("no kernel");
    return { parts: [{ kind: "text", text: "the diagnosis" }] };
  };
  const { el, close } = opened({ answers: ["doctor"], ask, watch });
  await vi.waitFor(() => assert.match(text(el, "[data-about=doctor]"), /no kernel/));
  lose("no kernel");
  isLost = false;
  lose("");
  await vi.waitFor(() => assert.match(text(el, "[data-about=doctor]"), /the diagnosis/));
  close();
});
