// A family that cannot be loaded: one reason, for the page and for each job that waits.
import { afterEach, expect, test, vi } from "vitest";
import { Loading } from "./loading";

afterEach(() => vi.unstubAllGlobals());

const answering = (manifest: object) => async () => new Response(JSON.stringify(manifest));
const silent = async () => {
  throw new TypeError("no network");
};

test.each([
  ["a server that does not answer", silent, /manifest\.json cannot be loaded \(no answer\)/],
  ["a site of another version", answering({ format: "hsd_viz tab 1" }), /of another version/],
])("%s", async (_, fetched, why) => {
  vi.stubGlobal("fetch", fetched);
  const loading = new Loading(() => {});
  await expect(loading.run("https://site/", false)).rejects.toThrow(why);
  await expect(loading.loaded).rejects.toThrow(why);
});

test("a part that the site does not have is refused in one line", () => {
  expect(() => new Loading(() => {}).part("giant")).toThrow("the site has no file of 'giant'");
});
