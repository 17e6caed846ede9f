// Texts with places for values: {name} is the place of a value, and {name:word} that of a number
// with its word, which English puts in the plural. Pure.
import { plural } from "./words";

/** A text with its values. */
export function say(text: string, values: Readonly<Record<string, string | number>> = {}): string {
  return text.replace(/\{(\w+)(?::([\w ]+))?\}/g, (_, name: string, word?: string) => {
    const value = values[name];
    if (value === undefined) throw new Error(`the text '${text}' has no value for ${name}`);
    return word ? plural(Number(value), word) : String(value);
  });
}
