// Shows the first board of the game as soon as the browser has read it. hsd_viz/views/site.py puts
// this script into the page, so that the first paint waits for no request.
import { playOf } from "../game/score";
import { languageOf } from "../game/strings";
import { seedOfAddress } from "./seed";

/** The template of a page opened from a folder, which has no game: a link to the recorded one. */
const RECORDED = "recorded";

function showBoard(el: HTMLElement) {
  const boards = [...el.querySelectorAll("template")];
  const tags = boards.map(({ lang }) => [lang, {}]);
  const tag = languageOf(navigator.languages, Object.fromEntries(tags));
  const [text] = playOf(JSON.parse(el.dataset.plays ?? "[]"), seedOfAddress());
  const board =
    location.protocol === "file:"
      ? boards.find(({ dataset }) => dataset.text === RECORDED)
      : boards.find(({ dataset, lang }) => dataset.text === text && lang === tag);
  if (board) el.append(board.content);
}

showBoard(document.getElementById("game") as HTMLElement);
