// @vitest-environment happy-dom
// Runs of the page: decoded, cancelled, lost, late, and continued by another token.
import assert from "node:assert/strict";
import { beforeEach, test, vi } from "vitest";
import { lostError } from "../host";
import { RECORDED } from "../lib/testing";
import { button, emptyBrowser, opened, PAGE_TEST, text, waitingHost } from "./testing";

beforeEach(emptyBrowser);

// A host that decodes the recorded run: it stops after its text, until `finish` is called.
function decodingHost() {
  const { tokens, drafts, rounds, calls, pieces, ...head } = RECORDED.sampled;
  const tables: Record<string, any> = { tokens, drafts, rounds, calls };
  const empty: Record<string, any> = {};
  for (const [name, columns] of Object.entries(tables)) {
    empty[name] = Object.fromEntries(Object.keys(columns).map((column) => [column, []]));
  }
  const requests: any[] = [];
  let finish = () => {};
  const decode = async (request: any, on: any, signal: AbortSignal) => {
    requests.push(request);
    const run = `live ${requests.length}`;
    on.stage("loading the models");
    const meta = { ...head.meta, wall_ns: null };
    on.begin({ ...head, run, seq: 0, ...empty, pieces: {}, meta });
    on.append({ kind: "append", run, first: 1, seq: 1, steps: [{ ...tables, pieces }] });
    await new Promise<void>((done) => {
      finish = done;
      signal.addEventListener("abort", () => done());
    });
    return { ...head, run, seq: 1, meta: { ...head.meta, cancelled: signal.aborted } };
  };
  return { host: { decode }, requests, finish: () => finish() };
}

const badge = (el: HTMLElement, shown: string) =>
  vi.waitFor(() => assert.equal(text(el, ".hsd-badge"), shown));

// The page with its form open.
async function withForm(host: any) {
  const { el, close } = opened(host);
  await badge(el, "Recording");
  button(el, "New run").click();
  return { el, close };
}

test("a run is shown as it grows, and can be cancelled meanwhile", PAGE_TEST, async () => {
  const { host, requests, finish } = decodingHost();
  const { el, close } = await withForm(host);
  button(el, "Run").click();
  await badge(el, "Live run");
  assert.match(text(el, ".hsd-form-switch"), /Cancel run/);
  assert.equal(button(el, "Run").disabled, true);
  await vi.waitFor(() => assert.match(text(el, ".hsd-now .hsd-stage"), /decoding \d+\/\d+/));
  finish();
  await badge(el, "Finished run");
  assert.equal(requests[0].beside_plain, true);
  close();
});

test("a finished run is kept", PAGE_TEST, async () => {
  const { host, finish } = decodingHost();
  const { el, close } = await withForm(host);
  button(el, "Run").click();
  await badge(el, "Live run");
  finish();
  await badge(el, "Finished run");
  assert.ok(sessionStorage.getItem("hsd_viz.run"));
  close();
});

test("what is typed while a run grows is kept, and decoded by the next", PAGE_TEST, async () => {
  const { host, requests, finish } = decodingHost();
  const { el, close } = await withForm(host);
  button(el, "Run").click();
  await badge(el, "Live run");
  await vi.waitFor(() => assert.match(text(el, ".hsd-now .hsd-stage"), /decoding \d+\/\d+/));
  const stack = el.querySelector(".hsd-controls input.hsd-mono") as HTMLInputElement;
  stack.value = "db > small > target";
  stack.dispatchEvent(new Event("input"));
  finish();
  await badge(el, "Finished run");
  assert.equal(stack.value, "db > small > target");
  button(el, "Run").click();
  await badge(el, "Live run");
  assert.equal(requests[1].stack, "db > small > target");
  finish();
  await badge(el, "Finished run");
  close();
});

test("a cancelled run is called so", PAGE_TEST, async () => {
  const { host } = decodingHost();
  const { el, close } = await withForm(host);
  button(el, "Run").click();
  await badge(el, "Live run");
  button(el, "Cancel").click();
  await vi.waitFor(() => assert.match(text(el, ".hsd-foot"), /cancelled/));
  close();
});

