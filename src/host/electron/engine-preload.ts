// Preload script of the engine's hidden window: passes messages of the main process, with their ports, on to the page.

import { ipcRenderer } from 'electron';
import { PAGE_CHANNEL } from './wire.ts';

ipcRenderer.on(PAGE_CHANNEL, ({ ports }, message: unknown) => {
  window.postMessage(message, { targetOrigin: '*', transfer: [...ports] });
});
