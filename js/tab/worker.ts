// The script of the worker. The worker runs until the page terminates it, which frees the memory of
// the module.
import type { ToWorker } from "./client";
import { TabDecoder } from "./decoder";

const decoder = new TabDecoder((answer) => self.postMessage(answer));
self.onmessage = ({ data }: MessageEvent<ToWorker>) => decoder.receive(data);
