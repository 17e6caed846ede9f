// @vitest-environment happy-dom
import { assert, expect, test } from "vitest";
import { ask, countSolved, followSwitch, verdictOf } from "./lessons";

test("an error is counted at the places that are shown", () => {
  assert.equal(verdictOf(1.5, 1.1754, 2), "0.32 too high");
  assert.equal(verdictOf(1, 1.1754, 2), "0.18 too low");
  assert.equal(verdictOf(1.18, 1.1754, 2), "right");
  assert.equal(verdictOf(3, 4, 0), "1 too low");
});

function guessOf(): HTMLElement {
  const guess = document.createElement("div");
  guess.dataset.digits = "1";
  guess.dataset.unit = "×";
  guess.innerHTML = `<label><output></output><input type="range" min="1" max="8" step="0.1"
    value="4" data-answer="3.3"></label>
    <details><summary>Show the result</summary>3.3</details>`;
  ask(guess);
  return guess;
}

test("the first press without a number asks for one, the second shows", () => {
  const guess = guessOf();
  const summary = guess.querySelector("summary") as HTMLElement;
  const press = () => {
    const event = new MouseEvent("click", { cancelable: true });
    summary.dispatchEvent(event);
    return event.defaultPrevented;
  };
  assert.isTrue(press());
  expect(summary.textContent).toContain("Your number first");
  assert.isFalse(press());
});

test("a number is written as it is dragged, and marked when the answer is shown", () => {
  const guess = guessOf();
  const slider = guess.querySelector("input") as HTMLInputElement;
  const fold = guess.querySelector("details") as HTMLDetailsElement;
  slider.value = "2";
  slider.dispatchEvent(new Event("input"));
  assert.equal(guess.querySelector("output")?.textContent, "2.0 ×");
  fold.open = true;
  fold.dispatchEvent(new Event("toggle"));
  assert.equal(guess.querySelector("output")?.textContent, "2.0 ×: 1.3 too low");
  assert.isTrue(slider.disabled);
});

test("one switch opens and closes the code of all results", () => {
  const root = document.createElement("div");
  root.innerHTML = `<input type="checkbox"><details class="source"></details>
    <details class="answer"></details>`;
  const box = root.querySelector("input") as HTMLInputElement;
  const opened = () => [...root.querySelectorAll("details")].map((each) => each.open);
  followSwitch(box, root);
  box.checked = true;
  box.dispatchEvent(new Event("change"));
  assert.deepEqual(opened(), [true, false]);
  box.checked = false;
  box.dispatchEvent(new Event("change"));
  assert.deepEqual(opened(), [false, false]);
});

test("an exercise counts as solved once its right line was chosen", async () => {
  const root = document.createElement("div");
  const choices = "<details></details><details data-right></details>";
  root.innerHTML = `<div class="tries">${choices}</div><div class="tries">${choices}</div>`;
  const output = document.createElement("output");
  countSolved(output, root);
  const [wrong, right] = root.querySelectorAll("details");
  const opened = (answer: HTMLDetailsElement) => {
    answer.open = true;
    answer.dispatchEvent(new Event("toggle"));
  };

  opened(wrong);
  assert.equal(output.textContent, "");
  opened(right);
  right.open = false;
  right.dispatchEvent(new Event("toggle"));

  assert.equal(output.textContent, ": 1 solved");
});
