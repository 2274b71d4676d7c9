// A Chromium whose WebGPU answers without a GPU: an installed one, else Debian's, fetched into the user's cache; else a sentence that
// says why there is none. The headless shell comes first: it starts, and opens pages, in half of the CPU time of the whole browser.

import { existsSync } from 'node:fs';
import { createServer } from 'node:http';
import { basename, dirname, join } from 'node:path';
import { candidatesOf, ensureBrowser } from './browser-package.mjs';
import { computeInPage, within } from './webgpu-probe.mjs';

const CHROMIUM = {
  name: 'chromium',
  variable: 'SVC_CHROMIUM',
  names: [
    'chromium-headless-shell',
    'chrome-headless-shell',
    'chromium',
    'chromium-browser',
    'google-chrome',
    'google-chrome-stable',
  ],
  title: "Debian's Chromium",
  packages: ['chromium-headless-shell', 'chromium', 'chromium-common'],
  folder: 'usr/lib/chromium',
  programs: { start: 'chromium-headless-shell', 'start-whole': 'chromium' },
  binary: 'chromium',
};

/** WebGPU on SwiftShader, which the browser contains, in a headless browser; its shell ignores the first flag. Containers rarely allow the sandbox. */
export const CHROMIUM_FLAGS = [
  '--headless=new',
  '--enable-unsafe-webgpu',
  '--use-webgpu-adapter=swiftshader',
  '--no-sandbox',
];

/** Milliseconds until a browser that has not answered counts as broken: the whole probe, and the shader in its page. */
const PROBE_LIMIT = 120_000;
const WEBGPU_LIMIT = 30_000;

/** @typedef {import('./browser-package.mjs').Found} Found */

/**
 * @param {string} path of a browser that was found
 * @returns {string | null} the whole browser, which keeps pages frozen and has a disk's quota as users have it: the one of a headless shell's package;
 * null: only the shell is there
 */
export function wholeChromium(path) {
  const name = basename(path);
  if (!/headless-shell$|^start$/.test(name)) return path;
  const whole = join(dirname(path), name === 'start' ? 'start-whole' : name.replace('-headless-shell', ''));
  if (existsSync(whole)) return whole;
  return name === 'start' ? path : null; // caches of earlier versions have the whole browser alone
}

/** @returns {Promise<Found>} see ensureBrowser() */
export const ensureChromium = () => ensureBrowser(CHROMIUM, findChromium);

/** @returns {Promise<Found>} the browser that SVC_CHROMIUM names, else the first of PATH or of the cache whose WebGPU works */
export async function findChromium() {
  const reasons = [];
  for (const path of candidatesOf(CHROMIUM)) {
    const found = await within(PROBE_LIMIT, probe(path), { reason: 'it did not start in time' });
    if (found.version) return { path, version: found.version };
    reasons.push(`${path}: ${found.reason}`);
  }
  return { reason: reasons.join('; ') || 'no chromium-headless-shell, chromium or google-chrome is in PATH' };
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
