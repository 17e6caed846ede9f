// Stops of the guided tour: events of the bundled recordings, selected by tools/record/tour.py
// (hsd_viz/views/tour.json).
import stops from "../../hsd_viz/views/tour.json";

export interface Stop {
  key: string;
  title: string;
  recording: string;
  /** Number of the event in the recording. */
  step: number;
  /** Title of the tab, and selectors of the outlined element in order of preference. */
  tab: string;
  targets: string[];
  /** Paragraphs with placeholders {name} for values of the recording. */
  text: string[];
  values: Record<string, string>;
}
export const STOPS = stops as unknown as Stop[];
export const KEYS = STOPS.map((stop) => stop.key);

/** Return the paragraphs of a stop with its values filled in. */
export const textOf = ({ text, values }: Stop) =>
  text.map((words) => words.replaceAll(/\{(\w+)\}/g, (_, name: string) => values[name]));
