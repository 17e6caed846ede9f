// @vitest-environment happy-dom
// The pile that darts make, by hand.
import assert from "node:assert/strict";
import { render } from "lit-html";
import { test } from "vitest";
import { type Board, type Fate, pOf } from "./board";
import { isOff, noiseOf, PILE } from "./chance";
import { boardPicture, pileOf, type ThrownDart, valueText } from "./picture";
import { ENGLISH } from "./strings";

const column = (accepted: number, residual: number) => ({
  id: 0,
  accepted,
  residual,
  surplus: 0,
  drafted: true,
});
const COLUMNS = [column(0.25, 0.5), column(0, 0.25)];
const BOARD: Board = { rule: "ratio", fault: "resample", columns: COLUMNS, left: 0.75 };
const dart = (at: number, fate: Fate = "kept"): ThrownDart => ({
  column: at,
  y: 0,
  x: 0,
  first: { column: 1, y: 0 },
  fate,
});

test("the pile of a column is the darts that end there, not those that fell there first", () => {
  assert.deepEqual(pileOf(BOARD, []), [0, 0]);
  const darts = [dart(0), dart(0, "redrawn"), dart(0), dart(1)];
  assert.deepEqual(pileOf(BOARD, darts), [0.75, 0.25]);
});

test("a dart is drawn once, where it ends, by the outcome of its proposal", () => {
  const drawn = { board: BOARD, names: ["a", "b"], families: [null, null], recorded: null };
  const host = document.createElement("div");
  render(
    boardPicture(drawn, { width: 480, darts: [dart(0), dart(0, "redrawn"), dart(1, "wrong")] }),
    host,
  );
  const dots = (kind: string) =>
    [...host.querySelectorAll(`.hsd-dt-${kind}`)].map(
      (path) => path.getAttribute("d")?.match(/M/g)?.length ?? 0,
    );
  assert.deepEqual(
    [dots("kept"), dots("redrawn"), dots("wrong")],
    [
      [1, 0],
      [1, 0],
      [0, 1],
    ],
  );
});

test("a dart on its way is on its proposal, then at its end", () => {
  const drawn = { board: BOARD, names: ["a", "b"], families: [null, null], recorded: null };
  const styleOf = (isJudged: boolean) => {
    const host = document.createElement("div");
    const flight = { darts: [dart(0, "redrawn")], isJudged };
    render(boardPicture(drawn, { width: 480, flight }), host);
    return host.querySelector(".hsd-dt-flight")?.getAttribute("style") ?? "";
  };
  const across = (isJudged: boolean) => Number(/translate\(([\d.]+)/.exec(styleOf(isJudged))?.[1]);
  assert.ok(across(false) > across(true), "the first column is on the left");
});

test("p is what is accepted and what is left", () => {
  assert.deepEqual(BOARD.columns.map(pOf), [0.75, 0.25]);
});

test("the noise of a share narrows with the darts, and only what is outside of it is off", () => {
  assert.ok(Math.abs(noiseOf(0.5, 100) - (4 * 0.05 + 0.01)) < 1e-12);
  assert.ok(noiseOf(0.5, 10_000) < noiseOf(0.5, 100) / 9);
  assert.equal(isOff(0.585, 0.5, 100), false);
  assert.equal(isOff(0.585, 0.5, 1000), true);
  assert.equal(isOff(0.415, 0.5, 1000), true);
});

test("throws do not move the axis, and the first noise is not cut", () => {
  const drawn = { board: BOARD, names: ["a", "b"], families: [null, null], recorded: null };
  const shown = (darts: number) => {
    const host = document.createElement("div");
    const thrown = Array.from({ length: darts }, (_, k) => dart(Number(k % 4 === 0)));
    render(boardPicture(drawn, { width: 480, darts: thrown }), host);
    return host;
  };
  const heights = (host: Element) =>
    [...host.querySelectorAll(".hsd-grid")].map((line) => line.getAttribute("y1"));
  assert.ok(heights(shown(0)).length > 1);
  assert.deepEqual(heights(shown(PILE.from)), heights(shown(0)));
  const noise = shown(PILE.from).querySelector(".hsd-dt-noise")?.getAttribute("d") ?? "";
  const top = Number(/^M[\d.]+ (-?[\d.]+)/.exec(noise)?.[1]);
  assert.ok(top >= 0, noise);
});

test("names that one line has no room for are in two, and none is cut", () => {
  const names = ["September", "November"];
  const drawn = { board: BOARD, names, families: [null, null], recorded: null };
  const shown = (width: number) => {
    const host = document.createElement("div");
    render(boardPicture(drawn, { width }), host);
    const texts = [...host.querySelectorAll(".hsd-dt-name")];
    return texts.map((text) => [text.textContent?.trim(), Number(text.getAttribute("y"))]);
  };
  const [[, wide], [, beside]] = shown(480);
  assert.equal(wide, beside);
  const [[first, upper], [second, lower]] = shown(150);
  assert.deepEqual([first, second], names);
  assert.ok(lower > (upper as number));
});

test("a probability is written in percent on a board whose axis goes to 100 %", () => {
  assert.deepEqual(
    [0.0414, 1, 0].map((p) => valueText(p, true)),
    ["4.1\u00a0%", "100\u00a0%", "0\u00a0%"],
  );
  assert.deepEqual(
    [0.0414, 1, 0].map((p) => valueText(p)),
    ["0.041", "1", "0"],
  );
});

/** The texts of a class on a board whose parts are named. */
function textsOf(board: Board, kind: string) {
  const drawn = { board, names: ["a", "b"], families: [null, null], recorded: null };
  const host = document.createElement("div");
  render(boardPicture(drawn, { width: 480, parts: ENGLISH }), host);
  return [...host.querySelectorAll(`.${kind}`)].map((text) => text.textContent?.trim());
}

test("each part that a board has is named once", () => {
  assert.deepEqual(textsOf(BOARD, "hsd-dt-part"), ["accepted", "residual"]);
  const certain = { ...column(0.25, 0), surplus: 0.75 };
  const board: Board = { ...BOARD, columns: [certain, { ...column(0, 0.75), drafted: false }] };
  assert.deepEqual(textsOf(board, "hsd-dt-part"), ["accepted", "residual", "rejected"]);
});

test("a walked draft token has the q of a certain proposal", () => {
  const columns = [column(0.25, 0), { ...column(0, 0.75), drafted: false }];
  const board: Board = { ...BOARD, rule: "walk", columns };
  assert.deepEqual(textsOf(board, "hsd-dt-p"), ["0.250", "1", "0.750", "0"]);
});
