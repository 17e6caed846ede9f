// The players beside each other: the colour of each, its figure, and what it is.
import { html, nothing } from "lit-html";
import { say } from "../lib/say";
import type { Look } from "./acts";
import { aheadOf, MOST_PASSES, onText, playersOf } from "./play";
import type { Says } from "./says";
import { passCost, perPass, tokensOf } from "./score";
import { named, shownGain } from "./sentences";
import { type Game, isPlaying } from "./state";

/** A player with its figure. */
export interface Standing {
  name: string;
  source: string;
  figure: string;
  note: string;
}

/** Who a player is. */
const noteOf = (name: string, says: Says) => says[`is_${name}` as keyof Says] ?? "";

const yourNote = (passes: number, says: Says) =>
  passes ? say(says.so_far, { passes }) : says.your_turn;

/** On the present text: the visitor's tokens so far, and those of the others in all passes. */
function onPresentText({ play }: Game, says: Says): Standing[] {
  const alone = onText(play);
  const [you] = playersOf(alone);
  const players = [you, ...aheadOf(alone)];
  return named(players, says).map(({ name, source, passes }, place) => ({
    name,
    source,
    figure: String(tokensOf(passes)),
    note: place ? noteOf(players[place].name, says) : yourNote(you.passes.length, says),
  }));
}

/** After the last text: tokens per pass, or over time what they cost. */
function inAll({ play, phase, price }: Game, says: Says): Standing[] {
  const players = playersOf(play);
  return named(players, says).map((player, place) => {
    const tokens = perPass(player.passes).toFixed(1);
    const cost = passCost(player.passes, price).toFixed(1);
    const isTimed = phase === "time";
    const passes = player.passes.length;
    const note = place ? noteOf(players[place].name, says) : yourNote(passes, says);
    return {
      name: player.name,
      source: player.source,
      figure: isTimed ? `${shownGain(player, price)} ×` : tokens,
      note: isTimed ? say(says.for_price, { tokens, cost }) : note,
    };
  });
}

export const standingsOf = (game: Game, says: Says): Standing[] =>
  isPlaying(game) ? onPresentText(game, says) : inAll(game, says);

/** What the figures are. */
function headOf({ play, phase }: Game, says: Says): string {
  if (phase === "time") return says.speeds;
  if (phase === "result") return says.in_all;
  const acts = play.texts.length;
  return say(says.on_text, { act: play.act + 1, acts, passes: MOST_PASSES });
}

function standingTemplate(
  { name, source, figure, note }: Standing,
  place: number,
  family: Look["family"],
) {
  const isPlain = source === "target";
  return html`<li
    class=${place ? nothing : "hsd-gm-you"}
    data-family=${place && !isPlain ? family(source) : nothing}
  >
    <span class="hsd-gm-name">${name}</span>
    <strong>${figure}</strong>
    <span class="hsd-gm-is">${note}</span>
  </li>`;
}

/** The standings of a game. */
export function standings(game: Game, says: Says, family: Look["family"]) {
  const rows = standingsOf(game, says);
  return html`<section class="hsd-gm-standings">
    <h3>${headOf(game, says)}</h3>
    <ul>
      ${rows.map((row, place) => standingTemplate(row, place, family))}
    </ul>
  </section>`;
}
