// Run lengths of BMP files: pairs of a count and a value, and escapes for ends of rows, for jumps, and for values that differ.

/** Compression → bits of a pixel. */
export const RUN_BITS: ReadonlyMap<number, number> = new Map([
  [1, 8],
  [2, 4],
]);

const [END_OF_ROW, END_OF_IMAGE, JUMP] = [0, 1, 2];
const TOO_SHORT = 'the BMP ends before its last pixel';

/** Returns a byte for each pixel, rows as they are stored. Pixels that the file jumps over are 0. Throws an Error where it ends early. */
export function decodeRuns(
  file: Uint8Array,
  { width, height, bits }: { width: number; height: number; bits: number },
): Uint8Array {
  const pixels = new Uint8Array(width * height);
  const valueAt = (byte: number, at: number): number =>
    bits === 8 ? byte : at % 2 === 0 ? byte >> 4 : byte & 15;
  let [x, y, from] = [0, 0, 0];
  /** Values beyond the end of a row are dropped, and take no time: a small file may state very many. */
  const put = (count: number, valueOf: (at: number) => number): void => {
    const kept = Math.min(count, width - x);
    for (let i = 0; i < kept; i++) pixels[width * y + x + i] = valueOf(i);
    x += count;
  };
  const next = (): number => {
    const byte = file[from++];
    if (byte === undefined) throw new Error(TOO_SHORT);
    return byte;
  };
  // A row that is full ends by itself where the image does: programs leave out the last escapes.
  while (y < height && !(y === height - 1 && x >= width)) {
    const count = next();
    const code = next();
    if (count > 0) {
      put(count, (i) => valueAt(code, i));
    } else if (code === END_OF_ROW) {
      [x, y] = [0, y + 1];
    } else if (code === END_OF_IMAGE) {
      break;
    } else if (code === JUMP) {
      x += next();
      y += next();
    } else {
      const length = bits === 8 ? code : Math.ceil(code / 2);
      if (from + length > file.length) throw new Error(TOO_SHORT);
      put(code, (i) => valueAt(file[from + (bits === 8 ? i : i >> 1)]!, i));
      // Values without runs are padded to an even number of bytes.
      from += length + (length % 2);
    }
  }
  return pixels;
}
