// Decoders of media files in a page.

import { unsupported } from '../error.ts';
import { checkedBmpHeader, isBmp } from '../image/bmp.ts';
import { readHeader } from '../image/image-header.ts';
import type { MediaDecoders } from '../media/decoders.ts';
import { checkBound } from '../media/media-error.ts';
import { fileText } from '../media/media-nouns.ts';
import { soundReader } from '../media/sound-reader.ts';
import { decodeColours, decodeOverWhite } from './image.ts';

export const PAGE_DECODERS: MediaDecoders = {
  async image(bytes, name, { bounds, alpha, signal }) {
    const check = ({ width, height }: { width: number; height: number }): void => {
      signal?.throwIfAborted();
      const size = `is an image of ${width} × ${height} pixels`;
      checkBound(name, bounds, 'maxImagePixels', width * height, size);
    };
    const header = isBmp(bytes) ? checkedBmpHeader(bytes, name) : readHeader(bytes);
    if (header !== null && typeof header === 'object') check(header);
    const pixels = await (alpha === 'white' ? decodeOverWhite : decodeColours)(bytes, name);
    check(pixels);
    return pixels;
  },
  video: async (_, name) => {
    throw unsupported(`${name} is a video, which pages do not decode: send its frames`, name);
  },
  audio: soundReader(async (_, name, format) => {
    throw unsupported(
      `${name} is ${fileText(format)}, which pages do not decode: give WAV, MP3, FLAC or Ogg`,
      name,
    );
  }),
};
