// Requests of the view of images on their way: progress, refusals, reloads of the page, and clips.

import { expect } from 'vitest';
import type { ImageModel } from '../../src/index.ts';
import { hold, startOnDemand } from '../server/catalog/demand-source.ts';
import { eventually } from '../server/harness.ts';
import { startImages } from '../server/images/image-harness.ts';
import { startVideos } from '../server/videos/video-harness.ts';
import { ask, gallery, galleryHas } from './image-page.ts';
import { useWebPage } from './web-page.ts';

const web = useWebPage();

/** The machine may be busy. */
const PATIENCE = { timeout: 20_000 };

web.test('previews, the place in the queue, and stopping', async () => {
  const { url, model } = await startImages();
  const page = await web.open(url, '#/images');
  await ask(page, 'hang on', { Steps: '4' });
  await page.getByText('Image 1, step 1 of 4').waitFor();
  await page.getByAltText('Preview of image 1').waitFor();
  expect(await page.getByRole('progressbar').getAttribute('value')).toBe('0.25');
  await ask(page, 'another');
  await page.getByText('Waiting for 1 request').waitFor();
  await page
    .getByRole('listitem')
    .filter({ hasText: 'hang on' })
    .getByRole('button', { name: 'Stop' })
    .click();
  await galleryHas(page, 1);
  expect(await gallery(page).getByRole('img').getAttribute('alt')).toBe('another');
  await eventually(() => model.running === 0, 'nothing is drawn');
  expect(await page.getByRole('alert').count()).toBe(0);
});

web.test('a refusal stands at the form and marks its field; a failure while drawing too', async () => {
  const { url } = await startImages();
  web.allow(/400/);
  const page = await web.open(url, '#/images');
  await page.getByLabel('Height').waitFor();
  // As a model refuses a size that the form's own check takes.
  await page.evaluate(() => document.querySelector('form')!.setAttribute('novalidate', ''));
  await ask(page, 'a house', { Height: '33' });
  await page.getByRole('alert').filter({ hasText: 'the nearest are 32 and 40' }).waitFor();
  expect(await page.getByLabel('Height').getAttribute('aria-invalid')).toBe('true');
  await ask(page, 'fail out_of_memory', { Height: '' });
  await page.getByRole('alert').filter({ hasText: 'failed with out_of_memory' }).waitFor();
  expect(await page.locator('[aria-invalid]').count()).toBe(0);
});

web.test('a request that is being drawn goes on over a reload of the page, and is drawn once', async () => {
  const { url, model } = await startImages();
  const goOn = holdAt(model, 2);
  const page = await web.open(url, '#/images');
  await ask(page, 'a lake', { Steps: '4', Images: '2' });
  await page.getByText('Image 1, step 1 of 4').waitFor();
  await page.reload();
  await page.getByRole('progressbar', { name: 'Progress of a lake' }).waitFor();
  goOn();
  await galleryHas(page, 2);
  await page.getByRole('progressbar').waitFor({ state: 'detached' });
  expect(model.requests).toHaveLength(1);
  // Nothing is left to take up.
  await page.reload();
  await galleryHas(page, 2);
  expect(await page.getByRole('progressbar').count()).toBe(0);
});

web.test('a clip is drawn as a job, played, and taken up again after a reload', async () => {
  const { url, model } = await startVideos();
  const goOn = holdAt(model, 3);
  const page = await web.open(url, '#/images');
  expect(await page.getByLabel('Frames', { exact: true }).getAttribute('placeholder')).toBe('3');
  await ask(page, 'a wave', { Frames: '5', 'Frames a second': '4', Steps: '4', Width: '64', Height: '64' });
  await page.getByText('50 per cent').waitFor();
  await page.reload();
  await page.getByRole('progressbar', { name: 'Progress of a wave' }).waitFor();
  goOn();
  await galleryHas(page, 1);
  expect(model.requests).toHaveLength(1);
  expect(model.requests[0]).toMatchObject({ prompt: 'a wave', frames: 5, fps: 4, width: 64 });
  await gallery(page).click();
  const video = page.getByRole('dialog').locator('video');
  const facts = await video.evaluate(async (element: HTMLVideoElement) => {
    await element.play();
    const { duration, videoWidth, controls } = element;
    return { duration, videoWidth, controls };
  });
  expect(facts).toEqual({ duration: expect.closeTo(1.25, 1) as number, videoWidth: 64, controls: true });
});

web.test(
  'a model that is not open is opened by a request, whose progress says so, or by itself',
  async () => {
    const { url, source, call } = await startOnDemand({}, { keepAlive: 20 });
    const page = await web.open(url, '#/images');
    await page.getByText('This model is not open').waitFor();
    expect(await page.getByLabel('Width').getAttribute('placeholder')).toBe('');
    const release = hold(source, 'scenes');
    await ask(page, 'a house', { Steps: '1' });
    await page.getByText('Opening the model, loading weights, 25 %').waitFor();
    release();
    await galleryHas(page, 1);
    await expect.poll(() => page.getByLabel('Width').getAttribute('placeholder'), PATIENCE).toBe('32');
    await call('POST', '/models/unload', { model: 'scenes' });
    await page.reload();
    await page.getByRole('button', { name: 'Open it' }).click();
    await page.getByText('Start from an image').waitFor();
    expect(source.happened).toEqual(['open scenes', 'close scenes', 'open scenes']);
  },
);

/** Makes the model wait before the event of a step until the returned function is called. */
function holdAt(model: Pick<ImageModel, 'generate'>, step: number): () => void {
  const drawn = model.generate;
  let goOn = (): void => {};
  const gate = new Promise<void>((resolve) => (goOn = resolve));
  model.generate = async function* (request, options) {
    for await (const event of drawn(request, options)) {
      if (event.type === 'step' && event.step === step) await gate;
      yield event;
    }
  };
  return goOn;
}
