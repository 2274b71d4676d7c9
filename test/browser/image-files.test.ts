// Image files in a page, against Node.

import sharp from 'sharp';
import { expect } from 'vitest';
import { coverImage } from '../../src/files/image/cover.ts';
import { pngChunk } from '../../src/files/image/file-parts.ts';
import { embeddedText } from '../../src/files/image/image-embed.ts';
import { parametersText } from '../../src/files/image/image-metadata.ts';
import { decodeImage } from '../../src/files/image/image.ts';
import { usePages } from './chromium.ts';
import { beyond, decodeInPage, deep, differences, HEIGHT, raw, refusals, WIDTH } from './image-files.ts';

const pages = usePages();

pages.test('PNG and lossless WebP files have the pixels of Node', async () => {
  const found = await differences(pages, {
    rgb: await raw(3).png().toBuffer(),
    alpha: await raw(4).png().toBuffer(),
    grey: await raw(1).png().toBuffer(),
    'grey with alpha': await raw(2).png().toBuffer(),
    palette: await raw(3, true).png({ palette: true, colours: 16 }).toBuffer(),
    'palette with alpha': await raw(4, true).png({ palette: true, colours: 16 }).toBuffer(),
    interlaced: await raw(3).png({ progressive: true }).toBuffer(),
    webp: await raw(3).webp({ lossless: true }).toBuffer(),
    'webp with alpha': await raw(4).webp({ lossless: true }).toBuffer(),
  });
  expect(beyond(found, 0)).toEqual([]);
});

/** The file with a chunk behind its header. */
function withChunk(png: Buffer, type: string, data: readonly number[]): Buffer {
  return Buffer.concat([png.subarray(0, 33), pngChunk(type, Uint8Array.from(data)), png.subarray(33)]);
}

pages.test('chunks of a PNG about colours have the meaning of Node', async () => {
  const rgb = await raw(3).png().toBuffer();
  const { data } = await sharp(rgb).raw().toBuffer({ resolveWithObject: true });
  const found = await differences(pages, {
    'gamma of linear light': withChunk(rgb, 'gAMA', [0, 1, 134, 160]),
    sRGB: withChunk(rgb, 'sRGB', [0]),
    primaries: withChunk(
      rgb,
      'cHRM',
      Array.from({ length: 32 }, (_, at) => (at % 4 === 2 ? 97 : 0)),
    ),
    'code points of video': withChunk(rgb, 'cICP', [9, 16, 0, 1]),
    'a transparent colour': withChunk(rgb, 'tRNS', [0, data[0]!, 0, data[1]!, 0, data[2]!]),
    'a transparent grey': withChunk(await raw(1).png().toBuffer(), 'tRNS', [0, 128]),
    'one bit': await raw(1).png({ palette: true, colours: 2 }).toBuffer(),
    'two bits': await raw(3, true).png({ palette: true, colours: 4 }).toBuffer(),
  });
  expect(beyond(found, 0)).toEqual([]);
});

pages.test('JPEG and lossy WebP files have the pixels of Node', async () => {
  const found = await differences(pages, {
    'jpeg 4:2:0': await raw(3, true).jpeg({ quality: 90 }).toBuffer(),
    'jpeg 4:4:4': await raw(3, true).jpeg({ chromaSubsampling: '4:4:4' }).toBuffer(),
    'jpeg of noise': await raw(3).jpeg().toBuffer(),
    'grey jpeg': await raw(1, true).jpeg().toBuffer(),
    'progressive jpeg': await raw(3, true).jpeg({ progressive: true }).toBuffer(),
    webp: await raw(3, true).webp().toBuffer(),
    'webp with alpha': await raw(4, true).webp().toBuffer(),
  });
  expect(beyond(found, 0)).toEqual([]);
});

pages.test(
  'PNG files of 16 bits and files with an ICC profile have the pixels of Node within 2 of 255',
  async () => {
    const found = await differences(pages, {
      '16 bits': await deep(3).png().toBuffer(),
      '16 bits with alpha': await deep(4).png().toBuffer(),
      'png in P3': await raw(3).withIccProfile('p3').png().toBuffer(),
      'jpeg in P3': await raw(3, true).withIccProfile('p3').jpeg().toBuffer(),
      'webp in P3': await raw(3, true).withIccProfile('p3').webp({ lossless: true }).toBuffer(),
    });
    expect(beyond(found, 2)).toEqual([]);
    expect(found['16 bits decodeImage']).toBe(0);
  },
);

