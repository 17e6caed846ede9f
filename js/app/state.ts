// The state of the page: one object, replaced on every change; and what the browser keeps of it.
import type { Branch } from "../branch/fork";
import type { DecodeRequest } from "../host";
import type { Trouble } from "../lib/notice";
import { SETTING_NAMES, SETTINGS, type SettingName } from "../lib/options";
import type { Sampling, Snapshot } from "../lib/run_data";

/** Names of the run decoded on the page, and of an opened file. */
export const [HERE, OPENED] = ["here", "opened file"];
/**
 * The name of an opened run that is the visitor's game, and what the page says of an opened one.
 */
export const YOUR_GAME = "Your game";
export const openedWords = (name: string) =>
  name === YOUR_GAME
    ? "You are the draft source. Each round takes as long as a recorded pass over as many tokens."
    : `Opened from ${name}.`;
export type Kind = "none" | "recording" | "live" | "finished";

/** The fields of the form: numbers as they are typed. */
export type Form = {
  [Name in Exclude<keyof DecodeRequest, "parent">]-?: DecodeRequest[Name] extends number
    ? string
    : NonNullable<DecodeRequest[Name]>;
};

export interface State {
  /** The run shown: its recording, {@link HERE} or {@link OPENED}. */
  shown: string;
  kind: Kind;
  blurb: string;
  /** A run in progress, and how far it is. */
  busy: boolean;
  stage: { text: string; done?: number | null; total?: number | null };
  /** Runs besides the recordings: the last one decoded here, and an opened file with its name. */
  here: Snapshot | null;
  opened: { name: string; run: Snapshot } | null;
  form: Form;
  /** The form as it was last filled from a run. */
  filled: Form;
  drawer: boolean;
  tab: number;
  /** Whether the text is open outside of the first tab, where it is folded to two lines. */
  text: boolean;
  trouble: Trouble | null;
  /** Why the host is lost; "": it is not. */
  lost: string;
  /** The stop of the tour; "": none. */
  tour: string;
  /**
   * Runs with a common root, which is the first, and the one shown; none: the run has no branch.
   */
  branches: readonly Branch[];
  branch: number;
}

export type Store = ReturnType<typeof createState>;

/** `changed` is called after each change. */
export function createState(first: State, changed: (now: State, before: State) => void) {
  const store = {
    state: first,
    set(change: Partial<State>) {
      const before = store.state;
      const names = Object.keys(change) as (keyof State)[];
      if (names.every((name) => change[name] === before[name])) return;
      store.state = { ...before, ...change };
      changed(store.state, before);
    },
  };
  return store;
}

// --- the form

/** The fields of the form that are numbers, in its order: the length is the last one. */
const SAMPLED = SETTING_NAMES.filter((name) => name !== "max_new_tokens");
export const NUMBERS: readonly SettingName[] = [...SAMPLED, "max_new_tokens"];
type Numbers = SettingName;
/** A number as the form has it. Whole ones are exact, also a seed that is text. */
const written = (x: number | string) =>
  typeof x === "string" || Number.isInteger(x) ? String(x) : String(Number(x.toPrecision(12)));

export function formOf(request: Omit<DecodeRequest, "parent">): Form {
  const numbers = Object.fromEntries(
    NUMBERS.map((name) => [name, written(request[name])]),
  ) as Record<Numbers, string>;
  const usual = {
    chat: false,
    beside_plain: true,
    device: "",
    dtype: "",
    target: "target",
    databases: "",
    family: "",
  };
  return { ...usual, ...request, ...numbers };
}

/** The fields that would decode a run again. */
export function fieldsOf(run: Snapshot, most: number): Partial<Form> {
  const { meta } = run;
  const sampling: Sampling = meta.sampling ?? {};
  const [rule, chat] = [meta.sampling?.rule || "token", Boolean(meta.chat)];
  const numbers = SAMPLED.map((name) => {
    const value = sampling[name];
    return [name, written(value ?? SETTINGS[name].usual)];
  });
  return {
    family: meta.family ?? "",
    prompt: run.prompt,
    stack: meta.asked || meta.stack,
    rule,
    chat,
    ...Object.fromEntries(numbers),
    ...(meta.max_new_tokens
      ? { max_new_tokens: written(Math.min(most, meta.max_new_tokens)) }
      : {}),
  };
}

