// A lost kernel is reported, a short break of the connection is not.
import assert from "node:assert/strict";
import { afterEach, beforeEach, test, vi } from "vitest";
import { GRACE, kernelOf, watchKernel } from "./watch";

const signal = () => {
  const heard = new Set<() => void>();
  return {
    connect: (f: () => void) => heard.add(f),
    disconnect: (f: () => void) => heard.delete(f),
    fire: () => [...heard].forEach((f) => f()),
    count: () => heard.size,
  };
};
const kernelIn = (status = "idle", connectionStatus = "connected") => {
  const kernel = {
    status,
    connectionStatus,
    statusChanged: signal(),
    connectionStatusChanged: signal(),
  };
  const told: string[] = [];
  return { kernel, told, stop: watchKernel(kernel, (why) => told.push(why)) };
};
beforeEach(() => {
  vi.useFakeTimers();
});
afterEach(() => {
  vi.useRealTimers();
});

test("a break of the connection is reported after a grace time, and its end", () => {
  const { kernel, told, stop } = kernelIn();
  const to = (status: string) => {
    kernel.connectionStatus = status;
    kernel.connectionStatusChanged.fire();
  };
  to("connecting");
  vi.advanceTimersByTime(GRACE - 1);
  to("connected");
  vi.advanceTimersByTime(2 * GRACE);
  assert.deepEqual(told, []);
  to("connecting");
  vi.advanceTimersByTime(GRACE / 2);
  to("disconnected");
  vi.advanceTimersByTime(GRACE / 2 + 1);
  assert.equal(told.length, 1);
  assert.match(told[0], /does not answer/);
  to("connected");
  assert.equal(told[1], "");
  stop();
  assert.equal(kernel.statusChanged.count() + kernel.connectionStatusChanged.count(), 0);
});

test("an ended kernel is reported at once and stays lost, although a new one connects", () => {
  const { kernel, told } = kernelIn();
  kernel.status = "autorestarting";
  kernel.statusChanged.fire();
  assert.match(told[0], /ended/);
  kernel.status = "idle";
  kernel.statusChanged.fire();
  kernel.connectionStatusChanged.fire();
  assert.equal(told.length, 1);
});

test("a page that is still connecting is not lost", () => {
  const { told } = kernelIn("unknown", "connecting");
  vi.advanceTimersByTime(10 * GRACE);
  assert.deepEqual(told, []);
});

test("a host without a kernel has none", () => {
  assert.equal(kernelOf({}), null);
  assert.equal(kernelOf({ widget_manager: { kernel: { status: "idle" } } }), null);
});
