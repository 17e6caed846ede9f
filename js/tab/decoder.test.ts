// Jobs of a tab: in their order, cancelled one by one, and each with one answer at its end.
import { expect, test } from "vitest";
import type { Answer } from "./client";
import { TabDecoder } from "./decoder";
import type { Loading } from "./loading";
import { ModuleEnded, OutOfMemory } from "./memory";

const timing = (id: number) => ({ kind: "time", id, model: "nano", widths: [1] }) as const;

/** A decoder whose measurements call `measured`, and what it says. */
function decoderWith(measured: () => void, loaded?: Promise<never>, part?: Promise<void>) {
  const said: Answer[] = [];
  const time = () => {
    measured();
    return { 1: 5 };
  };
  const loading = {
    loaded: loaded ?? Promise.resolve({ runtime: { time } }),
    part: () => part ?? Promise.resolve(),
  } as unknown as Loading;
  let heard = () => {};
  const decoder = new TabDecoder((answer) => {
    said.push(answer);
    heard();
  }, loading);
  /** Wait for the answers that end so many jobs. */
  const ends = (count: number) =>
    new Promise<Answer[]>((resolve) => {
      heard = () => {
        const last = said.filter(({ kind }) => kind === "timed" || kind === "failed");
        if (last.length === count) resolve(last);
      };
      heard();
    });
  return { decoder, said, ends };
}

test("jobs end in the order in which they were asked for", async () => {
  const { decoder, ends } = decoderWith(() => {});
  decoder.receive(timing(1));
  decoder.receive(timing(2));
  const last = await ends(2);
  expect(last.map((answer) => "id" in answer && answer.id)).toEqual([1, 2]);
});

test("a job that is cancelled ends early, and the next one is whole", async () => {
  let count = 0;
  const { decoder, ends } = decoderWith(() => {
    count += 1;
    if (count === 3) decoder.receive({ kind: "cancel", id: 1 });
  });
  decoder.receive(timing(1));
  decoder.receive(timing(2));
  await ends(2);
  expect(count).toBe(3 + 12);
});

test("a job that is cancelled while it waits does nothing", async () => {
  let count = 0;
  const { decoder, ends } = decoderWith(() => {
    count += 1;
  });
  decoder.receive(timing(1));
  decoder.receive(timing(2));
  decoder.receive({ kind: "cancel", id: 2 });
  await ends(2);
  expect(count).toBe(12);
});

test("what cannot be loaded fails each job by its own answer", async () => {
  const lost = Promise.reject(new Error("manifest.json cannot be loaded"));
  const { decoder, ends } = decoderWith(() => {}, lost);
  decoder.receive(timing(1));
  decoder.receive(timing(2));
  expect(await ends(2)).toEqual([
    { kind: "failed", id: 1, message: "manifest.json cannot be loaded", lost: false },
    { kind: "failed", id: 2, message: "manifest.json cannot be loaded", lost: false },
  ]);
});

test.each([
  ["without memory", new OutOfMemory(), true],
  ["at the end of the module", new ModuleEnded("no such type"), true],
  ["by another error", new Error("keys of this length"), false],
])("a job that fails %s reports whether its worker is lost", async (_, error, lost) => {
  const { decoder, ends } = decoderWith(() => {
    throw error;
  });
  decoder.receive(timing(1));
  expect(await ends(1)).toEqual([{ kind: "failed", id: 1, message: error.message, lost }]);
});

const FOREVER = new Promise<never>(() => {});
test.each([
  ["the runtime", FOREVER, undefined],
  ["a model", undefined, FOREVER],
])("a job that is cancelled while %s loads ends at once", async (_, loaded, part) => {
  const { decoder, ends } = decoderWith(() => {}, loaded, part);
  decoder.receive(timing(1));
  await new Promise((done) => setTimeout(done));
  decoder.receive({ kind: "cancel", id: 1 });
  const message = "The request was cancelled.";
  expect(await ends(1)).toEqual([{ kind: "failed", id: 1, message, lost: false }]);
});
