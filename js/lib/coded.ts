// Text with `code` between backticks, as messages have it, as a template. Text only: nothing of it
// is markup.
import { html } from "lit-html";

/** The parts of a text: those between backticks are code. "" stays "". */
export function coded(text: string): unknown {
  const parts = text.split("`");
  // An unpaired backtick is text.
  if (parts.length % 2 === 0) return text;
  return parts.length === 1
    ? text
    : parts.map((part, k) => (k % 2 ? html`<code>${part}</code>` : part));
}
