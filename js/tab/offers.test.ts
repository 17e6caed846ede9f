// A family of the tab: what the browser keeps of it, as its panel shows it.
import { afterEach, expect, test, vi } from "vitest";
import { FamilyTab } from "./offers";

afterEach(() => vi.unstubAllGlobals());

const OFFER = { family: "small", title: "Small, which answers", bytes: 100 };

/** A cache whose answers wait: `answers` holds the function that gives each, oldest first. */
function slowCaches() {
  const answers: ((isThere: boolean) => void)[] = [];
  const full = {
    keys: async () => ["weights"],
    match: async () => new Response("", { headers: { "Content-Length": "100" } }),
  };
  vi.stubGlobal("caches", {
    has: () => new Promise<boolean>((resolve) => answers.push(resolve)),
    open: async () => full,
    delete: async () => true,
  });
  return answers;
}

const settle = () => new Promise((resolve) => setTimeout(resolve));

test("an answer about the cache from before a deletion does not count after it", async () => {
  const answers = slowCaches();
  const tab = new FamilyTab(OFFER);
  await tab.remove();
  const [beforeDeletion, afterDeletion] = answers;
  afterDeletion(false);
  await settle();
  beforeDeletion(true);
  await settle();
  expect(tab.kept).toBe(0);
});

test("the newest answer counts", async () => {
  const answers = slowCaches();
  const tab = new FamilyTab(OFFER);
  answers[0](true);
  await settle();
  expect(tab.kept).toBe(100);
  await tab.remove();
  answers[1](false);
  await settle();
  expect(tab.kept).toBe(0);
});
