// Media that are judged by their first bytes.

import { describe, expect, it } from 'vitest';
import { eventually } from '../harness.ts';
import { open, type Refused, serveFiles, user } from './media-harness.ts';

const files = serveFiles();

describe('requests for media', () => {
  it.each([
    [
      'a page as an image',
      '/page',
      (url: string) => ({ type: 'image_url', image_url: { url } }),
      'image_url.url cannot be read as an image (HTML or XML); give PNG, JPEG, WebP, GIF, TIFF',
    ],
    [
      'a sound as an image',
      '/sound',
      (url: string) => ({ type: 'image_url', image_url: { url } }),
      'image_url.url is a WAV file, a sound and not an image; give PNG, JPEG, WebP, GIF, TIFF',
    ],
    [
      'a page as a file',
      '/page',
      (url: string) => ({ type: 'file', file: { file_data: url } }),
      'file.file_data is not an image, video or sound of a format that is read',
    ],
  ])('refuse %s by its first bytes, and do not wait for the rest', async (_, path, part, message) => {
    const { send, model } = await open();
    // The reply of that server never ends.
    const { status, body } = await send('/v1/chat/completions', user([part(files.origin + path)]));
    expect(status).toBe(400);
    expect((body as unknown as Refused).error.message).toContain(`messages.0.content.0.${message}`);
    await eventually(() => files.left === 1, 'the connection is closed');
    expect(model.requests).toEqual([]);
  });
});
