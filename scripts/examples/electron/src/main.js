// An Electron app with a chat and images. The engine runs in a hidden window that svc-engine/electron/main opens; the windows of the app use it
// through `svcEngine`, which the preload script gives them.
// The folder has the layout of electron-forge:   npm install && npm start

import { app, BrowserWindow } from 'electron';
import { fileURLToPath } from 'node:url';
import { adapters } from 'svc-engine/electron/main'; // before the app is ready, because it registers a scheme

/** @param {string} name */
const here = (name) => fileURLToPath(new URL(name, import.meta.url));
const preload = fileURLToPath(import.meta.resolve('svc-engine/electron/preload'));

// Chromium turns WebGPU on by itself on some GPUs of Linux only.
if (process.platform === 'linux') app.commandLine.appendSwitch('enable-unsafe-webgpu');

function openWindow() {
  const window = new BrowserWindow({ width: 900, height: 700, webPreferences: { preload } });
  window.setMenuBarVisibility(false);
  void window.loadFile(here('index.html'));
}

app.on('activate', () => {
  if (BrowserWindow.getAllWindows().every((window) => !window.isVisible())) openWindow();
});

// Electron is ready only after this module has run, so that nothing here may wait for it.
void app.whenReady().then(async () => {
  openWindow();
  for (const { description, vendor } of await adapters())
    console.log(`GPU adapter: ${description || vendor}`);
});
