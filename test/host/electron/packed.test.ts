// The package as npm packs it, in the layout of a packaged app: every file that the main process, the page and the preload scripts refer to is
// there, and Dawn's binding is not loaded. A small stand-in for Electron runs in a process of its own.

import { spawnSync } from 'node:child_process';
import {
  mkdirSync,
  mkdtempSync,
  readFileSync,
  realpathSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { afterAll, expect, test } from 'vitest';
import { npm, root } from '../../../scripts/setup/packages.mjs';

const manifest = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8')) as { dependencies: object };

/** Dawn's binding is left out: inside Electron nothing may load it. */
const INSTALLED = Object.keys(manifest.dependencies).filter((name) => name !== 'webgpu');

const ELECTRON = `
import { EventEmitter } from 'node:events';
import { MessageChannel } from 'node:worker_threads';
const opened = (globalThis.opened = { schemes: [], windows: [], messages: [], handlers: {} });
class Port extends EventEmitter {
  constructor(port) { super(); this.port = port; }
  start() { this.port.on('message', (data) => this.emit('message', { data })); }
  postMessage(message) { this.port.postMessage(message); }
  close() { this.port.close(); }
}
export class MessageChannelMain {
  constructor() {
    const { port1, port2 } = new MessageChannel();
    [this.port1, this.port2] = [new Port(port1), new Port(port2)];
  }
}
export class BrowserWindow extends EventEmitter {
  constructor(options) {
    super();
    opened.windows.push(options);
    this.webContents = Object.assign(new EventEmitter(), {
      setWindowOpenHandler() {},
      executeJavaScript: async () => true,
      postMessage: (channel, message, ports) => opened.messages.push({ channel, message, ports }),
    });
  }
  static getAllWindows() { return []; }
  async loadURL(url) { opened.url = url; }
  isDestroyed() { return false; }
  destroy() {}
}
export const app = Object.assign(new EventEmitter(), { isReady: () => false, whenReady: async () => {} });
export const ipcMain = Object.assign(new EventEmitter(), { handle() {} });
export const protocol = { registerSchemesAsPrivileged: (schemes) => { opened.schemes = schemes; } };
export const session = {
  fromPartition: () => ({ protocol: { handle: (scheme, handler) => { opened.handlers[scheme] = handler; } } }),
};`;

/** Opens a model, answers for the worker, and follows the page's files from its address on. */
const APP = `
import { existsSync, readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { fileURLToPath } from 'node:url';
Object.defineProperty(process.versions, 'electron', { value: '45.4.1' });
const { openTextModel } = await import('svc-engine/electron/main');
const required = createRequire(import.meta.url)('svc-engine/electron/main');
void openTextModel({ model: 'svc-chat-mini' });
while (opened.messages.length === 0) await new Promise((resolve) => setTimeout(resolve, 5));
const [, calls] = opened.messages[0].ports;
const call = (name, ...given) => new Promise((resolve) => {
  calls.port.once('message', ({ value, error }) => resolve(error ?? value));
  calls.port.postMessage({ type: 'call', id: 0, name, given });
});
const { path } = await call('resolveModel', 0, 'svc-chat-mini', { inspects: false });
const { folder } = await call('openFolder', path);
const { size } = await call('openFile', folder, 'model.safetensors');
const found = {}, missing = [];
const follow = async (url) => {
  if (url in found) return;
  const response = await opened.handlers['svc-engine'](new Request(url));
  const text = (found[url] = await response.text());
  if (response.status !== 200 || text === '') missing.push(url);
  const names = /(?:src=|from|import|import\\(|new URL\\()\\s*["']((?:\\.\\/)?[\\w-]+\\.js)["']/g;
  for (const [, name] of text.matchAll(names)) await follow(new URL(name, url).href);
};
await follow(opened.url);
const preloads = [opened.windows[0].webPreferences.preload, fileURLToPath(import.meta.resolve('svc-engine/electron/preload'))];
const node = await import('svc-engine').then((face) => face.openTextModel({ model: 'x' })).catch((error) => error.message);
console.log(JSON.stringify({
  schemes: opened.schemes, preferences: opened.windows[0], path, size, missing, node, isRequired: required.openTextModel === openTextModel,
  files: Object.keys(found).map((url) => url.split('/').at(-1)),
  preloads: preloads.map((file) => existsSync(file) && readFileSync(file, 'utf8')),
}));
process.exit();`;

/** The output of the app. */
interface Seen {
  files: string[];
  preloads: string[];
  size: number;
  schemes: unknown;
  preferences: unknown;
  node: string;
}

const folder = realpathSync(mkdtempSync(join(tmpdir(), 'svc-packed-')));
afterAll(() => rmSync(folder, { recursive: true }));
const app = join(folder, 'resources', 'app.asar');
const installed = join(app, 'node_modules', 'svc-engine');

function write(path: string, text: string): void {
  mkdirSync(dirname(join(app, path)), { recursive: true });
  writeFileSync(join(app, path), text);
}

function installPackage(): void {
  const options = { cwd: root, encoding: 'utf8' as const };
  const { stdout, status, stderr } = npm(
    ['pack', '--json', '--silent', `--pack-destination=${folder}`],
    options,
  );
  if (status !== 0) throw new Error(stderr);
  const [{ filename }] = JSON.parse(stdout) as [{ filename: string }];
  mkdirSync(installed, { recursive: true });
  spawnSync('tar', ['-xzf', join(folder, filename), '-C', installed, '--strip-components=1']);
  for (const name of INSTALLED) {
    mkdirSync(dirname(join(app, 'node_modules', name)), { recursive: true });
    symlinkSync(join(root, 'node_modules', name), join(app, 'node_modules', name), 'junction');
  }
}

test('all files of a packaged app are found in it', () => {
  installPackage();
  write('package.json', '{"type":"module"}');
  write('node_modules/electron/package.json', '{"type":"module","exports":"./index.js"}');
  write('node_modules/electron/index.js', ELECTRON);
  write('main.js', APP);
  const { stdout, stderr } = spawnSync(process.execPath, ['main.js'], {
    cwd: app,
    encoding: 'utf8',
    timeout: 30_000,
  });
  const seen = JSON.parse(stdout.trim() || JSON.stringify({ stderr })) as Seen;
  expect(seen).toMatchObject({
    missing: [],
    isRequired: true,
    path: join(installed, 'models', 'svc-chat-mini'),
  });
  expect(seen.size).toBeGreaterThan(1e6);
  expect(seen.files).toEqual(
    expect.arrayContaining(['index.html', 'electron-page.js', 'electron-worker.js']),
  );
  expect(seen.files.some((name) => name.startsWith('shared-'))).toBe(true);
  expect(seen.schemes).toEqual([
    {
      scheme: 'svc-engine',
      privileges: { standard: true, secure: true, supportFetchAPI: true, stream: true },
    },
  ]);
  expect(seen.preferences).toMatchObject({
    show: false,
    webPreferences: {
      sandbox: true,
      contextIsolation: true,
      nodeIntegration: false,
      backgroundThrottling: false,
    },
  });
  for (const code of seen.preloads) {
    expect([...code.matchAll(/\brequire\("([^"]*)"\)/g)].map(([, name]) => name)).toEqual(['electron']);
    expect(code).not.toMatch(/\bimport\s*[({"']|\bexport\s/);
  }
  expect(seen.node).toMatch(/use svc-engine\/electron\/main/);
});
