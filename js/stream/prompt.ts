// The prompt above the output: a few lines of it, or all.
import { make, setAttributes } from "../lib/dom";

/** Pixels by which a prompt may be higher than its box. */
const SLACK = 4;

export class PromptBox {
  /** Its name, and the button that unfolds it. */
  readonly head = make("div", "hsd-said");
  /** The tokens; scrolls where it is folded. */
  readonly box = make("div", "hsd-prompt", "", {
    role: "note",
    "aria-label": "Tokens of the prompt",
  });
  private readonly button = make("button", "hsd-fold-prompt", "", { type: "button" });
  private isWhole = false;

  /** `moved` is called when places in the prompt have changed. */
  constructor(private readonly moved: () => void) {
    this.head.append(make("span", "", "Prompt"), this.button);
    this.box.addEventListener("scroll", moved, { passive: true });
    this.button.addEventListener("click", () => {
      this.isWhole = !this.isWhole;
      this.fit();
      this.moved();
    });
  }

  /** Fold it for the prompt of another run. */
  show(prompt: string) {
    this.isWhole = false;
    this.head.hidden = !prompt;
    this.box.hidden = !prompt;
    this.fit();
  }

  /** Offer to unfold a prompt that is longer than its box. */
  fit() {
    const { box, button } = this;
    box.classList.toggle("hsd-whole", this.isWhole);
    const isLong = box.scrollHeight > box.clientHeight + SLACK;
    button.hidden = !isLong && !this.isWhole;
    button.textContent = this.isWhole ? "Fold" : "Show all";
    setAttributes(button, { "aria-expanded": String(this.isWhole) });
    // Focusable where it scrolls.
    box.tabIndex = isLong ? 0 : -1;
  }
}
