// Preload script of the app's windows: gives their pages `window.svcEngine`, and nothing else of Electron. The type of that object is WindowEngine.

import { contextBridge, ipcRenderer } from 'electron';
import type { Port } from '../engine/session/port.ts';
import { portOfEnd } from '../engine/session/thread-browser.ts';
import { windowCalls } from './window-calls.ts';
import { installFace } from './window-face.ts';
import { WINDOW_CHANNEL, type WindowMessage } from './wire.ts';

export type { InWindow, WindowEngine } from './window-face.ts';
export type * from '../model-types.ts';

contextBridge.executeInMainWorld({ func: installFace, args: [windowCalls(connect)] });

/** Sends a message to the main process, with one end of a channel; returns the other. */
function connect(message: WindowMessage): Port {
  const { port1, port2 } = new MessageChannel();
  ipcRenderer.postMessage(WINDOW_CHANNEL, message, [port2]);
  const port = portOfEnd(port1);
  return {
    ...port,
    onMessage(listener) {
      port.onMessage(listener);
      port1.start();
    },
    end: () => port1.close(),
  };
}
