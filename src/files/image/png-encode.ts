// PNG files of 8-bit RGB where there is no libvips. Canvases are not used, because a browser that resists fingerprinting changes the
// pixels that it reads from them.

import { concatBytes, latin1Bytes, PNG_SIGNATURE, pngChunk, uint32 } from './file-parts.ts';
import type { Pixels } from './pixels.ts';

/** 8 bits, RGB, and the only methods of compression, filtering and interlacing. */
const RGB = Uint8Array.of(8, 2, 0, 0, 0);

/** Encodes an image without loss; rows are not filtered, as libvips writes them. */
export async function encodePng({ width, height, data }: Pixels): Promise<Uint8Array> {
  const line = 3 * width;
  const rows = new Uint8Array((line + 1) * height);
  for (let y = 0; y < height; y++) rows.set(data.subarray(y * line, (y + 1) * line), y * (line + 1) + 1);
  const deflated = new Blob([rows]).stream().pipeThrough(new CompressionStream('deflate'));
  return concatBytes(
    latin1Bytes(PNG_SIGNATURE),
    pngChunk('IHDR', concatBytes(uint32(width), uint32(height), RGB)),
    pngChunk('IDAT', new Uint8Array(await new Response(deflated).arrayBuffer())),
    pngChunk('IEND', new Uint8Array(0)),
  );
}
