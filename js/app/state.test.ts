// The form: numbers as they are typed, and the request that they make.
import assert from "node:assert/strict";
import { test } from "vitest";
import { SETTING_NAMES, SETTINGS } from "../lib/options";
import { ABOUT, RECORDED } from "../lib/testing";
import { fieldsOf, formOf, numberOf, rangesOf, requestOf } from "./state";

const skip = !Object.keys(RECORDED).length;

test("numbers are checked where they are typed", { skip }, () => {
  const ranges = rangesOf(2000);
  assert.equal(numberOf("0,7", ranges.temperature), 0.7);
  assert.equal(
    numberOf("1000", ranges.temperature),
    "Temperature must be a number from 0 to 100, not 1000.",
  );
  assert.equal(
    numberOf("1.5", ranges.seed),
    "Seed must be a whole number from 0 to 2147483647, not 1.5.",
  );
  const form = { ...formOf(ABOUT.form), max_new_tokens: "0" };
  assert.throws(
    () => requestOf(form, ABOUT.limits),
    /New tokens must be a whole number from 1 to 2000, not 0/,
  );
  assert.throws(
    () => requestOf({ ...formOf(ABOUT.form), prompt: "x".repeat(20001) }, ABOUT.limits),
    /20001 characters/,
  );
  const again = fieldsOf(RECORDED.sampled, 2000);
  assert.equal(again.stack, "nano:4 > target");
  assert.equal(again.prompt, RECORDED.sampled.prompt);
});

test.each(SETTING_NAMES.filter((name) => SETTINGS[name].whole))(
  "a comma is refused in the whole number %s, where it could be a separator of thousands",
  (name) => {
    const range = rangesOf(2000)[name];
    const [label, least, most] = range;
    const refusal = `must be a whole number from ${least} to ${most}, not`;
    const problem = `${label.split(" (")[0]} ${refusal}`;
    assert.equal(numberOf("1000", range), 1000);
    assert.equal(numberOf("1,000", range), `${problem} 1,000.`);
    assert.equal(numberOf("1,5", range), `${problem} 1,5.`);
  },
);