pages.test('images are turned by their EXIF orientation', async () => {
  const files: Record<string, Buffer> = {};
  for (let orientation = 1; orientation <= 8; orientation++) {
    // sharp adds a profile of sRGB, which is converted to sRGB in both.
    const image = raw(3, true).withMetadata({ orientation });
    files[`jpeg ${orientation}`] = await image.clone().jpeg().toBuffer();
    files[`png ${orientation}`] = await image.clone().png().toBuffer();
    files[`webp ${orientation}`] = await image.clone().webp({ lossless: true }).toBuffer();
  }
  const { orientation } = await sharp(files['png 6']).metadata();
  expect(orientation).toBe(6);
  const found = await differences(pages, files);
  expect(beyond(found, 0)).toEqual([]);
});

pages.test('animations are read as their first image', async () => {
  const two = sharp({
    create: { width: 20, height: 24, channels: 3, background: '#204060', pageHeight: 12 },
  });
  const half = {
    input: await sharp({ create: { width: 20, height: 12, channels: 3, background: '#fff' } })
      .png()
      .toBuffer(),
    top: 12,
    left: 0,
  };
  const animation = await two
    .composite([half])
    .webp({ lossless: true, loop: 0, delay: [50, 50] })
    .toBuffer();
  expect(await sharp(animation).metadata()).toMatchObject({ pages: 2 });
  expect(beyond(await differences(pages, { animation }), 0)).toEqual([]);
});

pages.test('files that Node refuses by their first bytes are refused in the same words', async () => {
  const image = raw(3);
  const found = await refusals(pages, {
    garbage: Buffer.from('no image at all'),
    nothing: Buffer.alloc(0),
    gif: await image.clone().gif().toBuffer(),
    tiff: await image.clone().tiff().toBuffer(),
    svg: Buffer.from('<svg xmlns="http://www.w3.org/2000/svg" width="9" height="9"/>'),
    large: await sharp({ create: { width: 9000, height: 9000, channels: 3, background: '#fff' } })
      .png()
      .toBuffer(),
  });
  for (const [inNode, inPage] of Object.values(found)) expect(inPage).toBe(inNode);
});

pages.test('damaged files and CMYK are refused by name', async () => {
  const png = await raw(3).png().toBuffer();
  const jpeg = await raw(3).jpeg().toBuffer();
  const webp = await raw(3).webp({ lossless: true }).toBuffer();
  const flipped = Buffer.from(png);
  flipped[5000]! ^= 255;
  const damaged = await refusals(pages, {
    'cut png': png.subarray(0, 4000),
    'head of a png': png.subarray(0, 40),
    'flipped png': flipped,
    'cut jpeg': jpeg.subarray(0, 1500),
    'head of a jpeg': jpeg.subarray(0, 10),
    'cut webp': webp.subarray(0, 3000),
  });
  const pattern =
    /^bad_request start\.png start\.png cannot be read as an image \(.+\): give a PNG, JPEG, WebP or BMP file$/;
  for (const messages of Object.values(damaged))
    for (const message of messages) expect(message).toMatch(pattern);
  const answers = await decodeInPage(pages, { cmyk: await raw(3).toColourspace('cmyk').jpeg().toBuffer() });
  expect(answers['cmyk decodeImage']!.error).toMatch(/pages do not convert the CMYK colours of a JPEG/);
});

