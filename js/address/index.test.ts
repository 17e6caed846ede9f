// @vitest-environment happy-dom
// The page's address over returns to entries of its history.
import assert from "node:assert/strict";
import { beforeEach, test, vi } from "vitest";
import { modelOf } from "../lib/testing";
import addressWidget, { addressOf } from "./index";

let entries: string[];

beforeEach(() => {
  vi.useFakeTimers();
  entries = ["/"];
  const shown = new URL("http://localhost/");
  const go = (href: string) => {
    shown.href = new URL(href, "http://localhost/").href;
  };
  vi.stubGlobal("location", shown);
  vi.stubGlobal("history", {
    pushState: (_state: null, _title: string, href: string) => {
      entries.push(href);
      go(href);
    },
    replaceState: (_state: null, _title: string, href: string) => {
      entries[entries.length - 1] = href;
      go(href);
    },
  });
  vi.stubGlobal("matchMedia", () => ({ matches: false, addEventListener() {}, removeEventListener() {} }));
});

function opened() {
  const model = modelOf({
    group: "address",
    palette: { hues: {}, baselines: [], databases: [] },
    run: "",
    name: "",
    start: {},
    state: {},
    returned: 0,
    served: true,
    waits: false,
  });
  const made: any = addressWidget;
  const widget = typeof made === "function" ? made() : made;
  widget.initialize?.({ model });
  widget.render({ model, el: document.body.appendChild(document.createElement("div")) });
  return model;
}

/** Return to the entry before, as the browser does. */
function back() {
  entries.pop();
  location.href = new URL(entries[entries.length - 1], "http://localhost/").href;
  dispatchEvent(new Event("popstate"));
}

test("a state written before a return is not written over the entry returned to", () => {
  const model = opened();
  model.set("state", {});
  model.set("state", { trace: "one" });
  model.set("state", { trace: "two" });
  model.set("state", { trace: "two", prompt: "x" });
  // The edit would be written 400 ms later.
  back();
  vi.advanceTimersByTime(1000);
  assert.equal(location.search, "?trace=one");
  // What Python sent before it heard of the return.
  model.set("state", { trace: "two", prompt: "xy" });
  vi.advanceTimersByTime(1000);
  assert.equal(location.search, "?trace=one");
  const [sent] = model.sent.filter((message: any) => message.kind === "back");
  assert.equal(sent.query, "?trace=one");
  model.set("state", { trace: "one", seed: "3" });
  model.set("returned", sent.number);
  assert.equal(location.search, "?trace=one&seed=3");
  assert.equal(entries.length, 2, "an answer makes no entry");
  model.set("state", { trace: "three" });
  assert.equal(entries.length, 3);
});

test("every parameter of the page that is no longer set leaves the address", () => {
  const { href, step } = addressOf("http://localhost/?rule=block&prompt=a&other=1", {});
  assert.deepEqual([href, step], ["http://localhost/?other=1", false]);
});
