// The worker of a page: one tab's decoder. It lives from its first message until the page
// terminates it, which frees the module's memory with it.
import type { Ask } from "./client";
import { TabDecoder } from "./decoder";

const decoder = new TabDecoder((answer) => self.postMessage(answer));
self.onmessage = ({ data }: MessageEvent<Ask>) => decoder.receive(data);
