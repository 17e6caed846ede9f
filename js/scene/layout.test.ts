// Places of chips on their stage, what a selection means, and the labels of floors, by hand.
import assert from "node:assert/strict";
import { test } from "vitest";
import { draft, round } from "../lib/testing";
import { draftText, passText } from "./labels";
import {
  beamBox,
  boxHeight,
  chipBox,
  floorBox,
  isChained,
  isNarrow,
  isWide,
  layoutOf,
  leftBoxes,
  scrollTo,
} from "./layout";
import { type Beam, type Chip, type Scene, sceneOf } from "./scene";
import {
  atChip,
  atEvent,
  atInner,
  atRound,
  chosenIn,
  decidingIn,
  nodeIn,
  roundOf,
} from "./selection";
import { OWN } from "./words";

const ROUND = { ...round(2), level: 1 };
const DRAFTS = [draft(2, 0, 1, "accepted", { text: "ab" }), draft(2, 1, 2, "rejected")];
const OWN_TOKEN = { round: 2, depth: 0, text: "own", source: "target" };
/** One round of two draft tokens, the second of which is rejected. */
const SCENE: Scene = sceneOf(
  {
    rounds: new Map([[2, ROUND]]),
    drafts: new Map([[2, DRAFTS]]),
    children: new Map(),
    calls: [],
    tokens: [OWN_TOKEN],
  } as any,
  2,
);
const chip = (text: string) => SCENE.chips.find((chip) => chip.text === text) as Chip;
const WIDE = layoutOf(SCENE, " before the round", 1000, 700);

test("columns are as wide as their widest chips, after the text before the round", () => {
  assert.equal(WIDE.start, "…␣the␣round");
  const [start, first, second] = WIDE.lefts;
  assert.ok(Math.abs(start - (22 + 7.85 * 11 + 8)) < 1e-9);
  assert.ok(Math.abs(first - start - (22 + 16 + 7.85 * 2 + 8)) < 1e-9);
  assert.equal(WIDE.width, WIDE.lefts.at(-1));
  assert.ok(second > first && WIDE.floor === 700 - 28);
});

test("a phone has no room for the text before, and chips of the text have no marks", () => {
  const narrow = layoutOf(SCENE, "before", 420, 400);
  assert.deepEqual([isNarrow(619), isNarrow(620)], [true, false]);
  assert.equal(narrow.start, "");
  assert.equal(narrow.lefts[0], 0);
  assert.ok(Math.abs(narrow.lefts[1] - (40 + 4)) < 1e-9, "a column has at least forty pixels");
});

test("the text is the highest floor, and a chip rises to it when it is accepted", () => {
  const [below, text] = WIDE.tops;
  assert.ok(text < below);
  const accepted = chip("ab");
  assert.equal(chipBox(WIDE, accepted, 1).top, text);
  assert.equal(chipBox(WIDE, accepted, 0).top > text, true);
  assert.deepEqual(leftBoxes(WIDE, accepted, 0), []);
  assert.deepEqual(leftBoxes(WIDE, accepted, 1), [{ ...chipBox(WIDE, accepted, 1), top: below }]);
  assert.deepEqual(leftBoxes(WIDE, chip("x"), 1), [], "a rejected chip stays where it was born");
});

test("words of a floor are above its chips, and nothing reaches over them", () => {
  const [below, text] = WIDE.tops;
  assert.ok(floorBox(WIDE, 1).top + 26 <= text && floorBox(WIDE, 0).top + 26 <= below);
  assert.ok(text + 34 <= floorBox(WIDE, 0).top, "the chips of the text end above the next words");
  assert.equal(below + 34, WIDE.height, "no empty row is below the draft");
});

test("a chip that is not born waits below its place", () => {
  const own = chip("own");
  assert.equal(chipBox(WIDE, own, 0).top, chipBox(WIDE, own, 1).top + 22);
});

test("a beam is on the line of its floor, over the columns of its draft", () => {
  const line = floorBox(WIDE, 0);
  const beam = beamBox(WIDE, SCENE.beams[0]);
  assert.equal(beam.top, line.top - 2);
  assert.deepEqual([beam.left, beam.left + beam.width + 8], [WIDE.lefts[0], WIDE.lefts[2]]);
  assert.equal(line.top + line.height, WIDE.height);
});

test("a phone cuts chips only where whole ones have no room", () => {
  const words = (text: string) => ({
    ...SCENE,
    chips: SCENE.chips.map((chip) => ({ ...chip, text })),
  });
  const widthOf = (text: string) => layoutOf(words(text), "", 420, 400).width;
  assert.ok(widthOf("inseparably") > widthOf("schools"), "two columns have room");
  const small = (text: string) => layoutOf(words(text), "", 420, 200).width;
  assert.equal(small("inseparably"), small("inseparable-x"));
  assert.ok(small("inseparably") < widthOf("inseparably"));
});

