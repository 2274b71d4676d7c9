import sharp from 'sharp';
import { describe, expect, it } from 'vitest';
import { latin1Bytes, PNG_SIGNATURE, pngChunk, uint32 } from '../../../src/files/image/file-parts.ts';
import { decodeImages } from '../../../src/server/images/image-sources.ts';
import { pngFile } from './image-harness.ts';

const never = new AbortController().signal;

/** The first bytes of a PNG of so many pixels, and none of its pixels. */
function headOfPng(width: number, height: number): File {
  const header = Uint8Array.of(...uint32(width), ...uint32(height), 8, 2, 0, 0, 0);
  const data = pngChunk('IDAT', Uint8Array.of(1, 2, 3));
  return new File(
    [new Uint8Array([...latin1Bytes(PNG_SIGNATURE), ...pngChunk('IHDR', header), ...data])],
    'x.png',
  );
}

const urlOf = async (file: File): Promise<string> =>
  `data:image/png;base64,${Buffer.from(await file.arrayBuffer()).toString('base64')}`;

describe('the pixels of all images of a request', () => {
  it('are bounded by the headers, before an image is decoded that goes beyond', async () => {
    const [small, large] = [await pngFile(10, 10, '#0a0000'), headOfPng(20, 20)];
    const most = 499;
    await expect(decodeImages({ image: [small, large] }, never, most)).rejects.toMatchObject({
      code: 'request_too_large',
      param: 'image',
      message:
        'image brings the images of this request to 500 pixels together, above the limit of 499; send smaller or fewer ones',
    });
    // Its pixels are missing, which only decoding finds.
    await expect(decodeImages({ image: [small, large] }, never, 500)).rejects.toMatchObject({
      code: 'bad_request',
      param: 'image',
    });
  });

  it.each(['mask', 'control_image', 'ip_adapter_image'])('count those of %s', async (field) => {
    const [image, other] = [await pngFile(10, 10, '#0a0000'), await pngFile(10, 10, '#ffffff')];
    const sent = { image, [field]: field === 'control_image' ? [await urlOf(other)] : other };
    await expect(decodeImages(sent, never, 199)).rejects.toMatchObject({ param: field });
    expect(Object.keys(await decodeImages(sent, never, 200))).toHaveLength(2);
  });

  it('are counted as they are decoded, whatever precedes them in the file', async () => {
    const jpeg = await sharp({ create: { width: 20, height: 20, channels: 3, background: '#fff' } })
      .jpeg()
      .toBuffer();
    // Decoders skip a byte between two segments.
    const odd = new File([new Uint8Array([...jpeg.subarray(0, 2), 0, ...jpeg.subarray(2)])], 'x.jpg');
    await expect(decodeImages({ image: odd }, never, 399)).rejects.toMatchObject({ param: 'image' });
    expect((await decodeImages({ image: odd }, never, 400)).image).toMatchObject({ width: 20, height: 20 });
  });
});

it('a client that leaves ends the decoding between two images', async () => {
  const abort = new AbortController();
  const read: number[] = [];
  const [first, second] = [await pngFile(9, 9, '#0a0000'), await pngFile(9, 9, '#0a0000')];
  for (const [at, file] of [first, second].entries()) {
    const { arrayBuffer } = file;
    file.arrayBuffer = () => (read.push(at), abort.abort(), arrayBuffer.call(file));
  }
  await expect(decodeImages({ image: [first, second] }, abort.signal)).rejects.toMatchObject({
    code: 'cancelled',
  });
  expect(read).toEqual([0]);
});
