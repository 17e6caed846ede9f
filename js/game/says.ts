// What the game says: in English here, in other languages as the page brings them. A text is a
// template: {name} is the place of a value, and {name:word} that of a number with its word, which
// English puts in the plural. Pure.
import { plural } from "../lib/words";

export const ENGLISH = {
  title: "Beat the drafter",
  act: "Text {act} of {acts}, {passes:pass} each",
  band: "Text {act}",
  stairs: "Your stairs",
  to_explorer: "Skip to the explorer",
  to_article: "Skip to the article",
  restart: "Restart",
  premise:
    "Guess what a language model writes next. One pass of the model checks all your words at once: " +
    "that is speculative decoding, the same text, faster.",
  asked: "It was asked",
  task: "What does it write next?",
  to_beat: "to beat:",
  in_passes: "tokens in {passes:pass} on this text",
  units: "A pass is one slow run of the large model, a token is a word piece or a comma.",
  all_texts: "The stairs add up all texts.",
  is_plain: "decoding without a draft, one token per pass",
  is_copying: "a context database, repeats earlier text",
  is_nano: "a tiny model that guesses",
  on_text: "On this text: {score} tokens per pass.",
  so_far: "All texts so far: {score}.",
  tip_alone: "Propose several words: a pass without any brings one token.",
  legend: "A tread is a pass of the model, a riser what it brought.",
  same_stairs: "The same stairs over time, to {tokens:token}. Dashed: each at its own rate.",
  field: "Write what comes next",
  placeholder: "write the next words",
  read: "Let the model read it",
  write: "Let the model write",
  choose: "tap several:",
  copy: "Copy {words:word} from above",
  hint:
    "Write several words: a wrong one loses only the words after it. " +
    "Commas, numbers and line breaks are filled in.",
  wrote_alone: "The model wrote “{model}” alone: 1 token in one pass.",
  outcome: "{right} of {words:word} accepted{rejected}: {sum} = {tokens:token} in one pass.",
  rejected: ", “{word}” rejected",
  sum_words: "{count:word}",
  sum_pieces: "{count:more word piece}",
  sum_commas: "{count:comma}",
  sum_marks: "{count:other mark}",
  sum_own: "the model’s “{model}”",
  next_text: "Next text",
  see_stairs: "See the stairs",
  per_pass: "tokens per pass",
  as_many: "In as many passes: {score}.",
  with_time: "Now with time",
  to_times: "Back to the times",
  of_plain: "the speed of plain decoding",
  fastest: "Fastest first: {times}.",
  fewest:
    "Fewer passes are not faster: {names} needed the fewest, " +
    "and a pass over {width} tokens costs as much as {cost} over one.",
  as_few:
    "Equally many passes are not equally fast: {names} needed as many, " +
    "and a pass over {width} tokens costs as much as {cost} over one.",
  price: "Price of one more token in a pass:",
  of_a_pass: "{share} % of a pass",
  measured: "(measured on {device})",
  a_cpu: "a CPU",
  free: "0: a large GPU with room",
  no_gain: "100 %: no gain from reading together",
  as_measured: "As measured",
  medians: "Medians of recorded passes; drafting as recorded; your thinking is not counted.",
  same_text: "But is it the same text?",
  is_same: "Yes: the same text and the same chances",
  exact:
    "The game was greedy: the model writes its likeliest token. With sampling it draws one, " +
    "and your word is kept only when it draws it. Each dart is such a draw: the more darts, " +
    "the nearer their shares come to p, the model’s own chances, for any proposal.",
  board: "Where you wrote “{word}”: the model’s probabilities at temperature 1",
  explore: "Explore your game",
  card: "Save a card",
  link: "Copy the link",
  copied: "Copied.",
  again: "Play again",
  cannot_start: "The game cannot start",
  card_head: "{number} tokens per pass",
  card_line: "in {passes:pass} of a language model. Beat me.",
  you: "You",
  plain: "Plain",
  copying: "Copying",
  nano: "nano",
  passes: "passes",
  time: "time",
  tokens: "tokens",
  comma: ", ",
  and: " and ",
};
export type Says = Record<keyof typeof ENGLISH, string>;
/**
 * A language: its own name, what the game says in it, and the lessons of the texts by their names.
 */
export interface Language {
  name: string;
  says: Says;
  lessons: Record<string, string>;
}
export const IN_ENGLISH: Language = { name: "English", says: ENGLISH, lessons: {} };

/** A text with its values. */
export function say(text: string, values: Readonly<Record<string, string | number>> = {}): string {
  return text.replace(/\{(\w+)(?::([\w ]+))?\}/g, (_, name: string, word?: string) => {
    const value = values[name];
    if (value === undefined) throw new Error(`the text '${text}' has no value for ${name}`);
    return word ? plural(Number(value), word) : String(value);
  });
}

/** Words one after the other. */
export function together(
  words: readonly string[],
  { comma, and }: Pick<Says, "comma" | "and">,
): string {
  if (words.length < 2) return words[0] ?? "";
  return `${words.slice(0, -1).join(comma)}${and}${words.at(-1)}`;
}

/**
 * The language that a visitor reads, by the tags of the browser ("zh-CN", "en"): one that the page
 * has, else English.
 */
export function languageOf(
  tags: readonly string[],
  languages: Readonly<Record<string, Language>>,
): string {
  for (const tag of tags) {
    const known = Object.keys(languages).find((one) => one.split("-")[0] === tag.split("-")[0]);
    if (known) return known;
    if (tag.startsWith("en")) return "en";
  }
  return "en";
}
