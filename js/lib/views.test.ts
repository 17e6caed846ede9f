// @vitest-environment happy-dom
// Every view of the dashboard with the state that Python gives it, and what happens when one fails.
import assert from "node:assert/strict";
import { beforeEach, test, vi } from "vitest";
import { VIEWS } from "../views";
import { hsdGroup } from "./group";
import { linkedWidget, type View } from "./linked";
import { listeners } from "./listeners";
import { modelOf, STATES, small } from "./testing";

const PALETTE = { hues: {}, baselines: [], copying: [], databases: [] };

/** Open a widget as anywidget does. */
function opened(made: any, state: any) {
  const widget = typeof made === "function" ? made() : made;
  const model = modelOf(structuredClone(state));
  const el = document.body.appendChild(document.createElement("div"));
  const forget = widget.initialize?.({ model });
  const close = widget.render({ model, el });
  return { model, el, close, forget: () => forget?.() };
}

beforeEach(() => {
  document.body.replaceChildren();
  vi.stubGlobal("matchMedia", () => ({
    matches: false,
    addEventListener() {},
    removeEventListener() {},
  }));
  vi.stubGlobal("reportError", (error: unknown) => {
    throw error;
  });
});

test("each view draws the state that Python gives it, follows changes, and leaves nothing behind", {
  skip: !Object.keys(STATES).length,
}, async () => {
  const own = ["diagnosis", "doctor", "drafters"]; // of the page alone
  assert.deepEqual(
    Object.keys(STATES).sort(),
    Object.keys(VIEWS)
      .filter((name) => !own.includes(name))
      .sort(),
  );
  const all = Object.entries(STATES).flatMap(([name, states]) =>
    states.map((state) => ({ name, ...opened(VIEWS[name], state) })),
  );
  const empty = () => all.filter(({ el }) => !el.textContent?.trim()).map(({ name }) => name);
  // The game waits for its runs.
  await vi.waitFor(() => assert.deepEqual(empty(), []));
  assert.equal(document.querySelector(".hsd-notice:not([hidden])"), null);
  const [stream] = STATES.stream;
  const group = hsdGroup(stream.group);
  assert.equal(group.store.tokens.length, stream.data.tokens.token_id.length);
  const before = all.map(({ el }) => el.innerHTML);
  group.pin({ token: 5 });
  const moved = all.filter(({ el }, k) => el.innerHTML !== before[k]).map(({ name }) => name);
  for (const name of ["stream", "staircase", "scene"]) assert.ok(moved.includes(name), name);
  for (const { close } of all) close();
  assert.deepEqual(
    [...new Set(all.filter(({ el }) => el.childNodes.length).map(({ name }) => name))],
    [],
  );
  for (const { forget } of all) forget();
  assert.deepEqual(
    all.filter(({ model }) => model.heard()).map(({ name }) => name),
    [],
  );
  assert.notEqual(hsdGroup(stream.group), group, "the last model took the group with it");
});

test("a view that throws shows its card, and the others continue", () => {
  const errors: unknown[] = [];
  vi.stubGlobal("reportError", (error: unknown) => errors.push(error));
  const seen: number[] = [];
  const ended: string[] = [];
  const broken = linkedWidget(({ root, follow }: View<object>) => {
    root.append("fine so far");
    follow(null, (cursor) => {
      if (cursor.token === 1) throw new Error("no such thing");
    });
    return () => ended.push("broken");
  });
  const sound = linkedWidget(({ follow }: View<object>) =>
    follow(null, (cursor) => void seen.push(cursor.token)),
  );
  const never = linkedWidget(() => {
    throw new TypeError("not drawn");
  });
  const state = { group: "g", data: {}, palette: PALETTE };
  const [first, second, third] = [broken, sound, never].map((made) => opened(made, state));
  const group = hsdGroup("g");
  group.store.adopt(small());
  for (const token of [0, 1, 2]) group.pin({ token });
  assert.deepEqual(seen, [0, 1, 2]);
  assert.match(
    first.el.querySelector("[role=alert]")?.textContent ?? "",
    /^This view failedno such thingDetails/,
  );
  assert.doesNotMatch(first.el.textContent ?? "", /fine so far/);
  assert.match(third.el.textContent ?? "", /not drawn/);
  assert.equal(second.el.querySelector("[role=alert]"), null);
  assert.deepEqual(ended, ["broken"]);
  assert.deepEqual(errors.map(String), ["TypeError: not drawn", "Error: no such thing"]);
  for (const { close, forget } of [first, second, third]) {
    close();
    forget();
  }
  assert.equal(document.body.textContent, "");
  assert.deepEqual(ended, ["broken"], "a view ends once");
});

test("without a view the run is forgotten; a view that opens takes it from its model", () => {
  vi.useFakeTimers();
  const view = linkedWidget(() => {})();
  const model = modelOf({ group: "f", data: small(), palette: PALETTE });
  const el = document.createElement("div");
  view.initialize({ model });
  const group = hsdGroup("f");
  const [one, two] = [view.render({ model, el }), view.render({ model, el })];
  group.pin({ token: 1 });
  one();
  vi.runAllTimers();
  assert.deepEqual([group.store.tokens.length, group.cursor.pinned], [3, true]);
  two();
  const three = view.render({ model, el });
  vi.runAllTimers();
  assert.deepEqual(
    [group.store.tokens.length, group.cursor.pinned],
    [3, true],
    "opened again at once",
  );
  three();
  vi.runAllTimers();
  assert.deepEqual([group.store.tokens.length, group.store.run, group.cursor.token], [0, "", -1]);
  model.set("data", { ...small(), seq: 2 });
  assert.equal(group.store.tokens.length, 0);
  view.render({ model, el });
  assert.deepEqual([group.store.tokens.length, group.store.seq], [3, 2]);
  vi.useRealTimers();
});

test("what cannot be shown is a card in the place of its view", () => {
  const errors: unknown[] = [];
  vi.stubGlobal("reportError", (error: unknown) => errors.push(error));
  const cards = () =>
    [...document.querySelectorAll(".hsd-notice:not([hidden])")].map((card) => card.textContent);
  // A state that Python does not send.
  const broken = opened(VIEWS.doctor, { spec: null });
  assert.equal(errors.length, 1);
  assert.match(cards().join(), /^This view failed/);
  broken.close();
  assert.deepEqual(cards(), []);
  const state = { palette: PALETTE, runs: [], sources: {}, pinned: -1, time: -1 };
  const versus = opened(VIEWS.versus, state);
  assert.deepEqual(cards(), ["No runs: select two or three of one prompt."]);
  assert.ok(document.querySelector(".hsd-caution[role=alert]"));
  versus.close();
});

test("a listener that fails is removed; one removed by another is not called", () => {
  const set = listeners<[number]>();
  const calls: string[] = [];
  const second = (n: number) => void calls.push(`second ${n}`);
  set.add(
    () => {
      throw new Error("first");
    },
    (error) => void calls.push(String(error)),
  );
  set.add((n) => {
    if (n === 2) set.delete(second);
  });
  set.add(second);
  for (const n of [1, 2, 3]) set.notify(n);
  assert.deepEqual(calls, ["Error: first", "second 1"]);
});
