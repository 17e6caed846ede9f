// The course of the game over recorded texts, its run and its drawing.
import assert from "node:assert/strict";
import { test } from "vitest";
import { metricsOf } from "../lib/metrics";
import { storeOf } from "../lib/run";
import type { Snapshot } from "../lib/run_data";
import { GAMES } from "../lib/testing";
import { boardOf, struckWords } from "./board";
import { cardOf } from "./card";
import {
  begin,
  copiedWords,
  type GameText,
  givenOf,
  isLast,
  isOver,
  next,
  playersOf,
  read,
  rivalsAtEnd,
} from "./play";
import { runOf } from "./run";
import { priceOf, tokensOf } from "./score";
import { ENGLISH } from "./strings";
import { choicesAfter } from "./words";

const skip = !GAMES.length;
const textOf = ({ runs, ...game }: any): GameText => {
  const { plain, ...others } = Object.fromEntries(
    Object.entries(runs).map(([name, run]) => [name, storeOf(run as Snapshot)]),
  );
  const rest = Object.entries(others).map(([name, run]) => ({
    name,
    title: name,
    source: name,
    run,
  }));
  return { ...game, plain, others: rest };
};

for (const game of GAMES)
  test(`${game.name}: the model's next word is a choice, and writing it keeps the text`, () => {
    const text = textOf(game);
    const { tokens, pieces } = text.plain;
    const given = tokens
      .slice(0, givenOf(text))
      .map((token) => token.text)
      .join("");
    assert.equal(
      given.trim(),
      text.given.trim(),
      "the given text is the beginning of the model's own",
    );
    let play = begin([text]);
    assert.ok(play.at > 0 && play.at < tokens.length);
    const firstWords = choicesAfter(tokens, pieces, play.at, []);
    const right = firstWords.filter((word) => read(play, [word]).pass.fates[0] === "accepted");
    assert.equal(right.length, 1);
    const before = play.at;
    const { play: after, pass } = read(play, [right[0], "zzz"]);
    play = after;
    assert.deepEqual(pass.fates, ["accepted", "struck"]);
    assert.ok(play.at > before + 1);
    for (const other of text.others)
      assert.deepEqual(
        other.run.tokens.map((t) => t.token_id),
        tokens.map((t) => t.token_id),
        `${other.name} has the model's text`,
      );
  });

test("a game goes through its texts, and all players have as many passes", { skip }, () => {
  const texts = GAMES.slice(0, 3).map(textOf);
  let play = begin(texts);
  for (let act = 0; act < texts.length; act++) {
    for (let k = 0; k < texts[act].passes && !isOver(play); k++)
      play = read(play, ["nothing like it"]).play;
    assert.ok(isOver(play));
    if (!isLast(play)) play = next(play);
  }
  const players = playersOf(play);
  assert.deepEqual([players[0].name, players.at(-1)?.name], ["you", "plain"]);
  for (const { passes } of players) assert.equal(passes.length, players[0].passes.length);
  assert.equal(tokensOf(players.at(-1)?.passes ?? []), players[0].passes.length);
  const struck = struckWords(play)[0];
  const { board, names } = boardOf(texts[struck.act].plain, struck);
  const sum = board.columns.reduce((all, one) => all + one.accepted + one.residual, 0);
  assert.ok(Math.abs(sum - 1) < 1e-6 && names[0] === struck.word && names.at(-1) === "others");
  const card = cardOf(
    players,
    { one: 1, more: 0 },
    players.map(() => "#000000"),
    "http://x/?game=1&a=<b>",
    ENGLISH,
  );
  assert.match(card, /^<svg [\s\S]*<\/svg>$/);
  assert.ok(
    card.includes("game=1&amp;a=&lt;b&gt;") &&
      !/style|script/.test(card.replace("font-weight", "")),
  );
  // Both axes have numbers.
  const numbers = [...card.matchAll(/text-anchor="(end|middle)"\s*>(\d+)</g)];
  assert.deepEqual(new Set(numbers.map(([, anchor]) => anchor)), new Set(["end", "middle"]));
  assert.ok(numbers.filter(([, , text]) => text === "0").length === 2);
});

