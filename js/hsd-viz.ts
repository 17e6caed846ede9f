// The entry point of hsd_viz/views/static/hsd-viz.js, the module of all views and the page.
// loader.ts imports it to draw a widget's view; an exported page starts itself. Views of other
// packages import it to share a run and a cursor (docs/how-to/figures.md).

import style from "hsd-viz:style";
import app from "./app";
import * as views from "./hsd-viz";
import { setStyles } from "./lib/dress";
import { startPage } from "./page/start";
import { VIEWS } from "./views";

export { openPage } from "./app/page";
export { keepRun } from "./app/state";
export { openGame } from "./game";
export { seedOf } from "./game/score";
export type { About, Answer, DecodeRequest, Host, Progress, Question } from "./host";
export { groups, hsdGroup } from "./lib/group";
export { linkedWidget } from "./lib/linked";
export { metricsOf } from "./lib/metrics";
export { createStore } from "./lib/run";
export { recordingHost } from "./page/start";
export { provide } from "./plot/library";
export { mount, widgetOf } from "./views";

VIEWS.app = app as (typeof VIEWS)[string];

setStyles(style);
// The map in which views of other packages find this module. On a page with a kernel, loader.ts has
// created it.
Object.assign(globalThis, {
  hsd_viz: Reflect.get(globalThis, "hsd_viz") ?? new Map([["", Promise.resolve(views)]]),
});
startPage();
