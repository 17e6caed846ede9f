// @vitest-environment happy-dom
// The page over hosts made for tests: what it shows, asks, keeps, and says when something is
// missing or fails.
import assert from "node:assert/strict";
import { beforeEach, expect, test, vi } from "vitest";
import { lostError } from "../host";
import { ABOUT, RECORDED } from "../lib/testing";
import { recordingHost } from "../page/start";
import { addressOf, parameters, read } from "./address";
import { openPage } from "./page";
import { fieldsOf, formOf, numberOf, rangesOf, requestOf } from "./state";

const skip = !Object.keys(RECORDED).length;

test("an address opens what it names and says what it ignores", () => {
  const asked = read(
    "?trace=both&step=3&tab=your-traffic&temperature=0.5&tokens=9",
    ["both"],
    ["Your traffic"],
    ["chance"],
  );
  assert.deepEqual(
    [asked.trace, asked.step, asked.tab, asked.ignored],
    ["both", 3, "your-traffic", []],
  );
  assert.deepEqual(asked.form, { temperature: "0.5", max_new_tokens: "9" });
  const bad = read(
    `?trace=../x&step=0&tab=none&tour=lost&theme=blue`,
    ["both"],
    ["Watch"],
    ["chance"],
  );
  assert.deepEqual(
    [bad.trace, bad.step, bad.tab, bad.tour, bad.ignored.length],
    ["", 0, "", "", 5],
  );
  assert.deepEqual(parameters({ prompt: "x".repeat(2000), stack: "target" }), {});
  const page = "http://127.0.0.1:1/?token=abc&trace=old";
  assert.deepEqual(addressOf(page, { trace: "new" }), {
    href: "http://127.0.0.1:1/?token=abc&trace=new",
    step: true,
  });
  assert.deepEqual(addressOf(page, { trace: "old", seed: "1" }).step, false);
});

test("numbers are checked where they are typed", { skip }, () => {
  const ranges = rangesOf(2000);
  assert.equal(numberOf("0,7", ranges.temperature), 0.7);
  assert.equal(
    numberOf("1000", ranges.temperature),
    "Temperature must be a number from 0 to 100, not 1000.",
  );
  assert.equal(
    numberOf("1.5", ranges.seed),
    "Seed must be a whole number from 0 to 2147483647, not 1.5.",
  );
  const form = { ...formOf(ABOUT.form), max_new_tokens: "0" };
  assert.throws(
    () => requestOf(form, ABOUT.limits),
    /New tokens must be a whole number from 1 to 2000, not 0/,
  );
  assert.throws(
    () => requestOf({ ...formOf(ABOUT.form), prompt: "x".repeat(20001) }, ABOUT.limits),
    /20001 characters/,
  );
  const again = fieldsOf(RECORDED.sampled, 2000);
  assert.equal(again.stack, "nano:4 > target");
  assert.equal(again.prompt, RECORDED.sampled.prompt);
});

/** A page over recorded runs; `more` are capabilities of the host. */
function opened(more: object = {}) {
  const about = { ...structuredClone(ABOUT), races: [] };
  const host = { ...recordingHost(about, RECORDED), ...more } as any;
  const el = document.body.appendChild(document.createElement("div"));
  return { host, el, close: openPage(el, host) };
}
const text = (el: Element, selector: string) =>
  el.querySelector(selector)?.textContent?.replace(/\s+/g, " ").trim() ?? "";
/** Whether the text is two lines. */
const isFolded = (el: Element) => el.querySelector(".hsd-main")?.classList.contains("hsd-folded");
const button = (el: Element, words: string) =>
  [...el.querySelectorAll("button")].find(
    (b) => b.textContent?.trim() === words,
  ) as HTMLButtonElement;

beforeEach(() => {
  document.body.replaceChildren();
  localStorage.clear();
  sessionStorage.clear();
  vi.stubGlobal("reportError", (error: unknown) => {
    throw error;
  });
  vi.stubGlobal("matchMedia", () => ({
    matches: false,
    addEventListener() {},
    removeEventListener() {},
  }));
});

