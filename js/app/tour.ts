// The guided tour: stops in the bundled recordings, as tools/record/tour.py found them
// (hsd_viz/views/tour.json).
import stops from "../../hsd_viz/views/tour.json";

export interface Stop {
  key: string;
  title: string;
  recording: string;
  /** The number of its event in the recording. */
  step: number;
  /** Its tab, and the selectors of the outlined element. */
  tab: string;
  targets: string[];
  /** Paragraphs, with {values} of the recording. */
  text: string[];
  values: Record<string, string>;
}
export const STOPS = stops as unknown as Stop[];
export const KEYS = STOPS.map((stop) => stop.key);

/** The paragraphs of a stop. */
export const textOf = ({ text, values }: Stop) =>
  text.map((words) => words.replaceAll(/\{(\w+)\}/g, (_, name: string) => values[name]));
