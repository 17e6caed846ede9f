// All views in one module: hsd_viz/views/static/hsd-viz.js. loader.ts draws a widget's view by it; a page of exported views starts
// itself.

import style from "hsd-viz:style";
import access from "./access";
import address from "./address";
import app from "./app";
import blocks from "./blocks";
import chart_mark from "./chart_mark";
import doctor from "./doctor";
import drafter from "./drafter";
import drop_file from "./drop_file";
import hierarchy from "./hierarchy";
import type { Widget } from "./lib/widget";
import locality_map from "./locality_map";
import names from "./names";
import notice from "./notice";
import number_field from "./number_field";
import open_file from "./open_file";
import { startAll } from "./page/start";
import plot from "./plot";
import readout from "./readout";
import rounds from "./rounds";
import rule_lab from "./rule_lab";
import save from "./save";
import scene from "./scene";
import session from "./session";
import staircase from "./staircase";
import stream from "./stream";
import tables from "./tables";
import tabs from "./tabs";
import timeline from "./timeline";
import tour from "./tour";
import versus from "./versus";

export { groups } from "./lib/group";
export { linkedWidget } from "./lib/linked";
export { provide } from "./plot/library";

type Views = Record<string, Partial<Widget<never>> | (() => Partial<Widget<never>>)>;
const VIEWS = {
  access,
  address,
  app,
  blocks,
  chart_mark,
  doctor,
  drop_file,
  hierarchy,
  scene,
  locality_map,
  names,
  notice,
  number_field,
  open_file,
  plot,
  readout,
  rounds,
  rule_lab,
  save,
  session,
  drafter,
  staircase,
  stream,
  tables,
  tabs,
  timeline,
  tour,
  versus,
} as unknown as Views;

/** A widget for the view of this name, with state of its own. */
export function widgetOf(view: string) {
  const made = VIEWS[view];
  if (!made) throw new Error(`there is no view named '${view}'`);
  return typeof made === "function" ? made() : made;
}

const sheet = new CSSStyleSheet();
sheet.replaceSync(style);
document.adoptedStyleSheets = [...document.adoptedStyleSheets, sheet];
startAll(widgetOf);
