// What the game says: in English here, in other languages as the page brings them. Pure.
import { type DartStrings, ENGLISH as ENGLISH_DARTS } from "../darts/strings";

export const ENGLISH = {
  title: "Beat the drafter",
  skip: "Skip",
  to_explorer: "Skip to the explorer",
  to_article: "Skip to the article",
  restart: "Restart",
  lead: "Guess what a language model writes next.",
  promise: "One pass checks all your words at once.",
  premise:
    "A pass, the slow step, reads many words at once but writes one token: a word, a piece of " +
    "one or a comma.",
  therefore: "So each right guess saves a pass, and the text stays the same: speculative decoding.",
  asked: "Asked:",
  pass_of: "Pass {pass} of {passes}",
  field: "Write what comes next",
  placeholder: "write or tap up to {words} words",
  read: "Check {words:word} in one pass",
  read_first: "Check your words in one pass",
  write: "A pass without a guess",
  choose: "or tap:",
  copy: "Copy {words:word} from above",
  rule: "The first wrong word is replaced, and drops the rest.",
  reading: "One pass reads your {words:word} at once.",
  reading_alone: "A pass without a guess writes one token.",
  gained: "One pass instead of {passes}",
  none_right: "No word was right: {tokens:token}",
  late: "“{word}” came one place too late.",
  one_alone: "Without a guess: one token",
  wrote_alone: "No guess: the model wrote “{model}” alone, as in plain decoding.",
  outcome: "{right} of {words:word} accepted{rejected}, then the model’s own “{model}”.",
  rejected: ", “{word}” rejected",
  on_text: "Text {act} of {acts}: tokens after {passes:pass}",
  so_far_all: "Tokens so far, all texts",
  in_all: "Tokens per pass, all texts",
  speeds: "Speed = tokens per pass ÷ cost of a pass in plain ones",
  your_turn: "your turn",
  so_far: "after {passes:pass}",
  all_texts: "all texts: {tokens}",
  is_plain: "one token per pass",
  is_copying: "repeats the text above",
  is_nano: "a tiny model",
  win: "You win with {yours:token} in {passes:pass}. Second: {name} with {theirs}.",
  tie: "A tie of you and {name}: {yours:token} in {passes:pass}.",
  lose: "{name} wins with {theirs:token} in {passes:pass}. You have {yours}.",
  why_copying:
    "Copying repeats what followed the same words above: the longer the match, the longer the " +
    "copy, up to {most:token} in a pass.",
  moral: "Each right token saves a pass.",
  no_copy: "Copying found nothing above to copy.",
  tip_alone: "Propose several words: a pass without any brings one token.",
  next_text: "Next text",
  see_stairs: "See the result",
  band: "Text {act}",
  idea_plain: "Without a guess: {passes:pass}",
  idea_guess: "With {words:right word}: one pass",
  by_you: "your words",
  by_filling: "commas, filled in for you",
  by_model: "the model’s own",
  passes: "passes of the model",
  time: "time, in plain passes",
  tokens: "tokens",
  per_pass: "tokens per pass",
  with_time: "But is it faster?",
  to_times: "Back to the times",
  of_plain: "the speed of plain decoding",
  you_faster:
    "You are faster than plain decoding: " +
    "{tokens} tokens per pass, and a pass takes as long as {cost} plain ones.",
  overtaken:
    "More tokens per pass, yet {name} finishes first: " + "its pass costs {theirs}, yours {yours}.",
  you_equal: "You are as fast as plain decoding.",
  you_slower:
    "You are slower than plain decoding: " +
    "{tokens} tokens per pass, but a pass takes as long as {cost} plain ones.",
  same_stairs: "The same stairs over time. Dashed: projected, each at its own rate.",
  price: "One more token in a pass costs",
  of_a_pass: "{share} % of a pass",
  if_price: "if one more token cost {share} % of a pass",
  free: "0 %: free",
  no_gain: "100 %: as much as a pass of its own",
  turns: "Right of its mark, a drafter is slower than plain decoding, with fewer passes.",
  on_gpu: "As on a GPU: {share} %",
  on_cpu: "As recorded on a CPU: {share} %",
  a_cpu: "a CPU",
  sources:
    "GPU: Llama with one billion weights on an H100; other times are the CPU’s. CPU: medians " +
    "of recorded passes on {device}. A drafter’s time counts as recorded; your thinking does not.",
  same_text: "But is it still the model’s text?",
  is_same: "Does your proposal make “{word}” come more often?",
  by_chance:
    "The model draws “{word}” {times} % of the time (until now: the likeliest word). " +
    "So your word is kept {times} times in 100, else another one is drawn.",
  right: "You guessed it: no, just as often.",
  wrong: "No, just as often.",
  guess: "Your guess:",
  less: "Less often",
  same: "Just as often",
  more: "More often",
  certainty: "Your q for “{word}”: {q}. Kept: {kept} % of proposals",
  others: "others",
  go_on: "Next: your text in the article",
  explore: "Explore your game",
  card: "Save a card",
  link: "Copy the link",
  copied: "Copied.",
  again: "Play again",
  cannot_start: "The game cannot start",
  card_head: "A friend played: {number} tokens per pass",
  card_line: "in {passes:pass} of a language model.",
  card_call: "Can you beat that? {address}",
  friend: "A friend",
  you: "You",
  plain: "Plain",
  copying: "Copying",
  nano: "nano",
};
export type Strings = Record<keyof typeof ENGLISH, string>;
/**
 * A language: its own name, what the game and the dart board say in it, and the lessons of the
 * texts by their names.
 */
export interface Language {
  name: string;
  strings: Strings;
  darts: DartStrings;
  lessons: Record<string, string>;
}
export const IN_ENGLISH: Language = {
  name: "English",
  strings: ENGLISH,
  darts: ENGLISH_DARTS,
  lessons: {},
};

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