test("without Python the page shows recorded runs, and says what to run for the rest", {
  skip,
  timeout: 60_000,
}, async () => {
  const { el, close } = opened();
  await vi.waitFor(() => assert.ok(el.querySelectorAll(".hsd-tok[data-i]").length > 20));
  assert.equal(text(el, ".hsd-badge"), "Recording");
  assert.equal(el.querySelector(".hsd-controls"), null);
  assert.match(text(el, ".hsd-tiles"), /Speed.*tokens\/s.*Mean acceptance length/);
  assert.match(text(el, ".hsd-foot"), /temperature 0.7/);
  for (const tab of el.querySelectorAll<HTMLElement>("[role=tab]")) {
    tab.click();
    assert.equal(text(el, ".hsd-main > .hsd-notice:not([hidden])"), "", tab.textContent ?? "");
    const title = tab.textContent?.trim() ?? "";
    assert.equal(isFolded(el), ["Why", "Databases", "Time"].includes(title), title);
  }
  assert.match(el.textContent ?? "", /hsd-viz replay LOG.jsonl --tokenizer PATH/);
  button(el, "Why").click();
  button(el, "Show the text").click();
  assert.equal(isFolded(el), false);
  button(el, "Hide the text").click();
  assert.equal(isFolded(el), true);
  const select = el.querySelector<HTMLSelectElement>(".hsd-run-select") as HTMLSelectElement;
  select.value = "plain";
  select.dispatchEvent(new Event("change"));
  await vi.waitFor(() => assert.match(text(el, ".hsd-player-place"), /rounds/));
  close();
  assert.equal(el.textContent, "");
});

test("a run is streamed, measured as it grows, kept, and an error is a card", {
  skip,
  timeout: 60_000,
}, async () => {
  const whole = RECORDED.sampled;
  const empty = Object.fromEntries(
    ["tokens", "drafts", "rounds", "calls"].map((name) => [
      name,
      Object.fromEntries(Object.keys(whole[name]).map((k) => [k, []])),
    ]),
  );
  const { tokens, drafts, rounds, calls, pieces, ...head } = whole;
  const requests: any[] = [];
  let fails = false;
  let finish = () => {};
  const host = {
    async decode(request: any, on: any, signal: AbortSignal) {
      requests.push(request);
      const run = `live ${requests.length}`;
      if (fails) throw new Error("no model");
      on.stage("loading the models");
      on.begin({
        ...head,
        run,
        seq: 0,
        ...empty,
        pieces: {},
        meta: { ...head.meta, wall_ns: null },
      });
      on.append({
        kind: "append",
        run,
        first: 1,
        seq: 1,
        steps: [{ tokens, drafts, rounds, calls, pieces }],
      });
      await new Promise<void>((done) => {
        finish = done;
        signal.addEventListener("abort", () => done());
      });
      return { ...head, run, seq: 1, meta: { ...head.meta, cancelled: signal.aborted } };
    },
  };
  const { el, close } = opened(host);
  await vi.waitFor(() => assert.equal(text(el, ".hsd-badge"), "Recording"));
  button(el, "New run").click();
  button(el, "Run").click();
  await vi.waitFor(() => assert.equal(text(el, ".hsd-badge"), "Live run"));
  assert.match(text(el, ".hsd-form-switch"), /Cancel run/);
  assert.equal(button(el, "Run").disabled, true);
  await vi.waitFor(() => assert.match(text(el, ".hsd-now .hsd-stage"), /decoding \d+\/\d+/));
  // What is typed while the page redraws is kept, and decoded by the next run.
  const stack = el.querySelector<HTMLInputElement>(
    ".hsd-controls input.hsd-mono",
  ) as HTMLInputElement;
  stack.value = "db > small > target";
  stack.dispatchEvent(new Event("input"));
  finish();
  await vi.waitFor(() => assert.equal(text(el, ".hsd-badge"), "Finished run"));
  assert.equal(stack.value, "db > small > target");
  assert.equal(requests[0].beside_plain, true);
  assert.ok(sessionStorage.getItem("hsd_viz.run"));
  button(el, "Run").click();
  await vi.waitFor(() => assert.equal(text(el, ".hsd-badge"), "Live run"));
  assert.equal(requests[1].stack, "db > small > target");
  button(el, "Cancel").click();
  await vi.waitFor(() => assert.match(text(el, ".hsd-foot"), /cancelled/));
  fails = true;
  button(el, "Run").click();
  await vi.waitFor(() => assert.match(text(el, ".hsd-notice"), /Run failed ?no model/));
  assert.equal(button(el, "Run").disabled, false);
  close();
});

