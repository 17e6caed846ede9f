// A button that copies a text.
import { html } from "lit-html";

/** Milliseconds for which a button says that it has copied. */
const SAID = 1800;

/** Copy by the clipboard, which pages have over HTTPS and on this machine; else by a selection. */
async function copy(text: string): Promise<boolean> {
  try {
    await navigator.clipboard.writeText(text);
    return true;
  } catch {
    return false;
  }
}
/** Select the code before a button, to be copied by hand. */
function select(button: Element) {
  const code = button.parentElement?.querySelector("code");
  if (code) getSelection()?.selectAllChildren(code);
}

/** The button; `what` is copied, for those who do not see what is before it. */
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