test("a box is as high for each round of a stack, and deep rounds are wide", () => {
  const heightOf = (rows: number[]) => boxHeight(layoutOf({ ...SCENE, rows }, "", 1000, 700));
  assert.equal(heightOf([2, 1]), heightOf([1, 1]));
  assert.equal(heightOf([9, 1]), heightOf([2, 1]), "a tree scrolls in it");
  assert.ok(heightOf([1, 1, 1]) > heightOf([1, 1]));
  assert.deepEqual([isWide(3, 960), isWide(4, 960)], [false, true]);
});

test("a box of chains has one row a floor, unless a level below rejects tokens", () => {
  const layout = layoutOf(SCENE, "", 1000, 700);
  assert.ok(boxHeight(layout, true) < boxHeight(layout));
  const chain = [draft(2, 0, 1, "accepted"), draft(2, 1, 2, "rejected")];
  const tree = [...chain, draft(2, 2, 2, "unreached")];
  const below: any = { ...ROUND, id: 3, parent: 2 };
  const isOf = (drafts: any[], rounds: any[] = [ROUND]) =>
    isChained({
      drafts: new Map([[2, drafts]]),
      rounds: new Map(rounds.map((round) => [round.id, round])),
    });
  assert.equal(isOf(chain), true);
  assert.equal(isOf(tree), false);
  assert.equal(isOf(chain, [ROUND, below]), false);
});

test("a box scrolls only to chips that are out of view", () => {
  const sight = { left: 100, top: 50, width: 300, height: 120 };
  const at = (left: number, top: number) => ({ left, top, width: 60, height: 34 });
  assert.deepEqual(scrollTo(at(150, 60), sight), { left: 100, top: 50 });
  assert.deepEqual(scrollTo(at(40, 20), sight), { left: 24, top: 12 });
  assert.deepEqual(scrollTo(at(350, 150), sight), { left: 174, top: 88 });
});

test("the chip under the pointer is described before the selected one", () => {
  const [first, second] = SCENE.chips;
  const selected = atChip(atRound(2), first, 4);
  assert.equal(chosenIn(SCENE, selected), first);
  assert.equal(chosenIn(SCENE, { ...selected, peek: second.key }), second);
  assert.equal(chosenIn(null, selected), null);
  assert.equal(atChip({ ...selected, peek: second.key, inner: 1 }, second, 5).inner, null);
});

test("the cursor's event selects its chip, and a round below its own", () => {
  assert.equal(atEvent(atRound(2), SCENE, 7, OWN).key, chip("own").key);
  assert.equal(atEvent(atRound(2), SCENE, 7, 99).key, null);
  assert.equal(atInner(atRound(2), SCENE, 2).key, chip("own").key);
  assert.equal(nodeIn(SCENE, chip("x")), 1);
  assert.equal(nodeIn(SCENE, chip("own")), OWN);
});

test("the first rejected chip ended the draft, else the round's own token", () => {
  assert.equal(decidingIn(SCENE), chip("x"));
  const others = SCENE.chips.filter((chip) => chip.text !== "x");
  assert.equal(decidingIn({ ...SCENE, chips: others }), chip("own"));
  assert.equal(decidingIn({ ...SCENE, chips: [] }), null);
});

test("a chip was decided in its last round, unless one below is pinned", () => {
  const inner = { ...ROUND, id: 1 };
  const rounds = new Map([[1, inner]]);
  const selection = { ...atRound(2), inner: 1 };
  assert.equal(roundOf(rounds, SCENE, selection, chip("x")), inner);
  assert.equal(roundOf(rounds, SCENE, { ...selection, peek: "k" }, chip("x")), ROUND);
  assert.equal(roundOf(rounds, SCENE, atRound(2), null), ROUND);
});

test("a level's passes have their tokens, times and verdicts", () => {
  const reading = { judgedBy: () => 2 };
  const beam = (more: object): Beam =>
    ({ round: { ...ROUND, accepted: 1 }, ns: 2e6, fed: 3, ...more }) as any;
  assert.equal(
    passText(reading, [beam({})], "target", false),
    "target: one forward pass over 3 tokens, 2.00 ms · accepts 1 of 2 examined",
  );
  assert.equal(
    passText(reading, [beam({ ns: null }), beam({ ns: null })], "small", true),
    "small: 2 forward passes",
  );
  assert.equal(passText(reading, [], "nano", true), "nano: no forward pass");
});

test("the drafters' tokens are those of the lowest floor", () => {
  const call = (kind: string, duration_ns: number) => ({ round: 2, level: 0, kind, duration_ns });
  const calls = [call("draft", 1e6), call("update", 1e9)] as any;
  assert.equal(draftText({ calls }, SCENE, "nano"), "nano: 2 draft tokens, 1.00 ms");
});
