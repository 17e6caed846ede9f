// Feed tokens to a model in the module of a browser tab: node forward.mjs hsd-viz.wasm model.json logits.bin
import { readFileSync, writeFileSync } from "node:fs";

const [wasm, given, out] = process.argv.slice(2);
const model = JSON.parse(readFileSync(given, "utf8"));
const nothing = () => 8;
const wasi = { clock_time_get: () => 0, fd_close: nothing, fd_seek: nothing, fd_write: nothing };
const module = await WebAssembly.instantiate(readFileSync(wasm), { wasi_snapshot_preview1: wasi });
const { memory, malloc, _initialize, ...exports } = module.instance.exports;
_initialize();

/** Copy bytes in base64 into memory of their own. */
function put(content) {
  const bytes = Buffer.from(content, "base64");
  const at = malloc(Math.max(bytes.length, 1));
  new Uint8Array(memory.buffer, at, bytes.length).set(bytes);
  return at;
}

const handle = exports.hsd_model_new(put(model.shape));
for (const { layer, slot, bits, content } of model.tensors) {
  const at = put(content);
  const done = bits
    ? exports.hsd_model_panels(handle, layer, slot, at, bits)
    : exports.hsd_model_set(handle, layer, slot, at, 0);
  if (!done) throw new Error(`slot ${slot} of layer ${layer} was refused`);
}
if (model.head_tokens) exports.hsd_model_head_tokens(handle, put(model.head_tokens), model.head_rows);
const session = exports.hsd_session_new(handle);
const [cos, sin] = [put(model.cos), put(model.sin)];
const size = 4 * model.vocab;
const rows = [];
let cached = 0;
for (const { tokens, count } of model.passes) {
  const logits = malloc(size * count);
  exports.hsd_session_forward(session, put(tokens), count, 0, count, logits, cos, sin, cached, 1);
  rows.push(Buffer.from(memory.buffer.slice(logits, logits + size * count)));
  cached += count;
}
writeFileSync(out, Buffer.concat(rows));
