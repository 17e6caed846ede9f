// Stacks that the runtime of a tab decodes: databases by `db`, and models of the ladder. hsd_viz/stack.py has the whole language.
import type { Manifest } from "./manifest";

export interface TabModel {
  name: string;
  /** null: the target. */
  lookahead: number | null;
}
export interface TabStack {
  written: string;
  resolved: string;
  /** The databases of `db`, in order; null without it. */
  databases: string[] | null;
  models: TabModel[];
}

const PART = /^(?:"([^"]+)"|([^\s"[\]:]+))\s*(?:\[([^\]]*)\])?\s*(?::\s*(\S*))?$/;

/** Parse a stack. Throws a one-line error if it is not one, or needs the command line. */
export function parse(text: string, manifest: Manifest): TabStack {
  const { sources, databases: all, lookahead: usual, most } = manifest.stacks;
  const ladder = Object.keys(manifest.models);
  const written = text.trim();
  if (!written) throw new Error("the stack is empty: write for example 'target', 'nano:4 > target' or 'db > target'");
  const elsewhere = (what: string) =>
    new Error(
      `${what} does not run in a browser tab: use \`hsd-viz decode --stack "${written.replaceAll('"', "'")}"\``,
    );
  let databases: string[] | null = null;
  let named: string[] = [];
  const models: TabModel[] = [];
  written.split(">").forEach((piece, place) => {
    const part = piece.trim();
    if (!part) throw new Error(`part ${place + 1} of the stack '${written}' is empty: separate the parts with '>'`);
    const [, quoted, word, items, look] = PART.exec(part) ?? [];
    const name = quoted ?? word;
    if (!name) throw new Error(`unknown part '${part}': expected db or one of ${ladder.join(", ")}`);
    if (word in sources) {
      if (place) throw new Error(`'${part}' is part ${place + 1} of the stack: it can only be the first part`);
      if (look !== undefined)
        throw new Error(`'${word}' takes no lookahead: its drafts are as long as the match suggests`);
      if (word !== "db") throw elsewhere(`'${word}'`);
      named = items === undefined ? [] : items.split(",").map((item) => item.trim());
      for (const item of named) {
        if (!sources.db.includes(item))
          throw new Error(`unknown item '${item}' in '${part}': db[...] takes ${sources.db.join(", ")}`);
        if (!all.includes(item)) throw elsewhere(`'db[${item}]'`);
        if (named.filter((other) => other === item).length > 1) throw new Error(`'${item}' appears twice in '${part}'`);
      }
      databases = named.length ? named : all;
      return;
    }
    if (items !== undefined)
      throw new Error(`unknown name '${name}' in '${part}': expected ${Object.keys(sources).join(", ")}`);
    if (!ladder.includes(name)) {
      if (/^(\.{0,2}\/|~)|^[^/]+\/[^/]+$/.test(name)) throw elsewhere(`the model '${name}'`);
      throw new Error(`unknown model '${name}': the ladder has ${ladder.join(", ")}`);
    }
    if (look === "auto") throw elsewhere(`the lookahead auto in '${part}'`);
    if (look !== undefined && !(/^\d+$/.test(look) && +look >= 1 && +look <= most))
      throw new Error(`the lookahead '${look}' in '${part}' is not valid: expected a whole number from 1 to ${most}`);
    if (models.some((model) => model.name === name))
      throw new Error(`'${name}' appears twice in the stack: a model cannot draft for itself`);
    models.push({ name, lookahead: look === undefined ? null : +look });
  });
  const target = models.at(-1);
  if (!target) throw new Error(`'${written}' has no target: end the stack with a model, as in '${written} > target'`);
  if (target.lookahead !== null)
    throw new Error(
      `the last part '${target.name}:${target.lookahead}' is the target and takes no lookahead: write '${target.name}'`,
    );
  for (const model of models.slice(0, -1)) model.lookahead ??= usual;
  const source = databases ? [named.length ? `db[${named.join(",")}]` : "db"] : [];
  const parts = models.map(({ name, lookahead }) => (lookahead === null ? name : `${name}:${lookahead}`));
  return { written, resolved: [...source, ...parts].join(" > "), databases, models };
}
