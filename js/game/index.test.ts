// @vitest-environment happy-dom
// The keys of an open game.
import assert from "node:assert/strict";
import { test, vi } from "vitest";
import { round, snapshot, token } from "../lib/testing";
import { openGame } from "./index";

const WORDS = ["The", " cat", " sat", " down", "."];
const plain = snapshot({
  rounds: [round(1)],
  tokens: WORDS.map((text, id) => token(1, "plain", { text, id })),
});
const GAME = { name: "cat", title: "", asked: "", given: "The", lesson: "", passes: 3 };
const PROPS = {
  palette: { hues: {}, slots: {}, sources: {} },
  games: [{ ...GAME, runs: { plain: "plain" } }],
  plays: [],
  seed: 1,
  recording: async () => plain,
  address: "",
  alone: true,
  skip: null,
  languages: {},
};

test("keys of an input method are its own: a digit and Escape do nothing", async () => {
  const el = document.body.appendChild(document.createElement("div"));
  const leave = vi.fn();
  const close = openGame(el, { ...PROPS, leave, save: vi.fn() } as any);
  await vi.waitFor(() => assert.ok(el.querySelector(".hsd-gm-choice")));
  const field = el.querySelector<HTMLInputElement>(".hsd-gm-field") as HTMLInputElement;
  const press = (key: string, isComposing: boolean) =>
    field.dispatchEvent(new KeyboardEvent("keydown", { key, isComposing, bubbles: true }));
  press("1", true);
  press("Escape", true);
  assert.equal(field.value, "");
  assert.equal(leave.mock.calls.length, 0);
  press("1", false);
  assert.equal(field.value, "cat ");
  press("Escape", false);
  assert.equal(leave.mock.calls.length, 1);
  close();
});
