// @vitest-environment happy-dom
import { assert, test } from "vitest";
import { drawCurve, nearestOf, ticksOf } from "./predicted_curve";

const CURVE = {
  measured: [
    [1, 1],
    [2, 1.2],
    [8, 3.3],
    [16, 5.5],
  ],
  naive: [
    [1, 1],
    [8, 8],
  ],
  names: ["measured", "a pass per token"],
  axes: ["tokens", "cost"],
};

function guessOf(): HTMLElement {
  const guess = document.createElement("div");
  const box = document.createElement("div");
  box.dataset.curve = JSON.stringify(CURVE);
  guess.innerHTML = `<input type="range" min="1" max="8" step="0.1"
    value="8" data-place="8"><details><summary>Show the result</summary></details>`;
  guess.prepend(box);
  drawCurve(guess);
  return guess;
}
const heightOf = (guess: HTMLElement) => guess.querySelector(".handle")?.getAttribute("cy");

test("a value is within the range of its slider, at one of its steps", () => {
  const slider = guessOf().querySelector("input") as HTMLInputElement;
  assert.equal(nearestOf(slider, 9), 8);
  assert.equal(nearestOf(slider, 0), 1);
  assert.closeTo(nearestOf(slider, 3.34), 3.3, 1e-9);
});

test("numbers of an axis are apart", () => {
  assert.deepEqual(
    ticksOf([1, 2, 3, 8], (place) => 10 * place, 20),
    [1, 3, 8],
  );
});

test("a handle follows its slider, and the measured curve is drawn with the answer only", () => {
  const guess = guessOf();
  const slider = guess.querySelector("input") as HTMLInputElement;
  const before = heightOf(guess);
  assert.isNull(guess.querySelector(".measured"));

  slider.value = "2";
  slider.dispatchEvent(new Event("input"));
  assert.isAbove(Number(heightOf(guess)), Number(before));

  const fold = guess.querySelector("details") as HTMLDetailsElement;
  fold.open = true;
  fold.dispatchEvent(new Event("toggle"));
  assert.equal(guess.querySelectorAll("circle.measured").length, CURVE.measured.length);
});

test("a prediction without a curve keeps its sliders", () => {
  const guess = document.createElement("div");
  drawCurve(guess);
  assert.notProperty(guess.dataset, "drawn");
});
