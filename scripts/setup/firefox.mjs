// A Firefox whose WebGPU answers: an installed one, else Debian's, fetched into the user's cache; else a sentence that says why there is
// none. It is driven without a protocol: it opens one page, which reports to the server that it is from.

import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import { homedir, tmpdir } from 'node:os';
import { join } from 'node:path';
import { text as textOf } from 'node:stream/consumers';
import { candidatesOf, ensureBrowser } from './browser-package.mjs';
import { cacheFolder } from './package-folder.mjs';
import { computeInPage, within } from './webgpu-probe.mjs';

const FIREFOX = {
  name: 'firefox',
  variable: 'SVC_FIREFOX',
  names: ['firefox-esr', 'firefox'],
  title: "Debian's Firefox",
  packages: ['firefox-esr'],
  folder: 'usr/lib/firefox-esr',
  programs: { start: 'firefox-esr' },
  binary: 'libxul.so',
};

/** WebGPU is off on Linux, and software adapters are on the list of those that must not be used. Containers rarely allow the sandbox. */
const PREFERENCES = {
  'dom.webgpu.enabled': true,
  'gfx.webgpu.ignore-blocklist': true,
  'security.sandbox.content.level': 0,
  'app.normandy.enabled': false,
  'app.update.auto': false,
  'browser.aboutwelcome.enabled': false,
  'browser.shell.checkDefaultBrowser': false,
  'browser.startup.homepage_override.mstone': 'ignore',
  'datareporting.policy.dataSubmissionEnabled': false,
  'network.captive-portal-service.enabled': false,
  'network.connectivity-service.enabled': false,
};

/** Milliseconds until a browser that has not answered counts as broken, and until one that was told to end is killed. */
const PROBE_LIMIT = 60_000;
const END_LIMIT = 5_000;

/** @typedef {import('./browser-package.mjs').Found} Found */

/** @returns {Promise<Found>} see ensureBrowser() */
export const ensureFirefox = () => ensureBrowser(FIREFOX, findFirefox);

/** @returns {Promise<Found>} the browser that SVC_FIREFOX names, else the first of PATH or of the cache whose WebGPU works */
export async function findFirefox() {
  const reasons = [];
  for (const path of candidatesOf(FIREFOX)) {
    const reason = await probe(path);
    if (reason === null) return { path, version: versionOf(path) };
    reasons.push(`${path}: ${reason}`);
  }
  return { reason: reasons.join('; ') || 'no firefox is in PATH' };
}

function versionOf(path) {
  const { stdout } = spawnSync(path, ['--version'], { encoding: 'utf8', timeout: PROBE_LIMIT });
  return /\d+(\.\d+)+/.exec(stdout ?? '')?.[0] ?? 'of an unknown version';
}

/** @returns {Record<string, string>} variables by which Vulkan finds the software driver of the cache; empty where it is not there or not wanted */
export function softwareDriver() {
  const folder = join(cacheFolder('vulkan'), 'lavapipe');
  const icd = join(folder, 'icd.json');
  if (process.platform !== 'linux' || process.env.SVC_VULKAN_DRIVER === 'system' || !existsSync(icd))
    return {};
  const libraries = [folder, process.env.LD_LIBRARY_PATH].filter(Boolean).join(':');
  return { LD_LIBRARY_PATH: libraries, VK_DRIVER_FILES: icd, VK_ICD_FILENAMES: icd };
}

/**
 * Opens a page in a headless Firefox with a profile and a home of its own.
 * @param {string} path @param {string} url
 * @returns {{ ended: Promise<string>, end: () => Promise<void> }} `ended` resolves with how the browser ended
 */
export function startFirefox(path, url) {
  const home = mkdtempSync(join(tmpdir(), 'svc-firefox-'));
  const lines = Object.entries(PREFERENCES).map(
    ([name, value]) => `user_pref(${JSON.stringify(name)}, ${JSON.stringify(value)});\n`,
  );
  writeFileSync(join(home, 'user.js'), lines.join(''));
  const child = spawn(path, ['--headless', '--no-remote', '--profile', home, url], {
    stdio: 'ignore',
    env: {
      ...process.env,
      ...softwareDriver(),
      HOME: home,
      TMPDIR: home,
      MESA_SHADER_CACHE_DIR:
        process.env.MESA_SHADER_CACHE_DIR ?? process.env.XDG_CACHE_HOME ?? join(homedir(), '.cache'),
      MOZ_CRASHREPORTER_DISABLE: '1',
    },
  });
  const ended = once(child, 'exit').then(
    ([code, signal]) => `Firefox ended with ${signal ?? code}`,
    (error) => `Firefox did not start: ${error.message}`,
  );
  const end = async () => {
    child.kill();
    if ((await within(END_LIMIT, ended, null)) === null) child.kill('SIGKILL');
    await ended;
    rmSync(home, { recursive: true, force: true, maxRetries: 5, retryDelay: 200 });
  };
  return { ended, end };
}

/** Runs a small shader in a page. @returns {Promise<string | null>} why the browser cannot be used, or null */
async function probe(path) {
  const compute = `await (${computeInPage.toString()})().catch(String)`;
  const script = `await fetch('/report', { method: 'POST', body: ${compute} ?? '' });`;
  const page = `<!doctype html><script type="module">${script}</script>`;
  const server = createServer();
  const reported = new Promise((resolve) => {
    server.on('request', (request, response) => {
      response.setHeader('content-type', 'text/html').end(page);
      if (request.url === '/report') resolve(textOf(request));
    });
  });
  server.listen(0, '127.0.0.1'); // WebGPU needs a secure context
  await once(server, 'listening');
  const browser = startFirefox(path, `http://127.0.0.1:${server.address().port}/`);
  try {
    const reason = await within(
      PROBE_LIMIT,
      Promise.race([reported, browser.ended]),
      'it did not answer in time',
    );
    return reason || null;
  } finally {
    await browser.end();
    server.close();
    server.closeAllConnections();
  }
}
