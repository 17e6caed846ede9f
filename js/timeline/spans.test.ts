// Time worked out: lanes and shares, gaps, drafts by source, bars on few pixels, ticks.
import assert from "node:assert/strict";
import { test } from "vitest";
import { ticks } from "../lib/chart";
import { createStore } from "../lib/run";
import { draft, RECORDED, round, snapshot, token } from "../lib/testing";
import { barsOf, firstEndingAfter, gapsOf, lanesOf, spanAt, suppliesOf, timeText } from "./spans";

const span = (start_ns, duration_ns, more = {}) => ({ start_ns, duration_ns, ...more });

for (const [name, data] of Object.entries(RECORDED)) {
  test(`${name}: calls and the time without one fill the run, once`, () => {
    const store = createStore();
    store.adopt(data);
    const wall = store.meta.wall_ns;
    const lanes = lanesOf(store.calls, wall);
    const gaps = gapsOf(store.calls, wall);
    const sum = (list) => list.reduce((n, s) => n + s.duration_ns, 0);
    assert.equal(sum(store.calls) + sum(gaps), wall);
    assert.equal(
      lanes.reduce((n, l) => n + l.ns, 0),
      sum(store.calls),
    );
    assert.ok(Math.abs(lanes.reduce((n, l) => n + l.share, 0) + sum(gaps) / wall - 1) < 1e-9);
    for (const lane of lanes)
      for (let k = 1; k < lane.calls.length; k++)
        assert.ok(
          lane.calls[k].start_ns >= lane.calls[k - 1].start_ns + lane.calls[k - 1].duration_ns,
        );
    assert.deepEqual(
      lanes.map((l) => l.level),
      [...lanes.map((l) => l.level)].sort((a, b) => b - a),
    );
  });
  test(`${name}: bars never overlap, hold every call in view, and are few`, () => {
    const store = createStore();
    store.adopt(data);
    const wall = store.meta.wall_ns;
    for (const lane of lanesOf(store.calls, wall)) {
      for (const [from, to] of [
        [0, wall],
        [wall / 3, wall / 3 + 2e6],
        [0, 1e8],
      ]) {
        const bars = barsOf(lane.calls, from, to, 400);
        assert.equal(
          bars.reduce((n, b) => n + b.count, 0),
          lane.calls.filter((c) => c.start_ns + c.duration_ns > from && c.start_ns < to).length,
        );
        for (let k = 1; k < bars.length; k++) assert.ok(bars[k].x > bars[k - 1].x);
        assert.ok(bars.every((b) => b.x >= 0 && b.x + b.w <= 400.75 && b.busy > 0 && b.busy <= 1));
        assert.ok(bars.length <= 400);
      }
    }
  });
}

const DATABASES = ["context", "model", "statistics"];
const supplied = (run) => {
  const store = createStore();
  store.adopt(run);
  return suppliesOf(store, (s) => DATABASES.includes(s), DATABASES);
};

test("drafts are counted by source where first verified, for the round they served", () => {
  const supplies = supplied(
    snapshot({
      rounds: [
        round(1, { parent: 3, level: 1 }),
        round(2, { parent: 3, level: 1 }),
        round(3, { level: 2 }),
      ],
      drafts: [
        draft(1, 0, 1, "accepted", { source: "model" }),
        draft(1, 1, 2, "rejected", { source: "context" }),
        draft(2, 0, 1, "accepted", { source: "context" }),
        // The same tokens again, and one of a model, before the target.
        draft(3, 0, 1, "accepted", { source: "model", level: 2 }),
        draft(3, 1, 2, "rejected", { source: "nano", level: 2 }),
      ],
      tokens: [token(3, "accepted"), token(3, "correction")],
    }),
  );
  assert.deepEqual(
    supplies.map(({ source, drafted, accepted }) => [source, [...drafted], [...accepted]]),
    [
      ["context", [[3, 2]], [[3, 1]]],
      ["model", [[3, 1]], [[3, 1]]],
    ],
  );
  for (const [name, run] of Object.entries(RECORDED)) {
    const all = supplied(run);
    assert.equal(all.length > 0, /^db/.test(run.meta.stack), name);
    const accepted = all.reduce(
      (n, one) => n + [...one.accepted.values()].reduce((a, b) => a + b, 0),
      0,
    );
    const { level, source, verdict } = run.drafts;
    const known = level.filter((_, k) => DATABASES.includes(source[k]));
    const first = Math.min(...known);
    const rows = verdict.filter(
      (v, k) => v === "accepted" && DATABASES.includes(source[k]) && level[k] === first,
    );
    assert.equal(accepted, rows.length, name);
  }
});

