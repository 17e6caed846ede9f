// A button that copies a text.
import { html } from "lit-html";

/** Milliseconds for which a button confirms a copy. */
const SAID = 1800;

/** Copy with the clipboard API, available over HTTPS and on localhost, else with a selection. */
async function copy(text: string): Promise<boolean> {
  try {
    await navigator.clipboard.writeText(text);
    return true;
  } catch {
    return false;
  }
}
/** Select the code before a button, so that the visitor can copy it. */
function select(button: Element) {
  const code = button.parentElement?.querySelector("code");
  if (code) getSelection()?.selectAllChildren(code);
}

/** A button that copies `text`; `what` describes the text to screen readers. */
export const copyButton = (text: string, what: string) => {
  const act = async ({ currentTarget }: { currentTarget: HTMLElement }) => {
    const button = currentTarget;
    const isDone = await copy(text);
    if (!isDone) select(button);
    button.textContent = isDone ? "Copied" : "Selected";
    setTimeout(() => {
      button.textContent = "Copy";
    }, SAID);
  };
  return html`<button
    type="button"
    class="hsd-copy"
    title=${`Copy the settings of ${what}`}
    aria-live="polite"
    @click=${act}
  >
    Copy
  </button>`;
};
