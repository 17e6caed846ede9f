// The names of stacks, as in Python.
import { expect, test } from "vitest";
import { stackName } from "./drafter_names";
import { STACK_NAMES } from "./testing";

test.each([
  ["db > target", "databases"],
  ["db[ context ] > target", "copying"],
  ["db[context,model] > nano:4?0.8 > target", "databases, then nano"],
  ["db > target[int8]:5 > target", "databases, then a copy of the target"],
  ['"./a>b:c":4 > target', "./a>b:c"],
  ["target", "plain decoding"],
  ["", ""],
])("the name of %s is %s", (stack, name) => {
  expect(stackName(stack)).toBe(name);
});

test("stacks have the names of Python", { skip: !Object.keys(STACK_NAMES).length }, () => {
  for (const [stack, name] of Object.entries(STACK_NAMES)) expect(stackName(stack)).toBe(name);
});
