// The visitor's proposals against recorded runs.
import assert from "node:assert/strict";
import { test } from "vitest";
import { createStore } from "../lib/run";
import { RECORDED, small } from "../lib/testing";
import { afterPasses, choicesAt, verify } from "./game";

const storeOf = (data: any) => {
  const store = createStore();
  store.adopt(data);
  return store;
};

for (const [name, data] of Object.entries(RECORDED))
  test(`${name}: right tokens are accepted, wrong ones stop, the text stays`, () => {
    const store = storeOf(data);
    const { tokens } = store;
    for (let at = 0; at < tokens.length - 4; at += 7) {
      const right = tokens.slice(at, at + 3).map((t) => ({ id: t.token_id, text: t.text }));
      assert.deepEqual(verify(store, at, right), { accepted: 3, own: at + 3, rejected: null });
      const wrong = choicesAt(store, at + 1).find((c) => c.id !== tokens[at + 1].token_id);
      if (wrong) {
        const result = verify(store, at, [right[0], wrong, right[2]]);
        assert.deepEqual(
          [result.accepted, result.own, result.rejected?.text],
          [1, at + 1, wrong.text],
        );
      }
      const ids = choicesAt(store, at).map((c) => c.id);
      assert.ok(ids.includes(tokens[at].token_id) && new Set(ids).size === ids.length);
      assert.deepEqual(
        [...ids].sort((a, b) => a - b),
        ids,
        "the order gives nothing away",
      );
      const typed = verify(store, at, [{ id: null, text: right.map((t) => t.text).join("") }]);
      if (right.every((t) => t.text)) assert.ok(typed.accepted === 3 && typed.rejected === null);
    }
    // The last token is the target's own: a proposal cannot pass the end.
    const last = tokens.length - 1;
    assert.deepEqual(verify(store, last, [{ id: tokens[last].token_id, text: "" }]), {
      accepted: 0,
      own: last,
      rejected: null,
    });
  });

test("typed text counts by whole tokens", () => {
  const store = storeOf(small());
  const typed = (text: string) => verify(store, 0, [{ id: null, text }]);
  assert.deepEqual(
    [typed("xx").accepted, typed("xy").accepted, typed("").accepted, typed("y").accepted],
    [2, 1, 0, 0],
  );
  assert.equal(typed("xy").rejected?.text, "y");
  assert.equal(afterPasses([2, 1, 4], 2), 3);
});
