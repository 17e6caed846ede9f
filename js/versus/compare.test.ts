// What two texts of one prompt may and must have in common, by their sampling and rules.
import { expect, test } from "vitest";
import { agreementOf } from "./compare";

const SOURCES = { db: ["context"] };
const run = (
  letter: string,
  stack: string,
  temperature: number,
  ids: number[],
  rule = "block",
): any => ({
  letter,
  tokens: ids.map((id) => ({ token_id: id, text: `t${id}` })),
  meta: { stack, sampling: { temperature, rule }, stop_reason: "length" },
});
const PLAIN = run("A", "target", 0.7, [1, 2, 3]);

test.each([
  ["equal texts", run("B", "db > target", 0.7, [1, 2, 3]), "same", /Required: each position/],
  [
    "databases must agree",
    run("B", "db > target", 0.7, [1, 9, 3]),
    "broken",
    /from output position 2.*Not allowed/,
  ],
  [
    "a draft model need not",
    run("B", "nano > target", 0.7, [1, 9, 3]),
    "apart",
    /equal in distribution/,
  ],
  [
    "nor need a rule of another package, of which nothing is promised",
    run("B", "nano > target", 0.7, [1, 9, 3], "best"),
    "apart",
    /The rule “best” is of another package: nothing here has checked/,
  ],
] as const)("%s", (_, other, state, words) => {
  const [found] = agreementOf([PLAIN, other], SOURCES);
  expect(found.state).toBe(state);
  expect(found.words).toMatch(words);
});
