// The run, its events and the rules of the cursor.
import assert from "node:assert/strict";
import { test } from "vitest";
import { advance } from "./events";
import { createGroup, hsdGroup } from "./group";
import { paletteOf } from "./palette";
import { createStore } from "./run";
import { draft, RECORDED, round, small, snapshot, tables, token } from "./testing";
import { duration, eventText, figure, glyphs, visible } from "./words";

const eventsOf = (store) =>
  store.index().events.map((e) => `${e.round} ${e.kind} ${e.token}/${e.shown}`);
const group = (data = small()) => {
  const made = createGroup();
  made.store.adopt(data);
  return made;
};
const key = (g, name, more = {}) => {
  const event = { key: name, target: {}, preventDefault() {}, stopPropagation() {}, ...more };
  return g.keydown(event);
};

test("a round is its draft, the verdicts by depth, and its own token", () => {
  const store = createStore();
  store.adopt(small());
  assert.deepEqual(eventsOf(store), [
    "2 draft 0/0",
    "2 verdict 0/1",
    "2 verdict 1/1",
    "2 token 1/2",
    "3 token 2/3",
  ]);
  const { events, rounds, placeOf, stepOf } = store.index();
  assert.deepEqual(
    events.map((e) => e.draft?.verdict),
    [undefined, "accepted", "rejected", undefined, undefined],
  );
  assert.deepEqual(rounds, [
    { id: 2, begin: 0, end: 4, first: 0, count: 2 },
    { id: 3, begin: 4, end: 5, first: 2, count: 1 },
  ]);
  assert.deepEqual(
    [[...placeOf], stepOf],
    [
      [
        [2, 0],
        [3, 1],
      ],
      [1, 3, 4],
    ],
  );
  assert.equal(store.topRound(1), 2);
  assert.equal(store.topRound(77), null);
});

test("rejected tokens of a tree precede the accepted one of their depth, or are at the end", () => {
  const store = createStore();
  store.adopt(
    snapshot({
      rounds: [round(5, { outcome: "stopped" })],
      drafts: [
        draft(5, 0, 1, "accepted"),
        draft(5, 1, 1, "rejected", { parent: -1 }),
        draft(5, 2, 2, "rejected", { parent: 0 }),
        draft(5, 3, 2, "cut", { parent: 0 }),
      ],
      tokens: [token(5, "accepted", { depth: 1 })],
    }),
  );
  assert.deepEqual(eventsOf(store), [
    "5 draft 0/0",
    "5 verdict 0/0",
    "5 verdict 0/1",
    "5 verdict 0/1",
  ]);
});

test("steps extend the run once, in order; a gap wants a snapshot; an older one is ignored", () => {
  const store = createStore();
  const heard = [];
  store.listeners.add((what, from) => heard.push([what, from]));
  store.adopt(small());
  const step = tables({ rounds: [round(4)], tokens: [token(4, "plain")] });
  const message = (first, n = 1) => ({
    kind: "append",
    run: "r",
    first,
    seq: first + n - 1,
    steps: Array(n).fill(step),
  });
  assert.equal(store.receive(message(2)), true);
  assert.equal(store.receive(message(2)), true);
  assert.equal(store.tokens.length, 4);
  assert.equal(store.index().events.length, 6);
  assert.equal(store.receive(message(4)), false);
  assert.equal(store.receive({ ...message(3), run: "other" }), false);
  store.adopt(snapshot({}, "r", 1));
  assert.equal(store.tokens.length, 4);
  assert.deepEqual(heard, [
    ["reset", 0],
    ["append", 3],
  ]);
});

test("the end of a live run brings the times that are known only then, once", () => {
  const store = createStore();
  const heard = [];
  store.listeners.add((what, from) => heard.push([what, from]));
  store.adopt({ ...small(), meta: { wall_ns: null } });
  store.adopt({ ...small(), meta: { wall_ns: 7 } });
  store.adopt({ ...small(), meta: { wall_ns: 8 } });
  assert.equal(store.meta.wall_ns, 7);
  assert.equal(store.tokens.length, 3);
  assert.deepEqual(heard, [
    ["reset", 0],
    ["append", 3],
  ]);
});

