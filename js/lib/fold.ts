// A part of a page below its title: closed at first, its title says what it shows.
import { make } from "./dom";

/** A closed part; `words` follow its title. */
export function foldOf(title: string, words: string) {
  const root = make("details", "hsd-fold");
  const summary = make("summary");
  summary.append(make("h3", "", title), make("span", "hsd-note", words));
  root.append(summary);
  return root;
}
