// @vitest-environment happy-dom
// An open game: its keys, and the way out while its texts load and when they fail to.
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

/** A game that has the page for itself, over recordings that `recording` loads. */
function newcomersGame(recording: () => Promise<unknown>) {
  const el = document.body.appendChild(document.createElement("div"));
  const leave = vi.fn();
  const props = { ...PROPS, skip: "to_explorer", recording, leave, save: vi.fn() };
  const close = openGame(el, props as any);
  const skip = () => el.querySelector<HTMLElement>(".hsd-gm-skip");
  return { el, leave, close, skip };
}

test("a game whose recording fails to load says why, and can be left", async () => {
  const { el, leave, close, skip } = newcomersGame(async () => {
    throw new Error("plain.json: 404");
  });
  await vi.waitFor(() => assert.match(el.textContent ?? "", /The game cannot start.*404/s));
  assert.equal(document.activeElement, skip());
  skip()?.dispatchEvent(new KeyboardEvent("keydown", { key: "Escape", bubbles: true }));
  skip()?.click();
  assert.equal(leave.mock.calls.length, 2);
  close();
});

test("a game can be left while its recordings load", async () => {
  let arrive = (_run: unknown) => {};
  const { el, leave, close, skip } = newcomersGame(() => new Promise((done) => (arrive = done)));
  skip()?.click();
  assert.equal(leave.mock.calls.length, 1);
  close();
  arrive(plain);
  await new Promise((done) => setTimeout(done));
  assert.equal(el.textContent, "");
});
