// The shipped language model in a page of headless Chromium and in Node, on SwiftShader on both sides, in turns; and what a page loads.
//   node scripts/bench/browser.mjs
// `quiet`: rates by CPU time (Linux), as if nothing else ran on the cores.

import { readdirSync, readFileSync } from 'node:fs';
import { availableParallelism } from 'node:os';
import { join } from 'node:path';
import { gzipSync } from 'node:zlib';
import { chromium } from 'playwright-core';
import { serveExample } from '../examples/browser/serve.mjs';
import { CHROMIUM_FLAGS, ensureChromium } from '../setup/chromium.mjs';
import { bundle } from '../setup/bundle.mjs';
import { root } from '../setup/packages.mjs';

const MODEL = 'svc-chat-mini';
const ROUNDS = 3;

/**
 * Runs on both sides, so it uses nothing of this file. Generates once from random ids; returns milliseconds to the first token, and from there
 * to the last.
 */
async function generate(model, { promptTokens, maxTokens }) {
  const ids = Array.from({ length: promptTokens }, () => Math.floor(Math.random() * model.info.vocabSize));
  const begun = performance.now();
  let first = 0;
  const request = { prompt: { ids }, maxTokens, ignoreEos: true, temperature: 0 };
  for await (const event of model.generate(request)) if (event.type === 'delta') first ||= performance.now();
  return { first: first - begun, rest: performance.now() - first };
}

/** The text that runs `generate` on the page's model. */
function evaluated(given) {
  return `(${generate.toString()})(globalThis.model, ${JSON.stringify(given)})`;
}

/** What is measured: a request, and the tokens of its rate. */
const CASES = {
  prefill: { promptTokens: 256, maxTokens: 1, tokens: 256 },
  decode: { promptTokens: 16, maxTokens: 65, tokens: 64 },
};

/** Tokens per second by the wall clock, and by the CPU time of one side divided by the number of cores. */
async function rateOf({ run, cpuSeconds }, name) {
  const { tokens } = CASES[name];
  const before = cpuSeconds();
  const { first, rest } = await run(CASES[name]);
  const quiet = (cpuSeconds() - before) / availableParallelism();
  return { wall: (1000 * tokens) / (name === 'prefill' ? first : rest), quiet: tokens / quiet };
}

/** CPU seconds of all processes below this one, which are those of the browser. */
function browserSeconds() {
  const stats = readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name))
    .flatMap(statOf);
  const below = (pid) =>
    stats
      .filter(({ parent }) => parent === pid)
      .reduce((sum, child) => sum + child.ticks + below(child.pid), 0);
  return below(process.pid) / 100;
}

/** Parent and CPU time (in hundredths of a second) of a process; nothing if it has ended. */
function statOf(pid) {
  try {
    const text = readFileSync(`/proc/${pid}/stat`, 'utf8');
    const fields = text.slice(text.lastIndexOf(')') + 2).split(' ');
    return [{ pid: Number(pid), parent: Number(fields[1]), ticks: Number(fields[11]) + Number(fields[12]) }];
  } catch {
    return [];
  }
}

function ownSeconds() {
  const { user, system } = process.cpuUsage();
  return (user + system) / 1e6;
}

/** Bytes of each script with all files that it imports, raw and compressed one by one. */
async function bundleSizes() {
  const { metafile } = await bundle(join(root, 'dist/browser'));
  const outputs = Object.entries(metafile.outputs);
  const reach = (file, reached = new Set()) => {
    if (reached.has(file)) return reached;
    reached.add(file);
    for (const { path, kind } of metafile.outputs[file].imports)
      if (kind === 'import-statement') reach(path, reached);
    return reached;
  };
  return ['index', 'engine-worker', 'text-worker'].map((name) => {
    const entry = outputs.find(([file]) => file.endsWith(`/${name}.js`))[0];
    const texts = [...reach(entry)].map((file) => readFileSync(join(root, file)));
    const sum = (values) => values.reduce((total, value) => total + value, 0);
    return {
      name,
      raw: sum(texts.map(({ length }) => length)),
      gzip: sum(texts.map((text) => gzipSync(text, { level: 9 }).length)),
    };
  });
}

/** Opens a page in a fresh browser; returns milliseconds since its navigation began. */
async function openPage(path, url) {
  const browser = await chromium.launch({ executablePath: path, args: CHROMIUM_FLAGS });
  const page = await browser.newPage();
  await page.goto(url);
  const times = await page.evaluate(async (name) => {
    const { openTextModel } = await import('/engine/index.js');
    const { modelNamed } = await import('/models.js');
    const loaded = performance.now();
    globalThis.model = await openTextModel({ model: await modelNamed(name) });
    const opened = performance.now();
    const prompt = { messages: [{ role: 'user', content: 'Hello!' }] };
    let first = 0;
    for await (const event of globalThis.model.generate({ prompt, temperature: 0, maxTokens: 8 }))
      if (event.type === 'delta') first ||= performance.now();
    return { loaded, opened, first };
  }, MODEL);
  return { browser, page, times };
}

/** Opens the model in Node on SwiftShader; the variable has to be set before the engine is loaded. */
async function openInNode() {
  process.env.SVC_VULKAN_DRIVER = 'swiftshader';
  const { openTextModel } = await import('../../dist/index.js');
  const model = await openTextModel({ model: join(root, 'models', MODEL) });
  return model;
}

const found = await ensureChromium();
if (!('path' in found)) throw new Error(`no browser with WebGPU: ${found.reason}`);
console.log(`${found.version}; ${MODEL}, ${readdirSync(join(root, 'models', MODEL)).length} files`);
for (const { name, raw, gzip } of await bundleSizes())
  console.log(
    `${name}.js with its imports: ${(raw / 1e3).toFixed(0)} kB, gzip ${(gzip / 1e3).toFixed(0)} kB`,
  );

const server = await serveExample();
const { browser, page, times } = await openPage(found.path, server.url);
for (const [name, ms] of Object.entries(times))
  console.log(`cold page, ${name}: ${(ms / 1000).toFixed(2)} s after the navigation began`);
const model = await openInNode();
const inPage = await page.evaluate('globalThis.model.info.adapter');
console.log(`Node: ${model.info.adapter.description}; page: ${inPage.architecture}`);
const sides = {
  page: { run: (given) => page.evaluate(evaluated(given)), cpuSeconds: browserSeconds },
  Node: { run: (given) => generate(model, given), cpuSeconds: ownSeconds },
};
for (let round = 0; round <= ROUNDS; round++) {
  for (const name of Object.keys(CASES)) {
    const rates = {};
    for (const [side, given] of Object.entries(sides)) rates[side] = await rateOf(given, name);
    if (round === 0) continue; // kernels are compiled
    for (const clock of ['wall', 'quiet']) {
      const [ofPage, ofNode] = [rates.page[clock], rates.Node[clock]];
      const ratio = (ofPage / ofNode).toFixed(2);
      console.log(
        `${name}, ${clock}: page ${ofPage.toFixed(1)} tok/s, Node ${ofNode.toFixed(1)} tok/s, ratio ${ratio}`,
      );
    }
  }
}
await model.close();
await browser.close();
server.close();
