// Texts with placeholders: {name} is replaced by a value, and {name:word} by a number and its word,
// in the plural if necessary. Pure functions.
import { plural } from "./words";

/** Fill in the placeholders of a text. */
export function say(text: string, values: Readonly<Record<string, string | number>> = {}): string {
  return text.replace(/\{(\w+)(?::([\w ]+))?\}/g, (_, name: string, word?: string) => {
    const value = values[name];
    if (value === undefined) throw new Error(`the text '${text}' has no value for ${name}`);
    return word ? plural(Number(value), word) : String(value);
  });
}
