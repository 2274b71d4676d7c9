// Preload script of the app's windows: gives their pages `window.svcEngine`, and nothing else of Electron. The type of that object is WindowEngine.

import { contextBridge, ipcRenderer } from 'electron';
import { type EngineError, unsupported } from '../../files/error.ts';
import type { Port } from '../../engine/platform/port.ts';
import { portOfEnd } from '../page/thread.ts';
import { windowCalls } from './window-calls.ts';
import { installFace } from './window-face.ts';
import { WINDOW_CHANNEL, type WindowMessage } from './wire.ts';

export type { InWindow, WindowEngine } from './window-face.ts';
export type * from '../../model-types.ts';

contextBridge.executeInMainWorld({ func: installFace, args: [windowCalls(connect)] });

/** Sends a message to the main process, with one end of a channel; returns the other. */
function connect(message: WindowMessage): Port {
  const { port1, port2 } = new MessageChannel();
  const lost: ((error: Error) => void)[] = [];
  // Electron drops a message that nobody listens for, but answers a call that nobody handles.
  ipcRenderer.invoke(WINDOW_CHANNEL).then(
    () => ipcRenderer.postMessage(WINDOW_CHANNEL, message, [port2]),
    (cause: unknown) => lost.forEach((listener) => listener(noEngine(cause))),
  );
  const port = portOfEnd(port1);
  return {
    ...port,
    onMessage(listener) {
      port.onMessage(listener);
      port1.start();
    },
    onLost: (listener) => void lost.push(listener),
    end: () => port1.close(),
  };
}

function noEngine(cause: unknown): EngineError {
  return unsupported(
    "the app's main process has no engine: import svc-engine/electron/main at the top of its main module",
    undefined,
    cause,
  );
}
