// A stand-in for Electron's main process: its classes over real message ports, with the engine's page in headless Chromium. Windows of the app
// are in app-window.ts.

import { EventEmitter, once } from 'node:events';
import { readFileSync } from 'node:fs';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { MessageChannel, type MessagePort } from 'node:worker_threads';
import type { Page } from 'playwright-core';
import type { Pages } from '../../browser/chromium.ts';

type Handler = (request: Request) => Promise<Response>;

/** Path below which the server of the pages answers for the scheme. */
const PREFIX = '/electron/';

/** A port of the main process: messages wait until it is started. */
export class PortMain extends EventEmitter {
  readonly port: MessagePort;

  constructor(port: MessagePort) {
    super();
    this.port = port;
    port.once('close', () => this.emit('close'));
  }

  start(): void {
    this.port.on('message', (data: unknown) => this.emit('message', { data, ports: [] }));
  }

  postMessage(message: unknown): void {
    this.port.postMessage(message);
  }

  close(): void {
    this.port.close();
  }
}

class ChannelMain {
  readonly port1: PortMain;
  readonly port2: PortMain;

  constructor() {
    const { port1, port2 } = new MessageChannel();
    [this.port1, this.port2] = [new PortMain(port1), new PortMain(port2)];
  }
}

/** Schemes registered as privileged, as the last call states them. */
export const schemes: { scheme: string; privileges: Record<string, boolean> }[] = [];
export const handlers = new Map<string, Handler>();
/** All windows that were opened, also those that are gone. */
export const windows: WindowMain[] = [];
export const app = Object.assign(new EventEmitter(), {
  isReady: () => false,
  whenReady: async () => {},
  quit: () => quit(),
});
/** Channels whose calls the main process answers. */
export const called = new Map<string, () => unknown>();
export const ipcMain = Object.assign(new EventEmitter(), {
  handle: (channel: string, answer: () => unknown) => void called.set(channel, answer),
});

let pages: Pages | null = null;

/** Lets windows open in a browser. */
export function usePagesOf(opened: Pages): void {
  pages = opened;
  opened.route(PREFIX, answer);
}

/** Ends the app as Electron does: the windows are closed, unless one of them prevents it, then the app quits. */
function quit(): void {
  app.emit('before-quit');
  for (const window of WindowMain.getAllWindows()) window.close();
  if (WindowMain.getAllWindows().length === 0) app.emit('will-quit', { defaultPrevented: false });
}

async function answer(incoming: IncomingMessage, response: ServerResponse): Promise<void> {
  const { method = 'GET', headers } = incoming;
  const url = `svc-engine://engine/${incoming.url!.slice(PREFIX.length)}`;
  const range: [string, string][] = headers.range === undefined ? [] : [['range', headers.range]];
  const answered = await handlers.get('svc-engine')!(new Request(url, { method, headers: range }));
  response.writeHead(answered.status, Object.fromEntries(answered.headers));
  if (!answered.body) return void response.end();
  await pipeline(Readable.fromWeb(answered.body as never), response).catch(() => {}); // the page may stop reading
}

/** What a preload script sees in the page: listeners of channels, and ports that lead to the main process. */
const PRELOAD = `(() => {
  const ports = new Map(), listeners = new Map();
  window.standIn = {
    deliver(channel, message, ids) {
      const far = ids.map((id) => {
        const { port1, port2 } = new MessageChannel();
        port1.onmessage = ({ data }) => window.toMain(id, data);
        ports.set(id, port1);
        return port2;
      });
      listeners.get(channel)({ ports: far }, message);
    },
    post: (id, message) => ports.get(id).postMessage(message),
  };
  const require = () => ({ ipcRenderer: { on: (channel, listener) => listeners.set(channel, listener) } });
  const module = { exports: {} };
  CODE
})()`;

declare const standIn: {
  deliver(channel: string, message: unknown, ids: number[]): void;
  post(id: number, message: unknown): void;
};