test("a recording that arrives late replaces neither a newer choice nor a run", {
  skip,
  timeout: 60_000,
}, async () => {
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
});

test("hostile text of a run and of an answer is never markup", {
  skip,
  timeout: 60_000,
}, async () => {
  const bad = "<img src=x onerror=alert(1)>";
  const run = structuredClone(RECORDED.sampled);
  run.prompt = bad;
  run.tokens.text = run.tokens.text.map(() => bad);
  run.drafts.text = run.drafts.text.map(() => bad);
  run.meta = { ...run.meta, stack: bad, device_name: bad };
  const answer = {
    parts: [{ kind: "text", text: bad }],
  };
  const { el, close } = opened({
    answers: ["law", "doctor", "report", "predict"],
    ask: async () => answer,
    recording: async () => run,
  });
  await vi.waitFor(() => assert.ok(el.querySelectorAll(".hsd-tok[data-i]").length));
  for (const tab of el.querySelectorAll<HTMLElement>("[role=tab]")) {
    tab.click();
    await new Promise((done) => setTimeout(done, 30));
  }
  expect(el.querySelectorAll("img").length).toBe(0);
  assert.match(el.textContent ?? "", /onerror=alert/);
  close();
});

/**
 * A host that has begun a run and then waits; `lose` reports that it is lost, `fail` ends its
 * decode.
 */
function waitingHost() {
  const hold = { lose: (_why: string) => {}, fail: (_error: Error) => {} };
  const host = {
    watch(heard: (why: string) => void) {
      hold.lose = heard;
      return () => {};
    },
    decode(_: unknown, on: any) {
      const { meta } = RECORDED.sampled;
      on.begin({ ...RECORDED.sampled, run: "live", meta: { ...meta, wall_ns: null } });
      return new Promise((_done, fail) => {
        hold.fail = fail;
      });
    },
  };
  return { host, hold };
}

test("a host that is lost during a run frees the page, and what was decoded is kept", {
  skip,
  timeout: 60_000,
}, async () => {
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
    (one) => one.textContent ?? "",
  );
  assert.ok(
    forms.length === 2 && forms.every((words) => /svg|pdf/.test(words)),
    "only what needs no host can be saved",
  );
  close();
});

