// The page's address: what it opens, what it ignores, what it keeps.
import assert from "node:assert/strict";
import { test } from "vitest";
import { addressOf, parameters, read } from "./address";

test("an address opens what it names and says what it ignores", () => {
  const asked = read(
    "?trace=both&step=3&tab=your-traffic&temperature=0.5&tokens=9",
    ["both"],
    ["Your traffic"],
    ["chance"],
  );
  assert.deepEqual(
    [asked.trace, asked.step, asked.tab, asked.ignored],
    ["both", 3, "your-traffic", []],
  );
  assert.deepEqual(asked.form, { temperature: "0.5", max_new_tokens: "9" });
  const bad = read(
    `?trace=../x&step=0&tab=none&tour=lost&theme=blue`,
    ["both"],
    ["Watch"],
    ["chance"],
  );
  assert.deepEqual(
    [bad.trace, bad.step, bad.tab, bad.tour, bad.ignored.length],
    ["", 0, "", "", 5],
  );
  assert.deepEqual(parameters({ prompt: "x".repeat(2000), stack: "target" }), {});
  const page = "http://127.0.0.1:1/?token=abc&trace=old";
  assert.deepEqual(addressOf(page, { trace: "new" }), {
    href: "http://127.0.0.1:1/?token=abc&trace=new",
    step: true,
  });
  assert.deepEqual(addressOf(page, { trace: "old", seed: "1" }).step, false);
});
