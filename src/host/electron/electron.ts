// Everything that the main process takes from Electron: the engine's hidden window and its scheme, ports, messages of the app's windows, and
// the end of the app. Importing this file registers the scheme, which Electron allows only before the app is ready.

import {
  app,
  BrowserWindow,
  ipcMain,
  MessageChannelMain,
  protocol,
  session,
  type MessagePortMain,
} from 'electron';
import { fileURLToPath } from 'node:url';
import { badRequest, EngineError, internalError } from '../../files/error.ts';
import { withResolvers, type PromiseWithResolvers } from '../../engine/async/resolvers.ts';
import type { Port } from '../../engine/platform/port.ts';
import {
  PAGE_CHANNEL,
  PAGE_URL,
  SCHEME,
  WINDOW_CHANNEL,
  type PageMessage,
  type WindowMessage,
} from './wire.ts';

const PRIVILEGED = {
  scheme: SCHEME,
  privileges: { standard: true, secure: true, supportFetchAPI: true, stream: true },
};

/** Session of the engine's window: windows of the app cannot read the scheme, and their handlers of requests do not concern it. */
const PARTITION = 'persist:svc-engine';

registerScheme();

/** A second call of registerSchemesAsPrivileged replaces the schemes of the first one, so that calls of the app have to repeat this one. */
function registerScheme(): void {
  if (app.isReady())
    throw badRequest(
      'svc-engine/electron/main was imported after the app was ready, too late to register its scheme: import it at the top of the main module',
    );
  const register = protocol.registerSchemesAsPrivileged.bind(protocol);
  register([PRIVILEGED]);
  protocol.registerSchemesAsPrivileged = (schemes) => register([PRIVILEGED, ...schemes]);
}

/** The engine's hidden window. */
export interface EnginePage {
  post(message: PageMessage, ports?: readonly MessagePortMain[]): void;
  /** Calls `listener` once, with the reason, when the window or its process has ended. */
  onGone(listener: (reason: string) => void): void;
  destroy(): void;
}

let isServed = false;

/** Opens the engine's hidden window. `answer` serves its scheme. Throws internal. */
export async function openEnginePage(answer: (request: Request) => Promise<Response>): Promise<EnginePage> {
  await app.whenReady();
  const own = session.fromPartition(PARTITION);
  if (!isServed) own.protocol.handle(SCHEME, answer);
  isServed = true;
  const window = new BrowserWindow({
    show: false,
    webPreferences: {
      preload: fileURLToPath(new URL('../../browser/electron-engine-preload.cjs', import.meta.url)),
      session: own,
      sandbox: true,
      contextIsolation: true,
      nodeIntegration: false,
      backgroundThrottling: false,
    },
  });
  engineWindows.add(window);
  window.once('closed', () => engineWindows.delete(window));
  const { webContents } = window;
  webContents.setWindowOpenHandler(() => ({ action: 'deny' }));
  webContents.on('will-navigate', (event) => event.preventDefault());
  const gone = new Promise<string>((resolve) => {
    webContents.once('render-process-gone', (_event, { reason }) => resolve(reason));
    window.once('closed', () => resolve('closed'));
  });
  const destroy = (): void => {
    if (!window.isDestroyed()) window.destroy();
  };
  try {
    await Promise.race([loadPage(window), gone.then(notOpened)]);
  } catch (error) {
    destroy();
    throw error;
  }
  return {
    post: (message, ports = []) => webContents.postMessage(PAGE_CHANNEL, message, [...ports]),
    onGone: (listener) => void gone.then(listener),
    destroy,
  };
}

/** Throws internal if the page does not run. Neither promise of Electron settles where the window's process ends meanwhile. */
async function loadPage(window: BrowserWindow): Promise<void> {
  try {
    await window.loadURL(PAGE_URL);
    const isReady: unknown = await window.webContents.executeJavaScript(
      "document.documentElement.dataset.engine === 'ready'",
    );
    if (isReady !== true) throw new Error('its script did not run');
  } catch (cause) {
    const reason = cause instanceof Error ? cause.message : String(cause);
    throw internalError(
      `the engine's window could not be opened (${reason}): install svc-engine again`,
      undefined,
      cause,
    );
  }
}

function notOpened(reason: string): never {
  throw new EngineError(
    'device_lost',
    `the process of the engine's window ended while it was opened (${reason}): open the model again`,
  );
}

/** Two connected ports: one as the engine uses it, one to be sent to a window. */
export function makePorts(): { near: Port; far: MessagePortMain } {
  const { port1, port2 } = new MessageChannelMain();
  return { near: portOf(port1), far: port2 };
}

function portOf(end: MessagePortMain): Port {
  return {
    post: (message) => end.postMessage(message),
    onMessage(listener) {
      end.on('message', ({ data }) => listener(data));
      end.start();
    },
    onLost: (listener) =>
      void end.on('close', () =>
        listener(new EngineError('cancelled', 'the other end of a port was closed')),
      ),
    end: () => end.close(),
  };
}

/** Calls `listener` for each message of a window's preload script, with the port that it brings. */
export function onWindowMessage(listener: (message: WindowMessage, port: Port) => void): void {
  ipcMain.handle(WINDOW_CHANNEL, () => true);
  ipcMain.on(WINDOW_CHANNEL, ({ ports }, message: WindowMessage) => {
    if (ports[0]) listener(message, portOf(ports[0]));
  });
}

const engineWindows = new Set<BrowserWindow>();

/** Whether the app quits, while that is undecided: a window can still prevent it. */
let quitting: PromiseWithResolvers<void> | null = null;

app.on('before-quit', () => {
  quitting ??= withResolvers<void>();
  quitting.promise.catch(() => {});
});
app.on('will-quit', (event) => {
  const decide = (): void => {
    if (event.defaultPrevented) stay();
    else quitting?.reject(new EngineError('cancelled', 'the app quits'));
  };
  setImmediate(decide); // after the listeners of the app
});

function stay(): void {
  quitting?.resolve();
  quitting = null;
}

/** Resolves when the app does not quit, which is known at once unless it has begun to. Throws cancelled if it quits. */
export async function unlessQuitting(): Promise<void> {
  await quitting?.promise;
}

app.on('browser-window-created', (_event, window) => {
  // Listeners of the app, which come later, decide whether a window stays open.
  const watch = (event: { readonly defaultPrevented: boolean }, staysIf: boolean): void =>
    void setImmediate(() => event.defaultPrevented === staysIf && stay());
  window.on('close', (event) => watch(event, true));
  window.webContents.on('will-prevent-unload', (event) => watch(event, false));
  window.once('closed', () => {
    const others = BrowserWindow.getAllWindows().filter((one) => one !== window && !engineWindows.has(one));
    const isLast = others.length === 0 && !engineWindows.has(window) && engineWindows.size > 0;
    // The hidden window keeps Electron from emitting it.
    if (isLast && !quitting) app.emit('window-all-closed');
  });
});

/** Calls `listener` when the app ends. */
export function onQuit(listener: () => void): void {
  app.on('will-quit', listener);
}
