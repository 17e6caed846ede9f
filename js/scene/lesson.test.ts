// The first round that a reader sees, of each recording.
import assert from "node:assert/strict";
import { test } from "vitest";
import { exampleOf, lessonOf } from "../lib/lesson";
import { createStore } from "../lib/run";
import { draft, RECORDED, round, snapshot, token } from "../lib/testing";
import { createReading } from "./words";

const palette = { phrase: (source: string) => source };
const storeOf = (data: any) => {
  const store = createStore();
  store.adopt(data);
  return store;
};
const first = (data: any) => {
  const store = storeOf(data);
  const id = createReading(store, palette).usual(null, (one) => lessonOf(store, one));
  return { store, id: id as number, round: store.rounds.get(id as number) };
};

/** Whether a round of the target accepts two tokens or more before its correction. */
const acceptsTwo = (one: any) =>
  one.parent === null && one.outcome === "correction" && one.accepted >= 2;

for (const [name, data] of Object.entries(RECORDED).filter(([, run]) => run.drafts.text.length))
  test(`${name}: the first round accepts a token, two where a round does, and rejects one`, () => {
    const { store, id, round } = first(data);
    const most = [...store.rounds.values()].some(acceptsTwo) ? 2 : 1;
    assert.ok((round?.accepted ?? 0) >= most);
    assert.ok(store.drafts.get(id)?.some((d) => d.verdict === "rejected"));
    assert.equal(round?.outcome, "correction");
    const example = exampleOf(store);
    assert.equal(example?.draft.verdict, "rejected");
    assert.equal(example?.round.parent, null);
  });

const skip = !Object.keys(RECORDED).length;
test("the page opens on a round that accepts two tokens", { skip }, () => {
  assert.ok((first(RECORDED["answers/summary"]).round?.accepted ?? 0) >= 2);
});

test("plain decoding has no example", () => {
  assert.equal(exampleOf(storeOf(RECORDED.plain)), null);
});

test("a round that explains more is chosen; of equal ones the earlier", () => {
  const made = (id: number, accepted: number, verdicts: string[], text: string) => ({
    round: { ...round(id), accepted, drafted: verdicts.length },
    drafts: verdicts.map((verdict, k) => draft(id, k, k + 1, verdict, { text })),
    token: { ...token(id, "correction", { text }), p: 0.5 },
  });
  const all = [
    made(1, 0, ["rejected", "unreached"], "word"),
    made(2, 2, ["accepted", "accepted", "rejected"], "  "),
    made(3, 2, ["accepted", "accepted", "rejected"], "word"),
    made(4, 2, ["accepted", "accepted", "rejected"], "word"),
  ];
  const rows = {
    rounds: all.map((one) => one.round),
    drafts: all.flatMap((one) => one.drafts),
    tokens: all.map((one) => one.token),
  };
  const data = { ...snapshot(rows), meta: { wall_ns: 1 } };
  assert.equal(first(data).id, 3);
});

test("an example is a word before a better round that rejects a blank", () => {
  const made = (id: number, accepted: number, text: string) => ({
    round: { ...round(id), accepted, drafted: accepted + 1 },
    drafts: [
      ...Array.from({ length: accepted }, (_, k) =>
        draft(id, k, k + 1, "accepted", { text: "word" }),
      ),
      draft(id, accepted, accepted + 1, "rejected", { text }),
    ],
  });
  const all = [made(1, 3, ","), made(2, 0, "word"), made(3, 1, "word")];
  const rows = { rounds: all.map((one) => one.round), drafts: all.flatMap((one) => one.drafts) };
  const example = exampleOf(storeOf({ ...snapshot(rows), meta: { wall_ns: 1 } }));
  assert.equal(example?.round.id, 3);
  assert.equal(example?.draft.text, "word");
  assert.equal(example?.draft.verdict, "rejected");
});
