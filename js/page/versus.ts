// The script of an exported comparison.
import versus from "../versus";
import { startAll } from "./start";

startAll({ versus });
