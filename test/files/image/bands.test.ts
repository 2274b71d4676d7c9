import { describe, expect, it } from 'vitest';
import { BAND_PIXELS, convertInBands, pickChannels, type Raster } from '../../../src/files/image/bands.ts';

/** Two whole bands and a part of one, of two channels. */
const width = 1000;
const height = Math.ceil((2.5 * BAND_PIXELS) / width);
const raster: Raster = {
  width,
  height,
  data: Uint8Array.from({ length: 2 * width * height }, (_, at) => (at * 7) >> 3),
};
const grey = (band: Raster): Uint8Array => pickChannels(band, [1, 1, 1]);

describe('an image that is converted in bands', () => {
  it('equals the image that is converted at once', async () => {
    const sizes: number[] = [];
    const made = await convertInBands(raster, (band) => (sizes.push(band.width * band.height), grey(band)));
    expect(sizes).toEqual([BAND_PIXELS, BAND_PIXELS, width * height - 2 * BAND_PIXELS]);
    expect([made.width, made.height]).toEqual([width, height]);
    expect(Buffer.compare(made.data, grey(raster))).toBe(0);
  });

  it('lets other work run between two bands', async () => {
    let [turns, bands] = [0, 0];
    await convertInBands(raster, (band) => {
      expect(turns).toBe(bands++);
      setTimeout(() => turns++);
      return grey(band);
    });
    expect(bands).toBe(3);
  });

  it('ends where the signal aborts', async () => {
    const abort = new AbortController();
    let bands = 0;
    const made = convertInBands(
      raster,
      (band) => {
        bands++;
        abort.abort(new Error('gone'));
        return grey(band);
      },
      abort.signal,
    );
    await expect(made).rejects.toThrow('gone');
    expect(bands).toBe(1);
  });

  it('has whole pixels', async () => {
    const cut = { width: 4, height: 2, data: new Uint8Array(30) };
    await expect(convertInBands(cut, grey)).rejects.toThrow(
      '30 bytes are not whole pixels of an image of 4 × 2',
    );
    const five = { width: 4, height: 2, data: new Uint8Array(40) };
    await expect(convertInBands(five, ({ data }) => data)).rejects.toThrow('40 bytes are not the RGB');
  });
});

it('pickChannels() returns channels in any order, and copies nothing where it takes all', () => {
  const pixels = { width: 2, height: 1, data: Uint8Array.of(1, 2, 3, 4, 5, 6) };
  expect([...pickChannels(pixels, [2, 0])]).toEqual([3, 1, 6, 4]);
  expect(pickChannels(pixels, [0, 1, 2])).toBe(pixels.data);
});
