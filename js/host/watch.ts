// Watches the connection to the page's kernel.

interface Signal {
  connect(heard: () => void): unknown;
  disconnect(heard: () => void): unknown;
}
/** The members used here of a kernel connection of @jupyterlab/services. */
export interface Kernel {
  readonly status: string;
  readonly connectionStatus: string;
  readonly statusChanged: Signal;
  readonly connectionStatusChanged: Signal;
}

/**
 * Milliseconds without a connection after which the kernel counts as lost. Shorter interruptions
 * end by reconnecting.
 */
export const GRACE = 3000;
/** States in which a kernel has lost, or is about to lose, its widgets. */
const ENDED = new Set(["restarting", "autorestarting", "terminating", "dead"]);

/**
 * Call `lost` with a reason when the kernel ends or the connection breaks, and with "" when the
 * same kernel is connected again. A kernel that ended stays lost. Returns a function that stops
 * watching.
 */
export function watchKernel(kernel: Kernel, lost: (why: string) => void) {
  let connected = kernel.connectionStatus === "connected";
  let ended = false;
  let reported = "";
  let timer = 0;
  const report = (why: string) => {
    clearTimeout(timer);
    timer = 0;
    if (why === reported || ended) return;
    reported = why;
    lost(why);
  };
  const look = () => {
    if (ENDED.has(kernel.status)) {
      report("The kernel of this page ended.");
      ended = true;
    } else if (kernel.connectionStatus === "connected") {
      connected = true;
      report("");
    } else if (connected && !timer) {
      timer = setTimeout(() => report("The server of this page does not answer."), GRACE);
    }
  };
  kernel.statusChanged.connect(look);
  kernel.connectionStatusChanged.connect(look);
  look();
  return () => {
    clearTimeout(timer);
    kernel.statusChanged.disconnect(look);
    kernel.connectionStatusChanged.disconnect(look);
  };
}

/** Return the kernel of a widget's model; null if the model has none. */
export function kernelOf(model: object): Kernel | null {
  const kernel = (model as { widget_manager?: { kernel?: Partial<Kernel> } }).widget_manager
    ?.kernel;
  return kernel?.statusChanged && kernel.connectionStatusChanged ? (kernel as Kernel) : null;
}