test("the others play with the visitor, and their whole game is known from the start", {
  skip,
}, () => {
  const text = textOf(GAMES[0]);
  const start = begin([text]);
  assert.deepEqual(
    playersOf(start).map(({ passes }) => passes.length),
    playersOf(start).map(() => 0),
  );
  const end = rivalsAtEnd(start);
  assert.deepEqual(
    end.map(({ passes }) => passes.length),
    end.map(() => text.passes),
  );
  const later = read(start, ["nothing like it"]).play;
  assert.deepEqual(rivalsAtEnd(later), end);
  assert.deepEqual(
    playersOf(later).map(({ passes }) => passes.length),
    playersOf(later).map(() => 1),
  );
});

test("copying takes off: it beats a visitor who guesses five words in each pass", { skip }, () => {
  const text = textOf(GAMES.find((game: any) => game.name === "shark"));
  const words = text.plain.tokens
    .map((token) => token.text.trim())
    .filter((word) => /\p{L}/u.test(word));
  let play = begin([text]);
  while (!isOver(play)) {
    const before = text.plain.tokens.slice(0, play.at);
    const written = before.filter((token) => /\p{L}/u.test(token.text)).length;
    play = read(play, words.slice(written, written + 5)).play;
  }
  const [you, ...others] = playersOf(play);
  const copying = others.find(({ name }) => name === "copying");
  assert.equal(you.passes.length, text.passes);
  assert.ok(tokensOf(copying?.passes ?? []) > tokensOf(you.passes));
});

test("the played text is a run whose metrics follow from the passes", { skip }, () => {
  const text = textOf(GAMES[0]);
  const price = priceOf([text.plain, ...text.others.map(({ run }) => run)]);
  let play = begin([text]);
  const word = () =>
    choicesAfter(text.plain.tokens, text.plain.pieces, play.at, []).find(
      (one) => read(play, [one]).pass.accepted,
    ) ?? "";
  play = read(play, [word(), "zzz"]).play;
  play = read(play, []).play;
  const run = storeOf(runOf(text.plain, givenOf(text), play.passes[0], price));
  const all = run.tokens.map((t) => t.text).join("");
  const whole = text.plain.tokens.map((t) => t.text).join("");
  assert.ok(whole.startsWith(run.prompt.slice(text.plain.prompt.length) + all));
  const metrics = metricsOf(run);
  const [first] = play.passes[0];
  assert.deepEqual(
    [metrics.rounds, metrics.accepted, metrics.tokens],
    [2, first.accepted, first.accepted + 2],
  );
  assert.equal(run.index().rounds.length, 2);
  assert.ok(run.tokens[0].source === "you" && run.levels[0] === "you");
});

test("what is above can be copied", { skip }, () => {
  const shark = GAMES.find((game: any) => game.name === "shark");
  const play = begin([textOf(shark)]);
  const { pass, play: after } = read(play, ["sea"]);
  assert.equal(pass.fates[0], "accepted");
  const words = copiedWords(after);
  assert.ok(words.length >= 3);
  assert.ok(read(after, words).pass.fates.filter((fate) => fate === "accepted").length >= 3);
});

test("a visitor who only copies has a pass like the longest of copying", { skip }, () => {
  const text = textOf(GAMES.find((game: any) => game.name === "shark"));
  let play = read(begin([text]), ["sea"]).play;
  while (!isOver(play)) play = read(play, copiedWords(play)).play;
  const [you, copying] = playersOf(play);
  assert.equal(copying.name, "copying");
  const longest = ({ passes }: typeof you) => Math.max(...passes.map(({ tokens }) => tokens));
  assert.ok(longest(you) >= longest(copying), `${longest(you)} against ${longest(copying)}`);
});

test("a copy is as long as the match before it, and continues with itself", () => {
  const copied = (words: string[]) => {
    const ids = new Map(words.map((text) => [text, words.indexOf(text)]));
    const tokens = [...words, "end"].map((text) => ({ text, token_id: ids.get(text) ?? -1 }));
    const text = { plain: { tokens }, given: words.join("") } as unknown as GameText;
    return copiedWords(begin([text]));
  };
  assert.deepEqual(copied(["a", " b", " c", " x", " b", " c"]), ["x", "b"]);
  assert.deepEqual(copied(["a", " b", " c", " b", " c", " b", " c"]), ["b", "c", "b", "c"]);
  assert.deepEqual(copied(["a", " b", ",", " x", " b", ",", " x"]), ["b", "x"]);
  assert.deepEqual(copied(["a", " b", " c", " b"]), [], "one token is too short");
  assert.deepEqual(copied(["a", " b", " c"]), []);
});
