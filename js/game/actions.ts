// What the drawings of the game are given: its language and colours, and what the visitor can do.

import type { Palette } from "../lib/palette";
import type { Guess } from "./state";
import type { Language, Strings } from "./strings";

export interface Look {
  /** The tag of the language in use. */
  tag: string;
  /** All languages by their tags. */
  languages: Readonly<Record<string, Language>>;
  /** The colour of a source. */
  family: Palette["family"];
}

export const stringsOf = ({ languages, tag }: Look): Strings => languages[tag].strings;

/** What the visitor does; each act changes the state and draws again. */
export interface Actions {
  write(draft: string): void;
  /** Add one of the words to choose from. */
  choose(word: string): void;
  /** Propose words that were copied from the text. */
  copy(words: readonly string[]): void;
  /** Let the model read the proposal. */
  read(): void;
  /** Continue after the lesson. */
  advance(): void;
  showTime(): void;
  showDarts(): void;
  setPrice(more: number): void;
  guess(guess: Guess): void;
  setCertainty(certainty: number): void;
  /** Continue below the game with its text. */
  goOn(): void;
  explore(): void;
  saveCard(): void;
  copyLink(): void;
  restart(): void;
  setLanguage(tag: string): void;
  leave(): void;
}