test("gaps are what no call covers, before, between and after", () => {
  assert.deepEqual(gapsOf([span(30, 10), span(10, 10)], 60), [
    span(0, 10),
    span(20, 10),
    span(40, 20),
  ]);
  assert.deepEqual(gapsOf([], 5), [span(0, 5)]);
  assert.deepEqual(gapsOf([span(0, 5)], 5), []);
});

test("narrow neighbours become one bar that says how full it is; wide spans are separate", () => {
  const fine = Array.from({ length: 100 }, (_, k) => span(k * 10, 5));
  const [bar, ...more] = barsOf(fine, 0, 100_000, 100);
  assert.deepEqual([more.length, bar.count], [0, 100]);
  const half = barsOf(fine, 0, 1000, 20);
  assert.ok(half.every((b) => b.busy > 0.4 && b.busy < 0.7));
  assert.equal(barsOf(fine, 0, 1000, 1000).length, 100);
});

test("a span is found under the pointer, or a little beside it", () => {
  const spans = [span(0, 10), span(20, 10), span(50, 1)];
  assert.deepEqual(
    [5, 25, 50.5].map((t) => spanAt(spans, t)),
    spans,
  );
  assert.equal(spanAt(spans, 15), null);
  assert.equal(spanAt(spans, 48, 3), spans[2]);
  assert.equal(spanAt(spans, 14, 5), spans[0]);
  assert.equal(spanAt([], 1, 5), null);
  assert.deepEqual(
    [-1, 10, 29, 99].map((t) => firstEndingAfter(spans, t)),
    [0, 1, 1, 3],
  );
});

test("ticks are round, inside, few, and written in one unit with the digits they need", () => {
  for (const [from, to] of [
    [0, 1e9],
    [123_456, 987_654],
    [5e8, 5e8 + 20_000],
    [0, 3e10],
  ]) {
    const times = ticks(to, 6, from);
    assert.ok(times.length >= 2 && times.length <= 7);
    assert.ok(times.every((t) => t >= from && t <= to));
    assert.equal(new Set(timeText(times)).size, times.length);
  }
  assert.deepEqual(
    [timeText([0, 2e8, 1e9]), timeText([250_000, 300_000])[0]],
    [["0.0 s", "0.2 s", "1.0 s"], "250 µs"],
  );
});

test("a lane has the share of its calls in the whole time", () => {
  const call = (level: number, name: string, start_ns: number, duration_ns: number): any => ({
    level,
    name,
    kind: "verify",
    start_ns,
    duration_ns,
  });
  const calls = [
    call(0, "db", 0, 1000),
    call(1, "target", 1000, 4000),
    call(1, "target", 6000, 2000),
  ];
  assert.deepEqual(
    lanesOf(calls, 10_000).map((lane) => [lane.name, lane.ns, lane.share]),
    [
      ["target", 6000, 0.6],
      ["db", 1000, 0.1],
    ],
  );
  assert.deepEqual(gapsOf(calls, 10_000), [
    { start_ns: 5000, duration_ns: 1000 },
    { start_ns: 8000, duration_ns: 2000 },
  ]);
});
