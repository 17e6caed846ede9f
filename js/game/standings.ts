// The players beside each other: the colour of each, its figure, and what it is; while a text is
// played, with bars.
import { html, nothing } from "lit-html";
import { say } from "../lib/say";
import type { Look } from "./actions";
import { bar, barOf, roomOf } from "./bars";
import { keys } from "./idea";
import { onText, type Play, playersOf } from "./play";
import { type Pass, passCost, tokensOf, tokensPerPass } from "./score";
import { named, shownGain } from "./sentences";
import { type Game, isPlaying, isTimed } from "./state";
import type { Strings } from "./strings";

/** A player with its figure. */
export interface Standing {
  name: string;
  source: string;
  figure: string;
  note: string;
  /** The passes that its figure is of. */
  passes: readonly Pass[];
}

/** Who a player is. */
const noteOf = (name: string, strings: Strings) => strings[`is_${name}` as keyof Strings] ?? "";

/** The passes of the visitor. */
const yourNote = (passes: readonly Pass[], strings: Strings): string =>
  passes.length ? say(strings.so_far, { passes: passes.length }) : strings.your_turn;

/** Whether the present text has no pass yet, but one before it has. */
const isBetween = ({ act, passes }: Play): boolean => act > 0 && !passes[act].length;

/**
 * The scores on the present text so far; between two texts those on all texts, which the visitor's
 * note has from the second text on.
 */
function onPresentText({ play }: Game, strings: Strings): Standing[] {
  const all = playersOf(play);
  const players = playersOf(onText(play));
  const shown = isBetween(play) ? all : players;
  const noteFor = (place: number): string => {
    const { name, passes } = players[place];
    if (place) return noteOf(name, strings);
    if (!play.act || !passes.length) return yourNote(passes, strings);
    return say(strings.all_texts, { tokens: tokensOf(all[place].passes) });
  };
  return named(players, strings).map(({ name, source }, place) => ({
    name,
    source,
    figure: String(tokensOf(shown[place].passes)),
    note: noteFor(place),
    passes: shown[place].passes,
  }));
}

/** After the last text: the scores per pass, or over time what a pass has and what it costs. */
function inAll(game: Game, strings: Strings): Standing[] {
  const { play, price } = game;
  const isOverTime = isTimed(game);
  const players = playersOf(play);
  return named(players, strings).map((player, place) => {
    const tokens = tokensPerPass(player.passes).toFixed(1);
    const cost = passCost(player.passes, price).toFixed(2);
    const note = place ? noteOf(players[place].name, strings) : yourNote(player.passes, strings);
    return {
      name: player.name,
      source: player.source,
      figure: isOverTime ? `${shownGain(player, price)} ×` : tokens,
      note: isOverTime ? `${tokens} ÷ ${cost}` : note,
      passes: player.passes,
    };
  });
}

export const standingsOf = (game: Game, strings: Strings): Standing[] =>
  isPlaying(game) ? onPresentText(game, strings) : inAll(game, strings);

/** What the figures are. */
function headOf(game: Game, strings: Strings): string {
  const { play } = game;
  if (!isPlaying(game)) return isTimed(game) ? strings.speeds : strings.in_all;
  if (isBetween(play)) return strings.so_far_all;
  const acts = play.texts.length;
  return say(strings.on_text, { act: play.act + 1, acts, passes: play.passes[play.act].length });
}

/** The tokens of which the bars have room; null: there are none after the last text. */
function roomFor(game: Game, rows: readonly Standing[]): number | null {
  if (!isPlaying(game)) return null;
  const { play } = game;
  if (isBetween(play)) return Math.max(...rows.map(({ passes }) => tokensOf(passes)));
  return roomOf(play.texts[play.act]);
}

function standingTemplate(
  { name, source, figure, note, passes }: Standing,
  place: number,
  family: Look["family"],
  room: number | null,
) {
  const isPlain = source === "target";
  return html`<li
    class=${place ? nothing : "hsd-gm-you"}
    data-family=${place && !isPlain ? family(source) : nothing}
  >
    <span class="hsd-gm-name">${name}</span>
    <strong>${figure}</strong>
    <span class="hsd-gm-is">${note}</span>
    ${room === null ? nothing : bar(passes, room)}
  </li>`;
}

/** The standings of a game. */
export function standings(game: Game, strings: Strings, family: Look["family"]) {
  const rows = standingsOf(game, strings);
  const room = roomFor(game, rows);
  const kinds = new Set(barOf(rows[0].passes));
  return html`<section class=${room === null ? "hsd-gm-standings" : "hsd-gm-standings hsd-gm-bars"}>
    <h3>${headOf(game, strings)}</h3>
    <ul>
      ${rows.map((row, place) => standingTemplate(row, place, family, room))}
    </ul>
    ${room === null ? nothing : keys(strings, kinds)}
  </section>`;
}