test("a run that fails is a card, and another can begin", PAGE_TEST, async () => {
  const decode = async () => {
    throw new Error("no model");
  };
  const { el, close } = await withForm({ decode });
  button(el, "Run").click();
  await vi.waitFor(() => assert.match(text(el, ".hsd-notice"), /Run failed ?no model/));
  assert.equal(button(el, "Run").disabled, false);
  close();
});

test(
  "a recording that arrives late replaces neither a newer choice nor a run",
  PAGE_TEST,
  async () => {
    const arrivals: Record<string, () => void> = {};
    const recording = (name: string) =>
      new Promise((done) => {
        arrivals[name] = () => done(RECORDED[name]);
      });
    let finish = (_head: object) => {};
    const decode = (_: unknown, on: any) => {
      on.begin({ ...RECORDED.sampled, run: "live" });
      return new Promise((done) => {
        finish = done;
      });
    };
    const { el, close } = opened({ recording, decode });
    const select = el.querySelector<HTMLSelectElement>(".hsd-run-select") as HTMLSelectElement;
    const [first, second, third] = [...select.options].map((option) => option.value);
    const pick = (name: string) => {
      select.value = name;
      select.dispatchEvent(new Event("change"));
    };
    await vi.waitFor(() => assert.ok(arrivals[first]));
    pick(second);
    await vi.waitFor(() => assert.ok(arrivals[second]));
    arrivals[second]();
    await vi.waitFor(() => assert.equal(select.value, second));
    arrivals[first]();
    pick(third);
    await vi.waitFor(() => assert.ok(arrivals[third]));
    assert.equal(select.value, second);
    button(el, "New run").click();
    button(el, "Run").click();
    await vi.waitFor(() => assert.equal(text(el, ".hsd-badge"), "Live run"));
    arrivals[third]();
    const { tokens, drafts, rounds, calls, pieces, ...head } = RECORDED.sampled;
    finish({ ...head, run: "live" });
    await vi.waitFor(() => assert.equal(text(el, ".hsd-badge"), "Finished run"));
    assert.equal(select.value, "here");
    close();
  },
);

test(
  "a host that is lost during a run frees the page, and what was decoded is kept",
  PAGE_TEST,
  async () => {
    const { host, hold } = waitingHost();
    const { el, close } = opened(host);
    await vi.waitFor(() => assert.equal(text(el, ".hsd-badge"), "Recording"));
    button(el, "New run").click();
    button(el, "Run").click();
    await vi.waitFor(() => assert.equal(text(el, ".hsd-badge"), "Live run"));
    hold.lose("The kernel of this page ended.");
    hold.fail(lostError("The kernel of this page ended."));
    await vi.waitFor(() => assert.equal(text(el, ".hsd-badge"), "Finished run"));
    assert.match(text(el, ".hsd-lost"), /kernel of this page ended/);
    assert.equal(text(el, ".hsd-main > .hsd-notice:not([hidden])"), "", "the banner says it alone");
    assert.equal(el.querySelectorAll("progress.hsd-meter").length, 0);
    assert.equal(el.querySelector<HTMLSelectElement>(".hsd-run-select")?.disabled, false);
    assert.match(text(el, ".hsd-verdict"), /Stopped: the host was lost/);
    const kept = JSON.parse(sessionStorage.getItem("hsd_viz.run") ?? "null");
    assert.equal(kept.tokens.token_id.length, RECORDED.sampled.tokens.token_id.length);
    const forms = [...el.querySelectorAll(".hsd-run-menu [role=group] [role=menuitem]")].map(
      (element) => element.textContent ?? "",
    );
    assert.ok(
      forms.length === 2 && forms.every((words) => /svg|pdf/.test(words)),
      "only what needs no host can be saved",
    );
    close();
  },
);

