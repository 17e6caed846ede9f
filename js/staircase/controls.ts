// The controls of the player: buttons to step and play, the speed, and words for the place of the
// cursor.
import { html } from "lit-html";
import { menu } from "../lib/fields";
import type { Cursor, Group } from "../lib/group";
import type { Palette } from "../lib/palette";
import type { Store } from "../lib/run";
import { eventWords, plural } from "../lib/words";

const SPEEDS = [
  ["1", "1 event/s"],
  ["4", "4 events/s"],
  ["12", "12 events/s"],
  ["40", "40 events/s"],
  ["recorded", "as recorded"],
];
const ICONS = {
  play: "M5 3v14l12-7z",
  pause: "M5 3h4v14H5zM11 3h4v14h-4z",
  back: "M13 4v12L5 10z",
  on: "M7 4v12l8-6z",
};

/** What the player steps by: its name, and its keys back and on. */
interface Unit {
  way: "round" | "token" | "move";
  name: string;
  back: string;
  on: string;
}
const UNITS: Unit[] = [
  { way: "round", name: "round", back: "Shift ←", on: "Shift →" },
  { way: "token", name: "token", back: ",", on: "." },
  { way: "move", name: "event", back: "←", on: "→" },
];

/** Where the cursor is, and what happens there. */
export interface Place {
  place: string;
  words: string;
}
export function placeOf(store: Store, palette: Palette, { step, round }: Cursor): Place {
  const { events, rounds } = store.index();
  if (!events[step]) {
    const place = `${plural(events.length, "event")} in ${plural(rounds.length, "round")}`;
    const hint = "Tread: a round’s cost; riser: what it brought. Play, or drag.";
    return { place, words: events.length ? hint : "Waiting for the first token." };
  }
  const at = `Round ${store.order.get(round ?? NaN)} of ${store.order.size}`;
  return {
    place: `${at}, event ${step + 1} of ${events.length}`,
    words: eventWords(store, palette, step),
  };
}

function button(icon: string, label: string, act: () => void, cls = "") {
  return html`<button
    class="hsd-player-button ${cls}"
    aria-label=${label}
    title=${label}
    @click=${act}
  >
    <svg viewBox="0 0 20 20" width="16" height="16" aria-hidden="true">
      <path d=${icon}></path>
    </svg>
  </button>`;
}

/** Buttons back and on by a unit. */
function stepper({ way, name, back, on }: Unit, group: Group) {
  const walk = (by: number) => () => {
    group.pause();
    group.follow();
    group[way](by);
  };
  return html`<span class="hsd-player-unit" role="group" aria-label=${name}
    >${button(ICONS.back, `Previous ${name} (${back})`, walk(-1))}<span aria-hidden="true"
      >${name}</span
    >${button(ICONS.on, `Next ${name} (${on})`, walk(1))}</span
  >`;
}

export function controls(group: Group, { place, words }: Place) {
  const { playing, speed, shown } = group.cursor;
  const toggle = () => (group.cursor.playing ? group.pause() : group.play());
  const pace = (value: string) => group.pace(value === "recorded" ? value : Number(value));
  const main = button(
    playing ? ICONS.pause : ICONS.play,
    playing ? "Pause (Space)" : "Play (Space)",
    toggle,
    "hsd-player-main hsd-primary",
  );
  return html`<div class="hsd-player-buttons">
      ${main}${UNITS.map((unit) => stepper(unit, group))}
    </div>
    ${menu(SPEEDS, String(speed), pace, { class: "hsd-player-speed", label: "Speed" })}
    <div class="hsd-player-line">
      <span class="hsd-player-place">${place}</span
      ><span class="hsd-player-words" title=${words}>${words}</span
      ><button
        class="hsd-player-whole"
        title="Escape"
        ?hidden=${shown === null}
        @click=${() => group.release()}
      >
        Show whole text
      </button>
    </div>`;
}
