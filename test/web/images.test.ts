// The view of images, on a fake model that paints each image in the colour of its seed.

import { readFile } from 'node:fs/promises';
import sharp from 'sharp';
import { expect } from 'vitest';
import { IMAGE_FORMATS } from '../../src/index.ts';
import { startImages } from '../server/images/image-harness.ts';
import { ask, gallery, galleryHas, png } from './image-page.ts';
import { useWebPage } from './web-page.ts';

const web = useWebPage();

/** The machine may be busy. */
const PATIENCE = { timeout: 20_000 };

web.test(
  'the form sends what the table and the model offer, and the gallery keeps it over a reload',
  async () => {
    const { url, model } = await startImages();
    const page = await web.open(url, '#/images');
    await page.getByLabel('Width', { exact: true }).waitFor();
    const width = page.getByLabel('Width', { exact: true });
    expect(await width.getAttribute('placeholder')).toBe('32');
    expect(await width.getAttribute('step')).toBe('8');
    expect(await page.getByLabel('Scheduler').locator('option').allTextContents()).toEqual([
      'DDIM (default)',
      'DDIM',
      'EulerDiscrete',
    ]);
    expect(await page.getByLabel('Format').locator('option').allTextContents()).toEqual([...IMAGE_FORMATS]);

    await page.getByLabel('Scheduler').selectOption('EulerDiscrete');
    await ask(page, 'a red house', {
      'Negative prompt': 'rain',
      Width: '64',
      Height: '40',
      Steps: '3',
      Guidance: '2.5',
      Images: '2',
    });
    await galleryHas(page, 2);
    const [drawn] = model.requests;
    expect(drawn).toMatchObject({
      ...{ prompt: 'a red house', negativePrompt: 'rain', width: 64, height: 40, steps: 3, guidance: 2.5 },
      ...{ scheduler: 'EulerDiscrete', samples: 2, previews: 3 },
    });

    await page.reload();
    await galleryHas(page, 2);
    expect(await page.getByLabel('Steps', { exact: true }).inputValue()).toBe('3');
    await gallery(page).first().click();
    const viewer = page.getByRole('dialog', { name: 'Image in full size' });
    // The second image of a request has the seed after the first one's.
    await viewer.getByText(String(drawn!.seed + 1)).waitFor();
    await viewer.getByRole('button', { name: 'Repeat' }).click();
    await galleryHas(page, 3);
    expect(model.requests[1]).toEqual({ ...drawn, seed: drawn!.seed + 1, samples: undefined });
    await gallery(page).first().click();
    await viewer.getByRole('button', { name: 'Vary' }).click();
    await galleryHas(page, 4);
    expect(model.requests[2]!.seed).not.toBe(drawn!.seed + 1);
    expect(model.requests[2]).toMatchObject({ prompt: 'a red house', steps: 3 });
  },
);

web.test('an image and a mask are sent, painted by numbers and by the pointer', async () => {
  const { url, model } = await startImages();
  const page = await web.open(url, '#/images');
  await page
    .locator('input[type=file]')
    .setInputFiles({ name: 'red.png', mimeType: 'image/png', buffer: await png(64, 48, '#ff0000') });
  await page.getByLabel('Width', { exact: true }).first().fill('64');
  await page.getByLabel('Height', { exact: true }).first().fill('48');
  await page.getByText('Paint what is drawn anew').click();
  await page.getByLabel('Width', { exact: true }).nth(1).fill('32');
  await page.getByLabel('Height', { exact: true }).nth(1).fill('48');
  await page.getByRole('button', { name: 'Paint the rectangle' }).click();
  await page.getByText('50 per cent are drawn anew.').waitFor();
  await expect.poll(() => page.evaluate(isMaskKept)).toBe(true);
  await page.reload();
  await page.getByText('50 per cent are drawn anew.').waitFor();
  await page.getByLabel('Strength').fill('0.6');
  await ask(page, 'a blue house');
  await galleryHas(page, 1);
  const { image, mask, strength } = model.requests[0]!;
  expect([image?.width, image?.height, strength]).toEqual([64, 48, 0.6]);
  const row = [...mask!.data.subarray(0, 3 * mask!.width)].filter((_, at) => at % 3 === 0);
  expect(row).toEqual([...Array<number>(32).fill(255), ...Array<number>(32).fill(0)]);

  await page.getByRole('button', { name: 'Clear the mask' }).click();
  await page.getByText('0 per cent are drawn anew.', { exact: true }).waitFor();
  // What is above the mask may still move it, so a stroke that missed is drawn again.
  const painted = async (): Promise<number> => {
    const canvas = page.getByRole('img', { name: 'Mask over the image' });
    await canvas.scrollIntoViewIfNeeded();
    const box = (await canvas.boundingBox())!;
    await page.mouse.move(box.x + 5, box.y + box.height / 2);
    await page.mouse.down();
    await page.mouse.move(box.x + box.width - 5, box.y + box.height / 2, { steps: 4 });
    await page.mouse.up();
    return parseInt((await page.locator('.mask [role=status]').textContent())!);
  };
  await expect.poll(painted, PATIENCE).toBeGreaterThan(20);
  await page.getByLabel('Erase', { exact: true }).check();
  await expect.poll(painted, PATIENCE).toBeLessThan(5);

  // What was drawn becomes the source of the next request.
  await gallery(page).first().click();
  await page.getByRole('button', { name: 'Use this image' }).click();
  await page.getByRole('button', { name: 'Draw', exact: true }).click();
  await galleryHas(page, 2);
  expect(model.requests[1]!.mask).toBeUndefined();
  expect(model.requests[1]!.image!.data[0]).toBe(model.requests[0]!.seed % 256);
});

