// The menu of the forms in which a run can be kept.
import assert from "node:assert/strict";
import { test } from "vitest";
import { moved } from "./index";

test("the arrows go round, Home and End go to the ends, other keys nowhere", () => {
  assert.deepEqual(
    ["ArrowDown", "ArrowUp", "Home", "End", "x", "Enter"].map((key) => moved(key, 0, 4)),
    [1, 3, 0, 3, -1, -1],
  );
  assert.deepEqual(
    ["ArrowDown", "ArrowUp"].map((key) => moved(key, 3, 4)),
    [0, 2],
  );
});
