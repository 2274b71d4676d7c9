// A window of an app in the stand-in: the built preload script in this process, and a page that is a context of its own. Values between the two
// are copied as Electron's context bridge copies them.

import { readFileSync } from 'node:fs';
import type { MessagePort } from 'node:worker_threads';
import { createContext, runInContext } from 'node:vm';
import type { WindowEngine } from '../../../src/host/electron/preload.ts';
import { called, ipcMain, PortMain } from './stand-in.ts';

const PRELOAD = new URL('../../../dist/browser/electron-preload.cjs', import.meta.url);

export class AppWindow {
  /** `window.svcEngine` in the page. */
  readonly engine: WindowEngine;
  /** Names of the page's globals that the preload script has added. */
  readonly added: string[];
  readonly #ports: MessagePort[] = [];

  constructor() {
    const page = createContext({ AbortController, Float32Array, Uint8Array });
    const before = new Set(Object.getOwnPropertyNames(page));
    const electron = {
      ipcRenderer: {
        invoke: async (channel: string) => called.get(channel)!(),
        postMessage: (channel: string, message: unknown, [port]: [MessagePort]) => {
          this.#ports.push(port);
          ipcMain.emit(channel, { ports: [new PortMain(port)] }, structuredClone(message));
        },
      },
      contextBridge: {
        executeInMainWorld: ({ func, args = [] }: { func: Function; args?: unknown[] }) => {
          const inPage = runInContext(`(${func.toString()})`, page) as (...given: unknown[]) => unknown;
          return bridged(inPage(...args.map(bridged)));
        },
      },
    };
    const code = readFileSync(PRELOAD, 'utf8');
    // oxlint-disable-next-line typescript/no-implied-eval
    new Function('require', 'module', 'exports', code)(() => electron, { exports: {} }, {});
    this.engine = (page as { svcEngine: WindowEngine }).svcEngine;
    this.added = Object.getOwnPropertyNames(page).filter((name) => !before.has(name));
  }

  /** Closes the window: its process ends, and with it the ports. */
  close(): void {
    for (const port of this.#ports) port.close();
  }
}

/** Copies a value: functions and promises become proxies, errors keep nothing but their message, members without a name are lost. */
function bridged(value: unknown): unknown {
  if (typeof value === 'function') return (...given: unknown[]) => bridged(value(...given.map(bridged)));
  if (typeof value !== 'object' || value === null) return value;
  if (typeof (value as Promise<unknown>).then === 'function')
    return (value as Promise<unknown>).then(bridged, (error: Error) =>
      Promise.reject(new Error(error.message)),
    );
  if (ArrayBuffer.isView(value)) return structuredClone(value);
  if (Array.isArray(value)) return value.map(bridged);
  const prototype = Object.getPrototypeOf(value);
  if (prototype !== null && prototype.constructor.name !== 'Object')
    throw new Error(`An object could not be cloned: ${prototype.constructor.name}`);
  return Object.fromEntries(Object.entries(value).map(([name, one]) => [name, bridged(one)]));
}
