// Start a self-contained page (hsd_viz/views/export.py): a whole page over recorded runs, or single
// views in places of a text. Its content is JSON in the element #hsd-content, packed by gzip and
// base64.
import { plotlyOf } from "../app";
import { drawingOf } from "../app/drawing";
import { openPage } from "../app/page";
import type { About, Host } from "../host";
import { serverDecode } from "../host/http";
import { moduleOf, unpacked } from "../lib/dom";
import { failure } from "../lib/notice";
import type { Snapshot } from "../lib/run_data";
import { standIn } from "../lib/widget";
import { type Plotly, provide } from "../plot/library";
import { mount } from "../views";

/**
 * The host of a page that has only recorded runs, by the names in `about`: what it lacks is said on
 * the page.
 */
export function recordingHost(about: About, runs: Record<string, Snapshot>): Host {
  const games = about.games.filter((game) =>
    Object.values(game.runs).every((name) => name in runs),
  );
  return {
    about: { ...about, games, families: [] },
    answers: [],
    async recording(name) {
      const run = runs[name];
      if (!run) throw new Error(`no recording is named '${name}'`);
      return run;
    },
  };
}

interface Content {
  /** A page of recorded runs, which opens on the first one. */
  about?: About;
  runs?: Record<string, Snapshot>;
  /** Whether its server decodes. */
  server?: boolean;
  /**
   * Views by place, and the state that all have; a view of another package has a script of its own.
   */
  views?: { at: string; view?: string; script?: number; state: Record<string, unknown> }[];
  scripts?: string[];
  /** plotly's module. */
  library?: string;
  /**
   * For a picture: put the page's "height", or the "drawing" of its charts, into #result when
   * everything is drawn.
   */
  then?: string;
}

async function unpack(text: string): Promise<Content> {
  return JSON.parse(await unpacked(Uint8Array.from(atob(text.trim()), (c) => c.charCodeAt(0))));
}

async function start(content: Content) {
  const { about, runs = {}, server, views = [], scripts = [], library, then } = content;
  if (library) {
    const ready = moduleOf(library).then((module) => module.default as Plotly);
    for (const name of ["cartesian", "whole"]) provide(name, () => ready);
  }
  if (about) {
    const host = { ...recordingHost(about, runs), ...(server && { decode: serverDecode() }) };
    plotlyOf(host);
    openPage(document.querySelector("main") ?? document.body, host, {
      address: true,
      first: Boolean(server),
    });
  }
  const modules = scripts.map(moduleOf);
  for (const { at, view, script, state } of views) {
    const el = document.getElementById(at);
    if (!el) continue;
    if (view) mount(view, state, el);
    else {
      const made = (await modules[script ?? 0]).default;
      const model = standIn(state);
      const widget = typeof made === "function" ? await made() : made;
      await widget.initialize?.({ model });
      await widget.render({ model, el });
    }
  }
  if (!then) return;
  await document.fonts.ready;
  await new Promise((done) => setTimeout(done, 600));
  const [shown, result] = [
    document.querySelector("main") ?? document.body,
    document.getElementById("result"),
  ];
  const output =
    then === "drawing" ? drawingOf(shown) : Math.ceil(shown.getBoundingClientRect().height);
  if (result) result.textContent = String(output || "none");
}

/** Start the page that holds this bundle, if it is one. */
export function startPage() {
  const packed = document.getElementById("hsd-content")?.textContent;
  if (!packed) return;
  const waiting = document.getElementById("start");
  unpack(packed)
    .then(start)
    .then(
      () => waiting?.remove(),
      (error) => {
        (waiting ?? document.body).append(
          failure(error, "This page needs a browser from 2023 or later"),
        );
        throw error;
      },
    );
}