pages.test(
  'a page writes PNG files without loss, JPEG and WebP by quality, with the parameters in each',
  async () => {
    const image = { width: WIDTH, height: HEIGHT, data: new Uint8Array(await raw(3, true).raw().toBuffer()) };
    const parameters = {
      prompt: 'a red balloon\nсолнце 🎈',
      negativePrompt: 'blurry',
      fields: { Steps: 20, Seed: 3 },
      config: { prompt: 'a red balloon\nсолнце 🎈', seed: 3 },
    };
    const page = await pages.open();
    const written = await page.evaluate(
      async ({ width, height, bytes, parameters }) => {
        const image = { width, height, data: Uint8Array.from(bytes) };
        const files: Record<string, { quality: number; bytes: number[]; config: unknown }> = {};
        for (const format of svc.IMAGE_FORMATS) {
          for (const quality of [20, 95]) {
            const file = await svc.encodeImage(image, { format, quality, parameters });
            files[`${format} ${quality}`] = { quality, bytes: [...file], config: svc.configOfImage(file) };
          }
        }
        return files;
      },
      { width: WIDTH, height: HEIGHT, bytes: [...image.data], parameters },
    );
    const sizes: Record<string, number> = {};
    for (const [name, { bytes, config }] of Object.entries(written)) {
      const file = Buffer.from(bytes);
      sizes[name] = file.length;
      expect(config).toEqual(parameters.config);
      expect(embeddedText(file)).toBe(parametersText(parameters));
      const [format] = name.split(' ');
      expect((await sharp(file).metadata()).format).toBe(format);
      const { data } = await decodeImage(file, name);
      const most = data.reduce((most, value, at) => Math.max(most, Math.abs(value - image.data[at]!)), 0);
      expect(most, name).toBeLessThanOrEqual(format === 'png' ? 0 : name.endsWith('95') ? 24 : 90);
    }
    expect(sizes['jpeg 20']).toBeLessThan(sizes['jpeg 95']!);
    expect(sizes['webp 20']).toBeLessThan(sizes['webp 95']!);
  },
);

pages.test('a page scales images to the pixels of Node', async () => {
  const image = { width: WIDTH, height: HEIGHT, data: new Uint8Array(await raw(3).raw().toBuffer()) };
  const sizes: [number, number][] = [
    [32, 32],
    [101, 40],
    [13, 64],
  ];
  const page = await pages.open();
  const scaled = await page.evaluate(
    async ({ width, height, bytes, sizes }) => {
      const image = { width, height, data: Uint8Array.from(bytes) };
      return Promise.all(sizes.map(async (size) => [...(await svc.coverImage(image, ...size)).data]));
    },
    { width: WIDTH, height: HEIGHT, bytes: [...image.data], sizes },
  );
  for (const [at, size] of sizes.entries()) {
    const { data } = await coverImage(image, ...size);
    expect(Buffer.compare(data, Buffer.from(scaled[at]!))).toBe(0);
  }
});

pages.test('images are decoded in a worker, and without WebGL within 1 of 255', async () => {
  const file = await raw(4).png().toBuffer();
  const page = await pages.open();
  const [inWorker, withoutWebgl] = await page.evaluate(async (text) => {
    const bytes = Uint8Array.from(atob(text), (one) => one.charCodeAt(0));
    const code = `import { decodeImage } from '${location.origin}/engine/index.js';
      onmessage = async ({ data }) => postMessage((await decodeImage(data, 'start.png')).data);`;
    const url = URL.createObjectURL(new Blob([code], { type: 'text/javascript' }));
    const worker = new Worker(url, { type: 'module' });
    worker.postMessage(bytes);
    const pixels = await new Promise<Uint8Array>((resolve) => {
      worker.onmessage = ({ data }) => resolve(data as Uint8Array);
    });
    worker.terminate();
    const { getContext } = OffscreenCanvas.prototype;
    OffscreenCanvas.prototype.getContext = function (this: OffscreenCanvas, kind: string, options: object) {
      return kind === 'webgl2' ? null : Reflect.apply(getContext, this, [kind, options]);
    } as typeof getContext;
    const { data } = await svc.decodeImage(bytes, 'start.png');
    return [[...pixels], [...data]];
  }, file.toString('base64'));
  const { data } = await decodeImage(file, 'start.png');
  expect(Buffer.compare(data, Buffer.from(inWorker))).toBe(0);
  const differences = [...data].map((value, at) => Math.abs(value - withoutWebgl[at]!));
  expect(Math.max(...differences)).toBe(1);
});