test("nothing can be saved while a run is in progress", PAGE_TEST, async () => {
  const { host } = waitingHost();
  const { el, close } = opened(host);
  await vi.waitFor(() => assert.equal(text(el, ".hsd-badge"), "Recording"));
  const items = () => [
    ...el.querySelectorAll<HTMLButtonElement>(".hsd-run-menu [role=group] [role=menuitem]"),
  ];
  assert.deepEqual(
    items().map(({ disabled }) => disabled),
    [false, false],
  );
  button(el, "New run").click();
  button(el, "Run").click();
  await vi.waitFor(() => assert.equal(text(el, ".hsd-badge"), "Live run"));
  assert.deepEqual(
    items().map(({ disabled }) => disabled),
    [true, true],
  );
  close();
});

test(
  "another token continues the run, and both are shown from their common root",
  PAGE_TEST,
  async () => {
    const requests: any[] = [];
    const root = RECORDED.sampled;
    const decode = async (request: any, on: any) => {
      requests.push(request);
      const name = `branch ${requests.length}`;
      on.begin({ ...root, run: name, meta: { ...root.meta, wall_ns: null } });
      const { tokens, drafts, rounds, calls, pieces, ...head } = root;
      return { ...head, run: name };
    };
    let fails = false;
    const recording = async (name: string) => {
      if (fails) throw new Error("no network");
      return RECORDED[name];
    };
    const { el, close } = opened({ decode, recording });
    const select = el.querySelector<HTMLSelectElement>(".hsd-run-select") as HTMLSelectElement;
    await vi.waitFor(() => assert.equal(text(el, ".hsd-badge"), "Recording"));
    select.value = "sampled";
    select.dispatchEvent(new Event("change"));
    await vi.waitFor(() => assert.equal(text(el, ".hsd-origin-stack"), root.meta.stack));
    const place = root.tokens.top.findIndex((top: any) => top?.length > 1);
    el.querySelector<HTMLElement>(`.hsd-tok[data-i="${place}"]`)?.click();
    await vi.waitFor(() => assert.ok(el.querySelector(".hsd-stream .hsd-branch")));
    const other = el.querySelector<HTMLElement>(".hsd-stream .hsd-branch") as HTMLElement;
    other.click();
    await vi.waitFor(() => assert.equal(el.querySelectorAll(".hsd-br-list button").length, 2));
    const before = root.tokens.text.slice(0, place).join("");
    assert.ok(requests[0].prompt.startsWith(root.prompt + before));
    assert.deepEqual([requests[0].parent.run, requests[0].parent.token], ["sampled", place]);
    assert.equal(requests[0].max_new_tokens, root.meta.max_new_tokens - place - 1);
    assert.match(text(el, ".hsd-branches"), /mean p/);
    assert.equal(
      JSON.parse(sessionStorage.getItem("hsd_viz.run") ?? "{}").meta.parent.token,
      place,
    );
    el.querySelector<HTMLElement>(".hsd-br-list button")?.click();
    assert.equal(el.querySelector(".hsd-br-list button")?.getAttribute("aria-pressed"), "true");
    const pickPlain = () => {
      select.value = "plain";
      select.dispatchEvent(new Event("change"));
    };
    // The branches are kept while no other run is shown.
    fails = true;
    pickPlain();
    await vi.waitFor(() => assert.match(text(el, ".hsd-notice"), /no network/));
    assert.equal(el.querySelectorAll(".hsd-br-list button").length, 2);
    fails = false;
    pickPlain();
    await vi.waitFor(() => assert.equal(el.querySelectorAll(".hsd-br-list button").length, 0));
    close();
  },
);

/** A page that shows a finished run of its own, while the next one has begun without a token. */
async function beginningAgain() {
  const { tokens, drafts, rounds, calls, pieces, ...head } = RECORDED.sampled;
  const hold = { fail: (_error: Error) => {}, end: () => {} };
  let decodes = 0;
  const decode = (_request: unknown, on: any, signal: AbortSignal) => {
    decodes += 1;
    if (decodes === 1) {
      on.begin({ ...RECORDED.sampled, run: "first", meta: { ...head.meta, wall_ns: null } });
      return Promise.resolve({ ...head, run: "first" });
    }
    const empty = emptyOf(RECORDED.sampled);
    on.begin({ ...empty, run: "second", seq: 0, meta: { ...head.meta, wall_ns: null } });
    return new Promise((done, fail) => {
      hold.fail = fail;
      hold.end = () => done({ ...head, run: "second", seq: 0 });
      signal.addEventListener("abort", () => fail(new DOMException("cancelled", "AbortError")));
    });
  };
  const page = opened({ decode });
  const { el } = page;
  await vi.waitFor(() => assert.equal(text(el, ".hsd-badge"), "Recording"));
  button(el, "New run").click();
  button(el, "Run").click();
  await vi.waitFor(() => assert.equal(text(el, ".hsd-badge"), "Finished run"));
  button(el, "Run").click();
  await vi.waitFor(() => assert.equal(text(el, ".hsd-badge"), "Live run"));
  assert.equal(el.querySelectorAll(".hsd-stream .hsd-tok[data-i]").length, 0);
  return { ...page, hold };
}