/** The label of a number's field, the least and the greatest one, and whether it is whole. */
type Range = [label: string, least: number, most: number, whole: boolean];
export function rangesOf(tokens: number): Record<Numbers, Range> {
  const range = (name: Numbers): Range => {
    const { label, formLow, formHigh, whole } = SETTINGS[name];
    return [label, formLow, name === "max_new_tokens" ? tokens : formHigh, whole];
  };
  return Object.fromEntries(SETTING_NAMES.map((name) => [name, range(name)])) as Record<
    Numbers,
    Range
  >;
}

/**
 * The number that a field holds, or what is wrong with it. A comma is a decimal point; in a whole
 * number it would be a separator of thousands to some, and is refused.
 */
export function numberOf(text: string, [label, least, most, whole]: Range): number | string {
  const value = Number(whole ? text.trim() : text.trim().replace(",", "."));
  const fits = text.trim() !== "" && Number.isFinite(value) && value >= least && value <= most;
  if (fits && (!whole || Number.isInteger(value))) return value;
  const name = label.split(" (")[0];
  const kind = whole ? "whole number" : "number";
  return `${name} must be a ${kind} from ${least} to ${most}, not ${text.trim() || "empty"}.`;
}

/** Whether a number of the form is missing or out of its range. */
export function hasWrongNumber(form: Form, tokens: number): boolean {
  const ranges = rangesOf(tokens);
  return NUMBERS.some((name) => typeof numberOf(form[name], ranges[name]) === "string");
}

/** The request of a form. Throws an error with a one-line message if a field is invalid. */
export function requestOf(form: Form, limits: { prompt: number; tokens: number }): DecodeRequest {
  const ranges = rangesOf(limits.tokens);
  const numbers = Object.fromEntries(
    NUMBERS.map((name) => {
      const value = numberOf(form[name], ranges[name]);
      if (typeof value === "string") throw new Error(value);
      return [name, value];
    }),
  ) as Record<Numbers, number>;
  if (form.prompt.length > limits.prompt)
    throw new Error(
      `The prompt has ${form.prompt.length} characters; the maximum is ${limits.prompt}.`,
    );
  const [stack, target, databases] = [
    form.stack.trim(),
    form.target.trim() || "target",
    form.databases.trim(),
  ];
  return { ...form, ...numbers, stack, target, databases };
}

// --- what the browser keeps

const [FORM, RUN] = ["hsd_viz.form", "hsd_viz.run"];
/** Most characters of a kept run: a browser keeps about 5 MB for a page. */
const MOST_RUN = 4_000_000;

/** Storage may be blocked or full: then what is kept lives as long as the page. */
export function kept<T>(read: () => T, otherwise: T): T {
  try {
    return read();
  } catch {
    return otherwise;
  }
}
/** The fields that the visitor has changed since the form was filled from a run. */
export const changedIn = (form: Form, filled: Form): Partial<Form> =>
  Object.fromEntries(
    Object.entries(form).filter(([name, value]) => value !== filled[name as keyof Form]),
  );
export const keepForm = (changed: Partial<Form>) =>
  kept(() => localStorage.setItem(FORM, JSON.stringify(changed)), undefined);
export function keepRun(run: Snapshot) {
  const text = JSON.stringify(run);
  kept(
    () =>
      text.length <= MOST_RUN ? sessionStorage.setItem(RUN, text) : sessionStorage.removeItem(RUN),
    undefined,
  );
}
/** The kept form: fields of another kind are ignored. */
export function keptForm(like: Form): Partial<Form> {
  const stored = kept<Record<string, unknown>>(
    () => JSON.parse(localStorage.getItem(FORM) ?? "{}"),
    {},
  );
  return Object.fromEntries(
    Object.entries(like).flatMap(([name, value]) =>
      typeof stored?.[name] === typeof value ? [[name, stored[name]]] : [],
    ),
  );
}
export function keptRun(): Snapshot | null {
  const run = kept<Snapshot | null>(() => JSON.parse(sessionStorage.getItem(RUN) ?? "null"), null);
  return run && typeof run.run === "string" && Array.isArray(run.tokens?.token_id) && run.meta
    ? run
    : null;
}
