// The page's kernel: a request without an end is ended when the kernel is lost, or cancelled.
import assert from "node:assert/strict";
import { test } from "vitest";
import { isLost } from "../host";
import { modelOf } from "../lib/testing";
import { kernelHost } from "./kernel";

test("all waiting requests end when the kernel is lost, and later ones at once", async () => {
  const changed = new Set<() => void>();
  const signal = {
    connect: (act: () => void) => changed.add(act),
    disconnect: (act: () => void) => changed.delete(act),
  };
  const kernel = {
    status: "idle",
    connectionStatus: "connected",
    statusChanged: signal,
    connectionStatusChanged: signal,
  };
  const model = modelOf({ about: {}, can: ["decode"] });
  model.widget_manager = { kernel };
  const host = kernelHost(model);
  const said: string[] = [];
  host.watch?.((why) => said.push(why));
  const outcomes = [
    host.recording("one"),
    host.ask?.({ about: "law" }, { stage() {} }, new AbortController().signal),
  ].map((request) => request?.catch((error) => error));
  kernel.status = "dead";
  for (const act of [...changed]) act();
  const errors = await Promise.all(outcomes);
  assert.deepEqual(errors.map(isLost), [true, true]);
  assert.equal(said.length, 1);
  assert.ok(isLost(await host.recording("two").catch((error) => error)));
});

test("a question cancelled while its run is sent is not asked", async () => {
  const model = modelOf({ about: {}, can: ["law"] });
  const kinds: string[] = [];
  const control = new AbortController();
  model.send = ({ id, kind }: any) => {
    kinds.push(kind);
    if (kind !== "knows") return;
    control.abort();
    model.fire("msg:custom", { id, kind: "done", known: true }, []);
  };
  const question = { about: "law", run: { run: "one" } } as any;
  const answer = kernelHost(model).ask?.(question, { stage() {} }, control.signal);
  await assert.rejects(answer as Promise<unknown>, { name: "AbortError" });
  assert.deepEqual(kinds, ["knows"]);
});
