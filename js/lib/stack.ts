// The grammar of stacks in the browser, the same as in hsd_viz/stack/, so that the form checks
// stacks without a kernel. The engine parses a stack again before it decodes.
import { MAX_LOOKAHEAD } from "./options";

/** A part of a stack: a draft source with its items (none: the default items), or a model. */
export type Part =
  | { kind: "model"; name: string; lookahead: number | "auto" | null; confidence: number | null }
  | { kind: "bottom"; name: string; items: string[] };
/** Items of each draft source, by its name. */
export type Sources = Record<string, readonly string[]>;
/** Weight types of a copy of a model, as in `target[int8]`. */
const COPY_TYPES = ["int8", "bfloat16", "float32"];
const COPY = new RegExp(String.raw`^(?<original>.+)(?<type>\[(?:${COPY_TYPES.join("|")})\])$`, "s");

const CONFIDENCE = String.raw`\?\s*(?:[0-9]*\.[0-9]+|[0-9]+)`;
/** Matches the lookahead and confidence at the end of a part. */
const LOOKAHEAD = String.raw`:\s*(?:[0-9]+|auto)(?:\s*${CONFIDENCE})?`;
const SUFFIX = String.raw`(?:${LOOKAHEAD}|${CONFIDENCE})(?=\s*(?:[>\],]|$))`;
const PIECES = [
  '"(?<quoted>[^"]+)"',
  String.raw`(?<mark>[>[\],])`,
  `(?<look>${SUFFIX})`,
  String.raw`(?<word>(?:[^\s>[\],":?]|(?!${SUFFIX})[:?])+)`,
];
const TOKEN = new RegExp(String.raw`\s*(?:${PIECES.join("|")})\s*`, "y");
const NAME =
  /^(?:(?:\.\.?\/|\/|~).*|[A-Za-z_][A-Za-z0-9_.-]*|[\p{L}\p{N}_.-]+\/[\p{L}\p{N}_.:-]+)$/su;

interface Lexeme {
  text: string;
  kind: "quoted" | "mark" | "look" | "word";
}
function lexemes(text: string): Lexeme[] {
  const lexed: Lexeme[] = [];
  TOKEN.lastIndex = 0;
  while (TOKEN.lastIndex < text.length) {
    const match = TOKEN.exec(text);
    if (!match) throw new Error(`the stack '${text.trim()}' has an unclosed or empty double quote`);
    const [named] = Object.entries(match.groups ?? {}).filter(([, part]) => part !== undefined);
    lexed.push({ text: named[1], kind: named[0] as Lexeme["kind"] });
  }
  return lexed;
}

function splitAt(all: Lexeme[], mark: string): Lexeme[][] {
  const parts: Lexeme[][] = [[]];
  for (const lexeme of all) {
    if (lexeme.kind === "mark" && lexeme.text === mark) parts.push([]);
    else parts[parts.length - 1].push(lexeme);
  }
  return parts;
}
const textOf = (part: Lexeme[]) =>
  part.map((l) => (l.kind === "quoted" ? `"${l.text}"` : l.text)).join("");

/** Return whether a model name denotes a copy with another weight type. */
export const isCopy = (name: string) => COPY.test(name);

/** Return the weight type in brackets after a model's name; "" without one. */
function copyOf(part: Lexeme[]): string {
  const [, open, type, close] = part;
  if (open?.text !== "[" || open.kind !== "mark") return "";
  if (!COPY_TYPES.includes(type?.text) || close?.text !== "]")
    throw new Error(
      `'${textOf(part)}' is not valid: the weights of a model's copy are ${COPY_TYPES.join(", ")}`,
    );
  return `[${type.text}]`;
}

