// Templates of messages with `code` between backticks. All of a message is inserted as text.
import { html } from "lit-html";

/** Return a text with the parts between backticks as code elements. "" stays "". */
export function coded(text: string): unknown {
  const parts = text.split("`");
  // Treat an unpaired backtick as text.
  if (parts.length % 2 === 0) return text;
  return parts.length === 1
    ? text
    : parts.map((part, k) => (k % 2 ? html`<code>${part}</code>` : part));
}
