// The first board of the game as HTML, drawn when the page is built (../first_boards.mjs): visitors
// of a site see it before the script of the game has arrived.
import { runOfTrace } from "../elements/file";
import { type GameData, openGame } from "../game";
import type { Language } from "../game/strings";

/** What the boards are drawn from. */
export interface BoardContent {
  games: Omit<GameData, "runs">[];
  plays: string[][];
  languages: Record<string, Language>;
  /** The trace of plain decoding of a text, by the name of the text. */
  traceOf(name: string): unknown;
}

const PLAIN = "plain";
/** Comments are the places that lit-html marks; the game draws them again. */
const COMMENT = /<!--.*?-->/g;

/** Draw the board of a text before its first pass, in the language of the browser. */
async function boardOf({ languages, traceOf }: BoardContent, text: BoardContent["games"][number]) {
  const el = document.body.appendChild(document.createElement("div"));
  const run = runOfTrace(traceOf(text.name), text.name, {});
  const close = openGame(el, {
    palette: { hues: {}, baselines: [], copying: [], databases: [] },
    games: [{ ...text, runs: { [PLAIN]: PLAIN } }],
    plays: [[text.name]],
    seed: 0,
    recording: async () => run,
    leave() {},
    goOn() {},
    save() {},
    address: "",
    alone: false,
    skip: "to_article",
    languages,
  });
  while (!el.firstElementChild) await new Promise((drawn) => setTimeout(drawn));
  // It is only looked at: what it offers comes with the script.
  el.firstElementChild.toggleAttribute("inert", true);
  const board = el.innerHTML.replace(COMMENT, "");
  close();
  return board;
}

/** Return a template for each text that can open the game, in each language. */
export async function firstBoards(content: BoardContent, setLanguage: (tag: string) => void) {
  const first = new Set(content.plays.map(([name]) => name));
  const boards: string[] = [];
  for (const text of content.games.filter(({ name }) => first.has(name)))
    for (const tag of ["en", ...Object.keys(content.languages)]) {
      setLanguage(tag);
      const board = await boardOf(content, text);
      boards.push(`<template data-text="${text.name}" lang="${tag}">${board}</template>\n`);
    }
  return boards.join("");
}
