// Reading and writing the query of the page's address. ?trace=NAME&step=N opens a recording at an
// event and `tab` opens a tab; `stack`, `prompt`, `temperature`, `top_k`, `top_p`, `seed`, `rule`,
// `family` and `tokens` fill the form; `tour` opens the tour at a stop, `game` plays the texts of a
// day, `theme` selects the theme. Pure functions.
import { SETTING_NAMES } from "../lib/options";
import type { Form } from "./state";
import { HERE } from "./state";

/** Parameters that fill the form, each with the name of its field. */
const FORM = [
  ...(["prompt", "stack"] as const).map((name) => [name, name] as const),
  ...SETTING_NAMES.filter((name) => name !== "max_new_tokens").map((name) => [name, name] as const),
  ["rule", "rule"] as const,
  ["family", "family"] as const,
  ["tokens", "max_new_tokens"] as const,
];
/** Parameters that the page writes; it leaves others, such as a server's token, unchanged. */
const OURS = ["trace", "step", "tab", "tour", "game", ...FORM.map(([key]) => key)];
/** Parameters whose change adds an entry to the browser's history. */
const STEPS = ["trace", "tab"];
/**
 * Maximum lengths in characters: of a query that is read, of a prompt in an address, and of an
 * invalid value in a message.
 */
const [MAX_QUERY, MAX_PROMPT, MAX_SHOWN] = [8000, 1500, 40];

export const slug = (title: string) => title.toLowerCase().split(/\s+/).join("-");

/**
 * Read a query. `names`, `tabs` and `stops` are the recordings, tabs and tour stops that it may
 * open. In the result, `step` counts events from 1 as the player does (0: none), and `ignored` has
 * a sentence for each parameter that was ignored.
 */
export function read(
  query: string,
  names: readonly string[],
  tabs: readonly string[],
  stops: readonly string[],
) {
  const fields = new URLSearchParams(query.slice(0, MAX_QUERY));
  const ignored: string[] = [];
  const short = (value: string) =>
    `'${value.slice(0, MAX_SHOWN)}'${value.length > MAX_SHOWN ? " …" : ""}`;
  const readChoice = (key: string, all: readonly string[], words: string) => {
    const value = fields.get(key) ?? "";
    if (!value || all.includes(value)) return value;
    ignored.push(`${words} ${short(value)}`);
    return "";
  };
  const trace = readChoice("trace", [...names, HERE], "no recording is named");
  const tab = readChoice("tab", tabs.map(slug), "no tab is named");
  const tour = readChoice("tour", stops, "the tour has no stop");
  readChoice("theme", ["light", "dark"], "the theme is not 'light' or 'dark':");
  const typed = fields.get("step") ?? "";
  let step = /^[0-9]{1,9}$/.test(typed) ? Number(typed) : 0;
  if (typed && !step) ignored.push(`the step ${short(typed)} is not a whole number from 1`);
  // Without its recording, the step would open an event of another run.
  if (fields.has("trace") && !trace) step = 0;
  const form: Partial<Form> = Object.fromEntries(
    FORM.flatMap(([key, name]) => (fields.has(key) ? [[name, fields.get(key)]] : [])),
  );
  const day = fields.get("game") ?? "";
  const game = /^[0-9]{1,9}$/.test(day) ? Number(day) : null;
  if (day && game === null) ignored.push(`the game ${short(day)} is not a whole number`);
  return { trace, step, tab, tour, game, form, ignored };
}

/** Return the parameters for fields of a form; none if the prompt is too long for an address. */
export function parameters(form: Partial<Form>): Record<string, string> {
  if ((form.prompt?.length ?? 0) > MAX_PROMPT) return {};
  return Object.fromEntries(
    FORM.flatMap(([key, name]) => (form[name] === undefined ? [] : [[key, String(form[name])]])),
  );
}

/** Return the page's address with these parameters, and whether it adds an entry to the history. */
export function addressOf(page: string, state: Record<string, string>) {
  const url = new URL(page);
  const before = new URLSearchParams(url.search);
  for (const name of OURS) {
    if (name in state) url.searchParams.set(name, state[name]);
    else url.searchParams.delete(name);
  }
  return {
    href: url.href,
    step: STEPS.some((name) => before.get(name) !== url.searchParams.get(name)),
  };
}