interface WindowOptions {
  show: boolean;
  webPreferences: Record<string, unknown> & { preload: string };
}

/** A window of the engine, which is a page in Chromium. */
export class WindowMain extends EventEmitter {
  readonly options: WindowOptions;
  readonly webContents: WebContents;
  page: Page | null = null;
  #isDestroyed = false;

  constructor(options: WindowOptions) {
    super();
    this.options = options;
    this.webContents = new WebContents(this);
    windows.push(this);
    app.emit('browser-window-created', {}, this);
  }

  static getAllWindows(): WindowMain[] {
    return windows.filter((window) => !window.isDestroyed());
  }

  isDestroyed(): boolean {
    return this.#isDestroyed;
  }

  destroy(): void {
    if (this.#isDestroyed) return;
    this.#isDestroyed = true;
    this.webContents.disconnect();
    void this.page?.close().catch(() => {});
    this.emit('closed');
  }

  close(): void {
    const event = { defaultPrevented: false, preventDefault: () => (event.defaultPrevented = true) };
    this.emit('close', event);
    if (!event.defaultPrevented) this.destroy();
  }

  async loadURL(url: string): Promise<void> {
    const page = (this.page = await pages!.open());
    page.on('crash', () => {
      this.webContents.disconnect();
      this.webContents.emit('render-process-gone', {}, { reason: 'crashed', exitCode: 5 });
    });
    page.on('close', () => this.destroy());
    await page.exposeFunction('toMain', (id: number, data: unknown) => this.webContents.receive(id, data));
    const code = readFileSync(this.options.webPreferences.preload, 'utf8');
    await page.addInitScript({ content: PRELOAD.replace('CODE', () => code) });
    await page.goto(pages!.url.replace(/\/$/, PREFIX) + new URL(url).pathname.slice(1));
  }

  /** Crashes the process of the page. */
  async crash(): Promise<void> {
    const crashed = once(this.webContents, 'render-process-gone');
    void this.page!.goto('chrome://crash').catch(() => {});
    await crashed;
  }
}

class WebContents extends EventEmitter {
  readonly #window: WindowMain;
  readonly #ports = new Map<number, MessagePort>();
  /** Messages go to the page one after another. */
  #sent: Promise<unknown> = Promise.resolve();
  #nextId = 0;

  constructor(window: WindowMain) {
    super();
    this.#window = window;
  }

  setWindowOpenHandler(): void {}

  executeJavaScript(code: string): Promise<unknown> {
    return this.#window.page!.evaluate(code);
  }

  postMessage(channel: string, message: unknown, transferred: readonly PortMain[] = []): void {
    const ids = transferred.map(({ port }) => {
      const id = this.#nextId++;
      this.#ports.set(id, port);
      port.on('message', (data: unknown) =>
        this.#send((given: [number, unknown]) => standIn.post(...given), [id, data] as [number, unknown]),
      );
      return id;
    });
    const given: [string, unknown, number[]] = [channel, message, ids];
    this.#send((sent: [string, unknown, number[]]) => standIn.deliver(...sent), given);
  }

  receive(id: number, data: unknown): void {
    this.#ports.get(id)?.postMessage(data);
  }

  /** Closes all ports, as the end of a process does. */
  disconnect(): void {
    for (const port of this.#ports.values()) port.close();
    this.#ports.clear();
  }

  #send<T>(run: (given: T) => void, given: T): void {
    this.#sent = this.#sent.then(() => this.#window.page!.evaluate(run as never, given)).catch(() => {});
  }
}

export { ChannelMain as MessageChannelMain, WindowMain as BrowserWindow };

export const protocol = {
  registerSchemesAsPrivileged(given: typeof schemes): void {
    schemes.splice(0, schemes.length, ...given);
  },
};

export const session = {
  fromPartition: () => ({
    protocol: { handle: (scheme: string, handler: Handler) => void handlers.set(scheme, handler) },
  }),
};
