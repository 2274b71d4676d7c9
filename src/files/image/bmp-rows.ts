// Rows of BMP files as RGBA: numbers of colours, and colours in fields of a pixel.

/** The lowest bit of a mask of up to 32 bits, as a number. */
export const lowest = (mask: number): number => (mask & -mask) >>> 0;

/** Writes the pixels of a stored row. */
type DecodeRow = (stored: Uint8Array, rgba: Uint8Array) => void;

/** Rows of numbers of colours in the palette; the first pixel of a byte is its highest bits. */
export function indexRows(
  { width, palette }: { width: number; palette: Uint8Array },
  bits: number,
): DecodeRow {
  const perByte = 8 / bits;
  return (stored, rgba) => {
    for (let x = 0; x < width; x++) {
      const byte = stored[Math.floor(x / perByte)]!;
      const index = (byte >> (8 - bits * ((x % perByte) + 1))) & (2 ** bits - 1);
      for (let channel = 0; channel < 3; channel++) rgba[4 * x + channel] = palette[3 * index + channel] ?? 0;
      rgba[4 * x + 3] = 255;
    }
  };
}

/** Rows of colours: fields of a little-endian number, scaled to 8 bits as Pillow does, which cuts the fraction off. */
export function colourRows({
  width,
  bits,
  masks,
}: {
  width: number;
  bits: number;
  masks: readonly number[];
}): DecodeRow {
  const bytes = bits / 8;
  const shifts = masks.map((mask) => lowest(mask || 1));
  const most = masks.map((mask, i) => mask / shifts[i]!);
  if (masks.every((mask, i) => mask === 0 || (most[i] === 255 && BYTES.includes(shifts[i]!))))
    return byteRows(width, bytes, masks);
  return (stored, rgba) => {
    for (let x = 0; x < width; x++) {
      let pixel = 0;
      for (let i = bytes - 1; i >= 0; i--) pixel = pixel * 256 + stored[bytes * x + i]!;
      for (let channel = 0; channel < 4; channel++) {
        const value = ((pixel & masks[channel]!) >>> 0) / shifts[channel]!;
        rgba[4 * x + channel] = masks[channel] === 0 ? 255 : Math.floor((255 * value) / most[channel]!);
      }
    }
  };
}

/** Units of the bytes of a pixel. */
const BYTES = [1, 2 ** 8, 2 ** 16, 2 ** 24];

/** Rows of colours whose fields are whole bytes. */
function byteRows(width: number, bytes: number, masks: readonly number[]): DecodeRow {
  const places = masks.map((mask) => BYTES.indexOf(lowest(mask)));
  return (stored, rgba) => {
    for (let channel = 0; channel < 4; channel++) {
      const place = places[channel]!;
      for (let x = 0; x < width; x++) rgba[4 * x + channel] = place < 0 ? 255 : stored[bytes * x + place]!;
    }
  };
}
