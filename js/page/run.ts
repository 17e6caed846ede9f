// The script of an exported run.
import inspector from "../inspector";
import player from "../player";
import stream from "../stream";
import timeline from "../timeline";
import { startAll } from "./start";

startAll({ player: player(), stream: stream(), inspector: inspector(), timeline: timeline() });
