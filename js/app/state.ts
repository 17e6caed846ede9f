// The state of the page: an object that is replaced on every change, and its parts that the browser
// stores.
import type { Branch } from "../branch/fork";
import type { DecodeRequest } from "../host";
import type { Trouble } from "../lib/notice";
import { SETTING_NAMES, SETTINGS, type SettingName } from "../lib/options";
import type { Sampling, Snapshot } from "../lib/run_data";

/** Names of the run decoded on the page and of an opened file. */
export const [HERE, OPENED] = ["here", "opened file"];
/** Name of an opened run that is the visitor's game. */
export const YOUR_GAME = "Your game";
export const openedText = (name: string) =>
  name === YOUR_GAME
    ? "You are the draft source. Each round takes as long as a recorded pass over as many tokens."
    : `Opened from ${name}.`;
export type Kind = "none" | "recording" | "live" | "finished";

/** The fields of the form. Numbers are texts, as typed. */
export type Form = {
  [Name in Exclude<keyof DecodeRequest, "parent">]-?: DecodeRequest[Name] extends number
    ? string
    : NonNullable<DecodeRequest[Name]>;
};

export interface State {
  /** Name of the run shown: that of a recording, {@link HERE} or {@link OPENED}. */
  shown: string;
  kind: Kind;
  blurb: string;
  /** Whether a run is in progress, and its progress. */
  busy: boolean;
  stage: { text: string; done?: number | null; total?: number | null };
  /** Runs besides the recordings: the last one decoded here, and an opened file. */
  here: Snapshot | null;
  opened: { name: string; run: Snapshot } | null;
  form: Form;
  /** The values with which the form was last filled from a run. */
  filled: Form;
  drawer: boolean;
  tab: number;
  /** Whether the text is unfolded on tabs that fold it to two lines (all but the first). */
  text: boolean;
  trouble: Trouble | null;
  /** Reason for which the host is lost; "": it is connected. */
  lost: string;
  /** Key of the tour stop; "": the tour is closed. */
  tour: string;
  /** Runs that branch from the first one, and the index of the one shown; empty: no branch. */
  branches: readonly Branch[];
  branch: number;
}

export type Store = ReturnType<typeof createState>;

/** Return a store of the page's state that calls `changed` after each change. */
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

/** Numeric fields of the form in its order: the maximum length is last. */
const SAMPLED = SETTING_NAMES.filter((name) => name !== "max_new_tokens");
export const NUMBERS: readonly SettingName[] = [...SAMPLED, "max_new_tokens"];
type Numbers = SettingName;
/** Format a number for the form. Whole numbers are exact, also a large seed that is a text. */
const numberText = (x: number | string) =>
  typeof x === "string" || Number.isInteger(x) ? String(x) : String(Number(x.toPrecision(12)));

export function formOf(request: Omit<DecodeRequest, "parent">): Form {
  const numbers = Object.fromEntries(
    NUMBERS.map((name) => [name, numberText(request[name])]),
  ) as Record<Numbers, string>;
  const defaults = {
    chat: false,
    beside_plain: true,
    device: "",
    dtype: "",
    target: "target",
    databases: "",
    family: "",
  };
  return { ...defaults, ...request, ...numbers };
}

/** Return the fields of the form that decode a run again. `most`: the limit of tokens. */
export function fieldsOf(run: Snapshot, most: number): Partial<Form> {
  const { meta } = run;
  const sampling: Sampling = meta.sampling ?? {};
  const [rule, chat] = [meta.sampling?.rule || "token", Boolean(meta.chat)];
  const numbers = SAMPLED.map((name) => {
    const value = sampling[name];
    return [name, numberText(value ?? SETTINGS[name].usual)];
  });
  return {
    family: meta.family ?? "",
    prompt: run.prompt,
    stack: meta.asked || meta.stack,
    rule,
    chat,
    ...Object.fromEntries(numbers),
    ...(meta.max_new_tokens
      ? { max_new_tokens: numberText(Math.min(most, meta.max_new_tokens)) }
      : {}),
  };
}

/** Label of a numeric field, its smallest and largest value, and whether it is an integer. */
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
 * Parse a numeric field; return its number, or a sentence about what is wrong. A comma is a decimal
 * point. It is refused in an integer, where some write it to separate thousands.
 */
export function numberOf(text: string, [label, least, most, whole]: Range): number | string {
  const value = Number(whole ? text.trim() : text.trim().replace(",", "."));
  const fits = text.trim() !== "" && Number.isFinite(value) && value >= least && value <= most;
  if (fits && (!whole || Number.isInteger(value))) return value;
  const name = label.split(" (")[0];
  const kind = whole ? "whole number" : "number";
  return `${name} must be a ${kind} from ${least} to ${most}, not ${text.trim() || "empty"}.`;
}

/** Return whether a number of the form is missing or out of range. */
export function hasWrongNumber(form: Form, tokens: number): boolean {
  const ranges = rangesOf(tokens);
  return NUMBERS.some((name) => typeof numberOf(form[name], ranges[name]) === "string");
}

/** Return the request of a form. Throws an error with a one-line message for an invalid field. */
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

// --- storage in the browser

const [FORM, RUN] = ["hsd_viz.form", "hsd_viz.run"];
/** Maximum length of a stored run in characters: browsers store about 5 MB per page. */
const MAX_RUN_CHARACTERS = 4_000_000;

/** Call a function that uses storage; return `otherwise` if storage is blocked or full. */
export function withStorage<T>(read: () => T, otherwise: T): T {
  try {
    return read();
  } catch {
    return otherwise;
  }
}
/** Return the fields that the visitor has changed since the form was filled from a run. */
export const changedIn = (form: Form, filled: Form): Partial<Form> =>
  Object.fromEntries(
    Object.entries(form).filter(([name, value]) => value !== filled[name as keyof Form]),
  );
export const keepForm = (changed: Partial<Form>) =>
  withStorage(() => localStorage.setItem(FORM, JSON.stringify(changed)), undefined);
export function keepRun(run: Snapshot) {
  const text = JSON.stringify(run);
  withStorage(
    () =>
      text.length <= MAX_RUN_CHARACTERS
        ? sessionStorage.setItem(RUN, text)
        : sessionStorage.removeItem(RUN),
    undefined,
  );
}
/** Return the stored form. Fields whose type differs from `like` are ignored. */
export function keptForm(like: Form): Partial<Form> {
  const stored = withStorage<Record<string, unknown>>(
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
  const run = withStorage<Snapshot | null>(
    () => JSON.parse(sessionStorage.getItem(RUN) ?? "null"),
    null,
  );
  return run && typeof run.run === "string" && Array.isArray(run.tokens?.token_id) && run.meta
    ? run
    : null;
}
