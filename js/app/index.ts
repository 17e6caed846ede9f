// The page as a widget, with the widget's kernel as its host.
import type { Host } from "../host";
import { kernelHost, type Traits } from "../host/kernel";
import { moduleOf, unpacked } from "../lib/dom";
import { guarded } from "../lib/notice";
import type { Drawing } from "../lib/widget";
import { type Plotly, provide } from "../plot/library";
import { openPage } from "./page";

/** Let the first figure that is drawn load plotly from a host. */
export function plotlyOf(host: Host) {
  provide("cartesian", async () => {
    if (!host.plotly) throw new Error("this page has no plotly: figures are drawn in Python");
    return (await moduleOf(await unpacked(await host.plotly()))).default as Plotly;
  });
}

function render({ model, el }: Drawing<Traits>) {
  const host = kernelHost(model);
  plotlyOf(host);
  // Under Voilà the address and the theme belong to the page (voila/templates/hsd); in a notebook
  // they belong to JupyterLab.
  const served = "hsdTheme" in window;
  const close = openPage(el, host, { address: served, first: served });
  return () => {
    close();
    host.end();
  };
}

export default { render: guarded(render) };
