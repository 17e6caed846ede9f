// Lets tests wait for a state as long as a busy machine needs; by default they wait a second.
import { vi } from "vitest";

const waitFor = vi.waitFor;
vi.waitFor = (state, options = { timeout: 60_000 }) => waitFor(state, options);
