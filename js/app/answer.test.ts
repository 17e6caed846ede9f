// @vitest-environment happy-dom
// An answer of a host: asked again after it failed, and closed with what it shows.
import assert from "node:assert/strict";
import { beforeEach, test, vi } from "vitest";
import { AnswerView } from "./answer";
import { emptyBrowser } from "./testing";

beforeEach(emptyBrowser);

/** An answer of a host whose `ask` and other capabilities are `host`. */
const viewOf = (host: object) =>
  new AnswerView(
    { answers: ["law"], ...host } as any,
    { about: "law", words: "The law" },
    { group: "one" },
  );

test("a question whose answer failed is asked again, one with an answer is not", async () => {
  const ask = vi.fn().mockRejectedValueOnce(new Error("lost")).mockResolvedValue({ parts: [] });
  const view = viewOf({ ask });
  await view.refresh();
  assert.match(view.root.textContent ?? "", /lost/);
  await view.refresh();
  assert.doesNotMatch(view.root.textContent ?? "", /lost/);
  await view.refresh();
  assert.equal(ask.mock.calls.length, 2);
});

test("a widget that arrives after its answer was closed is removed", async () => {
  let arrive = (_remove: () => void) => {};
  const widget = () => new Promise((done) => (arrive = done));
  const view = viewOf({ ask: async () => ({ parts: [{ kind: "widget", model: "m" }] }), widget });
  await view.refresh();
  view.close();
  const remove = vi.fn();
  arrive(remove);
  await vi.waitFor(() => assert.equal(remove.mock.calls.length, 1));
});

test("closing cancels the question in progress without a message", async () => {
  let cancelled = () => {};
  const ask = (_question: unknown, _on: unknown, signal: AbortSignal) =>
    new Promise((_, reject) => {
      cancelled = () => reject(signal.reason);
      signal.addEventListener("abort", cancelled);
    });
  const view = viewOf({ ask });
  const asked = view.refresh();
  view.close();
  await asked;
  assert.equal(view.root.querySelector(".hsd-notice:not([hidden])"), null);
});
