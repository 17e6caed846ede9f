import { defineConfig } from "vitest/config";

export default defineConfig({
  test: {
    environment: "node",
    isolate: false,
    setupFiles: ["./test_documents.ts", "./test_patience.ts"],
    testTimeout: 120_000,
    hookTimeout: 120_000,
  },
});