function modelOf(part: Lexeme[]): Part {
  const copied = copyOf(part);
  const [name, look, ...rest] = copied ? [part[0], ...part.slice(4)] : part;
  if (
    !name ||
    rest.length ||
    (look && look.kind !== "look") ||
    name.kind === "look" ||
    name.kind === "mark"
  )
    throw new Error(
      `'${textOf(part)}' is not a valid part: use a draft source or a model, as in 'nano:4'`,
    );
  if (!NAME.test(name.text))
    throw new Error(`'${name.text}' is not a model: use a ladder name, a hub id or a path`);
  const [, written, unsure] = /^(?::\s*(\w+)\s*)?(?:\?\s*(.+))?$/.exec(look?.text ?? "") ?? [];
  const confidence = unsure === undefined ? null : Number(unsure);
  if (confidence !== null && !(confidence > 0 && confidence < 1))
    throw new Error(
      `the confidence '${unsure}' of '${name.text}' is out of range: ` +
        "expected a number above 0 and below 1",
    );
  if (isCopy(name.text))
    throw new Error(
      `'${textOf(part)}' has the type of a copy inside the quotes: write '${quoted(name.text)}'`,
    );
  return {
    kind: "model",
    name: name.text + copied,
    lookahead: lookaheadOf(written, name.text),
    confidence,
  };
}

function lookaheadOf(written: string | undefined, name: string): number | "auto" | null {
  if (written === undefined) return null;
  if (written === "auto") return "auto";
  const number = Number(written);
  const range = `expected a whole number from 1 to ${MAX_LOOKAHEAD}, or auto`;
  if (number < 1 || number > MAX_LOOKAHEAD)
    throw new Error(`the lookahead '${written}' of '${name}' is out of range: ${range}`);
  return number;
}

function partOf(part: Lexeme[], sources: Sources): Part {
  const [name, open, ...rest] = part;
  if (name.kind !== "word" || !Object.hasOwn(sources, name.text)) return modelOf(part);
  if (open?.kind === "look")
    throw new Error(`'${name.text}' is a draft source and takes no lookahead and no confidence`);
  if (!open) return { kind: "bottom", name: name.text, items: [] };
  const close = rest.pop();
  if (open.text !== "[" || close?.text !== "]" || !rest.length)
    throw new Error(
      `'${textOf(part)}' is not valid: list items in brackets, as in 'db[context,model]'`,
    );
  const allowed = sources[name.text];
  const items = splitAt(rest, ",").map((item) => {
    const [own, ...more] = item;
    if (own && name.text === "auto" && copyOf(item) && more.length === 3)
      return own.text + copyOf(item);
    if (!own || more.length || (!allowed.includes(own.text) && name.text !== "auto"))
      throw new Error(
        `'${textOf(item)}' is not an item of '${name.text}': use ${allowed.join(", ") || "none"}`,
      );
    return own.text;
  });
  const twice = items.find((item, k) => items.indexOf(item) !== k);
  if (twice) throw new Error(`'${twice}' appears twice in '${textOf(part)}'`);
  return { kind: "bottom", name: name.text, items };
}

/** Return the items of `auto`; null for other parts. */
const autoOf = (part: Part) => (part.kind === "bottom" && part.name === "auto" ? part.items : null);

/** Parse a stack into its parts, lowest level first. Throws a one-line error if it is invalid. */
export function parseStack(text: string, sources: Sources): Part[] {
  if (!text.trim())
    throw new Error(
      "the stack is empty: write for example 'target', 'nano:4 > target' or 'db > nano:4 > target'",
    );
  const parts = splitAt(lexemes(text), ">").map((part, k) => {
    if (!part.length)
      throw new Error(
        `part ${k + 1} of the stack '${text.trim()}' is empty: separate the parts with '>'`,
      );
    const parsed = partOf(part, sources);
    if (k && parsed.kind === "bottom")
      throw new Error(
        `'${textOf(part)}' is part ${k + 1} of the stack: it can only be the first part`,
      );
    return parsed;
  });
  const models = parts.filter((p) => p.kind === "model");
  const [bottom] = parts;
  const target = models.at(-1);
  if (!target)
    throw new Error(
      `'${bottom.name}' has no target: end the stack with a model, as in '${bottom.name} > target'`,
    );
  const last = `the last part '${writeStack([target])}' is the target`;
  if (isCopy(target.name))
    throw new Error(`${last}, of which the option dtype sets the type of the weights`);
  if (target.lookahead !== null)
    throw new Error(`${last} and takes no lookahead: write '${target.name}'`);
  if (target.confidence !== null)
    throw new Error(`${last} and takes no confidence: write '${target.name}'`);
  const chosen = autoOf(bottom);
  if (chosen && models.length > 1)
    throw new Error("'auto' chooses the draft models and must be followed by the target");
  const names = [...models.map((m) => m.name), ...(chosen ?? [])];
  const twice = names.find((name, k) => names.indexOf(name) !== k);
  if (twice)
    throw new Error(`'${twice}' appears twice in the stack: a model cannot draft for itself`);
  return parts;
}

