// @vitest-environment happy-dom
// When the page reports what the browser stores.
import assert from "node:assert/strict";
import { test, vi } from "vitest";
import { modelOf } from "../lib/testing";
import session from "./index";

test("what is stored is reported once, and not before the page is drawn", async () => {
  localStorage.setItem("hsd_viz.form", JSON.stringify({ form: { prompt: "mine" } }));
  const model = modelOf({ form: {} });
  const widget = session();
  const end = widget.initialize({ model });
  await new Promise((done) => setTimeout(done, 20));
  assert.deepEqual(model.sent, []);
  for (const _ of [1, 2]) widget.render({ model, el: document.createElement("div") } as any);
  await vi.waitFor(() => assert.equal(model.sent.length, 1));
  assert.deepEqual(model.sent[0], { kind: "stored", form: { form: { prompt: "mine" } } });
  model.set("form", { form: { prompt: "new" } });
  assert.match(localStorage.getItem("hsd_viz.form") ?? "", /new/);
  end();
  assert.equal(model.heard(), 0);
});
