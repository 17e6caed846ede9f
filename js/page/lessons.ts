// What a lesson does: a prediction asks for a number first, then shows the answer and how far the
// number is from it; exercises are counted as they are solved; a switch shows the code of all
// results.
import { drawCurve } from "./predicted_curve";

const digitsOf = (guess: HTMLElement) => Number(guess.dataset.digits ?? 0);

/** A number as the prediction writes it. */
const wordsOf = (guess: HTMLElement, value: number) =>
  `${value.toFixed(digitsOf(guess))} ${guess.dataset.unit ?? ""}`.trim();

/** How far a number is from the answer, by the places that both have. */
export function verdictOf(value: number, answer: number, digits: number): string {
  const difference = Number(value.toFixed(digits)) - Number(answer.toFixed(digits));
  const size = Math.abs(difference).toFixed(digits);
  if (Number(size) === 0) return "right";
  return `${size} too ${difference > 0 ? "high" : "low"}`;
}

/** Make one prediction ask before it shows. */
export function ask(guess: HTMLElement): void {
  const fold = guess.querySelector("details");
  const summary = fold?.querySelector("summary");
  const sliders = [...guess.querySelectorAll<HTMLInputElement>("input[type=range]")];
  if (!fold || !summary) return;
  const label = summary.textContent;
  const outputOf = (slider: Element) => slider.closest("label")?.querySelector("output");
  const write = (slider: HTMLInputElement) => {
    const output = outputOf(slider);
    if (output) output.textContent = wordsOf(guess, slider.valueAsNumber);
  };
  for (const slider of sliders) {
    slider.addEventListener("input", () => {
      slider.dataset.given = "";
      write(slider);
      if (sliders.every((each) => "given" in each.dataset)) summary.textContent = label;
    });
  }
  summary.addEventListener("click", (event) => {
    const missing = sliders.find((slider) => !("given" in slider.dataset));
    if (!missing || fold.open || "asked" in guess.dataset) return;
    // A second press opens it all the same.
    event.preventDefault();
    guess.dataset.asked = "";
    summary.textContent = "Your number first, or press again";
    missing.focus();
  });
  fold.addEventListener("toggle", () => {
    if (!fold.open) return;
    summary.textContent = "The result";
    for (const slider of sliders) {
      slider.disabled = true;
      const output = outputOf(slider);
      if (!output || !("given" in slider.dataset)) continue;
      const verdict = verdictOf(
        slider.valueAsNumber,
        Number(slider.dataset.answer),
        digitsOf(guess),
      );
      output.textContent = `${wordsOf(guess, slider.valueAsNumber)}: ${verdict}`;
      output.dataset.verdict = verdict === "right" ? "right" : "off";
    }
  });
}

/** Open or close the code of all results by the switch at the top. */
export function followSwitch(box: HTMLInputElement, root: ParentNode): void {
  box.addEventListener("change", () => {
    for (const code of root.querySelectorAll<HTMLDetailsElement>(".source"))
      code.open = box.checked;
  });
}

/** Count the exercises whose right line is chosen, in the line at the top. */
export function countSolved(output: HTMLElement, root: ParentNode): void {
  const right = [...root.querySelectorAll<HTMLDetailsElement>(".tries [data-right]")];
  const solved = new Set<Element>();
  for (const answer of right) {
    answer.addEventListener("toggle", () => {
      if (answer.open) solved.add(answer);
      output.textContent = `: ${solved.size} solved`;
    });
  }
}

const box = document.querySelector<HTMLInputElement>("#code");
if (box) followSwitch(box, document);
const count = document.querySelector<HTMLElement>(".facts output");
if (count) countSolved(count, document);
for (const guess of document.querySelectorAll<HTMLElement>(".guess")) {
  ask(guess);
  drawCurve(guess);
}
