// Where the figures of a run come from: model, text, and whether they were measured here; and what
// is to be known of its speed-up before it is believed. Pure.
import type { Suite } from "../host";
import { gainOf } from "../lib/metrics";
import type { Store as Run } from "../lib/run";
import type { Meta } from "../lib/run_data";
import { isPlain } from "../lib/stack";
import { cut, plural } from "../lib/words";
import { HERE, type Kind, OPENED, type State } from "./state";

/** A few words beside a headline; `warns`: they are a reason for doubt. */
export interface Chip {
  words: string;
  /** A figure as large as that of the headline, before the words. */
  figure?: string;
  warns?: boolean;
  /** What is said of it at the pointer. */
  title?: string;
}
/** The names that the project's own target has in traces. */
const OWN_TARGETS = ["target", "ladder-target"];
/** Most characters of a text's name. */
const MOST = 36;

/** The family of the project's own models; a recording without a family is of it. */
const OWN_FAMILY = "code";
/** Families of models, of which the target is first in the title. */
type Families = readonly { name: string; title: string }[];

/**
 * The target of a run by its name. Within a family it is called target: the project's own one is
 * named by what it is, that of another family by the family's title.
 */
export function modelWords(
  { models, imported, family }: Pick<Meta, "models" | "imported" | "family">,
  families: Families = [],
): string {
  const { model = "", parameters } = models?.at(-1) ?? {};
  if (!OWN_TARGETS.includes(model)) return model || imported?.engine || "";
  if (family && family !== OWN_FAMILY) {
    const title = families.find(({ name }) => name === family)?.title ?? family;
    return title.split(",")[0];
  }
  const size = typeof parameters === "number" ? ` of ${Math.round(parameters / 1e6)} M` : "";
  return `Python model${size}`;
}

/** How a run came to be: its figures have the same origin. */
export function madeWords(meta: Pick<Meta, "modelled" | "imported">, kind: Kind): string {
  if (meta.modelled) return "modelled";
  if (meta.imported) return "measured by its engine";
  return kind === "recording" ? "recorded" : "measured here";
}

interface Shown {
  store: { state: Pick<State, "shown" | "kind" | "opened"> };
  group: { store: Run };
  host: {
    about: {
      recordings: readonly { name: string; title: string }[];
      suites?: Suite[];
      families?: Families;
    };
  };
}
/** The name of the text that is shown. */
function textWords({ store, host }: Shown): string {
  const { shown, opened } = store.state;
  if (shown === HERE) return "your prompt";
  if (shown === OPENED) return opened?.name ?? "";
  const title = host.about.recordings.find(({ name }) => name === shown)?.title ?? "";
  // Its speed-up is the headline.
  return title.replace(/ \(.*\)$/, "");
}

/** What the speed-up of a run was taken from: several pairs with their spread, or one. */
function spreadOf(run: Run): Chip[] {
  const gain = gainOf(run);
  if (!gain || run.meta.modelled) return [];
  if (gain.pairs > 1) {
    const spread = `${gain.low.toFixed(2)}–${gain.high.toFixed(2)} ×`;
    return [{ words: `${spread} over ${gain.pairs} pairs of runs` }];
  }
  const most = run.meta.fastest_of ?? 0;
  return [{ words: most > 1 ? `fastest of ${most} runs` : "one pair of runs: spread unknown" }];
}
/** The load of a machine that did other work while a speed-up was measured; "": it did none. */
export function loadWords({ plain }: Pick<Meta, "plain">): string {
  const { load_average: load, cores } = plain ?? {};
  if (!load || !cores || load <= cores) return "";
  return `load ${load.toFixed(1)} on ${plural(cores, "core")}`;
}

/** What else is known of a figure: whether it is a speed, and the families of the page. */
interface Known {
  timed?: boolean;
  families?: Families;
}
/** The origin of a figure of a run after a text of this name. */
export function chipsOf(run: Run, text: string, kind: Kind, known: Known = {}): Chip[] {
  const { timed = true, families } = known;
  const isOther = timed && Boolean(text) && !text.startsWith("your ");
  const named = isOther ? `this prompt: ${cut(text, MOST)}` : text;
  const names = [modelWords(run.meta, families), named, madeWords(run.meta, kind)];
  const origin = { words: names.filter(Boolean).join(" · ") };
  if (!timed) return [origin];
  const load = loadWords(run.meta);
  const busy = load ? [{ words: `busy: ${load}`, warns: true }] : [];
  return [origin, ...spreadOf(run), ...busy];
}
/** What a saved report found of the stack of a run on many prompts; null: it has none like it. */
export function suiteOf({ meta }: Pick<Run, "meta">, suites: readonly Suite[]): Suite | null {
  if (isPlain(meta.stack)) return null;
  const temperature = meta.sampling?.temperature ?? 0;
  const fits = (suite: Suite) =>
    suite.family === meta.family &&
    suite.stack === meta.stack &&
    suite.temperature === temperature &&
    suite.dtype === meta.dtype;
  return suites.find(fits) ?? null;
}
/** The result of a suite, and its interval; neither is broken between lines. */
const timesWords = ({ value }: Suite) => `${value.toFixed(2)}\u00a0×`;
const intervalWords = ({ low, high }: Suite) => `[${low.toFixed(2)},\u00a0${high.toFixed(2)}]`;
/** The result of a suite as a chip beside the headline of a speed-up. */
export function suiteChips(run: Pick<Run, "meta">, suites: readonly Suite[]): Chip[] {
  const found = suiteOf(run, suites);
  if (!found) return [];
  const title = `95 % interval; ${found.file}`;
  const words = `on ${plural(found.prompts, "prompt")} ${intervalWords(found)}: ${found.name}`;
  return [{ figure: timesWords(found), words, title }];
}
/** What the first saved report found to be fastest; "": there is none. */
export function fastestWords(suites: readonly Suite[]): string {
  const [first] = suites;
  if (!first) return "";
  const own = suites.filter(({ file }) => file === first.file);
  const best = own.reduce((most, suite) => (suite.value > most.value ? suite : most));
  const result = `${timesWords(best)} ${intervalWords(best)}`;
  return `Fastest: ${best.stack}; ${best.name}: ${result}`;
}
/** The origin of a figure of the run shown. */
export function originOf(page: Shown, timed = true): Chip[] {
  const run = page.group.store;
  const { families, suites = [] } = page.host.about;
  const chips = chipsOf(run, textWords(page), page.store.state.kind, { timed, families });
  return timed ? [...chips, ...suiteChips(run, suites)] : chips;
}
