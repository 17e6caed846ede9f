// What people do to a stack's blocks, as parts that Python's parser then reads.
import assert from "node:assert/strict";
import { test } from "vitest";
import * as b from "./parts";

const NAMES = ["nano", "small", "target"];
const DB = {
  databases: ["context", "model", "statistics", "logits"],
  usual: ["context", "model", "statistics"],
  options: {},
};
const model = (name, lookahead = null) => ({ kind: "model", name, lookahead });
const bottom = (name, items = []) => ({ kind: "bottom", name, items });

test("a draft model comes where the ladder has it, an unknown one directly below the target", () => {
  const start = [bottom("db"), model("small", 8), model("target")];
  assert.deepEqual(b.withModel(start, "nano", NAMES), [
    bottom("db"),
    model("nano", 4),
    model("small", 8),
    model("target"),
  ]);
  assert.deepEqual(b.withModel(start, "my/model", NAMES), [
    bottom("db"),
    model("small", 8),
    model("my/model", 4),
    model("target"),
  ]);
  assert.deepEqual(b.withModel([model("target")], "small", NAMES), [model("small", 4), model("target")]);
  assert.deepEqual(b.spare(start, NAMES), ["nano"]);
});

test("drafts move and go, the bottom and the target stay where they are", () => {
  const start = [bottom("db"), model("nano", 4), model("small", 8), model("target")];
  assert.deepEqual(
    b.withMoved(start, 0, 1).map((p) => p.name),
    ["db", "small", "nano", "target"],
  );
  assert.deepEqual(
    b.withMoved(start, 1, 0).map((p) => p.name),
    ["db", "small", "nano", "target"],
  );
  assert.deepEqual(b.withMoved(start, 1, 9), start);
  assert.deepEqual(
    b.withoutModel(start, 0).map((p) => p.name),
    ["db", "small", "target"],
  );
  assert.deepEqual(
    b.withName(start, 2, "large").map((p) => p.name),
    ["db", "nano", "small", "large"],
  );
  assert.equal(start.length, 4, "parts are never changed in place");
});

test("a lookahead stays within its bounds and may be left out", () => {
  const at = (value) => b.withLookahead([model("nano", 4), model("target")], 0, value, 64)[0].lookahead;
  assert.deepEqual([5, 0, -3, 65, 2.6, null].map(at), [5, 1, 1, 64, 3, null]);
  assert.deepEqual([b.stepped(7, 1), b.stepped(7, -1), b.stepped(null, 1)], [8, 6, 4]);
});

test("auto takes the draft models in, other bottoms leave them", () => {
  const start = [bottom("db", ["context"]), model("nano", 4), model("target")];
  assert.deepEqual(b.withBottom(start, "auto"), [bottom("auto", ["db", "nano"]), model("target")]);
  assert.deepEqual(b.withBottom([model("target")], "auto"), [bottom("auto"), model("target")]);
  assert.deepEqual(b.withBottom(start, "lookup"), [bottom("lookup"), model("nano", 4), model("target")]);
  assert.deepEqual(b.withBottom(start, null), [model("nano", 4), model("target")]);
});

test("auto may use db and what is below the target; all of it needs no brackets", () => {
  const start = [bottom("auto"), model("target")];
  assert.deepEqual(b.choices(start, NAMES), ["db", "nano", "small"]);
  assert.deepEqual(b.choices([bottom("auto"), model("small")], NAMES), ["db", "nano"]);
  const less = b.withChoice(start, "nano", NAMES);
  assert.deepEqual(less[0].items, ["db", "small"]);
  assert.deepEqual(b.withChoice(less, "nano", NAMES)[0].items, []);
  const other = [bottom("auto", ["db", "my/model"]), model("target")];
  assert.deepEqual(b.withChoice(other, "nano", NAMES)[0].items, ["db", "nano", "my/model"]);
});

test("databases keep their order, and the usual ones are not written out", () => {
  const start = [bottom("db", ["statistics", "context"]), model("target")];
  assert.deepEqual(b.itemsOf(start[0], DB), { databases: ["statistics", "context"], on: [] });
  assert.deepEqual(b.itemsOf(bottom("db"), DB).databases, DB.usual);
  assert.deepEqual(b.withItems(start, ["context", "statistics"], [], DB)[0].items, ["context", "statistics"]);
  assert.deepEqual(b.withItems(start, DB.usual, [], DB)[0].items, []);
  const found = [bottom("db", ["logits"]), model("target")];
  assert.deepEqual(b.withItems(found, ["model"], ["logits"], DB)[0].items, ["model", "logits"]);
});

test("the second click of a double click removes nothing, keys and single clicks do", () => {
  let removed = 0;
  const handler = b.once(() => {
    removed++;
  });
  for (const detail of [1, 2]) handler({ detail });
  assert.equal(removed, 1);
  for (const detail of [0, 1]) handler({ detail });
  assert.equal(removed, 3);
});
