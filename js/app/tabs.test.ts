// @vitest-environment happy-dom
// Tabs that ask or compare: a server's part, and a comparison of one stack.
import assert from "node:assert/strict";
import { beforeEach, test, vi } from "vitest";
import { ABOUT, RECORDED } from "../lib/testing";
import { recordingHost } from "../page/start";
import { openPage } from "./page";
import { button, emptyBrowser, opened, PAGE_TEST, text } from "./testing";

beforeEach(emptyBrowser);

test(
  "a server's part begins with an example, and nothing is replayed without a log",
  PAGE_TEST,
  async () => {
    const asked: any[] = [];
    const ask = async (question: any) => {
      asked.push(question);
      return { parts: [{ kind: "text", text: `answer ${asked.length}` }] };
    };
    const { el, close } = opened({ answers: ["record", "replay"], ask });
    await vi.waitFor(() => assert.equal(text(el, ".hsd-badge"), "Recording"));
    button(el, "Your traffic").click();
    await vi.waitFor(() => assert.match(text(el, "[data-about=replay]"), /answer/));
    assert.deepEqual(
      asked.map(({ about, options, files }) => [about, options.example, files]),
      [
        ["record", true, []],
        ["replay", true, []],
      ],
    );
    assert.equal(button(el, "Replay"), undefined);
    const field = el.querySelectorAll<HTMLInputElement>("input[type=file]")[1];
    const log = new File(['{"prompt_ids": [1], "output_ids": [2]}'], "log.jsonl");
    Object.defineProperty(field, "files", { value: [log] });
    field.dispatchEvent(new Event("change"));
    assert.equal(button(el, "Replay").disabled, false);
    button(el, "Replay").click();
    await vi.waitFor(() => assert.equal(asked.length, 3));
    assert.deepEqual([asked[2].options.example, asked[2].files[0].name], [undefined, "log.jsonl"]);
    await vi.waitFor(() => assert.equal(button(el, "Show the example").disabled, false));
    close();
  },
);

test("a comparison of one stack shows no chart of others", PAGE_TEST, async () => {
  const about = structuredClone(ABOUT);
  const runs = Object.fromEntries(
    about.races.flatMap((r: any) =>
      r.runs.map((run: any) => [run.name, { ...RECORDED.sampled, run: run.name }]),
    ),
  );
  const el = document.body.appendChild(document.createElement("div"));
  const close = openPage(el, recordingHost(about, { ...RECORDED, ...runs }));
  await vi.waitFor(() => assert.equal(text(el, ".hsd-badge"), "Recording"));
  [...el.querySelectorAll<HTMLElement>("[role=tab]")]
    .find((button) => button.textContent?.trim() === "Compare")
    ?.click();
  await vi.waitFor(() => assert.ok(el.querySelector(".hsd-vs-race")));
  const pressed = () => [
    ...el.querySelectorAll<HTMLElement>(".hsd-compare [aria-pressed=true][title]"),
  ];
  for (const chip of pressed().slice(1)) chip.click();
  await vi.waitFor(() => assert.match(text(el, ".hsd-vs-refusal"), /One run is too few/));
  assert.equal(el.querySelectorAll(".hsd-vs-race").length, 0);
  assert.equal(el.querySelectorAll(".hsd-versus .hsd-notice:not([hidden])").length, 1);
  close();
});