test("hover previews, a pin stays, and letting go gives the pointer back its own", () => {
  const g = group();
  g.hover({ token: 2 });
  assert.deepEqual(
    [g.cursor.token, g.cursor.round, g.cursor.step, g.cursor.pinned],
    [2, 3, 4, false],
  );
  g.pin({ token: 0 });
  assert.deepEqual([g.cursor.token, g.cursor.pinned, g.cursor.hover.token], [0, true, 2]);
  g.hover(null);
  assert.deepEqual([g.cursor.token, g.cursor.pinned, g.cursor.hover], [0, true, null]);
  assert.equal(g.release(), true);
  assert.deepEqual([g.cursor.token, g.cursor.pinned], [0, false]);
  assert.equal(g.release(), false);
  g.hover({ round: 1 }); // a round of the level below stands for the target round that it served
  assert.deepEqual([g.cursor.round, g.cursor.step, g.cursor.inner], [2, 0, 1]);
  g.hover({ round: 2 });
  assert.deepEqual([g.cursor.round, g.cursor.step, g.cursor.inner], [2, 0, null]);
  g.pin({ token: 99 });
  assert.equal(g.cursor.pinned, false);
});

test("keys go by event, round and token, keep a pin, and leave buttons and shortcuts alone", () => {
  const g = group();
  const steps = (...names) =>
    names.map((name) => {
      const [shift, plain] = name.startsWith("+") ? [true, name.slice(1)] : [false, name];
      assert.equal(key(g, plain, { shiftKey: shift }), true);
      return g.cursor.step;
    });
  assert.deepEqual(
    steps("ArrowRight", "ArrowRight", "ArrowLeft", "End", "ArrowRight", "Home"),
    [0, 1, 0, 4, 4, 0],
  );
  assert.deepEqual(
    steps("+ArrowRight", "+ArrowRight", "+ArrowLeft", "ArrowRight", "+ArrowLeft"),
    [4, 4, 0, 1, 0],
  );
  assert.deepEqual(steps(".", ".", ".", ".", ",", ","), [1, 3, 4, 4, 3, 1]);
  steps("ArrowRight");
  assert.deepEqual(steps(",", ".", "Enter", "ArrowRight"), [1, 3, 3, 4]);
  assert.equal(g.cursor.pinned, true);
  assert.equal(key(g, "ArrowLeft", { ctrlKey: true }), false);
  assert.equal(key(g, "d"), false);
  const within = (tag) => ({
    target: { closest: (names) => (names.split(", ").includes(tag) ? {} : null) },
  });
  for (const [name, tag] of [
    ["ArrowLeft", "input"],
    ["Home", "select"],
    ["Enter", "button"],
    [" ", "summary"],
  ]) {
    assert.equal(key(g, name, within(tag)), false, `${name} in ${tag}`);
  }
  assert.equal(g.cursor.step, 4);
  assert.equal(key(g, "ArrowLeft", within("button")), true);
  key(g, "Escape");
  assert.equal(g.cursor.pinned, false);
});

test("a fuller copy of the same run keeps the cursor, another run begins without one", () => {
  const g = group();
  g.pin({ token: 1 });
  g.store.adopt({ ...small(), seq: 2 });
  assert.deepEqual([g.cursor.token, g.cursor.pinned], [1, true]);
  g.store.adopt(small().run === "r" ? { ...small(), run: "s" } : null);
  assert.deepEqual([g.cursor.token, g.cursor.pinned], [-1, false]);
});

test("listeners hear of changes only", () => {
  const g = group();
  let heard = 0;
  g.listeners.add(() => heard++);
  g.hover({ token: 1 });
  g.hover({ token: 1 });
  g.hover(null);
  g.hover(null);
  g.pin(null);
  assert.equal(heard, 2);
});

test("playing goes from event to event by its speed, as recorded by the time of its round", () => {
  const store = createStore();
  store.adopt(small());
  assert.deepEqual(advance(store, 0, 250, 4), [1, 0]);
  assert.deepEqual(advance(store, 0, 600, 4), [2, 100]);
  assert.deepEqual(advance(store, 0, 1e9, 4), [4, 0]);
  // Round 2 took 4 ms and has four events.
  assert.deepEqual(advance(store, 0, 2.5, "recorded"), [2, 0.5]);
});

