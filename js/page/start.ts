// Starts a self-contained page (hsd_viz/views/export.py): the complete page over recorded runs, or
// single views within a text. Its content is JSON in the element #hsd-content, compressed with gzip
// and encoded in base64.
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

/** Return a host that has only recorded runs, by the names in `about`. */
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
  /** What the complete page shows; it opens on the first recording. */
  about?: About;
  runs?: Record<string, Snapshot>;
  /** Whether the server of the page decodes. */
  server?: boolean;
  /** Single views with their places and traits; a view of another package has its own script. */
  views?: { at: string; view?: string; script?: number; state: Record<string, unknown> }[];
  scripts?: string[];
  /** Compressed module of plotly. */
  library?: string;
  /**
   * For tools that take pictures: write the "height" of the page, or the "drawing" of its charts,
   * to #result once everything is drawn.
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
      const definition = (await modules[script ?? 0]).default;
      const model = standIn(state);
      const widget = typeof definition === "function" ? await definition() : definition;
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

/** Start the page that contains this bundle, if it is self-contained. */
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
