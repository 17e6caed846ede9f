// Whether the kernel of the page still lives, as its connection reports it.

interface Signal {
  connect(heard: () => void): unknown;
  disconnect(heard: () => void): unknown;
}
/** The part of a kernel connection of @jupyterlab/services that is read here. */
export interface Kernel {
  readonly status: string;
  readonly connectionStatus: string;
  readonly statusChanged: Signal;
  readonly connectionStatusChanged: Signal;
}

/**
 * Milliseconds without a connection after which the page counts as lost: shorter breaks are mended
 * by reconnecting.
 */
export const GRACE = 3000;
/** A kernel in one of these states has lost its widgets, or will. */
const ENDED = new Set(["restarting", "autorestarting", "terminating", "dead"]);

/**
 * Call `lost` with a reason when the kernel ended or the connection broke, and with "" if the
 * connection returns to the same kernel. A kernel that ended stays lost. Returns a function that
 * stops watching.
 */
export function watchKernel(kernel: Kernel, lost: (why: string) => void) {
  let connected = kernel.connectionStatus === "connected";
  let ended = false;
  let told = "";
  let timer = 0;
  const tell = (why: string) => {
    clearTimeout(timer);
    timer = 0;
    if (why === told || ended) return;
    told = why;
    lost(why);
  };
  const look = () => {
    if (ENDED.has(kernel.status)) {
      tell("The kernel of this page ended.");
      ended = true;
    } else if (kernel.connectionStatus === "connected") {
      connected = true;
      tell("");
    } else if (connected && !timer) {
      timer = setTimeout(() => tell("The server of this page does not answer."), GRACE);
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

/** The kernel of a widget's model, where the host has one. */
export function kernelOf(model: object): Kernel | null {
  const kernel = (model as { widget_manager?: { kernel?: Partial<Kernel> } }).widget_manager
    ?.kernel;
  return kernel?.statusChanged && kernel.connectionStatusChanged ? (kernel as Kernel) : null;
}
