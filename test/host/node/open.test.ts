// The face in Node, inside Electron: it refuses before Dawn's binding is loaded.

import { afterAll, beforeAll, expect, test, vi } from 'vitest';
import { adapters, openImageModel, openTextModel, probeAdapter } from '../../../src/host/node/open.ts';

let isLoaded = false;
vi.mock('webgpu', () => {
  isLoaded = true;
  throw new Error('the binding was loaded');
});

beforeAll(
  () => void Object.defineProperty(process.versions, 'electron', { value: '45.4.1', configurable: true }),
);
afterAll(() => void Reflect.deleteProperty(process.versions, 'electron'));

test.each([
  ['openTextModel', () => openTextModel({ model: 'svc-chat-mini' })],
  ['openTextModel, inline', () => openTextModel({ model: 'svc-chat-mini', inline: true })],
  ['openImageModel', () => openImageModel({ model: 'svc-scenes-mini' })],
  ['adapters', () => adapters()],
  ['probeAdapter', () => probeAdapter()],
])('the error of %s inside Electron names the import to use', async (_name, use) => {
  await expect(use()).rejects.toMatchObject({
    code: 'unsupported',
    message: expect.stringMatching(
      /^inside Electron .* use svc-engine\/electron\/main .* in place of svc-engine$/,
    ),
  });
  expect(isLoaded).toBe(false);
});
