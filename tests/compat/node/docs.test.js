// What docs/clients.md shows is what works.

import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { test } from "node:test";
import { fileURLToPath } from "node:url";

import { key, url } from "./everthread.js";

const page = readFileSync(new URL("../../../docs/clients.md", import.meta.url), "utf8");
const here = fileURLToPath(new URL(".", import.meta.url));

for (const [, code] of page.matchAll(/```js\n(.*?)```/gs)) {
  test(`the snippet with ${code.match(/from "([^"]+)"/)[1]} remembers the name`, () => {
    const input = code.replaceAll("http://127.0.0.1:8642/v1", url).replaceAll("et_...", key);
    const done = spawnSync(process.execPath, ["--input-type=module"], { input, cwd: here, encoding: "utf8" });
    assert.equal(done.stdout, "Your name is Alex.\n", done.stderr);
  });
}
