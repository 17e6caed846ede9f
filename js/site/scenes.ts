// The scenes of the article: each decodes in this tab, and shows its runs with views of the page.
import { html } from "lit-html";
import { make } from "../lib/dom";
import type { Snapshot } from "../lib/run_data";
import type { Token } from "../lib/tables";
import { answers } from "./answers";
import { type Article, decode, inTurns, TOKENS } from "./article";
import { gameText } from "./game_text";
import { hierarchies } from "./hierarchies";
import { menu, opened, openScene, race, raceOf, sceneElement, tick, views } from "./parts";
import { passes } from "./passes";

const DRAFTERS: [value: string, words: string][] = [
  ["nano", "nano"],
  ["small", "small"],
  ["db", "databases"],
];
const DATABASES = ["context", "model", "statistics"];
const SEEDS = 1e6;
/** How many runs are decoded to find one with a rejected token. */
const MAX_TRIES = 5;

/**
 * The scene "draft and verify": the text of a run, the round under its cursor, and its race against
 * plain decoding.
 */
function draftAndVerify(article: Article) {
  const out = make("div");
  const verify = make("div");
  const chart = make("div");
  const group = views(article, "draft", [
    ["stream", out],
    ["scene", verify],
  ]);
  const recorded = ["sampled", "sampled/plain", "sampled/databases"];
  const markOwn = opened(recorded, out, ([run, ...pair]) => {
    group().store.adopt(run);
    raceOf(article, chart, pair);
  });
  openScene(sceneElement("draft"), out, {
    controls: html`${menu("Drafter", "drafter", DRAFTERS)}<label
        >Lookahead <input type="number" name="look" min="1" max="12" value="4"
      /></label>`,
    button: "Draft and verify 64 tokens",
    async act(given, work) {
      const name = String(given.get("drafter"));
      const stack = name === "db" ? "db > target" : `${name}:${given.get("look")} > target`;
      markOwn();
      await decode(article, stack, TOKENS, group().store, work);
      const runs = await inTurns(article, ["target", stack], work);
      race(article, chart, runs.values());
    },
  });
  sceneElement("verify").replaceChildren(verify, chart);
}

/** Whether the token replaced a rejected one and its residual was recorded. */
const hasResidual = (token: Token) =>
  token.kind === "correction" && Boolean(token.residual_top?.length);

/** The scene "why sampling stays exact": darts on the rows of a real correction. */
function darts(article: Article) {
  const out = make("div");
  const shown = views(article, "darts", [["scene", out]]);
  const own = opened(["sampled"], out, ([run]) => shown().store.adopt(run));
  openScene(sceneElement("darts"), out, {
    controls: "",
    button: "Take a rejected token of a real run",
    async act(_, work) {
      const store = article.page.createStore();
      for (let tries = 0; tries < MAX_TRIES; tries++) {
        const sampled = { temperature: 1, seed: Math.floor(Math.random() * SEEDS) };
        await decode(article, "small:4 > target", TOKENS, store, work, sampled);
        if (!store.tokens.some(hasResidual)) continue;
        own();
        // Open on a round whose darts fall on both sides.
        shown().store.adopt(store.snapshot());
        return;
      }
      throw new Error("No token was rejected in these runs: try another prompt.");
    },
  });
}

/** The scene about databases: which one supplied a token, and where it was copied from. */
function databases(article: Article) {
  const { hues } = article.data.palette;
  const out = make("div");
  const arcs = make("div");
  const shown = views(article, "databases", [
    ["stream", out],
    ["locality_map", arcs],
  ]);
  const own = opened(["copied"], out, ([run]) => shown().store.adopt(run));
  openScene(sceneElement("databases"), out, {
    controls: DATABASES.map((name) => tick("db", name, hues[name].label, true)),
    button: "Decode with databases",
    async act(given, work) {
      if (!given.has("db")) throw new Error("Choose at least one database.");
      own();
      const stack = `db[${given.getAll("db").join(",")}] > target`;
      await decode(article, stack, 2 * TOKENS, shown().store, work);
    },
  });
  out.after(arcs);
}

/**
 * Open all scenes; the first one shows a text of the game of this seed. Returns a function that
 * shows a game of the visitor there.
 */
export function scenes(article: Article, seed: number): (own: Snapshot) => void {
  const builders = [passes, draftAndVerify, darts, databases, hierarchies, answers];
  for (const open of builders) open(article);
  return gameText(article, seed);
}
