// The controls of the player: buttons to play and step, the speed, and the description of the
// cursor's place.
import { html, nothing } from "lit-html";
import type { Cursor } from "../lib/cursor";
import { stackName } from "../lib/drafter_names";
import { menu } from "../lib/fields";
import type { Group } from "../lib/group";
import type { Palette } from "../lib/palette";
import type { Store } from "../lib/run";
import { eventText, plural } from "../lib/words";

export const SPEEDS = [
  ["1", "1 event/s"],
  ["4", "4 events/s"],
  ["12", "12 events/s"],
  ["40", "40 events/s"],
  ["recorded", "as recorded"],
];
/** Speeds with short labels. */
export const SHORT_SPEEDS = SPEEDS.map(([value, words]) => [
  value,
  words.replace(/ events?/, " ").replace("as ", ""),
]);
const ICONS = {
  play: "M5 3v14l12-7z",
  pause: "M5 3h4v14H5zM11 3h4v14h-4z",
  back: "M13 4v12L5 10z",
  on: "M7 4v12l8-6z",
};

/** A unit of steps: its name, and the keys to step back and forward. */
interface Unit {
  way: "round" | "token" | "move";
  name: string;
  /** Definition of the name if it is not self-explanatory. */
  means?: string;
  back: string;
  on: string;
}
const UNITS: Unit[] = [
  {
    way: "round",
    name: "round",
    means: "A round: a draft, and the pass of the target that checks it",
    back: "Shift ←",
    on: "Shift →",
  },
  { way: "token", name: "token", back: ",", on: "." },
  { way: "move", name: "event", back: "←", on: "→" },
];

/** The description of the cursor's place, and of its event. */
export interface Place {
  place: string;
  words: string;
}
/** Describe the number of the cursor's round among all rounds. */
const roundOf = ({ order }: Store, round: number | null) =>
  `Round ${order.get(round ?? NaN)} of ${order.size}`;

export function placeOf(store: Store, palette: Palette, { step, round }: Cursor): Place {
  const { events, rounds } = store.index();
  if (!events[step]) {
    const counts = `${plural(events.length, "event")} in ${plural(rounds.length, "round")}`;
    const stackNote = ` Here: ${stackName(store.meta.stack ?? "")}.`;
    const hint =
      "A step is one pass of the model: as wide as its time, as high as the tokens it brought.";
    return {
      place: counts,
      words: events.length ? `${hint}${stackNote}` : "Waiting for the first token.",
    };
  }
  return {
    place: `${roundOf(store, round)}, event ${step + 1} of ${events.length}`,
    words: eventText(store, palette, step),
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

/** Buttons that step back and forward by a unit. */
function stepper({ way, name, means, back, on }: Unit, group: Group) {
  const walk = (by: number) => () => {
    group.pause();
    group.follow();
    group[way](by);
  };
  return html`<span class="hsd-player-unit hsd-player-${name}" role="group" aria-label=${name}
    >${button(ICONS.back, `Previous ${name} (${back})`, walk(-1))}<span
      aria-hidden="true"
      title=${means ?? nothing}
      >${name}</span
    >${button(ICONS.on, `Next ${name} (${on})`, walk(1))}</span
  >`;
}

/** Buttons to play and to step. */
export function buttons(group: Group) {
  const { playing } = group.cursor;
  const toggle = () => (group.cursor.playing ? group.pause() : group.play());
  const main = button(
    playing ? ICONS.pause : ICONS.play,
    playing ? "Pause (Space)" : "Play (Space)",
    toggle,
    "hsd-player-main hsd-primary",
  );
  return html`<div class="hsd-player-buttons">
    ${main}${UNITS.map((unit) => stepper(unit, group))}
  </div>`;
}

/** The menu of speeds; `speeds`: values and labels. */
export function speedMenu(group: Group, speeds: string[][]) {
  const pace = (value: string) => group.pace(value === "recorded" ? value : Number(value));
  const more = { class: "hsd-player-speed", label: "Speed", title: "Speed" };
  return menu(speeds, String(group.cursor.speed), pace, more);
}

/** The line that describes the cursor's place, with a button back to the whole text. */
export function line(group: Group, { place, words }: Place) {
  return html`<div class="hsd-player-line">
    <span class="hsd-player-place">${place}</span
    ><span class="hsd-player-words" title=${words}>${words}</span
    ><button
      class="hsd-player-whole"
      title="Escape"
      ?hidden=${group.cursor.shown === null}
      @click=${() => group.release()}
    >
      Show whole text
    </button>
  </div>`;
}
