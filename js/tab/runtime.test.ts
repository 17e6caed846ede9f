// The runtime under node, against what tests/js/test_tab.py writes: texts with their tokens, and
// recorded runs.
import { readFileSync } from "node:fs";
import { describe, expect, test, vi } from "vitest";
import { metricsOf } from "../lib/metrics";
import { createStore } from "../lib/run";
import { Decode } from "./decode";
import { check, type Manifest } from "./manifest";
import { Module } from "./memory";
import { Runtime } from "./runtime";
import { parse } from "./stacks";
import { Tokenizer } from "./tokenizer";

vi.setConfig({ testTimeout: 300_000 });
const read = (path: string) => readFileSync(path) as unknown as Uint8Array<ArrayBuffer>;
const given = process.env.HSD_TAB ? JSON.parse(readFileSync(process.env.HSD_TAB, "utf8")) : null;
const manifest = given?.manifest as Manifest;
const timed = /_ns$|seconds|tokens_per_second/;
const untimed = (value: unknown) =>
  JSON.parse(JSON.stringify(value, (key, inner) => (timed.test(key) ? undefined : inner)));

describe.skipIf(!given)("the runtime of a tab", async () => {
  if (!given) return void test("needs the files of a tab", () => {});
  const tokenizer = new Tokenizer(JSON.parse(readFileSync(given.files["tokenizer.json"], "utf8")));
  const runtime = new Runtime(
    await Module.open(read(given.files["hsd-viz.wasm"]), manifest),
    manifest,
  );
  const packed = Object.values(manifest.models).some(({ sections }) => sections);
  for (const [name, { parts, sections, bytes }] of Object.entries(manifest.models)) {
    if (!sections) {
      runtime.addModel(name, read(given.files[parts[0]]));
      continue;
    }
    const at = runtime.module.allocate(bytes as number);
    let end = at;
    for (const part of parts) {
      const content = read(given.files[part]);
      runtime.module.array(Uint8Array, end, content.length).set(content);
      end += content.length;
    }
    runtime.addPacked(name, at);
  }
  for (const [name, file] of Object.entries(manifest.databases))
    runtime.addDatabase(name, read(given.files[file]));

  test("texts have the tokens of the package tokenizers", () => {
    expect(given.texts.length).toBeGreaterThan(1000);
    for (const [text, ids] of given.texts)
      expect(tokenizer.encode(text), JSON.stringify(text)).toEqual(ids);
    for (const [ids, text, pieces] of given.tokens) {
      expect(tokenizer.decode(ids)).toBe(text);
      expect(ids.map((id: number) => tokenizer.piece(id))).toEqual(pieces);
    }
  });

  test.each(given.runs as { name: string; meta: any; columns: any; metrics: any }[])(
    "$name has the rows of the native runtime",
    ({ meta, columns, metrics: figures }) => {
      const { temperature, top_k, top_p, min_p = 0, seed, rule } = meta.sampling;
      const decode = new Decode(runtime, {
        prompt: runtime.read(tokenizer, meta.prompt, meta.chat),
        stack: parse(meta.stack, manifest),
        sampling: { temperature, top_k, top_p, min_p, seed: BigInt(seed), rule },
        max_new_tokens: meta.max_new_tokens,
      });
      expect([...decode.prefill()].length).toBeGreaterThan(0);
      const prefilled = decode.ended;
      const rows: Record<string, Record<string, unknown[]>> = {};
      for (let part = decode.rounds(5); part; part = decode.rounds(5))
        for (const [table, arrays] of Object.entries(part))
          for (const [column, values] of Object.entries(arrays)) {
            rows[table] ??= {};
            rows[table][column] = [...(rows[table][column] ?? []), ...(values as unknown[])];
          }
      rows.tokens.text = (rows.tokens.token_id as number[]).map((id) => tokenizer.piece(id)[0]);
      rows.tokens.raw = (rows.tokens.token_id as number[]).map((id) => tokenizer.piece(id)[1]);
      rows.drafts.text = (rows.drafts.token_id as number[]).map((id) => tokenizer.piece(id)[0]);
      decode.close();
      for (const table of Object.keys(columns))
        expect(untimed(rows[table])).toEqual(untimed(columns[table]));
      const store = createStore();
      store.adopt({
        run: "r",
        seq: 1,
        prompt: "",
        prompt_ids: [],
        levels: [],
        pieces: {},
        meta: { stack: "", sampling: {}, prefill_ns: prefilled, wall_ns: decode.ended },
        ...(rows as any),
      });
      expect(untimed(metricsOf(store))).toEqual(untimed(figures));
    },
  );

  test("a text ends at the last position of its model", () => {
    const { positions } = manifest.models.nano;
    const decode = new Decode(runtime, {
      prompt: Array.from({ length: positions - 3 }, (_, k) => 100 + (k % 50)),
      stack: parse("nano", manifest),
      sampling: { temperature: 0, top_k: 0, top_p: 1, seed: 0n, rule: "token" },
      max_new_tokens: 8,
    });
    expect(decode.limit).toBe(positions);
    decode.close();
  });

  test("a file that is incomplete or changed is refused", () => {
    const [name] = manifest.models.nano.parts;
    const file = new Uint8Array(read(given.files[name]));
    check(name, file, manifest);
    expect(() => check(name, file.subarray(1000), manifest)).toThrow(/incomplete/);
    file[5000] ^= 1;
    expect(() => check(name, file, manifest)).toThrow(/damaged/);
  });

  test("memory that cannot be had is reported, and what is loaded stays usable", () => {
    expect(() => runtime.module.allocate(2 ** 30)).toThrow(/too little memory/);
    expect(runtime.time("nano", [2], 0, 1)[2]).toBeGreaterThan(0);
    expect(runtime.module.bytes).toBeLessThan(150e6);
  });

  test.skipIf(packed)("a family without a chat template answers no turn", () => {
    expect(() => runtime.read(tokenizer, "Why?", true)).toThrow(/no chat template/);
    expect(runtime.read(tokenizer, "")).toEqual([0]);
  });

  test.skipIf(packed).each([
    ["", /empty/],
    ["nano >", /part 2 of the stack/],
    ["db", /has no target/],
    ["target > db", /only be the first part/],
    ["nano:0 > target", /whole number from 1 to 64/],
    ["nano:4", /takes no lookahead/],
    ["db:4 > target", /takes no lookahead/],
    ["nano > nano", /appears twice/],
    ["db[context,context] > target", /appears twice/],
    ["db[web] > target", /use context, model, statistics, semantic, logits/],
    ["giant > target", /unknown model 'giant'/],
    ["nano[context] > target", /the weights of a model's copy are/],
    ["nano[int8]:2 > target", /hsd-viz decode/],
    ["hd > target", /hsd-viz decode --stack "hd > target"/],
    ["db[logits] > target", /hsd-viz decode/],
    ["nano:auto > target", /hsd-viz decode/],
    ["org/model > target", /hsd-viz decode/],
  ])("the stack '%s' is refused", (text, why) => expect(() => parse(text, manifest)).toThrow(why));

  test("a stack is resolved as the command line does", () => {
    for (const [text, resolved] of given.stacks)
      expect(parse(text, manifest).resolved).toBe(resolved);
  });
});
