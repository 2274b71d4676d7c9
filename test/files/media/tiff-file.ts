// TIFF files whose pixels have more channels than libvips writes.

/** What the first channels mean. */
export const PHOTOMETRIC = { grey: 1, rgb: 2, cmyk: 5 };
/** What a channel behind the colours means. */
export const EXTRA = { nothing: 0, alpha: 2 };

const [SHORT, LONG] = [3, 4] as const;

/** An uncompressed file of one strip with 8 bits a channel. `extra`: the channels behind the colours. */
export function tiffFile(
  { width, height }: { width: number; height: number },
  photometric: number,
  extra: readonly number[],
  data: readonly number[],
): Uint8Array {
  const channels = data.length / (width * height);
  const entries: (readonly [tag: number, type: typeof SHORT | typeof LONG, values: readonly number[]])[] = [
    [256, LONG, [width]],
    [257, LONG, [height]],
    [258, SHORT, Array<number>(channels).fill(8)],
    [259, SHORT, [1]],
    [262, SHORT, [photometric]],
    [273, LONG, [0]],
    [277, SHORT, [channels]],
    [278, LONG, [height]],
    [279, LONG, [data.length]],
    [284, SHORT, [1]],
    ...(extra.length > 0 ? [[338, SHORT, extra] as const] : []),
  ];
  const listed = Buffer.alloc(14 + 12 * entries.length);
  listed.write('II*\0', 'latin1');
  listed.writeUInt32LE(8, 4);
  listed.writeUInt16LE(entries.length, 8);
  const long = Buffer.alloc(2 * channels + 2 * extra.length);
  let used = 0;
  for (const [i, [tag, type, values]] of entries.entries()) {
    const at = 10 + 12 * i;
    listed.writeUInt16LE(tag, at);
    listed.writeUInt16LE(type, at + 2);
    listed.writeUInt32LE(values.length, at + 4);
    if (tag === 273) listed.writeUInt32LE(listed.length + long.length, at + 8);
    else if (type === LONG) listed.writeUInt32LE(values[0]!, at + 8);
    else if (values.length <= 2) values.forEach((value, j) => listed.writeUInt16LE(value, at + 8 + 2 * j));
    else {
      listed.writeUInt32LE(listed.length + used, at + 8);
      for (const value of values) used = long.writeUInt16LE(value, used);
    }
  }
  return Buffer.concat([listed, long, Uint8Array.from(data)]);
}
