// The law of one draft model: by hand, and as Python has it.
import { expect, test } from "vitest";
import { ONE_DRAFT } from "../lib/testing";
import { bestOf, leastAcceptance, speedOf, tokensOf } from "./law";

test("a round emits the accepted tokens and one more", () => {
  expect(tokensOf(0, 4)).toBe(1);
  expect(tokensOf(1, 4)).toBe(5);
  expect(tokensOf(0.5, 2)).toBeCloseTo(1.75);
});

test("the speed is that of the tokens over the cost of draft and verification", () => {
  expect(speedOf(0.5, 0.25, 0.125, 2)).toBeCloseTo(1.75 / 1.75);
  expect(speedOf(1, 0, 0, 16)).toBe(17);
});

test("the best lookahead is the shortest of equals, and longer where a draft costs nothing", () => {
  expect(bestOf({ acceptance: 0, cost: 0.1, slope: 0 })).toBe(1);
  expect(bestOf({ acceptance: 0.9, cost: 0, slope: 0 })).toBe(16);
});

test("a draft that costs a pass pays off at no acceptance", () => {
  expect(leastAcceptance({ acceptance: 0, cost: 0, slope: 0 })).toBe(1);
  expect(leastAcceptance({ acceptance: 0, cost: 1, slope: 0.5 })).toBeUndefined();
});

test.skipIf(!ONE_DRAFT.length)("the law is that of Python", () => {
  for (const { acceptance, cost, slope, lookahead, tokens, speed } of ONE_DRAFT) {
    expect(tokensOf(acceptance, lookahead)).toBeCloseTo(tokens, 10);
    expect(speedOf(acceptance, cost, slope, lookahead)).toBeCloseTo(speed, 10);
  }
});
