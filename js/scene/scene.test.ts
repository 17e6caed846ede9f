// The scene of a round: chips, floors, beams and times of recorded rounds.
import assert from "node:assert/strict";
import { test } from "vitest";
import { createStore } from "../lib/run";
import { draft, RECORDED, round, small } from "../lib/testing";
import { handedUp } from "./chain";
import { beside, chipOf, moveAt, PACE, paceOf, sceneOf, stillsOf, timeOf } from "./scene";
import { OWN } from "./words";

const storeOf = (data: any) => {
  const store = createStore();
  store.adopt(data);
  return store;
};

for (const [name, data] of Object.entries(RECORDED))
  test(`${name}: each token is one chip, and the highest floor ends as the round's text`, () => {
    const store = storeOf(data);
    const { rounds } = store.index();
    for (const { id, first, count } of rounds) {
      const scene = sceneOf(store, id);
      const text = scene.chips
        .filter((c) => c.rest === scene.round.level)
        .sort((a, b) => a.column - b.column);
      const cut = text.filter((c) => c.judged.at(-1)?.draft.verdict === "cut");
      assert.deepEqual(cut, []);
      assert.deepEqual(
        text.map((c) => [c.column, c.text, c.source]),
        store.tokens.slice(first, first + count).map((t, k) => [k, t.text, t.source]),
      );
      // Every draft row of the round and of the rounds below belongs to one chip, and every chip
      // has its rows.
      const inside = new Set(scene.beams.map((b) => b.round.id));
      const judged = scene.chips.flatMap((c) => c.judged.map((j) => j.draft));
      const rows = [...inside].flatMap((r) => store.drafts.get(r) ?? []);
      assert.equal(new Set(judged).size, judged.length);
      assert.equal(judged.length, rows.length);
      assert.equal(
        inside.size,
        1 +
          [...store.rounds.values()].filter((r) => r.parent !== null && store.topRound(r.id) === id)
            .length,
      );
      for (const chip of scene.chips) {
        chip.judged.forEach(({ draft }) => void assert.equal(draft.text, chip.text));
        chip.moves.forEach(
          (m, k) => void assert.ok(m.at >= (chip.moves[k - 1]?.at ?? 0) - 1e-9 && m.at <= 1),
        );
        assert.equal(chip.moves.at(-1)?.floor, chip.rest);
        assert.ok(chip.rows[chip.rest] < scene.rows[chip.rest]);
      }
      // No two chips at rest overlap.
      const places = scene.chips.map((c) => `${c.rest}:${c.column}:${c.rows[c.rest]}`);
      assert.equal(new Set(places).size, places.length);
      // Nothing is on the text floor before the target's one beam ends, and all beams come in order
      // of their rounds' ends.
      for (const chip of text)
        assert.ok((moveAt(chip, scene.swept - 0.01)?.floor ?? -1) < scene.round.level);
      const ends = stillsOf(scene);
      assert.deepEqual(
        [...ends].sort((a, b) => a - b),
        ends,
      );
    }
  });

for (const [name, data] of Object.entries(RECORDED))
  test(`${name}: a played round never pauses for more than a second`, () => {
    const store = storeOf(data);
    for (const { id } of store.index().rounds) {
      const scene = sceneOf(store, id);
      const moments = [
        ...scene.beams.flatMap((b) => [b.from, b.to]),
        ...scene.chips.flatMap((c) => c.moves.map((m) => m.at)),
      ];
      const sorted = [0, ...moments, 1].sort((a, b) => a - b);
      const longest = Math.max(...sorted.slice(1).map((at, k) => (at - sorted[k]) * scene.lasts));
      assert.ok(longest <= 1000 + 1e-6, `round ${id}: ${longest} ms`);
    }
  });

test("recorded intervals keep their shares between the shortest and the longest", () => {
  const pace = paceOf([0, 1e6, 1.2e6, 4e6]);
  assert.deepEqual([0, 1e6, 1.2e6, 4e6].map(pace), [0, 800, 960, 960 + PACE.most]);
  assert.equal(paceOf([5, 6, 1e9])(6), PACE.least);
});

test("stills go from the draft to the text; an event has its time", () => {
  const scene = sceneOf(storeOf(small()), 2);
  assert.equal(scene.timed, false);
  const at = (t: number) => scene.chips.map((c) => moveAt(c, t)?.floor ?? null);
  const own = scene.chips.findIndex((c) => c.own);
  assert.equal(at(scene.ready)[own], null);
  assert.equal(at(1)[own], 1);
  assert.ok(timeOf(scene, 0) < timeOf(scene, 1) && timeOf(scene, 1) < timeOf(scene, OWN));
  assert.equal(chipOf(scene, 2, OWN)?.column, 1);
  assert.equal(beside(scene, chipOf(scene, 2, 0)?.key ?? "", "right")?.column, 1);
  assert.equal(beside(scene, null, "up"), scene.chips[0]);
});

test("a round without a draft is its own token", () => {
  const scene = sceneOf(storeOf(small()), 3);
  assert.deepEqual(
    scene.chips.map((c) => [c.rest, c.own?.id]),
    [[1, 3]],
  );
  assert.ok(round(1));
});

for (const name of ["both", "hierarchy"].filter((n) => RECORDED[n])) {
  test(`${name}: rounds below proposed exactly the tokens that the level above verified`, () => {
    const store = storeOf(RECORDED[name]);
    let seen = 0;
    for (const [id, children] of store.children) {
      const rounds = children.map((k) => store.rounds.get(k));
      const drafts = store.drafts.get(id) || [];
      const given = handedUp(drafts, rounds);
      assert.equal(given.size, rounds.length);
      for (const r of rounds) {
        const { first, own } = given.get(r.id);
        const kept = (store.drafts.get(r.id) || [])
          .filter((d) => d.verdict === "accepted")
          .map((d) => d.token_id);
        assert.deepEqual(
          drafts.slice(first, first + kept.length).map((d) => d.token_id),
          kept,
        );
        if (own) assert.equal(own.source, store.levels[r.level]);
        seen += 1;
      }
    }
    assert.ok(seen > 20);
  });
}

test("inconsistent rounds are not shown", () => {
  assert.equal(
    handedUp([draft(2, 0, 1, "accepted")], [{ id: 1, accepted: 3, outcome: "bonus" }]).size,
    0,
  );
});