test("nothing can be saved while a run is in progress", { skip, timeout: 60_000 }, async () => {
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

test("arrow keys go round the menu of the run", { skip, timeout: 60_000 }, async () => {
  const { el, close } = opened();
  await vi.waitFor(() => assert.equal(text(el, ".hsd-badge"), "Recording"));
  button(el, "Why").click();
  const items = [...el.querySelectorAll<HTMLElement>(".hsd-run-menu [role=menuitem]")];
  const press = (key: string) =>
    document.activeElement?.dispatchEvent(new KeyboardEvent("keydown", { key, bubbles: true }));
  items[0].focus();
  press("ArrowUp");
  assert.equal(document.activeElement, items.at(-1));
  press("ArrowDown");
  assert.equal(document.activeElement, items[0]);
  press("End");
  assert.equal(document.activeElement, items.at(-1));
  close();
});

test("an invalid stack is said once, at its field", { skip, timeout: 60_000 }, async () => {
  const { host } = waitingHost();
  const { el, close } = opened(host);
  await vi.waitFor(() => assert.equal(text(el, ".hsd-badge"), "Recording"));
  button(el, "New run").click();
  const stack = el.querySelector<HTMLInputElement>(".hsd-stack-field") as HTMLInputElement;
  stack.value = "secret > target";
  stack.dispatchEvent(new Event("input"));
  button(el, "Run").click();
  await vi.waitFor(() => assert.ok(document.activeElement === stack));
  assert.match(
    text(el, ".hsd-controls > .hsd-field-problem"),
    /'secret' is not allowed on this page/,
  );
  assert.match(
    text(el, ".hsd-controls > .hsd-field-problem code"),
    /hsd-viz dashboard --allow-models/,
  );
  assert.equal(text(el, ".hsd-main > .hsd-notice:not([hidden])"), "");
  close();
});

test("the tabs are above the run, and every headline names where its figure comes from", {
  skip,
  timeout: 60_000,
}, async () => {
  const { el, close } = opened();
  await vi.waitFor(() => assert.equal(text(el, ".hsd-badge"), "Recording"));
  const main = el.querySelector(".hsd-main") as HTMLElement;
  assert.ok(main.firstElementChild?.querySelector("[role=tablist]"));
  const headline = () =>
    [...el.querySelectorAll<HTMLElement>(".hsd-headline")].find(
      (one) => !one.hidden && one.textContent,
    );
  for (const title of ["Watch", "Why", "Databases", "Time"]) {
    button(el, title).click();
    assert.ok(main.children[1].matches(".hsd-runbar"), "the bar of the run is below the tabs");
    await vi.waitFor(() =>
      assert.match(headline()?.querySelector(".hsd-chip")?.textContent ?? "", / · recorded$/),
    );
  }
  button(el, "Your traffic").click();
  assert.match(text(el, ".hsd-panel .hsd-headline"), /^Would it speed up your server\?/);
  close();
});

test("a server's part begins with an example, and nothing is replayed without a log", {
  skip,
  timeout: 60_000,
}, async () => {
  const asked: any[] = [];
  const ask = async (question: any) => {
    asked.push(question);
    return { parts: [{ kind: "text", text: `answer ${asked.length}` }] };
  };
  const { el, close } = opened({ answers: ["record", "replay"], ask });
  await vi.waitFor(() => assert.equal(text(el, ".hsd-badge"), "Recording"));
  button(el, "Your traffic").click();
  await vi.waitFor(() => assert.match(text(el, "[data-about=replay]"), /answer/));
  assert.deepEqual(
    asked.map(({ about, options, files }) => [about, options.example, files]),
    [
      ["record", true, []],
      ["replay", true, []],
    ],
  );
  assert.equal(button(el, "Replay"), undefined);
  const field = el.querySelectorAll<HTMLInputElement>("input[type=file]")[1];
  const log = new File(['{"prompt_ids": [1], "output_ids": [2]}'], "log.jsonl");
  Object.defineProperty(field, "files", { value: [log] });
  field.dispatchEvent(new Event("change"));
  assert.equal(button(el, "Replay").disabled, false);
  button(el, "Replay").click();
  await vi.waitFor(() => assert.equal(asked.length, 3));
  assert.deepEqual([asked[2].options.example, asked[2].files[0].name], [undefined, "log.jsonl"]);
  await vi.waitFor(() => assert.equal(button(el, "Show the example").disabled, false));
  close();
});

test("a comparison of one stack shows no chart of others", { skip, timeout: 60_000 }, async () => {
  const about = structuredClone(ABOUT);
  const runs = Object.fromEntries(
    about.races.flatMap((r: any) =>
      r.runs.map((one: any) => [one.name, { ...RECORDED.sampled, run: one.name }]),
    ),
  );
  const el = document.body.appendChild(document.createElement("div"));
  const close = openPage(el, recordingHost(about, { ...RECORDED, ...runs }));
  await vi.waitFor(() => assert.equal(text(el, ".hsd-badge"), "Recording"));
  [...el.querySelectorAll<HTMLElement>("[role=tab]")]
    .find((one) => one.textContent?.trim() === "Compare")
    ?.click();
  await vi.waitFor(() => assert.ok(el.querySelector(".hsd-vs-race")));
  const pressed = () => [
    ...el.querySelectorAll<HTMLElement>(".hsd-compare [aria-pressed=true][title]"),
  ];
  for (const chip of pressed().slice(1)) chip.click();
  await vi.waitFor(() => assert.match(text(el, ".hsd-vs-refusal"), /One run is too few/));
  assert.equal(el.querySelectorAll(".hsd-vs-race").length, 0);
  assert.equal(el.querySelectorAll(".hsd-versus .hsd-notice:not([hidden])").length, 1);
  close();
});

test("the form offers families, with the prompt and the stacks of the chosen one", {
  skip,
  timeout: 60_000,
}, async () => {
  const python = {
    name: "code",
    title: "Python",
    models: ["nano", "small", "target"],
    prompt: "def",
    chat: false,
  };
  const english = {
    name: "english",
    title: "answers",
    models: ["target"],
    prompt: "Why?",
    chat: true,
  };
  const tasks = ["Why?", "How?"].map((prompt) => ({
    title: `Task ${prompt}`,
    blurb: "",
    prompt,
  }));
  const families = [
    { ...python, prompts: [], installed: true },
    { ...english, prompts: tasks, installed: false },
  ];
  const requests: any[] = [];
  const decode = async (request: any) => {
    requests.push(request);
    throw new Error("not here");
  };
  const { host, el, close } = opened({ decode });
  close();
  host.about = { ...host.about, families, family: "code" };
  const root = document.body.appendChild(document.createElement("div"));
  const end = openPage(root, host);
  await vi.waitFor(() => assert.equal(text(root, ".hsd-badge"), "Recording"));
  button(root, "New run").click();
  const menu = root.querySelector<HTMLSelectElement>(".hsd-controls select") as HTMLSelectElement;
  menu.value = "english";
  menu.dispatchEvent(new Event("change"));
  const stack = root.querySelector<HTMLInputElement>(".hsd-stack-field") as HTMLInputElement;
  await vi.waitFor(() => assert.equal(stack.value, "db > target"));
  assert.match(text(root, ".hsd-controls .hsd-warning"), /hsd-viz models install english/);
  const presets = root.querySelectorAll<HTMLSelectElement>(".hsd-controls select")[1];
  assert.equal(presets.value, "Task Why?");
  presets.value = "Task How?";
  presets.dispatchEvent(new Event("change"));
  assert.equal(root.querySelector<HTMLTextAreaElement>(".hsd-controls textarea")?.value, "How?");
  presets.value = "Task Why?";
  presets.dispatchEvent(new Event("change"));
  stack.value = "nano:4 > target";
  stack.dispatchEvent(new Event("input"));
  assert.match(text(root, ".hsd-controls > .hsd-field-problem"), /'nano' is not allowed/);
  stack.value = "target";
  stack.dispatchEvent(new Event("input"));
  button(root, "Run").click();
  await vi.waitFor(() => assert.equal(requests.length, 1));
  assert.deepEqual(
    [requests[0].family, requests[0].chat, requests[0].prompt],
    ["english", true, "Why?"],
  );
  end();
  assert.equal(el.textContent, "");
});

test("another token continues the run, and both are shown from their common root", {
  skip,
  timeout: 60_000,
}, async () => {
  const requests: any[] = [];
  const root = RECORDED.sampled;
  const decode = async (request: any, on: any) => {
    requests.push(request);
    const name = `branch ${requests.length}`;
    on.begin({ ...root, run: name, meta: { ...root.meta, wall_ns: null } });
    const { tokens, drafts, rounds, calls, pieces, ...head } = root;
    return { ...head, run: name };
  };
  const { el, close } = opened({ decode });
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
  assert.equal(JSON.parse(sessionStorage.getItem("hsd_viz.run") ?? "{}").meta.parent.token, place);
  el.querySelector<HTMLElement>(".hsd-br-list button")?.click();
  assert.equal(el.querySelector(".hsd-br-list button")?.getAttribute("aria-pressed"), "true");
  select.value = "plain";
  select.dispatchEvent(new Event("change"));
  await vi.waitFor(() => assert.equal(el.querySelectorAll(".hsd-br-list button").length, 0));
  close();
});
