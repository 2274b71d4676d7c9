// A Chromium whose WebGPU answers without a GPU: an installed one, else Debian's, fetched into the user's cache; else a sentence that
// says why there is none.

import { spawnSync } from 'node:child_process';
import { copyFileSync, existsSync, mkdirSync, rmSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import { basename, delimiter, join } from 'node:path';
import { NotInArchive, downloadPackages } from './apt.mjs';
import { cacheFolder, fillFolder, filesIn, unavailable, unpack } from './package-folder.mjs';

const cached = join(cacheFolder('browsers'), 'chromium');

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
  const reason = unavailable(cached) ?? fetchChromium();
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

/** @returns {string | null} null when the browser is in the cache now; else why not, in a sentence */
function fetchChromium() {
  return fillFolder({
    parent: cacheFolder('browsers'),
    name: 'chromium',
    title: "Debian's Chromium",
    assemble,
  });
}

const PACKAGES = ['chromium', 'chromium-common'];

/** Unpacks the browser, and beside it the libraries that this system lacks. */
function assemble(work, ready) {
  const packages = downloadPackages(PACKAGES, { closure: true, work: join(work, 'apt') });
  const isBrowser = (file) => PACKAGES.includes(basename(file).split('_')[0]);
  for (const file of packages.filter(isBrowser)) unpack(file, ready);
  const others = packages.filter((file) => !isBrowser(file));
  const used = addLibraries(others, join(work, 'libraries'), ready);
  rmSync(join(ready, 'usr/share'), { recursive: true, force: true });
  writeFileSync(join(ready, 'start'), START, { mode: 0o755 });
  return { packages: [...packages.filter(isBrowser), ...used].map((file) => basename(file)) };
}

const START = `#!/bin/sh
here=$(dirname "$(readlink -f "$0")")
LD_LIBRARY_PATH="$here/lib\${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}" exec "$here/usr/lib/chromium/chromium" "$@"
`;

/** Copies into lib/ the libraries that the browser does not find. @returns the packages that they are from */
function addLibraries(packages, work, ready) {
  const lib = join(ready, 'lib');
  mkdirSync(lib);
  const libraries = new Map();
  for (const file of packages) {
    const folder = join(work, basename(file));
    unpack(file, folder);
    const paths = filesIn(folder).filter((path) => /\.so(\.|$)/.test(path) && existsSync(path));
    libraries.set(file, paths);
  }
  const copy = (path) => copyFileSync(path, join(lib, basename(path)));
  return addMissing(libraries, () => missingOf(join(ready, 'usr/lib/chromium/chromium'), lib), copy);
}

/**
 * Adds the packages that have missing libraries, each as a whole, since libraries open others of their package by name, until nothing is
 * missing. Exported for its test.
 * @param {Map<string, string[]>} libraries paths by package
 * @param {() => string[]} missing names of the libraries that are missing now
 * @param {(path: string) => void} add
 * @returns {string[]} the packages
 */
export function addMissing(libraries, missing, add) {
  const used = new Set();
  const added = new Set();
  for (let names = missing(); names.length > 0; names = missing()) {
    const before = used.size;
    for (const name of names.filter((name) => !added.has(name))) {
      const holder = [...libraries].find(([, paths]) => paths.some((path) => basename(path) === name));
      if (holder === undefined || used.has(holder[0])) continue;
      used.add(holder[0]);
      for (const path of holder[1]) {
        add(path);
        added.add(basename(path));
      }
    }
    if (used.size === before)
      throw new NotInArchive(
        `Chromium needs ${names.join(', ')}, which no package that it depends on contains.`,
      );
  }
  return [...used];
}

/** Names of the libraries that a program does not find in `lib` or in the system. */
function missingOf(program, lib) {
  const env = { ...process.env, LC_ALL: 'C', LD_LIBRARY_PATH: lib };
  const { stdout } = spawnSync('ldd', [program], { encoding: 'utf8', env });
  return [...new Set([...(stdout ?? '').matchAll(/(\S+) => not found/g)].map((match) => match[1]))];
}

/** Runs a small shader in a page, because a browser may list WebGPU and have no adapter, or one that computes nothing. */
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

/** Resolves with the promise's value, or with `late` after so many milliseconds. */
async function within(milliseconds, promise, late) {
  let timer;
  const ended = new Promise((resolve) => {
    timer = setTimeout(() => resolve(late), milliseconds);
  });
  return Promise.race([promise, ended]).finally(() => clearTimeout(timer));
}

/** Runs in the page. Returns why WebGPU cannot be used there, or null. */
async function computeInPage() {
  const adapter = await navigator.gpu?.requestAdapter();
  if (!adapter) return 'it has no WebGPU adapter';
  const device = await adapter.requestDevice();
  const size = 1024;
  const code = `@group(0) @binding(0) var<storage, read_write> squares: array<u32>;
    @compute @workgroup_size(64) fn main(@builtin(global_invocation_id) id: vec3u) { squares[id.x] = id.x * id.x; }`;
  const pipeline = await device.createComputePipelineAsync({
    layout: 'auto',
    compute: { module: device.createShaderModule({ code }) },
  });
  const squares = device.createBuffer({ size, usage: GPUBufferUsage.STORAGE | GPUBufferUsage.COPY_SRC });
  const staging = device.createBuffer({ size, usage: GPUBufferUsage.MAP_READ | GPUBufferUsage.COPY_DST });
  const encoder = device.createCommandEncoder();
  const pass = encoder.beginComputePass();
  pass.setPipeline(pipeline);
  const entries = [{ binding: 0, resource: { buffer: squares } }];
  pass.setBindGroup(0, device.createBindGroup({ layout: pipeline.getBindGroupLayout(0), entries }));
  pass.dispatchWorkgroups(size / 4 / 64);
  pass.end();
  encoder.copyBufferToBuffer(squares, 0, staging, 0, size);
  device.queue.submit([encoder.finish()]);
  await staging.mapAsync(GPUMapMode.READ);
  const isRight = new Uint32Array(staging.getMappedRange()).every((value, i) => value === i * i);
  return isRight ? null : 'its WebGPU computed a wrong result';
}
