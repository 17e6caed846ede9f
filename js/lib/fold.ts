// A part of a page that is folded below its title.
import { make } from "./dom";

/** Return a folded part; `words` follow its title. */
export function foldOf(title: string, words: string) {
  const root = make("details", "hsd-fold");
  const summary = make("summary");
  summary.append(make("h3", "", title), make("span", "hsd-note", words));
  root.append(summary);
  return root;
}
