// A Chromium whose WebGPU answers without a GPU: an installed one, else Debian's, fetched into the user's cache; else a sentence that
// says why there is none.

import { existsSync } from 'node:fs';
import { createServer } from 'node:http';
import { delimiter, join } from 'node:path';
import { browserFolder, fetchBrowser } from './browser-package.mjs';
import { unavailable } from './package-folder.mjs';
import { computeInPage, within } from './webgpu-probe.mjs';

const CHROMIUM = {
  name: 'chromium',
  title: "Debian's Chromium",
  packages: ['chromium', 'chromium-common'],
  folder: 'usr/lib/chromium',
  program: 'chromium',
  binary: 'chromium',
};

const cached = browserFolder(CHROMIUM.name);

const NAMES = ['chromium', 'chromium-browser', 'google-chrome', 'google-chrome-stable'];

/** WebGPU on SwiftShader, which the browser contains, in a headless browser. Containers rarely allow the sandbox. */
export const CHROMIUM_FLAGS = [
  '--headless=new',
  '--enable-unsafe-webgpu',
  '--use-webgpu-adapter=swiftshader',
  '--no-sandbox',
];

/** Milliseconds until a browser that has not answered counts as broken: the whole probe, and the shader in its page. */
const PROBE_LIMIT = 120_000;
const WEBGPU_LIMIT = 30_000;

/** @typedef {{ path: string, version: string } | { reason: string }} Found */

/** @returns {Promise<Found>} an installed browser, else Debian's, fetched into the cache where that is possible */
export async function ensureChromium() {
  const found = await findChromium();
  const isFetched = existsSync(join(cached, 'start')); // one that does not work here would not work if it were fetched again
  if ('path' in found || process.env.SVC_CHROMIUM || process.platform !== 'linux' || isFetched) return found;
  const reason = unavailable(cached) ?? fetchBrowser(CHROMIUM);
  if (reason !== null) return { reason: `${found.reason}; ${reason}` };
  return findChromium();
}

/** @returns {Promise<Found>} the browser that SVC_CHROMIUM names, else the first of PATH or of the cache whose WebGPU works */
export async function findChromium() {
  const reasons = [];
  for (const path of candidates()) {
    const found = await within(PROBE_LIMIT, probe(path), { reason: 'it did not start in time' });
    if (found.version) return { path, version: found.version };
    reasons.push(`${path}: ${found.reason}`);
  }
  return { reason: reasons.join('; ') || 'no chromium or google-chrome is in PATH' };
}

function candidates() {
  const named = process.env.SVC_CHROMIUM;
  if (named) return [named];
  const folders = (process.env.PATH ?? '').split(delimiter).filter(Boolean);
  const installed = NAMES.flatMap((name) => folders.map((folder) => join(folder, name)));
  return [...installed, join(cached, 'start')].filter((path) => existsSync(path));
}

/** Runs a small shader in a page. */
async function probe(path) {
  const { chromium } = await import('playwright-core'); // missing until set-up has installed it
  let browser;
  const server = createServer((_, response) =>
    response.setHeader('content-type', 'text/html').end('<!doctype html>'),
  );
  try {
    await new Promise((resolve) => server.listen(0, '127.0.0.1', resolve));
    browser = await chromium.launch({ executablePath: path, args: CHROMIUM_FLAGS, timeout: 30_000 });
    const page = await browser.newPage();
    await page.goto(`http://127.0.0.1:${server.address().port}/`); // WebGPU needs a secure context
    const missing = await within(
      WEBGPU_LIMIT,
      page.evaluate(computeInPage),
      'its WebGPU did not answer in time',
    );
    return missing === null ? { version: browser.version() } : { reason: missing };
  } catch (error) {
    return { reason: String(error.message).split('\n')[0] };
  } finally {
    await browser?.close();
    server.close();
  }
}