/** A run without its steps. */
function emptyOf(run: any) {
  const tables = ["tokens", "drafts", "rounds", "calls"].map((name) => [
    name,
    Object.fromEntries(Object.keys(run[name]).map((column) => [column, []])),
  ]);
  return { ...run, ...Object.fromEntries(tables), pieces: {} };
}

/** Whether the page shows its first run, whole, and can show it again after a recording. */
async function showsFirstRun(el: HTMLElement) {
  await vi.waitFor(() => assert.equal(text(el, ".hsd-badge"), "Finished run"));
  const count = RECORDED.sampled.tokens.token_id.length;
  const places = () => el.querySelectorAll(".hsd-stream .hsd-tok[data-i]").length;
  await vi.waitFor(() => assert.equal(places(), count));
  const select = el.querySelector<HTMLSelectElement>(".hsd-run-select") as HTMLSelectElement;
  assert.equal(select.value, "here");
  select.value = "plain";
  select.dispatchEvent(new Event("change"));
  await vi.waitFor(() => assert.equal(text(el, ".hsd-badge"), "Recording"));
  select.value = "here";
  select.dispatchEvent(new Event("change"));
  await vi.waitFor(() => assert.equal(text(el, ".hsd-badge"), "Finished run"));
  await vi.waitFor(() => assert.equal(places(), count));
}
const trouble = (el: HTMLElement) => text(el, ".hsd-main > .hsd-notice:not([hidden])");

test("a run cancelled before its first token leaves the run before it", PAGE_TEST, async () => {
  const { el, close } = await beginningAgain();
  button(el, "Cancel").click();
  await vi.waitFor(() => assert.equal(button(el, "Run").disabled, false));
  assert.equal(trouble(el), "", "the visitor has ended the run");
  await showsFirstRun(el);
  close();
});

test("a host may end a cancelled run without a token and without an error", PAGE_TEST, async () => {
  const { el, close, hold } = await beginningAgain();
  // Its answer is on the way.
  hold.end();
  button(el, "Cancel").click();
  await showsFirstRun(el);
  close();
});

test("a run that fails before its first token leaves the run before it", PAGE_TEST, async () => {
  const { el, close, hold } = await beginningAgain();
  hold.fail(new Error("no memory"));
  await vi.waitFor(() => assert.match(trouble(el), /Run failed ?no memory/));
  await showsFirstRun(el);
  close();
});

test("a file that is read while a run starts leaves that run alone", PAGE_TEST, async () => {
  const { host, finish } = decodingHost();
  let read = (_run: unknown) => {};
  const open = () =>
    new Promise((done) => {
      read = done;
    });
  const { el, close } = await withForm({ ...host, open });
  const drop = Object.assign(new Event("drop", { bubbles: true }), {
    dataTransfer: { files: [new File(["{}"], "trace.json")], types: ["Files"] },
  });
  const before = read;
  el.querySelector(".hsd-main")?.dispatchEvent(drop);
  await vi.waitFor(() => assert.notEqual(read, before));
  button(el, "Run").click();
  await badge(el, "Live run");
  read(RECORDED.plain);
  await vi.waitFor(() => assert.match(trouble(el), /Open failed ?a run is in progress/));
  const select = el.querySelector<HTMLSelectElement>(".hsd-run-select");
  assert.equal(select?.value, "here");
  finish();
  await badge(el, "Finished run");
  close();
});