const ENDS_LIKE_A_PART = new RegExp(`${SUFFIX}$`);
function quoted(name: string): string {
  const { original, type } = COPY.exec(name)?.groups ?? { original: name, type: "" };
  const plain =
    NAME.test(original) && !/[\s>[\],"]/.test(original) && !ENDS_LIKE_A_PART.test(original);
  return (plain ? original : `"${original}"`) + type;
}

/** Format a number without an exponent. */
const decimal = (x: number) =>
  String(x).includes("e") ? x.toFixed(20).replace(/0+$/, "") : String(x);
const modelText = (model: Extract<Part, { kind: "model" }>) => {
  const lookahead = model.lookahead === null ? "" : `:${model.lookahead}`;
  const confidence = model.confidence === null ? "" : `?${decimal(model.confidence)}`;
  return `${quoted(model.name)}${lookahead}${confidence}`;
};

/** Write parts as the text of a stack. */
export const writeStack = (parts: readonly Part[]) =>
  parts
    .map((p) =>
      p.kind === "bottom"
        ? `${p.name}${p.items.length ? `[${p.items.join(",")}]` : ""}`
        : modelText(p),
    )
    .join(" > ");

/**
 * Return whether draft models may have proposed tokens; they draw additional random numbers. True
 * for text that is not a valid stack.
 */
export function draftsWithModels(stack: string, sources: Sources): boolean {
  try {
    const [bottom, ...rest] = parseStack(stack, sources);
    const chosen = autoOf(bottom);
    if (chosen) return chosen.join() !== "db";
    return (bottom.kind === "bottom" ? rest.length : rest.length + 1) > 1;
  } catch {
    return true;
  }
}
/** A part of a stack as it is written: its draft source or model, and the text in its brackets. */
export interface WrittenPart {
  name: string;
  items: string;
}
/** Return the parts of a stack, lowest level first; [] for text that is not a stack. */
export function writtenParts(stack: string): WrittenPart[] {
  if (!stack.trim()) return [];
  try {
    return splitAt(lexemes(stack), ">").map(([name, open, ...rest]) => ({
      name: name?.text ?? "",
      items: open?.text === "[" ? textOf(rest.slice(0, -1)) : "",
    }));
  } catch {
    return [];
  }
}
export const isPlain = (stack: string) => writtenParts(stack).length === 1;
export const targetOf = (stack: string) => writtenParts(stack).at(-1)?.name ?? "";
/** Return why a page does not allow a stack; "" if it does. `models`: allowed names; null: any. */
export function refusalOf(parts: readonly Part[], models: readonly string[] | null): string {
  const modelNames = (p: Part) =>
    p.kind === "model" ? [p.name] : (autoOf(p) ?? []).filter((item) => item !== "db");
  const refused = models && parts.flatMap(modelNames).find((name) => !models.includes(name));
  return refused
    ? `'${refused}' is not allowed on this page: use ${models.join(", ")}; ` +
        "other models need `hsd-viz dashboard --allow-models`"
    : "";
}

/** Drafters without a colour of their own, and the database that is asked first. */
const FIRST_DATABASE: Record<string, string> = { db: "context", hd: "context" };

/** Return the source that drafts for the target, in whose colour a stack is drawn. */
export function drafterOf(stack: string): string {
  const drafter = writtenParts(stack).at(-2)?.name ?? "target";
  return FIRST_DATABASE[drafter] ?? drafter;
}

/** Return whether draft models draft over databases, as in `db > nano:2 > target`. */
export function isOverDatabases(stack: string): boolean {
  const parts = writtenParts(stack);
  return parts[0]?.name === "db" && parts.length > 2;
}
