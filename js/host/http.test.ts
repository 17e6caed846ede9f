// @vitest-environment happy-dom
// A decode by the page's server: each failure with a sentence of its own.
import { afterEach, expect, test, vi } from "vitest";
import type { DecodeRequest } from "../host";
import { serverDecode } from "./http";

afterEach(() => vi.unstubAllGlobals());

/** Decode by a server that answers a request so. */
function decodedBy(answer: () => Promise<Response>, signal = new AbortController().signal) {
  vi.stubGlobal("fetch", answer);
  const progress = { stage() {}, begin() {}, append() {} };
  return serverDecode()?.({} as DecodeRequest, progress, signal);
}
const line = (event: object) => `${JSON.stringify(event)}\n`;

test("a server that cannot be reached does not answer", async () => {
  const unreachable = () => Promise.reject(new TypeError("Failed to fetch"));
  await expect(decodedBy(unreachable)).rejects.toThrow(/^the server does not answer$/);
});

test.each([
  ["its own reason", '{"error": "the queue is full"}', "the queue is full"],
  ["the page of a proxy", "<html>Bad gateway</html>", "the server answers with status 502"],
  ["no reason", "{}", "the server answers with status 502"],
  ["null", "null", "the server answers with status 502"],
])("a refusal with %s is one line", async (_, body, words) => {
  const refusal = async () => new Response(body, { status: 502 });
  await expect(decodedBy(refusal)).rejects.toThrow(new Error(words));
});

test("an error of the page's own is not that of a silent server", async () => {
  const incomplete = line({ event: "started", meta: { stack: "target" } });
  const answer = async () => new Response(incomplete);
  await expect(decodedBy(answer)).rejects.toThrow(/undefined/);
});

/** A body of one line that then ends, or breaks. */
const bodyThat = (end: (body: ReadableStreamDefaultController) => void) =>
  new ReadableStream({
    start: (body) => body.enqueue(new TextEncoder().encode(line({ event: "stage", text: "load" }))),
    pull: end,
  });

test.each([
  ["ends", (body: ReadableStreamDefaultController) => body.close()],
  ["breaks", (body: ReadableStreamDefaultController) => body.error(new TypeError("network"))],
])("a connection that %s before the last line was closed too early", async (_, end) => {
  const answer = async () => new Response(bodyThat(end));
  await expect(decodedBy(answer)).rejects.toThrow(/closed the connection before the end/);
});

test("a decode that is cancelled before its first token ends as cancelled", async () => {
  const control = new AbortController();
  const cancelled = () => {
    control.abort();
    return Promise.reject(new DOMException("aborted", "AbortError"));
  };
  await expect(decodedBy(cancelled, control.signal)).rejects.toThrow(/was cancelled/);
});
