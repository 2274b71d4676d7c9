// A Chromium whose WebGPU answers without a GPU: an installed one, else Debian's, fetched into the user's cache; else a sentence that
// says why there is none.

import { existsSync } from 'node:fs';
import { createServer } from 'node:http';
import { delimiter, join } from 'node:path';

const NAMES = ['chromium', 'chromium-browser', 'google-chrome', 'google-chrome-stable'];

/** WebGPU on SwiftShader, which the browser contains, in a headless browser. Containers rarely allow the sandbox. */
export const CHROMIUM_FLAGS = [
  '--headless=new',
  '--enable-unsafe-webgpu',
  '--use-webgpu-adapter=swiftshader',
  '--no-sandbox',
];

/** @returns {Promise<{ path: string, version: string } | { reason: string }>} SVC_CHROMIUM names another browser than those of PATH */
export async function ensureChromium() {
  let reason = 'no chromium or google-chrome is in PATH';
  for (const path of candidates()) {
    const found = await probe(path);
    if (found.version) return { path, version: found.version };
    reason = `${path}: ${found.reason}`;
  }
  return { reason };
}

function candidates() {
  const named = process.env.SVC_CHROMIUM;
  if (named) return [named];
  const folders = (process.env.PATH ?? '').split(delimiter).filter(Boolean);
  return NAMES.flatMap((name) =>
    folders.map((folder) => join(folder, name)).filter((path) => existsSync(path)),
  );
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
    const missing = await within(30_000, page.evaluate(computeInPage));
    return missing === null ? { version: browser.version() } : { reason: missing };
  } catch (error) {
    return { reason: String(error.message).split('\n')[0] };
  } finally {
    await browser?.close();
    server.close();
  }
}

async function within(milliseconds, promise) {
  let timer;
  const late = new Promise((resolve) => {
    timer = setTimeout(() => resolve('its WebGPU did not answer in time'), milliseconds);
  });
  return Promise.race([promise, late]).finally(() => clearTimeout(timer));
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
