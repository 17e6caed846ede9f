// Calls of the module that fail: a null handle, an end of the module, and too little memory.
import { readFileSync } from "node:fs";
import { expect, test } from "vitest";
import type { Manifest } from "./manifest";
import { Module, ModuleEnded, OutOfMemory, withBuffers } from "./memory";

const WASM = new URL("../../hsd_viz/native/hsd-viz.wasm", import.meta.url);
const open = () => Module.open(new Uint8Array(readFileSync(WASM)), {} as Manifest);

test("a null handle has the reason of the call", async () => {
  const module = await open();
  const settings = module.put(new Uint8Array(256));
  const make = () => module.make("hsd_drafter_new", settings);
  expect(make).toThrow(/^keys of this length are not for the native drafter$/);
  expect(make).not.toThrow(OutOfMemory);
});

test("too little memory is reported, also after a failure for another reason", async () => {
  const module = await open();
  const settings = module.put(new Uint8Array(256));
  expect(() => module.make("hsd_drafter_new", settings)).toThrow(/keys/);
  expect(() => module.allocate(2 ** 30)).toThrow(OutOfMemory);
  expect(module.allocate(8)).toBeGreaterThan(0);
});

test("a module that ends itself says why, now and at each later call", async () => {
  const module = await open();
  const shape = module.put(new Uint8Array(256));
  for (let call = 0; call < 2; call++) {
    expect(() => module.make("hsd_model_new", shape)).toThrow(ModuleEnded);
    expect(() => module.allocate(8)).toThrow("The runtime ended: no such type");
  }
});

test("buffers of a call are freed when it fails, too", async () => {
  const module = await open();
  const freed: number[] = [];
  module.free = (address) => freed.push(address);
  const lent: number[] = [];
  const fail = () =>
    withBuffers(module, (buffers) => {
      lent.push(buffers.put(new Uint8Array(256)), buffers.allocate(8));
      return module.make("hsd_drafter_new", lent[0]);
    });
  expect(fail).toThrow(/^keys of this length/);
  expect(freed).toEqual(lent);
});
