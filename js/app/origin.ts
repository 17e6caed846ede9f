// Describes the origin of a run's figures: the model, the text, and whether they were measured
// here; and the caveats of its speed-up. Pure functions.
import { gainOf } from "../lib/metrics";
import type { Store as Run } from "../lib/run";
import type { Meta } from "../lib/run_data";
import { intervalText, type Suite, suiteOf, timesText } from "../lib/suites";
import { cut, plural } from "../lib/words";
import { HERE, type Kind, OPENED, type State } from "./state";

/** A short note beside a headline; `warns`: it is a reason to doubt the figure. */
export interface Chip {
  words: string;
  warns?: boolean;
  /** The figure of many prompts, with which the headline begins. */
  figure?: string;
  /** The end of the words, which a phone omits. */
  detail?: string;
  /** The tooltip. */
  title?: string;
}
/** Names of the shipped target in traces. */
const OWN_TARGETS = ["target", "ladder-target"];
/** Maximum length of a text's name, in characters. */
const MAX_PROMPT_NAME = 36;

/** The family of the shipped models, and of recordings without a family. */
const OWN_FAMILY = "code";
/** Families of models; each title begins with the target. */
type Families = readonly { name: string; title: string }[];

/**
 * Return the name of a run's target. Traces of a family call it "target": that of the shipped
 * family is described by its size, that of another family by the family's title.
 */
export function modelText(
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

/** Describe how a run was made: measured, modelled or imported. */
export function madeText(meta: Pick<Meta, "modelled" | "imported">, kind: Kind): string {
  if (meta.modelled) return "modelled";
  if (meta.imported) return "measured by its engine";
  return kind === "recording" ? "recorded" : "measured here";
}

interface PageState {
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
/** Return the name of the text that is shown. */
function promptText({ store, host }: PageState): string {
  const { shown, opened } = store.state;
  if (shown === HERE) return "your prompt";
  if (shown === OPENED) return opened?.name ?? "";
  const title = host.about.recordings.find(({ name }) => name === shown)?.title ?? "";
  // The title ends with the speed-up in parentheses, which the headline shows already.
  return title.replace(/ \(.*\)$/, "");
}

/** Describe the measurements behind a speed-up: several pairs with their range, or one. */
function spreadOf(run: Run): Chip[] {
  const gain = gainOf(run);
  if (!gain || run.meta.modelled) return [];
  if (gain.pairs > 1) {
    const spread = `${gain.low.toFixed(2)}–${gain.high.toFixed(2)} ×`;
    return [{ words: `${spread} over ${gain.pairs} pairs of runs` }];
  }
  const fastestOf = run.meta.fastest_of ?? 0;
  return [
    { words: fastestOf > 1 ? `fastest of ${fastestOf} runs` : "one pair of runs: spread unknown" },
  ];
}
/** Describe the other load on the machine while a speed-up was measured; "": none. */
export function loadText({ plain }: Pick<Meta, "plain">): string {
  const { load_average: load, cores } = plain ?? {};
  if (!load || !cores || load <= cores) return "";
  return `load ${load.toFixed(1)} on ${plural(cores, "core")}`;
}

/** Facts about a figure: whether it is a speed (default: true), and the families of the page. */
interface FigureFacts {
  timed?: boolean;
  families?: Families;
}
/** Return the origin of a figure of a run. `text` names the text that was decoded. */
export function chipsOf(run: Run, text: string, kind: Kind, known: FigureFacts = {}): Chip[] {
  const { timed = true, families } = known;
  const isOther = timed && Boolean(text) && !text.startsWith("your ");
  const textName = isOther ? `this prompt: ${cut(text, MAX_PROMPT_NAME)}` : text;
  const names = [modelText(run.meta, families), textName, madeText(run.meta, kind)];
  const origin = { words: names.filter(Boolean).join(" · ") };
  if (!timed) return [origin];
  const load = loadText(run.meta);
  const busy = load ? [{ words: `busy: ${load}`, warns: true }] : [];
  return [origin, ...spreadOf(run), ...busy];
}
/** Return the result of a suite, with which the headline of a speed-up begins. */
export function suiteChips(run: Pick<Run, "meta">, suites: readonly Suite[]): Chip[] {
  const suite = suiteOf(run, suites);
  if (!suite) return [];
  const title = `95 % interval; ${suite.file}`;
  const words = `usually: ${intervalText(suite)} on ${plural(suite.prompts, "prompt")}`;
  return [{ figure: timesText(suite), words, detail: `, ${suite.name}.`, title }];
}
/** Describe the fastest result of the first saved report; "": there is none. */
export function fastestText(suites: readonly Suite[]): string {
  const [first] = suites;
  if (!first) return "";
  const sameReport = suites.filter(({ file }) => file === first.file);
  const best = sameReport.reduce((most, suite) => (suite.value > most.value ? suite : most));
  const result = `${timesText(best)} ${intervalText(best)}`;
  return `Fastest: ${best.stack}; ${best.name}: ${result}`;
}
/** Return the origin of a figure of the run shown. */
export function originOf(page: PageState, timed = true): Chip[] {
  const run = page.group.store;
  const { families, suites = [] } = page.host.about;
  const chips = chipsOf(run, promptText(page), page.store.state.kind, { timed, families });
  return timed ? [...chips, ...suiteChips(run, suites)] : chips;
}