web.test('LoRAs and ControlNets have fields where the model has them', async () => {
  const { url, model } = await startImages();
  const page = await web.open(url, '#/images');
  await page.getByLabel('Steps', { exact: true }).waitFor();
  expect(await page.getByLabel('LoRAs').count()).toBe(0);
  expect(await page.getByRole('group', { name: 'Image for the ControlNet' }).count()).toBe(0);
  Object.assign(model.info, {
    loras: { given: [{ name: 'ink', scale: 0.8 }], hasFolder: true },
    components: { ...model.info.components, controlnet: 'ControlNetModel' },
  });
  await page.reload();
  await page.getByPlaceholder('ink').fill('ink, chalk');
  await page.getByLabel('LoRA scales').fill('0.5, 1');
  await page
    .getByRole('group', { name: 'Image for the ControlNet' })
    .locator('input')
    .setInputFiles({ name: 'edges.png', mimeType: 'image/png', buffer: await png(32, 24, '#ffffff') });
  await page.getByLabel('Control scale').fill('0.7');
  await ask(page, 'a house');
  await galleryHas(page, 1);
  expect(model.requests[0]).toMatchObject({
    ...{ lora: ['ink', 'chalk'], loraScale: [0.5, 1], controlScale: [0.7] },
    controlImages: [{ width: 32, height: 24 }],
  });
});

web.test('a dropped and a pasted image are taken', async () => {
  const { url } = await startImages();
  const page = await web.open(url, '#/images');
  const field = page.getByRole('group', { name: 'Start from an image' });
  await field.waitFor();
  const bytes = [...(await png(8, 8, '#00ff00'))];
  const give = (kind: 'drop' | 'paste') =>
    page.evaluate(
      ([bytes, kind]) => {
        const data = new DataTransfer();
        data.items.add(new File([new Uint8Array(bytes)], 'green.png', { type: 'image/png' }));
        const at = document.querySelector('fieldset')!;
        const event =
          kind === 'drop'
            ? new DragEvent('drop', { dataTransfer: data, bubbles: true, cancelable: true })
            : new ClipboardEvent('paste', { clipboardData: data, bubbles: true, cancelable: true });
        at.dispatchEvent(event);
      },
      [bytes, kind] as const,
    );
  for (const kind of ['drop', 'paste'] as const) {
    await give(kind);
    await field.getByRole('img', { name: 'the chosen image' }).waitFor();
    await field.getByRole('button', { name: 'Remove' }).click();
    await field.getByRole('img', { name: 'the chosen image' }).waitFor({ state: 'detached' });
  }
});

web.test('the gallery is searched, walked by keys, exported and emptied', async () => {
  const { url } = await startImages();
  const page = await web.open(url, '#/images');
  for (const [at, prompt] of ['a red house', 'a blue boat', 'a red boat'].entries()) {
    await ask(page, prompt, { Seed: String(at + 5), Steps: '1' });
    await galleryHas(page, at + 1);
  }
  await gallery(page).first().focus();
  await page.keyboard.press('ArrowRight');
  await page.keyboard.press('Enter');
  const viewer = page.getByRole('dialog', { name: 'Image in full size' });
  await viewer.getByRole('img', { name: 'a blue boat' }).waitFor();
  await page.keyboard.press('ArrowRight');
  const image = viewer.getByRole('img', { name: 'a red house' });
  await image.waitFor();
  const width = (): Promise<number> => image.evaluate(({ clientWidth }) => clientWidth);
  expect(await width()).toBeGreaterThan(32);
  await viewer.getByLabel('Actual size').check();
  expect(await width()).toBe(32);
  const [download] = await Promise.all([
    page.waitForEvent('download'),
    viewer.getByRole('button', { name: 'Export configuration' }).click(),
  ]);
  expect(download.suggestedFilename()).toBe('a-red-house-5.json');
  expect(JSON.parse(await readFile(await download.path(), 'utf8'))).toEqual({
    ...{ model: 'fake-scenes', prompt: 'a red house', num_inference_steps: 1, seed: 5, output_format: 'png' },
  });
  const [saved] = await Promise.all([
    page.waitForEvent('download'),
    viewer.getByRole('button', { name: 'Download' }).click(),
  ]);
  expect(saved.suggestedFilename()).toBe('a-red-house-5.png');
  expect(
    (
      await sharp(await readFile(await saved.path()))
        .raw()
        .toBuffer()
    )[0],
  ).toBe(5);
  await page.keyboard.press('Escape');
  await viewer.waitFor({ state: 'hidden' });

  await page.getByLabel('Search the gallery').fill('boat');
  await galleryHas(page, 2);
  await gallery(page).first().focus();
  await page.keyboard.press('Delete');
  const question = page.getByRole('dialog').filter({ hasText: 'Delete “a red boat” from the gallery?' });
  await question.getByRole('button', { name: 'Delete', exact: true }).click();
  await expect
    .poll(() => page.evaluate(() => document.activeElement?.querySelector('img')?.alt), PATIENCE)
    .toBe('a blue boat');
  await page.getByLabel('Search the gallery').fill('');
  await galleryHas(page, 2);
  await page.reload();
  await galleryHas(page, 2);
});

/** Whether the browser has stored the mask of the form. */
function isMaskKept(): Promise<boolean> {
  return new Promise((resolve) => {
    const opening = indexedDB.open('svc-images');
    opening.addEventListener('success', () => {
      const asked = opening.result.transaction('form').objectStore('form').get('sources');
      asked.addEventListener('success', () => {
        const kept = asked.result as { mask?: Blob } | undefined;
        resolve(kept?.mask !== undefined);
      });
    });
  });
}
