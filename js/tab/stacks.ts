// Stacks that the runtime of a tab can decode: the databases of `db`, and models of the family.
// lib/stack.ts has the complete grammar.
import { isCopy, parseStack, writeStack } from "../lib/stack";
import type { Manifest } from "./manifest";

export interface TabModel {
  name: string;
  /** Lookahead; null: the target. */
  lookahead: number | null;
  /** Probability of a draft below which drafting stops; 0: never. */
  confidence: number;
}
export interface TabStack {
  written: string;
  resolved: string;
  /** Databases of `db` in order; null: the stack has no `db`. */
  databases: string[] | null;
  models: TabModel[];
}

/** Parse a stack. Throws a one-line error if it is invalid or needs the command line. */
export function parse(text: string, manifest: Manifest): TabStack {
  const { sources, databases: all, of_the_text: own, lookahead: usual } = manifest.stacks;
  const ladder = Object.keys(manifest.models);
  const written = text.trim();
  const elsewhere = (what: string) =>
    new Error(
      `${what} does not run in a browser tab: ` +
        `use \`hsd-viz decode --stack "${written.replaceAll('"', "'")}"\``,
    );
  const parts = parseStack(written, sources);
  let databases: string[] | null = null;
  const models: TabModel[] = [];
  for (const part of parts) {
    if (part.kind === "bottom") {
      if (part.name !== "db") throw elsewhere(`'${part.name}'`);
      const other = part.items.find((item) => ![...all, ...own].includes(item));
      if (other) throw elsewhere(`'db[${other}]'`);
      databases = part.items.length ? part.items : all;
      continue;
    }
    const { name, lookahead } = part;
    if (!ladder.includes(name)) {
      if (isCopy(name)) throw elsewhere(`the copy '${name}'`);
      if (/^(\.{0,2}\/|~)|^[^/]+\/[^/]+$/.test(name)) throw elsewhere(`the model '${name}'`);
      throw new Error(`unknown model '${name}': the ladder has ${ladder.join(", ")}`);
    }
    if (lookahead === "auto") throw elsewhere(`the lookahead auto in '${name}:auto'`);
    if (part !== parts.at(-1)) part.lookahead ??= usual;
    models.push({
      name,
      lookahead: part.lookahead as number | null,
      confidence: part.confidence ?? 0,
    });
  }
  return { written, resolved: writeStack(parts), databases, models };
}
