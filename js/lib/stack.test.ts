// What a page reads from the text of a stack.
import { expect, test } from "vitest";
import { drafterOf, isOverDatabases, isPlain, targetOf } from "./stack";

test.each([
  ["target", "target"],
  ["db[context] > target", "context"],
  ["db > nano:2?0.4 > target", "nano"],
  ["lookup > target", "lookup"],
  ['"./a>b:c":4 > target', "./a>b:c"],
])("%s has the colour of %s", (stack, source) => {
  expect(drafterOf(stack)).toBe(source);
});
test.each([
  ["db > nano:2 > target", true],
  ["db[context] > nano > small > target", true],
  ["db > target", false],
  ["nano:2 > small > target", false],
  ["dbx > nano > target", false],
  ['db > "./a>b"', false],
  ["target", false],
])("%s has draft models over databases: %s", (stack, isOver) => {
  expect(isOverDatabases(stack)).toBe(isOver);
});

test.each([
  ["target", true],
  ['"./a>b"', true],
  ["db > target", false],
  ["", false],
])("%s is plain decoding: %s", (stack, isAlone) => {
  expect(isPlain(stack)).toBe(isAlone);
});

test("the target is the last part, without the quotes of its name", () => {
  expect(targetOf("db > nano:4 > target")).toBe("target");
  expect(targetOf('db > "./a>b"')).toBe("./a>b");
});
