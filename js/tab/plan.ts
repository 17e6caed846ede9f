// Turns a request into the settings of a decode, with the checks of hsd_viz/decoding/options.py.
// Pure functions.
import { SETTING_NAMES, SETTINGS, type Setting, type SettingName } from "../lib/options";
import { requestedSeed } from "../lib/seed";
import type { Request } from "./client";
import type { DecodeSettings } from "./decode";
import type { Loaded } from "./loading";
import type { Manifest } from "./manifest";
import { parse, type TabStack } from "./stacks";

/** Numeric settings except the seed, which may exceed the range of JavaScript's numbers. */
type Numbers = Record<Exclude<SettingName, "seed">, number>;

/** Describe the allowed numbers within a sentence: "a whole number from 0". */
function allowedText({ whole, low, aboveLow, high }: Setting): string {
  const kind = whole ? "a whole number" : "a number";
  if (aboveLow) return `${kind} above ${low}${high === null ? "" : ` and up to ${high}`}`;
  return high === null ? `${kind} of at least ${low}` : `${kind} from ${low} to ${high}`;
}

/** Return a number of a request. Throws a one-line error if it is out of range. */
function checkedNumber(setting: Setting, value: number): number {
  const { words, whole, low, aboveLow, high } = setting;
  const isHighEnough = aboveLow ? value > low : value >= low;
  const isLowEnough = value <= (high ?? Number.MAX_SAFE_INTEGER);
  if (!isHighEnough || !isLowEnough || (whole && !Number.isSafeInteger(value)))
    throw new Error(`${words} ${value} is out of range: it is ${allowedText(setting)}`);
  return value;
}

function numbersOf(request: Request): Numbers {
  const numbers = {} as Numbers;
  for (const name of SETTING_NAMES)
    if (name !== "seed")
      numbers[name] = checkedNumber(SETTINGS[name], request[name] ?? SETTINGS[name].usual);
  return numbers;
}

function ruleOf({ rule }: Request, { rules, defaults }: Manifest): string {
  const chosen = rule ?? defaults.rule;
  if (!rules.includes(chosen))
    throw new Error(`unknown verification rule '${chosen}': use ${rules.join(" or ")}`);
  return chosen;
}

/** Return the settings of a request. Throws a one-line error if it cannot be decoded. */
export function planOf({ manifest, runtime, tokenizer }: Loaded, request: Request): DecodeSettings {
  if (typeof request.prompt !== "string")
    throw new Error(`the prompt is text, not ${typeof request.prompt}`);
  const { max_new_tokens, ...numbers } = numbersOf(request);
  const seed = requestedSeed(request.seed);
  const rule = ruleOf(request, manifest);
  const stack = parse(String(request.stack), manifest);
  const prompt = runtime.read(tokenizer, request.prompt, Boolean(request.chat));
  const target = stack.models[stack.models.length - 1].name;
  const { positions } = manifest.models[target];
  if (prompt.length >= positions)
    throw new Error(
      `the prompt has ${prompt.length} tokens and the context holds ${positions}: ` +
        "use a shorter prompt",
    );
  return { stack, prompt, sampling: { ...numbers, seed, rule }, max_new_tokens };
}

/** Return the names of the models and database files that a stack needs. */
export function neededBy({ models, databases }: TabStack, { stacks }: Manifest): string[] {
  const files = (databases ?? []).filter((name) => !stacks.of_the_text.includes(name));
  return [...models.map(({ name }) => name), ...files];
}
