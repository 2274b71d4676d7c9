// Errors that only a page has: its worker cannot be loaded or fails, or WebGPU is missing.

import type { ServerResponse } from 'node:http';
import type { Page } from 'playwright-core';
import { expect } from 'vitest';
import type { InPage, TextModelOptions } from '../../src/browser.ts';
import { usePages } from './chromium.ts';
import { serveSmallChat } from './small-chat.ts';

const HOST = 'insecure.test';
const pages = usePages({ flags: [`--host-resolver-rules=MAP ${HOST} 127.0.0.1`] });
serveSmallChat(pages);

const WORKER = '/engine/engine-worker.js';
const HTML =
  '<!doctype html><link rel="icon" href="data:,"><script type="module" src="/engine/page.js"></script>';

/** Tries to open a model of one file; returns the code and the message of the error. */
function problem(page: Page, options: Partial<InPage<TextModelOptions>> = {}): Promise<string> {
  return page.evaluate(async (given) => {
    const model = [new File(['{}'], 'config.json')];
    try {
      await (await svc.openTextModel({ model, ...given })).close();
      return 'opened';
    } catch (error) {
      const { code, message } = error as { code: string; message: string };
      return `${code}: ${message}`;
    }
  }, options);
}

/** Serves the engine's worker with a statement that runs before it opens anything. */
function patchWorker(statement: string): void {
  pages.route(WORKER, (_request, response) =>
    answer(response, `import '/engine//engine-worker.js'; ${statement}`),
  );
}

function answer(response: ServerResponse, text: string, headers: Record<string, string> = {}): void {
  response.writeHead(200, { 'content-type': 'text/javascript', ...headers }).end(text);
}

pages.test('a worker that the content security policy forbids', async () => {
  pages.allow(/Content Security Policy/i);
  pages.route('/strict', (_request, response) =>
    answer(response, HTML, {
      'content-type': 'text/html',
      'content-security-policy': "default-src 'self'; img-src data:; worker-src 'none'",
    }),
  );
  const page = await pages.open();
  await page.goto(`${pages.url}strict`);
  const text = await problem(page);
  expect(text).toMatch(/^unsupported: the content security policy .*engine-worker\.js \(worker-src.*'self'/);
});

pages.test('a worker that is not served', async () => {
  pages.allow(/404/);
  pages.route(WORKER, (_request, response) => void response.writeHead(404).end());
  expect(await problem(await pages.open())).toMatch(
    /^network: .*engine-worker\.js .*answers 404.*dist\/browser/,
  );
});

pages.test('a worker in whose place a server sends a page', async () => {
  pages.allow(/MIME type/);
  pages.route(WORKER, (_request, response) => answer(response, HTML, { 'content-type': 'text/html' }));
  expect(await problem(await pages.open())).toMatch(/^network: .*served as text\/html instead of JavaScript/);
});

pages.test('a worker that fails while it is loaded', async () => {
  pages.route(WORKER, (_request, response) => answer(response, "throw new Error('cannot begin')"));
  pages.allow(/cannot begin/);
  expect(await problem(await pages.open())).toMatch(/^internal: .*cannot begin.*open the model again/);
});

pages.test('a browser without WebGPU in workers, and a page without it', async () => {
  patchWorker("Object.defineProperty(navigator, 'gpu', { value: undefined })");
  const page = await pages.open();
  const missing = /^no_adapter: this browser has no WebGPU in workers.*Chrome.*Safari.*Firefox/;
  expect(await openSmall(page)).toMatch(missing);
  const own = await page.evaluate(async () => {
    Object.defineProperty(navigator, 'gpu', { value: undefined });
    return svc.adapters().catch((error: Error) => error.message);
  });
  expect(own).toMatch(/^this browser has no WebGPU;/);
});

pages.test('a browser without an adapter', async () => {
  patchWorker('GPU.prototype.requestAdapter = async () => null');
  expect(await openSmall(await pages.open())).toMatch(/^no_adapter: .*hardware acceleration/);
});

pages.test('a page that is not a secure context', async () => {
  const page = await pages.open();
  await page.goto(pages.url.replace('127.0.0.1', HOST));
  expect(await page.evaluate(() => isSecureContext)).toBe(false);
  pages.route(WORKER, (_request, response) => answer(response, "import '/engine//engine-worker.js'"));
  expect(await openSmall(page)).toMatch(/^no_adapter: .*secure context.*https/);
  const own = await page.evaluate(() => svc.adapters().catch((error: Error) => error.message));
  expect(own).toContain('secure context');
});

pages.test('a worker that the browser does not start', async () => {
  const page = await pages.open();
  await page.evaluate(() => {
    globalThis.Worker = function refuse() {
      throw new DOMException('the script is of another origin', 'SecurityError');
    } as unknown as typeof Worker;
  });
  expect(await problem(page)).toMatch(
    /^unsupported: the worker engine-worker .*of another origin.*dist\/browser/,
  );
  await page.evaluate(() => void Reflect.deleteProperty(globalThis, 'Worker'));
  expect(await problem(page)).toMatch(/^unsupported: dedicated workers/);
});

pages.test('a worker that dies fails its requests', async () => {
  patchWorker("new BroadcastChannel('end').onmessage = () => { throw new Error('worn out'); }");
  const page = await pages.open();
  const failed = await page.evaluate(async () => {
    const files = await shippedFiles('small-chat');
    const model = await svc.openTextModel({ model: files, contextLength: 2048 });
    const events = model.generate({ prompt: { text: 'One' }, maxTokens: 2000, ignoreEos: true });
    await events.next();
    new BroadcastChannel('end').postMessage(null);
    try {
      for await (const event of events) void event;
      return 'the reply ended';
    } catch (error) {
      return (error as Error).message;
    }
  });
  expect(failed).toContain('worn out');
});

pages.test('a worker that the browser ends without an error event fails what waits for it', async () => {
  // Not before it has told the page of the lock by which the page learns of its end.
  patchWorker(`const post = self.postMessage;
    self.postMessage = function (message, ...more) {
      post.call(self, message, ...more);
      if (message.lifeLock) setTimeout(() => self.close(), 300);
    };`);
  const page = await pages.open();
  const failed = await page.evaluate(async () => {
    const model = [{ name: 'config.json', size: 9, read: () => new Promise<never>(() => {}) }];
    return svc.openTextModel({ model }).catch((error: Error) => error.message);
  });
  expect(failed).toMatch(/the browser has ended it; open the model again/);
});

/** Opens a model and closes it. */
function openSmall(page: Page): Promise<string> {
  return page.evaluate(async () => {
    try {
      const model = await svc.openTextModel({ model: await shippedFiles('small-chat'), contextLength: 64 });
      await model.close();
      return 'opened';
    } catch (error) {
      const { code, message } = error as { code: string; message: string };
      return `${code}: ${message}`;
    }
  });
}
