// @vitest-environment happy-dom
// Every panel can be opened, however many there are.
import assert from "node:assert/strict";
import { test, vi } from "vitest";
import { modelOf } from "../lib/testing";
import tabs from "./index";

test("the selected tab's panel is the open one, the last of many too", () => {
  vi.stubGlobal("reportError", (error: unknown) => {
    throw error;
  });
  const box = document.body.appendChild(document.createElement("div"));
  box.className = "hsd-explorer";
  const el = box.appendChild(document.createElement("div"));
  const titles = Array.from({ length: 12 }, (_, k) => `Tab ${k}`);
  for (const k of titles.keys()) box.appendChild(document.createElement("div")).className = `hsd-panel-${k}`;
  const model = modelOf({ label: "Views", titles, selected: 0 });
  tabs.render({ model, el });
  const open = () => [...box.querySelectorAll(".hsd-panel-open")].map((panel) => panel.className.split(" ")[0]);
  assert.deepEqual(open(), ["hsd-panel-0"]);
  model.set("selected", 11);
  assert.deepEqual(open(), ["hsd-panel-11"]);
  assert.equal(box.dataset.open, "11");
});
