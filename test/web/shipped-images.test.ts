// The view of images on the shipped image model, in a thread of its own.

import { expect } from 'vitest';
import { openImageModel, shippedImageModelPath } from '../../src/index.ts';
import { startServer } from '../../src/server/lifecycle.ts';
import { galleryHas } from './image-page.ts';
import { useWebPage } from './web-page.ts';

const web = useWebPage();

web.test(
  'the shipped model draws with previews, from an image and a mask, and tells words that it does not know',
  { timeout: 240_000 },
  async () => {
    await using model = await openImageModel({ model: shippedImageModelPath() });
    const log = { error: console.error, warn() {}, info() {}, debug() {} };
    const server = await startServer({ host: '127.0.0.1', port: 0 }, log);
    try {
      server.addModel().ready(model);
      const page = await web.open(server.url, '#/images');
      page.setDefaultTimeout(120_000);
      const gallery = page.locator('.gallery button');
      await page.getByLabel('Prompt', { exact: true }).fill('a red zeppelin over the sea');
      for (const side of ['Width', 'Height']) await page.getByLabel(side, { exact: true }).fill('32');
      await page.getByLabel('Steps', { exact: true }).fill('3');
      await page.getByLabel('Seed', { exact: true }).fill('3'); // of some pairs of seeds the painted half differs little
      await page.getByRole('button', { name: 'Draw' }).click();
      await page.getByAltText('Preview of image 1').waitFor();
      await galleryHas(page, 1);
      await page.getByText('The model never saw these words: zeppelin.').waitFor();
      await gallery.click();
      const size = await page
        .getByRole('dialog')
        .locator('img')
        .evaluate((image: HTMLImageElement) => [image.naturalWidth, image.naturalHeight]);
      expect(size).toEqual([32, 32]);
      await page.getByRole('button', { name: 'Use this image' }).click();
      await page.getByText('Paint what is drawn anew').click();
      await page.getByRole('spinbutton', { name: 'Width' }).nth(1).fill('16');
      await page.getByRole('button', { name: 'Paint the rectangle' }).click();
      await page.getByText('50 per cent').waitFor();
      await page.getByRole('button', { name: 'Draw' }).click();
      await galleryHas(page, 2);
      // What is not painted stays, up to the autoencoder's loss.
      const [painted, kept] = await page.evaluate(apart);
      expect(painted).toBeGreaterThan(2 * kept!);
    } finally {
      await server.close();
    }
  },
);

/** The mean difference of the two images in the gallery, in their left and in their right half. */
async function apart(): Promise<number[]> {
  const images = [...document.querySelectorAll<HTMLImageElement>('.gallery img')];
  await Promise.all(images.map((image) => image.decode())); // one that is not decoded yet would be drawn empty
  const halves = images.map((image) => {
    const canvas = document.createElement('canvas');
    [canvas.width, canvas.height] = [32, 32];
    const context = canvas.getContext('2d')!;
    context.drawImage(image, 0, 0);
    return [0, 16].map((x) => context.getImageData(x, 0, 16, 32).data);
  });
  return [0, 1].map((half) => {
    const [one, other] = halves.map((image) => image[half]!);
    return one!.reduce((sum, value, at) => sum + Math.abs(value - other![at]!), 0) / one!.length;
  });
}
