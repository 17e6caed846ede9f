// The rejected draft tokens that the stream shows, and the events that they belong to.
import assert from "node:assert/strict";
import { test } from "vitest";
import { createStore } from "../lib/run";
import { draft, small } from "../lib/testing";
import { ghostsOf, stepOfGhost } from "./ghosts";

test("the first rejected branch is shown, and the other tokens are counted", () => {
  const drafts: any[] = [
    draft(1, 0, 1, "accepted"),
    draft(1, 1, 2, "rejected", { parent: 0 }),
    draft(1, 2, 2, "rejected", { parent: 0 }),
    draft(1, 3, 3, "unreached", { parent: 1 }),
    draft(1, 4, 4, "unreached", { parent: 3 }),
  ];
  const { shown, others } = ghostsOf(drafts);
  assert.deepEqual(
    shown.map(({ node }) => node),
    [1, 3],
  );
  assert.equal(others, 2);
});

test("a round whose draft was accepted has no ghosts", () => {
  assert.deepEqual(ghostsOf([draft(1, 0, 1, "accepted") as any]), { shown: [], others: 0 });
  assert.deepEqual(ghostsOf([]), { shown: [], others: 0 });
});

test("a token that was not examined belongs to the rejection before it", () => {
  const store = createStore();
  store.adopt(small() as any);
  const { events } = store.index();
  const rejection = events.findIndex((event) => event.draft?.verdict === "rejected");
  assert.ok(rejection > 0);
  assert.deepEqual(
    [1, 2].map((node) => stepOfGhost(store, 2, node)),
    [rejection, rejection],
  );
  assert.equal(stepOfGhost(store, 2, 0), -1, "an accepted token has no rejection");
});
