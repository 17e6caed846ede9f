// @vitest-environment happy-dom
// The form of a new run in the page: its stack and its families.
import assert from "node:assert/strict";
import { beforeEach, test, vi } from "vitest";
import { openPage } from "./page";
import { button, emptyBrowser, opened, PAGE_TEST, text, waitingHost } from "./testing";

beforeEach(emptyBrowser);

test("an invalid stack is said once, at its field", PAGE_TEST, async () => {
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

test(
  "the form offers families, with the prompt and the stacks of the chosen one",
  PAGE_TEST,
  async () => {
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
  },
);