test("played, the text counts up to the cursor and stops; Escape shows it all", async () => {
  const g = group();
  g.pace(200);
  const shown = new Set();
  g.listeners.add((c) => shown.add(c.shown));
  assert.equal(key(g, " "), true);
  assert.equal(g.cursor.playing, true);
  g.hover({ token: 2 });
  assert.notEqual(g.cursor.step, 4, "the pointer does not steal a cursor that plays");
  g.hover(null);
  while (g.cursor.playing) await new Promise((r) => setTimeout(r, 5));
  assert.deepEqual([g.cursor.step, g.cursor.shown], [4, 3]);
  assert.deepEqual(
    [...shown].filter((n) => n !== null).sort(),
    [0, 1, 2, 3].filter((n) => shown.has(n)),
  );
  g.scrub(0);
  assert.deepEqual([g.cursor.step, g.cursor.shown], [0, 0]);
  assert.equal(g.release(), true);
  assert.equal(g.cursor.shown, null);
});

test("views find their group by its name", () => {
  assert.equal(hsdGroup("a"), hsdGroup("a"));
  assert.notEqual(hsdGroup("a"), hsdGroup("b"));
  assert.notEqual(hsdGroup(""), hsdGroup(""));
});

test("text that hides is shown as its code point, figures are short", () => {
  assert.equal(visible("a\u202eb\u200b\n"), "a‹U+202E›b‹U+200B›\n");
  assert.equal(glyphs(" \t\n"), "␣⇥↵");
  assert.deepEqual([null, 0, 1, 0.25, 0.0001].map(figure), ["–", "0", "1", "0.250", "1.0e-4"]);
  assert.deepEqual([null, 1500, 12_340_000, 2e9].map(duration), [
    "–",
    "1.50 µs",
    "12.3 ms",
    "2.00 s",
  ]);
});

test("sources have families and words, events have sentences", () => {
  const hues = Object.fromEntries(
    ["context", "nano", "draft", "baseline", "target"].map((n) => [
      n,
      { label: `${n} label`, light: "#000", dark: "#fff" },
    ]),
  );
  const palette = paletteOf({ hues, baselines: ["lookup"], copying: [], databases: ["context"] });
  assert.deepEqual(["context", "my/model", "lookup", "target"].map(palette.family), [
    "context",
    "draft",
    "baseline",
    "target",
  ]);
  assert.deepEqual(["context", "model", "my/model", "lookup", "target"].map(palette.phrase), [
    "copying",
    "the model database",
    "the draft model my/model",
    "prompt lookup",
    "the target",
  ]);
  const { store } = group();
  assert.deepEqual(
    store.index().events.map((_, i) => eventText(store, palette, i)),
    [
      "3 draft tokens proposed by the draft model nano",
      "“x”, drafted by the draft model nano, is accepted",
      "“x”, drafted by the draft model nano, is rejected",
      "The target adds “x”: correction",
      "The target adds “x”: no draft",
    ],
  );
});

test("every token of the recorded runs has one event, and what is shown only grows", {
  skip: !Object.keys(RECORDED).length,
}, () => {
  const runs = Object.entries(RECORDED);
  assert.ok(runs.length > 3);
  for (const [name, data] of runs) {
    const store = createStore();
    store.adopt(data);
    const { events, rounds, stepOf } = store.index();
    assert.equal(stepOf.length, store.tokens.length, name);
    stepOf.forEach((step, i) =>
      assert.deepEqual([events[step].token, events[step].shown], [i, i + 1]),
    );
    events.forEach((e, k) => assert.ok(k === 0 || e.shown >= events[k - 1].shown));
    assert.equal(
      rounds.reduce((sum, r) => sum + r.count, 0),
      store.tokens.length,
    );
    const refused = data.drafts.round.filter(
      (id, k) => data.drafts.verdict[k] === "rejected" && store.order.has(id),
    );
    assert.equal(
      events.filter((e) => e.draft?.verdict === "rejected").length,
      refused.length,
      name,
    );
    assert.ok(
      events.every((e) => e.kind !== "verdict" || e.draft),
      name,
    );
    assert.ok(store.calls.length && store.meta.wall_ns > 0);
  }
});

test("places can be pointed at; views are notified once, and another run forgets it", () => {
  const g = group();
  const heard = [];
  g.listeners.add((now) => heard.push(now.lit));
  g.light(3);
  g.light(3);
  g.light(3, true);
  g.light(null);
  g.light(null);
  assert.deepEqual(heard, [
    { positions: [3], reveal: false },
    { positions: [3], reveal: true },
    null,
  ]);
  g.light([1, 4]);
  assert.deepEqual(g.cursor.lit?.positions, [1, 4]);
  g.light(5);
  g.store.adopt(snapshot({}, "another"));
  assert.equal(g.cursor.lit, null);
});
