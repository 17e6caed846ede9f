// The prompt above the output, folded to a few lines or unfolded.
import { make, setAttributes } from "../lib/dom";

/** Pixels by which a prompt may exceed its box without being folded. */
const SLACK = 4;

export class PromptBox {
  /** The heading, with the button that unfolds the prompt. */
  readonly head = make("div", "hsd-said");
  /** The box of tokens; scrolls while it is folded. */
  readonly box = make("div", "hsd-prompt", "", {
    role: "note",
    "aria-label": "Tokens of the prompt",
  });
  private readonly button = make("button", "hsd-fold-prompt", "", { type: "button" });
  private isWhole = false;

  /** `moved` is called when the layout of the prompt has changed. */
  constructor(private readonly moved: () => void) {
    this.head.append(make("span", "", "Prompt"), this.button);
    this.box.addEventListener("scroll", moved, { passive: true });
    this.button.addEventListener("click", () => {
      this.isWhole = !this.isWhole;
      this.fit();
      this.moved();
    });
  }

  /** Fold the prompt of another run. */
  show(prompt: string) {
    this.isWhole = false;
    this.head.hidden = !prompt;
    this.box.hidden = !prompt;
    this.fit();
  }

  /** Show the button that unfolds the prompt if the prompt exceeds its box. */
  fit() {
    const { box, button } = this;
    box.classList.toggle("hsd-whole", this.isWhole);
    const isLong = box.scrollHeight > box.clientHeight + SLACK;
    button.hidden = !isLong && !this.isWhole;
    button.textContent = this.isWhole ? "Fold" : "Show all";
    setAttributes(button, { "aria-expanded": String(this.isWhole) });
    // Focusable if it scrolls.
    box.tabIndex = isLong ? 0 : -1;
  }
}
